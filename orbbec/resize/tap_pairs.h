// Pillow's weights in pairs, and sums with them on AVX2. Included by pillow_columns.h.
#pragma once

#include "pillow_avx2.h"
#include "strips.h"

namespace orbbec {
namespace {

constexpr int32_t kHalf = 1 << 21;

// The taps of one axis in pairs, starting at an even tap; missing taps have weight 0. A 23-bit
// weight is split into two 16-bit numbers, low + high * 4096.
class TapPairs {
 public:
  static constexpr int kGroup = 4;  // columns summed together

  struct Weights {
    int32_t low, high;  // of both taps, 16 bits each
  };

  // The columns of image n.
  TapPairs(const ResizeCoefficients& coefficients, int64_t n)
      : TapPairs(Entries{0, coefficients.width}, coefficients, n) {}
  // Its rows [begin, end).
  TapPairs(const ResizeCoefficients& coefficients, int64_t n, int begin, int end)
      : TapPairs(Entries{coefficients.width + begin, coefficients.width + end}, coefficients, n) {}
  // `count` rows that are copied.
  explicit TapPairs(int count) : entries_(count), first_(count), counts_(count, 1) {
    constexpr int32_t kWhole = 1 << 22;
    for (int i = 0; i < count; ++i) {
      first_[i] = i / 2;
      weights_.push_back(i % 2 == 0 ? weights_of(kWhole, 0) : weights_of(0, kWhole));
    }
  }

  int entries() const { return entries_; }
  int longest() const { return longest_; }  // pairs per entry
  int count(int i) const { return counts_[i]; }
  int first(int i) const { return first_[i]; }
  const int* firsts() const { return first_.data(); }
  const Weights* weights(int i) const { return weights_.data() + int64_t{i} * longest_; }

 private:
  struct Entries {
    int begin, end;
  };

  // Padded with the last entry to a multiple of kGroup.
  TapPairs(Entries of, const ResizeCoefficients& coefficients, int64_t n)
      : entries_(of.end - of.begin) {
    const auto taps_of = [&](int i) {
      return taps_at<int32_t>(coefficients, n, std::min(of.begin + i, of.end - 1));
    };
    const size_t capacity = (entries_ + kGroup - 1) / kGroup * kGroup;
    first_.resize(capacity);
    counts_.resize(capacity);
    for (size_t i = 0; i < capacity; ++i) {
      const auto taps = taps_of(i);
      first_[i] = taps.first / 2;
      counts_[i] = (taps.first + taps.count + 1) / 2 - first_[i];
      longest_ = std::max(longest_, counts_[i]);
    }
    weights_.resize(capacity * longest_);
    Weights* to = weights_.data();
    for (size_t i = 0; i < capacity; ++i) {
      const auto taps = taps_of(i);
      const int odd = taps.first % 2;
      for (int k = -odd; k < 2 * longest_ - odd; k += 2)
        *to++ = weights_of(weight_at(taps, k), weight_at(taps, k + 1));
    }
  }

  static int32_t weight_at(const Taps<int32_t>& taps, int k) {
    return k >= 0 && k < taps.count ? taps.weights[k] : 0;
  }
  static Weights weights_of(int32_t even, int32_t odd) {
    return {(even & 4095) | (odd & 4095) << 16,
            static_cast<int32_t>((static_cast<uint32_t>(even >> 12) & 0xffffu) |
                                 (static_cast<uint32_t>(odd >> 12) << 16))};
  }

  int entries_, longest_ = 1;
  std::vector<int> first_, counts_;
  std::vector<Weights> weights_;
};

// Four vectors of sums of `count` pairs of rows, in the order of to_bytes; read(k, pairs) loads the
// k-th pairs. kCount: 0 if known only at run time.
template <int kCount, class Read>
PillowAvx2::Int sum_pairs(int count, const TapPairs::Weights* weights, const Read& read) {
  PillowAvx2::Int low[4], high[4];
  for (int q = 0; q < 4; ++q) low[q] = PillowAvx2::all(kHalf), high[q] = PillowAvx2::all(0);
#pragma GCC unroll 4
  for (int k = 0; k < (kCount > 0 ? kCount : count); ++k) {
    const auto of_low = PillowAvx2::all(weights[k].low), of_high = PillowAvx2::all(weights[k].high);
    PillowAvx2::Int pairs[4];
    read(k, pairs);
    for (int q = 0; q < 4; ++q) {
      low[q] = PillowAvx2::add_products(low[q], pairs[q], of_low);
      high[q] = PillowAvx2::add_products(high[q], pairs[q], of_high);
    }
  }
  for (int q = 0; q < 4; ++q) low[q] = PillowAvx2::rounded(low[q], high[q]);
  return PillowAvx2::to_bytes(low);
}

}  // namespace
}  // namespace orbbec
