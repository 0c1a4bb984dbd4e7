// resize: the arithmetic of each method, the sums of one source row and the vertical sums of rows.
// Included by resize_cpu.cpp, resize_cuda.cu and binding.cpp.
#pragma once

#include "tables.h"

namespace orbbec {

// A call whose dtype and method are known only at run time.
struct ResizeArguments {
  AnyImages source, output;
  DType dtype;
  ResizeRequest request;
  ResizeCoefficients coefficients;
  const bool* flips;  // [N]: results to flip horizontally; null: none
};

// Each form defines the Weight of its coefficients, the Term of a pixel, the Row of a horizontal
// sum, and the sums: `read(k)` is the term, or the row, of tap k. Sums without a type are of
// numbers, or of vectors lane by lane. `body`: OpenCV's vectors round here, its tail does not.

// The sum of products in the order of the taps.
template <class W, class Read>
ORBBEC_HD auto sum_of_taps(const Taps<W>& taps, const Read& read) {
  auto sum = read(0) * taps.weights[0];
  for (int k = 1; k < taps.count; ++k) sum = sum + read(k) * taps.weights[k];
  return sum;
}

// 11-bit weights; a row's sums lose 4 bits.
struct FixedLinear {
  using Weight = int32_t;
  using Term = int32_t;
  using Row = int16_t;

  template <class W, class Read>
  ORBBEC_HD static Row horizontal(const Taps<W>& taps, bool, const Read& read) {
    int sum = 0;
    for (int k = 0; k < taps.count; ++k) sum += read(k) * static_cast<int>(taps.weights[k]);
    return static_cast<Row>(sum >> 4);
  }
  template <class W, class Read>
  ORBBEC_HD static uint8_t vertical(const Taps<W>& taps, bool, const Read& read) {
    int sum = 2;
    for (int k = 0; k < taps.count; ++k)
      sum += (static_cast<int>(taps.weights[k]) * static_cast<int>(read(k))) >> 16;
    return static_cast<uint8_t>(sum >> 2);
  }
};

// 8-bit weights for uint8, 16-bit weights for uint16; rounded only at the end.
template <class T>
struct ExactLinear {
  static constexpr int kBits = 8 * sizeof(T);
  using Weight = int32_t;
  using Term = uint32_t;
  using Row = uint32_t;
  using Sum = std::conditional_t<sizeof(T) == 1, uint32_t, uint64_t>;

  template <class Read>
  ORBBEC_HD static auto horizontal(const Taps<Weight>& taps, bool, const Read& read) {
    auto sum = read(0) * static_cast<Row>(taps.weights[0]);
    for (int k = 1; k < taps.count; ++k) sum = sum + read(k) * static_cast<Row>(taps.weights[k]);
    return sum;
  }
  template <class Read>
  ORBBEC_HD static T vertical(const Taps<Weight>& taps, bool, const Read& read) {
    Sum sum = Sum{1} << (2 * kBits - 1);
    for (int k = 0; k < taps.count; ++k)
      sum += static_cast<Sum>(read(k)) * static_cast<Sum>(taps.weights[k]);
    return static_cast<T>(sum >> (2 * kBits));
  }
};

// Cubic and lanczos4 of uint8: 11-bit weights; the body of a cubic row is summed in float.
template <bool kBodyIsFloat>
struct FixedTaps {
  using Weight = int32_t;
  using Term = int32_t;
  using Row = int32_t;
  static constexpr float kUnit = 1.0f / (2048 * 2048);

  template <class Read>
  ORBBEC_HD static auto horizontal(const Taps<Weight>& taps, bool, const Read& read) {
    return sum_of_taps(taps, read);
  }
  // Weights of rows may also be given times kUnit, which is exact.
  using RowWeight = std::conditional_t<kBodyIsFloat, float, Weight>;
  ORBBEC_HD static RowWeight row_weight(Weight weight) {
    if constexpr (kBodyIsFloat) return scaled(weight);
    if constexpr (!kBodyIsFloat) return weight;
  }
  ORBBEC_HD static float scaled(int32_t weight) { return static_cast<float>(weight) * kUnit; }
  ORBBEC_HD static float scaled(float weight) { return weight; }
  ORBBEC_HD static int32_t fixed(int32_t weight) { return weight; }
  ORBBEC_HD static int32_t fixed(float weight) {
    return static_cast<int32_t>(weight * (2048 * 2048));
  }

