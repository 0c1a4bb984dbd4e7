// `run`: draws the parameters of a batch and runs the passes of a program, in one call.
#include "../augment/binding_call.h"
#include "../resize/binding_call.h"
#include "binding_passes.h"
#include "binding_program.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "run";

// The arguments of `run`, as its schema has them.
struct Call {
  Tensor images, code;
  std::optional<Tensor> layout, host_layout, sample_ids, out;
  int64_t channels = 0, seed = 0, epoch = 0;
  std::vector<int64_t> shape;  // rules, registers, words, first pass row, passes

  explicit Call(StableIValue* stack) {
    unpack(stack, images, layout, host_layout, channels, code, shape, sample_ids, seed, epoch, out);
  }
};

// The parameters of the batch: registers on the host, words on the device of the images.
struct Parameters {
  Tensor registers, words;
  int64_t count, width;  // images; registers of each

  const double* of(int64_t n) const {
    return static_cast<const double*>(registers.const_data_ptr()) + n * width;
  }

  // A block of words as a tensor; it shares their memory.
  Tensor block(double offset, std::initializer_list<int64_t> shape, ScalarType type) const {
    std::array<int64_t, 3> strides{};
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= shape.begin()[i];
    }
    auto* const begin = static_cast<float*>(words.mutable_data_ptr()) +
                        static_cast<int64_t>(offset) * count;
    return torch::stable::from_blob(
        begin, {shape.begin(), shape.size()}, {strides.data(), shape.size()}, words.device(), type);
  }

  std::optional<Tensor> rows(double offset, double count_of_rows, int64_t numbers) const {
    if (count_of_rows < 1) return std::nullopt;
    return block(offset, {count, static_cast<int64_t>(count_of_rows), numbers}, ScalarType::Float);
  }

  // The common size of the outputs of a pass.
  std::vector<int64_t> size(int64_t out) const {
    const double* const first = of(0) + out + 9;
    for (int64_t n = 1; n < count; ++n) {
      const double* const size = of(n) + out + 9;
      check(size[0] == first[0] && size[1] == first[1], kOp,
            "expected outputs of one size, but got ", first[0], "x", first[1], " and ", size[0],
            "x", size[1]);
    }
    return {static_cast<int64_t>(first[0]), static_cast<int64_t>(first[1])};
  }
};

// Images between passes.
struct Batch {
  Tensor images;
  std::optional<Tensor> layout;
  int64_t channels;
  std::vector<int64_t> longest;  // of variable-size images
};

ProgramCode checked_program(const Call& call) {
  check(call.shape.size() == 5, kOp, "expected shape of 5 numbers");
  const ProgramCode program{call.code, 0, call.shape[0], call.shape[1], call.shape[2]};
  check(program.words >= 0 && program.words <= 1 << 24, kOp, "expected at most 2^24 words");
  check_program(kOp, program);
  const int64_t first = call.shape[3], passes = call.shape[4];
  check(first >= program.end && passes >= 1 && passes <= 4096 &&
            first + passes * kPassRows <= call.code.size(0),
        kOp, "expected the rows of the passes after the rules");
  const auto* rows = static_cast<const double*>(call.code.const_data_ptr());
  for (int64_t k = 0; k < passes; ++k) {
    check_pass(kOp, rows + (first + k * kPassRows) * kRuleNumbers,
               {call.code.size(0), program.registers, program.words});
  }
  return program;
}

Parameters draw_parameters(const Call& call, const ProgramCode& program) {
  const Tensor& images = call.images;
  const bool is_ragged = call.layout.has_value();
  check(is_ragged || images.dim() == 4, kOp, "expected images of shape [N, C, H, W], but got ",
        shape_text(images));
  const int64_t count = is_ragged ? call.layout->size(0) : images.size(0);
  const int64_t* sides = nullptr;
  if (is_ragged) {
    check(call.host_layout.has_value() && call.host_layout->is_cpu(), kOp,
          "expected host_layout of variable-size images on the CPU");
    sides = check_table<int64_t>(kOp, "host_layout", *call.host_layout, {count, 3}, *call.host_layout);
  }
  std::optional<Tensor> samples;
  if (call.sample_ids) {
    check(call.sample_ids->is_cpu(), kOp, "expected sample_ids on the CPU");
    samples = sample_ids_on(kOp, *call.sample_ids, *call.sample_ids, count);
  }
  const Tensor registers = new_tensor(kOp, std::vector<int64_t>{count, program.registers},
                                      ScalarType::Double, call.code);
  const Tensor words =
      new_tensor(kOp, std::vector<int64_t>{count * program.words}, ScalarType::Float, call.code);
  auto* const numbers = static_cast<float*>(words.mutable_data_ptr());
  std::fill_n(numbers, count * program.words, 0.0f);
  const DrawnBatch batch{
      count, samples ? static_cast<const int64_t*>(samples->const_data_ptr()) : nullptr,
      key_of(call.seed, call.epoch), static_cast<double*>(registers.mutable_data_ptr()), numbers};
  draw_batch(kOp, program, batch, [&](int64_t n) {
    return is_ragged ? std::array<int64_t, 2>{sides[3 * n + 1], sides[3 * n + 2]}
                     : std::array<int64_t, 2>{images.size(2), images.size(3)};
  });
  return {registers, on_device_of(kOp, words, images), count, program.registers};
}

