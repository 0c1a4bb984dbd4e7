// `plasma_out`: clouds of noise, and `plasma_draw_count`: how many numbers it takes.
#include "../../bridge/call_memory.h"
#include "../../bridge/images.h"
#include "plasma.h"

namespace orbbec {

void plasma_cpu(const PlasmaArguments& arguments, int64_t last_side);

namespace {

constexpr const char* kOp = "plasma";
constexpr int64_t kMaxCloudSide = 1 << 16;  // its draws take 23 GB

void plasma_out(Tensor draws, double roughness, Tensor out) {
  check(out.is_cpu() && out.dim() == 2 && out.scalar_type() == ScalarType::Float &&
            out.is_contiguous() && std::min(out.size(0), out.size(1)) >= 1 &&
            std::max(out.size(0), out.size(1)) <= kMaxCloudSide,
        kOp, "expected out as contiguous float32 [H, W] on the CPU, with sides from 1 to ",
        kMaxCloudSide, ", but got shape ", shape_text(out));
  const auto [side, count] = grids_of_clouds(out.size(0), out.size(1));
  check(draws.is_cpu() && draws.dim() == 1 && draws.size(0) == count &&
            draws.scalar_type() == ScalarType::Float && draws.is_contiguous(),
        kOp, "expected draws as contiguous float32 [", count, "] on the CPU, but got shape ",
        shape_text(draws));
  check_apart(kOp, out, draws, "draws");
  const int64_t numbers = 2 * side * side + kRowsOfGrid * (side + 1);
  const auto memory = call_memory(kOp, numbers * static_cast<int64_t>(sizeof(float)), draws);
  plasma_cpu({.draws = static_cast<const float*>(draws.const_data_ptr()),
              .height = out.size(0),
              .width = out.size(1),
              .roughness = roughness,
              .memory = static_cast<float*>(memory.get()),
              .clouds = static_cast<float*>(out.mutable_data_ptr())},
             side);
}

int64_t plasma_draw_count(int64_t height, int64_t width) {
  check(std::min(height, width) >= 1 && std::max(height, width) <= kMaxCloudSide, kOp,
        "expected sides from 1 to ", kMaxCloudSide, ", but got ", height, " x ", width);
  return grids_of_clouds(height, width).points;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("plasma_out(Tensor draws, float roughness, Tensor(a!) out) -> ()");
  m.def("plasma_draw_count(int height, int width) -> int");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) { m.impl("plasma_out", TORCH_BOX(&orbbec::plasma_out)); }
STABLE_TORCH_LIBRARY_IMPL(orbbec, CompositeExplicitAutograd, m) {
  m.impl("plasma_draw_count", TORCH_BOX(&orbbec::plasma_draw_count));
}