  template <class W, class Read>
  ORBBEC_HD static uint8_t vertical(const Taps<W>& taps, bool body, const Read& read) {
    if constexpr (kBodyIsFloat) {
      if (body && taps.count > 1) {
        float sum = static_cast<float>(read(taps.count - 1)) * scaled(taps.weights[taps.count - 1]);
        for (int k = taps.count - 2; k >= 0; --k)
          sum = static_cast<float>(read(k)) * scaled(taps.weights[k]) + sum;
        return store<uint8_t>(sum);
      }
    }
    int sum = 1 << 21;
    for (int k = 0; k < taps.count; ++k) sum += read(k) * fixed(taps.weights[k]);
    return static_cast<uint8_t>(clamp_int(sum >> 22, 0, 255));
  }
};

// Linear, cubic and lanczos4 of all dtypes but uint8. The body of a row is summed from the last
// tap.
template <class T>
struct FloatTaps {
  using Weight = float;
  using RowWeight = float;
  using Term = Compute<T>;
  using Row = Term;

  ORBBEC_HD static RowWeight row_weight(Weight weight) { return weight; }

  template <class Read>
  ORBBEC_HD static auto horizontal(const Taps<float>& taps, bool inside, const Read& read) {
    return row(sum_of_taps(taps, read), inside || taps.count <= 2);
  }
  template <class Sum>
  ORBBEC_HD static auto row(const Sum& sum, bool as_it_is) {
    return as_it_is ? sum : Row(0) + sum;  // -0 becomes 0
  }
  template <class Read>
  ORBBEC_HD static T vertical(const Taps<float>& taps, bool body, const Read& read) {
    if (std::is_same_v<T, uint16_t> && taps.count == 8) body = false;
    const int last = taps.count - 1;
    Row sum = body ? read(last) * taps.weights[last] : read(0) * taps.weights[0];
    for (int k = 1; k <= last; ++k) {
      const int tap = body ? last - k : k;
      sum = sum + read(tap) * taps.weights[tap];
    }
    return store<T>(sum);
  }
};

// Forms whose vertical sums run in the order of the taps also have these sums step by step: from
// start(), add() for each tap, finished(). An executor can then add a source row to all output rows
// that read it. Adding to -0 leaves every number as it is.

// Area that shrinks by any factor.
template <class T>
struct AreaTaps {
  using Weight = float;
  using Term = Compute<T>;
  using Row = Term;
  using Sum = Term;

  ORBBEC_HD static Sum start() { return Sum(-0.0); }
  ORBBEC_HD static Sum add(Sum sum, Row row, Weight weight) { return sum + row * weight; }
  ORBBEC_HD static T finished(Sum sum) { return value(sum); }

  template <class W, class Read>
  ORBBEC_HD static auto horizontal(const Taps<W>& taps, bool, const Read& read) {
    return row(sum_of_taps(taps, read), false);
  }
  template <class Sum>
  ORBBEC_HD static auto row(const Sum& sum, bool) {
    return Row(0) + sum;  // -0 becomes 0
  }
  template <class Read>
  ORBBEC_HD static T vertical(const Taps<float>& taps, bool, const Read& read) {
    return value(sum_of_taps(taps, read));
  }
  ORBBEC_HD static T value(Row sum) { return store<T>(sum); }
};

// Pillow's: both passes round to the dtype, so they may run in either order.
struct PillowFixed {
  using Weight = int32_t;
  using Term = int32_t;
  using Row = uint8_t;
  using Sum = int;

  ORBBEC_HD static constexpr Sum start() { return 1 << 21; }
  ORBBEC_HD static Sum add(Sum sum, int term, Weight weight) { return sum + term * weight; }
  ORBBEC_HD static Row finished(Sum sum) { return static_cast<Row>(clamp_int(sum >> 22, 0, 255)); }
  ORBBEC_HD static Row row(Sum sum, bool) { return finished(sum); }
  template <class Read>
  ORBBEC_HD static Row horizontal(const Taps<Weight>& taps, bool, const Read& read) {
    Sum sum = start();
    for (int k = 0; k < taps.count; ++k) sum = add(sum, static_cast<int>(read(k)), taps.weights[k]);
    return finished(sum);
  }
  template <class Read>
  ORBBEC_HD static uint8_t vertical(const Taps<Weight>& taps, bool, const Read& read) {
    return horizontal(taps, false, read);
  }
};

template <class T>
struct PillowFloat {
  using Weight = double;
  using Term = double;
  using Row = std::conditional_t<std::is_same_v<T, uint16_t>, uint16_t, Compute<T>>;
  using Sum = double;

