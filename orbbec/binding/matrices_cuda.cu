#include "../core/executor_cuda.h"
#include "../core/matrix.h"

namespace orbbec {

int prepare_matrices_cuda(const MatrixArguments& arguments, void* stream) {
  AnyImages one_each{};
  one_each.count = arguments.count;
  one_each.height = one_each.width = 1;
  return dispatch_matrices(arguments,
                           [&](const auto& prepare) { return for_each_pixel_cuda(prepare, one_each, stream); });
}

}  // namespace orbbec
