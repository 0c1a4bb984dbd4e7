// Columns of two blocks, or sixteen pixels, with AVX2: 16-bit numbers with 32-bit sums. Included,
// below the target pragma, by decode_avx2.cpp.
#pragma once

#include "../executors/simd/avx2.h"
#include "decode_strips.h"

namespace orbbec {
namespace {

struct Avx2Shorts {
  static constexpr int kBlocks = 2, kLanes = 16;

  // The lower four numbers of each half of a vector V, and the upper four.
  struct Sum {
    __m256i low, high;

    ORBBEC_HD friend Sum operator+(const Sum& a, const Sum& b) {
      return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
    }
    ORBBEC_HD friend Sum operator-(const Sum& a, const Sum& b) {
      return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
    }
    ORBBEC_HD friend Sum operator+(const Sum& a, int b) {
      return a + Sum{_mm256_set1_epi32(b), _mm256_set1_epi32(b)};
    }
    ORBBEC_HD friend Sum operator>>(const Sum& a, int bits) {
      return {_mm256_srai_epi32(a.low, bits), _mm256_srai_epi32(a.high, bits)};
    }
  };
  using Pair = Sum;

  struct V {
    __m256i bits;

    V() = default;
    ORBBEC_HD explicit V(__m256i value) : bits(value) {}
    ORBBEC_HD V(const Sum& sum) : bits(_mm256_packs_epi32(sum.low, sum.high)) {}

    ORBBEC_HD friend V operator+(const V& a, const V& b) {
      return V(_mm256_add_epi16(a.bits, b.bits));
    }
    ORBBEC_HD friend V operator-(const V& a, const V& b) {
      return V(_mm256_sub_epi16(a.bits, b.bits));
    }
    ORBBEC_HD friend V operator-(const V& a, int b) {
      return a - V(_mm256_set1_epi16(static_cast<int16_t>(b)));
    }
    // Times a power of 2 up to 2^16.
    ORBBEC_HD friend Sum operator*(const V& a, int power) {
      const __m256i zero = _mm256_setzero_si256();
      return Sum{_mm256_unpacklo_epi16(zero, a.bits), _mm256_unpackhi_epi16(zero, a.bits)} >>
             (16 - __builtin_ctz(static_cast<unsigned>(power)));
    }
  };

  ORBBEC_HD static Pair pair(const V& a, const V& b) {
    return {_mm256_unpacklo_epi16(a.bits, b.bits), _mm256_unpackhi_epi16(a.bits, b.bits)};
  }
  template <int kA, int kB>
  ORBBEC_HD static Sum sum(const Pair& pair) {
    constexpr int kFactors = static_cast<int>((static_cast<uint32_t>(kB) << 16) | (kA & 0xffff));
    const __m256i factors = _mm256_set1_epi32(kFactors);
    return {_mm256_madd_epi16(pair.low, factors), _mm256_madd_epi16(pair.high, factors)};
  }
  ORBBEC_HD static V to_byte(const V& value) { return value; }  // the store saturates

  ORBBEC_HD static V load_bytes(const uint8_t* from) {
    return V(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }

  // Row y of both blocks, times the quantization steps.
  ORBBEC_HD static V load_row(const Pending (&blocks)[kBlocks], int y) {
    const __m256i cells = two(blocks[0].cells + y * kBlockSide, blocks[1].cells + y * kBlockSide);
    const __m256i steps = two(blocks[0].steps + y * kBlockSide, blocks[1].steps + y * kBlockSide);
    return V(_mm256_mullo_epi16(cells, steps));
  }

  // Whether a number times 4 overflows 16 bits.
  ORBBEC_HD static bool is_large(const V& row) {
    const __m256i positive = _mm256_add_epi16(row.bits, _mm256_set1_epi16(1 << 13));
    return !_mm256_testz_si256(positive, _mm256_set1_epi16(static_cast<int16_t>(3 << 14)));
  }

  ORBBEC_HD static void store_rows(const Pending (&blocks)[kBlocks], const V (&v)[kBlockSide]) {
    const __m256i middle = _mm256_set1_epi16(128);
    for (int y = 0; y < kBlockSide; y += 2) {
      const __m256i bytes = _mm256_packus_epi16(_mm256_add_epi16(v[y].bits, middle),
                                                _mm256_add_epi16(v[y + 1].bits, middle));
      store_two(blocks[0], y, _mm256_castsi256_si128(bytes));
      store_two(blocks[1], y, _mm256_extracti128_si256(bytes, 1));
    }
  }

  // Transposes each block: neighbors, pairs of neighbors, halves.
  ORBBEC_HD static void transpose(V (&v)[kBlockSide]) {
    __m256i ones[8], twos[8];
    for (int i = 0; i < 8; i += 2) {
      ones[i] = _mm256_unpacklo_epi16(v[i].bits, v[i + 1].bits);
      ones[i + 1] = _mm256_unpackhi_epi16(v[i].bits, v[i + 1].bits);
    }
    for (int i = 0; i < 8; i += 4) {
      for (int j = 0; j < 2; ++j) {
        twos[i + 2 * j] = _mm256_unpacklo_epi32(ones[i + j], ones[i + 2 + j]);
        twos[i + 2 * j + 1] = _mm256_unpackhi_epi32(ones[i + j], ones[i + 2 + j]);
      }
    }
    for (int i = 0; i < 4; ++i) {
      v[2 * i] = V(_mm256_unpacklo_epi64(twos[i], twos[i + 4]));
      v[2 * i + 1] = V(_mm256_unpackhi_epi64(twos[i], twos[i + 4]));
    }
  }

  // Interleaved pixels.
  ORBBEC_HD static void store_colors(uint8_t* to, const Color<V>& color) {
    const __m128i red = bytes_of(color.red), green = bytes_of(color.green),
                  blue = bytes_of(color.blue);
    store_16(to, red, green, blue,
             _mm_setr_epi8(0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5),
             _mm_setr_epi8(-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1),
             _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1));
    store_16(to + 16, red, green, blue,
             _mm_setr_epi8(-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1),
             _mm_setr_epi8(5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10),
             _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1));
    store_16(to + 32, red, green, blue,
             _mm_setr_epi8(-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1),
             _mm_setr_epi8(-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1),
             _mm_setr_epi8(10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15));
  }

 private:
  ORBBEC_HD static __m256i two(const void* low, const void* high) {
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(low))),
        _mm_loadu_si128(static_cast<const __m128i*>(high)), 1);
  }
  ORBBEC_HD static void store_two(const Pending& block, int y, __m128i rows) {
    uint8_t* const to = block.to + y * block.stride;
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), rows);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + block.stride), _mm_unpackhi_epi64(rows, rows));
  }
  ORBBEC_HD static __m128i bytes_of(const V& v) {
    return _mm_packus_epi16(_mm256_castsi256_si128(v.bits), _mm256_extracti128_si256(v.bits, 1));
  }
  ORBBEC_HD static void store_16(uint8_t* to, __m128i red, __m128i green, __m128i blue,
                                 __m128i of_red, __m128i of_green, __m128i of_blue) {
    const __m128i two =
        _mm_or_si128(_mm_shuffle_epi8(red, of_red), _mm_shuffle_epi8(green, of_green));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_or_si128(two, _mm_shuffle_epi8(blue, of_blue)));
  }
};

}  // namespace
}  // namespace orbbec
