#include "adjust.h"
#include "maps_cuda.h"

namespace orbbec {

int adjust_cuda(const AdjustArguments& arguments, void* stream) {
  return dispatch_adjust(arguments, [&](const auto& map) { return run_map_cuda(map, stream); });
}

}  // namespace orbbec
