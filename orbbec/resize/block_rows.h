// Vectorized means of blocks of pixels, one row of blocks at a time. Included by rows_vectors.h.
#pragma once

#include "strips.h"
#include "vec4.h"

namespace orbbec {
namespace {

// For all forms, which average blocks alike.
template <class T>
class BlockRows {
  using Op = Resize<T, AreaTaps<T>>;
  static constexpr bool kIsByte = std::is_same_v<T, uint8_t>;
  using Sum = std::conditional_t<kIsByte, int32_t, Compute<T>>;

 public:
  template <class Other>
  explicit BlockRows(const StripView<Other>& view) : op_(view.op), v_(op_, view.n, view.lanes) {
    if (!has_rows()) return;
    values_.reset(new T[int64_t{v_.to.width} * v_.lanes]);
    if (halves_bytes()) {
      means_.reset(new uint8_t[int64_t{v_.from.width} * v_.lanes]);
      return;
    }
    sums_.reset(new Sum[int64_t{v_.to.width} * v_.lanes + kBeyond]);
    if (kIsByte) columns_.reset(new Sum[int64_t{v_.from.width} * v_.lanes + kBeyond]);
  }

  void run(int y) {
    if (!has_rows()) return v_.write_row(y);
    for (v_.channel = 0; v_.channel < v_.op.output.channels; v_.channel += v_.lanes) {
      const T* const first =
          v_.source_row(v_.plan.top + y * v_.plan.block_y) + int64_t{v_.plan.left} * v_.lanes;
      if constexpr (kIsByte) {
        if (halves_bytes()) {
          if (v_.lanes == 1) halve<1>(first, y);
          if (v_.lanes == 3) halve<3>(first, y);
          if (v_.lanes == 4) halve<4>(first, y);
          continue;
        }
      }
      if (v_.lanes == 1) sum_plane(first);
      if (v_.lanes == 3) sum_pixels<3>(first);
      if (v_.lanes == 4) sum_pixels<4>(first);
      write(y);
    }
  }

 private:
  static constexpr int kBeyond = 4;               // values that a vector may read past the end
  static constexpr int64_t kMaxPixels = 1 << 23;  // whose sum of bytes fits 31 bits

  bool has_rows() const {
    return v_.plan.form == ResizeForm::kBlocks &&
           int64_t{v_.plan.block_x} * v_.plan.block_y <= kMaxPixels &&
           v_.from.stride_x == v_.lanes && (v_.lanes == 1 || v_.lanes == 3 || v_.lanes == 4);
  }

  // Bytes: vertical sums of all blocks first, because integer sums do not depend on their order.
  const Sum* sum_columns(const uint8_t* first) {
    const int64_t count = int64_t{v_.to.width} * v_.plan.block_x * v_.lanes;
    Sum* const columns = columns_.get();
    for (int64_t i = 0; i < count; ++i) columns[i] = first[i];
    for (int row = 1; row < v_.plan.block_y; ++row) {
      const uint8_t* const pixels = first + row * v_.from.stride_y;
      for (int64_t i = 0; i < count; ++i) columns[i] += pixels[i];
    }
    return columns;
  }

  template <int kLanes>
  void sum_pixels(const T* first) {
    const int columns = v_.plan.block_x;
    if constexpr (kIsByte) {
      const Sum* const sums = sum_columns(first);
      if (columns == 2) return sum_vec4s<kLanes>(sums, 1, 2, false);
      return sum_vec4s<kLanes>(sums, 1, columns, false);
    } else {
      if (v_.op.sums_pairs(v_.plan)) return sum_vec4s<kLanes>(first, 2, 2, true);
      if (v_.op.is_half(v_.plan)) return sum_vec4s<kLanes>(first, 2, 2, false);
      sum_vec4s<kLanes>(first, v_.plan.block_y, columns, false);
    }
  }

  // With three channels the last pixel is summed value by value, because a vector would read past
  // it.
  template <int kLanes, class Value>
  ORBBEC_HD void sum_vec4s(const Value* first, int rows, int columns, bool pairs) {
    const int64_t stride_y = v_.from.stride_y;
    Sum* sums = sums_.get();
    const int whole = v_.to.width - 1;
    for (int x = 0; x < whole; ++x, sums += kLanes) {
      const Value* const block = first + int64_t{x} * columns * kLanes;
      const auto sum = Op::template block_sum<Vec4<Sum>>(rows, columns, pairs, [&](int r, int c) {
        return load_vec4<Sum>(block + r * stride_y + c * kLanes);
      });
      memcpy(sums, &sum, sizeof(sum));
    }
    const Value* const block = first + int64_t{whole} * columns * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) {
      sums[lane] = Op::template block_sum<Sum>(rows, columns, pairs, [&](int r, int c) {
        return term(block[r * stride_y + c * kLanes + lane]);
      });
    }
  }

