#include "../binding/matrices.h"

namespace orbbec {

void warp_affine_cpu(const WarpArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int warp_affine_cuda(const WarpArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "warp_affine";

Tensor run(const Tensor& images, const std::optional<Tensor>& layout, int64_t channels, const Tensor& matrix,
           const std::vector<int64_t>& size, const WarpOptions& options, bool inverse, const Tensor* out) {
  const auto prepare = [&](WarpArguments& a) { return prepare_matrices(kOp, images, matrix, 2, inverse, a); };
  return warp(kOp, images, layout, channels, size, options, out, prepare, warp_affine_cpu, warp_affine_cuda);
}

Tensor warp_affine(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor matrix,
                   std::vector<int64_t> size, std::string interpolation, std::string border, std::vector<double> fill,
                   bool inverse, std::string arithmetic) {
  return run(images, layout, channels, matrix, size, {interpolation, border, fill, arithmetic}, inverse, nullptr);
}

void warp_affine_out(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor matrix,
                     std::vector<int64_t> size, std::string interpolation, std::string border,
                     std::vector<double> fill, bool inverse, std::string arithmetic, Tensor out) {
  run(images, layout, channels, matrix, size, {interpolation, border, fill, arithmetic}, inverse, &out);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "warp_affine(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, str interpolation, "
      "str border, float[] fill, bool inverse, str arithmetic) -> Tensor");
  m.def(
      "warp_affine_out(Tensor images, Tensor? layout, int channels, Tensor matrix, SymInt[] size, str interpolation, "
      "str border, float[] fill, bool inverse, str arithmetic, Tensor(a!) out) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("warp_affine", TORCH_BOX(&orbbec::warp_affine));
  m.impl("warp_affine_out", TORCH_BOX(&orbbec::warp_affine_out));
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) {
  m.impl("warp_affine", TORCH_BOX(&orbbec::warp_affine));
  m.impl("warp_affine_out", TORCH_BOX(&orbbec::warp_affine_out));
}
