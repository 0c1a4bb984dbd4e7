#include "../core/matrix.h"
#include "../executors/cuda/tiles.h"

namespace orbbec {

int prepare_matrices_cuda(const MatrixArguments& arguments, void* stream) {
  return dispatch_matrices(arguments, [&](const auto& prepare) {
    return for_each_item_cuda(prepare, arguments.count, 1, stream);
  });
}

}  // namespace orbbec
