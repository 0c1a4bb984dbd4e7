// resize: the arithmetic of each method, one source row's sums and the sums of these down a column.
// Included by resize_cpu.cpp, resize_cuda.cu and binding.cpp.
#pragma once

#include "tables.h"

namespace orbbec {

// A call whose pixel type and method are known at run time only.
struct ResizeArguments {
  AnyImages source, output;
  DType dtype;
  ResizeRequest request;
  ResizeTables tables;
};

// Each form has the Weight of its tables, the Row that a source row is summed to, and the sums:
// `read(k)` is the pixel, or the row, of tap k. `body`: OpenCV's vectors round here, not its tail.

// The sum of products with 11-bit weights.
template <class W, class Read>
ORBBEC_HD int fixed_sum(const Taps<W>& taps, const Read& read) {
  int sum = 0;
  for (int k = 0; k < taps.count; ++k)
    sum += static_cast<int>(read(k)) * static_cast<int>(taps.weights[k]);
  return sum;
}

// 11-bit weights; a row's sums lose 4 bits.
struct FixedLinear {
  using Weight = int32_t;
  using Row = int16_t;

  template <class W, class Read>
  ORBBEC_HD static Row across(const Taps<W>& taps, bool, const Read& read) {
    return static_cast<Row>(fixed_sum(taps, read) >> 4);
  }
  template <class W, class Read>
  ORBBEC_HD static uint8_t down(const Taps<W>& taps, bool, const Read& read) {
    int sum = 2;
    for (int k = 0; k < taps.count; ++k)
      sum += (static_cast<int>(taps.weights[k]) * static_cast<int>(read(k))) >> 16;
    return static_cast<uint8_t>(sum >> 2);
  }
};

// 8-bit weights for uint8, 16-bit ones for uint16; nothing is rounded before the end.
template <class T>
struct ExactLinear {
  static constexpr int kBits = 8 * sizeof(T);
  using Weight = int32_t;
  using Row = uint32_t;
  using Sum = std::conditional_t<sizeof(T) == 1, uint32_t, uint64_t>;

  template <class Read>
  ORBBEC_HD static Row across(const Taps<Weight>& taps, bool, const Read& read) {
    Row sum = 0;
    for (int k = 0; k < taps.count; ++k)
      sum += static_cast<Row>(read(k)) * static_cast<Row>(taps.weights[k]);
    return sum;
  }
  template <class Read>
  ORBBEC_HD static T down(const Taps<Weight>& taps, bool, const Read& read) {
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
  using Row = int32_t;

  template <class Read>
  ORBBEC_HD static Row across(const Taps<Weight>& taps, bool, const Read& read) {
    return fixed_sum(taps, read);
  }
  template <class Read>
  ORBBEC_HD static uint8_t down(const Taps<Weight>& taps, bool body, const Read& read) {
    if constexpr (kBodyIsFloat) {
      if (body && taps.count > 1) {
        constexpr float kUnit = 1.0f / (2048 * 2048);
        float sum = static_cast<float>(read(taps.count - 1)) *
                    (static_cast<float>(taps.weights[taps.count - 1]) * kUnit);
        for (int k = taps.count - 2; k >= 0; --k)
          sum = static_cast<float>(read(k)) * (static_cast<float>(taps.weights[k]) * kUnit) + sum;
        return store<uint8_t>(sum);
      }
    }
    int sum = 1 << 21;
    for (int k = 0; k < taps.count; ++k) sum += read(k) * taps.weights[k];
    return static_cast<uint8_t>(clamp_int(sum >> 22, 0, 255));
  }
};

// Linear, cubic and lanczos4 of all but uint8. The body of a row is summed from the last tap.
template <class T>
struct FloatTaps {
  using Weight = float;
  using Row = Compute<T>;

