// How a thread of a CUDA resize sums source rows horizontally and stores results: single values, or
// packed pixels of three bytes, in words. Included by bands_cuda.h.
#pragma once

#include "../executors/cuda/bytes.h"
#include "columns_cuda.h"

namespace orbbec {
namespace {

constexpr int kPixelBytes = 3, kWordBytes = 4;

// Whether taps of weight 0 change no sum: integer pixels are neither infinite nor NaN, and sums of
// -0 become 0.
template <class T>
constexpr bool kIgnoresZeros = std::is_integral_v<T>;

// Whether the weights of few taps are in registers, which takes longer to compile.
template <class T>
constexpr bool kHasRegisterTaps = !std::is_same_v<T, uint16_t> && !std::is_same_v<T, double>;

// The horizontal sums of a thread's value. Few taps have their weights in registers and lie within
// the image; a thread with fewer than the others of its warp has some of weight 0 before or after
// them. Of more taps, kTapsPerGroup are loaded before they are added.
template <class Op>
class TapsOfValue {
  using T = typename Op::Value;
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  using Row = typename F::Row;
  static constexpr int kTapsPerGroup = 4;
  static constexpr int kMaxTaps = kIsPillow<F> ? 6 : 4;  // in registers

  Taps<Weight> taps_;
  int64_t offset_, stride_;
  int count_ = 0, begin_ = 0;  // of the taps in registers; of the thread's among them
  Weight weights_[kMaxTaps];

 public:
  static constexpr int kChannels = 1;

  // All lanes of the warp take part.
  __device__ TapsOfValue(const ResizePlan& plan, const Image<const T>& from,
                         const Taps<Weight>& taps, int64_t channel)
      : taps_(taps), stride_(from.stride_x) {
    int first = taps.first;
    if constexpr (kHasRegisterTaps<T>) {
      for (int count = kMaxTaps; count >= 4; --count) {
        const bool fits = plan.right - plan.left >= count && taps.count <= count;
        if (is_compiled(count) && __all_sync(kAllLanes, fits)) count_ = count;
      }
      if (count_ > 0) {
        first = smaller(first, plan.right - count_);
        begin_ = taps.first - first;
#pragma unroll
        for (int k = 0; k < kMaxTaps; ++k) {
          const Weight weight = taps.weights[clamp_int(k - begin_, 0, taps.count - 1)];
          weights_[k] = is_tap(k) ? weight : Weight(0);
        }
      }
    }
    offset_ = first * stride_ + channel * from.stride_c;
  }

  // Of source rows `step` apart, from `row` on.
  __device__ void operator()(const T* row, int64_t step, bool,
                             Row (&sums)[kRowsPerGroup][kChannels]) const {
    row += offset_;
    if (count_ == 0) return sum_in_groups(row, step, sums);
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (stride_ == 1) return sum_in_registers<1>(row, step, sums);
    }
    if constexpr (kHasRegisterTaps<T>) sum_in_registers<0>(row, step, sums);
  }

 private:
  __device__ static constexpr bool is_compiled(int count) {
    return count <= kMaxTaps && (count != 5 || std::is_same_v<T, uint8_t>);
  }
  __device__ bool is_tap(int k) const { return k >= begin_ && k < begin_ + taps_.count; }

  // kStride: from pixel to pixel; 0: that of the image.
  template <int kStride>
  __device__ void sum_in_registers(const T* row, int64_t step,
                                   Row (&sums)[kRowsPerGroup][kChannels]) const {
    if (count_ == 4) return sum<4, kStride>(row, step, sums);
    if constexpr (is_compiled(5)) {
      if (count_ == 5) return sum<5, kStride>(row, step, sums);
    }
    if constexpr (is_compiled(6)) sum<6, kStride>(row, step, sums);
  }

  template <int kTaps, int kStride>
  __device__ void sum(const T* row, int64_t step, Row (&sums)[kRowsPerGroup][kChannels]) const {
    T read[kRowsPerGroup][kTaps];
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i, row += step) {
#pragma unroll
      for (int k = 0; k < kTaps; ++k) read[i][k] = row[k * (kStride > 0 ? kStride : stride_)];
    }
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) {
      auto sum = F::start();
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
        const auto more = sum + term(read[i][k]) * weights_[k];
        sum = kIgnoresZeros<T> || is_tap(k) ? more : sum;
      }
      sums[i][0] = F::row(sum, true);
    }
  }

  __device__ void sum_in_groups(const T* row, int64_t step,
                                Row (&sums)[kRowsPerGroup][kChannels]) const {
    typename F::Sum sum[kRowsPerGroup];
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) sum[i] = F::start();
    ORBBEC_ROLLED
    for (int first = 0; first < taps_.count; first += kTapsPerGroup) add(row, step, first, sum);
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) sums[i][0] = F::row(sum[i], true);
  }

  // Adds a group; what is read past the last tap is that tap, and is not added.
  __device__ void add(const T* row, int64_t step, int first,
                      typename F::Sum (&sum)[kRowsPerGroup]) const {
    T read[kTapsPerGroup][kRowsPerGroup];
    Weight weights[kTapsPerGroup];
#pragma unroll
    for (int k = 0; k < kTapsPerGroup; ++k) {
      const int tap = smaller(first + k, taps_.count - 1);
      weights[k] = taps_.weights[tap];
#pragma unroll
      for (int i = 0; i < kRowsPerGroup; ++i) read[k][i] = row[i * step + tap * stride_];
    }
#pragma unroll
    for (int k = 0; k < kTapsPerGroup; ++k) {
      if (first + k >= taps_.count) break;
#pragma unroll
      for (int i = 0; i < kRowsPerGroup; ++i) sum[i] = sum[i] + term(read[k][i]) * weights[k];
    }
  }

  __device__ static auto term(T pixel) { return static_cast<typename F::Term>(load_term(pixel)); }
};

