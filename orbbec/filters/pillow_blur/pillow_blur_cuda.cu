#include "../tiles_cuda.h"
#include "pillow_blur.h"

namespace orbbec {
namespace {

// One box blur along rows or columns; a thread adds the pixels of its box.
struct BoxPass {
  using Value = uint8_t;

  Images<const uint8_t> source;
  Images<uint8_t> output;
  const int64_t* boxes;
  bool along_rows;

  ORBBEC_HD void operator()(int64_t n, int y, int x, int64_t c) const {
    const Image<const uint8_t> image = source[n];
    const Box box = Box::of(boxes, n);
    const auto pixel = [&](int offset) -> uint32_t {
      const int row = along_rows ? y : border_index(y + offset, image.height, Border::kReplicate);
      const int column = along_rows ? border_index(x + offset, image.width, Border::kReplicate) : x;
      return image.at(row, column, c);
    };
    uint32_t inner = 0;
    for (int offset = -box.reach; offset <= box.reach; ++offset) inner += pixel(offset);
    output[n].at(y, x, c) = box.mean(inner, pixel(-box.reach - 1) + pixel(box.reach + 1));
  }
};

}  // namespace

int pillow_blur_cuda(const PillowBlurArguments& a, void* stream) {
  AnyImages scratch = a.output, source = a.source;
  scratch.data = a.scratch;
  for (int pass = 0; pass < 2 * kPillowPasses; ++pass) {
    const AnyImages& output = pass % 2 == 0 ? scratch : a.output;
    const BoxPass op{Images<const uint8_t>(source), Images<uint8_t>(output), a.boxes,
                     pass < kPillowPasses};
    const int status = every_pixel_cuda(op, stream);
    if (status != 0) return status;
    source = output;
  }
  return 0;
}

}  // namespace orbbec
