#include "../binding_rois.h"
#include "roi_pool.h"

namespace orbbec {

void roi_pool_cpu(const RoiPoolArguments& arguments, const ParallelFor& parallel);
void roi_pool_backward_cpu(const RoiPoolArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int roi_pool_cuda(const RoiPoolArguments& arguments, void* stream);
[[gnu::weak]] int roi_pool_backward_cuda(const RoiPoolArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "roi_pool";
constexpr int64_t kNumbers = 5;

void check_argmax_reach(const AnyImages& features) {
  check(int64_t{features.height} * features.width <= kMaxSide, kOp,
        "expected input of at most 2147483647 pixels per image, but got sides of ", features.height,
        " and ", features.width);
}

std::tuple<Tensor, Tensor> roi_pool(Tensor input, Tensor rois, std::vector<int64_t> output_size,
                                    double spatial_scale) {
  RoiPoolArguments a{};
  a.roi = roi_arguments(kOp, input, {spatial_scale, 0, false}, 1);
  a.roi.features = float_images(kOp, "input", input, const_cast<void*>(input.const_data_ptr()));
  check_argmax_reach(a.roi.features);
  const Tensor prepared = prepare_rois(kOp, rois, kNumbers, input);
  check_pooled_size(kOp, output_size, rois.size(0), a.roi.features.channels);
  check_images_of(kOp, prepared, a.roi.features.count);
  const std::vector<int64_t> shape{rois.size(0), a.roi.features.channels, output_size[0],
                                   output_size[1]};
  const bool channels_last = reads_channels_last(a.roi.features);
  const Tensor output = new_images(kOp, input, shape, channels_last);
  const Tensor argmax = new_images(kOp, input, shape, channels_last, ScalarType::Int);
  if (output.numel() == 0) return {output, argmax};
  const Tensor geometries = point_to_rois<RoiPoolGeometry>(kOp, prepared, a.roi);
  a.roi.pooled = dense_images(kOp, "output", output, output.mutable_data_ptr());
  a.argmax = dense_images(kOp, "argmax", argmax, argmax.mutable_data_ptr());
  run_where(kOp, input, roi_pool_cpu, roi_pool_cuda, a);
  return {output, argmax};
}

// With rows of bins that follow each other in memory.
Tensor with_dense_rows(const Tensor& tensor) {
  const bool is_dense = tensor.dim() != 4 || tensor.stride(2) == tensor.size(3) * tensor.stride(3);
  return is_dense || !runs_cuda_kernels(tensor) ? tensor : contiguous(kOp, tensor);
}

Tensor roi_pool_backward(Tensor gradient, Tensor argmax, Tensor rois,
                         std::vector<int64_t> input_size, bool channels_last,
                         double spatial_scale) {
  gradient = with_dense_rows(gradient);
  argmax = with_dense_rows(argmax);
  RoiPoolArguments a{};
  a.roi = roi_arguments(kOp, gradient, {spatial_scale, 0, false}, 1);
  a.roi.pooled =
      float_images(kOp, "gradient", gradient, const_cast<void*>(gradient.const_data_ptr()));
  const Tensor prepared = prepare_rois(kOp, rois, kNumbers, gradient);
  check_gradient(kOp, gradient, rois, input_size);
  check(argmax.scalar_type() == ScalarType::Int && same_device(argmax, gradient) &&
            argmax.dim() == 4 &&
            std::equal(argmax.sizes().begin(), argmax.sizes().end(), gradient.sizes().begin()),
        kOp, "expected argmax as int32 of the shape and on the device of gradient, but got ",
        shape_text(argmax));
  check_images_of(kOp, prepared, input_size[0]);
  Tensor result = new_images(kOp, gradient, input_size, channels_last);
  if (result.numel() == 0) return result;
  if (rois.size(0) == 0) return torch::stable::zero_(result);
  const Tensor geometries = point_to_rois<RoiPoolGeometry>(kOp, prepared, a.roi);
  a.roi.features = float_images(kOp, "input", result, result.mutable_data_ptr());
  check_argmax_reach(a.roi.features);
  a.argmax = dense_images(kOp, "argmax", argmax, const_cast<void*>(argmax.const_data_ptr()));
  run_where(kOp, gradient, roi_pool_backward_cpu, roi_pool_backward_cuda, a);
  return result;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "roi_pool(Tensor input, Tensor rois, SymInt[] output_size, float spatial_scale) -> (Tensor, "
      "Tensor)");
  m.def(
      "roi_pool_backward(Tensor gradient, Tensor argmax, Tensor rois, SymInt[] input_size, "
      "bool channels_last, float spatial_scale) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("roi_pool", TORCH_BOX(&orbbec::roi_pool));
  m.impl("roi_pool_backward", TORCH_BOX(&orbbec::roi_pool_backward));
}
