// Runs the two passes of a resize on CPU threads. A task is a strip of output rows of one image:
// each source row it needs is summed horizontally once, into a ring of rows that stays in cache,
// and rows of the ring are summed vertically. Included by resize_cpu.cpp, and by resize_avx2.cpp
// and resize_vbmi.cpp, which sum with vectors.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "../executors/executor_cpu.h"
#include "../executors/simd/packed_bytes.h"
#include "resize.h"

namespace orbbec {

constexpr int64_t kRingBytes = 512 * 1024;  // of an L2 cache
constexpr int kRowsPerStrip = 32;           // so that few source rows belong to two strips

template <class T>
ORBBEC_HD T round_up(T value, T multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

inline int64_t strips_of(int height) {
  return (static_cast<int64_t>(height) + kRowsPerStrip - 1) / kRowsPerStrip;
}

// The pixels of a strip: one plane, or interleaved channels.
template <class Op>
struct StripView {
  using T = typename Op::Value;
  using Weight = typename Op::Form::Weight;

  const Op& op;
  int64_t n;
  int64_t channel = 0;  // the first
  int lanes;            // channels summed together
  ResizePlan plan;
  Image<const T> from;
  Image<T> to;

  StripView(const Op& op, int64_t n, int lanes)
      : op(op),
        n(n),
        lanes(lanes),
        plan(op.coefficients.plans[op.coefficients.set_of(n)]),
        from(op.source[n]),
        to(op.output[n]) {}

  Taps<Weight> taps_x(int x) const { return taps_at<Weight>(op.coefficients, n, x); }
  Taps<Weight> taps_y(int y) const {
    return taps_at<Weight>(op.coefficients, n, op.coefficients.width + y);
  }
  const T* source_row(int row) const {
    return from.data + row * from.stride_y + channel * from.stride_c;
  }

  // Output row y of an image without taps, pixel by pixel.
  void write_row(int y) const {
    for (int x = 0; x < to.width; ++x) {
      for (int64_t c = 0; c < op.output.channels; ++c)
        to.at(y, x, c) = op.block_or_zero(plan, from, n, y, x, c);
    }
  }
};

// Scalar sums of a strip. The view's channel may change between rows.
template <class F, class Op>
class ScalarRows {
 public:
  using T = typename Op::Value;
  using Row = typename F::Row;
  using SumTaps = Taps<typename Op::Weight>;

  explicit ScalarRows(const StripView<Op>& view) : v(view) {}

  // Output rows [begin, end) of an image without taps.
  static void blocks(const StripView<Op>& view, int begin, int end) {
    for (int y = begin; y < end; ++y) view.write_row(y);
  }

  // How many pixels, with their neighbors, must be readable from the beginning of a row.
  int64_t reach() const { return 0; }

  // Output columns [begin, end) of a row of pixels.
  void horizontal(const T* row, int begin, int end, Row* sums) const {
    for (int x = begin; x < end; ++x) {
      const SumTaps taps = v.taps_x(x);
      const bool inside = taps.first >= v.plan.left && taps.first + taps.count <= v.plan.right;
      for (int lane = 0; lane < v.lanes; ++lane) {
        const T* const pixel = row + lane * v.from.stride_c;
        if (inside) {
          const T* const first = pixel + taps.first * v.from.stride_x;
          *sums++ =
              F::horizontal(taps, true, [&](int k) { return term(first[k * v.from.stride_x]); });
          continue;
        }
        *sums++ = F::horizontal(taps, false, [&](int k) {
          const int column = clamp_int(taps.first + k, v.plan.left, v.plan.right - 1);
          return term(pixel[column * v.from.stride_x]);
        });
      }
    }
  }

  // `count` values of rows, starting at output column `begin`.
  void vertical(const SumTaps& taps, const Row* const* rows, int begin, int64_t count,
                T* values) const {
    const bool all_channels = v.lanes == v.op.output.channels;
    for (int64_t i = 0; i < count; ++i) {
      const bool body =
          all_channels ? v.op.in_body(v.n, begin, i) : v.op.in_body(v.n, begin + i, v.channel);
      values[i] = F::vertical(taps, body, [&](int k) { return load_term(rows[k][i]); });
    }
  }

  // Writes packed pixels to the layout of the output.
  void spread(const T* values, int width, const Image<T>& to, int y, int x) const {
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (v.lanes == 3 && to.stride_x == 1) {
        T* const first = &to.at(y, x, v.channel);
        return split_bytes(values, first, first + to.stride_c, first + 2 * to.stride_c, width);
      }
    }
    for (int lane = 0; lane < v.lanes; ++lane) {
      T* const first = &to.at(y, x, v.channel + lane);
      for (int i = 0; i < width; ++i) first[i * to.stride_x] = values[i * v.lanes + lane];
    }
  }

 protected:
  static auto term(T value) { return static_cast<typename F::Term>(load<T>(value)); }

  const StripView<Op>& v;
};

template <template <class, class> class Rows, class F, class Op>
class Strip {
  using T = typename Op::Value;
  using Row = typename F::Row;

