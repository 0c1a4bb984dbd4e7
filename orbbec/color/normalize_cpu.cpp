#include "normalize.h"
#include "rows_cpu.h"

namespace orbbec {

void normalize_cpu(const NormalizeArguments& arguments, const ParallelFor& parallel) {
  dispatch_normalize(arguments, [&](const auto& map) { return run_map_cpu(map, parallel); });
}

}  // namespace orbbec
