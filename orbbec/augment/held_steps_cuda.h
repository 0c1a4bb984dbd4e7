// The steps of a color program as a block of threads holds them in shared memory: constructed once,
// for all of its pixels. Included by tile_cuda.h.
#pragma once

#include "../executors/executor_cuda.h"
#include "augment.h"

namespace orbbec {

constexpr int kHeldSteps = 8;  // steps of longer programs are not held

// The code of the step as it is run.
enum class HeldCode {
  kNone,
  kMatrix,
  kHue,
  kGamma,
  kPosterize,
  kSolarize,
  kContrast,
  kScale,
  kHueInRange
};

// A matrix step without its products with 0 and the clamp to 0: the same bits for finite colors
// that are not negative.
struct ScaleStep {
  float m[3], max_value;

  __device__ explicit ScaleStep(const MatrixStep& step)
      : m{step.m[0], step.m[4], step.m[8]}, max_value(step.max_value) {}
  __device__ static bool equals(const MatrixStep& step) {
    constexpr float kMost = 0x1p64f;
    bool is_equal = true;
    for (int i = 0; i < 9; ++i)
      is_equal = is_equal && (i % 4 == 0 ? step.m[i] >= 0 && step.m[i] < kMost : step.m[i] == 0);
    for (int c = 0; c < 3; ++c) is_equal = is_equal && step.offset[c] == 0;
    return is_equal;
  }
  __device__ void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) rgb[c] = fminf(fabsf(m[c]) * rgb[c], max_value);
  }
};

// A hue step of colors from 0 to `max_value`.
struct HueInRangeStep {
  HueStep step;

  __device__ static bool equals(const HueStep& step) { return fabsf(step.shift) <= 1; }
  __device__ void operator()(float (&rgb)[3]) const { step.shifted<true>(rgb); }
};

class alignas(16) HeldStep {
 public:
  // Constructs step s. `are_in_range`: whether colors are always finite and from 0 to `max_value`.
  __device__ void hold(const Program& program, int s, bool are_in_range) {
    const StepCode code = program.code(s);
    for (unsigned char& byte : bytes_) byte = 0;
    code_ = static_cast<HeldCode>(code);
    program.with_step(s, code, [&](const auto& step) {
      using Step = std::decay_t<decltype(step)>;
      if constexpr (std::is_same_v<Step, MatrixStep>) {
        if (are_in_range && ScaleStep::equals(step)) {
          code_ = HeldCode::kScale;
          return put(ScaleStep(step));
        }
      } else if constexpr (std::is_same_v<Step, HueStep>) {
        if (are_in_range && HueInRangeStep::equals(step)) code_ = HeldCode::kHueInRange;
      }
      put(step);
    });
  }

  // Calls body(step) with the functor.
  template <bool kMayBeInRange, class Body>
  __device__ void with_step(float mean, const Body& body) const {
    const HeldCode code = code_;
    if constexpr (kMayBeInRange) {
      if (code == HeldCode::kScale) return body(at<ScaleStep>());
    }
    if (code == HeldCode::kContrast) {
      ContrastStep step = at<ContrastStep>();
      step.mean = mean;
      return body(step);
    }
    if (code == HeldCode::kMatrix) return body(at<MatrixStep>());
    if constexpr (kMayBeInRange) {
      if (code == HeldCode::kHueInRange) return body(at<HueInRangeStep>());
    }
    switch (code) {
      case HeldCode::kHue:
        return body(at<HueStep>());
      case HeldCode::kGamma:
        return body(at<GammaStep>());
      case HeldCode::kPosterize:
        return body(at<PosterizeStep>());
      case HeldCode::kSolarize:
        return body(at<SolarizeStep>());
      default:
        return;
    }
  }

 private:
  static constexpr size_t kBytes = 60;
  // In whole vectors, which also read what is behind the step.
  template <class Step>
  struct alignas(16) Held {
    Step step;
  };

  template <class Step>
  __device__ void put(const Step& step) {
    static_assert(sizeof(Step) <= kBytes);
    reinterpret_cast<Held<Step>*>(bytes_)->step = step;
  }
  template <class Step>
  __device__ Step at() const {
    return static_cast<const Held<Step>*>(__builtin_assume_aligned(bytes_, 16))->step;
  }

  unsigned char bytes_[kBytes];
  HeldCode code_;
};

struct HeldProgram {
  HeldStep steps[kHeldSteps];
  int count;  // without what does nothing at the end
  float mean;
};

}  // namespace orbbec
