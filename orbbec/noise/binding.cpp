#include "../bridge/noise.h"
#include "../bridge/pointwise.h"
#include "noise.h"

namespace orbbec {

void gaussian_noise_cpu(const GaussianNoiseArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int gaussian_noise_cuda(const GaussianNoiseArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "gaussian_noise";

// The arguments of `gaussian_noise`, as its schema has them.
struct Call {
  Tensor images;
  std::optional<Tensor> layout, means, sigmas, sample_ids;
  int64_t channels = 0, seed = 0, epoch = 0, position = 0;
  double mean = 0, sigma = 1;
  bool clip = true;

  explicit Call(StableIValue* stack) {
    unpack(stack, images, layout, channels, mean, means, sigma, sigmas, clip, seed, sample_ids,
           epoch, position);
  }
};

Tensor run(const Call& call) {
  const Tensor& images = call.images;
  GaussianNoiseArguments a{};
  a.source = source_images(kOp, images, call.layout, call.channels);
  check_pointwise_dtype(kOp, images, true);
  a.dtype = dtype_of(kOp, images);
  const int64_t count = a.source.count;
  a.mean = {check_per_image(kOp, "mean", call.means, images, count), call.mean};
  a.sigma = {check_per_image(kOp, "sigma", call.sigmas, images, count), call.sigma};
  a.clip = call.clip;
  a.noise.key = key_of(call.seed, call.epoch);
  a.noise.position = checked_position(kOp, call.position);
  std::optional<Tensor> samples;  // outlives the launch
  if (call.sample_ids.has_value()) {
    samples = sample_ids_on(kOp, *call.sample_ids, images, count);
    a.noise.samples = static_cast<const int64_t*>(samples->const_data_ptr());
  }
  const Tensor output = new_pointwise_output(kOp, images, call.layout, a.source);
  if (output.numel() == 0 || count == 0) return output;
  a.output = pointwise_output(kOp, output, call.layout, a.source.channels);
  run_where(kOp, images, gaussian_noise_cpu, gaussian_noise_cuda, a);
  return output;
}

void gaussian_noise(StableIValue* stack, uint64_t, uint64_t) { give(stack, run(Call(stack))); }

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "gaussian_noise(Tensor images, Tensor? layout, int channels, float mean, Tensor? means, "
      "float sigma, Tensor? sigmas, bool clip, SymInt seed, Tensor? sample_ids, SymInt epoch, "
      "SymInt transform_index) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("gaussian_noise", &orbbec::gaussian_noise); }
