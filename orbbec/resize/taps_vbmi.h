// Sums of bytes with Pillow's weights, on AVX-512 with VBMI and VNNI. A lane is a value of an
// output row: one permutation of source bytes gives each lane four taps, whose weighted sum takes
// three instructions. Included by pillow_vbmi.h.
#pragma once

#include <immintrin.h>

#include "strips.h"

namespace orbbec {
namespace {

using Bytes = __m512i;  // 16 lanes of four bytes
using Words = __m512i;  // 16 lanes of 32 bits

constexpr int kTapsOfQuad = 4;
constexpr int kGroup = 16;  // values summed in one vector
constexpr int kBlock = 64;  // values written at a time

// An aligned vector: std::vector alone would not align it.
struct alignas(sizeof(Bytes)) Vector {
  Bytes bytes;
};

// The weights of four taps. A 23-bit weight is split into three signed bytes, the highest first.
constexpr int kDigits = 3;
struct QuadWeights {
  uint32_t digits[kDigits];

  // Taps [begin, begin + 4); missing taps have weight 0.
  QuadWeights(const Taps<int32_t>& taps, int begin) {
    const int before = clamp_int(-begin, 0, kTapsOfQuad);
    const int after = clamp_int(begin + kTapsOfQuad - taps.count, 0, kTapsOfQuad);
    const __mmask8 present = 0xf << before & 0xf >> after;
    __m128i weights = _mm_maskz_loadu_epi32(present, taps.weights + begin);
    for (int digit = kDigits - 1; digit >= 0; --digit) {
      digits[digit] = static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_cvtepi32_epi8(weights)));
      weights = _mm_srai_epi32(_mm_add_epi32(weights, _mm_set1_epi32(128)), 8);
    }
  }
};

constexpr int quads_of(int taps) { return (taps + kTapsOfQuad - 1) / kTapsOfQuad; }
constexpr int64_t groups_of(int64_t values) { return (values + kGroup - 1) / kGroup; }

inline void add_products(const Bytes (&bytes)[4], Words weights, Words (&sums)[4]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], bytes[i], weights);
}
// Adds the sums of a digit to those of the next.
inline void shift(const Words (&sums)[4], Words (&next)[4]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) next[i] = _mm512_add_epi32(next[i], _mm512_slli_epi32(sums[i], 8));
}

