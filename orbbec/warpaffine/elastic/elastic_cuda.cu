#include "../../executors/cuda/tiles.h"
#include "elastic.h"

namespace orbbec {

int philox_noise_cuda(const PhiloxNoiseArguments& arguments, void* stream);
int gaussian_blur_cuda(const SeparableArguments& arguments, void* stream);

namespace {

// Both axes of a pixel, in place.
struct Displace {
  Images<float> output;
  ElasticField field;

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<float> image = output[n];
    for (int axis = 0; axis < 2; ++axis) {
      float& value = image.at(y, x, axis);
      value = field.at(value, field.strength(n, axis), axis == 0 ? x : y);
    }
  }
};

}  // namespace

int elastic_displacement_cuda(const ElasticArguments& arguments, void* stream) {
  if (const int status = philox_noise_cuda(arguments.noise, stream)) return status;
  if (const int status = gaussian_blur_cuda(arguments.blur, stream)) return status;
  const Images<float> output(arguments.blur.output);
  return for_each_pixel_cuda(Displace{output, ElasticField(arguments)}, output, stream);
}

}  // namespace orbbec
