#include "../bridge/matrices.h"
#include "binding_backward.h"

namespace orbbec {

void warp_affine_cpu(const WarpArguments& arguments, const ParallelFor& parallel);
void warp_affine_backward_cpu(const WarpBackwardArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int warp_affine_cuda(const WarpArguments& arguments, void* stream);
[[gnu::weak]] int warp_affine_backward_cuda(const WarpBackwardArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "warp_affine";

Tensor run(const Tensor& images, const std::optional<Tensor>& layout, int64_t channels,
           const Tensor& matrix, const std::vector<int64_t>& size, const WarpOptions& options,
           bool inverse, const Tensor* out) {
  return warp(kOp, images, layout, channels, size, options, out, Matrices{matrix, 2, inverse},
              warp_affine_cpu, warp_affine_cuda);
}

Tensor warp_affine(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor matrix,
                   std::vector<int64_t> size, std::string interpolation, std::string border,
                   std::vector<double> fill, bool inverse, std::string arithmetic) {
  return run(images, layout, channels, matrix, size, {interpolation, border, fill, arithmetic},
             inverse, nullptr);
}

void warp_affine_out(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor matrix,
                     std::vector<int64_t> size, std::string interpolation, std::string border,
                     std::vector<double> fill, bool inverse, std::string arithmetic, Tensor out) {
  run(images, layout, channels, matrix, size, {interpolation, border, fill, arithmetic}, inverse,
      &out);
}

std::tuple<Tensor, Tensor> warp_affine_backward(Tensor gradient, Tensor images, Tensor matrix,
                                                Tensor per_unit, std::string interpolation,
                                                std::string border, std::vector<double> fill,
                                                bool inverse, std::string arithmetic) {
  check(images.dim() == 4, kOp, "expected images of shape [N, C, H, W], but got ",
        shape_text(images));
  return warp_backward(kOp, gradient, images, {interpolation, border, fill, arithmetic}, per_unit,
                       {images.size(0), 2, 3}, 6, Matrices{matrix, 2, inverse},
                       warp_affine_backward_cpu, warp_affine_backward_cuda);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "warp_affine(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, str "
      "interpolation, "
      "str border, float[] fill, bool inverse, str arithmetic) -> Tensor");
  m.def(
      "warp_affine_out(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, "
      "str interpolation, "
      "str border, float[] fill, bool inverse, str arithmetic, Tensor(a!) out) -> ()");
  m.def(
      "warp_affine_backward(Tensor gradient, Tensor images, Tensor matrix, Tensor per_unit, str "
      "interpolation, str border, "
      "float[] fill, bool inverse, str arithmetic) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("warp_affine", TORCH_BOX(&orbbec::warp_affine));
  m.impl("warp_affine_out", TORCH_BOX(&orbbec::warp_affine_out));
  m.impl("warp_affine_backward", TORCH_BOX(&orbbec::warp_affine_backward));
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) {
  m.impl("warp_affine", TORCH_BOX(&orbbec::warp_affine));
  m.impl("warp_affine_out", TORCH_BOX(&orbbec::warp_affine_out));
  m.impl("warp_affine_backward", TORCH_BOX(&orbbec::warp_affine_backward));
}
