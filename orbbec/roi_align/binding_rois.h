// Shared by the bindings of roi_align, roi_align_rotated and roi_pool.
#pragma once

#include "../bridge/images.h"
#include "roi.h"

namespace orbbec {

inline ScalarType computing_type(const Tensor& tensor) {
  return tensor.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

inline bool is_float(const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Float:
    case ScalarType::Double:
      return true;
    default:
      return false;
  }
}

inline AnyImages float_images(const char* op, const char* name, const Tensor& tensor, void* data) {
  const AnyImages images = dense_images(op, name, tensor, data);
  check(is_float(tensor), op, "expected ", name, " of float16, bfloat16, float32 or float64");
  check(images.height <= kMaxRoiSide && images.width <= kMaxRoiSide && images.channels <= kMaxSide,
        op, "expected ", name, " with sides of at most ", kMaxRoiSide, ", but got ",
        shape_text(tensor));
  return images;
}

// [K, numbers] in the computing dtype, contiguous. The result must outlive the launch.
inline Tensor prepare_rois(const char* op, const Tensor& rois, int64_t numbers,
                           const Tensor& like) {
  check(rois.dim() == 2 && rois.size(1) == numbers, op, "expected rois of shape [K, ", numbers,
        "], but got ", shape_text(rois));
  check(is_float(rois), op, "expected rois of float16, bfloat16, float32 or float64");
  check(same_device(rois, like), op, "expected rois on the device of input");
  return contiguous(op, converted(op, rois, computing_type(like)));
}

// Checked on the CPU only; on CUDA an out-of-range batch index gives NaN and no gradient.
inline void check_images_of(const char* op, const Tensor& rois, int64_t count) {
  if (runs_cuda_kernels(rois)) return;
  const int64_t numbers = rois.size(1);
  const auto check_indices = [&](const auto* roi) {
    for (int64_t k = 0; k < rois.size(0); ++k, roi += numbers) {
      check(roi_image(roi[0], count) >= 0, op, "expected rois with batch indices below ", count,
            ", but roi ", k, " has ", roi[0]);
    }
  };
  const void* const data = rois.const_data_ptr();
  rois.scalar_type() == ScalarType::Double ? check_indices(static_cast<const double*>(data))
                                           : check_indices(static_cast<const float*>(data));
}

inline void check_pooled_size(const char* op, const std::vector<int64_t>& size, int64_t rois,
                              int64_t channels) {
  check(size.size() == 2 && size[0] >= 1 && size[1] >= 1 && size[0] <= kMaxRoiBins &&
            size[1] <= kMaxRoiBins,
        op, "expected output_size as (height, width), each from 1 to ", kMaxRoiBins, ", but got ",
        shape_text(size));
  check(rois <= kMaxSide, op, "expected at most ", kMaxSide, " rois, but got ", rois);
  check(is_addressable({rois, channels, size[0], size[1]}), op, "an output of ", rois,
        " rois of size ", shape_text(size), " is too large");
}

// Checks the `gradient` of the pooled regions and the size of the input whose gradient is computed.
inline void check_gradient(const char* op, const Tensor& gradient, const Tensor& rois,
                           const std::vector<int64_t>& input_size) {
  check(input_size.size() == 4, op, "expected input_size as [N, C, H, W], but got ",
        shape_text(input_size));
  for (const int64_t side : input_size)
    check(side >= 0, op, "expected input_size as [N, C, H, W], but got ", shape_text(input_size));
  check(is_addressable(input_size), op, "an input of size ", shape_text(input_size),
        " is too large");
  check(gradient.size(0) == rois.size(0) && gradient.size(1) == input_size[1], op,
        "expected gradient of shape [", rois.size(0), ", ", input_size[1], ", PH, PW], but got ",
        shape_text(gradient));
  check_pooled_size(op, {gradient.size(2), gradient.size(3)}, rois.size(0), input_size[1]);
}

struct RoiOptions {
  double spatial_scale;
  int64_t sampling_ratio;
  bool aligned;
};

inline RoiArguments roi_arguments(const char* op, const Tensor& like, const RoiOptions& options,
                                  int max_samples) {
  check(options.sampling_ratio <= max_samples, op, "expected sampling_ratio of at most ",
        max_samples, ", but got ", options.sampling_ratio);
  RoiArguments a{};
  a.dtype = dtype_of(op, like);
  a.spatial_scale = options.spatial_scale;
  a.sampling_ratio = static_cast<int>(options.sampling_ratio > 0 ? options.sampling_ratio : 0);
  a.aligned = options.aligned;
  return a;
}

// Points the arguments to the regions and to scratch memory for a geometry of each, which it
// returns.
template <template <class> class Geometry>
Tensor point_to_rois(const char* op, const Tensor& rois, RoiArguments& a) {
  const bool is_double = rois.scalar_type() == ScalarType::Double;
  const int64_t bytes = is_double ? sizeof(Geometry<double>) : sizeof(Geometry<float>);
  const Tensor geometries =
      new_tensor(op, std::vector<int64_t>{rois.size(0) * bytes}, ScalarType::Byte, rois);
  a.rois = rois.const_data_ptr();
  a.geometries = geometries.mutable_data_ptr();
  return geometries;
}

// Sets `channels_last` of a gradient on CUDA; `holder` keeps its memory.
inline void set_channels_last(const char* op, const Tensor& gradient, RoiArguments& a,
                              std::optional<Tensor>& holder) {
  if (!runs_cuda_kernels(gradient)) return;
  const AnyImages& bins = a.pooled;
  a.channels_last = bins.data;
  a.channels_last_stride =
      (bins.channels + kVectorChannels - 1) / kVectorChannels * kVectorChannels;
  const int64_t row = bins.width * a.channels_last_stride;
  const bool is_last = bins.stride_c == 1 && bins.stride_x == a.channels_last_stride &&
                       bins.stride_y == row && bins.stride_n == bins.height * row &&
                       reinterpret_cast<uintptr_t>(bins.data) % 16 == 0;
  if (is_last) return;
  const std::vector<int64_t> shape{bins.count, bins.height, bins.width, a.channels_last_stride};
  holder = new_tensor(op, shape, gradient.scalar_type(), gradient);
  a.channels_last = holder->mutable_data_ptr();
}

// The pooled regions [K, C, *size]; channels last if the input is.
template <class Roi, class OnCpu, class OnCuda>
Tensor roi_align_forward(const char* op, const Tensor& input, const Tensor& rois,
                         const std::vector<int64_t>& size, const RoiOptions& options, OnCpu on_cpu,
                         OnCuda on_cuda) {
  RoiArguments a = roi_arguments(op, input, options, Roi::kMaxSamples);
  a.features = float_images(op, "input", input, const_cast<void*>(input.const_data_ptr()));
  const Tensor prepared = prepare_rois(op, rois, Roi::kNumbers, input);
  check_pooled_size(op, size, rois.size(0), a.features.channels);
  check_images_of(op, prepared, a.features.count);
  const Tensor output = new_images(op, input, {rois.size(0), a.features.channels, size[0], size[1]},
                                   reads_channels_last(a.features));
  if (output.numel() == 0) return output;
  const Tensor geometries = point_to_rois<RoiGeometry>(op, prepared, a);
  a.pooled = dense_images(op, "output", output, output.mutable_data_ptr());
  run_where(op, input, on_cpu, on_cuda, a);
  return output;
}

// The gradient of an input of `input_size`.
template <class Roi, class OnCpu, class OnCuda>
Tensor roi_align_gradient(const char* op, const Tensor& gradient, const Tensor& rois,
                          const std::vector<int64_t>& input_size, bool channels_last,
                          const RoiOptions& options, OnCpu on_cpu, OnCuda on_cuda) {
  RoiArguments a = roi_arguments(op, gradient, options, Roi::kMaxSamples);
  a.pooled = float_images(op, "gradient", gradient, const_cast<void*>(gradient.const_data_ptr()));
  const Tensor prepared = prepare_rois(op, rois, Roi::kNumbers, gradient);
  check_gradient(op, gradient, rois, input_size);
  check_images_of(op, prepared, input_size[0]);
  Tensor result = new_images(op, gradient, input_size, channels_last);
  if (result.numel() == 0) return result;
  if (rois.size(0) == 0) return torch::stable::zero_(result);
  const Tensor geometries = point_to_rois<RoiGeometry>(op, prepared, a);
  a.features = float_images(op, "input", result, result.mutable_data_ptr());
  std::optional<Tensor> rows;
  if (!Roi::scatters(a)) set_channels_last(op, gradient, a, rows);
  run_where(op, gradient, on_cpu, on_cuda, a);
  return result;
}

}  // namespace orbbec
