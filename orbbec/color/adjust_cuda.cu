#include "../core/ragged_cuda.h"
#include "adjust.h"

namespace orbbec {

int adjust_cuda(const AdjustArguments& arguments, void* stream) {
  return dispatch_adjust(arguments, [&](const auto& map) {
    return for_each_pixel_of_images_cuda(map, map.output, stream);
  });
}

}  // namespace orbbec
