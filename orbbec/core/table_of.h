// The table that a pointwise functor may have: `Table`, whose entries `set(i)` computes, for i
// below Table::kEntries. Executors fill it once and look its values up. Included by
// color/pointwise.h and executors/cuda/pointwise.h.
#pragma once

#include <type_traits>

#include "common.h"

namespace orbbec {

struct NoTable {
  static constexpr int kEntries = 0;
  ORBBEC_HD void set(int) {}
};

template <class Op, class = void>
struct TableOf {
  static constexpr bool kExists = false;
  using Type = NoTable;
};
template <class Op>
struct TableOf<Op, std::void_t<typename Op::Table>> {
  static constexpr bool kExists = true;
  using Type = typename Op::Table;
};

}  // namespace orbbec
