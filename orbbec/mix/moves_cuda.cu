#include "../core/ragged_cuda.h"
#include "moves.h"

namespace orbbec {

int move_pixels_cuda(const MoveArguments& arguments, void* stream) {
  return dispatch_moves(arguments, [&](const auto& op) {
    return for_each_pixel_of_images_cuda(op, op.output, stream);
  });
}

}  // namespace orbbec
