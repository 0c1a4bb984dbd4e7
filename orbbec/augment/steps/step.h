// What color steps share. Included by the header of each step.
//
// A step is constructed from the numbers of its row and the images' maximum value, and changes a
// color in place, unrounded; a PlacedStep also takes the position (y, x) of the output pixel.
// Finite values from 0 to `max_value` must stay finite and in range.
#pragma once

#include "../../core/scalar.h"

namespace orbbec {

ORBBEC_HD float clamp_to_range(float value, float max_value) {
#if defined(__CUDA_ARCH__)  // one instruction each, and the same bits: NaN gives 0, -0 gives +0
  return fminf(fmaxf(value, 0.0f), max_value);
#else
  return smaller(larger(value, 0.0f), max_value);
#endif
}

// Towards 0, of what int can hold. Loops with truncf are not vectorized.
ORBBEC_HD float truncate_in_range(float value) {
#if defined(__CUDA_ARCH__)  // one instruction instead of two
  return truncf(value);
#else
  return static_cast<float>(static_cast<int>(value));
#endif
}

struct NoStep;

// What a step may replace.
struct ColorStep {
  // A faster form with the same bits for finite colors from 0 to `max_value`, which CUDA kernels
  // use where InRange::equals(step).
  using InRange = NoStep;
  // Whether CUDA kernels have its code once, not once for each pixel of a thread.
  static constexpr bool kIsLong = false;
  // Whether loops on the CPU try short_form<kFused>(value, result) first: faster, for one channel,
  // and false where `result` may differ from that of the step. kFused: whether products are fused
  // into sums.
  static constexpr bool kHasShortForm = false;
  static constexpr bool kIsPlaced = false;
};

struct PlacedStep : ColorStep {
  static constexpr bool kIsPlaced = true;
};

// The step for output pixel (y, x).
template <class Step>
ORBBEC_HD void run_step(const Step& step, int y, int x, float (&rgb)[3]) {
  if constexpr (Step::kIsPlaced) {
    step(rgb, static_cast<float>(y), static_cast<float>(x));
  } else {
    step(rgb);
  }
}

struct NoStep : ColorStep {
  NoStep() = default;
  ORBBEC_HD explicit NoStep(const ColorStep&) {}
  ORBBEC_HD static bool equals(const ColorStep&) { return false; }
  ORBBEC_HD void operator()(float (&)[3]) const {}
};

}  // namespace orbbec
