// Integer sums of uint8 rows with vectors of `Simd`: a 32-bit lane has four taps of a value.
// Included by resize_avx2.cpp and resize_avx512.cpp, under their targets.
#pragma once

#include "rows_avx2.h"

namespace orbbec {
namespace {

template <class F>
constexpr bool kHasFloatBody = false;
template <>
inline constexpr bool kHasFloatBody<FixedTaps<true>> = true;

template <class Simd>
struct ByteRows {
  template <class F, class Op>
  class Rows;
};

// Interleaved pixels have four lanes each, columns of a plane one. Taps beyond the image add their
// weight to those at its edge.
template <class Simd>
template <class F, class Op>
class ByteRows<Simd>::Rows : public VectorRows<F, Op> {
  using Base = VectorRows<F, Op>;
  using Base::v;
  using Int = typename Simd::Int;
  using Float = typename Simd::Float;

 public:
  using typename Base::Row;
  using typename Base::SumTaps;
  static_assert(sizeof(Row) == 4);

  explicit Rows(const StripView<Op>& view) : Base(view) {
    if (!is_packed(v) && !is_plane(v)) return;
    lanes_ = is_packed(v) ? 4 : 1;
    for (int x = 0; x < v.to.width; ++x) quads_ = std::max(quads_, (v.taps_x(x).count + 3) / 4);
    const int columns = v.to.width + kBeyond;
    first_.resize(columns);
    weights_.resize(size_t{2} * quads_ * columns * lanes_);
    for (int x = 0; x < columns; ++x) set_column(x, v.taps_x(std::min(x, v.to.width - 1)));
    if (is_plane(v)) set_orders();
  }

  int64_t reach() const {
    return first_.empty() ? Base::reach() : int64_t{first_.back()} + quads_ * 4 * v.lanes + kLoad;
  }

  void horizontal(const uint8_t* row, int begin, int end, Row* sums) const {
    if (first_.empty()) return Base::horizontal(row, begin, end, sums);
    if (v.lanes == 3) return sum_pixels<3>(row, begin, end, sums);
    if (v.lanes == 4) return sum_pixels<4>(row, begin, end, sums);
    near_ ? sum_plane<true>(row, begin, end, sums) : sum_plane<false>(row, begin, end, sums);
  }

  void vertical(const SumTaps& taps, const Row* const* rows, int begin, int64_t count,
                uint8_t* values) const {
    const int64_t body = Base::body_of(begin, count);
    int64_t done = 0;
    if constexpr (kHasFloatBody<F>) {
      if (taps.count == 4) done = sum_floats_vertical(taps, rows, body, values);
    }
    Base::sum_vertical(taps, rows, done, body, count, values);
  }

 private:
  static constexpr int kLoad = 16;    // bytes
  static constexpr int kBeyond = 16;  // columns that vectors sum past the last one

  void set_column(int x, const SumTaps& taps) {
    const int last = v.plan.right - 1;
    const int first = std::max(std::min(taps.first, v.plan.right - taps.count), v.plan.left);
    first_[x] = first * v.lanes;
    for (int k = 0; k < taps.count; ++k) {
      const int tap = clamp_int(taps.first + k, v.plan.left, last) - first;
      for (int lane = 0; lane < lanes_; ++lane)
        weights_at(tap / 4, tap % 2)[2 * (x * lanes_ + lane) + tap % 4 / 2] +=
            static_cast<int16_t>(taps.weights[k]);
    }
  }

  // The weights of the even or odd two of four taps, lane by lane.
  int16_t* weights_at(int quad, int odd) {
    return reinterpret_cast<int16_t*>(weights_.data() + (2 * quad + odd) * first_.size() * lanes_);
  }

  // The bytes of each column of a plane in the 16 bytes from the first of four columns on, if they
  // hold them all.
  void set_orders() {
    orders_.resize(first_.size());
    for (size_t x = 0; x < first_.size(); ++x) {
      const int from = first_[x] - first_[x / 4 * 4];
      near_ = near_ && from + 4 <= kLoad;
      orders_[x] = 0x03020100 + from * 0x01010101;
    }
  }

  static Int load(const int* from) {
    Int numbers;
    memcpy(&numbers, from, sizeof(numbers));
    return numbers;
  }

