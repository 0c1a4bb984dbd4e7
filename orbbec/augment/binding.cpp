#include "../binding/matrices.h"
#include "../binding/stored.h"
#include "moved.h"
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
struct Table {
  const float* rows = nullptr;
  int64_t stride = 0;  // from one image's rows to the next; 0 if all share them
  int count = 0;
};

Table check_table(const char* name, const std::optional<Tensor>& given, const Tensor& images,
                  int64_t count, int64_t numbers) {
  if (!given.has_value()) return {};
  const Tensor& table = *given;
  const bool shared = table.dim() == 2, own = table.dim() == 3 && table.size(0) == count;
  check((shared || own) && table.size(table.dim() - 1) == numbers, kOp, "expected ", name,
        " of shape [", count, ", rows, ", numbers, "] or [rows, ", numbers, "], but got ",
        shape_text(table));
  check(table.scalar_type() == ScalarType::Float && table.is_contiguous(), kOp, "expected ", name,
        " as contiguous float32");
  check(same_device(table, images), kOp, "expected ", name, " on the device of images");
  const int64_t rows = table.size(table.dim() - 2);
  check(rows <= 4096, kOp, "expected ", name, " of at most 4096 rows an image, but got ", rows);
  return {static_cast<const float*>(table.const_data_ptr()), own ? rows * numbers : 0,
          static_cast<int>(rows)};
}

void set_numbers(const char* name, const std::vector<double>& given, int64_t channels,
                 float (&to)[kMaxFills]) {
  const int64_t count = static_cast<int64_t>(given.size());
  check_one_or_each(kOp, name, given, channels);
  for (int c = 0; c < kMaxFills; ++c)
    to[c] = static_cast<float>(given[std::min<int64_t>(c, count - 1)]);
}

const float* check_mix(const std::optional<Tensor>& given, const Tensor& images, int64_t count) {
  if (!given.has_value()) return nullptr;
  const Tensor& mix = *given;
  check(mix.dim() == 2 && mix.size(0) == count && mix.size(1) == kMixNumbers, kOp,
        "expected mix of shape [", count, ", ", kMixNumbers, "], but got ", shape_text(mix));
  check(mix.scalar_type() == ScalarType::Float && mix.is_contiguous(), kOp,
        "expected mix as contiguous float32");
  check(same_device(mix, images), kOp, "expected mix on the device of images");
  return static_cast<const float*>(mix.const_data_ptr());
}

struct Options {
  const std::vector<double>&mean, &std;
  double scale, white;
  bool contrast;
  const std::optional<Tensor>& mix;
};

// How images are stored that lie as JPEGs hold them.
struct Planes {
  const std::optional<Tensor>&layout, &forms;
};

std::optional<StoredImages> check_planes(const Planes& planes, const Tensor& images,
                                         AnyImages& source) {
  if (!planes.layout.has_value() && !planes.forms.has_value()) return std::nullopt;
  check(planes.layout.has_value() && planes.forms.has_value(), kOp,
        "expected stored and forms together");
  check(images.dim() == 1 && source.channels == 3, kOp,
        "expected unlike images of 3 channels for stored");
  check(planes.layout->dim() == 2 && planes.layout->size(0) == source.count, kOp,
        "expected stored of shape [", source.count, ", 3], but got ", shape_text(*planes.layout));
  source.numel = int64_t{1} << 59;  // RGB is in no memory
  return stored_images(kOp, images, *planes.layout, *planes.forms);
}

void check_dtype(const Tensor& images) {
  const DType dtype = dtype_of(kOp, images);
  check(dtype != DType::kUInt16 && dtype != DType::kFloat64, kOp,
        "expected images of uint8, float16, bfloat16 or float32");
}

AugmentArguments augment_arguments(const WarpArguments& warp, const Tensor& images,
                                   const std::optional<Tensor>& colors,
                                   const std::optional<Tensor>& boxes, const Options& options) {
  const int64_t channels = warp.source.channels, count = warp.source.count;
  AugmentArguments a{};
  a.warp = warp;
  check(channels >= 1 && channels <= kMaxFills, kOp, "expected images of 1 to ", kMaxFills,
        " channels, but got ", channels);
  check_dtype(images);
  check(warp.interpolation != Interpolation::kLanczos4, kOp,
        "expected interpolation of nearest, linear or cubic");
  const Table program = check_table("colors", colors, images, count, kStepNumbers);
  check(program.rows == nullptr || channels == 1 || channels == 3, kOp,
        "expected images of 1 or 3 channels for colors, but got ", channels);
  check(options.white > 0 && options.white <= 65535, kOp,
        "expected white above 0, and at most 65535, but got ", options.white);
  a.program = {program.rows, program.stride, program.count, static_cast<float>(options.white)};
  const Table rectangles = check_table("erase", boxes, images, count, kBoxNumbers);
  a.boxes = rectangles.rows;
  a.boxes_stride = rectangles.stride;
  a.boxes_per_image = rectangles.count;
  a.mix = check_mix(options.mix, images, count);
  a.scale = static_cast<float>(options.scale);
  a.normalizes = !options.mean.empty() || !options.std.empty();
  if (a.normalizes) {
    set_numbers("mean", options.mean, channels, a.mean);
    set_numbers("std", options.std, channels, a.std);
    for (const float std : a.std) check(std != 0, kOp, "expected std of numbers other than 0");
  }
  return a;
}

