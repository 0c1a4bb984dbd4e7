// `run`: draws the parameters of a batch and runs the passes of a program, in one call.
#include "../augment/crop/binding_call.h"
#include "../bridge/host_memory.h"
#include "binding_passes.h"
#include "binding_program.h"

namespace orbbec {

[[gnu::weak]] int draw_cuda(const DrawArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "run";

// The arguments of `run`, as its schema has them.
struct Call {
  Tensor images, code;
  std::optional<Tensor> sample_ids, layout, host_layout, code_on_device, epoch_tensor, out;
  int64_t channels = 0, seed = 0, epoch = 0, frames = 1;

  static Call of(StableIValue* stack) {
    Call call;
    unpack(stack, call.images, call.code, call.seed, call.epoch, call.sample_ids, call.layout,
           call.host_layout, call.channels, call.code_on_device, call.epoch_tensor, call.out,
           call.frames);
    return call;
  }

  // `run_seed`: torch spends as long on nine defaults as on drawing.
  static Call of_seed(StableIValue* stack) {
    Call call;
    unpack(stack, call.images, call.code, call.seed);
    return call;
  }

  int64_t count() const {
    if (layout) return layout->size(0);
    return images.dim() == 3 ? 1 : images.size(0);
  }
  // Of the images if they have one size.
  int64_t height() const { return images.size(images.dim() - 2); }
  int64_t width() const { return images.size(images.dim() - 1); }
};

// A program, and where it is drawn.
struct RunProgram : WholeProgram {
  const Tensor* code_on_device = nullptr;  // null: the host draws

  explicit RunProgram(const Call& call) : WholeProgram(kOp, call.code) {
    if (!draws_anywhere || !runs_cuda_kernels(call.images)) return;
    if (call.code_on_device) {
      code_on_device = &*call.code_on_device;
    } else if (same_device(call.code, call.images)) {
      code_on_device = &call.code;
    }
  }
};

// Memory for one call at a time on a thread: allocating tensors takes longer than drawing.
template <class T>
T* scratch(int64_t count) {
  thread_local std::vector<T> memory;
  if (static_cast<int64_t>(memory.size()) < count) memory.resize(static_cast<size_t>(count));
  return memory.data();
}

// The parameters of the batch: words on the device of the images; registers too if a kernel draws.
struct Parameters {
  double* registers;
  float* words;
  int64_t count, width;  // images; registers of each
  bool on_host;          // whether the host can read the registers
  std::optional<Tensor> memory;
  const Tensor& images;

  // A block of words as a tensor; it shares their memory.
  Tensor block(double offset, std::initializer_list<int64_t> shape, ScalarType type) const {
    std::array<int64_t, 3> strides{};
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= shape.begin()[i];
    }
    float* const begin = words + static_cast<int64_t>(offset) * count;
    return torch::stable::from_blob(begin, {shape.begin(), shape.size()},
                                    {strides.data(), shape.size()}, images.device(), type);
  }

  const float* at(double offset) const { return words + static_cast<int64_t>(offset) * count; }

  // Null for an offset of -1.
  const double* column(double offset) const {
    return offset < 0 ? nullptr : reinterpret_cast<const double*>(at(offset));
  }

  TableRows rows(double offset, double count_of_rows, int numbers) const {
    if (count_of_rows < 1) return {};
    const int rows = static_cast<int>(count_of_rows);
    return {at(offset), int64_t{rows} * numbers, rows};
  }

  // The common size of the outputs of a pass, which is static or drawn.
  std::vector<int64_t> size(const double* row) const {
    const double* const known = row + kStaticSize;
    if (known[0] > 0) return {static_cast<int64_t>(known[0]), static_cast<int64_t>(known[1])};
    check(on_host, kOp, "expected passes of static sizes");
    const double* const first = registers + static_cast<int64_t>(row[kOut]) + kPassHeight;
    for (int64_t n = 1; n < count; ++n) {
      const double* const size = first + n * width;
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
  bool is_temporary = false;     // whether a pass made them
};

const int64_t* checked_layout(const Call& call) {
  if (!call.layout) {
    check(call.images.dim() == 4 || call.images.dim() == 3, kOp,
          "expected images of shape [N, C, H, W] or [C, H, W], but got ", shape_text(call.images));
    check_pixels(kOp, 0, call.height(), call.width());
    return nullptr;
  }
  check(call.layout->dim() == 2, kOp, "expected layout of shape [N, 3], but got ",
        shape_text(*call.layout));
  check(call.host_layout.has_value() && call.host_layout->is_cpu(), kOp,
        "expected host_layout of variable-size images on the CPU");
  const auto* const rows = check_table<int64_t>(kOp, "host_layout", *call.host_layout,
                                                {call.layout->size(0), 3}, *call.host_layout);
  for (int64_t n = 0; n < call.layout->size(0); ++n)
    check_pixels(kOp, n, rows[3 * n + 1], rows[3 * n + 2]);
  return rows;
}

std::optional<Tensor> checked_ids(const Call& call, const RunProgram& program) {
  if (!call.sample_ids) return std::nullopt;
  return sample_ids_on(kOp, *call.sample_ids,
                       program.code_on_device ? call.images : *call.sample_ids, call.count());
}

const int64_t* checked_epoch(const Call& call, const RunProgram& program) {
  if (!call.epoch_tensor) return nullptr;
  const Tensor& where = program.code_on_device ? call.images : call.code;
  return check_table<int64_t>(kOp, "epoch_tensor", *call.epoch_tensor, {1}, where);
}

// What to draw, without memory for it.
DrawArguments draw_arguments(const Call& call, const RunProgram& program) {
  DrawArguments a{};
  a.layout = checked_layout(call);
  a.rows = static_cast<const double*>(call.code.const_data_ptr());
  a.row_count = call.code.size(0);
  a.end = program.end;
  a.count = call.count();
  a.frames = checked_frames(kOp, call.frames, a.count);
  if (!call.layout) a.height = call.height(), a.width = call.width();
  a.seed = static_cast<uint64_t>(call.seed);
  a.epoch = call.epoch;
  a.live_epoch = checked_epoch(call, program);
  a.register_count = program.registers;
  return a;
}

Parameters draw_on_host(const Call& call, const RunProgram& program, DrawArguments a) {
  check(!call.sample_ids || call.sample_ids->is_cpu(), kOp, "expected sample_ids on the CPU");
  check(a.live_epoch == nullptr || *a.live_epoch >= 0, kOp,
        "expected epoch_tensor from 0, but got ", a.live_epoch == nullptr ? 0 : *a.live_epoch);
  a.registers = scratch<double>(a.count * program.registers);
  Parameters p{a.registers, nullptr, a.count, program.registers, true, std::nullopt, call.images};
  const int64_t numbers = a.count * program.words;
  if (!runs_cuda_kernels(call.images)) {
    p.words = a.words = scratch<float>(numbers);
    draw_batch(kOp, a);
    return p;
  }
  const Tensor words = new_host_tensor(kOp, {numbers}, ScalarType::Float, call.images);
  a.words = static_cast<float*>(words.mutable_data_ptr());
  draw_batch(kOp, a);
  p.memory = on_device_of(kOp, words, call.images);
  p.words = static_cast<float*>(p.memory->mutable_data_ptr());
  return p;
}

void draw_where(const DrawArguments& a, const ParallelFor&) { draw_batch(kOp, a); }

Parameters draw_on_device(const Call& call, const RunProgram& program, DrawArguments a) {
  const Tensor &images = call.images, &code = *program.code_on_device;
  check(same_device(code, images) && code.is_contiguous() && code.numel() == call.code.numel() &&
            code.scalar_type() == ScalarType::Double,
        kOp, "expected code_on_device as a copy of code on the device of images");
  check(shared_bytes(a) <= kMaxSharedBytes, kOp, "expected at most ", kMaxSharedBytes,
        " bytes of code and registers, but got ", shared_bytes(a));
  a.rows = static_cast<const double*>(code.const_data_ptr());
  if (call.layout)
    a.layout = check_table<int64_t>(kOp, "layout", *call.layout, {a.count, 3}, images);
  const std::array<int64_t, 1> words{a.count * program.words};
  const Tensor memory = new_tensor(kOp, words, ScalarType::Float, images);
  a.words = static_cast<float*>(memory.mutable_data_ptr());
  run_where(kOp, images, draw_where, draw_cuda, a);
  return {nullptr, a.words, a.count, program.registers, false, memory, images};
}

Parameters draw_parameters(const Call& call, const RunProgram& program) {
  DrawArguments a = draw_arguments(call, program);
  const std::optional<Tensor> samples = checked_ids(call, program);
  a.ids = samples ? static_cast<const int64_t*>(samples->const_data_ptr()) : nullptr;
  return program.code_on_device ? draw_on_device(call, program, a) : draw_on_host(call, program, a);
}

// What a pass does to values.
AugmentCall value_call(const double* row, const Batch& batch, const Parameters& p,
                       const std::optional<Tensor>& out) {
  AugmentCall call;
  call.takes_one = true;
  call.tables.colors = p.rows(row[kColorWords], row[kColorCount], kStepNumbers);
  call.tables.boxes = p.rows(row[kEraseWords], row[kEraseCount], kBoxNumbers);
  call.mean = list_in(row, kStatisticCount, kMean);
  call.std = list_in(row, kStatisticCount, kStd);
  call.out = out;
  call.dtype = kDtypes[index_in(row, kDtype)];
  const bool was_byte = batch.images.scalar_type() == ScalarType::Byte;
  const bool is_byte = call.dtype == ScalarType::Byte;
  call.scale = was_byte == is_byte ? 1.0 : is_byte ? 255.0 : 1.0 / 255;
  call.max_value = was_byte ? 255 : 1;
  call.contrast = row[kContrast] != 0;
  call.channels_last = row[kLayout] < 0
                           ? reads_channels_last(source_images(kOp, batch.images, batch.layout,
                                                               batch.channels, true))
                           : row[kLayout] != 0;
  return call;
}

AugmentCall augment_call(const double* row, const Batch& batch, const Parameters& p,
                         const std::optional<Tensor>& out) {
  AugmentCall call = value_call(row, batch, p, out);
  call.images = batch.images;
  call.layout = batch.layout;
  call.channels = batch.channels;
  call.tables.matrices = p.at(row[kMatrixWords]);
  call.size = p.size(row);
  call.interpolation = kReadings[index_in(row, kReading)];
  call.border = kBorders[index_in(row, kBorder)];
  call.fill = list_in(row, kFillCount, kFill);
  if (row[kRegionWords] >= 0)
    call.tables.regions = reinterpret_cast<const int64_t*>(p.at(row[kRegionWords]));
  return call;
}

ResizeCall resize_call(const double* row, const Batch& batch, const Parameters& p) {
  ResizeCall call;
  call.takes_one = true;
  call.images = batch.images;
  call.layout = batch.layout;
  call.channels = batch.channels;
  call.boxes = p.block(row[kBoxWords], {p.count, 4}, ScalarType::Double);
  call.size = p.size(row);
  call.interpolation = kReadings[index_in(row, kReading)];
  call.antialias = row[kAntialias] != 0;
  call.arithmetic = call.antialias ? "pillow_13" : "cv2_5";
  call.longest = batch.longest;
  if (row[kFlipWords] >= 0) call.flips = p.block(row[kFlipWords], {p.count}, ScalarType::Bool);
  return call;
}

Tensor run_operator(const double* row, const Batch& batch, const Parameters& p) {
  check(!batch.layout, kOp, "expected operators after a pass of a static size");
  const bool is_one = batch.images.dim() == 3;
  OperatorCall call{is_one ? torch::stable::unsqueeze(batch.images, 0) : batch.images,
                    {},
                    p.column(row[kDrawnWords]),
                    batch.is_temporary};
  const RunOperator& called = kOperators[index_in(row, kOperator)];
  for (int i = 0; i < called.argument_count(); ++i)
    call.arguments.push_back({p.column(row[kArguments + 2 * i]), row[kArguments + 2 * i + 1]});
  const Tensor result = called.run(call);
  return is_one ? torch::stable::squeeze(result, 0) : result;
}

Tensor run_pass(const double* row, const Batch& batch, const Parameters& p,
                const std::optional<Tensor>& out) {
  if (row[kKind] == kOperatorPass) return run_operator(row, batch, p);
  if (row[kKind] == kAugmentPass) return run_augment(augment_call(row, batch, p, out));
  ResizeCall crop = resize_call(row, batch, p);
  if (row[kKind] == kCropPass) return run_augment_crop(crop, value_call(row, batch, p, out));
  crop.out = out;
  return run_resize(crop);
}

std::vector<int64_t> longest_sides(const Call& call) {
  if (!call.layout) return {};
  std::vector<int64_t> longest{1, 1};
  const auto* const rows = static_cast<const int64_t*>(call.host_layout->const_data_ptr());
  for (int64_t i = 0; i < call.host_layout->numel(); ++i)
    if (i % 3 > 0) longest[i % 3 - 1] = std::max(longest[i % 3 - 1], rows[i]);
  return longest;
}

Tensor run(const Call& call) {
  const RunProgram program(call);
  const Parameters parameters = draw_parameters(call, program);
  check(parameters.count > 0, kOp, "expected at least 1 image");
  Batch batch{call.images, call.layout, call.channels, longest_sides(call)};
  for (int64_t k = 0; k < program.pass_count; ++k) {
    const std::optional<Tensor> out = k + 1 == program.pass_count ? call.out : std::nullopt;
    batch.images = run_pass(program.pass(k), batch, parameters, out);
    batch.layout = std::nullopt;
    batch.is_temporary = true;
  }
  return batch.images;
}

template <Call (*call_of)(StableIValue*)>
void run_boxed(StableIValue* stack, uint64_t, uint64_t) {
  stack[0] = torch::stable::detail::from(run(call_of(stack)));
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "run(Tensor images, Tensor code, int seed, int epoch=0, Tensor? sample_ids=None, "
      "Tensor? layout=None, Tensor? host_layout=None, int channels=0, "
      "Tensor? code_on_device=None, Tensor? epoch_tensor=None, Tensor? out=None, "
      "int frames=1) -> Tensor");
  m.def("run_seed(Tensor images, Tensor code, int seed) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("run", &orbbec::run_boxed<&orbbec::Call::of>);
  m.impl("run_seed", &orbbec::run_boxed<&orbbec::Call::of_seed>);
}