 public:
  explicit Strip(const StripView<Op>& view) : v_(view), sums_(v_), depth_(deepest()) {
    const int64_t row_bytes = int64_t{depth_} * v_.lanes * static_cast<int64_t>(sizeof(Row));
    const int64_t fitting = std::max<int64_t>(kRingBytes / row_bytes / kGroup, 1) * kGroup;
    columns_ = static_cast<int>(std::min<int64_t>(v_.to.width, fitting));
    stride_ = static_cast<int64_t>(columns_) * v_.lanes + kPadding;
    ring_.reset(new Row[depth_ * stride_]);
    values_.reset(new T[static_cast<int64_t>(columns_) * v_.lanes + kPadding]);
    slot_rows_.resize(depth_);
    rows_.resize(depth_);
  }

  // Output rows [begin, end) of all channels.
  void run(int begin, int end) {
    for (v_.channel = 0; v_.channel < v_.op.output.channels; v_.channel += v_.lanes) {
      for (int x = 0; x < v_.to.width; x += columns_) {
        const int width = std::min(columns_, v_.to.width - x);
        std::fill(slot_rows_.begin(), slot_rows_.end(), -1);
        for (int y = begin; y < end; ++y) run_row(y, x, width);
      }
    }
  }

 private:
  static constexpr int kPadding = 32;  // vectors store past the end
  static constexpr int kGroup = 8;     // columns that vectors sum together

  // A power of two.
  int deepest() const {
    int deepest = 1;
    for (int y = 0; y < v_.to.height; ++y) {
      while (deepest < v_.taps_y(y).count) deepest *= 2;
    }
    return deepest;
  }

  // Whether vectors read nothing past the image.
  bool is_readable(int row) const {
    const int64_t length = static_cast<int64_t>(v_.from.width) * v_.lanes;
    const int64_t below = v_.from.height - 1 - row;
    return below * v_.from.stride_y + length >= sums_.reach();
  }

  // A source row, copied if vectors would read past the image.
  const T* readable(int row) {
    const T* const pixels = v_.source_row(row);
    if (is_readable(row)) return pixels;
    const int64_t length = static_cast<int64_t>(v_.from.width) * v_.lanes;
    copy_.resize(std::max(sums_.reach(), length));
    std::copy_n(pixels, length, copy_.begin());
    return copy_.data();
  }

  // Rows `row` and `row + 1` together, if neither is in the ring.
  void sum_pair(int row, int begin, int end) {
    const int slot = row & (depth_ - 1), next = (row + 1) & (depth_ - 1);
    if (row < v_.plan.top || row + 1 >= v_.plan.bottom || depth_ < 2) return;
    if (slot_rows_[slot] == row || slot_rows_[next] == row + 1 || !is_readable(row + 1)) return;
    sums_.horizontal_pair(v_.source_row(row), v_.source_row(row + 1), begin, end,
                          ring_.get() + slot * stride_, ring_.get() + next * stride_);
    slot_rows_[slot] = row;
    slot_rows_[next] = row + 1;
  }