// Four vectors of sums of `quads` times four bytes per lane; read(quad, bytes) loads the bytes,
// weight_of(quad, digit) the weights. The sums become bytes: in each quarter, four of the first
// vector, then of the second and so on. kQuads: 0 if known only at run time.
template <int kQuads, class Read, class WeightOf>
Bytes weighted(int quads, const Read& read, const WeightOf& weight_of) {
  Words sums[kDigits][4];
  for (int i = 0; i < 4; ++i) {
    sums[0][i] = _mm512_set1_epi32(1 << 5);  // one half, before two shifts
    sums[1][i] = sums[2][i] = _mm512_setzero_si512();
  }
  if constexpr (kQuads > 0) {
    Bytes bytes[kQuads][4];
#pragma GCC unroll 3
    for (int quad = 0; quad < kQuads; ++quad) read(quad, bytes[quad]);
#pragma GCC unroll 3
    for (int digit = 0; digit < kDigits; ++digit) {
      if (digit > 0) {
        for (int i = 0; i < 4; ++i) sums[digit][i] = _mm512_slli_epi32(sums[digit - 1][i], 8);
      }
#pragma GCC unroll 3
      for (int quad = 0; quad < kQuads; ++quad)
        add_products(bytes[quad], weight_of(quad, digit), sums[digit]);
    }
  } else {
    for (int quad = 0; quad < quads; ++quad) {
      Bytes bytes[4];
      read(quad, bytes);
#pragma GCC unroll 3
      for (int digit = 0; digit < kDigits; ++digit)
        add_products(bytes, weight_of(quad, digit), sums[digit]);
    }
    shift(sums[0], sums[1]);
    shift(sums[1], sums[2]);
  }
  for (Words& sum : sums[2]) sum = _mm512_srai_epi32(sum, 22);
  return _mm512_packus_epi16(_mm512_packs_epi32(sums[2][0], sums[2][1]),
                             _mm512_packs_epi32(sums[2][2], sums[2][3]));
}
// From that order to one vector after another.
inline Bytes in_order(Bytes bytes) {
  const Words order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, bytes);
}
// From that order to four bytes per lane, one of each vector.
inline Bytes in_lanes(Bytes bytes) {
  return _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(
                                        0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
}
inline __mmask64 first_bytes(int64_t count) {
  return count >= kBlock ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

struct RowQuad {
  const uint8_t* first[4];
  int64_t ahead;  // byte offset of the rows to prefetch
};

// Gathers and weighs the taps of the horizontal pass, for pixels of `lanes` interleaved channels.
class HorizontalTaps {
 public:
  HorizontalTaps(const ResizeCoefficients& coefficients, int64_t n, int lanes)
      : lanes_(lanes), values_(int64_t{coefficients.width} * lanes) {
    int taps = 1;
    for (int x = 0; x < coefficients.width; ++x)
      taps = std::max(taps, taps_at<int32_t>(coefficients, n, x).count);
    quads_ = quads_of(taps);
    const int64_t groups = groups_of(values_);
    begins_.resize(groups);
    indices_.resize(groups);
    weights_.resize(groups * quads_ * kDigits);
    set_indices(coefficients, n);
    set_weights(coefficients, n);
  }

  int64_t values() const { return values_; }
  // Bytes from the beginning of a row that loads may touch.
  int64_t reach() const { return reach_; }

  // Calls body(group, sums) for groups [begin, end) of four rows, in the order of `weighted`.
  template <class Body>
  void for_each_group(const RowQuad& rows, int64_t begin, int64_t end, const Body& body) const {
    if (windows_ > 1) return for_each_group<0, false>(rows, begin, end, body);
    if (quads_ == 1) return for_each_group<1, true>(rows, begin, end, body);
    if (quads_ == 2) return for_each_group<2, true>(rows, begin, end, body);
    if (quads_ == 3) return for_each_group<3, true>(rows, begin, end, body);
    for_each_group<0, true>(rows, begin, end, body);
  }

 private:
  void set_indices(const ResizeCoefficients& coefficients, int64_t n) {
    std::vector<int> offsets(begins_.size() * kGroup);
    int64_t value = 0, begin = 0;
    int farthest = 0;
    for (int x = 0; x < coefficients.width; ++x) {
      const int64_t first = int64_t{taps_at<int32_t>(coefficients, n, x).first} * lanes_;
      for (int c = 0; c < lanes_; ++c, ++value) {
        if (value % kGroup == 0) begins_[value / kGroup] = begin = first;
        offsets[value] = static_cast<int>(first + c - begin);
        farthest = std::max(farthest, offsets[value]);
      }
    }
    windows_ = (farthest + (kTapsOfQuad - 1) * lanes_) / kBlock + 1;
    reach_ = begin + int64_t{quads_ - 1} * kTapsOfQuad * lanes_ + int64_t{windows_} * kBlock;
    const __m128i first_of_lane = _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    const Bytes to_tap = _mm512_set1_epi32(lanes_ * 0x03020100);
    for (size_t group = 0; group < begins_.size(); ++group) {
      const Words first = _mm512_loadu_si512(&offsets[group * kGroup]);
      // A permutation uses the lowest 6 bits of an index.
      indices_[group].bytes = _mm512_add_epi8(
          _mm512_shuffle_epi8(first, _mm512_broadcast_i32x4(first_of_lane)), to_tap);
    }
    if (windows_ > 1) set_masks(offsets);
  }

  void set_masks(const std::vector<int>& offsets) {
    masks_.resize(begins_.size() * windows_);
    for (size_t byte = 0; byte < begins_.size() * kBlock; ++byte) {
      const int index = offsets[byte / kTapsOfQuad] + static_cast<int>(byte % kTapsOfQuad) * lanes_;
      masks_[byte / kBlock * windows_ + index / kBlock] |= __mmask64{1} << byte % kBlock;
    }
  }

  void set_weights(const ResizeCoefficients& coefficients, int64_t n) {
    uint32_t* const words = reinterpret_cast<uint32_t*>(weights_.data());
    int64_t value = 0;
    for (int x = 0; x < coefficients.width; ++x, value += lanes_) {
      const auto taps = taps_at<int32_t>(coefficients, n, x);
      for (int quad = 0; quad < quads_; ++quad) {
        const QuadWeights weights(taps, quad * kTapsOfQuad);
        for (int64_t v = value; v < value + lanes_; ++v) {
          uint32_t* to = words + (v / kGroup * quads_ + quad) * kDigits * kGroup + v % kGroup;
          for (const uint32_t digit : weights.digits) *to = digit, to += kGroup;
        }
      }
    }
  }

  // kQuads: 0 if known only at run time. kOneWindow: one load holds all bytes of a group.
  template <int kQuads, bool kOneWindow, class Body>
  void for_each_group(const RowQuad& rows, int64_t begin, int64_t end, const Body& body) const {
    const int quads = kQuads > 0 ? kQuads : quads_;
    const Vector* weights = weights_.data() + begin * quads * kDigits;
    for (int64_t group = begin; group < end; ++group) {
      const int64_t index = begins_[group];
      fetch(rows, index);
      const auto read = [&](int quad, Bytes(&bytes)[4]) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          bytes[i] = gather<kOneWindow>(
              rows.first[i] + index + int64_t{quad} * kTapsOfQuad * lanes_, group);
      };
      body(group, weighted<kQuads>(quads, read, [&](int quad, int digit) {
             return weights[quad * kDigits + digit].bytes;
           }));
      weights += quads * kDigits;
    }
  }

  void fetch(const RowQuad& rows, int64_t index) const {
    for (int i = 0; i < 4; ++i) {
      for (int w = 0; w < windows_; ++w)
        __builtin_prefetch(rows.first[i] + rows.ahead + index + w * kBlock);
    }
  }

  template <bool kOneWindow>
  Bytes gather(const uint8_t* from, int64_t group) const {
    const Bytes indices = indices_[group].bytes;
    Bytes bytes = _mm512_permutexvar_epi8(indices, _mm512_loadu_si512(from));
    if (kOneWindow) return bytes;
    for (int w = 1; w < windows_; ++w)
      bytes = _mm512_mask_permutexvar_epi8(bytes, masks_[group * windows_ + w], indices,
                                           _mm512_loadu_si512(from + w * kBlock));
    return bytes;
  }

  int lanes_, quads_, windows_;  // windows: loads per group
  int64_t values_, reach_;
  std::vector<int64_t> begins_;  // of a group in the row
  std::vector<Vector> indices_;  // of the bytes of a group's lanes, relative to its beginning
  std::vector<__mmask64>
      masks_;  // [groups][windows]: the bytes that a window contributes, if there are several
  std::vector<Vector> weights_;  // [groups][quads][kDigits]
};

// The taps of the vertical pass for output rows [begin, end): rows in fours, aligned to multiples
// of four.
class VerticalTaps {
 public:
  VerticalTaps(const ResizeCoefficients& coefficients, int64_t n, int begin, int end) {
    for (int y = begin; y < end; ++y) {
      const auto taps = taps_at<int32_t>(coefficients, n, coefficients.width + y);
      const int first = taps.first / kTapsOfQuad;
      const int count = quads_of(taps.first + taps.count) - first;
      rows_.push_back({first, count, weights_.size()});
      for (int quad = 0; quad < count; ++quad)
        weights_.emplace_back(taps, (first + quad) * kTapsOfQuad - taps.first);
      longest_ = std::max(longest_, count);
    }
  }

  int longest() const { return longest_; }
  int first(int row) const { return rows_[row].first; }
  int count(int row) const { return rows_[row].count; }

  // Sums of 64 values of a row; read(k, bytes) loads its k-th four source rows.
  template <class Read>
  Bytes sum(int row, const Read& read) const {
    switch (rows_[row].count) {
      case 1:
        return sum<1>(row, read);
      case 2:
        return sum<2>(row, read);
      case 3:
        return sum<3>(row, read);
      default:
        return sum<0>(row, read);
    }
  }

 private:
  template <int kQuads, class Read>
  Bytes sum(int row, const Read& read) const {
    const QuadWeights* const weights = &weights_[rows_[row].weights];
    return weighted<kQuads>(rows_[row].count, read, [&](int quad, int digit) {
      return _mm512_set1_epi32(static_cast<int>(weights[quad].digits[digit]));
    });
  }

  struct Row {
    int first, count;  // in fours
    size_t weights;
  };
  std::vector<Row> rows_;
  std::vector<QuadWeights> weights_;
  int longest_ = 1;
};

}  // namespace
}  // namespace orbbec