  template <class Read>
  ORBBEC_HD static Row across(const Taps<float>& taps, bool inside, const Read& read) {
    const Row first = read(0) * taps.weights[0];
    Row sum = inside || taps.count <= 2 ? first : Row(0) + first;
    for (int k = 1; k < taps.count; ++k) sum = sum + read(k) * taps.weights[k];
    return sum;
  }
  template <class Read>
  ORBBEC_HD static T down(const Taps<float>& taps, bool body, const Read& read) {
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

// Area that shrinks by any factor.
template <class T>
struct AreaTaps {
  using Weight = float;
  using Row = Compute<T>;

  template <class Read>
  ORBBEC_HD static Row across(const Taps<float>& taps, bool, const Read& read) {
    Row sum = 0;
    for (int k = 0; k < taps.count; ++k) sum = sum + static_cast<Row>(read(k)) * taps.weights[k];
    return sum;
  }
  template <class Read>
  ORBBEC_HD static T down(const Taps<float>& taps, bool, const Read& read) {
    Row sum = taps.weights[0] * read(0);
    for (int k = 1; k < taps.count; ++k) sum = sum + taps.weights[k] * read(k);
    return store<T>(sum);
  }
};

// Pillow's: both passes round to the pixel type and are alike, so that they may change places.
struct PillowFixed {
  using Weight = int32_t;
  using Row = uint8_t;

  template <class Read>
  ORBBEC_HD static Row across(const Taps<Weight>& taps, bool, const Read& read) {
    int sum = 1 << 21;
    for (int k = 0; k < taps.count; ++k) sum += static_cast<int>(read(k)) * taps.weights[k];
    return static_cast<Row>(clamp_int(sum >> 22, 0, 255));
  }
  template <class Read>
  ORBBEC_HD static uint8_t down(const Taps<Weight>& taps, bool, const Read& read) {
    return across(taps, false, read);
  }
};

template <class T>
struct PillowFloat {
  using Weight = double;
  using Row = std::conditional_t<std::is_same_v<T, uint16_t>, uint16_t, Compute<T>>;

  template <class Read>
  ORBBEC_HD static Row across(const Taps<Weight>& taps, bool, const Read& read) {
    double sum = 0;
    for (int k = 0; k < taps.count; ++k) sum += static_cast<double>(read(k)) * taps.weights[k];
    if constexpr (std::is_same_v<T, uint16_t>) {
      const double rounded = floor(sum + 0.5);  // halves away from 0, as Pillow's 16-bit images
      return static_cast<uint16_t>(rounded < 0 ? 0 : rounded > 65535 ? 65535 : rounded);
    } else {
      return static_cast<Row>(sum);
    }
  }
  template <class Read>
  ORBBEC_HD static T down(const Taps<Weight>& taps, bool, const Read& read) {
    if constexpr (std::is_same_v<T, Row>) return across(taps, false, read);
    if constexpr (!std::is_same_v<T, Row>) return store<T>(across(taps, false, read));
  }
};

template <class Form>
constexpr bool kIsPillow = false;
template <>
inline constexpr bool kIsPillow<PillowFixed> = true;
template <class T>
constexpr bool kIsPillow<PillowFloat<T>> = true;

// Two taps an axis, for images of an area batch that grow.
template <class T>
using GrowingArea = std::conditional_t<std::is_same_v<T, uint8_t>, FixedLinear, FloatTaps<T>>;

// What a pass reads: a pixel or a sum, in the type it is computed in.
template <class Value>
ORBBEC_HD auto load_term(Value value) {
  if constexpr (std::is_integral_v<Value> && sizeof(Value) > 2) {
    return value;
  } else {
    return load<Value>(value);
  }
}

// A pixel whole, for every executor.
template <class T, class Form_>
struct Resize {
  using Value = T;
  using Form = Form_;
  using Weight = typename Form::Weight;

  Images<const T> source;
  Images<T> output;
  ResizeTables tables;

  explicit Resize(const ResizeArguments& a)
      : source(a.source), output(a.output), tables(a.tables) {}

  // Whether OpenCV computes a value of an output row on vectors: 8 integers, 4 floats at a time.
  ORBBEC_HD bool in_body(int64_t x, int64_t c) const {
    if constexpr (std::is_same_v<T, double>) return false;
    constexpr int kGroup = std::is_integral_v<T> ? 8 : 4;
    return x * output.channels + c < output.width * output.channels / kGroup * kGroup;
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const ResizePlan plan = tables.plans[tables.table(n)];
    const Image<const T> from = source[n];
    const Image<T> to = output[n];
    for (int64_t c = 0; c < output.channels; ++c) to.at(y, x, c) = value(plan, from, n, y, x, c);
  }

  ORBBEC_HD T value(const ResizePlan& plan, const Image<const T>& from, int64_t n, int y, int x,
                    int64_t c) const {
    if (plan.form == ResizeForm::kEmpty) return store<T>(0.0f);
    if (plan.form == ResizeForm::kBlocks) return block(plan, from, y, x, c);
    if constexpr (std::is_same_v<Form, AreaTaps<T>>) {
      if (plan.form == ResizeForm::kUp) return sampled<GrowingArea<T>>(plan, from, n, y, x, c);
    }
    return sampled<Form>(plan, from, n, y, x, c);
  }

  template <class F>
  ORBBEC_HD T sampled(const ResizePlan& plan, const Image<const T>& from, int64_t n, int y, int x,
                      int64_t c) const {
    const Taps<Weight> taps_x = taps_at<Weight>(tables, n, x);
    const Taps<Weight> taps_y = taps_at<Weight>(tables, n, tables.width + y);
    const auto pixel = [&](int ky, int kx) {
      const int row = clamp_int(taps_y.first + ky, plan.top, plan.bottom - 1);
      const int column = clamp_int(taps_x.first + kx, plan.left, plan.right - 1);
      return load<T>(from.at(row, column, c));
    };
    if constexpr (kIsPillow<F>) {
      if (plan.rows_last) {
        return F::down(taps_x, false, [&](int kx) {
          return F::across(taps_y, false, [&](int ky) { return pixel(ky, kx); });
        });
      }
    }
    const bool inside = taps_x.first >= plan.left && taps_x.first + taps_x.count <= plan.right;
    return F::down(taps_y, in_body(x, c), [&](int ky) {
      return F::across(taps_x, inside, [&](int kx) { return pixel(ky, kx); });
    });
  }

  // The mean of a block of source pixels.
  ORBBEC_HD T block(const ResizePlan& plan, const Image<const T>& from, int y, int x,
                    int64_t c) const {
    const int64_t count = static_cast<int64_t>(plan.block_x) * plan.block_y;
    const int64_t channels = output.channels;
    const bool halves = plan.block_x == 2 && plan.block_y == 2;
    const float scale = 1.0f / static_cast<float>(count);
    int row = 0, column = 0;
    const auto next = [&] {  // the block's pixels, row by row
      const auto pixel = load<T>(
          from.at(plan.top + y * plan.block_y + row, plan.left + x * plan.block_x + column, c));
      if (++column == plan.block_x) column = 0, ++row;
      return pixel;
    };
    if constexpr (std::is_integral_v<T>) {
      if (halves && (channels == 1 || channels == 3 || channels == 4)) {
        int sum = 2;
        for (int k = 0; k < 4; ++k) sum += static_cast<int>(next());
        return static_cast<T>(sum >> 2);
      }
    }
    if constexpr (std::is_same_v<T, uint8_t>) {
      int64_t sum = 0;
      for (int64_t k = 0; k < count; ++k) sum += static_cast<int>(next());
      return store<T>(static_cast<float>(sum) * scale);
    } else {
      const bool pairs = halves && (channels == 1 || channels == 4) && in_body(x, c);
      Compute<T> sum = 0;
      int64_t left = count;
      for (; left >= 4; left -= 4) {
        const Compute<T> p0 = next(), p1 = next(), p2 = next(), p3 = next();
        if (pairs) return store<T>(((p0 + p1) + (p2 + p3)) * 0.25f);
        sum = sum + (((p0 + p1) + p2) + p3);
      }
      for (; left > 0; --left) sum = sum + next();
      return store<T>(sum * scale);
    }
  }
};

// Nearest: pixels are moved, as bits.
template <class T>
struct ResizeNearest {
  using Value = T;

  Images<const T> source;
  Images<T> output;
  ResizeTables tables;

  explicit ResizeNearest(const ResizeArguments& a)
      : source(a.source), output(a.output), tables(a.tables) {}

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const bool empty = tables.plans[tables.table(n)].form == ResizeForm::kEmpty;
    const Image<const T> from = source[n];
    const Image<T> to = output[n];
    const int row = tables.first[tables.entry(n, tables.width + y)];
    const int column = tables.first[tables.entry(n, x)];
    for (int64_t c = 0; c < output.channels; ++c)
      to.at(y, x, c) = empty ? T(0) : from.at(row, column, c);
  }
};

// The type of a method's weights; calls `use` with a value of it.
template <class Use>
int dispatch_weight(ResizeMethod method, DType dtype, const Use& use) {
  const bool is_byte = dtype == DType::kUInt8;
  if (is_pillow(method)) return is_byte ? use(int32_t{}) : use(double{});
  const bool exact = method == ResizeMethod::kLinearExact;
  if (exact && (is_byte || dtype == DType::kUInt16)) return use(int32_t{});
  if (is_byte && method != ResizeMethod::kArea) return use(int32_t{});
  return use(float{});
}

template <class T, class Launch>
int dispatch_resize_method(const ResizeArguments& a, const Launch& launch) {
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

// Calls `launch` with the functor that fits the pixels and the method.
template <class Launch>
int dispatch_resize(const ResizeArguments& a, const Launch& launch) {
  const bool nearest = is_nearest(a.request.method);
  switch (a.dtype) {
    case DType::kUInt8:
      if (nearest) return launch(ResizeNearest<uint8_t>(a));
      return dispatch_resize_method<uint8_t>(a, launch);
    case DType::kUInt16:
      if (nearest) return launch(ResizeNearest<uint16_t>(a));
      return dispatch_resize_method<uint16_t>(a, launch);
    case DType::kFloat16:
      if (nearest) return launch(ResizeNearest<uint16_t>(a));
      return dispatch_resize_method<Half>(a, launch);
    case DType::kBFloat16:
      if (nearest) return launch(ResizeNearest<uint16_t>(a));
      return dispatch_resize_method<BFloat16>(a, launch);
    case DType::kFloat32:
      if (nearest) return launch(ResizeNearest<uint32_t>(a));
      return dispatch_resize_method<float>(a, launch);
    default:
      if (nearest) return launch(ResizeNearest<uint64_t>(a));
      return dispatch_resize_method<double>(a, launch);
  }
}

}  // namespace orbbec