  // The members that sums read, as a local copy, which stores cannot alias.
  struct Columns {
    const int *first, *weights, *orders;
    int64_t stride;  // of the weights
    int quads;
  };
  Columns columns() const {
    return {first_.data(), weights_.data(), orders_.data(),
            static_cast<int64_t>(first_.size()) * lanes_, quads_};
  }

  // The sums of a vector whose weights begin at lane `i`; read(quad) gives four taps.
  template <class Read>
  static Int sum_taps(const Columns& columns, int64_t i, const Read& read) {
    constexpr int kEven = 0x00ff00ff;
    const int* weights = columns.weights + i;
    Int sum{};
    for (int quad = 0; quad < columns.quads; ++quad, weights += 2 * columns.stride) {
      const Int taps = read(quad);
      sum = Simd::add_products(sum, taps & kEven, load(weights));
      sum = Simd::add_products(sum, taps >> 8 & kEven, load(weights + columns.stride));
    }
    return sum;
  }

  template <int kLanes>
  void sum_pixels(const uint8_t* row, int begin, int end, Row* sums) const {
    constexpr int kPixels = Simd::kLanes / 4;
    const Columns columns = this->columns();
    const Int lanes = Simd::lane_numbers();
    const Int order = lanes % 4 * 0x01010101 + kLanes * 0x03020100;
    const Int packed = kLanes == 3 ? lanes + lanes / 3 : lanes;
    const char* const bytes = reinterpret_cast<const char*>(row);
    for (int x = begin; x < end; x += kPixels, sums += kPixels * kLanes) {
      const Int sum = sum_taps(columns, int64_t{x} * 4, [&](int quad) {
        const char* const from = bytes + 4 * kLanes * quad;
        return Simd::shuffle_bytes((Int)Simd::load_16_bytes(from, columns.first + x), order);
      });
      const Int values = __builtin_shuffle(sum, packed);
      memcpy(sums, &values, sizeof(values));
    }
  }

  template <bool kNear>
  void sum_plane(const uint8_t* row, int begin, int end, Row* sums) const {
    const Columns columns = this->columns();
    const char* const bytes = reinterpret_cast<const char*>(row);
    for (int x = begin; x < end; x += Simd::kLanes, sums += Simd::kLanes) {
      const Int sum = sum_taps(columns, x, [&](int quad) {
        const char* const from = bytes + 4 * quad;
        if constexpr (!kNear) return Simd::load_4_bytes(from, columns.first + x);
        return Simd::shuffle_bytes((Int)Simd::load_16_bytes(from, columns.first + x, 4),
                                   load(columns.orders + x));
      });
      memcpy(sums, &sum, sizeof(sum));
    }
  }

  // Body values of cubic rows; returns where the body ends.
  static int64_t sum_floats_vertical(const SumTaps& taps, const Row* const* rows, int64_t body,
                                     uint8_t* values) {
    Float weights[4];
    for (int k = 0; k < 4; ++k) weights[k] = Simd::all_lanes(F::row_weight(taps.weights[k]));
    int64_t i = 0;
    for (; i + Simd::kLanes <= body; i += Simd::kLanes) {
      Float sum = Simd::to_float(load(rows[3] + i)) * weights[3];
#pragma GCC unroll 4
      for (int k = 2; k >= 0; --k) sum = Simd::to_float(load(rows[k] + i)) * weights[k] + sum;
      Int whole = Simd::round(sum);
      whole = whole < 0 ? Int{} : whole > 255 ? Int{} + 255 : whole;
      Simd::store_bytes_1(values + i, whole);
    }
    return i;
  }

  int lanes_ = 1, quads_ = 1;  // lanes of a column; fours of taps
  bool near_ = true;           // for a plane: whether `orders_` applies
  std::vector<int> first_;     // values before the first tap
  std::vector<int> weights_;   // [quads][even, odd][columns][lanes]
  std::vector<int> orders_;    // for a plane
};

// Strips [begin, end) of all images, of bytes.
template <class Simd, class Op>
void resize_byte_strips(const Op& op, int64_t begin, int64_t end) {
  using Form = typename Op::Form;
  if constexpr (std::is_same_v<Form, FixedLinear> || std::is_same_v<Form, AreaTaps<uint8_t>>) {
    resize_strips<Avx2Rows, Op>(op, begin, end);
  } else {
    resize_strips<ByteRows<Simd>::template Rows, Op>(op, begin, end);
  }
}

}  // namespace
}  // namespace orbbec
