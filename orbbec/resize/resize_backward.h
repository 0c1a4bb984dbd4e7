// The gradient of resize for float images: each pass transposed, so that a source pixel gathers
// from the output pixels that read it. Included by resize_cpu.cpp, resize_cuda.cu and binding.cpp.
#pragma once

#include "resize.h"

namespace orbbec {

// One axis of `gradient` expanded to the source's: `along_y` from [.., out_h, w] to [.., h, w].
struct ResizeBackwardArguments {
  AnyImages gradient, output;
  ResizeCoefficients coefficients;
  ResizeMethod method;
  DType dtype;
  bool along_y;
};

template <class T, class W>
struct ResizeBackward {
  Images<const T> gradient;
  Images<T> output;
  ResizeCoefficients coefficients;
  bool along_y;

  explicit ResizeBackward(const ResizeBackwardArguments& a)
      : gradient(a.gradient), output(a.output), coefficients(a.coefficients), along_y(a.along_y) {}

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const ResizePlan plan = coefficients.plans[coefficients.set_of(n)];
    const Image<const T> from = gradient[n];
    const Image<T> to = output[n];
    const int at = along_y ? y : x;
    const bool read = plan.form != ResizeForm::kEmpty;
    const int begin = read ? first_where(n, plan, [&](int, int last) { return last >= at; }) : 0;
    const int end = read ? first_where(n, plan, [&](int first, int) { return first > at; }) : 0;
    for (int64_t c = 0; c < output.channels; ++c) {
      double sum = 0;
      for (int d = begin; d < end; ++d) {
        const double value = along_y ? from.at(d, x, c) : from.at(y, d, c);
        sum += value * weight(n, plan, d, at);
      }
      to.at(y, x, c) = static_cast<T>(sum);
    }
  }

 private:
  ORBBEC_HD int low(const ResizePlan& plan) const { return along_y ? plan.top : plan.left; }
  ORBBEC_HD int high(const ResizePlan& plan) const {
    return (along_y ? plan.bottom : plan.right) - 1;
  }
  ORBBEC_HD Taps<W> taps(int64_t n, int d) const {
    return taps_at<W>(coefficients, n, along_y ? coefficients.width + d : d);
  }

  // The first output pixel whose source range satisfies `passes`; ranges are monotonic, so all
  // later pixels do too.
  template <class Passes>
  ORBBEC_HD int first_where(int64_t n, const ResizePlan& plan, const Passes& passes) const {
    int begin = 0, end = along_y ? coefficients.height : coefficients.width;
    while (begin < end) {
      const int middle = begin + (end - begin) / 2;
      const Taps<W> t = taps(n, middle);
      const int first = clamp_int(t.first, low(plan), high(plan));
      const int last = clamp_int(t.first + t.count - 1, low(plan), high(plan));
      if (passes(first, last)) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    return begin;
  }

  // The weight of source pixel `at` in output pixel d, summed over all its taps; several at an
  // edge.
  ORBBEC_HD double weight(int64_t n, const ResizePlan& plan, int d, int at) const {
    const Taps<W> t = taps(n, d);
    const int first = at == low(plan) ? 0 : at - t.first;
    const int last = at == high(plan) ? t.count - 1 : at - t.first;
    double sum = 0;
    for (int k = first < 0 ? 0 : first; k <= last && k < t.count; ++k) sum += t.weights[k];
    return sum;
  }
};

template <class Launch>
int dispatch_resize_backward(const ResizeBackwardArguments& a, const Launch& launch) {
  const bool is_float = a.dtype == DType::kFloat32;  // else double: integers have no gradient
  if (weight_type(a.method, a.dtype) == WeightType::kFloat32)
    return is_float ? launch(ResizeBackward<float, float>(a))
                    : launch(ResizeBackward<double, float>(a));
  return is_float ? launch(ResizeBackward<float, double>(a))
                  : launch(ResizeBackward<double, double>(a));
}

}  // namespace orbbec
