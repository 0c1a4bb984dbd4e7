#include "../binding_noise.h"
#include "shot_noise.h"

namespace orbbec {

void shot_noise_cpu(const ShotNoiseArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int shot_noise_cuda(const ShotNoiseArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "shot_noise";

// The arguments of `shot_noise`, as its schema has them.
struct Call {
  Tensor images;
  std::optional<Tensor> layout, scales, sample_ids;
  int64_t channels = 0, seed = 0, epoch = 0, position = 0;
  double scale = 0;

  explicit Call(StableIValue* stack) {
    unpack(stack, images, layout, channels, scale, scales, seed, sample_ids, epoch, position);
  }
};

Tensor run(const Call& call) {
  const auto set_numbers = [&](ShotNoiseArguments& a) {
    a.scale = {check_per_image(kOp, "scale", call.scales, call.images, a.source.count), call.scale};
  };
  return run_noise<ShotNoiseArguments>(kOp, call, set_numbers, shot_noise_cpu, shot_noise_cuda);
}

void shot_noise(StableIValue* stack, uint64_t, uint64_t) { give(stack, run(Call(stack))); }

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "shot_noise(Tensor images, Tensor? layout, int channels, float scale, Tensor? scales, "
      "SymInt seed, Tensor? sample_ids, SymInt epoch, SymInt transform_index) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { orbbec::implement_with_out<&orbbec::shot_noise>(m, "shot_noise"); }
