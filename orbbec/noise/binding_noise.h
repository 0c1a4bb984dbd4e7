// A call of noise, pixel by pixel. Included by binding.cpp of each operator of this family.
#pragma once

#include "../bridge/float_images.h"
#include "../bridge/noise.h"
#include "../bridge/pointwise.h"

namespace orbbec {

// The arguments that all these operators have.
struct NoiseCall {
  Tensor images;
  std::optional<Tensor> layout, sample_ids;
  int64_t channels, seed, epoch, position;
};

// Checks them, `set_numbers(arguments)` those of one operator, and launches.
template <class Arguments, class Numbers, class OnCpu>
Tensor run_noise(const char* op, const NoiseCall& call, const Numbers& set_numbers, OnCpu on_cpu,
                 int (*on_cuda)(const Arguments&, void*)) {
  const Tensor& images = call.images;
  Arguments a{};
  a.source = source_images(op, images, call.layout, call.channels);
  check_pointwise_dtype(op, images, true);
  a.dtype = dtype_of(op, images);
  set_numbers(a);
  a.noise.key = key_of(call.seed, call.epoch);
  a.noise.position = checked_position(op, call.position);
  std::optional<Tensor> samples;  // outlives the launch
  if (call.sample_ids.has_value()) {
    samples = sample_ids_on(op, *call.sample_ids, images, a.source.count);
    a.noise.samples = static_cast<const int64_t*>(samples->const_data_ptr());
  }
  const Tensor output = new_pointwise_output(op, images, call.layout, a.source);
  if (output.numel() == 0 || a.source.count == 0) return output;
  a.output = pointwise_output(op, output, call.layout, a.source.channels);
  run_where(op, images, on_cpu, on_cuda, a);
  return output;
}

}  // namespace orbbec