  ORBBEC_HD static Sum start() { return -0.0; }
  ORBBEC_HD static Sum add(Sum sum, Row row, Weight weight) {
    return sum + static_cast<double>(row) * weight;
  }
  ORBBEC_HD static T finished(Sum sum) { return value(0 + sum); }
  template <class Read>
  ORBBEC_HD static Row horizontal(const Taps<Weight>& taps, bool, const Read& read) {
    return row(sum_of_taps(taps, [&](int k) { return static_cast<double>(read(k)); }), false);
  }
  ORBBEC_HD static Row row(double sum, bool) { return rounded(0 + sum); }
  ORBBEC_HD static Row rounded(double sum) {
    if constexpr (std::is_same_v<T, uint16_t>) {
      const double rounded = floor(sum + 0.5);  // halves away from 0, like Pillow's 16-bit images
      return static_cast<uint16_t>(rounded < 0 ? 0 : rounded > 65535 ? 65535 : rounded);
    } else {
      return static_cast<Row>(sum);
    }
  }
  template <class Read>
  ORBBEC_HD static T vertical(const Taps<Weight>& taps, bool, const Read& read) {
    return value(0 + sum_of_taps(taps, [&](int k) { return static_cast<double>(read(k)); }));
  }
  ORBBEC_HD static T value(double sum) {
    if constexpr (std::is_same_v<T, Row>) return rounded(sum);
    if constexpr (!std::is_same_v<T, Row>) return store<T>(rounded(sum));
  }
};

template <class Form>
constexpr bool kIsPillow = false;
template <>
inline constexpr bool kIsPillow<PillowFixed> = true;
template <class T>
constexpr bool kIsPillow<PillowFloat<T>> = true;

// Whether a form has start(), add() and finished().
template <class Form>
constexpr bool kAddsInOrder = kIsPillow<Form>;
template <class T>
constexpr bool kAddsInOrder<AreaTaps<T>> = true;

// Whether a method of the form may average blocks: of uint8, neither cubic nor lanczos4.
template <class Form>
constexpr bool kHasBlocks = !kIsPillow<Form>;
template <bool kBodyIsFloat>
constexpr bool kHasBlocks<FixedTaps<kBodyIsFloat>> = false;

// Two taps per axis, for enlarged images of an area batch.
template <class T>
using GrowingArea = std::conditional_t<std::is_same_v<T, uint8_t>, FixedLinear, FloatTaps<T>>;

// What a pass reads: a pixel or a sum, in its computing type; integers as they are.
template <class Value>
ORBBEC_HD auto load_term(Value value) {
  if constexpr (std::is_integral_v<Value>) {
    return value;
  } else {
    return load<Value>(value);
  }
}

// The output position of column x of image n.
ORBBEC_HD int column_of(const bool* flips, int64_t n, int x, int width) {
  return flips != nullptr && flips[n] ? width - 1 - x : x;
}

// Whether the results of a batch may differ in size: variable-size images have no other type.
template <class T>
constexpr bool kMayVary = std::is_same_v<T, uint8_t>;

// One pixel, for every executor.
template <class T, class Form_>
struct Resize {
  using Value = T;
  using Form = Form_;
  using Weight = typename Form::Weight;

  Images<const T> source;
  Images<T> output;
  ResizeCoefficients coefficients;
  const bool* flips;

  explicit Resize(const ResizeArguments& a)
      : source(a.source), output(a.output), coefficients(a.coefficients), flips(a.flips) {}

  // The same in another form. Weights may be read if both have one type.
  template <class Other>
  explicit Resize(const Resize<T, Other>& o)
      : source(o.source), output(o.output), coefficients(o.coefficients), flips(o.flips) {}

  // How many values of an output row OpenCV computes with vectors: 8 integers or 4 floats at a
  // time.
  ORBBEC_HD int64_t in_bodies(int64_t n) const {
    if constexpr (std::is_same_v<T, double>) return 0;
    constexpr int kGroup = std::is_integral_v<T> ? 8 : 4;
    int width = output.width;
    if constexpr (kMayVary<T>) {
      if (output.layout != nullptr) width = output[n].width;
    }
    return width * output.channels / kGroup * kGroup;
  }
  ORBBEC_HD bool in_body(int64_t n, int64_t x, int64_t c) const {
    return x * output.channels + c < in_bodies(n);
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const ResizePlan plan = coefficients.plans[coefficients.set_of(n)];
    const Image<const T> from = source[n];
    const Image<T> to = output[n];
    const int column = column_of(flips, n, x, output.width);
    for (int64_t c = 0; c < output.channels; ++c)
      to.at(y, column, c) = value(plan, from, n, y, x, c);
  }

