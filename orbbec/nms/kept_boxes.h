// The boxes kept so far, a coordinate at a time, so that a vector of them is searched at once.
// Included by nms_cpu.cpp, and by nms_avx2.cpp and nms_avx512.cpp, which define the searches.
#pragma once

#include <limits>
#include <vector>

#include "../core/executor_cpu.h"
#include "nms.h"

namespace orbbec {

struct BoxColumns {
  const float *x1, *y1, *x2, *y2, *area;
  int64_t size;  // readable up to the next multiple of kPadding past it; NaN there
  static constexpr int64_t kPadding = 16;
};

using BoxItem = OverlapRule<float>::Item;

// The first box from `begin` on that suppresses `item`; at least kept.size if there is none.
using BoxSearch = int64_t (*)(const OverlapRule<float>& rule, const BoxColumns& kept, int64_t begin,
                              const BoxItem& item);

int64_t search_boxes_avx2(const OverlapRule<float>& rule, const BoxColumns& kept, int64_t begin,
                          const BoxItem& item);
int64_t search_boxes_avx512(const OverlapRule<float>& rule, const BoxColumns& kept, int64_t begin,
                            const BoxItem& item);

class KeptBoxes {
 public:
  KeptBoxes(const OverlapRule<float>& rule, BoxSearch search) : rule_(rule), search_(search) {}

  int64_t size() const { return size_; }

  void clear() {
    size_ = 0;
    for (std::vector<float>& column : columns_) column.assign(BoxColumns::kPadding, kNothing);
  }

  void append(const BoxItem& item) {
    const float values[] = {item.box.x1, item.box.y1, item.box.x2, item.box.y2, item.area};
    for (int c = 0; c < 5; ++c) {
      columns_[c][size_] = values[c];
      columns_[c].push_back(kNothing);
    }
    ++size_;
  }

  int64_t find(int64_t begin, const BoxItem& item) const {
    const BoxColumns columns{columns_[0].data(), columns_[1].data(), columns_[2].data(),
                             columns_[3].data(), columns_[4].data(), size_};
    const int64_t found = search_(rule_, columns, begin, item);
    return found < size_ ? found : size_;
  }

 private:
  static constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

  OverlapRule<float> rule_;
  BoxSearch search_;
  int64_t size_ = 0;
  std::vector<float> columns_[5];
};

}  // namespace orbbec
