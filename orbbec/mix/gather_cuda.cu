#include "../executors/cuda/ragged.h"
#include "gather.h"

namespace orbbec {
namespace {

template <class T, class Rule>
int run(const GatherPixels<T, Rule>& op, void* stream) {
  return for_each_pixel_of_images_cuda(op, op.output, stream);
}
// A mosaic is dense, whatever its images are.
template <class T, class Tiles>
int run(const GatherPixels<T, MosaicRule<Tiles>>& op, void* stream) {
  return for_each_pixel_cuda(op, op.output, stream);
}

}  // namespace

int gather_pixels_cuda(const GatherArguments& arguments, void* stream) {
  return dispatch_gather(arguments, [&](const auto& op) { return run(op, stream); });
}

}  // namespace orbbec
