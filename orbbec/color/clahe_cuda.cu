#include "clahe.h"
#include "maps_cuda.h"

namespace orbbec {

int clahe_cuda(const ClaheArguments& a, void* stream) {
  const int status = for_each_item_cuda(ClaheTables(a), a.source.count * a.source.channels,
                                        a.tiles_y * a.tiles_x, stream);
  return status != 0 ? status : run_map_cuda(ClaheBlend(a), stream);
}

}  // namespace orbbec
