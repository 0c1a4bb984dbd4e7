#include "nearest_rows.h"
#include "resize_backward.h"
#include "strips.h"

namespace orbbec {
namespace {

template <class Op>
void run_strips(const Op& op, const ParallelFor& parallel, ResizeStrips<Op> strips) {
  const int64_t pixels = static_cast<int64_t>(op.output.width) * kRowsPerStrip;
  parallel(op.output.count * strips_of(op.output.height), kPixelsPerTask / pixels + 1,
           [&](int64_t begin, int64_t end) { strips(op, begin, end); });
}

template <class Op>
ResizeStrips<Op> fastest_strips(Simd level) {
#if defined(__x86_64__)
  constexpr bool kIsPillowBytes = std::is_same_v<typename Op::Form, PillowFixed>;
  if constexpr (kIsPillowBytes) {
    if (level == Simd::kAvx512 && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"))
      return resize_pillow_strips_vbmi;
    if (level != Simd::kPlain) return resize_pillow_strips_avx2;
  } else {
    if (level != Simd::kPlain) return resize_strips_avx2<Op>;
  }
#endif
  return resize_strips<PlainRows, Op>;
}

template <class T>
void run_resize(const ResizeNearest<T>& op, const ParallelFor& parallel) {
  run_strips<ResizeNearest<T>>(op, parallel, [](const auto& all, int64_t begin, int64_t end) {
    for_each_strip(all, begin, end,
                   [&](int64_t n, int first, int last) { nearest_strip(all, n, first, last); });
  });
}

template <class T, class Form>
void run_resize(const Resize<T, Form>& op, const ParallelFor& parallel) {
  run_strips(op, parallel, fastest_strips<Resize<T, Form>>(simd_level()));
}

}  // namespace

void fill_resize_tables_cpu(const ResizeArguments& a, const ParallelFor& parallel) {
  dispatch_weight(a.request.method, a.dtype, [&](auto weight) {
    using Fill = FillResizeTables<decltype(weight)>;
    const int items = static_cast<int>(Fill::items(a.request));
    const Fill fill(a.request, a.tables);
    parallel(a.tables.tables, kPixelsPerTask / 8 / items + 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const auto geometry = fill.geometry(n);
        for (int i = 0; i < items; ++i) fill.fill_item(geometry, n, i);
      }
    });
    return 0;
  });
}

void resize_cpu(const ResizeArguments& a, const ParallelFor& parallel) {
  dispatch_resize(a, [&](const auto& op) {
    run_resize(op, parallel);
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
