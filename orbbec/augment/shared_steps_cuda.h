// The steps of a color program in shared memory: constructed once per block, for all of its pixels.
// Included by tile_cuda.h.
#pragma once

#include "../executors/cuda/tiles.h"
#include "augment.h"

namespace orbbec {

constexpr int kMaxSharedSteps = 8;  // longer programs construct their steps for each pixel

// The code of a step's form for colors in range.
ORBBEC_HD constexpr int in_range(StepCode code) { return kStepCodes + static_cast<int>(code); }

class alignas(16) SharedStep {
 public:
  // Constructs step s. `are_in_range`: whether colors are always finite and from 0 to `max_value`.
  __device__ void construct(const Program& program, int s, bool are_in_range) {
    const StepCode code = program.code(s);
    for (unsigned char& byte : bytes_) byte = 0;
    code_ = static_cast<int>(code);
    program.with_step(s, code, [&](const auto& step) {
      using InRange = typename std::decay_t<decltype(step)>::InRange;
      if (!are_in_range || !InRange::equals(step)) return put(step);
      code_ = in_range(code);
      put(InRange(step));
    });
  }

  // Calls body(step) with the functor. The usual steps of a jitter are looked for first.
  template <bool kMayBeInRange, class Body>
  __device__ void with_step(float mean, const Body& body) const {
    const int code = code_;
    if constexpr (kMayBeInRange) {
      if (code == in_range(StepCode::kMatrix)) return body(at<ScaleStep>());
    }
    if (code == static_cast<int>(StepCode::kContrast)) {
      ContrastStep step = at<ContrastStep>();
      step.mean = mean;
      return body(step);
    }
    if (code == static_cast<int>(StepCode::kMatrix)) return body(at<MatrixStep>());
#define ORBBEC_STEP(id, Step, name)                                                 \
  if constexpr (kMayBeInRange && !std::is_same_v<typename Step::InRange, NoStep>) { \
    if (code == in_range(StepCode::id)) return body(at<typename Step::InRange>());  \
  }
    ORBBEC_COLOR_STEPS(ORBBEC_STEP)
#undef ORBBEC_STEP
    switch (static_cast<StepCode>(code)) {
#define ORBBEC_STEP(id, Step, name)                  \
  case StepCode::id:                                 \
    if constexpr (!kIsFirst<Step>) body(at<Step>()); \
    return;
      ORBBEC_COLOR_STEPS(ORBBEC_STEP)
#undef ORBBEC_STEP
      default:
        return;
    }
  }

 private:
  template <class Step>
  static constexpr bool kIsFirst =
      std::is_same_v<Step, ContrastStep> || std::is_same_v<Step, MatrixStep>;
  static constexpr size_t kBytes = 60;
  // In whole vectors, which also read what is behind the step.
  template <class Step>
  struct alignas(16) Aligned {
    Step step;
  };

  template <class Step>
  __device__ void put(const Step& step) {
    static_assert(sizeof(Step) <= kBytes);
    reinterpret_cast<Aligned<Step>*>(bytes_)->step = step;
  }
  template <class Step>
  __device__ Step at() const {
    return static_cast<const Aligned<Step>*>(__builtin_assume_aligned(bytes_, 16))->step;
  }

  unsigned char bytes_[kBytes];
  int code_;
};

struct SharedProgram {
  SharedStep steps[kMaxSharedSteps];
  int count;  // excluding trailing no-ops
  float mean;
};

}  // namespace orbbec
