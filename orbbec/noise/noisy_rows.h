// The rows of a batch to which noise is added on the CPU. Included by *_cpu.cpp of this family.
#pragma once

#include "../executors/float_dispatch_cpu.h"

namespace orbbec {

// row(n, y) for every row of every output; `pixels_per_value`: the cost of a value, in pixels.
template <class Op, class Row>
void for_each_noisy_row(const Op& op, int64_t pixels_per_value, const ParallelFor& parallel,
                        const Row& row) {
  const bool is_ragged = op.output.layout != nullptr;
  const int64_t images = is_ragged ? op.output.count : 1, alike = is_ragged ? 1 : op.output.count;
  for (int64_t image = 0; image < images; ++image) {
    const auto size = op.output[image];
    for_each_row_cpu(alike, size.height, size.width * op.output.channels * pixels_per_value,
                     parallel, [&](int64_t n, int y) { row(image + n, y); });
  }
}

}  // namespace orbbec
