#include "../../executors/cuda/tiles.h"
#include "boxes.h"

namespace orbbec {

int box_pairs_cuda(const BoxPairsArguments& arguments, void* stream) {
  return dispatch_box_pairs(arguments, [&](const auto& op) {
    return for_each_pixel_cuda(op, pairs_shape(arguments), stream);
  });
}

int rotated_box_pairs_cuda(const BoxPairsArguments& arguments, void* stream) {
  return dispatch_rotated_box_pairs(arguments, [&](const auto& prepare, const auto& pairs) {
    const int status =
        for_each_item_cuda(prepare, 1, static_cast<int>(prepare.boxes.count), stream);
    return status ? status : for_each_pixel_cuda(pairs, pairs_shape(arguments), stream);
  });
}

}  // namespace orbbec
