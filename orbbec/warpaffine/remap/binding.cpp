#include "../binding_backward.h"

namespace orbbec {

void remap_cpu(const WarpArguments& arguments, const ParallelFor& parallel);
void remap_backward_cpu(const WarpBackwardArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int remap_cuda(const WarpArguments& arguments, void* stream);
[[gnu::weak]] int remap_backward_cuda(const WarpBackwardArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "remap";

// A map in the dtype and on the device that the kernel reads, each image's without gaps.
Tensor prepare_map(const char* name, const Tensor& images, const Tensor& map,
                   const WarpArguments& a) {
  const int64_t height = a.output.height, width = a.output.width;
  const bool shared = map.dim() == 2, per_image = map.dim() == 3 && map.size(0) == a.source.count;
  check((shared || per_image) && map.size(map.dim() - 2) == height &&
            map.size(map.dim() - 1) == width,
        kOp, "expected ", name, " of shape ",
        shape_text(std::array<int64_t, 3>{a.source.count, height, width}), ", but got ",
        shape_text(map));
  check(map.scalar_type() == ScalarType::Float || map.scalar_type() == ScalarType::Double, kOp,
        "expected ", name, " of float32 or float64");
  check(map.is_cpu() || same_device(map, images), kOp, "expected ", name,
        " on the CPU or on the device of images");
  const Tensor prepared = converted(kOp, on_device_of(kOp, map, images), transform_scalar_type(a));
  const bool dense = prepared.stride(map.dim() - 1) == 1 && prepared.stride(map.dim() - 2) == width;
  return dense ? prepared : contiguous(kOp, prepared);
}

struct Positions {
  Tensor map_x, map_y;

  StableIValue* read(StableIValue* stack) { return unpack(stack, map_x, map_y); }
  StableIValue* read_direction(StableIValue* stack) { return stack; }

  // Sets the transform of `a`, and returns what it points to.
  std::array<Tensor, 2> prepare(const char*, const Tensor& images, WarpArguments& a) const {
    check(map_x.dim() == map_y.dim(), kOp, "expected map_x and map_y of one shape");
    Tensor x = prepare_map("map_x", images, map_x, a), y = prepare_map("map_y", images, map_y, a);
    const bool shared = map_x.dim() == 2;
    if (!shared && x.stride(0) != y.stride(0)) {
      x = contiguous(kOp, x);
      y = contiguous(kOp, y);
    }
    a.transform = x.const_data_ptr();
    a.transform_y = y.const_data_ptr();
    a.transform_stride = shared ? 0 : x.stride(0);
    return {x, y};
  }
};

void remap(StableIValue* stack, uint64_t, uint64_t) {
  const WarpCall<Positions> call(stack, {});
  give(stack, warp(kOp, call, nullptr, remap_cpu, remap_cuda));
}

void remap_out(StableIValue* stack, uint64_t, uint64_t) {
  const WarpCall<Positions> call(stack, {});
  Tensor out;
  unpack(call.rest, out);
  warp(kOp, call, &out, remap_cpu, remap_cuda);
}

void remap_backward(StableIValue* stack, uint64_t, uint64_t) {
  const WarpBackwardCall<Positions> call(stack, {});
  const Tensor &images = call.images, &gradient = call.gradient;
  check(images.dim() == 4 && gradient.dim() == 4, kOp,
        "expected images and gradient of shape [N, C, H, W]");
  const auto [of_images, of_maps] =
      warp_backward(kOp, call, {images.size(0), 2, gradient.size(2), gradient.size(3)}, 0,
                    remap_backward_cpu, remap_backward_cuda);
  give(stack, of_images, of_maps);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "remap(Tensor images, Tensor? layout, int channels, Tensor map_x, Tensor map_y, "
      "SymInt[] size, str interpolation, str border, float[] fill, str arithmetic) -> Tensor");
  m.def(
      "remap_out(Tensor images, Tensor? layout, int channels, Tensor map_x, Tensor map_y, "
      "SymInt[] size, str interpolation, str border, float[] fill, str arithmetic, "
      "Tensor(a!) out) -> ()");
  m.def(
      "remap_backward(Tensor gradient, Tensor images, Tensor map_x, Tensor map_y, Tensor largest, "
      "str interpolation, str border, float[] fill, str arithmetic) -> (Tensor, Tensor)");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("remap", &orbbec::remap);
  m.impl("remap_out", &orbbec::remap_out);
  m.impl("remap_backward", &orbbec::remap_backward);
}
