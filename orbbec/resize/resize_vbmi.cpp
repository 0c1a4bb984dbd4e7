#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")
#include "pillow_vbmi.h"

namespace orbbec {

void resize_pillow_strips_vbmi(const Resize<uint8_t, PillowFixed>& op, int64_t begin, int64_t end) {
  StripTaps<HorizontalTaps, VerticalTaps> taps(op.coefficients);
  for_each_strip(op, begin, end, [&](int64_t n, int first, int last) {
    const ResizePlan& plan = op.coefficients.plans[op.coefficients.set_of(n)];
    const Image<const uint8_t> from = op.source[n];
    const int64_t channels = op.output.channels;
    const bool together = channels <= 16 && has_packed_rows(from, channels);
    const int lanes = together ? static_cast<int>(channels) : 1;
    if (plan.form == ResizeForm::kEmpty || (plan.vertical_first && !has_packed_rows(from, lanes)))
      return resize_strip<ScalarRows>(op, n, first, last);
    taps.set(n, first, last, lanes);
    for (int64_t c = 0; c < channels; c += lanes) {
      VbmiStrip strip(from_channel(from, c), from_channel(op.output[n], c), lanes,
                      taps.horizontal(), taps.vertical());
      if (plan.vertical_first) {
        strip.run_vertical_first(first, last, plan.left, plan.right);
      } else {
        strip.run_horizontal_first(first, last);
      }
    }
  });
}

}  // namespace orbbec
#endif
