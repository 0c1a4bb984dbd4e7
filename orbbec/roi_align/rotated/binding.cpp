#include "../binding_rois.h"
#include "roi_align_rotated.h"

namespace orbbec {

void roi_align_rotated_cpu(const RoiArguments& arguments, const ParallelFor& parallel);
void roi_align_rotated_backward_cpu(const RoiArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int roi_align_rotated_cuda(const RoiArguments& arguments, void* stream);
[[gnu::weak]] int roi_align_rotated_backward_cuda(const RoiArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "roi_align_rotated";

Tensor roi_align_rotated(Tensor input, Tensor rois, std::vector<int64_t> output_size,
                         double spatial_scale, int64_t sampling_ratio, bool aligned) {
  return roi_align_forward<RotatedRoi>(kOp, input, rois, output_size,
                                       {spatial_scale, sampling_ratio, aligned},
                                       roi_align_rotated_cpu, roi_align_rotated_cuda);
}

Tensor roi_align_rotated_backward(Tensor gradient, Tensor rois, std::vector<int64_t> input_size,
                                  bool channels_last, double spatial_scale, int64_t sampling_ratio,
                                  bool aligned) {
  return roi_align_gradient<RotatedRoi>(
      kOp, gradient, rois, input_size, channels_last, {spatial_scale, sampling_ratio, aligned},
      roi_align_rotated_backward_cpu, roi_align_rotated_backward_cuda);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "roi_align_rotated(Tensor input, Tensor rois, SymInt[] output_size, float spatial_scale, "
      "int sampling_ratio, bool aligned) -> Tensor");
  m.def(
      "roi_align_rotated_backward(Tensor gradient, Tensor rois, SymInt[] input_size, "
      "bool channels_last, float spatial_scale, int sampling_ratio, bool aligned) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("roi_align_rotated", TORCH_BOX(&orbbec::roi_align_rotated));
  m.impl("roi_align_rotated_backward", TORCH_BOX(&orbbec::roi_align_rotated_backward));
}
