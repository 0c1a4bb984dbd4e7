// How a thread of a CUDA resize sums and stores packed pixels of three bytes, in words. Included by
// bands_cuda.h.
#pragma once

#include "../executors/cuda/bytes.h"
#include "columns_cuda.h"

namespace orbbec {
namespace {

constexpr int kPixelBytes = 3, kWordBytes = 4;

// The bytes of kTaps pixels, in words.
template <int kTaps>
using PixelWords = uint32_t[kPixelBytes * kTaps / 4 + 1];

// Sums of kTaps bytes, one from each pixel.
template <class F, int kTaps>
struct SumOfBytes {
  BiasedFactor factors[kTaps];

  // `weight(k)`: of tap k.
  template <class Weight>
  __device__ explicit SumOfBytes(const Weight& weight) {
#pragma unroll
    for (int k = 0; k < kTaps; ++k) factors[k] = BiasedFactor(weight(k));
  }
  // Of channel c. No product of a biased byte is -0, which F would make 0.
  __device__ typename F::Row operator()(const PixelWords<kTaps>& words, int c) const {
    return sum_of_taps(Taps<BiasedFactor>{0, kTaps, factors}, [&](int k) {
      const int at = k * kPixelBytes + c;
      return BiasedByte(words[at / 4], at % 4);
    });
  }
};

// The same with weights of 24 bits: of four taps at a time the upper 8 and the lower 16 are summed
// apart, and of the others the products.
template <int kTaps>
struct SumOfBytes<PillowFixed, kTaps> {
  static constexpr int kFours = kTaps / 4, kLow = 16;

  uint32_t high[kFours], low[kFours][2], others[kTaps % 4 + 1];

  template <class Weight>
  __device__ explicit SumOfBytes(const Weight& weight) : high{}, low{} {
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      const auto w = static_cast<uint32_t>(weight(k));
      if (k >= 4 * kFours) {
        others[k % 4] = w;
        continue;
      }
      high[k / 4] |= w >> kLow << 8 * (k % 4);
      low[k / 4][k % 4 / 2] |= (w & 0xffffu) << kLow * (k % 2);
    }
  }
  __device__ uint8_t operator()(const PixelWords<kTaps>& words, int c) const {
    static_assert(PillowFixed::start() % (1 << kLow) == 0);
    uint32_t bytes[kFours], sum = PillowFixed::start() >> kLow;
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      bytes[i] = bytes_of_four(words + kPixelBytes * i, c);
      sum = __dp4a(bytes[i], high[i], sum);
    }
    sum <<= kLow;
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      sum = __dp2a_lo(low[i][0], bytes[i], sum);
      sum = __dp2a_hi(low[i][1], bytes[i], sum);
    }
#pragma unroll
    for (int k = 4 * kFours; k < kTaps; ++k) {
      const int at = k * kPixelBytes + c;
      sum += byte_of(words[at / 4], at % 4) * others[k % 4];
    }
    return PillowFixed::finished(static_cast<int>(sum));
  }

  // Channel c of four pixels.
  __device__ static uint32_t bytes_of_four(const uint32_t* words, int c) {
    constexpr unsigned kFirst[] = {0x0630, 0x0741, 0x0052}, kRest[] = {0x5210, 0x6210, 0x7410};
    return __byte_perm(__byte_perm(words[0], words[1], kFirst[c]), words[2], kRest[c]);
  }
};

// The horizontal sums of a thread's pixel: kTaps taps in words, all within the image. A thread with
// fewer taps has some of weight 0 before or after them.
template <class Op, int kTaps>
class TapsInWords {
  using F = typename Op::Form;
  using Weight = typename Op::Weight;

  int64_t offset_;
  SumOfBytes<F, kTaps> sum_;

 public:
  static constexpr bool kInRing = true;
  static constexpr int kChannels = kPixelBytes, kBytes = kChannels * kTaps;
  static constexpr int kRows = kTaps <= 6 ? kRowsPerGroup : 1;  // that registers hold

  __device__ TapsInWords(const ResizePlan& plan, const Taps<Weight>& taps)
      : offset_(smaller(taps.first, plan.right - kTaps) * kChannels), sum_([&](int k) {
          const int i = k - larger(taps.first - (plan.right - kTaps), 0);
          const Weight weight = taps.weights[clamp_int(i, 0, taps.count - 1)];
          return i >= 0 && i < taps.count ? weight : Weight(0);
        }) {}

  // Of source rows `step` apart, from `row` on. `at_edge`: one may be the first or the last of the
  // image, whose words may reach beyond it.
  __device__ void operator()(const uint8_t* row, int64_t step, bool at_edge,
                             typename F::Row (&sums)[kRowsPerGroup][kChannels]) const {
    row += offset_;
#pragma unroll
    for (int first = 0; first < kRowsPerGroup; first += kRows) {
      PixelWords<kTaps> words[kRows];
      if (at_edge) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) load_singly(row + i * step, words[i]);
      } else {
#pragma unroll
        for (int i = 0; i < kRows; ++i) load_bytes<kBytes, false>(row + i * step, words[i]);
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int c = 0; c < kChannels; ++c) sums[first + i][c] = sum_(words[i], c);
      }
      row += kRows * step;
    }
  }

 private:
  __device__ static void load_singly(const uint8_t* row, PixelWords<kTaps>& words) {
#pragma unroll
    for (int k = 0; k < kBytes; ++k) {
      const uint32_t byte = uint32_t{row[k]} << 8 * (k % 4);
      words[k / 4] = k % 4 == 0 ? byte : words[k / 4] | byte;
    }
  }
};

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
