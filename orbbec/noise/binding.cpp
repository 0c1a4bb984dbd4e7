#include "binding_noise.h"
#include "noise.h"

namespace orbbec {

void gaussian_noise_cpu(const GaussianNoiseArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int gaussian_noise_cuda(const GaussianNoiseArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "gaussian_noise";

// The arguments of `gaussian_noise`, as its schema has them; `rest` points to those that follow.
struct Call {
  Tensor images;
  std::optional<Tensor> layout, means, sigmas, sample_ids;
  int64_t channels = 0, seed = 0, epoch = 0, position = 0;
  double mean = 0, sigma = 1;
  bool clip = true;
  StableIValue* rest;

  explicit Call(StableIValue* stack)
      : rest(unpack(stack, images, layout, channels, mean, means, sigma, sigmas, clip, seed,
                    sample_ids, epoch, position)) {}
};

Tensor run(const Call& call, const Tensor* out) {
  const auto set_numbers = [&](GaussianNoiseArguments& a) {
    const int64_t count = a.source.count;
    a.mean = {check_per_image(kOp, "mean", call.means, call.images, count), call.mean};
    a.sigma = {check_per_image(kOp, "sigma", call.sigmas, call.images, count), call.sigma};
    a.clip = call.clip;
  };
  return run_noise<GaussianNoiseArguments>(kOp, call, set_numbers, gaussian_noise_cpu,
                                           gaussian_noise_cuda, out);
}

void gaussian_noise(StableIValue* stack, uint64_t, uint64_t) {
  give(stack, run(Call(stack), nullptr));
}

void gaussian_noise_out(StableIValue* stack, uint64_t, uint64_t) {
  const Call call(stack);
  Tensor out;
  unpack(call.rest, out);
  run(call, &out);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "gaussian_noise(Tensor images, Tensor? layout, int channels, float mean, Tensor? means, "
      "float sigma, Tensor? sigmas, bool clip, SymInt seed, Tensor? sample_ids, SymInt epoch, "
      "SymInt transform_index) -> Tensor");
  m.def(
      "gaussian_noise_out(Tensor images, Tensor? layout, int channels, float mean, Tensor? means, "
      "float sigma, Tensor? sigmas, bool clip, SymInt seed, Tensor? sample_ids, SymInt epoch, "
      "SymInt transform_index, Tensor(a!) out) -> ()");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("gaussian_noise", &orbbec::gaussian_noise);
  m.impl("gaussian_noise_out", &orbbec::gaussian_noise_out);
}
