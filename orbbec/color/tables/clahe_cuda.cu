#include "../../executors/ragged_cuda.h"
#include "clahe.h"

namespace orbbec {

int clahe_cuda(const ClaheArguments& a, void* stream) {
  const int status = for_each_item_cuda(ClaheLuts(a), a.source.count * a.source.channels,
                                        a.tiles_y * a.tiles_x, stream);
  if (status != 0) return status;
  const ClaheBlend blend(a);
  return for_each_pixel_of_images_cuda(blend, blend.output, stream);
}

}  // namespace orbbec
