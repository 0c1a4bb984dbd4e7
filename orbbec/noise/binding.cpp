#include "../bridge/noise.h"
#include "../bridge/pointwise.h"
#include "noise.h"

namespace orbbec {

void gaussian_noise_cpu(const GaussianNoiseArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int gaussian_noise_cuda(const GaussianNoiseArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "gaussian_noise";

Tensor gaussian_noise(Tensor images, std::optional<Tensor> layout, int64_t channels, double mean,
                      std::optional<Tensor> means, double sigma, std::optional<Tensor> sigmas,
                      bool clip, int64_t seed, std::optional<Tensor> sample_ids, int64_t epoch,
                      int64_t position) {
  GaussianNoiseArguments a{};
  a.source = source_images(kOp, images, layout, channels);
  check_pointwise_dtype(kOp, images, true);
  a.dtype = dtype_of(kOp, images);
  const int64_t count = a.source.count;
  a.mean = {check_per_image(kOp, "mean", means, images, count), mean};
  a.sigma = {check_per_image(kOp, "sigma", sigmas, images, count), sigma};
  a.clip = clip;
  a.noise.key = key_of(seed, epoch);
  a.noise.position = checked_position(kOp, position);
  std::optional<Tensor> samples;  // outlives the launch
  if (sample_ids.has_value()) {
    samples = sample_ids_on(kOp, *sample_ids, images, count);
    a.noise.samples = static_cast<const int64_t*>(samples->const_data_ptr());
  }
  const Tensor output =
      new_pointwise_output(kOp, images, layout, a.source, a.source.channels, images.scalar_type());
  if (output.numel() == 0 || count == 0) return output;
  a.output = pointwise_output(kOp, output, layout, a.source.channels);
  run_where(kOp, images, gaussian_noise_cpu, gaussian_noise_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "gaussian_noise(Tensor images, Tensor? layout, int channels, float mean, Tensor? means, "
      "float sigma, Tensor? sigmas, bool clip, SymInt seed, Tensor? sample_ids, SymInt epoch, "
      "SymInt transform_index) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("gaussian_noise", TORCH_BOX(&orbbec::gaussian_noise));
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) {
  m.impl("gaussian_noise", TORCH_BOX(&orbbec::gaussian_noise));
}
