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

Tensor run(const Tensor& images, const std::optional<Tensor>& layout, int64_t channels,
           const Tensor& matrix, const std::vector<int64_t>& size, const WarpOptions& options,
           bool inverse, const Tensor* out) {
  return warp(kOp, images, layout, channels, size, options, out, Matrices{matrix, 3, inverse},
              warp_perspective_cpu, warp_perspective_cuda);
}

Tensor warp_perspective(Tensor images, std::optional<Tensor> layout, int64_t channels,
                        Tensor matrix, std::vector<int64_t> size, std::string interpolation,
                        std::string border, std::vector<double> fill, bool inverse,
                        std::string arithmetic) {
  return run(images, layout, channels, matrix, size, {interpolation, border, fill, arithmetic},
             inverse, nullptr);
}

void warp_perspective_out(Tensor images, std::optional<Tensor> layout, int64_t channels,
                          Tensor matrix, std::vector<int64_t> size, std::string interpolation,
                          std::string border, std::vector<double> fill, bool inverse,
                          std::string arithmetic, Tensor out) {
  run(images, layout, channels, matrix, size, {interpolation, border, fill, arithmetic}, inverse,
      &out);
}

std::tuple<Tensor, Tensor> warp_perspective_backward(Tensor gradient, Tensor images, Tensor matrix,
                                                     Tensor per_unit, std::string interpolation,
                                                     std::string border, std::vector<double> fill,
                                                     bool inverse, std::string arithmetic,
                                                     std::optional<Tensor> regions) {
  check(images.dim() == 4, kOp, "expected images of shape [N, C, H, W], but got ",
        shape_text(images));
  return warp_backward(kOp, gradient, images, {interpolation, border, fill, arithmetic}, per_unit,
                       {images.size(0), 3, 3}, 9, Matrices{matrix, 3, inverse},
                       warp_perspective_backward_cpu, warp_perspective_backward_cuda, regions);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "warp_perspective(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, "
      "str interpolation, "
      "str border, float[] fill, bool inverse, str arithmetic) -> Tensor");
  m.def(
      "warp_perspective_out(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] "
      "size, str interpolation, "
      "str border, float[] fill, bool inverse, str arithmetic, Tensor(a!) out) -> ()");
  m.def(
      "warp_perspective_backward(Tensor gradient, Tensor images, Tensor matrix, Tensor per_unit, "
      "str interpolation, str border, "
      "float[] fill, bool inverse, str arithmetic, Tensor? regions=None) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("warp_perspective", TORCH_BOX(&orbbec::warp_perspective));
  m.impl("warp_perspective_out", TORCH_BOX(&orbbec::warp_perspective_out));
  m.impl("warp_perspective_backward", TORCH_BOX(&orbbec::warp_perspective_backward));
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) {
  m.impl("warp_perspective", TORCH_BOX(&orbbec::warp_perspective));
  m.impl("warp_perspective_out", TORCH_BOX(&orbbec::warp_perspective_out));
  m.impl("warp_perspective_backward", TORCH_BOX(&orbbec::warp_perspective_backward));
}
