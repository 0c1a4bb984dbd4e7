#include "../binding_backward.h"

namespace orbbec {

void remap_cpu(const WarpArguments& arguments, const ParallelFor& parallel);
void remap_backward_cpu(const WarpBackwardArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int remap_cuda(const WarpArguments& arguments, void* stream);
[[gnu::weak]] int remap_backward_cuda(const WarpBackwardArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "remap";

// The coordinates in the dtype and on the device that the kernel reads; sets the transform of `a`.
Tensor prepare_positions(const Tensor& images, const Tensor& positions, WarpArguments& a) {
  const int64_t height = a.output.height, width = a.output.width;
  const bool shared = positions.dim() == 3,
             own = positions.dim() == 4 && positions.size(0) == a.source.count;
  const int64_t first = shared ? 0 : 1;
  check((shared || own) && positions.size(first) == 2 && positions.size(first + 1) == height &&
            positions.size(first + 2) == width,
        kOp, "expected positions of shape ",
        shape_text(std::array<int64_t, 4>{a.source.count, 2, height, width}), ", but got ",
        shape_text(positions));
  check(
      positions.scalar_type() == ScalarType::Float || positions.scalar_type() == ScalarType::Double,
      kOp, "expected positions of float32 or float64");
  check(positions.is_cpu() || same_device(positions, images), kOp,
        "expected positions on the CPU or on the device of images");
  Tensor prepared =
      same_device(positions, images) ? positions : on_device_of(kOp, positions, images);
  prepared = contiguous(kOp, converted(kOp, prepared, transform_scalar_type(a)));
  a.transform = prepared.const_data_ptr();
  a.transform_stride = shared ? 0 : 2 * height * width;
  return prepared;
}

struct Positions {
  const Tensor& given;

  Tensor prepare(const char*, const Tensor& images, WarpArguments& arguments) const {
    return prepare_positions(images, given, arguments);
  }
};

Tensor run(const Tensor& images, const std::optional<Tensor>& layout, int64_t channels,
           const Tensor& positions, const std::vector<int64_t>& size, const WarpOptions& options,
           const Tensor* out) {
  return warp(kOp, images, layout, channels, size, options, out, Positions{positions}, remap_cpu,
              remap_cuda);
}

Tensor remap(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor positions,
             std::vector<int64_t> size, std::string interpolation, std::string border,
             std::vector<double> fill, std::string arithmetic) {
  return run(images, layout, channels, positions, size, {interpolation, border, fill, arithmetic},
             nullptr);
}

void remap_out(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor positions,
               std::vector<int64_t> size, std::string interpolation, std::string border,
               std::vector<double> fill, std::string arithmetic, Tensor out) {
  run(images, layout, channels, positions, size, {interpolation, border, fill, arithmetic}, &out);
}

std::tuple<Tensor, Tensor> remap_backward(Tensor gradient, Tensor images, Tensor positions,
                                          Tensor per_unit, std::string interpolation,
                                          std::string border, std::vector<double> fill,
                                          std::string arithmetic) {
  check(images.dim() == 4 && gradient.dim() == 4, kOp,
        "expected images and gradient of shape [N, C, H, W]");
  return warp_backward(kOp, gradient, images, {interpolation, border, fill, arithmetic}, per_unit,
                       {images.size(0), 2, gradient.size(2), gradient.size(3)}, 0,
                       Positions{positions}, remap_backward_cpu, remap_backward_cuda);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "remap(Tensor images, Tensor? layout, int channels, Tensor positions, SymInt[] size, str "
      "interpolation, "
      "str border, float[] fill, str arithmetic) -> Tensor");
  m.def(
      "remap_out(Tensor images, Tensor? layout, int channels, Tensor positions, SymInt[] size, str "
      "interpolation, "
      "str border, float[] fill, str arithmetic, Tensor(a!) out) -> ()");
  m.def(
      "remap_backward(Tensor gradient, Tensor images, Tensor positions, Tensor per_unit, str "
      "interpolation, "
      "str border, float[] fill, str arithmetic) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("remap", TORCH_BOX(&orbbec::remap));
  m.impl("remap_out", TORCH_BOX(&orbbec::remap_out));
  m.impl("remap_backward", TORCH_BOX(&orbbec::remap_backward));
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) {
  m.impl("remap", TORCH_BOX(&orbbec::remap));
  m.impl("remap_out", TORCH_BOX(&orbbec::remap_out));
  m.impl("remap_backward", TORCH_BOX(&orbbec::remap_backward));
}
