// Reductions over the pixels of an image in a fixed order: pixel p belongs to lane p % kLanes, a
// lane adds its pixels in order, and lanes are added in two steps. Included by reduce_cpu.cpp,
// reduce_cuda.cu and binding_reduce.cpp.
#pragma once

#include "adjust.h"

namespace orbbec {

constexpr int kLanes = 2048;  // one image occupies a good fraction of a GPU
constexpr int kGroups = 32;

// What is summed: the gray of a pixel, or the value and the square of each channel.
enum class Summand { kGray, kChannels };

struct ReduceArguments {
  AnyImages source;
  DType dtype;
  Summand summand;
  double* lanes;   // [N, K, kLanes], as `groups` for the CPU
  double* groups;  // [N, K, kGroups]
  double* sums;    // [N, K]
  int kinds;       // K: 1, or 2 per channel
};

template <class T>
struct LaneSums {
  using Value = T;

  Images<const T> source;
  double* lanes;
  Summand summand;
  int kinds;

  explicit LaneSums(const ReduceArguments& a)
      : source(a.source), lanes(a.lanes), summand(a.summand), kinds(a.kinds) {}

  ORBBEC_HD double term(const Image<const T>& image, int y, int x, int k) const {
    if (is_gray()) return static_cast<double>(value<true>(image, y, x, 0));
    const auto number = static_cast<double>(value<false>(image, y, x, k / 2));
    return k % 2 == 0 ? number : number * number;
  }

  // Whether the gray of three channels is summed.
  ORBBEC_HD bool is_gray() const { return summand == Summand::kGray && source.channels == 3; }

  // The gray of a pixel, or the value of channel c.
  template <bool kIsGray>
  ORBBEC_HD Lane<T> value(const Image<const T>& image, int y, int x, int64_t c) const {
    if constexpr (!kIsGray) return to_lane(image.at(y, x, c));
    const Lane<T> rgb[3] = {to_lane(image.at(y, x, 0)), to_lane(image.at(y, x, 1)),
                            to_lane(image.at(y, x, 2))};
    return static_cast<Lane<T>>(gray_of(rgb));
  }
};

// to[i] is the sum of from[i], from[i + kTo], ... up to kFrom.
template <int kFrom, int kTo>
struct FoldSums {
  const double* from;
  double* to;

  ORBBEC_HD void operator()(int64_t n, int i) const {
    double sum = 0;
    for (int j = i; j < kFrom; j += kTo) sum += from[n * kFrom + j];
    to[n * kTo + i] = sum;
  }
};

}  // namespace orbbec
