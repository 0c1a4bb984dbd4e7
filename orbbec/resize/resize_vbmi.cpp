#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")
#include "pillow_vbmi.h"

namespace orbbec {

void resize_pillow_strips_vbmi(const Resize<uint8_t, PillowFixed>& op, int64_t begin, int64_t end) {
  StripTaps<TapsAcross, TapsDown> taps(op.tables);
  for_each_strip(op, begin, end, [&](int64_t n, int first, int last) {
    const ResizePlan& plan = op.tables.plans[op.tables.table(n)];
    const Image<const uint8_t> from = op.source[n];
    const int64_t channels = op.output.channels;
    const bool together = channels <= 16 && has_packed_rows(from, channels);
    const int lanes = together ? static_cast<int>(channels) : 1;
    if (plan.form == ResizeForm::kEmpty || (plan.rows_last && !has_packed_rows(from, lanes)))
      return resize_strip<PlainRows>(op, n, first, last);
    taps.set(n, first, last, lanes);
    for (int64_t c = 0; c < channels; c += lanes) {
      VbmiStrip strip(from_channel(from, c), from_channel(op.output[n], c), lanes, taps.across(),
                      taps.down());
      if (plan.rows_last) {
        strip.run_columns_first(first, last, plan.left, plan.right);
      } else {
        strip.run_rows_first(first, last);
      }
    }
  });
}

}  // namespace orbbec
#endif
