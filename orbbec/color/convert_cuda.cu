#include "convert.h"
#include "maps_cuda.h"

namespace orbbec {

int cvt_color_cuda(const ConvertArguments& arguments, void* stream) {
  return dispatch_convert(arguments, [&](const auto& map) { return run_map_cuda(map, stream); });
}

}  // namespace orbbec
