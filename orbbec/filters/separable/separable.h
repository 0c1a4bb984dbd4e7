// Filters of two passes, horizontal then vertical: gaussian_blur and box_blur. A rule defines what
// a pass sums and how the sum becomes a value. This file has the two rules and the passes of one
// value; strips.h, bytes_cuda.h and separable_cuda.cu run them over many.
#pragma once

#include <type_traits>

#include "../window.h"

// Before a loop over taps. Unrolled, it moves no vectors from register to register; a device would
// not have enough registers.
#if defined(__CUDACC__)
#define ORBBEC_TAPS ORBBEC_ROLLED
#else
#define ORBBEC_TAPS _Pragma("GCC unroll 4")
#endif

namespace orbbec {

// A call whose dtype is known only at run time: filled by the binding, read by the dispatch.
struct SeparableArguments {
  AnyImages source, output;
  DType dtype;
  Border border;
  KernelSizes sizes;
  const void* taps;     // gaussian: [N, 2, longest], Tap<T> of the dtype; null: box
  int64_t taps_stride;  // elements between the taps of consecutive images; 0 if all share them
  int longest;          // side of the largest kernel
  void* row_sums;       // CUDA, windows too large for a tile: Rule::Row of each value of the output
};

// OpenCV's integer kernels sum to 2^8 for uint8 and 2^16 for uint16.
template <class T>
using Tap = std::conditional_t<std::is_integral_v<T>, int32_t, Compute<T>>;

// The element type of a vector, or the type of a number.
template <class V, class = void>
struct ElementOf {
  using Type = V;
};
template <class V>
struct ElementOf<V, std::void_t<decltype(V{}[0])>> {
  using Type = std::decay_t<decltype(V{}[0])>;
};

template <class T>
struct GaussianRule {
  using Value = T;
  using Row = std::conditional_t<std::is_integral_v<T>, uint32_t, Compute<T>>;
  using Sum = std::conditional_t<std::is_same_v<T, uint16_t>, uint64_t, Row>;

  static constexpr bool kHasTaps = true, kTapsMayBeZero = std::is_integral_v<T>;
  static constexpr int kWhole = std::is_same_v<T, uint8_t>    ? 1 << 8
                                : std::is_same_v<T, uint16_t> ? 1 << 16
                                                              : 1;

  const Tap<T>* taps_of_axis[2];

  // An axis of one pixel needs no window: its border is that pixel.
  ORBBEC_HD static int side(int kernel, int image_side, Border border) {
    return image_side == 1 && border != Border::kConstant ? 1 : kernel;
  }

  ORBBEC_HD GaussianRule(const SeparableArguments& a, int64_t n, const Window& window, int64_t)
      : taps_of_axis{first_tap(a, n, 0, window.height), first_tap(a, n, 1, window.width)} {}

  // The first tap of a window that is clipped equally on both ends.
  ORBBEC_HD static const Tap<T>* first_tap(const SeparableArguments& a, int64_t n, int axis,
                                           int side) {
    return static_cast<const Tap<T>*>(a.taps) + n * a.taps_stride + axis * a.longest +
           (a.sizes.of(n, axis) - side) / 2;
  }

  ORBBEC_HD Tap<T> tap(int axis, int size, int i) const {
    return size == 1 ? Tap<T>(kWhole) : taps_of_axis[axis][i];
  }

  // The middle tap, then pair after pair outward. `at(i)` is a number or a vector.
  template <class Out, class At>
  ORBBEC_HD Out pass(int axis, int size, const At& at) const {
    const int middle = size / 2;
    return pass_of_pairs<Out>(axis, size, at(middle),
                              [&](int i) { return at(middle - i) + at(middle + i); });
  }

  // The same from the value at the middle and the sum of those at distance i, `pair(i)`.
  template <class Out, class Pair>
  ORBBEC_HD Out pass_of_pairs(int axis, int size, const Out& center, const Pair& pair) const {
    using Number = typename ElementOf<Out>::Type;
    const Tap<T>* const taps = taps_of_axis[axis];
    const int middle = size / 2;
    Out sum = center * Number(tap(axis, size, middle));
    ORBBEC_TAPS
    for (int i = 1; i <= middle; ++i) sum += pair(i) * Number(taps[middle - i]);
    return sum;
  }

  // The rounding of values of a row before index `end`, if they share one: byte kByte of
  // `scaled(sum + addend())`, of bytes alone.
  static constexpr int kByte = 2;
  ORBBEC_HD bool is_common(int64_t) const { return true; }
  ORBBEC_HD static uint32_t addend() { return 0x8000u; }
  ORBBEC_HD static uint32_t scaled(uint32_t sum) { return sum; }

  ORBBEC_HD T finish(Sum sum, int64_t) const {
    if constexpr (std::is_same_v<T, uint8_t>) {
      return static_cast<uint8_t>((sum + addend()) >> 8 * kByte);
    } else if constexpr (std::is_same_v<T, uint16_t>) {
      return static_cast<uint16_t>((sum + 0x80000000u) >> 32);
    } else {
      return store<T>(sum);
    }
  }
};

template <class T>
struct BoxRule {
  using Value = T;
  static constexpr bool kHasTaps = false, kTapsMayBeZero = false;
  static constexpr bool kIsInteger = std::is_integral_v<T>;
  using Row = std::conditional_t<kIsInteger, uint32_t, double>;
  using Sum = std::conditional_t<std::is_same_v<T, uint16_t>, uint64_t, Row>;