  void run_row(int y, int x, int width) {
    const auto taps = v_.taps_y(y);
    const int64_t length = static_cast<int64_t>(width) * v_.lanes;
    if constexpr (requires { sums_.takes_pairs(); }) {
      if (sums_.takes_pairs()) sum_pair(taps.first, x, x + width);
    }
    for (int k = 0; k < taps.count; ++k) {
      const int row = clamp_int(taps.first + k, v_.plan.top, v_.plan.bottom - 1);
      const int slot = row & (depth_ - 1);
      Row* const sums = ring_.get() + slot * stride_;
      if (slot_rows_[slot] != row) {
        sums_.horizontal(readable(row), x, x + width, sums);
        slot_rows_[slot] = row;
      }
      rows_[k] = sums;
    }
    T* const target = &v_.to.at(y, x, v_.channel);
    const bool packed = v_.to.stride_x == v_.lanes && (v_.lanes == 1 || v_.to.stride_c == 1);
    T* const values = packed ? target : values_.get();
    sums_.vertical(taps, rows_.data(), x, length, values);
    if (!packed) sums_.spread(values, width, v_.to, y, x);
  }

  StripView<Op> v_;
  const Rows<F, Op> sums_;
  const int depth_;  // rows in the ring
  int columns_;      // of a row of the ring
  int64_t stride_;   // from row to row of the ring
  std::unique_ptr<Row[]> ring_;
  std::unique_ptr<T[]> values_;
  std::vector<T> copy_;
  std::vector<int> slot_rows_;  // the source row in each slot of the ring
  std::vector<const Row*> rows_;
};

// Pillow's vertical-first order: source columns are summed vertically, into one row.
template <class F, class Op>
void run_vertical_first(StripView<Op> v, int begin, int end) {
  using T = typename Op::Value;
  using Row = typename F::Row;
  using Term = typename F::Term;
  const int64_t width = v.from.width;
  std::unique_ptr<Row[]> sums(new Row[width * v.lanes]);
  const auto run_row = [&](int y) {
    const auto taps_y = v.taps_y(y);
    for (int64_t i = 0; i < width * v.lanes; ++i) {
      const T* const column = v.source_row(taps_y.first) + i / v.lanes * v.from.stride_x +
                              i % v.lanes * v.from.stride_c;
      sums[i] = F::horizontal(taps_y, false, [&](int k) {
        return static_cast<Term>(load<T>(column[k * v.from.stride_y]));
      });
    }
    for (int x = 0; x < v.to.width; ++x) {
      const auto taps_x = v.taps_x(x);
      for (int lane = 0; lane < v.lanes; ++lane) {
        const Row* const row = sums.get() + static_cast<int64_t>(taps_x.first) * v.lanes + lane;
        v.to.at(y, x, v.channel + lane) = F::vertical(taps_x, false, [&](int k) {
          return load_term(row[static_cast<int64_t>(k) * v.lanes]);
        });
      }
    }
  };
  for (; v.channel < v.op.output.channels; v.channel += v.lanes) {
    for (int y = begin; y < end; ++y) run_row(y);
  }
}

// Rows [begin, end) of all channels of image n.
template <template <class, class> class Rows, class Op>
void resize_strip(const Op& op, int64_t n, int begin, int end) {
  using T = typename Op::Value;
  using Form = typename Op::Form;
  const ResizeForm form = op.coefficients.plans[op.coefficients.set_of(n)].form;
  const int64_t channels = op.output.channels;
  const bool packed = op.source[n].stride_c == 1 && channels <= 16;
  const StripView<Op> view(op, n, packed ? static_cast<int>(channels) : 1);
  if (form == ResizeForm::kEmpty || form == ResizeForm::kBlocks)
    return Rows<Form, Op>::blocks(view, begin, end);
  if constexpr (kIsPillow<Form>) {
    if (view.plan.vertical_first) return run_vertical_first<Form>(view, begin, end);
  }
  if constexpr (std::is_same_v<Form, AreaTaps<T>>) {
    using Growing = GrowingArea<T>;  // with weights of one type, the code of linear
    constexpr bool kIsAlike = std::is_same_v<typename Growing::Weight, typename Form::Weight>;
    using Linear = std::conditional_t<kIsAlike, Resize<T, Growing>, Op>;
    if (form == ResizeForm::kUp)
      return Strip<Rows, Growing, Linear>({Linear(op), n, view.lanes}).run(begin, end);
  }
  Strip<Rows, Form, Op>(view).run(begin, end);
}

// Calls body(n, begin, end) with output rows, for the strips [begin, end) of all images.
template <class Op, class Body>
void for_each_strip(const Op& op, int64_t begin, int64_t end, const Body& body) {
  const int height = op.output.height;
  const int64_t strips = strips_of(height);
  while (begin < end) {  // merges neighboring strips of one image
    const int64_t n = begin / strips, last = std::min(end, (n + 1) * strips);
    const int64_t first_row = (begin - n * strips) * kRowsPerStrip;
    const int64_t end_row = std::min<int64_t>((last - n * strips) * kRowsPerStrip, height);
    body(n, static_cast<int>(first_row), static_cast<int>(end_row));
    begin = last;
  }
}

template <template <class, class> class Rows, class Op>
void resize_strips(const Op& op, int64_t begin, int64_t end) {
  for_each_strip(op, begin, end,
                 [&](int64_t n, int first, int last) { resize_strip<Rows>(op, n, first, last); });
}

// The taps of a strip, reused by strips of images with the same coefficients.
template <class Horizontal, class Vertical>
class StripTaps {
 public:
  explicit StripTaps(const ResizeCoefficients& coefficients) : coefficients_(coefficients) {}

