#include "../../bridge/matrices.h"
#include "../binding_backward.h"

namespace orbbec {

void warp_perspective_cpu(const WarpArguments& arguments, const ParallelFor& parallel);
void warp_perspective_backward_cpu(const WarpBackwardArguments& arguments,
                                   const ParallelFor& parallel);
[[gnu::weak]] int warp_perspective_cuda(const WarpArguments& arguments, void* stream);
[[gnu::weak]] int warp_perspective_backward_cuda(const WarpBackwardArguments& arguments,
                                                 void* stream);

namespace {

constexpr const char* kOp = "warp_perspective";

void warp_perspective(StableIValue* stack, uint64_t, uint64_t) {
  const WarpCall<Matrices> call(stack, {.rows = 3});
  give(stack, warp(kOp, call, nullptr, warp_perspective_cpu, warp_perspective_cuda));
}

void warp_perspective_out(StableIValue* stack, uint64_t, uint64_t) {
  const WarpCall<Matrices> call(stack, {.rows = 3});
  Tensor out;
  unpack(call.rest, out);
  warp(kOp, call, &out, warp_perspective_cpu, warp_perspective_cuda);
}

void warp_perspective_backward(StableIValue* stack, uint64_t, uint64_t) {
  const WarpBackwardCall<Matrices> call(stack, {.rows = 3});
  std::optional<Tensor> regions;
  unpack(call.rest, regions);
  check(call.images.dim() == 4, kOp, "expected images of shape [N, C, H, W], but got ",
        shape_text(call.images));
  const auto [of_images, of_matrix] =
      warp_backward(kOp, call, {call.images.size(0), 3, 3}, 9, warp_perspective_backward_cpu,
                    warp_perspective_backward_cuda, regions);
  give(stack, of_images, of_matrix);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "warp_perspective(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, "
      "str interpolation, str border, float[] fill, bool inverse, str arithmetic) -> Tensor");
  m.def(
      "warp_perspective_out(Tensor images, Tensor? layout, int channels, Tensor matrix, "
      "SymInt[] size, str interpolation, str border, float[] fill, bool inverse, str arithmetic, "
      "Tensor(a!) out) -> ()");
  m.def(
      "warp_perspective_backward(Tensor gradient, Tensor images, Tensor matrix, Tensor largest, "
      "str interpolation, str border, float[] fill, bool inverse, str arithmetic, "
      "Tensor? regions=None) -> (Tensor, Tensor)");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("warp_perspective", &orbbec::warp_perspective);
  m.impl("warp_perspective_out", &orbbec::warp_perspective_out);
  m.impl("warp_perspective_backward", &orbbec::warp_perspective_backward);
}