  int area;
  uint32_t factor, offset;  // of mean_by_factor
  double scale;
  int64_t wrapped_from, float_to;  // value indices of a row

  ORBBEC_HD BoxRule(const SeparableArguments&, int64_t, const Window& window, int64_t row_values)
      : area(window.height * window.width), scale(is_by_factor() ? 0.0 : 1.0 / area) {
    const uint32_t divisor = static_cast<uint32_t>(area), rest = (1u << 23) % divisor;
    factor = (1u << 23) / divisor;
    offset = divisor / 2;
    ++(2 * rest < divisor ? offset : factor);
    // OpenCV rounds the tail of a row differently from its vectors.
    wrapped_from = row_values / 16 * 16;
    float_to = row_values / 8 * 8;
  }

  ORBBEC_HD static int side(int kernel, int, Border) { return kernel; }
  ORBBEC_HD int tap(int, int, int) const { return 1; }
  ORBBEC_HD bool is_by_factor() const {
    return std::is_same_v<T, uint8_t> && area > 1 && area <= 256;
  }

  template <class Out, class At>
  ORBBEC_HD Out pass(int, int size, const At& at) const {
    Out sum = at(0);
    ORBBEC_TAPS
    for (int i = 1; i < size; ++i) sum += at(i);
    return sum;
  }

  // The sum of bytes, a number or a vector, over an area of at most 256.
  template <class V>
  ORBBEC_HD V mean_by_factor(V sum) const {
    return ((sum + offset) * factor) >> 23;
  }

  // The rounding of values of a row before index `end`, if they share one: byte kByte of
  // `scaled(sum + addend())`, of bytes alone.
  static constexpr int kByte = 0;
  ORBBEC_HD bool is_common(int64_t end) const { return is_by_factor() && end <= wrapped_from; }
  ORBBEC_HD uint32_t addend() const { return offset; }
  ORBBEC_HD uint32_t scaled(uint32_t sum) const { return smaller((sum * factor) >> 23, 255u); }

  // The mean of the window around value `index` of a row, counting channels.
  ORBBEC_HD T finish(Sum sum, int64_t index) const {
    if constexpr (!kIsInteger) {
      return store<T>(sum * scale);
    } else {
      if (area == 1) return static_cast<T>(sum);
      if (is_by_factor()) {
        const uint32_t mean = mean_by_factor(static_cast<uint32_t>(sum));
        return static_cast<T>(index < wrapped_from && mean > 255 ? 255 : mean);
      }
      if (index < float_to) return store<T>(static_cast<float>(sum) * static_cast<float>(scale));
      return store<T>(sum * scale);
    }
  }
};

// One value of a pass. Row sums lie in `row_sums` as their pixels in the output.
template <class RuleType>
struct Separable {
  using Rule = RuleType;
  using T = typename Rule::Value;
  using Row = typename Rule::Row;
  using Sum = typename Rule::Sum;

  SeparableArguments arguments;
  Images<const T> source;
  Images<T> output;

  ORBBEC_HD Window window(int64_t n, int height, int width) const {
    return {Rule::side(arguments.sizes.of(n, 0), height, arguments.border),
            Rule::side(arguments.sizes.of(n, 1), width, arguments.border)};
  }

  ORBBEC_HD Row& row_sum(const Image<T>& image, int y, int x, int64_t c) const {
    return static_cast<Row*>(arguments.row_sums)[&image.at(y, x, c) - static_cast<T*>(output.data)];
  }

  ORBBEC_HD void sum_row(int64_t n, int y, int x, int64_t c) const {
    const Image<const T> image = source[n];
    const Window around = window(n, image.height, image.width);
    const Rule rule(arguments, n, around, source.channels * image.width);
    const int left = x - around.before();
    row_sum(output[n], y, x, c) = rule.template pass<Row>(1, around.width, [&](int i) {
      return static_cast<Row>(read_or_zero(image, y, left + i, c, arguments.border));
    });
  }

  ORBBEC_HD void sum_column(int64_t n, int y, int x, int64_t c) const {
    const Image<T> image = output[n];
    const Window around = window(n, image.height, image.width);
    const Rule rule(arguments, n, around, source.channels * image.width);
    const int top = y - around.above();
    const Sum sum = rule.template pass<Sum>(0, around.height, [&](int i) {
      const int row = index_or_outside(top + i, image.height, arguments.border);
      return row < 0 ? Sum(0) : static_cast<Sum>(row_sum(image, row, x, c));
    });
    image.at(y, x, c) = rule.finish(sum, x * source.channels + c);
  }
};

// Calls `launch` with the filter for the dtype.
template <template <class> class Rule, class Launch>
auto dispatch_separable(const SeparableArguments& a, const Launch& launch) {
  return dispatch_any_dtype(a.dtype, [&](auto value) {
    using T = decltype(value);
    return launch(Separable<Rule<T>>{a, Images<const T>(a.source), Images<T>(a.output)});
  });
}

}  // namespace orbbec
