// elastic_displacement: noise of two channels, smoothed, in pixels. Included by elastic_cpu.cpp,
// elastic_strips.h, elastic_cuda.cu and binding.cpp.
#pragma once

#include "../../filters/separable/separable.h"
#include "../../noise/philox/philox.h"

namespace orbbec {

struct ElasticArguments {
  PhiloxNoiseArguments noise;  // its output is the source of `blur`; the CPU stores none
  SeparableArguments blur;     // of [N, 2, height, width]
  const float* strengths;      // x, y: of each image, or of all
  int64_t strength_stride;     // from an image to the next; 0 if all share them
  bool adds_pixels;            // the result is positions, not displacements
};

// The displacement from smoothed noise, along x (axis 0) or y.
struct ElasticField {
  const float* strengths;
  int64_t strength_stride;
  bool adds_pixels;

  explicit ElasticField(const ElasticArguments& a)
      : strengths(a.strengths), strength_stride(a.strength_stride), adds_pixels(a.adds_pixels) {}

  ORBBEC_HD float strength(int64_t n, int64_t axis) const {
    return strengths[n * strength_stride + axis];
  }
  ORBBEC_HD float at(float smooth, float strength, int pixel) const {
    const float displacement = smooth * strength;
    return adds_pixels ? displacement + static_cast<float>(pixel) : displacement;
  }
};

}  // namespace orbbec