// The bytes of kTaps pixels, in words.
template <int kTaps>
using PixelWords = uint32_t[kPixelBytes * kTaps / 4 + 1];

constexpr int kMaxPixelTaps = 8;

// Sums of bytes, one from each pixel.
template <class F>
struct SumOfBytes {
  BiasedFactor factors[kMaxPixelTaps];

  // `weight(k)`: of tap k.
  template <class Weight>
  __device__ SumOfBytes(int, const Weight& weight) {
#pragma unroll
    for (int k = 0; k < kMaxPixelTaps; ++k) factors[k] = BiasedFactor(weight(k));
  }
  // Of channel c of kTaps pixels. No product of a biased byte is -0, which F would make 0.
  template <int kTaps>
  __device__ typename F::Row sum(const PixelWords<kTaps>& words, int c) const {
    return sum_of_taps(Taps<BiasedFactor>{0, kTaps, factors}, [&](int k) {
      const int at = k * kPixelBytes + c;
      return BiasedByte(words[at / 4], at % 4);
    });
  }
};

// The same with weights of 24 bits: of four taps at a time the upper 8 and the lower 16 are summed
// apart, and of the others the products.
template <>
struct SumOfBytes<PillowFixed> {
  static constexpr int kLow = 16;

  uint32_t high, low[2];  // of the first four taps
  uint32_t rest[3];       // of two other taps; of eight: the same of the other four

  template <class Weight>
  __device__ SumOfBytes(int taps, const Weight& weight) : rest{} {
    pack(weight, 0, high, low[0], low[1]);
    if (taps == kMaxPixelTaps) {
      pack(weight, 4, rest[0], rest[1], rest[2]);
    } else {
      for (int k = 0; k < 2; ++k) rest[k] = static_cast<uint32_t>(weight(4 + k));
    }
  }
  template <int kTaps>
  __device__ uint8_t sum(const PixelWords<kTaps>& words, int c) const {
    constexpr bool kIsEight = kTaps == kMaxPixelTaps;
    static_assert(PillowFixed::start() % (1 << kLow) == 0);
    const uint32_t bytes = bytes_of_four(words, c);
    const uint32_t others = kIsEight ? bytes_of_four(words + kPixelBytes, c) : 0;
    uint32_t sum = __dp4a(bytes, high, uint32_t{PillowFixed::start() >> kLow});
    if (kIsEight) sum = __dp4a(others, rest[0], sum);
    sum = add_low(bytes, low[0], low[1], sum << kLow);
    if (kIsEight) sum = add_low(others, rest[1], rest[2], sum);
#pragma unroll
    for (int k = 4; k < (kIsEight ? 0 : kTaps); ++k) {
      const int at = k * kPixelBytes + c;
      sum += byte_of(words[at / 4], at % 4) * rest[k - 4];
    }
    return PillowFixed::finished(static_cast<int>(sum));
  }

 private:
  template <class Weight>
  __device__ static void pack(const Weight& weight, int first, uint32_t& high, uint32_t& low_01,
                              uint32_t& low_23) {
    uint32_t w[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) w[k] = static_cast<uint32_t>(weight(first + k));
    high = w[0] >> kLow | w[1] >> kLow << 8 | w[2] >> kLow << 16 | w[3] >> kLow << 24;
    low_01 = (w[0] & 0xffffu) | w[1] << kLow;
    low_23 = (w[2] & 0xffffu) | w[3] << kLow;
  }
  __device__ static uint32_t add_low(uint32_t bytes, uint32_t low_01, uint32_t low_23,
                                     uint32_t sum) {
    return __dp2a_hi(low_23, bytes, __dp2a_lo(low_01, bytes, sum));
  }
  // Channel c of four pixels.
  __device__ static uint32_t bytes_of_four(const uint32_t* words, int c) {
    constexpr unsigned kFirst[] = {0x0630, 0x0741, 0x0052}, kRest[] = {0x5210, 0x6210, 0x7410};
    return __byte_perm(__byte_perm(words[0], words[1], kFirst[c]), words[2], kRest[c]);
  }
};

