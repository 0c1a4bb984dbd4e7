// pillow_blur: three box blurs along each axis. Included by pillow_blur_cpu.cpp,
// pillow_blur_cuda.cu and binding.cpp.
#pragma once

#include "../../core/border.h"
#include "../../core/image.h"

namespace orbbec {

constexpr int kPillowPasses = 3;  // along each axis
constexpr int kMaxReach = 1 << 14;

struct PillowBlurArguments {
  AnyImages source, output;
  const int64_t* boxes;  // [N, 3], see Box
  void* scratch;         // on CUDA; as large as the output
};

// A box of odd size, with half a pixel or less at each end. Its mean is that of Pillow, in 32 bits.
struct Box {
  int reach;             // whole pixels on each side of the center
  uint32_t whole, part;  // weights of the whole pixels and of the outermost, in units of 2^-24

  // The table may be in device memory, where the host cannot check it.
  ORBBEC_HD static Box of(const int64_t* boxes, int64_t n) {
    return {clamp_to_size(boxes[3 * n], kMaxReach), static_cast<uint32_t>(boxes[3 * n + 1]),
            static_cast<uint32_t>(boxes[3 * n + 2])};
  }

  ORBBEC_HD uint8_t mean(uint32_t inner, uint32_t outer) const {
    return static_cast<uint8_t>((inner * whole + outer * part + (1u << 23)) >> 24);
  }
};

}  // namespace orbbec
