// The passes of box_blur over bytes with running sums: a row's sum is added to the columns when the
// row enters the window and subtracted when it leaves. Compiled once per target; `Target` keeps the
// copies apart.
#pragma once

#include "strips.h"

namespace orbbec {
namespace {

template <class Target>
struct BoxBytes {
  using Number = uint16_t;
  using Row = uint32_t;
  static constexpr int kLanes = 16;
  static constexpr int kRowElements = 1;
  static constexpr int kMostOfShort = 257;  // the most bytes whose sum fits 16 bits
  typedef uint8_t Bytes __attribute__((vector_size(kLanes)));
  typedef uint32_t Sums __attribute__((vector_size(kLanes * sizeof(uint32_t))));
  typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));

  BoxRule<uint8_t> rule;
  Window window;
  int group;
  uint32_t columns[kStripValues] = {};  // sums of the rows of the window

  BoxBytes(const BoxRule<uint8_t>& rule, const Window& window, int group)
      : rule(rule), window(window), group(group) {}

  template <class Vector, class Element>
  static Vector load_vector(const Element* from) {
    Vector vector;
    __builtin_memcpy(&vector, from, sizeof(vector));
    return vector;
  }

  template <class Vector, class Element>
  static void store_vector(const Vector& vector, Element* to) {
    __builtin_memcpy(to, &vector, sizeof(vector));
  }

  void horizontal(const uint16_t* line, uint32_t* row, int count) {
    if (window.width <= kMostOfShort) return add_lines<uint16_t>(line, row, count);
    add_lines<uint32_t>(line, row, count);
  }

  template <class Element>
  void add_lines(const uint16_t* line, uint32_t* row, int count) {
    constexpr int kVectors = 64 / kLanes;  // sums that stay in registers
    typedef uint16_t Line __attribute__((vector_size(kLanes * sizeof(uint16_t))));
    typedef Element Vector __attribute__((vector_size(kLanes * sizeof(Element))));
    for (int v = 0; v < count; v += kVectors * kLanes) {
      Vector sums[kVectors] = {};
      const uint16_t* from = line + v;
      for (int i = 0; i < window.width; ++i, from += group) {
#pragma GCC unroll 4
        for (int k = 0; k < kVectors; ++k)
          sums[k] += __builtin_convertvector(load_vector<Line>(from + k * kLanes), Vector);
      }
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        const int at = v + k * kLanes;
        const Sums wide = __builtin_convertvector(sums[k], Sums);
        store_vector(wide, row + at);
        store_vector(load_vector<Sums>(columns + at) + wide, columns + at);
      }
    }
  }

  void vertical(const uint32_t* const* rows, const ValueIndex& index, uint8_t* out, int count) {
    if (rule.is_by_factor()) {
      finish_rows(rows[0], index, rule.wrapped_from, out, count,
                  [&](Sums sums) { return mean_by_factor(sums); });
    } else {
      finish_rows(rows[0], index, rule.float_to, out, count,
                  [&](Sums sums) { return mean_by_scale(sums); });
    }
  }

  // Subtracts the row `first` of the window. Values from index `last` on are rounded one by one.
  template <class Mean>
  void finish_rows(const uint32_t* first, const ValueIndex& index, int64_t last, uint8_t* out,
                   int count, const Mean& mean) {
    for (int v = 0; v < count; v += kLanes) {
      const Sums sums = load_vector<Sums>(columns + v);
      store_vector(__builtin_convertvector(mean(sums), Bytes), out + v);
      store_vector(sums - load_vector<Sums>(first + v), columns + v);
    }
    for (int v = first_from(last, index); v < count; ++v)
      out[v] = rule.finish(columns[v] + first[v], index.of(v));
  }

  // The first value whose index is at least `last`.
  static int first_from(int64_t last, const ValueIndex& index) {
    const int64_t values = last - index.first;
    return values <= 0 ? 0 : static_cast<int>((values + index.step - 1) / index.step);
  }

  Sums mean_by_factor(Sums sums) const {
    const Sums mean = rule.mean_by_factor(sums), most = Sums{} + 255;
    return mean < most ? mean : most;
  }

  // Rounds by adding the number above which floats are integers.
  Sums mean_by_scale(Sums sums) const {
    return (Sums)(__builtin_convertvector(sums, Floats) * static_cast<float>(rule.scale) +
                  0x1.8p23f);
  }
};

}  // namespace
}  // namespace orbbec
