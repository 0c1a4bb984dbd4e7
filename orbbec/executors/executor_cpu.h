// Runs a functor over the pixels of a batch on CPU threads. It is compiled once for scalar code and
// once for AVX2, where rounding and fused products are single instructions; both give the same
// bits. Included by *_cpu.cpp.
#pragma once

#include <functional>

#include "../core/image.h"

namespace orbbec {

enum class Simd { kScalar, kAvx2, kAvx512 };

// The best level of this CPU; ORBBEC_SIMD=scalar|avx2|avx512 lowers it, another value is an error.
Simd simd_level();  // executors/simd/level.cpp

// Calls the body on ranges that cover [0, count), on several threads where that pays; supplied by
// the binding.
using RangeBody = std::function<void(int64_t begin, int64_t end)>;
using ParallelFor = std::function<void(int64_t count, int64_t grain, const RangeBody& body)>;

constexpr int64_t kPixelsPerTask =
    16384;  // about 0.1 ms of work: below that, a second thread costs more than it saves

#if defined(__x86_64__)
#define ORBBEC_AVX2 __attribute__((target("avx2,fma")))
#define ORBBEC_AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,prefer-vector-width=512")))
#else
#define ORBBEC_AVX2
#define ORBBEC_AVX512
#endif

// An inlined function, compiled for each level.
template <auto kFunction, class Type = decltype(kFunction)>
struct Compiled;
template <auto kFunction, class Result, class... Args>
struct Compiled<kFunction, Result (*)(Args...)> {
  static Result scalar(Args... args) { return kFunction(args...); }
  ORBBEC_AVX2 static Result avx2(Args... args) { return kFunction(args...); }
  ORBBEC_AVX512 static Result avx512(Args... args) { return kFunction(args...); }
};

// The function of a level up to AVX2: one for both, or two of one type.
template <auto kScalar, auto kAvx2 = kScalar>
auto compiled_to_avx2(Simd level) {
  return level == Simd::kScalar ? Compiled<kScalar>::scalar : Compiled<kAvx2>::avx2;
}

// The function of any level.
template <auto kScalar, auto kAvx2 = kScalar, auto kAvx512 = kAvx2>
auto compiled_to_avx512(Simd level) {
  return level == Simd::kAvx512 ? Compiled<kAvx512>::avx512
                                : compiled_to_avx2<kScalar, kAvx2>(level);
}

// row(n, y) for every row of every image; `pixels_per_row` estimates the work.
template <class Row>
void for_each_row_cpu(int64_t count, int height, int64_t pixels_per_row,
                      const ParallelFor& parallel, const Row& row) {
  const int64_t grain = kPixelsPerTask / (pixels_per_row < 1 ? 1 : pixels_per_row) + 1;
  parallel(count * height, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row(i / height, static_cast<int>(i % height));
  });
}

template <class Op>
ORBBEC_HD void each_pixel(const Op& op, int64_t n, int y, int width) {
  for (int x = 0; x < width; ++x) op(n, y, x);
}

// A row of pixels of one image, by the functor or a faster equivalent.
template <class Op>
using PixelRow = void (*)(const Op& op, int64_t n, int y, int width);

template <class Op>
PixelRow<Op> pixel_row(Simd level) {
  return compiled_to_avx2<each_pixel<Op>>(level);
}

// op(n, y, x) for every pixel of `shape`.
template <class Op>
void for_each_pixel_cpu(const Op& op, const AnyImages& shape, const ParallelFor& parallel,
                        PixelRow<Op> row = pixel_row<Op>(simd_level())) {
  for_each_row_cpu(shape.count, shape.height, shape.width, parallel,
                   [&](int64_t n, int y) { row(op, n, y, shape.width); });
}

template <class Op>
ORBBEC_HD void one_item(const Op& op, int64_t n, int i) {
  op(n, i);
}

// op(n, i) for every i below `items` of each of `count` images; an item costs about as much as
// `pixels_per_item` pixels.
template <class Op>
void for_each_item_cpu(const Op& op, int64_t count, int items, int64_t pixels_per_item,
                       const ParallelFor& parallel) {
  const auto item = compiled_to_avx2<one_item<Op>>(simd_level());
  for_each_row_cpu(count, items, pixels_per_item, parallel,
                   [&](int64_t n, int i) { item(op, n, i); });
}

}  // namespace orbbec
