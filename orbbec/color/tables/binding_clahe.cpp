#include "../../bridge/pointwise.h"
#include "clahe.h"

namespace orbbec {

void clahe_cpu(const ClaheArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int clahe_cuda(const ClaheArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "clahe";

Tensor clahe(Tensor images, std::optional<Tensor> layout, int64_t channels, double clip_limit,
             std::optional<Tensor> clip_limits, int64_t tiles_y, int64_t tiles_x) {
  constexpr int64_t kMaxTiles = 1024, kMaxPixels = int64_t{1} << 30;
  ClaheArguments a{};
  a.source = source_images(kOp, images, layout, channels);
  check(images.scalar_type() == ScalarType::Byte, kOp, "expected images of uint8");
  check(tiles_y >= 1 && tiles_x >= 1 && tiles_y <= kMaxTiles && tiles_x <= kMaxTiles, kOp,
        "expected tiles as (rows, columns), each from 1 to 1024, but got [", tiles_y, ", ", tiles_x,
        "]");
  check(layout.has_value() || static_cast<int64_t>(a.source.height) * a.source.width < kMaxPixels,
        kOp, "expected images below 2^30 pixels");
  a.tiles_y = static_cast<int>(tiles_y);
  a.tiles_x = static_cast<int>(tiles_x);
  a.clip_limit = {check_per_image(kOp, "clip_limit", clip_limits, images, a.source.count),
                  clip_limit};
  const Tensor output = new_pointwise_output(kOp, images, layout, a.source);
  if (output.numel() == 0) return output;
  a.output = pointwise_output(kOp, output, layout, a.source.channels);
  const std::vector<int64_t> shape{a.source.count, a.source.channels, tiles_y * tiles_x, kLevels};
  Tensor luts = new_tensor(kOp, shape, ScalarType::Byte, images);
  a.luts = static_cast<uint8_t*>(luts.mutable_data_ptr());
  run_where(kOp, images, clahe_cpu, clahe_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "clahe(Tensor images, Tensor? layout, int channels, float clip_limit, Tensor? clip_limits, "
      "int tiles_y, int tiles_x) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { orbbec::implement_with_out<TORCH_BOX(&orbbec::clahe)>(m, "clahe"); }
