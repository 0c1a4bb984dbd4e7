#include "../bridge/matrices.h"
#include "../bridge/stored.h"
#include "binding_call.h"
#include "planes.h"

namespace orbbec {

void augment_cpu(const AugmentArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int augment_cuda(const AugmentArguments& arguments, void* stream);
void augment_planes_cpu(const AugmentArguments& arguments, const StoredImages& stored,
                        const ParallelFor& parallel);
[[gnu::weak]] int augment_planes_cuda(const AugmentArguments& arguments, const StoredImages& stored,
                                      void* stream);

namespace {

constexpr const char* kOp = "augment";
const std::string kArithmetic = "cv2_5";

// Rows [N, count, numbers] or [count, numbers] of float32 on the device of images.
TableRows check_rows(const char* name, const std::optional<Tensor>& optional_table,
                     const Tensor& images, int64_t count, int64_t numbers) {
  if (!optional_table.has_value()) return {};
  const Tensor& table = *optional_table;
  const bool shared = table.dim() == 2, per_image = table.dim() == 3 && table.size(0) == count;
  check((shared || per_image) && table.size(table.dim() - 1) == numbers, kOp, "expected ", name,
        " of shape [", count, ", rows, ", numbers, "] or [rows, ", numbers, "], but got ",
        shape_text(table));
  check(table.scalar_type() == ScalarType::Float && table.is_contiguous(), kOp, "expected ", name,
        " as contiguous float32");
  check(same_device(table, images), kOp, "expected ", name, " on the device of images");
  const int64_t rows = table.size(table.dim() - 2);
  check(rows <= 4096, kOp, "expected ", name, " of at most 4096 rows per image, but got ", rows);
  return {static_cast<const float*>(table.const_data_ptr()), per_image ? rows * numbers : 0,
          static_cast<int>(rows)};
}

// The numbers of four channels from `first` on; `numbers` has one, or one per channel.
template <class Number>
void set_numbers(const std::vector<double>& numbers, int64_t first, Number (&to)[kMaxFills]) {
  const int64_t last = static_cast<int64_t>(numbers.size()) - 1;
  for (int c = 0; c < kMaxFills; ++c)
    to[c] = static_cast<Number>(numbers[std::min<int64_t>(first + c, last)]);
}

void set_statistics(const AugmentCall& call, int64_t first, AugmentArguments& a) {
  if (!a.normalizes) return;
  set_numbers(call.mean, first, a.mean);
  set_numbers(call.std, first, a.std);
}

const float* check_mix(const AugmentCall& call, int64_t count) {
  if (!call.tensors || !call.tensors->mix) return nullptr;
  return check_table<float>(kOp, "mix", *call.tensors->mix, {count, kMixNumbers}, call.images);
}

// All but the matrices, which `point_to_matrices` checks.
AugmentTables checked_tables(const AugmentCall& call, int64_t count) {
  if (!call.tensors) return call.tables;
  const AugmentTensors& t = *call.tensors;
  return {.regions = check_regions(kOp, t.regions, call.images, count),
          .colors = check_rows("colors", t.colors, call.images, count, kStepNumbers),
          .boxes = check_rows("erase", t.boxes, call.images, count, kBoxNumbers)};
}

std::optional<StoredImages> check_planes(const AugmentCall& call, AnyImages& source) {
  if (!call.stored.has_value() && !call.forms.has_value()) return std::nullopt;
  check(call.stored.has_value() && call.forms.has_value(), kOp,
        "expected stored and forms together");
  check(call.images.dim() == 1 && source.channels == 3, kOp,
        "expected variable-size images of 3 channels for stored");
  check(call.stored->dim() == 2 && call.stored->size(0) == source.count, kOp,
        "expected stored of shape [", source.count, ", 3], but got ", shape_text(*call.stored));
  source.numel = int64_t{1} << 59;  // RGB is never materialized
  return stored_images(kOp, call.images, *call.stored, *call.forms);
}

void check_dtype(const Tensor& images) {
  const DType dtype = dtype_of(kOp, images);
  check(dtype != DType::kUInt16 && dtype != DType::kFloat64, kOp,
        "expected images of uint8, float16, bfloat16 or float32");
}

void set_program(const AugmentCall& call, const TableRows& program, AugmentArguments& a) {
  const int64_t channels = a.warp.source.channels;
  check(program.rows == nullptr || channels == 1 || channels == 3, kOp,
        "expected images of 1 or 3 channels for colors, but got ", channels);
  check(call.max_value > 0 && call.max_value <= 65535, kOp,
        "expected max_value above 0, and at most 65535, but got ", call.max_value);
  a.program = {program.rows, program.stride, program.count, static_cast<float>(call.max_value)};
}

AugmentArguments augment_arguments(const WarpArguments& warp, const AugmentTables& tables,
                                   const AugmentCall& call) {
  const int64_t channels = warp.source.channels;
  AugmentArguments a{};
  a.warp = warp;
  check(channels >= 1, kOp, "expected images of at least 1 channel");
  check_dtype(call.images);
  check(warp.interpolation != Interpolation::kLanczos4, kOp,
        "expected interpolation of nearest, linear or cubic");
  set_program(call, tables.colors, a);
  a.boxes = tables.boxes.rows;
  a.boxes_stride = tables.boxes.stride;
  a.boxes_per_image = tables.boxes.count;
  a.mix = check_mix(call, warp.source.count);
  a.scale = static_cast<float>(call.scale);
  a.normalizes = !call.mean.empty() || !call.std.empty();
  if (a.normalizes) {
    check_one_or_each(kOp, "mean", call.mean, channels);
    check_one_or_each(kOp, "std", call.std, channels);
    for (const double std : call.std)
      check(static_cast<float>(std) != 0, kOp, "expected nonzero std");
  }
  return a;
}

// Points the arguments to the matrices; returns what keeps them alive.
std::optional<Tensor> point_to_matrices(const AugmentCall& call, AugmentArguments& a) {
  if (!call.tensors) {
    if (call.tables.matrices == nullptr) return std::nullopt;
    a.warp.transform = call.tables.matrices;
    a.warp.transform_stride = 9;
    a.matrices = {call.tables.matrices, false, 9, 9};
    return std::nullopt;
  }
  if (!call.tensors->matrix) return std::nullopt;
  const Tensor &images = call.images, &matrix = *call.tensors->matrix;
  if (!runs_cuda_kernels(images))
    return prepare_matrices(kOp, images, matrix, 3, true, a.warp, /*completes=*/true);
  const Tensor checked = check_matrix(kOp, images, matrix, a.warp.source.count, 3, true);
  const Tensor matrices = on_device_of(kOp, checked, images);
  const int numbers = static_cast<int>(matrices.size(matrices.dim() - 2)) * 3;
  a.matrices = {matrices.const_data_ptr(), matrices.scalar_type() == ScalarType::Double, numbers,
                matrices.dim() == 3 ? numbers : 0};
  return matrices;
}

Tensor new_gray_sums(const Tensor& images, const AnyImages& output) {
  if (!runs_cuda_kernels(images))
    return new_zeros(kOp, std::vector<int64_t>{output.count}, ScalarType::Long, images);
  const std::vector<int64_t> tiles{output.count, gray_tiles(output)};
  return new_tensor(kOp, tiles, ScalarType::Long, images);
}

// A buffer of variable-size outputs, to which the arguments are pointed. Their sizes are in device
// memory; height and width are the largest.
void point_to_ragged(const AugmentCall& call, AugmentArguments& a) {
  const WarpArguments& warp = a.warp;
  AnyImages output = ragged_images(kOp, *call.out, *call.out_layout, warp.source.channels);
  check(output.count == warp.source.count, kOp, "expected out of ", warp.source.count,
        " images, but got ", output.count);
  check(same_device(*call.out, call.images), kOp, "expected out on the device of images");
  check(a.mix == nullptr, kOp, "expected no mix for an out of variable-size images");
  check_apart(kOp, *call.out, call.images, "images");
  output.height = warp.output.height;
  output.width = warp.output.width;
  a.warp.output = output;
  a.output_dtype = DType::kUInt8;
}

// The output tensor, to which the arguments are pointed.
Tensor prepare_output(const AugmentCall& call, AugmentArguments& a) {
  if (call.out_layout.has_value()) {
    point_to_ragged(call, a);
    return *call.out;
  }
  const std::vector<int64_t> shape =
      output_shape(call.images, a.warp.source, {a.warp.output.height, a.warp.output.width});
  const Tensor output = call.out.has_value()
                            ? *call.out
                            : new_images(kOp, call.images, shape, call.channels_last, call.dtype);
  if (call.out.has_value()) check_output_of(kOp, output, shape, call.dtype, call.images);
  if (output.numel() == 0) return output;
  a.warp.output = dense_images(kOp, "out", output, output.mutable_data_ptr(), call.takes_one);
  a.output_dtype = dtype_of(kOp, output);
  check(a.output_dtype != DType::kUInt16 && a.output_dtype != DType::kFloat64, kOp,
        "expected dtype of uint8, float16, bfloat16 or float32");
  return output;
}

// The options of kInputs; returns the arguments that follow.
StableIValue* unpack_inputs(StableIValue* stack, AugmentCall& c) {
  AugmentTensors& t = c.tensors.emplace();
  return unpack(stack, c.images, c.layout, c.channels, t.matrix.emplace(), c.size, c.interpolation,
                c.border, c.fill, t.regions, t.colors, t.boxes, t.mix, c.mean, c.std, c.scale,
                c.max_value, c.contrast, c.stored, c.forms);
}

constexpr const char* kInputs =
    "Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, "
    "str interpolation, str border, float[] fill, Tensor? regions, Tensor? colors, Tensor? boxes, "
    "Tensor? mix, float[] mean, float[] std, float scale, float max_value, bool contrast, "
    "Tensor? stored, Tensor? forms, ";

void augment(StableIValue* stack, uint64_t, uint64_t) {
  AugmentCall call;
  int64_t dtype;
  unpack(unpack_inputs(stack, call), dtype, call.channels_last);
  check_dtype(call.images);  // checked first: by default the results have this dtype
  call.dtype = dtype_numbered(kOp, dtype, true, false);
  stack[0] = torch::stable::detail::from(run_augment(call));
}

void augment_out(StableIValue* stack, uint64_t, uint64_t) {
  AugmentCall call;
  Tensor out;
  unpack(unpack_inputs(stack, call), out, call.out_layout);
  call.out = out;
  call.dtype = out.scalar_type();
  run_augment(call);
}

// For augment/codes.py: the names of the steps, then the numbers of a color step, a rectangle and a
// mix, then the codes of steps that read the position.
std::string augment_codes() {
  std::ostringstream text;
  for (const char* name : kStepNames) text << name << ' ';
  text << '\n' << kStepNumbers << ' ' << kBoxNumbers << ' ' << kMixNumbers << '\n';
#define ORBBEC_STEP(id, Step, name) \
  if (Step::kIsPlaced) text << static_cast<int>(StepCode::id) << ' ';
  ORBBEC_COLOR_STEPS(ORBBEC_STEP)
#undef ORBBEC_STEP
  return text.str();
}

// The kernels store any dtype.
void read_floats(FloatImages& floats, AugmentArguments& a) {
  floats.read(a.warp.dtype, a.warp.source);
  round_fills(a.warp);
}

// The arguments for up to four channels from `first` on, which read and write the same positions.
AugmentArguments channel_group(AugmentArguments a, const AugmentCall& call, int64_t first,
                               int64_t output_bytes) {
  AnyImages &source = a.warp.source, &output = a.warp.output;
  const auto channel = [&](const AnyImages& images, int64_t bytes) {
    return static_cast<char*>(images.data) + first * images.stride_c * bytes;
  };
  if (first > 0) source.data = channel(source, call.images.element_size());
  if (first > 0) output.data = channel(output, output_bytes);
  source.channels = output.channels = std::min<int64_t>(source.channels - first, kMaxFills);
  set_numbers(call.fill, first, a.warp.fill);
  set_statistics(call, first, a);
  return a;
}

}  // namespace

Tensor run_augment(const AugmentCall& call) {
  AnyImages source = source_images(kOp, call.images, call.layout, call.channels, call.takes_one);
  const std::optional<StoredImages> stored = check_planes(call, source);
  check(!stored || !call.out_layout.has_value(), kOp,
        "expected results of one size for images stored as planes");
  return augment_from(source, call, [&](const AugmentArguments& a) {
    if (stored) {
      run_where(kOp, call.images, augment_planes_cpu, augment_planes_cuda, a, *stored);
    } else {
      run_where(kOp, call.images, in_floats(kOp, call.images, augment_cpu, read_floats),
                augment_cuda, a);
    }
  });
}

Tensor augment_from(AnyImages source, const AugmentCall& call,
                    const std::function<void(const AugmentArguments&)>& launch) {
  const Tensor& images = call.images;
  const AugmentTables tables = checked_tables(call, source.count);
  source.regions = tables.regions;
  const std::array<int64_t, 2> extent = output_size(kOp, source, call.size);
  const WarpOptions options{call.interpolation, call.border, call.fill, kArithmetic};
  const WarpArguments warp = warp_arguments(kOp, images, source, options, extent, false);
  AugmentArguments a = augment_arguments(warp, tables, call);
  const std::optional<Tensor> matrices = point_to_matrices(call, a);
  std::optional<Tensor> sums;
  const Tensor output = prepare_output(call, a);
  if (output.numel() == 0 || source.count == 0) return output;
  if (call.contrast && a.program.rows != nullptr) {
    sums = new_gray_sums(images, a.warp.output);
    a.gray_sums = static_cast<int64_t*>(sums->mutable_data_ptr());
  }
  for (int64_t first = 0; first < source.channels; first += kMaxFills)
    launch(channel_group(a, call, first, output.element_size()));
  return output;
}

}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  const std::string inputs = orbbec::kInputs;
  m.def(("augment(" + inputs + "int dtype, bool channels_last) -> Tensor").c_str());
  m.def(("augment_out(" + inputs + "Tensor(a!) out, Tensor? out_layout=None) -> ()").c_str());
  m.def("augment_codes() -> str");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("augment", &orbbec::augment);
  m.impl("augment_out", &orbbec::augment_out);
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CompositeExplicitAutograd, m) {
  m.impl("augment_codes", TORCH_BOX(&orbbec::augment_codes));
}
