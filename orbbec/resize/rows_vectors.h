// Sums of rows of every form with vectors of four numbers: the channels of a pixel in the
// horizontal pass, columns in the vertical one. Included by resize_avx2.cpp, under its target.
#pragma once

#include "block_rows.h"

namespace orbbec {
namespace {

// Whether the number of taps differs between columns or rows.
template <class Form>
constexpr bool kHasManyTaps = false;
template <class T>
constexpr bool kHasManyTaps<AreaTaps<T>> = true;
template <class T>
constexpr bool kHasManyTaps<PillowFloat<T>> = true;

// Three or four interleaved channels.
template <class Op>
bool is_packed(const StripView<Op>& v) {
  return (v.lanes == 3 || v.lanes == 4) && v.from.stride_c == 1 && v.from.stride_x == v.lanes;
}

template <class Op>
bool is_plane(const StripView<Op>& v) {
  return v.lanes == 1 && v.from.stride_x == 1;
}

// The taps of the columns of one image, as stored in the coefficients.
template <class Weight>
struct AxisTaps {
  const int *first, *count;
  const Weight* weights;
  int64_t capacity;

  AxisTaps(const ResizeCoefficients& coefficients, int64_t n)
      : first(coefficients.first + coefficients.entry(n, 0)),
        count(coefficients.count + coefficients.entry(n, 0)),
        weights(static_cast<const Weight*>(coefficients.weights) + coefficients.weight(n, 0)),
        capacity(coefficients.taps_x) {}

  template <int kTaps>
  Taps<Weight> at(int x) const {
    return {first[x], kTaps > 0 ? kTaps : count[x], weights + x * capacity};
  }
};

template <class F, class Op>
class VectorRows : public ScalarRows<F, Op> {
  using Base = ScalarRows<F, Op>;
  using Term = typename F::Term;

 public:
  using typename Base::Row;
  using typename Base::SumTaps;
  using typename Base::T;

  explicit VectorRows(const StripView<Op>& view) : Base(view), axis_(view.op.coefficients, view.n) {
    taps_ = 1;
    for (int x = 0; x < v.to.width; ++x) taps_ = std::max(taps_, v.taps_x(x).count);
    const auto is_whole = [&](int x) {
      const auto taps = v.taps_x(x);
      return taps.first >= v.plan.left && taps.first + taps.count <= v.plan.right &&
             (kHasManyTaps<F> || taps.count == taps_);
    };
    begin_ = 0;
    end_ = v.to.width;
    while (begin_ < end_ && !is_whole(begin_)) ++begin_;
    while (begin_ < end_ && !is_whole(end_ - 1)) --end_;
  }

  static void blocks(const StripView<Op>& view, int begin, int end) {
    block_rows(view, begin, end);
  }

  int64_t reach() const {
    if (!is_packed(v) || begin_ == end_) return 0;
    const auto last = v.taps_x(end_ - 1);
    return (int64_t{last.first} + last.count) * v.lanes + 4;
  }

  void horizontal(const T* row, int begin, int end, Row* sums) const {
    horizontal_in(row, begin, end, sums,
                  [&](int first, int last, Row* to) { whole_columns(row, first, last, to); });
  }

  void vertical(const SumTaps& taps, const Row* const* rows, int begin, int64_t count,
                T* values) const {
    sum_vertical(taps, rows, 0, body_of(begin, count), count, values);
  }

 protected:
  using Base::v;

  // Calls whole(begin, end, sums) for the columns that read inside the image, and sums the others
  // one by one.
  template <class Whole>
  void horizontal_in(const T* row, int begin, int end, Row* sums, const Whole& whole) const {
    const int first = std::clamp(begin_, begin, end), last = std::clamp(end_, first, end);
    Base::horizontal(row, begin, first, sums);
    whole(first, last, sums + int64_t{first - begin} * v.lanes);
    Base::horizontal(row, last, end, sums + int64_t{last - begin} * v.lanes);
  }

  // How many of `count` values of a row, starting at output column `begin`, are in its body.
  int64_t body_of(int begin, int64_t count) const {
    const int64_t channels = v.op.output.channels;
    const int64_t left = v.op.in_bodies(v.n) - begin * channels - v.channel;
    const int64_t per_value = v.lanes == channels ? 1 : channels;
    return std::clamp<int64_t>((left + per_value - 1) / per_value, 0, count);
  }

  // Sums the values from `begin` on that are before `body`.
  void sum_vertical(const SumTaps& taps, const Row* const* rows, int64_t begin, int64_t body,
                    int64_t end, T* values) const {
    sum_vertical<true>(taps, rows, begin, body, values);
    sum_vertical<false>(taps, rows, body, end, values);
  }

  int taps_;  // of the columns [begin_, end_), which read inside the image
  int begin_, end_;

 private:
  void whole_columns(const T* row, int begin, int end, Row* sums) const {
    if constexpr (!kHasManyTaps<F>) {
      if (taps_ == 2) return sum_columns<2>(row, begin, end, sums);
      if (taps_ == 4) return sum_columns<4>(row, begin, end, sums);
      if (taps_ == 8) return sum_columns<8>(row, begin, end, sums);
    }
    sum_columns<0>(row, begin, end, sums);
  }

