// Three channels of bytes side by side, to planes and back.
#include "rows_cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {
namespace {

#if defined(__x86_64__)
constexpr int kStep = 16;  // pixels
#define ORBBEC_SHUFFLE __attribute__((target("ssse3")))

// Which byte of register `part` (of three) holds channel `channel` of each of 16 pixels, or none.
struct SplitOrders {
  alignas(16) uint8_t bytes[3][3][kStep];
  constexpr SplitOrders() : bytes{} {
    for (int channel = 0; channel < 3; ++channel) {
      for (int part = 0; part < 3; ++part) {
        for (int i = 0; i < kStep; ++i) {
          const int at = 3 * i + channel - kStep * part;
          bytes[channel][part][i] = static_cast<uint8_t>(at >= 0 && at < kStep ? at : 0x80);
        }
      }
    }
  }
};
struct JoinOrders {
  alignas(16) uint8_t bytes[3][3][kStep];
  constexpr JoinOrders() : bytes{} {
    for (int channel = 0; channel < 3; ++channel) {
      for (int part = 0; part < 3; ++part) {
        for (int i = 0; i < kStep; ++i) {
          const int at = kStep * part + i;
          bytes[channel][part][i] = static_cast<uint8_t>(at % 3 == channel ? at / 3 : 0x80);
        }
      }
    }
  }
};
// Moving bytes has one result, so that the level that the user asks for does not matter.
bool can_shuffle() {
  static const bool can = __builtin_cpu_supports("ssse3") != 0;
  return can;
}

constexpr SplitOrders kSplit;
constexpr JoinOrders kJoin;

ORBBEC_SHUFFLE inline __m128i load_16(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
ORBBEC_SHUFFLE inline __m128i gather_3(const __m128i* parts, const uint8_t (*orders)[kStep]) {
  const __m128i a = _mm_shuffle_epi8(parts[0], load_16(orders[0]));
  const __m128i b = _mm_shuffle_epi8(parts[1], load_16(orders[1]));
  const __m128i c = _mm_shuffle_epi8(parts[2], load_16(orders[2]));
  return _mm_or_si128(_mm_or_si128(a, b), c);
}

ORBBEC_SHUFFLE int split_vectors(const uint8_t* packed, uint8_t* const* planes, int count) {
  int i = 0;
  for (; i + kStep <= count; i += kStep) {
    const uint8_t* const at = packed + 3 * i;
    const __m128i parts[3] = {load_16(at), load_16(at + kStep), load_16(at + 2 * kStep)};
    for (int c = 0; c < 3; ++c) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(planes[c] + i), gather_3(parts, kSplit.bytes[c]));
    }
  }
  return i;
}

ORBBEC_SHUFFLE int join_vectors(const uint8_t* const* planes, uint8_t* packed, int count) {
  int i = 0;
  for (; i + kStep <= count; i += kStep) {
    const __m128i channels[3] = {load_16(planes[0] + i), load_16(planes[1] + i),
                                 load_16(planes[2] + i)};
    for (int part = 0; part < 3; ++part) {
      const __m128i a = _mm_shuffle_epi8(channels[0], load_16(kJoin.bytes[0][part]));
      const __m128i b = _mm_shuffle_epi8(channels[1], load_16(kJoin.bytes[1][part]));
      const __m128i c = _mm_shuffle_epi8(channels[2], load_16(kJoin.bytes[2][part]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(packed + 3 * i + kStep * part),
                       _mm_or_si128(_mm_or_si128(a, b), c));
    }
  }
  return i;
}
#endif

}  // namespace

void split_bytes(const uint8_t* packed, uint8_t* first, uint8_t* second, uint8_t* third,
                 int count) {
  uint8_t* const planes[3] = {first, second, third};
  int i = 0;
#if defined(__x86_64__)
  if (can_shuffle()) i = split_vectors(packed, planes, count);
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
  if (can_shuffle()) i = join_vectors(planes, packed, count);
#endif
  for (; i < count; ++i) {
    for (int c = 0; c < 3; ++c) packed[3 * i + c] = planes[c][i];
  }
}

}  // namespace orbbec
