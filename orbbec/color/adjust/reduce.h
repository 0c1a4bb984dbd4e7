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
  double* lanes;   // [N, K, kLanes]
  double* groups;  // [N, K, kGroups]
  double* sums;    // [N, K]
  int kinds;       // K: 1, or 2 per channel
};

template <class T>
struct LaneSums {
  Images<const T> source;
  double* lanes;
  Summand summand;
  int kinds;

  explicit LaneSums(const ReduceArguments& a)
      : source(a.source), lanes(a.lanes), summand(a.summand), kinds(a.kinds) {}

  ORBBEC_HD void operator()(int64_t n, int lane) const {
    const Image<const T> image = source[n];
    const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
    for (int k = 0; k < kinds; ++k) {
      double sum = 0;
      for (int64_t p = lane; p < pixels; p += kLanes) {
        sum += term(image, static_cast<int>(p / image.width), static_cast<int>(p % image.width), k);
      }
      lanes[(n * kinds + k) * kLanes + lane] = sum;
    }
  }

  ORBBEC_HD double term(const Image<const T>& image, int y, int x, int k) const {
    if (summand == Summand::kChannels) {
      const auto value = static_cast<double>(load(image.at(y, x, k / 2)));
      return k % 2 == 0 ? value : value * value;
    }
    if (source.channels == 1) return static_cast<double>(load(image.at(y, x, 0)));
    const Lane<T> rgb[3] = {to_lane(image.at(y, x, 0)), to_lane(image.at(y, x, 1)),
                            to_lane(image.at(y, x, 2))};
    return static_cast<double>(gray_of(rgb));
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

// Calls `run(op, count, items)` for each step in order.
template <class Run>
int dispatch_reduce(const ReduceArguments& a, const Run& run) {
  int status = 0;
  switch (a.dtype) {
    case DType::kUInt8:
      status = run(LaneSums<uint8_t>(a), a.source.count, kLanes);
      break;
    case DType::kFloat16:
      status = run(LaneSums<Half>(a), a.source.count, kLanes);
      break;
    case DType::kBFloat16:
      status = run(LaneSums<BFloat16>(a), a.source.count, kLanes);
      break;
    case DType::kFloat64:
      status = run(LaneSums<double>(a), a.source.count, kLanes);
      break;
    default:
      status = run(LaneSums<float>(a), a.source.count, kLanes);
  }
  const int64_t kinds = a.source.count * a.kinds;
  if (status == 0) status = run(FoldSums<kLanes, kGroups>{a.lanes, a.groups}, kinds, kGroups);
  if (status == 0) status = run(FoldSums<kGroups, 1>{a.groups, a.sums}, kinds, 1);
  return status;
}

}  // namespace orbbec