  void sum_plane(const T* first) {
    const int columns = v_.plan.block_x;
    if constexpr (kIsByte) {
      const Sum* const sums = sum_columns(first);
      if (columns == 2) return sum_neighbors<2>(sums);
      return sum_neighbors<0>(sums);
    }
    int body = 0;
    while (v_.op.sums_pairs(v_.plan) && body < v_.to.width && v_.op.in_body(v_.n, body, v_.channel))
      ++body;
    if (v_.op.is_half(v_.plan)) {
      sum_blocks(first, 0, body, 2, 2, true);
      sum_blocks(first, body, v_.to.width, 2, 2, false);
    } else {
      sum_blocks(first, 0, v_.to.width, v_.plan.block_y, columns, false);
    }
  }

  template <int kColumns>
  void sum_neighbors(const Sum* first) {
    const int columns = kColumns > 0 ? kColumns : v_.plan.block_x;
    Sum* const sums = sums_.get();
    for (int x = 0; x < v_.to.width; ++x) {
      Sum sum = 0;
      for (int k = 0; k < columns; ++k) sum += first[int64_t{x} * columns + k];
      sums[x] = sum;
    }
  }

  ORBBEC_HD void sum_blocks(const T* first, int begin, int end, int rows, int columns, bool pairs) {
    const int64_t stride_y = v_.from.stride_y;
    Sum* const sums = sums_.get();
    for (int x = begin; x < end; ++x) {
      const T* const block = first + int64_t{x} * columns;
      sums[x] = Op::template block_sum<Sum>(
          rows, columns, pairs, [&](int r, int c) { return term(block[r * stride_y + c]); });
    }
  }

  template <class Value>
  static Sum term(Value value) {
    if constexpr (std::is_same_v<Value, Sum>) return value;
    if constexpr (!std::is_same_v<Value, Sum>) return static_cast<Sum>(load<Value>(value));
  }

  // Whether OpenCV's halving applies, whose four bytes need no more than 16 bits.
  bool halves_bytes() const { return kIsByte && v_.op.mean_of(v_.plan).rounds_quarters; }

  // Interleaved pixels: means of all 2x2 blocks, of which every second one is a pixel. Without
  // gaps, the sums are vectorized.
  template <int kLanes>
  void halve(const uint8_t* above, int y) {
    const auto mean = v_.op.mean_of(v_.plan);
    const uint8_t* const below = above + v_.from.stride_y;
    const int64_t last = v_.to.width - 1;
    T* __restrict const values = values_of(y);
    if constexpr (kLanes == 1) {
      for (int64_t x = 0; x <= last; ++x)
        values[x] = mean.quarter(pair_sum(above + 2 * x) + pair_sum(below + 2 * x));
    } else {
      uint8_t* __restrict const means = means_.get();
      for (int64_t i = 0; i < (2 * last + 1) * kLanes; ++i)
        means[i] = mean.quarter(above[i] + above[i + kLanes] + below[i] + below[i + kLanes]);
#pragma GCC unroll 8
      for (int64_t x = 0; x < last; ++x) memcpy(values + kLanes * x, means + 2 * kLanes * x, 4);
      memcpy(values + kLanes * last, means + 2 * kLanes * last, kLanes);
    }
    scatter(values, y);
  }

  // The sum of two bytes, loaded as one number.
  static int pair_sum(const uint8_t* bytes) {
    uint16_t pair;
    memcpy(&pair, bytes, sizeof(pair));
    return (pair & 255) + (pair >> 8);
  }

  void write(int y) {
    const int64_t count = int64_t{v_.to.width} * v_.lanes;
    T* const values = values_of(y);
    const auto mean = v_.op.mean_of(v_.plan);
    const Sum* const sums = sums_.get();
    if (mean.rounds_quarters) {
      for (int64_t i = 0; i < count; ++i) values[i] = mean.quarter(sums[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) values[i] = mean.scaled(sums[i]);
    }
    scatter(values, y);
  }

  // The output row, or values to scatter to it.
  T* values_of(int y) const {
    return has_packed_rows(v_.to, v_.lanes) ? &v_.to.at(y, 0, v_.channel) : values_.get();
  }
  void scatter(const T* values, int y) const {
    for (int lane = 0; lane < v_.lanes && values == values_.get(); ++lane) {
      T* const to = &v_.to.at(y, 0, v_.channel + lane);
      for (int x = 0; x < v_.to.width; ++x) to[x * v_.to.stride_x] = values[x * v_.lanes + lane];
    }
  }

  const Op op_;
  StripView<Op> v_;
  std::unique_ptr<Sum[]> sums_, columns_;  // of blocks; of the columns of a row of blocks
  std::unique_ptr<T[]> values_;
  std::unique_ptr<uint8_t[]> means_;
};

// Output rows [begin, end) of an image without taps.
template <class Op>
void block_rows(const StripView<Op>& view, int begin, int end) {
  BlockRows<typename Op::Value> rows(view);
  for (int y = begin; y < end; ++y) rows.run(y);
}

}  // namespace
}  // namespace orbbec