Tensor run(const Tensor& images, const std::optional<Tensor>& layout, int64_t channels,
           const std::optional<Tensor>& regions, const Tensor& matrix,
           const std::vector<int64_t>& size, const std::optional<Tensor>& colors,
           const std::optional<Tensor>& boxes, const Options& options, ScalarType dtype,
           bool channels_last, const WarpOptions& reading, const Planes& planes,
           const Tensor* out) {
  AnyImages source = source_images(kOp, images, layout, channels);
  const std::optional<StoredImages> stored = check_planes(planes, images, source);
  source.regions = check_regions(kOp, regions, images, source.count);
  const std::array<int64_t, 2> extent = output_size(kOp, source, size);
  const WarpArguments warp = warp_arguments(kOp, images, source, reading, extent, false);
  AugmentArguments a = augment_arguments(warp, images, colors, boxes, options);
  for (int c = 0; c < kMaxFills; ++c)
    a.warp.fill[c] = reading.fill[std::min<size_t>(c, reading.fill.size() - 1)];
  const Tensor map = prepare_matrices(kOp, images, matrix, 3, true, a.warp);
  const std::vector<int64_t> shape{source.count, source.channels, extent[0], extent[1]};
  const Tensor target =
      out != nullptr ? *out : new_images(kOp, images, shape, channels_last, dtype);
  if (out != nullptr) check_output_of(kOp, target, shape, dtype, images);
  if (target.numel() == 0) return target;
  a.warp.output = dense_images(kOp, "out", target, target.mutable_data_ptr());
  a.output_dtype = dtype_of(kOp, target);
  check(a.output_dtype != DType::kUInt16 && a.output_dtype != DType::kFloat64, kOp,
        "expected dtype of uint8, float16, bfloat16 or float32");
  std::optional<Tensor> sums;
  if (options.contrast && a.program.rows != nullptr) {
    sums = new_zeros(kOp, std::vector<int64_t>{source.count}, ScalarType::Long, images);
    a.gray_sums = static_cast<int64_t*>(sums->mutable_data_ptr());
  }
  run_where(
      kOp, images,
      [&](const ParallelFor& threads) {
        stored ? augment_planes_cpu(a, *stored, threads) : augment_cpu(a, threads);
      },
      [&](void* stream) {
        return stored ? augment_planes_cuda(a, *stored, stream) : augment_cuda(a, stream);
      });
  return target;
}

Tensor augment(Tensor images, std::optional<Tensor> layout, int64_t channels,
               std::optional<Tensor> regions, Tensor matrix, std::vector<int64_t> size,
               std::optional<Tensor> colors, std::optional<Tensor> boxes, std::vector<double> mean,
               std::vector<double> std, double scale, double white, bool contrast, int64_t dtype,
               bool channels_last, std::string interpolation, std::string border,
               std::vector<double> fill, std::optional<Tensor> mix, std::optional<Tensor> stored,
               std::optional<Tensor> forms) {
  check_dtype(
      images);  // first, since the dtype of the results is theirs unless another is asked for
  return run(images, layout, channels, regions, matrix, size, colors, boxes,
             {mean, std, scale, white, contrast, mix}, dtype_numbered(kOp, dtype, true, false),
             channels_last, {interpolation, border, fill, kArithmetic}, {stored, forms}, nullptr);
}

void augment_out(Tensor images, std::optional<Tensor> layout, int64_t channels,
                 std::optional<Tensor> regions, Tensor matrix, std::vector<int64_t> size,
                 std::optional<Tensor> colors, std::optional<Tensor> boxes,
                 std::vector<double> mean, std::vector<double> std, double scale, double white,
                 bool contrast, std::string interpolation, std::string border,
                 std::vector<double> fill, Tensor out, std::optional<Tensor> mix,
                 std::optional<Tensor> stored, std::optional<Tensor> forms) {
  run(images, layout, channels, regions, matrix, size, colors, boxes,
      {mean, std, scale, white, contrast, mix}, out.scalar_type(), false,
      {interpolation, border, fill, kArithmetic}, {stored, forms}, &out);
}

}  // namespace

void augment_moved(const Tensor& images, const Tensor& matrix, const std::optional<Tensor>& regions,
                   const MovedOptions& options, const Tensor& out) {
  run(images, std::nullopt, 0, regions, matrix, {out.size(2), out.size(3)}, std::nullopt,
      std::nullopt, {options.mean, options.std, options.scale, 255.0, false, std::nullopt},
      out.scalar_type(), false, {options.interpolation, options.border, options.fill, kArithmetic},
      {std::nullopt, std::nullopt}, &out);
}

}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "augment(Tensor images, Tensor? layout, int channels, Tensor? regions, Tensor matrix, "
      "SymInt[] size, Tensor? "
      "colors, Tensor? boxes, float[] mean, float[] std, float scale, float white, bool contrast, "
      "int dtype, bool channels_last, str interpolation, str border, float[] fill, Tensor? "
      "mix=None, Tensor? stored=None, Tensor? forms=None) -> Tensor");
  m.def(
      "augment_out(Tensor images, Tensor? layout, int channels, Tensor? regions, Tensor matrix, "
      "SymInt[] size, "
      "Tensor? colors, Tensor? boxes, float[] mean, float[] std, float scale, float white, bool "
      "contrast, str interpolation, str border, float[] fill, Tensor(a!) out, Tensor? mix=None, "
      "Tensor? stored=None, Tensor? forms=None) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("augment", TORCH_BOX(&orbbec::augment));
  m.impl("augment_out", TORCH_BOX(&orbbec::augment_out));
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) {
  m.impl("augment", TORCH_BOX(&orbbec::augment));
  m.impl("augment_out", TORCH_BOX(&orbbec::augment_out));
}
