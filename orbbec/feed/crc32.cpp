#include "crc32.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {
namespace {

// Bit i of a word is the coefficient of x^(31 - i), so that a shift to the right multiplies by x.
constexpr uint32_t kZlib = 0xedb88320, kCastagnoli = 0x82f63b78;  // polynomials

template <uint32_t kPolynomial>
constexpr uint32_t times_x(uint32_t word) {
  return (word >> 1) ^ (word & 1 ? kPolynomial : 0);
}

constexpr int kStep = 8;  // bytes

// Remainder k of a byte: that of the byte followed by k bytes of zeros.
template <uint32_t kPolynomial>
struct Remainders {
  uint32_t of[kStep][256];

  constexpr Remainders() : of{} {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t word = byte;
      for (int k = 0; k < kStep; ++k) {
        for (int bit = 0; bit < 8; ++bit) word = times_x<kPolynomial>(word);
        of[k][byte] = word;
      }
    }
  }
};
template <uint32_t kPolynomial>
constexpr Remainders<kPolynomial> kRemainders;

template <uint32_t kPolynomial>
uint32_t by_table(uint32_t state, const uint8_t* data, size_t size) {
  const auto& of = kRemainders<kPolynomial>.of;
  for (; size >= kStep; data += kStep, size -= kStep) {
    uint32_t next = 0;
    for (int i = 0; i < kStep; ++i) {
      const uint32_t byte = data[i] ^ (i < 4 ? state >> (8 * i) & 0xff : 0);
      next ^= of[kStep - 1 - i][byte];
    }
    state = next;
  }
  for (; size > 0; ++data, --size) state = (state >> 8) ^ of[0][(state ^ *data) & 0xff];
  return state;
}

#if defined(__x86_64__)
constexpr size_t kRegisters = 4;  // independent sums, since a product takes several cycles

// x^n modulo the polynomial; the shift makes up for a product of reversed bits.
template <uint32_t kPolynomial>
constexpr int64_t power_of_x(size_t n) {
  uint32_t word = 0x80000000;
  for (size_t i = 0; i < n; ++i) word = times_x<kPolynomial>(word);
  return int64_t{word} << 1;
}

// Sums the data in `kRegisters` registers, whose sums are multiplied by a power of x at each
// stride. At least one stride of bytes.
template <uint32_t kPolynomial, class Register,
          Register (*kTimes)(Register sums, const int64_t* powers)>
inline __attribute__((always_inline)) uint32_t by_folding(uint32_t state, const uint8_t* data,
                                                          size_t size) {
  constexpr size_t kStride = sizeof(Register) * kRegisters;
  constexpr int64_t kPowers[2] = {power_of_x<kPolynomial>(8 * kStride + 32),
                                  power_of_x<kPolynomial>(8 * kStride - 32)};
  const auto load = [](const uint8_t* from) {
    Register value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  };
  Register sums[kRegisters];
  std::memcpy(sums, data, kStride);
  sums[0][0] ^= state;
  for (data += kStride, size -= kStride; size >= kStride; data += kStride, size -= kStride) {
    for (size_t i = 0; i < kRegisters; ++i) {
      sums[i] = kTimes(sums[i], kPowers) ^ load(data + sizeof(Register) * i);
    }
  }
  uint8_t rest[kStride];  // has the remainder of all that was summed
  std::memcpy(rest, sums, kStride);
  return by_table<kPolynomial>(by_table<kPolynomial>(0, rest, kStride), data, size);
}

#define ORBBEC_SSE __attribute__((target("sse4.1,pclmul")))
#define ORBBEC_AVX __attribute__((target("avx2,pclmul,vpclmulqdq")))
using Sse = __m128i;
using Avx = __m256i;

ORBBEC_SSE inline Sse times(Sse sums, const int64_t* powers) {
  const Sse both = _mm_set_epi64x(powers[1], powers[0]);
  return _mm_clmulepi64_si128(sums, both, 0x00) ^ _mm_clmulepi64_si128(sums, both, 0x11);
}
ORBBEC_AVX inline Avx times(Avx sums, const int64_t* powers) {
  const Avx both = _mm256_setr_epi64x(powers[0], powers[1], powers[0], powers[1]);
  return _mm256_clmulepi64_epi128(sums, both, 0x00) ^ _mm256_clmulepi64_epi128(sums, both, 0x11);
}
template <uint32_t kPolynomial>
ORBBEC_SSE uint32_t by_sse(uint32_t state, const uint8_t* data, size_t size) {
  return by_folding<kPolynomial, Sse, times>(state, data, size);
}
template <uint32_t kPolynomial>
ORBBEC_AVX uint32_t by_avx(uint32_t state, const uint8_t* data, size_t size) {
  return by_folding<kPolynomial, Avx, times>(state, data, size);
}
#endif

using Checksum = uint32_t (*)(uint32_t state, const uint8_t* data, size_t size);
constexpr size_t kMinFolded = 128;  // bytes: the longest stride

// All give the same value, so the level that the user asks for does not matter.
template <uint32_t kPolynomial>
Checksum fastest() {
#if defined(__x86_64__)
  const bool sse = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("pclmul");
  const bool avx = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
  return sse && avx ? by_avx<kPolynomial> : sse ? by_sse<kPolynomial> : by_table<kPolynomial>;
#else
  return by_table<kPolynomial>;
#endif
}

template <uint32_t kPolynomial>
uint32_t checksum(uint32_t crc, const uint8_t* data, size_t size) {
  static const Checksum kFastest = fastest<kPolynomial>();
  return ~(size < kMinFolded ? by_table<kPolynomial> : kFastest)(~crc, data, size);
}

}  // namespace

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size) {
  return checksum<kZlib>(crc, data, size);
}

uint32_t crc32c(uint32_t crc, const uint8_t* data, size_t size) {
  return checksum<kCastagnoli>(crc, data, size);
}

}  // namespace orbbec

#pragma GCC visibility push(default)
extern "C" {

// For ctypes.
uint32_t orbbec_crc32(uint32_t crc, const uint8_t* data, size_t size) {
  return orbbec::crc32(crc, data, size);
}

uint32_t orbbec_crc32c(uint32_t crc, const uint8_t* data, size_t size) {
  return orbbec::crc32c(crc, data, size);
}
}
#pragma GCC visibility pop
