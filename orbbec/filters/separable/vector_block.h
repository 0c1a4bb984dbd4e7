// Compiler vectors in fours, and squares of them. Included by strips.h.
#pragma once

#include <utility>

#include "../../core/common.h"

namespace orbbec {
namespace {  // one copy per target

template <class Number, int kLanes>
struct VectorOfLanes {
  typedef Number Type __attribute__((vector_size(kLanes * sizeof(Number))));

  template <class From>
  ORBBEC_HD static Type load(const From* from) {
    typedef From Loaded __attribute__((vector_size(kLanes * sizeof(From))));
    Loaded loaded;
    __builtin_memcpy(&loaded, from, sizeof(loaded));
    return __builtin_convertvector(loaded, Type);
  }
  ORBBEC_HD static void store(const Type& vector, Number* to) {
    __builtin_memcpy(to, &vector, sizeof(vector));
  }
};

// Independent sums, to hide the latency of additions. No array, which would lie in memory.
template <class Number, int kLanes>
struct Block {
  using Lanes = VectorOfLanes<Number, kLanes>;
  using Vector = typename Lanes::Type;
  Vector a, b, c, d;

  // From `at(i)` and the three addresses that follow.
  template <class At>
  ORBBEC_HD static Block load(const At& at, int i) {
    return {Lanes::load(at(i)), Lanes::load(at(i + 1)), Lanes::load(at(i + 2)),
            Lanes::load(at(i + 3))};
  }
  // The vectors one further up or down.
  template <class From>
  ORBBEC_HD Block with_one_before(const From* from) const {
    return {Lanes::load(from), a, b, c};
  }
  template <class From>
  ORBBEC_HD Block with_one_after(const From* from) const {
    return {b, c, d, Lanes::load(from)};
  }
  // `step` numbers apart.
  ORBBEC_HD void store(Number* to, int64_t step) const {
    Lanes::store(a, to), Lanes::store(b, to + step);
    Lanes::store(c, to + 2 * step), Lanes::store(d, to + 3 * step);
  }

  Number operator[](int i) const;  // declared for its type alone

  ORBBEC_HD Block& operator+=(const Block& other) {
    a += other.a, b += other.b, c += other.c, d += other.d;
    return *this;
  }
  ORBBEC_HD friend Block operator+(const Block& left, const Block& right) {
    return {left.a + right.a, left.b + right.b, left.c + right.c, left.d + right.d};
  }
  ORBBEC_HD friend Block operator*(const Block& block, Number factor) {
    return {block.a * factor, block.b * factor, block.c * factor, block.d * factor};
  }
};

// As many vectors as a vector has lanes.
template <class Number, int kLanes>
struct Square {
  using Vector = typename VectorOfLanes<Number, kLanes>::Type;
  Vector rows[kLanes];

  ORBBEC_HD void transpose() { exchange<kLanes / 2>(std::make_integer_sequence<int, kLanes>()); }

 private:
  // Swaps lane i + kDistance of row i with lane i of row i + kDistance, then at half the distance.
  template <int kDistance, int... kLane>
  ORBBEC_HD void exchange(std::integer_sequence<int, kLane...> lanes) {
    using Mask = decltype(Vector{} < Vector{});
    constexpr Mask kUpper{((kLane & kDistance) != 0 ? kLanes + kLane - kDistance : kLane)...},
        kLower{((kLane & kDistance) != 0 ? kLanes + kLane : kLane + kDistance)...};
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & kDistance) != 0) continue;
      const Vector upper = rows[i], lower = rows[i + kDistance];
      rows[i] = __builtin_shuffle(upper, lower, kUpper);
      rows[i + kDistance] = __builtin_shuffle(upper, lower, kLower);
    }
    if constexpr (kDistance > 1) exchange<kDistance / 2>(lanes);
  }
};

}  // namespace
}  // namespace orbbec
