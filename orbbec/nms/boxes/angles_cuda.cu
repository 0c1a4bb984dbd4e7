#include "../../executors/cuda/tiles.h"
#include "angles.h"

namespace orbbec {

template <template <class> class Op>
int angles_cuda(const AnglesArguments& arguments, void* stream) {
  return dispatch_angles<Op>(arguments, [&](const auto& op) {
    return for_each_item_cuda(op, 1, arguments.count, stream);
  });
}

int arctangent_cuda(const AnglesArguments& arguments, void* stream) {
  return angles_cuda<Arctangent>(arguments, stream);
}

int sine_cosine_cuda(const AnglesArguments& arguments, void* stream) {
  return angles_cuda<SineCosine>(arguments, stream);
}

int square_root_cuda(const AnglesArguments& arguments, void* stream) {
  return angles_cuda<SquareRoot>(arguments, stream);
}

}  // namespace orbbec
