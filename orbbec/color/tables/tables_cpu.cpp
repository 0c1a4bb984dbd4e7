#include <atomic>

#include "../rows_cpu.h"
#include "count_bytes_cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {
namespace {

void add_counts(const Counts& counts, int64_t* total) {
  for (int v = 0; v < kLevels; ++v) {
    const int64_t sum = count_of(counts, v);
    if (sum > 0) std::atomic_ref<int64_t>(total[v]).fetch_add(sum, std::memory_order_relaxed);
  }
}

// Calls `plane(c, bytes, count)` for the channels of a piece of a row, each contiguous.
template <class Plane>
void for_each_plane(const Image<const uint8_t>& image, int y, int64_t channels,
                    const Plane& plane) {
  alignas(64) uint8_t planes[3][kBlockPixels];
  for (int x = 0; x < image.width;) {
    const int left = image.width - x, count = left < kBlockPixels ? left : kBlockPixels;
    if (channels == 3) {
      read_block<3>(image, y, x, planes, count);
      for (int c = 0; c < 3; ++c) plane(c, planes[c], count);
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        read_plane(&image.at(y, x, c), image.stride_x, planes[0], count);
        plane(c, planes[0], count);
      }
    }
    x += count;
  }
}

// The channels of rows [begin, end), in groups that fit the L1 cache.
void count_rows(const Image<const uint8_t>& image, int64_t channels, int begin, int end,
                int64_t* total) {
  constexpr int64_t kGroup = 3;
  constexpr int64_t kMax = int64_t{1} << 31;  // pixels, before a count may overflow
  for (int64_t first = 0; first < channels; first += kGroup) {
    const int64_t group = channels - first < kGroup ? channels - first : kGroup;
    for (int y = begin; y < end;) {
      Counts counts[kGroup] = {};
      for (int64_t counted = image.width; y < end && counted <= kMax; counted += image.width, ++y) {
        Image<const uint8_t> view = image;
        view.data += first * image.stride_c;
        if (view.stride_x == 1) {
          for (int64_t c = 0; c < group; ++c) count_bytes(&view.at(y, 0, c), view.width, counts[c]);
        } else {
          for_each_plane(view, y, group, [&](int64_t c, const uint8_t* bytes, int count) {
            count_bytes(bytes, count, counts[c]);
          });
        }
      }
      for (int64_t c = 0; c < group; ++c) add_counts(counts[c], total + (first + c) * kLevels);
    }
  }
}

#if defined(__x86_64__)
// A byte shuffle selects one of 16 entries by the low nibble, and gives 0 for negative bytes.
// `segments[k]` holds entries 16 k to 16 k + 15, XORed with those of the previous segments in the
// same half of the LUT: the XOR of all segments up to a byte's own is its entry, and later segments
// see a negative byte.
struct LutSegments {
  alignas(16) uint8_t bytes[16][16];
  explicit LutSegments(const uint8_t* lut) {
    for (int k = 0; k < 16; ++k) {
      for (int i = 0; i < 16; ++i) {
        const uint8_t before = k % 8 == 0 ? 0 : lut[16 * k - 16 + i];
        bytes[k][i] = static_cast<uint8_t>(lut[16 * k + i] ^ before);
      }
    }
  }
};

ORBBEC_AVX2 int64_t apply_lut_avx2(const uint8_t* from, uint8_t* to, const LutSegments& lut,
                                   int64_t count) {
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    __m256i low = v, high = _mm256_xor_si256(v, _mm256_set1_epi8(-128));
    __m256i result = _mm256_setzero_si256();
    for (int k = 0; k < 8; ++k) {
      const __m256i of_low = _mm256_broadcastsi128_si256(
          _mm_load_si128(reinterpret_cast<const __m128i*>(lut.bytes[k])));
      const __m256i of_high = _mm256_broadcastsi128_si256(
          _mm_load_si128(reinterpret_cast<const __m128i*>(lut.bytes[8 + k])));
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(of_low, low));
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(of_high, high));
      low = _mm256_subs_epi8(low, _mm256_set1_epi8(16));
      high = _mm256_subs_epi8(high, _mm256_set1_epi8(16));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), result);
  }
  return i;
}

__attribute__((target("avx512f,avx512bw"))) int64_t apply_lut_avx512(const uint8_t* from,
                                                                     uint8_t* to,
                                                                     const LutSegments& lut,
                                                                     int64_t count) {
  __m512i segments[16];
  for (int k = 0; k < 16; ++k) {
    segments[k] = _mm512_maskz_broadcast_i32x4(
        0xffff, _mm_load_si128(reinterpret_cast<const __m128i*>(lut.bytes[k])));
  }
  int64_t i = 0;
  for (; i + 64 <= count; i += 64) {
    const __m512i v = _mm512_loadu_si512(from + i);
    __m512i low = v, high = _mm512_xor_si512(v, _mm512_set1_epi8(-128));
    __m512i result = _mm512_setzero_si512();
    for (int k = 0; k < 8; ++k) {
      constexpr int kXorOfThree = 0x96;
      result = _mm512_ternarylogic_epi32(result, _mm512_shuffle_epi8(segments[k], low),
                                         _mm512_shuffle_epi8(segments[8 + k], high), kXorOfThree);
      low = _mm512_subs_epi8(low, _mm512_set1_epi8(16));
      high = _mm512_subs_epi8(high, _mm512_set1_epi8(16));
    }
    _mm512_storeu_si512(to + i, result);
  }
  return i;
}
#endif

