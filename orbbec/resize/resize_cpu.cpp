#include "../executors/float_dispatch_cpu.h"
#include "flip_rows.h"
#include "nearest_rows.h"
#include "resize_backward.h"
#include "strips.h"

namespace orbbec {

void flip_rows_avx2(const AnyImages& images, int value_bytes, int64_t n, int begin, int end);

namespace {

constexpr int64_t kFlipBytes = 512 * 1024;  // of an L2 cache
constexpr int64_t kTasksOfImage = 4;        // each prepares the taps of all columns
constexpr int64_t kImagesOfTask = 4;        // whose coefficients are computed in one task

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

// Strips of a task.
int64_t grain_of(const AnyImages& output) {
  const int64_t pixels = static_cast<int64_t>(output.width) * kRowsPerStrip;
  return std::max(kPixelsPerTask / pixels + 1, strips_of(output.height) / kTasksOfImage);
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
ResizeStrips<ResizeNearest<T>> strips_for(const ResizeNearest<T>&) {
  return [](const auto& all, int64_t begin, int64_t end) {
    const Simd level = simd_level();
    for_each_strip(all, begin, end, [&](int64_t n, int first, int last) {
      nearest_strip(all, n, first, last, level);
    });
  };
}
template <class T, class Form>
ResizeStrips<Resize<T, Form>> strips_for(const Resize<T, Form>&) {
  return fastest_strips<Resize<T, Form>>(simd_level());
}

// Strips [begin, end) of all images.
void run_strips(const ResizeArguments& a, int64_t begin, int64_t end) {
  ResizeArguments unflipped = a;
  unflipped.flips = nullptr;
  dispatch_resize(unflipped, in_floats_only([&](const auto& op) {
                    const auto strips = strips_for(op);
                    a.flips == nullptr ? strips(op, begin, end)
                                       : run_flipped(op, a.flips, begin, end, strips);
                  }));
}

}  // namespace

void fill_resize_coefficients_cpu(const ResizeArguments& a, const ParallelFor& parallel) {
  const int items = static_cast<int>(FillResizeCoefficients::items(a.request));
  const FillResizeCoefficients fill(a.request, a.coefficients);
  parallel(a.coefficients.sets, kPixelsPerTask / 8 / items + 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const auto geometry = fill.geometry(n);
      // Blocks read no coefficients, but the gradient of floats does.
      const bool only_plan = a.dtype == DType::kUInt8 && geometry.plan.form == ResizeForm::kBlocks;
      for (int i = 0; i < (only_plan ? 1 : items); ++i) fill.fill_item(geometry, n, i);
    }
  });
}

void resize_cpu(const ResizeArguments& a, const ParallelFor& parallel) {
  parallel(a.output.count * strips_of(a.output.height), grain_of(a.output),
           [&](int64_t begin, int64_t end) { run_strips(a, begin, end); });
}

void resize_each_cpu(const std::vector<ResizeArguments>& images, const ParallelFor& parallel) {
  const ParallelFor alone = [](int64_t count, int64_t, const RangeBody& body) { body(0, count); };
  std::vector<int64_t> ends;  // cumulative number of strips up to each image
  int64_t total = 0, grain = 1;
  for (const ResizeArguments& a : images) {
    ends.push_back(total += strips_of(a.output.height));
    grain = std::max(grain, grain_of(a.output));
  }
  parallel(images.size(), kImagesOfTask, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) fill_resize_coefficients_cpu(images[n], alone);
  });
  parallel(total, grain, [&](int64_t begin, int64_t end) {
    int64_t n = std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin();
    for (; begin < end; ++n) {
      const int64_t first = n > 0 ? ends[n - 1] : 0, last = std::min(end, ends[n]);
      run_strips(images[n], begin - first, last - first);
      begin = last;
    }
  });
}

void resize_backward_cpu(const ResizeBackwardArguments& a, const ParallelFor& parallel) {
  dispatch_resize_backward(a, [&](const auto& op) {
    for_each_pixel_cpu(op, op.output, parallel);
    return 0;
  });
}

}  // namespace orbbec
