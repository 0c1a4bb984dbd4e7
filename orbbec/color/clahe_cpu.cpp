#include "clahe.h"
#include "rows_cpu.h"

namespace orbbec {

void clahe_cpu(const ClaheArguments& a, const ParallelFor& parallel) {
  const int64_t pixels_of_tile =
      int64_t{1} + a.output.height / a.tiles_y * (a.output.width / a.tiles_x);
  for_each_item_cpu(ClaheTables(a), a.source.count * a.source.channels, a.tiles_y * a.tiles_x,
                    pixels_of_tile, parallel);
  run_map_cpu(ClaheBlend(a), parallel);
}

}  // namespace orbbec
