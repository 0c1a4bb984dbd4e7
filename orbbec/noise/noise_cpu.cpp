#include "../core/executor_cpu.h"
#include "noise.h"

namespace orbbec {

constexpr int64_t kPixelsPerNormal = 8;  // a normal number is as much work as so many copied pixels

void gaussian_noise_cpu(const GaussianNoiseArguments& arguments, const ParallelFor& parallel) {
  dispatch_gaussian_noise(arguments, [&](const auto& op) {
    const int64_t channels = op.output.channels;
    const int64_t images = op.output.layout == nullptr ? 1 : op.output.count;
    const int64_t alike = op.output.layout == nullptr ? op.output.count : 1;
    for (int64_t image = 0; image < images; ++image) {
      const auto size = op.output[image];
      for_each_row_cpu(alike, size.height, size.width * channels * kPixelsPerNormal, parallel,
                       [&](int64_t n, int y) {
                         for (int64_t c = 0; c < channels; ++c)
                           op.columns(image + n, c, y, 0, size.width);
                       });
    }
    return 0;
  });
}

}  // namespace orbbec
