#include "binding_noise.h"
#include "noise.h"

namespace orbbec {

void gaussian_noise_cpu(const GaussianNoiseArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int gaussian_noise_cuda(const GaussianNoiseArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "gaussian_noise";

void gaussian_noise(StableIValue* stack, uint64_t, uint64_t) {
  NoiseCall call;
  std::optional<Tensor> means, sigmas;
  double mean, sigma;
  bool clip;
  unpack(stack, call.images, call.layout, call.channels, mean, means, sigma, sigmas, clip,
         call.seed, call.sample_ids, call.epoch, call.position);
  const auto set_numbers = [&](GaussianNoiseArguments& a) {
    a.mean = {check_per_image(kOp, "mean", means, call.images, a.source.count), mean};
    a.sigma = {check_per_image(kOp, "sigma", sigmas, call.images, a.source.count), sigma};
    a.clip = clip;
  };
  const auto on_cpu = in_floats(kOp, call.images, gaussian_noise_cpu);
  give(stack, run_noise(kOp, call, set_numbers, on_cpu, gaussian_noise_cuda));
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "gaussian_noise(Tensor images, Tensor? layout, int channels, float mean, Tensor? means, "
      "float sigma, Tensor? sigmas, bool clip, SymInt seed, Tensor? sample_ids, SymInt epoch, "
      "SymInt transform_index) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { orbbec::implement_with_out<&orbbec::gaussian_noise>(m, "gaussian_noise"); }
