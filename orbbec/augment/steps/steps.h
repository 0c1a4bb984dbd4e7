// The steps of color programs, in the order of their codes, which begin at 1. augment/codes.py
// reads this list, and step_gradients.py has the gradients. Included by program.h.
#pragma once

#include "contrast.h"
#include "curve.h"
#include "gamma.h"
#include "hsv.h"
#include "hue.h"
#include "matrix.h"
#include "posterize.h"
#include "radial.h"
#include "ramp.h"
#include "shadow.h"
#include "solarize.h"

namespace orbbec {

// id, functor, name
#define ORBBEC_COLOR_STEPS(X)               \
  X(kMatrix, MatrixStep, "matrix")          \
  X(kHue, HueStep, "hue")                   \
  X(kGamma, GammaStep, "gamma")             \
  X(kPosterize, PosterizeStep, "posterize") \
  X(kSolarize, SolarizeStep, "solarize")    \
  X(kContrast, ContrastStep, "contrast")    \
  X(kHsv, HsvStep, "hsv")                   \
  X(kCurve, CurveStep, "curve")             \
  X(kRamp, RampStep, "ramp")                \
  X(kRadial, RadialStep, "radial")          \
  X(kShadow, ShadowStep, "shadow")

#define ORBBEC_STEP(id, Step, name) id,
enum class StepCode { kNone, ORBBEC_COLOR_STEPS(ORBBEC_STEP) };
#undef ORBBEC_STEP

#define ORBBEC_STEP(id, Step, name) name,
constexpr const char* kStepNames[] = {"none", ORBBEC_COLOR_STEPS(ORBBEC_STEP)};
#undef ORBBEC_STEP
constexpr int kStepCodes = sizeof(kStepNames) / sizeof(kStepNames[0]);

}  // namespace orbbec
