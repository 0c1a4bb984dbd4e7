// The taps of gaussian_blur, from sizes and sigmas. Included by the files that evaluate them and by
// binding.cpp.
#pragma once

#include <cmath>

#include "../../core/elementary.h"
#include "separable.h"

namespace orbbec {

// Of each axis, vertical first.
struct Sigmas {
  const double* each;  // null: one for all
  int64_t stride, axis_stride;
  double one = 0;

  ORBBEC_HD double of(int64_t n, int axis) const {
    return each != nullptr ? each[n * stride + axis * axis_stride] : one;
  }
};

struct TapsArguments {
  DType dtype;
  KernelSizes sizes;
  Sigmas sigmas;
  void* taps;  // [N, 2, longest] of Tap<T>
  int64_t count;
  int longest;
  const double* drawn;   // [N]: 0 where the sizes are 1; null: nowhere
  int32_t* drawn_sizes;  // [N, 2]: the sizes with these, if there is `drawn`

  ORBBEC_HD int size_of(int64_t n, int axis) const {
    if (drawn == nullptr) return sizes.of(n, axis);
    return drawn_sizes[2 * n + axis] = drawn[n] == 0 ? 1 : sizes.of(n, axis);
  }
};

// OpenCV's taps for sigma 0 and sizes 3, 5, 7 and 9, in 1/256: from the edge to the middle.
ORBBEC_HD double tabulated_tap(int size, int i) {
  static constexpr unsigned char kTaps[4][5] = {
      {64, 128}, {16, 64, 96}, {8, 28, 56, 72}, {4, 13, 30, 51, 60}};
  return kTaps[(size - 3) / 2][i] * (1.0 / 256);
}

template <class T>
struct GaussianTaps {
  TapsArguments a;

  ORBBEC_HD static double weight(int size, int i, double exponent) {
    const double distance = 2 * i + 1 - size;  // from the middle, in half pixels
    return exponential(distance * distance * exponent);
  }

  // The taps of one axis of an image.
  ORBBEC_HD void operator()(int64_t n, int axis) const {
    const int size = a.size_of(n, axis), middle = size / 2;
    const double sigma = a.sigmas.of(n, axis);
    const bool is_tabulated = !(sigma > 0) && size >= 3 && size <= 9;
    const double width = sigma > 0 ? sigma : size * 0.15 + 0.35;
    const double exponent = -0.125 / (width * width);
    double sum = 0;
    if (!is_tabulated)
      for (int i = 0; i < middle; ++i) sum += weight(size, i, exponent);
    const double scale = 1 / (sum * 2 + 1);
    Tap<T>* const taps = static_cast<Tap<T>*>(a.taps) + (2 * n + axis) * a.longest;
    write(taps, size, [&](int i) {
      return is_tabulated ? tabulated_tap(size, i)
             : i < middle ? weight(size, i, exponent) * scale
                          : scale;
    });
  }

  // Integer taps for integer pixels: from the edge inward, each rounding error carries over to the
  // next tap; the middle takes the rest.
  template <class TapAt>
  ORBBEC_HD static void write(Tap<T>* taps, int size, const TapAt& tap_at) {
    const int middle = size / 2;
    if constexpr (std::is_integral_v<T>) {
      constexpr int kWhole = GaussianRule<T>::kWhole;
      int rest = kWhole;
      double error = 0;
      for (int i = 0; i < middle; ++i) {
        const double wanted = tap_at(i) * kWhole + error;
        const int rounded = static_cast<int>(rint(wanted));
        error = wanted - rounded;
        taps[i] = taps[size - 1 - i] = rounded;
        rest -= 2 * rounded;
      }
      taps[middle] = rest;
    } else {
      for (int i = 0; i <= middle; ++i) {
        taps[i] = taps[size - 1 - i] = static_cast<Tap<T>>(tap_at(i));
      }
    }
  }
};

template <class Launch>
auto dispatch_taps(const TapsArguments& a, const Launch& launch) {
  return dispatch_dtype<uint8_t, uint16_t, double, float>(
      a.dtype, [&](auto value) { return launch(GaussianTaps<decltype(value)>{a}); });
}

}  // namespace orbbec