  ORBBEC_HD T value(const ResizePlan& plan, const Image<const T>& from, int64_t n, int y, int x,
                    int64_t c) const {
    if constexpr (std::is_same_v<Form, AreaTaps<T>>) {
      if (plan.form == ResizeForm::kUp) return sampled<GrowingArea<T>>(plan, from, n, y, x, c);
    }
    if (plan.form == ResizeForm::kTwoPass) return sampled<Form>(plan, from, n, y, x, c);
    return block_or_zero(plan, from, n, y, x, c);
  }

  // Of images that are not read by taps.
  ORBBEC_HD T block_or_zero(const ResizePlan& plan, const Image<const T>& from, int64_t n, int y,
                            int x, int64_t c) const {
    if constexpr (kHasBlocks<Form>) {
      if (plan.form == ResizeForm::kBlocks) return block(plan, from, n, y, x, c);
    }
    return store<T>(0.0f);
  }

  template <class F>
  ORBBEC_HD T sampled(const ResizePlan& plan, const Image<const T>& from, int64_t n, int y, int x,
                      int64_t c) const {
    const Taps<Weight> taps_x = taps_at<Weight>(coefficients, n, x);
    const Taps<Weight> taps_y = taps_at<Weight>(coefficients, n, coefficients.width + y);
    const auto pixel = [&](int ky, int kx) {
      const int row = clamp_int(taps_y.first + ky, plan.top, plan.bottom - 1);
      const int column = clamp_int(taps_x.first + kx, plan.left, plan.right - 1);
      return static_cast<typename F::Term>(load_term(from.at(row, column, c)));
    };
    if constexpr (kIsPillow<F>) {
      if (plan.vertical_first) {
        return F::vertical(taps_x, false, [&](int kx) {
          return F::horizontal(taps_y, false, [&](int ky) { return pixel(ky, kx); });
        });
      }
    }
    const bool inside = taps_x.first >= plan.left && taps_x.first + taps_x.count <= plan.right;
    return F::vertical(taps_y, in_body(n, x, c), [&](int ky) {
      return F::horizontal(taps_x, inside, [&](int kx) { return pixel(ky, kx); });
    });
  }

  // The mean of a block of source pixels.
  ORBBEC_HD T block(const ResizePlan& plan, const Image<const T>& from, int64_t n, int y, int x,
                    int64_t c) const {
    using Sum = std::conditional_t<std::is_same_v<T, uint8_t>, int64_t, Compute<T>>;
    const T* const first = &from.at(plan.top + y * plan.block_y, plan.left + x * plan.block_x, c);
    const auto read = [&](int row, int column) {
      return static_cast<Sum>(load_term(first[row * from.stride_y + column * from.stride_x]));
    };
    const bool pairs = sums_pairs(plan) && in_body(n, x, c);
    return mean_of(plan)(block_sum<Sum>(plan.block_y, plan.block_x, pairs, read));
  }

  // When halving, whether OpenCV sums the rows of a block in pairs in the body; double has no body,
  // and integer sums do not depend on their order.
  ORBBEC_HD bool sums_pairs(const ResizePlan& plan) const {
    const int64_t channels = output.channels;
    return !std::is_integral_v<T> && !std::is_same_v<T, double> && is_half(plan) &&
           (channels == 1 || channels == 4);
  }

  // Of numbers, or of vectors lane by lane; `read(row, column)`.
  template <class Sum, class Read>
  ORBBEC_HD static Sum block_sum(int rows, int columns, bool pairs, const Read& read) {
    if (pairs) return (read(0, 0) + read(0, 1)) + (read(1, 0) + read(1, 1));
    if (rows == 2 && columns == 2)
      return Sum{} + (((read(0, 0) + read(0, 1)) + read(1, 0)) + read(1, 1));
    Sum sum{}, four{};
    if (columns % 4 == 0) {
      for (int row = 0; row < rows; ++row) {
        for (int x = 0; x < columns; x += 4)
          sum = sum + (((read(row, x) + read(row, x + 1)) + read(row, x + 2)) + read(row, x + 3));
      }
      return sum;
    }
    const int64_t count = static_cast<int64_t>(rows) * columns;
    const int64_t vec4_count = count / 4 * 4;  // OpenCV sums these in fours
    int row = 0, column = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Sum pixel = read(row, column);
      if (++column == columns) column = 0, ++row;
      four = i % 4 == 0 || i >= vec4_count ? pixel : four + pixel;
      if (i % 4 == 3 || i >= vec4_count) sum = sum + four;
    }
    return sum;
  }

