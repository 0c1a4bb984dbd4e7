#include "../binding_noise.h"
#include "shot_noise.h"

namespace orbbec {

void shot_noise_cpu(const ShotNoiseArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int shot_noise_cuda(const ShotNoiseArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "shot_noise";

void shot_noise(StableIValue* stack, uint64_t, uint64_t) {
  NoiseCall call;
  std::optional<Tensor> scales;
  double scale;
  unpack(stack, call.images, call.layout, call.channels, scale, scales, call.seed, call.sample_ids,
         call.epoch, call.position);
  const auto set_numbers = [&](ShotNoiseArguments& a) {
    a.scale = {check_per_image(kOp, "scale", scales, call.images, a.source.count), scale};
  };
  const auto on_cpu = in_floats(kOp, call.images, shot_noise_cpu);
  give(stack, run_noise(kOp, call, set_numbers, on_cpu, shot_noise_cuda));
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "shot_noise(Tensor images, Tensor? layout, int channels, float scale, Tensor? scales, "
      "SymInt seed, Tensor? sample_ids, SymInt epoch, SymInt transform_index) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { orbbec::implement_with_out<&orbbec::shot_noise>(m, "shot_noise"); }