  const Horizontal& horizontal() const { return *horizontal_; }
  const Vertical& vertical() const { return *vertical_; }

  // For rows [begin, end) of image n; `more`: further arguments of Horizontal.
  template <class... More>
  void set(int64_t n, int begin, int end, const More&... more) {
    const int64_t set = coefficients_.set_of(n);
    if (set != set_) horizontal_.emplace(coefficients_, n, more...);
    if (set != set_ || begin != begin_ || end != end_)
      vertical_.emplace(coefficients_, n, begin, end);
    set_ = set;
    begin_ = begin;
    end_ = end;
  }

 private:
  const ResizeCoefficients coefficients_;
  int64_t set_ = -1;
  int begin_ = 0, end_ = 0;
  std::optional<Horizontal> horizontal_;
  std::optional<Vertical> vertical_;
};

// A plane of an image, or some of its channels.
template <class T>
Image<T> from_channel(const Image<T>& image, int64_t channel) {
  Image<T> plane = image;
  plane.data += channel * image.stride_c;
  return plane;
}

template <class T>
Image<T> rows_of(const Image<T>& image, int begin, int end) {
  Image<T> rows = image;
  rows.data += begin * image.stride_y;
  rows.height = end - begin;
  return rows;
}

template <class T>
bool has_packed_rows(const Image<T>& image, int64_t lanes) {
  return image.stride_x == lanes && (lanes == 1 || image.stride_c == 1);
}

template <class Op>
using ResizeStrips = void (*)(const Op& op, int64_t begin, int64_t end);

template <class Op>
void resize_strips_avx2(const Op& op, int64_t begin, int64_t end);
template <class Op>
void resize_strips_avx512(const Op& op, int64_t begin, int64_t end);
void resize_pillow_strips_avx2(const Resize<uint8_t, PillowFixed>& op, int64_t begin, int64_t end);
void resize_pillow_strips_vbmi(const Resize<uint8_t, PillowFixed>& op, int64_t begin, int64_t end);

}  // namespace orbbec