  // From the sum of a block to its mean.
  struct Mean {
    float scale;
    bool rounds_quarters;  // for integers

    template <class Sum>
    ORBBEC_HD T operator()(Sum sum) const {
      return rounds_quarters ? quarter(sum) : scaled(sum);
    }
    template <class Sum>
    ORBBEC_HD T quarter(Sum sum) const {
      if constexpr (!std::is_integral_v<T>) return scaled(sum);
      if constexpr (std::is_integral_v<T>) return static_cast<T>((static_cast<int>(sum) + 2) >> 2);
    }
    template <class Sum>
    ORBBEC_HD T scaled(Sum sum) const {
      if constexpr (std::is_integral_v<Sum>) return store<T>(static_cast<float>(sum) * scale);
      if constexpr (!std::is_integral_v<Sum>) return store<T>(sum * scale);
    }
  };
  ORBBEC_HD Mean mean_of(const ResizePlan& plan) const {
    const int64_t count = static_cast<int64_t>(plan.block_x) * plan.block_y;
    const int64_t channels = output.channels;
    return {1.0f / static_cast<float>(count),
            std::is_integral_v<T> && is_half(plan) &&
                (channels == 1 || channels == 3 || channels == 4)};
  }

  ORBBEC_HD static bool is_half(const ResizePlan& plan) {
    return plan.block_x == 2 && plan.block_y == 2;
  }
};

// Nearest: copies the bits of pixels.
template <class T>
struct ResizeNearest {
  using Value = T;

  Images<const T> source;
  Images<T> output;
  ResizeCoefficients coefficients;
  const bool* flips;

  explicit ResizeNearest(const ResizeArguments& a)
      : source(a.source), output(a.output), coefficients(a.coefficients), flips(a.flips) {}

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const bool empty = coefficients.plans[coefficients.set_of(n)].form == ResizeForm::kEmpty;
    const Image<const T> from = source[n];
    const Image<T> to = output[n];
    const int row = coefficients.first[coefficients.entry(n, coefficients.width + y)];
    const int column = coefficients.first[coefficients.entry(n, x)];
    const int target = column_of(flips, n, x, output.width);
    for (int64_t c = 0; c < output.channels; ++c)
      to.at(y, target, c) = empty ? T(0) : from.at(row, column, c);
  }
};

template <class T, class Launch>
auto dispatch_resize_method(const ResizeArguments& a, const Launch& launch) {
  const ResizeMethod method = a.request.method;
  constexpr bool kIsByte = std::is_same_v<T, uint8_t>;
  if (is_pillow(method)) {
    if constexpr (kIsByte) return launch(Resize<T, PillowFixed>(a));
    if constexpr (!kIsByte) return launch(Resize<T, PillowFloat<T>>(a));
  }
  if (method == ResizeMethod::kArea) return launch(Resize<T, AreaTaps<T>>(a));
  if constexpr (kIsByte || std::is_same_v<T, uint16_t>) {
    if (method == ResizeMethod::kLinearExact) return launch(Resize<T, ExactLinear<T>>(a));
  }
  if constexpr (kIsByte) {
    if (method == ResizeMethod::kLinear) return launch(Resize<T, FixedLinear>(a));
    if (method == ResizeMethod::kCubic) return launch(Resize<T, FixedTaps<true>>(a));
    return launch(Resize<T, FixedTaps<false>>(a));
  } else {
    return launch(Resize<T, FloatTaps<T>>(a));
  }
}

// Calls `launch` with the functor for the dtype and the method.
template <class Launch>
auto dispatch_resize(const ResizeArguments& a, const Launch& launch) {
  return dispatch_any_dtype(a.dtype, [&](auto value) {
    using T = decltype(value);
    if (is_nearest(a.request.method)) return launch(ResizeNearest<WordOf<T>>(a));
    return dispatch_resize_method<T>(a, launch);
  });
}

}  // namespace orbbec
