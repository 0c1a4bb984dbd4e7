#include "../../executors/executor_cpu.h"
#include "angles.h"

namespace orbbec {

constexpr int64_t kPixelsPerAngle = 16;

template <template <class> class Op>
void angles_cpu(const AnglesArguments& arguments, const ParallelFor& parallel) {
  dispatch_angles<Op>(arguments, [&](const auto& op) {
    for_each_item_cpu(op, 1, arguments.count, kPixelsPerAngle, parallel);
    return 0;
  });
}

void arctangent_cpu(const AnglesArguments& arguments, const ParallelFor& parallel) {
  angles_cpu<Arctangent>(arguments, parallel);
}

void sine_cosine_cpu(const AnglesArguments& arguments, const ParallelFor& parallel) {
  angles_cpu<SineCosine>(arguments, parallel);
}

void square_root_cpu(const AnglesArguments& arguments, const ParallelFor& parallel) {
  angles_cpu<SquareRoot>(arguments, parallel);
}

}  // namespace orbbec
