// box_blur over bytes, strip by strip: a column's sum gains the row that enters the window and
// loses the one that leaves it; sums of neighboring columns are added by doubling. Compiled once
// per target; `Target` keeps the copies apart.
#pragma once

#include "strips.h"

namespace orbbec {
namespace {

// `Element` is wide enough for the sum of a window: uint16_t exactly where means are by factor.
template <class Target, class Element>
class BoxStrip {
  static constexpr int kLanes = VectorOf<Target, Element>::kLanes;
  static constexpr bool kIsByFactor = sizeof(Element) == 2;
  using Sums = typename VectorOf<Target, Element>::Type;
  typedef uint8_t ByteValues __attribute__((vector_size(kLanes)));
  using Floats = typename VectorOf<Target, float>::Type;

 public:
  BoxStrip(const BoxRule<uint8_t>& rule, const Window& window, int group, int count)
      : rule_(rule),
        window_(window),
        group_(group),
        count_(count),
        lines_(window.height + 1, line_values()),
        columns_(numbers_.of_size(3 * stride())),
        sums_(columns_ + stride()),
        zeros_(sums_ + stride()) {
    if (kIsByFactor) set_factor();
  }

  void run(const Plane<const uint8_t>& source, const Plane<uint8_t>& output, const Strip& strip,
           const ValueIndex& index, Border border) {
    uint8_t out[kStripValues];
    const int64_t margin = int64_t{window_.before()} * group_;
    const LineReader<uint8_t> reader(source, strip.first - margin, line_values(), border);
    for (int number = strip.top; number < strip.bottom + window_.height - 1; ++number) {
      reader.read(number - window_.above(), lines_.next());
      const uint8_t* const* rows = lines_.oldest_first();
      move_down(rows[window_.height], rows[0]);
      const int y = number - (window_.height - 1);
      if (y < strip.top) continue;
      finish(sum_neighbors(), index, out);
      store_values(output, y, strip.first, count_, out);
    }
  }

 private:
  int line_values() const { return count_ + (window_.width - 1) * group_; }
  // Of each of three rows of numbers: vectors read past the last one.
  size_t stride() const { return (line_values() + group_ + 3 * kLanes) / kLanes * kLanes; }

  template <class Vector, class Number>
  static Vector load_vector(const Number* from) {
    Vector vector;
    __builtin_memcpy(&vector, from, sizeof(vector));
    return vector;
  }
  template <class Vector, class Number>
  static void store_vector(const Vector& vector, Number* to) {
    __builtin_memcpy(to, &vector, sizeof(vector));
  }

  void move_down(const uint8_t* __restrict entering, const uint8_t* __restrict leaving) {
    Element* __restrict const columns = columns_;
    const int values = (line_values() + kLanes - 1) / kLanes * kLanes;  // rows are as long
    for (int v = 0; v < values; ++v)
      columns[v] = static_cast<Element>(columns[v] + entering[v] - leaving[v]);
  }

  // Three vectors to add: of window sums, those of 2 n or 2 n + 1 columns from those of n.
  struct Addends {
    const Element *first, *second, *third;

    Sums at(int v) const {
      return load_vector<Sums>(first + v) + load_vector<Sums>(second + v) +
             load_vector<Sums>(third + v);
    }
  };

  // Goes through the width bit by bit; the last addition is left to the caller.
  Addends sum_neighbors() {
    Addends addends{columns_, zeros_, zeros_};
    int bit = 1, width = 1;
    while (2 * bit <= window_.width) bit *= 2;
    while (bit /= 2) {
      if (width > 1) {
        const int values = count_ + (window_.width - width) * group_;
        const Addends from = addends;  // what is stored could change members
        Element* const to = sums_;
        for (int v = 0; v < values; v += kLanes) store_vector(from.at(v), to + v);
        addends.first = to;
      }
      const bool is_odd = (window_.width & bit) != 0;
      addends.second = addends.first + width * group_;
      addends.third = is_odd ? columns_ + 2 * width * group_ : zeros_;
      width = 2 * width + is_odd;
    }
    return addends;
  }

  // OpenCV rounds values from index `special` of a row in another way.
  void finish(const Addends addends, const ValueIndex& index, uint8_t* __restrict out) {
    const int64_t special = kIsByFactor ? rule_.wrapped_from : rule_.float_to;
    const int64_t ordinary = (special - index.first + index.step - 1) / index.step;
    const int last = static_cast<int>(std::clamp<int64_t>(ordinary, 0, count_));
    for (int v = 0; v < last; v += kLanes)
      store_vector(__builtin_convertvector(mean(addends.at(v)), ByteValues), out + v);
    for (int v = last / kLanes * kLanes; v < count_; v += kLanes) {
      const Sums sums = addends.at(v);
      for (int i = std::max(0, last - v); i < std::min(kLanes, count_ - v); ++i)
        out[v + i] = rule_.finish(sums[i], index.of(v + i));
    }
  }

  // BoxRule::mean_by_factor in 16 bits, of the same sums for every area.
  void set_factor() {
    const uint32_t divisor = static_cast<uint32_t>(rule_.area);
    while (uint32_t{2} << shift_ < divisor) ++shift_;
    const uint32_t unit = uint32_t{1} << (16 + shift_);
    factor_ = unit / divisor;
    offset_ = divisor / 2;
    ++(2 * (unit % divisor) < divisor ? offset_ : factor_);
  }

  Sums mean(Sums sums) const {
    if constexpr (kIsByFactor) {
      using Bytes = typename Target::Bytes;
      const Sums high = (Sums)Bytes::high_products_16((typename Bytes::Vector)(sums + offset_),
                                                      Bytes::all_16(factor_));
      const Sums means = high >> shift_;  // at most 256
      return means - (means >> 8);
    } else {
      // Rounds by adding the number above which floats are integers.
      return (Sums)(__builtin_convertvector(sums, Floats) * static_cast<float>(rule_.scale) +
                    0x1.8p23f);
    }
  }

  const BoxRule<uint8_t>& rule_;
  Window window_;
  int group_, count_;
  uint16_t factor_ = 0, offset_ = 0, shift_ = 0;
  RowRing<uint8_t> lines_;
  AlignedNumbers<Element> numbers_;
  Element *columns_, *sums_, *zeros_;
};

template <class Target>
struct BoxBytes {
  using Row = uint8_t;
  static constexpr int kRowElements = 1, kBatch = 1, kCacheBytes = 40 << 10;

  BoxRule<uint8_t> rule;
  Window window;
  int group;

  BoxBytes(const BoxRule<uint8_t>& rule, const Window& window, int group)
      : rule(rule), window(window), group(group) {}
};

template <class Target>
void run_strip(BoxBytes<Target>& box, const Plane<const uint8_t>& source,
               const Plane<uint8_t>& output, const Strip& strip, const ValueIndex& index,
               Border border) {
  const auto run = [&](auto element) {
    BoxStrip<Target, decltype(element)>(box.rule, box.window, box.group, strip.count)
        .run(source, output, strip, index, border);
  };
  box.rule.is_by_factor() ? run(uint16_t()) : run(uint32_t());
}

}  // namespace
}  // namespace orbbec
