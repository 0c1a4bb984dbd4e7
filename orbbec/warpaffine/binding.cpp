#include "../bridge/matrices.h"
#include "binding_backward.h"

namespace orbbec {

void warp_affine_cpu(const WarpArguments& arguments, const ParallelFor& parallel);
void warp_affine_backward_cpu(const WarpBackwardArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int warp_affine_cuda(const WarpArguments& arguments, void* stream);
[[gnu::weak]] int warp_affine_backward_cuda(const WarpBackwardArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "warp_affine";

void warp_affine(StableIValue* stack, uint64_t, uint64_t) {
  const WarpCall<Matrices> call(stack, {.rows = 2});
  give(stack, warp(kOp, call, nullptr, warp_affine_cpu, warp_affine_cuda));
}

void warp_affine_out(StableIValue* stack, uint64_t, uint64_t) {
  const WarpCall<Matrices> call(stack, {.rows = 2});
  Tensor out;
  unpack(call.rest, out);
  warp(kOp, call, &out, warp_affine_cpu, warp_affine_cuda);
}

void warp_affine_backward(StableIValue* stack, uint64_t, uint64_t) {
  const WarpBackwardCall<Matrices> call(stack, {.rows = 2});
  check(call.images.dim() == 4, kOp, "expected images of shape [N, C, H, W], but got ",
        shape_text(call.images));
  const auto [of_images, of_matrix] =
      warp_backward(kOp, call, {call.images.size(0), 2, 3}, 6, warp_affine_backward_cpu,
                    warp_affine_backward_cuda);
  give(stack, of_images, of_matrix);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "warp_affine(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, "
      "str interpolation, str border, float[] fill, bool inverse, str arithmetic) -> Tensor");
  m.def(
      "warp_affine_out(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, "
      "str interpolation, str border, float[] fill, bool inverse, str arithmetic, "
      "Tensor(a!) out) -> ()");
  m.def(
      "warp_affine_backward(Tensor gradient, Tensor images, Tensor matrix, Tensor largest, "
      "str interpolation, str border, float[] fill, bool inverse, str arithmetic) "
      "-> (Tensor, Tensor)");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("warp_affine", &orbbec::warp_affine);
  m.impl("warp_affine_out", &orbbec::warp_affine_out);
  m.impl("warp_affine_backward", &orbbec::warp_affine_backward);
}