// The horizontal sums of a thread's pixel, if can_read_words: 4, 5, 6 or 8 taps in words, all
// within the image. A thread with fewer than the others of its warp has some of weight 0 before or
// after them.
template <class Op>
class TapsInWords {
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  using Row = typename F::Row;

  int count_;
  int64_t offset_;
  SumOfBytes<F> sum_;

 public:
  static constexpr int kChannels = kPixelBytes;

  // All lanes of the warp take part.
  __device__ TapsInWords(const ResizePlan& plan, const Image<const uint8_t>&,
                         const Taps<Weight>& taps, int64_t)
      : count_(taps_of_warp(plan, taps.count)),
        offset_(smaller(taps.first, plan.right - count_) * kChannels),
        sum_(count_, [&](int k) {
          const int i = k - larger(taps.first - (plan.right - count_), 0);
          const Weight weight = taps.weights[clamp_int(i, 0, taps.count - 1)];
          return i >= 0 && i < taps.count ? weight : Weight(0);
        }) {}

  // Of source rows `step` apart, from `row` on. `at_edge`: one may be the first or the last of the
  // image, whose words may reach beyond it.
  __device__ void operator()(const uint8_t* row, int64_t step, bool at_edge,
                             Row (&sums)[kRowsPerGroup][kChannels]) const {
    row += offset_;
    if (count_ == 4) return sum<4>(row, step, at_edge, sums);
    if (count_ == 5) return sum<5>(row, step, at_edge, sums);
    if (count_ == 6) return sum<6>(row, step, at_edge, sums);
    sum<kMaxPixelTaps>(row, step, at_edge, sums);
  }

 private:
  __device__ static int taps_of_warp(const ResizePlan& plan, int count) {
    int taps = kMaxPixelTaps;
    for (int fewer = 6; fewer >= 4; --fewer) {
      if (__all_sync(kAllLanes, plan.right - plan.left >= fewer && count <= fewer)) taps = fewer;
    }
    return taps;
  }

  template <int kTaps>
  __device__ void sum(const uint8_t* row, int64_t step, bool at_edge,
                      Row (&sums)[kRowsPerGroup][kChannels]) const {
    constexpr int kBytes = kChannels * kTaps;
    constexpr int kRows = kTaps <= 6 ? kRowsPerGroup : 1;  // that registers hold
#pragma unroll
    for (int first = 0; first < kRowsPerGroup; first += kRows) {
      PixelWords<kTaps> words[kRows];
      if (at_edge) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) load_singly<kBytes>(row + i * step, words[i]);
      } else {
#pragma unroll
        for (int i = 0; i < kRows; ++i) load_bytes<kBytes, false>(row + i * step, words[i]);
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int c = 0; c < kChannels; ++c)
          sums[first + i][c] = sum_.template sum<kTaps>(words[i], c);
      }
      row += kRows * step;
    }
  }

  template <int kBytes, class Words>
  __device__ static void load_singly(const uint8_t* row, Words& words) {
#pragma unroll
    for (int k = 0; k < kBytes; ++k) {
      const uint32_t byte = uint32_t{row[k]} << 8 * (k % 4);
      words[k / 4] = k % 4 == 0 ? byte : words[k / 4] | byte;
    }
  }
};

template <class Op, int kChannels>
using SumsOf = std::conditional_t<kChannels == 1, TapsOfValue<Op>, TapsInWords<Op>>;

// Stores what threads own, of one row after the other. All lanes of the warp take part.
struct PixelStore {
  uint8_t* to;
  int64_t step;
  bool exists, by_words, has_word;
  WordStore<kWarp> words;

  __device__ PixelStore(const Image<uint8_t>& image, const BandColumn& column)
      : step(image.stride_y), exists(column.exists) {
    const int lane = lane_id();
    const int first = __shfl_sync(kAllLanes, exists ? column.target : image.width, 0);
    const int left = image.width - first;
    to = &image.at(column.begin, first, 0);
    by_words = left % 4 == 0 && ((reinterpret_cast<uintptr_t>(to) | step) & 3) == 0;
    to += by_words ? 4 * lane : kPixelBytes * lane;
    has_word = words.has_word(left);
  }

  __device__ void operator()(const uint8_t (&values)[kPixelBytes]) {
    if (by_words) {
      const uint32_t pixel[kPixelBytes] = {values[0], values[1], values[2]};
      words.store(to, pixel, has_word);
    } else if (exists) {
#pragma unroll
      for (int c = 0; c < kPixelBytes; ++c) to[c] = values[c];
    }
    to += step;
  }
};

template <class T>
struct ValueStore {
  T* to;
  int64_t step;

  __device__ ValueStore(const Image<T>& image, const BandColumn& column)
      : to(&image.at(column.begin, column.target, column.channel)), step(image.stride_y) {}

  __device__ void operator()(const T (&values)[1]) {
    *to = values[0];
    to += step;
  }
};

template <class T, int kChannels>
using StoreOf = std::conditional_t<kChannels == 1, ValueStore<T>, PixelStore>;

}  // namespace
}  // namespace orbbec
