// The taps of one pixel of bytes, all inside the image, read for up to four channels at a time.
// Included by tap_rows_cpu.h.
#pragma once

#include "../../core/warp.h"
#include "../executor_cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {

// Reads pixel by pixel and channel by channel.
struct ScalarTaps {
  template <class... Arguments>
  ORBBEC_HD static bool read(const Arguments&...) {
    return false;
  }
};

#if defined(__x86_64__)
// `read` is false for layouts and samplers that it does not know.
struct Avx2Taps : ScalarTaps {
  using ScalarTaps::read;

  // Lanczos, as of TabulatedSampler.
  ORBBEC_AVX2 static bool read(const Image<const uint8_t>& image, int64_t channels,
                               const TabulatedSampler<Lanczos4Kernel>::Tap<uint8_t>& tap,
                               const int16_t* weights, uint8_t (&values)[4]) {
    const uint8_t* const first = &image.at(tap.y, tap.x, 0);
    __m128i sums;
    if (image.stride_c == 1 && image.stride_x == 3 && channels == 3) {
      __m256i sum = _mm256_setzero_si256();
      for (int r = 0; r < 8; r += 2) {
        const __m256i w = two_rows(weights, r);
        sum = _mm256_add_epi32(sum, packed_rows(first + r * image.stride_y, image.stride_y, w));
      }
      sums = halves(sum);
    } else if (image.stride_x == 1 && channels <= 3) {
      int planes[4] = {};
      for (int64_t c = 0; c < channels; ++c)
        planes[c] = plane_sum(first + c * image.stride_c, image.stride_y, weights);
      sums = _mm_loadu_si128(reinterpret_cast<const __m128i*>(planes));
    } else {
      return false;
    }
    store(_mm_srai_epi32(_mm_add_epi32(sums, _mm_set1_epi32(kWeightRound)), 15), values);
    return true;
  }

 private:
  // Saturates.
  ORBBEC_AVX2 static void store(__m128i ints, uint8_t (&values)[4]) {
    const __m128i words = _mm_packs_epi32(ints, ints);
    _mm_storeu_si32(values, _mm_packus_epi16(words, words));
  }

  ORBBEC_AVX2 static __m256i two_rows(const int16_t* weights, int r) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + 8 * r));
  }
  ORBBEC_AVX2 static __m128i halves(__m256i sum) {
    return _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  }

  // Two rows of eight packed pixels, a row in each half: 16-bit pairs of neighbors, channel by
  // channel.
  ORBBEC_AVX2 static __m256i packed_rows(const uint8_t* row, int64_t stride, __m256i w) {
    const auto load = [=](int bytes) ORBBEC_AVX2 {
      const auto* const above = reinterpret_cast<const __m128i*>(row + bytes);
      const auto* const below = reinterpret_cast<const __m128i*>(row + stride + bytes);
      return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(above)),
                                     _mm_loadu_si128(below), 1);
    };
    const auto pairs = [](__m256i bytes, char first) ORBBEC_AVX2 {
      const __m128i order = _mm_add_epi8(_mm_setr_epi8(0, -128, 3, -128, 1, -128, 4, -128, 2, -128,
                                                       5, -128, -128, -128, -128, -128),
                                         _mm_set1_epi8(first));
      return _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(order));
    };
    const __m256i left = load(0),
                  right = load(8);  // the pixels from 0 on, and from 4 on after 4 bytes
    const __m256i sums[4] = {_mm256_madd_epi16(pairs(left, 0), _mm256_shuffle_epi32(w, 0x00)),
                             _mm256_madd_epi16(pairs(left, 6), _mm256_shuffle_epi32(w, 0x55)),
                             _mm256_madd_epi16(pairs(right, 4), _mm256_shuffle_epi32(w, 0xaa)),
                             _mm256_madd_epi16(pairs(right, 10), _mm256_shuffle_epi32(w, 0xff))};
    return _mm256_add_epi32(_mm256_add_epi32(sums[0], sums[1]), _mm256_add_epi32(sums[2], sums[3]));
  }

  ORBBEC_AVX2 static int plane_sum(const uint8_t* first, int64_t stride, const int16_t* weights) {
    __m256i sum = _mm256_setzero_si256();
    for (int r = 0; r < 8; r += 2) {
      int64_t rows[2];
      for (int i = 0; i < 2; ++i) memcpy(&rows[i], first + (r + i) * stride, 8);
      const __m256i words = _mm256_cvtepu8_epi16(_mm_set_epi64x(rows[1], rows[0]));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(words, two_rows(weights, r)));
    }
    __m128i four = halves(sum);
    four = _mm_add_epi32(four, _mm_srli_si128(four, 8));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_srli_si128(four, 4)));
  }
};
#else
using Avx2Taps = ScalarTaps;
#endif

}  // namespace orbbec
