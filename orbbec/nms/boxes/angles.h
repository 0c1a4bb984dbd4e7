// Angles and lengths of boxes: functors over numbers of float or double, computed in double.
// Included by angles_cpu.cpp, angles_cuda.cu and binding_angles.cpp.
#pragma once

#include "../../core/arctangent.h"
#include "../../core/elementary.h"

namespace orbbec {

enum class AngleFunction { kArctangent, kSineCosine, kSquareRoot };

struct AnglesArguments {
  AngleFunction function;
  const void* y;  // or degrees, or squares
  const void* x;  // of arctangents
  void* result;   // radians; sines, then cosines; or roots
  int count;
  bool is_double;  // else float
};

template <class F>
struct Arctangent {
  const F* y;
  const F* x;
  F* result;

  explicit Arctangent(const AnglesArguments& a)
      : y(static_cast<const F*>(a.y)),
        x(static_cast<const F*>(a.x)),
        result(static_cast<F*>(a.result)) {}

  ORBBEC_HD void operator()(int64_t, int i) const {
    result[i] = static_cast<F>(arctangent(y[i], x[i]));
  }
};

template <class F>
struct SineCosine {
  const F* degrees;
  F* result;
  int count;

  explicit SineCosine(const AnglesArguments& a)
      : degrees(static_cast<const F*>(a.y)), result(static_cast<F*>(a.result)), count(a.count) {}

  ORBBEC_HD void operator()(int64_t, int i) const {
    double sine, cosine;
    sine_cosine_degrees(degrees[i], sine, cosine);
    result[i] = static_cast<F>(sine);
    result[int64_t{count} + i] = static_cast<F>(cosine);
  }
};

template <class F>
struct SquareRoot {
  const F* squares;
  F* result;

  explicit SquareRoot(const AnglesArguments& a)
      : squares(static_cast<const F*>(a.y)), result(static_cast<F*>(a.result)) {}

  ORBBEC_HD void operator()(int64_t, int i) const { result[i] = static_cast<F>(sqrt(squares[i])); }
};

// Calls `launch` with the functor for the arguments, which the binding has checked.
template <class Launch>
auto dispatch_angles(const AnglesArguments& a, const Launch& launch) {
  const auto of_type = [&](auto number) {
    using F = decltype(number);
    switch (a.function) {
      case AngleFunction::kArctangent:
        return launch(Arctangent<F>(a));
      case AngleFunction::kSineCosine:
        return launch(SineCosine<F>(a));
      default:
        return launch(SquareRoot<F>(a));
    }
  };
  return a.is_double ? of_type(double{}) : of_type(float{});
}

}  // namespace orbbec
