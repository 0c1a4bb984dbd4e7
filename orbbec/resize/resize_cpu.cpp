#include "flip_rows.h"
#include "nearest_rows.h"
#include "resize_backward.h"
#include "strips.h"

namespace orbbec {

void flip_rows_avx2(const AnyImages& images, int value_bytes, int64_t n, int begin, int end);

namespace {

constexpr int64_t kFlipBytes = 512 * 1024;  // of an L2 cache
constexpr int64_t kTasksOfImage = 4;        // each prepares the taps of all columns

struct ScalarTarget {};

void flip_rows(const AnyImages& images, int value_bytes, int64_t n, int begin, int end) {
#if defined(__x86_64__)
  if (simd_level() != Simd::kScalar) return flip_rows_avx2(images, value_bytes, n, begin, end);
#endif
  FlipRows<ScalarTarget>::run(images, value_bytes, n, begin, end);
}

// Strips [begin, end) of all images. Results to be flipped are made a few strips at a time, and
// flipped while they are in cache.
template <class Op>
void run_flipped(const Op& op, const bool* flips, int64_t begin, int64_t end,
                 ResizeStrips<Op> strips) {
  const int64_t row_bytes = op.output.width * op.output.channels * sizeof(typename Op::Value);
  const int64_t together = std::max<int64_t>(kFlipBytes / (row_bytes * kRowsPerStrip), 1);
  const int64_t per_image = strips_of(op.output.height);
  while (begin < end) {
    const int64_t n = begin / per_image, first = n * per_image;
    const int64_t last = std::min({end, first + per_image, flips[n] ? begin + together : end});
    strips(op, begin, last);
    if (flips[n]) {
      const int64_t end_row = std::min<int64_t>((last - first) * kRowsPerStrip, op.output.height);
      flip_rows(op.output, sizeof(typename Op::Value), n,
                static_cast<int>((begin - first) * kRowsPerStrip), static_cast<int>(end_row));
    }
    begin = last;
  }
}

template <class Op>
void run_strips(const Op& op, const bool* flips, const ParallelFor& parallel,
                ResizeStrips<Op> strips) {
  const int64_t pixels = static_cast<int64_t>(op.output.width) * kRowsPerStrip;
  const int64_t per_image = strips_of(op.output.height);
  const int64_t grain = std::max(kPixelsPerTask / pixels + 1, per_image / kTasksOfImage);
  parallel(op.output.count * per_image, grain, [&](int64_t begin, int64_t end) {
    flips == nullptr ? strips(op, begin, end) : run_flipped(op, flips, begin, end, strips);
  });
}

template <class Op>
ResizeStrips<Op> fastest_strips(Simd level) {
#if defined(__x86_64__)
  constexpr bool kIsPillowBytes = std::is_same_v<typename Op::Form, PillowFixed>;
  if constexpr (kIsPillowBytes) {
    if (level == Simd::kAvx512 && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"))
      return resize_pillow_strips_vbmi;
    if (level != Simd::kScalar) return resize_pillow_strips_avx2;
  } else {
    if constexpr (std::is_same_v<typename Op::Value, uint8_t>) {
      if (level == Simd::kAvx512) return resize_strips_avx512<Op>;
    }
    if (level != Simd::kScalar) return resize_strips_avx2<Op>;
  }
#endif
  return resize_strips<ScalarRows, Op>;
}

template <class T>
void run_resize(const ResizeNearest<T>& op, const bool* flips, const ParallelFor& parallel) {
  run_strips<ResizeNearest<T>>(
      op, flips, parallel, [](const auto& all, int64_t begin, int64_t end) {
        for_each_strip(all, begin, end,
                       [&](int64_t n, int first, int last) { nearest_strip(all, n, first, last); });
      });
}

template <class T, class Form>
void run_resize(const Resize<T, Form>& op, const bool* flips, const ParallelFor& parallel) {
  run_strips(op, flips, parallel, fastest_strips<Resize<T, Form>>(simd_level()));
}

}  // namespace

void fill_resize_coefficients_cpu(const ResizeArguments& a, const ParallelFor& parallel) {
  dispatch_weight(a.request.method, a.dtype, [&](auto weight) {
    using Fill = FillResizeCoefficients<decltype(weight)>;
    const int items = static_cast<int>(Fill::items(a.request));
    const Fill fill(a.request, a.coefficients);
    parallel(a.coefficients.sets, kPixelsPerTask / 8 / items + 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const auto geometry = fill.geometry(n);
        // Blocks read no coefficients, but the gradient of floats does.
        const bool only_plan =
            a.dtype == DType::kUInt8 && geometry.plan.form == ResizeForm::kBlocks;
        for (int i = 0; i < (only_plan ? 1 : items); ++i) fill.fill_item(geometry, n, i);
      }
    });
    return 0;
  });
}

void resize_cpu(const ResizeArguments& a, const ParallelFor& parallel) {
  ResizeArguments unflipped = a;
  unflipped.flips = nullptr;
  dispatch_resize(unflipped, [&](const auto& op) {
    run_resize(op, a.flips, parallel);
    return 0;
  });
}

void resize_backward_cpu(const ResizeBackwardArguments& a, const ParallelFor& parallel) {
  dispatch_resize_backward(a, [&](const auto& op) {
    for_each_pixel_cpu(op, op.output, parallel);
    return 0;
  });
}

}  // namespace orbbec
