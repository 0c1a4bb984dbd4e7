#include "binding_call.h"
#include "binding_filters.h"
#include "median.h"
#include "separable/taps.h"
#include "separable/tile_shapes.h"

namespace orbbec {

void gaussian_blur_cpu(const SeparableArguments& arguments, const ParallelFor& parallel);
void gaussian_taps_cpu(const TapsArguments& arguments, const ParallelFor& parallel);
void box_blur_cpu(const SeparableArguments& arguments, const ParallelFor& parallel);
void filter2d_cpu(const FilterArguments& arguments, const ParallelFor& parallel);
void median_blur_cpu(const MedianArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int gaussian_blur_cuda(const SeparableArguments& arguments, void* stream);
[[gnu::weak]] int gaussian_taps_cuda(const TapsArguments& arguments, void* stream);
[[gnu::weak]] int box_blur_cuda(const SeparableArguments& arguments, void* stream);
[[gnu::weak]] int filter2d_cuda(const FilterArguments& arguments, void* stream);
[[gnu::weak]] int median_blur_cuda(const MedianArguments& arguments, void* stream);

namespace {

constexpr const char* kGaussian = "gaussian_blur";
constexpr const char* kBox = "box_blur";
constexpr const char* kFilter = "filter2d";
constexpr const char* kMedian = "median_blur";

KernelSizes sizes_in(const FilterSizes& sizes, const Tensor& table) {
  return {sizes.count() == 1 ? nullptr : static_cast<const int32_t*>(table.const_data_ptr()),
          sizes.at(0), sizes.at(1)};
}

ScalarType tap_type(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kUInt16:
      return ScalarType::Int;
    case DType::kFloat64:
      return ScalarType::Double;
    default:
      return ScalarType::Float;
  }
}

void check_sigma(const Tensor& sigma, const Tensor& images, int64_t count) {
  check(sigma.dim() == 2 && sigma.size(1) == 2 && (sigma.size(0) == 1 || sigma.size(0) == count),
        kGaussian, "expected sigma of shape [", count, ", 2] or [1, 2], but got ",
        shape_text(sigma));
  check(sigma.scalar_type() == ScalarType::Double, kGaussian, "expected sigma of float64");
  check(sigma.is_cpu() || same_device(sigma, images), kGaussian,
        "expected sigma on the CPU or on the device of images");
}

// [count, 2, longest] for the images, computed on the device of `like`, which may be the host. `t`
// has sizes, sigmas and the count.
Tensor gaussian_taps(const SeparableArguments& a, TapsArguments t, const Tensor& like,
                     const Tensor& images) {
  const std::vector<int64_t> shape{t.count, 2, a.longest};
  const ScalarType type = tap_type(a.dtype);
  const Tensor taps = same_device(like, images) ? new_tensor(kGaussian, shape, type, images)
                                                : new_host_tensor(kGaussian, shape, type, images);
  t.dtype = a.dtype;
  t.taps = taps.mutable_data_ptr();
  t.longest = a.longest;
  run_where(kGaussian, like, gaussian_taps_cpu, gaussian_taps_cuda, t);
  return on_device_of(kGaussian, taps, images);
}

// One row of taps for all images, or one for each; computed on the device of `sigma`, read on that
// of the images.
Tensor gaussian_taps(const SeparableArguments& a, const FilterSizes& sizes, const Tensor& sigma,
                     const Tensor& images) {
  const bool is_shared = sigma.size(0) == 1;
  const Sigmas sigmas{static_cast<const double*>(sigma.const_data_ptr()),
                      is_shared ? 0 : sigma.stride(0), sigma.stride(1)};
  const Tensor table = sizes.sizes_on(sigma);
  const int64_t rows = sizes.count() == 1 && is_shared ? 1 : a.source.count;
  TapsArguments t{};
  t.sizes = sizes_in(sizes, table);
  t.sigmas = sigmas;
  t.count = rows;
  return gaussian_taps(a, t, sigma, images);
}

// Empty where the kernels need none.
template <template <class> class Rule>
Tensor new_row_sums(const char* op, const SeparableArguments& a, const Tensor& output) {
  const int64_t bytes = !runs_cuda_kernels(output) ? 0 : row_sum_bytes<Rule>(a) * output.numel();
  return new_tensor(op, std::vector<int64_t>{bytes}, ScalarType::Byte, output);
}

// `sizes`: the table that `a` points to.
PreparedBlur prepared_with(const Tensor& taps, const Tensor& sizes, SeparableArguments a,
                           const Tensor& output) {
  a.taps = taps.const_data_ptr();
  a.taps_stride = taps.size(0) == 1 ? 0 : 2 * a.longest;
  const Tensor row_sums = new_row_sums<GaussianRule>(kGaussian, a, output);
  a.row_sums = row_sums.mutable_data_ptr();
  return {a, taps, sizes, row_sums};
}

Tensor gaussian_blur(Tensor images, std::optional<Tensor> layout, int64_t channels,
                     std::vector<int64_t> kernel_size, Tensor sigma, Text border) {
  SeparableArguments a{};
  a.source = filter_source(kGaussian, images, layout, channels);
  a.dtype = dtype_of(kGaussian, images);
  a.border = filter_border(kGaussian, border);
  const Tensor output = filter_output(kGaussian, images, layout, a.source, a.output);
  const PreparedBlur blur = prepare_gaussian_blur(a, kernel_size, sigma, output);
  if (output.numel() == 0 || a.source.count == 0) return output;
  run_where(kGaussian, images, in_floats(kGaussian, images, gaussian_blur_cpu), gaussian_blur_cuda,
            blur.arguments);
  return output;
}

Tensor box_blur(Tensor images, std::optional<Tensor> layout, int64_t channels,
                std::vector<int64_t> kernel_size, Text border) {
  SeparableArguments a{};
  a.source = filter_source(kBox, images, layout, channels);
  a.dtype = dtype_of(kBox, images);
  a.border = filter_border(kBox, border);
  const FilterSizes sizes(kBox, kernel_size, a.source.count, Parity::kAny);
  check(sizes.largest_area() <= 1 << 24, kBox, "expected kernel_size of at most 16777216 pixels");
  a.longest = sizes.longest();
  const Tensor output = filter_output(kBox, images, layout, a.source, a.output);
  if (output.numel() == 0 || a.source.count == 0) return output;
  const Tensor table = sizes.sizes_on(images);
  a.sizes = sizes_in(sizes, table);
  const Tensor row_sums = new_row_sums<BoxRule>(kBox, a, output);
  a.row_sums = row_sums.mutable_data_ptr();
  run_where(kBox, images, in_floats(kBox, images, box_blur_cpu), box_blur_cuda, a);
  return output;
}

// On the device of the images, in their computing dtype.
Tensor filter_kernel(const Tensor& kernel, const Tensor& images, FilterArguments& a) {
  const int64_t count = a.source.count;
  check(kernel.dim() == 3 && (kernel.size(0) == 1 || kernel.size(0) == count) &&
            kernel.size(1) >= 1 && kernel.size(2) >= 1,
        kFilter, "expected kernel of shape [h, w] or [", count, ", h, w], but got ",
        shape_text(kernel));
  check(kernel.size(1) <= kMaxKernelSide && kernel.size(2) <= kMaxKernelSide, kFilter,
        "expected kernel with sides of at most ", kMaxKernelSide, ", but got ", shape_text(kernel));
  check(kernel.scalar_type() == ScalarType::Float || kernel.scalar_type() == ScalarType::Double,
        kFilter, "expected kernel of float32 or float64");
  const ScalarType type = a.dtype == DType::kFloat64 ? ScalarType::Double : ScalarType::Float;
  a.window = {static_cast<int>(kernel.size(1)), static_cast<int>(kernel.size(2))};
  a.kernel_stride = kernel.size(0) == 1 ? 0 : kernel.size(1) * kernel.size(2);
  return argument_on_device_of(kFilter, "kernel", converted(kFilter, kernel, type), images);
}

Tensor filter2d(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor kernel,
                Text border) {
  FilterArguments a{};
  a.source = filter_source(kFilter, images, layout, channels);
  a.dtype = dtype_of(kFilter, images);
  a.border = filter_border(kFilter, border);
  const Tensor taps = filter_kernel(kernel, images, a);
  const Tensor output = filter_output(kFilter, images, layout, a.source, a.output);
  if (output.numel() == 0 || a.source.count == 0) return output;
  a.kernel = taps.const_data_ptr();
  run_where(kFilter, images, in_floats(kFilter, images, filter2d_cpu), filter2d_cuda, a);
  return output;
}

Tensor median_blur(Tensor images, std::optional<Tensor> layout, int64_t channels,
                   std::vector<int64_t> kernel_size) {
  MedianArguments a{};
  a.source = filter_source(kMedian, images, layout, channels);
  a.dtype = dtype_of(kMedian, images);
  const FilterSizes sizes(kMedian, kernel_size, a.source.count, Parity::kOdd);
  a.longest = sizes.longest();
  const Tensor output = filter_output(kMedian, images, layout, a.source, a.output);
  if (output.numel() == 0 || a.source.count == 0) return output;
  const Tensor table = sizes.sizes_on(images);
  a.sizes = sizes_in(sizes, table);
  run_where(kMedian, images, median_blur_cpu, median_blur_cuda, a);
  return output;
}

int64_t side_of(const PerImage& argument) {
  return argument.one >= 1 && argument.one <= kMaxKernelSide ? static_cast<int64_t>(argument.one)
                                                             : 0;
}

}  // namespace

PreparedBlur prepare_gaussian_blur(SeparableArguments a, const std::vector<int64_t>& kernel_size,
                                   const Tensor& sigma, const Tensor& output) {
  const FilterSizes sizes(kGaussian, kernel_size, a.source.count, Parity::kOdd);
  check_sigma(sigma, output, a.source.count);
  if (output.numel() == 0 || a.source.count == 0) return {};
  a.longest = sizes.longest();
  const Tensor table = sizes.sizes_on(output);
  a.sizes = sizes_in(sizes, table);
  return prepared_with(gaussian_taps(a, sizes, sigma, output), table, a, output);
}

Tensor run_gaussian_blur(const OperatorCall& call) {
  const Tensor& images = call.images;
  const PerImage& sigma = call.arguments[0];
  const std::vector<int64_t> kernel_size{side_of(call.arguments[1]), side_of(call.arguments[2])};
  SeparableArguments a{};
  a.source = filter_source(kGaussian, images, std::nullopt, 0);
  a.dtype = dtype_of(kGaussian, images);
  a.border = Border::kReflect101;
  const FilterSizes sizes(kGaussian, kernel_size, a.source.count, Parity::kOdd);
  a.longest = sizes.longest();
  const Tensor output = filter_output(kGaussian, images, std::nullopt, a.source, a.output);
  TapsArguments t{};
  t.sizes = {nullptr, sizes.at(0), sizes.at(1)};
  t.sigmas = {sigma.each, 1, 0, sigma.one};
  t.count = a.source.count;
  t.drawn = call.drawn;
  const Tensor drawn_sizes = new_tensor(kGaussian, std::vector<int64_t>{t.drawn ? 2 * t.count : 0},
                                        ScalarType::Int, images);
  t.drawn_sizes = static_cast<int32_t*>(drawn_sizes.mutable_data_ptr());
  const Tensor taps = gaussian_taps(a, t, images, images);
  a.sizes = t.sizes;
  if (t.drawn != nullptr) a.sizes.table = t.drawn_sizes;
  const PreparedBlur blur = prepared_with(taps, drawn_sizes, a, output);
  run_where(kGaussian, images, in_floats(kGaussian, images, gaussian_blur_cpu), gaussian_blur_cuda,
            blur.arguments);
  return output;
}

}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "gaussian_blur(Tensor images, Tensor? layout, int channels, SymInt[] kernel_size, Tensor "
      "sigma, str border) -> Tensor");
  orbbec::define_with_out(
      m,
      "box_blur(Tensor images, Tensor? layout, int channels, SymInt[] kernel_size, str border) -> "
      "Tensor");
  orbbec::define_with_out(
      m,
      "filter2d(Tensor images, Tensor? layout, int channels, Tensor kernel, str border) -> Tensor");
  orbbec::define_with_out(
      m,
      "median_blur(Tensor images, Tensor? layout, int channels, SymInt[] kernel_size) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  orbbec::implement_with_out<TORCH_BOX(&orbbec::gaussian_blur)>(m, "gaussian_blur");
  orbbec::implement_with_out<TORCH_BOX(&orbbec::box_blur)>(m, "box_blur");
  orbbec::implement_with_out<TORCH_BOX(&orbbec::filter2d)>(m, "filter2d");
  orbbec::implement_with_out<TORCH_BOX(&orbbec::median_blur)>(m, "median_blur");
}
