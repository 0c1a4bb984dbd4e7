// Columns of packed RGB or of planes by permutations of 128 bytes, which take fewer instructions
// than a load for each column. For CPUs with VBMI. Included by augment_avx512.cpp, under its
// target.
#pragma once

#include <algorithm>
#include <vector>

#include "../../executors/simd/avx512.h"
#include "scaled_rows.h"

#define ORBBEC_PERMUTED __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vbmi")))

namespace orbbec {

template <>
class PackedColumns<Avx512> {
 public:
  bool set(const int* offsets, int first, int last) {
    static const bool can_permute = __builtin_cpu_supports("avx512vbmi") != 0;
    begins_.clear(), orders_.clear();
    for (int x = first; can_permute && x < last; x += kLanes) {
      const auto [low, high] = std::minmax_element(offsets + x, offsets + x + kLanes);
      if (*high - *low + kPairBytes > 2 * kLine) return false;
      begins_.push_back(*low);
      for (int i = 0; i < kLanes; ++i)
        orders_.push_back((offsets[x + i] - *low) * 0x01010101 + 0x03020100);
    }
    first_ = first;
    return can_permute;
  }

  ORBBEC_PERMUTED void blend_rgb(const uint8_t* pixels, int64_t nbytes, const float* weights,
                                 float* to, int64_t channel) const {
    const __m512i right_by_4 = _mm512_set1_epi8(4);
    for (size_t group = 0; group < begins_.size(); ++group) {
      const Bytes bytes(pixels + begins_[group], nbytes - begins_[group]);
      const __m512i order = _mm512_loadu_si512(orders_.data() + group * kLanes);
      const __m512i low = bytes.permuted(order);
      const __m512i high = bytes.permuted(_mm512_add_epi8(order, right_by_4));
      const int64_t x = first_ + static_cast<int64_t>(group) * kLanes;
      const __m512 weight = _mm512_loadu_ps(weights + x);
      write(byte_of<0>(low), byte_of<3>(low), weight, to + x);
      write(byte_of<1>(low), byte_of<0>(high), weight, to + channel + x);
      write(byte_of<2>(low), byte_of<1>(high), weight, to + 2 * channel + x);
    }
  }

  ORBBEC_PERMUTED void blend_plane(const uint8_t* pixels, int64_t nbytes, const float* weights,
                                   float* to) const {
    for (size_t group = 0; group < begins_.size(); ++group) {
      const Bytes bytes(pixels + begins_[group], nbytes - begins_[group]);
      const __m512i pair = bytes.permuted(_mm512_loadu_si512(orders_.data() + group * kLanes));
      const int64_t x = first_ + static_cast<int64_t>(group) * kLanes;
      write(byte_of<0>(pair), byte_of<1>(pair), _mm512_loadu_ps(weights + x), to + x);
    }
  }

 private:
  static constexpr int kLanes = Avx512::kLanes;
  static constexpr int kLine = 64;      // bytes of a register
  static constexpr int kPairBytes = 6;  // bytes of a pixel and its right neighbor

  // 128 bytes, or 0 from `nbytes` on.
  struct Bytes {
    __m512i first, second;

    ORBBEC_PERMUTED Bytes(const uint8_t* from, int64_t nbytes)
        : first(load(from, nbytes)), second(load(from + kLine, nbytes - kLine)) {}
    ORBBEC_PERMUTED __m512i permuted(__m512i order) const {
      return _mm512_permutex2var_epi8(first, order, second);
    }

    ORBBEC_PERMUTED static __m512i load(const uint8_t* from, int64_t nbytes) {
      if (nbytes >= kLine) return _mm512_loadu_si512(from);
      return _mm512_maskz_loadu_epi8(nbytes > 0 ? (__mmask64{1} << nbytes) - 1 : 0, from);
    }
  };

  template <int kIndex>
  ORBBEC_PERMUTED static __m512i byte_of(__m512i v) {
    const __m512i low = _mm512_srli_epi32(v, 8 * kIndex);
    return kIndex == 3 ? low : _mm512_and_si512(low, _mm512_set1_epi32(255));
  }

  ORBBEC_PERMUTED static void write(__m512i left, __m512i right, __m512 weight, float* to) {
    const __m512 difference = _mm512_cvtepi32_ps(_mm512_sub_epi32(right, left));
    _mm512_storeu_ps(to, _mm512_fmadd_ps(weight, difference, _mm512_cvtepi32_ps(left)));
  }

  std::vector<int> begins_;  // of each group of columns, its first byte
  std::vector<int> orders_;  // of each column, its first four bytes, as indices from there
  int first_ = 0;
};

}  // namespace orbbec
