#include "packed_bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {

#if defined(__x86_64__)
bool can_permute() {
  static const bool can =
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vbmi") != 0;
  return can;
}
#endif

namespace {

#if defined(__x86_64__)
constexpr int kStep = 16;  // pixels
#define ORBBEC_SHUFFLE __attribute__((target("ssse3")))

// Which byte of three registers of `step` bytes goes to byte i of register `to`. Splitting: channel
// `to` of pixel i. Joining: byte `to * step + i` of the interleaved pixels.
constexpr int byte_from(int step, bool splits, int to, int i) {
  const int at = step * to + i;
  return splits ? 3 * i + to : step * (at % 3) + at / 3;
}

// For each output and input register: the source bytes, or none.
struct ShortOrders {
  alignas(kStep) uint8_t bytes[3][3][kStep];

  constexpr explicit ShortOrders(bool splits) : bytes{} {
    for (int to = 0; to < 3; ++to) {
      for (int i = 0; i < kStep; ++i) {
        const int from = byte_from(kStep, splits, to, i);
        for (int k = 0; k < 3; ++k) {
          bytes[to][k][i] = static_cast<uint8_t>(from / kStep == k ? from % kStep : 0x80);
        }
      }
    }
  }
};
constexpr ShortOrders kShortSplit(true), kShortJoin(false);

// A permutation of bytes has only one result, so the level that the user asks for does not matter.
bool can_shuffle() {
  static const bool can = __builtin_cpu_supports("ssse3") != 0;
  return can;
}

constexpr int kLong = 64;  // pixels
#define ORBBEC_PERMUTE __attribute__((target("avx512f,avx512bw,avx512vbmi")))

// Which byte of three registers goes to each byte of a fourth: one permutation takes bytes of the
// first two registers, another, masked by `of_third`, those of the third.
struct LongOrders {
  alignas(kLong) uint8_t bytes[3][kLong];
  uint64_t of_third[3];

  constexpr explicit LongOrders(bool splits) : bytes{}, of_third{} {
    for (int k = 0; k < 3; ++k) {
      for (int i = 0; i < kLong; ++i) {
        const int from = byte_from(kLong, splits, k, i);
        bytes[k][i] = static_cast<uint8_t>(from % (2 * kLong));
        of_third[k] |= uint64_t{from >= 2 * kLong} << i;
      }
    }
  }
};
constexpr LongOrders kLongSplit(true), kLongJoin(false);

ORBBEC_PERMUTE inline __m512i load_64(const uint8_t* from) { return _mm512_loadu_si512(from); }
ORBBEC_PERMUTE inline __m512i permuted(const __m512i* from, const LongOrders& orders, int k) {
  const __m512i order = load_64(orders.bytes[k]);
  const __m512i of_two = _mm512_permutex2var_epi8(from[0], order, from[1]);
  return _mm512_mask_permutexvar_epi8(of_two, orders.of_third[k], order, from[2]);
}

ORBBEC_PERMUTE int split_long(const uint8_t* packed, uint8_t* const* planes, int count) {
  int i = 0;
  for (; i + kLong <= count; i += kLong) {
    const uint8_t* const at = packed + 3 * i;
    const __m512i segments[3] = {load_64(at), load_64(at + kLong), load_64(at + 2 * kLong)};
    for (int c = 0; c < 3; ++c)
      _mm512_storeu_si512(planes[c] + i, permuted(segments, kLongSplit, c));
  }
  return i;
}

ORBBEC_PERMUTE int join_long(const uint8_t* const* planes, uint8_t* packed, int count) {
  int i = 0;
  for (; i + kLong <= count; i += kLong) {
    const __m512i channels[3] = {load_64(planes[0] + i), load_64(planes[1] + i),
                                 load_64(planes[2] + i)};
    for (int k = 0; k < 3; ++k) {
      _mm512_storeu_si512(packed + 3 * i + kLong * k, permuted(channels, kLongJoin, k));
    }
  }
  return i;
}

ORBBEC_SHUFFLE inline __m128i load_16(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
ORBBEC_SHUFFLE inline __m128i gather_3(const __m128i* segments, const uint8_t (*orders)[kStep]) {
  const __m128i a = _mm_shuffle_epi8(segments[0], load_16(orders[0]));
  const __m128i b = _mm_shuffle_epi8(segments[1], load_16(orders[1]));
  const __m128i c = _mm_shuffle_epi8(segments[2], load_16(orders[2]));
  return _mm_or_si128(_mm_or_si128(a, b), c);
}

ORBBEC_SHUFFLE int split_vectors(const uint8_t* packed, uint8_t* const* planes, int i, int count) {
  for (; i + kStep <= count; i += kStep) {
    const uint8_t* const at = packed + 3 * i;
    const __m128i segments[3] = {load_16(at), load_16(at + kStep), load_16(at + 2 * kStep)};
    for (int c = 0; c < 3; ++c) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(planes[c] + i),
                       gather_3(segments, kShortSplit.bytes[c]));
    }
  }
  return i;
}

ORBBEC_SHUFFLE int join_vectors(const uint8_t* const* planes, uint8_t* packed, int i, int count) {
  for (; i + kStep <= count; i += kStep) {
    const __m128i channels[3] = {load_16(planes[0] + i), load_16(planes[1] + i),
                                 load_16(planes[2] + i)};
    for (int k = 0; k < 3; ++k) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(packed + 3 * i + kStep * k),
                       gather_3(channels, kShortJoin.bytes[k]));
    }
  }
  return i;
}

// As many whole pixels as a vector holds; the bytes after them are those of the next.
ORBBEC_SHUFFLE int reverse_vectors(const uint8_t* packed, uint8_t* reversed, int count) {
  const __m128i order = _mm_setr_epi8(2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, 14, 13, 12, 15);
  int i = 0;
  for (; i + kStep / 3 < count; i += kStep / 3) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(reversed + 3 * i),
                     _mm_shuffle_epi8(load_16(packed + 3 * i), order));
  }
  return i;
}
#endif

}  // namespace

void reverse_channels(const uint8_t* packed, uint8_t* reversed, int count) {
  int i = 0;
#if defined(__x86_64__)
  if (can_shuffle()) i = reverse_vectors(packed, reversed, count);
#endif
  for (; i < count; ++i) {
    for (int c = 0; c < 3; ++c) reversed[3 * i + c] = packed[3 * i + 2 - c];
  }
}

void split_bytes(const uint8_t* packed, uint8_t* first, uint8_t* second, uint8_t* third,
                 int count) {
  uint8_t* const planes[3] = {first, second, third};
  int i = 0;
#if defined(__x86_64__)
  if (can_permute()) i = split_long(packed, planes, count);
  if (can_shuffle()) i = split_vectors(packed, planes, i, count);
#endif
  for (; i < count; ++i) {
    for (int c = 0; c < 3; ++c) planes[c][i] = packed[3 * i + c];
  }
}

void join_bytes(const uint8_t* first, const uint8_t* second, const uint8_t* third, uint8_t* packed,
                int count) {
  const uint8_t* const planes[3] = {first, second, third};
  int i = 0;
#if defined(__x86_64__)
  if (can_permute()) i = join_long(planes, packed, count);
  if (can_shuffle()) i = join_vectors(planes, packed, i, count);
#endif
  for (; i < count; ++i) {
    for (int c = 0; c < 3; ++c) packed[3 * i + c] = planes[c][i];
  }
}

}  // namespace orbbec
