#include "../rows_cpu.h"
#include "clahe.h"

namespace orbbec {

namespace {

// One row at a time: what its pixels have in common is computed once.
ORBBEC_HD void blend_row(const ClaheBlend& blend, int64_t n, int y, int width) {
  blend.write(n, y, 0, width);
}

}  // namespace

void clahe_cpu(const ClaheArguments& a, const ParallelFor& parallel) {
  const int64_t pixels_of_tile =
      int64_t{1} + a.output.height / a.tiles_y * (a.output.width / a.tiles_x);
  for_each_item_cpu(ClaheLuts(a), a.source.count * a.source.channels, a.tiles_y * a.tiles_x,
                    pixels_of_tile, parallel);
  const ClaheBlend blend(a);
  const auto row = compiled_to_avx2<blend_row>(simd_level());
  for_each_strip_cpu(blend.output, 1, parallel,
                     [&](int64_t n, int y) { row(blend, n, y, blend.output[n].width); });
}

}  // namespace orbbec