// One LUT in every form that the vector paths need.
class Lut {
 public:
  explicit Lut(const uint8_t* lut)
      : lut_(lut)
#if defined(__x86_64__)
        ,
        segments_(lut)
#endif
  {
  }

  void apply(const uint8_t* from, uint8_t* to, int64_t count, Simd level) const {
    int64_t i = 0;
#if defined(__x86_64__)
    if (level == Simd::kAvx512) i = apply_lut_avx512(from, to, segments_, count);
    if (level != Simd::kScalar) i += apply_lut_avx2(from + i, to + i, segments_, count - i);
#endif
    for (; i < count; ++i) to[i] = lut_[from[i]];
  }

 private:
  const uint8_t* lut_;
#if defined(__x86_64__)
  LutSegments segments_;
#endif
};

// Rows [begin, end) of up to three channels, each with its LUT.
void apply_lut_rows(const Image<const uint8_t>& from, const Image<uint8_t>& to, int channels,
                    const Lut* luts, int64_t begin, int64_t end, Simd level) {
  alignas(64) uint8_t planes[3][kBlockPixels];
  const bool planar = from.stride_x == 1 && to.stride_x == 1;
  for (int y = static_cast<int>(begin); y < end; ++y) {
    for (int c = 0; planar && c < channels; ++c) {
      luts[c].apply(&from.at(y, 0, c), &to.at(y, 0, c), to.width, level);
    }
    for (int x = 0; !planar && x < to.width; x += kBlockPixels) {
      const int count = to.width - x < kBlockPixels ? to.width - x : kBlockPixels;
      if (channels == 3) read_block<3>(from, y, x, planes, count);
      for (int c = 0; c < channels; ++c) {
        if (channels != 3) read_plane(&from.at(y, x, c), from.stride_x, planes[c], count);
        luts[c].apply(planes[c], planes[c], count, level);
        if (channels != 3) write_plane(planes[c], &to.at(y, x, c), to.stride_x, count);
      }
      if (channels == 3) write_block<3>(planes, to, y, x, count);
    }
  }
}

void apply_lut_image(const ApplyLut& op, int64_t n, Simd level, const ParallelFor& parallel) {
  Image<const uint8_t> from = op.source[n];
  Image<uint8_t> to = op.output[n];
  int64_t channels = op.output.channels;
  const bool packed = from.stride_c == 1 && to.stride_c == 1 && from.stride_x == channels &&
                      to.stride_x == channels && channels * to.width <= 0x7fffffff;
  if (packed && op.stride_c == 0) {  // with one LUT, an interleaved row is a row of one channel
    from.width = to.width = static_cast<int>(channels * to.width);
    from.stride_x = to.stride_x = channels = 1;
  }
  constexpr int64_t kGroup = 3;
  for (int64_t first = 0; first < channels; first += kGroup) {
    const uint8_t* const at = op.luts + n * op.stride_n + first * op.stride_c;
    const int group = static_cast<int>(channels - first < kGroup ? channels - first : kGroup);
    const Lut luts[kGroup] = {Lut(at), Lut(at + (group > 1 ? op.stride_c : 0)),
                              Lut(at + (group > 2 ? 2 * op.stride_c : 0))};
    parallel(to.height, 4 * kPixelsPerTask / (to.width + 1) + 1, [&](int64_t begin, int64_t end) {
      apply_lut_rows(from, to, group, luts, begin, end, level);
    });
    from.data += kGroup * from.stride_c;
    to.data += kGroup * to.stride_c;
  }
}

}  // namespace

void histogram_cpu(const HistogramArguments& a, const ParallelFor& parallel) {
  const int64_t channels = a.source.channels;
  for (int64_t n = 0; n < a.source.count; ++n) {
    if (a.skips(n)) continue;
    const Image<const uint8_t> image = a.source[n];
    parallel(image.height, 4 * kPixelsPerTask / (image.width + 1) + 1,
             [&](int64_t begin, int64_t end) {
               count_rows(image, channels, static_cast<int>(begin), static_cast<int>(end),
                          a.counts + n * channels * kLevels);
             });
  }
}

void apply_lut_cpu(const ApplyLut& op, const ParallelFor& parallel) {
  const Simd level = simd_level();
  for (int64_t n = 0; n < op.output.count; ++n)
    if (!op.skips(n)) apply_lut_image(op, n, level, parallel);
}

void make_luts_cpu(const MakeLut& op, int64_t count, const ParallelFor& parallel) {
  for_each_item_cpu(op, count, op.channels, 2048, parallel);
}

}  // namespace orbbec