  // kTaps: the number of taps, 0 if known only at run time.
  template <int kTaps>
  void sum_columns(const T* row, int begin, int end, Row* sums) const {
    if (is_packed(v) && v.lanes == 3) return sum_pixels<kTaps, 3>(row, begin, end, sums);
    if (is_packed(v)) return sum_pixels<kTaps, 4>(row, begin, end, sums);
    if (is_plane(v)) return sum_plane<kTaps>(row, begin, end, sums);
    Base::horizontal(row, begin, end, sums);
  }

  template <int kTaps, int kLanes>
  void sum_pixels(const T* row, int begin, int end, Row* sums) const {
    const auto axis = axis_;
    for (int x = begin; x < end; ++x, sums += kLanes) {
      const SumTaps taps = axis.template at<kTaps>(x);
      const T* const pixel = row + int64_t{taps.first} * kLanes;
      sum_vec4(taps, [&](int k) { return load_vec4<Term>(pixel + k * kLanes); }, sums);
    }
  }

  template <int kTaps>
  void sum_plane(const T* row, int begin, int end, Row* sums) const {
    const auto axis = axis_;
    int x = begin;
    if constexpr (kTaps == 2 && std::is_same_v<F, FloatTaps<float>>) {
      if (axis.capacity == 2) x = sum_four_at_a_time(row, begin, end, sums);
    }
    for (; x < end; ++x) {
      const SumTaps taps = axis.template at<kTaps>(x);
      const T* const pixel = row + taps.first;
      sums[x - begin] = F::horizontal(taps, true, [&](int k) { return Base::term(pixel[k]); });
    }
  }

  // Columns of two taps. Returns the first that is left.
  int sum_four_at_a_time(const float* row, int begin, int end, float* sums) const {
    const auto both = [](const float* low, const float* high) {
      return _mm_castpd_ps(_mm_loadh_pd(_mm_load_sd(reinterpret_cast<const double*>(low)),
                                        reinterpret_cast<const double*>(high)));
    };
    const auto products = [](__m128 low, __m128 high, __m128 weights, __m128 others) {
      const __m128 first =
          _mm_mul_ps(_mm_shuffle_ps(low, high, 0x88), _mm_shuffle_ps(weights, others, 0x88));
      const __m128 second =
          _mm_mul_ps(_mm_shuffle_ps(low, high, 0xdd), _mm_shuffle_ps(weights, others, 0xdd));
      return _mm_add_ps(first, second);
    };
    int x = begin;
    for (; x + 4 <= end; x += 4) {
      const int* const first = axis_.first + x;
      const float* const weights = axis_.weights + 2 * int64_t{x};
      _mm_storeu_ps(sums + (x - begin), products(both(row + first[0], row + first[1]),
                                                 both(row + first[2], row + first[3]),
                                                 _mm_loadu_ps(weights), _mm_loadu_ps(weights + 4)));
    }
    return x;
  }

  template <class Read>
  static void sum_vec4(const SumTaps& taps, const Read& read, Row* to) {
    if constexpr (kIsPillow<F>) {
      const Vec4<Term> sum = Term(0) + sum_of_taps(taps, read);
      for (int i = 0; i < 4; ++i) to[i] = F::rounded(sum[i]);
    } else {
      const Vec4<Row> sum = F::horizontal(taps, true, read);
      memcpy(to, &sum, sizeof(sum));
    }
  }

  template <bool kBody>
  void sum_vertical(const SumTaps& taps, const Row* const* rows, int64_t begin, int64_t end,
                    T* values) const {
    if constexpr (kHasManyTaps<F>) return sum_vec4_vertical(taps, rows, begin, end, values);
    if (taps.count == 1) return sum_values_vertical<1, kBody>(taps, rows, begin, end, values);
    if (taps.count == 2) return sum_values_vertical<2, kBody>(taps, rows, begin, end, values);
    if (taps.count == 4) return sum_values_vertical<4, kBody>(taps, rows, begin, end, values);
    return sum_values_vertical<8, kBody>(taps, rows, begin, end, values);
  }

  template <int kTaps, bool kBody>
  static void sum_values_vertical(const SumTaps& taps, const Row* const* rows, int64_t begin,
                                  int64_t end, T* values) {
    using Weight = std::decay_t<decltype(taps.weights[0])>;
    Weight weights[kTaps];
    const Row* fixed_rows[kTaps];
    std::copy_n(taps.weights, kTaps, weights);
    std::copy_n(rows, kTaps, fixed_rows);
    const SumTaps fixed{0, kTaps, weights};
    for (int64_t i = begin; i < end; ++i) {
      values[i] = F::vertical(fixed, kBody, [&](int k) { return load_term(fixed_rows[k][i]); });
    }
  }

  static void sum_vec4_vertical(const SumTaps& taps, const Row* const* rows, int64_t begin,
                                int64_t end, T* values) {
    int64_t i = begin;
    for (; i + 4 <= end; i += 4) {
      const Vec4<Term> sum = sum_of_taps(taps, [&](int k) { return load_vec4<Term>(rows[k] + i); });
      for (int lane = 0; lane < 4; ++lane) values[i + lane] = F::value(sum[lane]);
    }
    for (; i < end; ++i) {
      values[i] = F::vertical(taps, false, [&](int k) { return load_term(rows[k][i]); });
    }
  }

  AxisTaps<typename Op::Weight> axis_;
};

}  // namespace
}  // namespace orbbec