bool is_channels_last(const Batch& batch) {
  if (batch.layout) return false;
  const Tensor& images = batch.images;
  return images.size(1) > 1 && images.stride(1) == 1 && images.stride(3) != 1;
}

Tensor run_pass(const AugmentRow& row, const Batch& batch, const Parameters& p,
                const std::optional<Tensor>& out) {
  AugmentCall call;
  call.images = batch.images;
  call.layout = batch.layout;
  call.channels = batch.channels;
  call.matrix = p.block(row.matrix, {p.count, 3, 3}, ScalarType::Float);
  call.size = p.size(row.out);
  call.interpolation = row.interpolation;
  call.border = row.border;
  call.fill = row.fill;
  if (row.region >= 0) call.regions = p.block(row.region, {p.count, 4}, ScalarType::Long);
  call.colors = p.rows(row.colors, row.color_rows, kStepNumbers);
  call.boxes = p.rows(row.erase, row.rectangles, kBoxNumbers);
  call.mean = row.mean;
  call.std = row.std;
  const bool was_byte = batch.images.scalar_type() == ScalarType::Byte;
  const bool is_byte = row.dtype == ScalarType::Byte;
  call.scale = was_byte == is_byte ? 1.0 : is_byte ? 255.0 : 1.0 / 255;
  call.max_value = was_byte ? 255 : 1;
  call.contrast = row.contrast;
  call.out = out;
  call.dtype = row.dtype;
  call.channels_last = row.channels_last < 0 ? is_channels_last(batch) : row.channels_last != 0;
  return run_augment(call);
}

Tensor run_pass(const ResizeRow& row, const Batch& batch, const Parameters& p,
                const std::optional<Tensor>& out) {
  ResizeCall call;
  call.images = batch.images;
  call.layout = batch.layout;
  call.channels = batch.channels;
  call.boxes = p.block(row.boxes, {p.count, 4}, ScalarType::Double);
  call.size = p.size(row.out);
  call.interpolation = row.interpolation;
  call.antialias = row.antialias;
  call.arithmetic = row.antialias ? "pillow_13" : "cv2_5";
  call.longest = batch.longest;
  if (row.flips >= 0) call.flips = p.block(row.flips, {p.count}, ScalarType::Bool);
  call.out = out;
  return run_resize(call);
}

std::vector<int64_t> longest_sides(const Call& call) {
  if (!call.layout) return {call.images.size(2), call.images.size(3)};
  std::vector<int64_t> longest{1, 1};
  const auto* const rows = static_cast<const int64_t*>(call.host_layout->const_data_ptr());
  for (int64_t i = 0; i < call.host_layout->numel(); ++i)
    if (i % 3 > 0) longest[i % 3 - 1] = std::max(longest[i % 3 - 1], rows[i]);
  return longest;
}

void run(StableIValue* stack, uint64_t, uint64_t) {
  const Call call(stack);
  const ProgramCode program = checked_program(call);
  const Parameters parameters = draw_parameters(call, program);
  check(parameters.count > 0, kOp, "expected at least 1 image");
  const int64_t channels = call.layout ? call.channels : call.images.size(1);
  Batch batch{call.images, call.layout, channels, longest_sides(call)};
  const auto* row = static_cast<const double*>(call.code.const_data_ptr()) +
                    call.shape[3] * kRuleNumbers;
  for (int64_t left = call.shape[4]; left > 0; --left, row += kPassRows * kRuleNumbers) {
    const std::optional<Tensor> out = left == 1 ? call.out : std::nullopt;
    batch.images = row[0] == 0 ? run_pass(AugmentRow(row), batch, parameters, out)
                               : run_pass(ResizeRow(row), batch, parameters, out);
    batch.layout = std::nullopt;
    batch.longest = {batch.images.size(2), batch.images.size(3)};
  }
  stack[0] = torch::stable::detail::from(batch.images);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "run(Tensor images, Tensor? layout, Tensor? host_layout, int channels, Tensor code, int[] shape, "
      "Tensor? sample_ids, int seed, int epoch, Tensor? out) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("run", &orbbec::run); }
