#include "maps_cuda.h"
#include "normalize.h"

namespace orbbec {

int normalize_cuda(const NormalizeArguments& arguments, void* stream) {
  return dispatch_normalize(arguments, [&](const auto& map) { return run_map_cuda(map, stream); });
}

}  // namespace orbbec
