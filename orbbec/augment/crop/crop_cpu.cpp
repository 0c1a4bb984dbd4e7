#include <memory>
#include <vector>

#include "../../executors/executor_cpu.h"
#include "../../feed/blocks.h"
#include "crop.h"

namespace orbbec {

void resize_cpu(const ResizeArguments& arguments, const ParallelFor& parallel);
void augment_cpu(const AugmentArguments& arguments, const ParallelFor& parallel);

namespace {

// The transforms of `augment`: the identity, or a flip, which costs nothing as it reads.
std::vector<float> flip_matrices(const bool* flips, int64_t count, int width) {
  std::vector<float> matrices;
  matrices.reserve(9 * count);
  for (int64_t n = 0; n < count; ++n) {
    const bool is_flipped = flips != nullptr && flips[n];
    const float step = is_flipped ? -1.0f : 1.0f;
    const float left = is_flipped ? static_cast<float>(width - 1) : 0.0f;
    matrices.insert(matrices.end(), {step, 0, left, 0, 1, 0, 0, 0, 1});
  }
  return matrices;
}

void run_both(const AugmentCropArguments& a, const ParallelFor& parallel) {
  resize_cpu(a.resize, parallel);
  augment_cpu(a.augment, parallel);
}

// Images [begin, end) one after the other, through the memory of one crop.
void run_images(const AugmentCropArguments& all, int64_t begin, int64_t end) {
  const AnyImages& crops = all.resize.output;
  const auto bytes = static_cast<size_t>(crops.stride_n);
  const auto give = [bytes](uint8_t* memory) { feed::shared_blocks.give(memory, bytes); };
  const std::unique_ptr<uint8_t, decltype(give)> memory(feed::shared_blocks.take(bytes), give);
  if (memory == nullptr) throw std::bad_alloc();
  for (int64_t n = begin; n < end; ++n) {
    run_both(all.with_crops(memory.get() - n * crops.stride_n),
             [&](int64_t items, int64_t, const RangeBody& body) {
               const int64_t per_image = items / crops.count;
               body(n * per_image, (n + 1) * per_image);
             });
  }
}

}  // namespace

void augment_crop_cpu(const AugmentCropArguments& arguments, const ParallelFor& parallel) {
  AugmentCropArguments a = arguments;
  const AnyImages& crops = a.resize.output;
  const std::vector<float> matrices = flip_matrices(a.resize.flips, crops.count, crops.width);
  a.resize.flips = nullptr;
  a.augment.warp.transform = matrices.data();
  a.augment.warp.transform_stride = 9;
  if (crops.data != nullptr) return run_both(a, parallel);
  const int64_t pixels = int64_t{crops.height} * crops.width;
  parallel(crops.count, kPixelsPerTask / pixels + 1,
           [&](int64_t begin, int64_t end) { run_images(a, begin, end); });
}

}  // namespace orbbec
