// The boxes that are kept, as a structure of arrays, for vectorized searches. Included by
// nms_cpu.cpp, and by nms_avx2.cpp and nms_avx512.cpp, which instantiate the searches.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "../executors/executor_cpu.h"
#include "nms.h"

namespace orbbec {

struct BoxColumns {
  const float *x1, *y1, *x2, *y2, *area;
  int64_t size;  // readable up to the next multiple of kPadding; NaN there
  static constexpr int64_t kPadding = 16;
};

using BoxItem = OverlapRule<float>::Item;

// The first box from `begin` on that suppresses `item`; at least boxes.size if none does.
using BoxSearch = int64_t (*)(const OverlapRule<float>& rule, const BoxColumns& boxes,
                              int64_t begin, const BoxItem& item);

struct Avx2;
struct Avx512;
// A BoxSearch with the vectors of `Simd`.
template <class Simd>
int64_t search_boxes(const OverlapRule<float>& rule, const BoxColumns& boxes, int64_t begin,
                     const BoxItem& item);

class KeeperBoxes {
 public:
  static constexpr int64_t kSearchStep = BoxColumns::kPadding;

  KeeperBoxes(const OverlapRule<float>& rule, int64_t capacity, BoxSearch search)
      : rule_(rule), search_(search) {
    for (std::vector<float>& column : columns_) {
      column.assign(capacity + BoxColumns::kPadding, kNothing);
    }
  }

  int64_t size() const { return size_; }

  void clear() {
    for (std::vector<float>& column : columns_) std::fill_n(column.begin(), size_, kNothing);
    size_ = 0;
  }

  void append(const BoxItem& item) {
    const float values[] = {item.box.x1, item.box.y1, item.box.x2, item.box.y2, item.area};
    for (int c = 0; c < 5; ++c) columns_[c][size_] = values[c];
    ++size_;
  }

  // `begin` is a multiple of kSearchStep; `end` is too, or is the size.
  int64_t find(int64_t begin, int64_t end, const BoxItem& item) const {
    const BoxColumns columns{.x1 = columns_[0].data(),
                             .y1 = columns_[1].data(),
                             .x2 = columns_[2].data(),
                             .y2 = columns_[3].data(),
                             .area = columns_[4].data(),
                             .size = end};
    const int64_t found = search_(rule_, columns, begin, item);
    return found < end ? found : end;
  }

 private:
  static constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

  OverlapRule<float> rule_;
  BoxSearch search_;
  std::vector<float> columns_[5];
  alignas(kApart) int64_t size_ = 0;
};

}  // namespace orbbec
