// CUDA's arithmetic intrinsics, with CUDA's results where C++ leaves one undefined.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// Rounding to nearest even is the mode that every thread of the process runs in, and
// -ffp-contract=off keeps a product and a sum apart.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __saturatef(float a) { return a > 0 ? (a < 1 ? a : 1.0f) : 0.0f; }  // NaN gives 0

namespace orbbec::emulation {

// CUDA's conversions saturate, and NaN becomes 0 (cvt.*.s32.f32, PTX manual).
template <class Int, class Real>
Int saturate(Real rounded) {
  if (std::isnan(rounded)) return 0;
  // 2^31 and its like are exact in Real; the largest Int often is not.
  constexpr Real kEnd = static_cast<Real>(std::numeric_limits<Int>::max() / 2 + 1) * 2;
  if (rounded >= kEnd) return std::numeric_limits<Int>::max();
  if (rounded <= static_cast<Real>(std::numeric_limits<Int>::min())) {
    return std::numeric_limits<Int>::min();
  }
  return static_cast<Int>(rounded);
}

template <class To, class From>
To same_bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &value, sizeof to);
  return to;
}

}  // namespace orbbec::emulation

#define ORBBEC_EMULATION_TO_INT(from, real, to, integer)            \
  inline integer __##from##2##to##_rn(real a) {                     \
    return orbbec::emulation::saturate<integer>(std::nearbyint(a)); \
  }                                                                 \
  inline integer __##from##2##to##_rd(real a) {                     \
    return orbbec::emulation::saturate<integer>(std::floor(a));     \
  }                                                                 \
  inline integer __##from##2##to##_ru(real a) {                     \
    return orbbec::emulation::saturate<integer>(std::ceil(a));      \
  }                                                                 \
  inline integer __##from##2##to##_rz(real a) {                     \
    return orbbec::emulation::saturate<integer>(std::trunc(a));     \
  }

ORBBEC_EMULATION_TO_INT(float, float, int, int)
ORBBEC_EMULATION_TO_INT(float, float, uint, unsigned)
ORBBEC_EMULATION_TO_INT(float, float, ll, long long)
ORBBEC_EMULATION_TO_INT(double, double, int, int)
ORBBEC_EMULATION_TO_INT(double, double, uint, unsigned)
ORBBEC_EMULATION_TO_INT(double, double, ll, long long)
#undef ORBBEC_EMULATION_TO_INT

inline float __int2float_rn(int a) { return static_cast<float>(a); }
inline float __uint2float_rn(unsigned a) { return static_cast<float>(a); }
inline float __ll2float_rn(long long a) { return static_cast<float>(a); }
inline double __int2double_rn(int a) { return a; }
inline double __ll2double_rn(long long a) { return static_cast<double>(a); }
inline float __double2float_rn(double a) { return static_cast<float>(a); }

inline int __float_as_int(float a) { return orbbec::emulation::same_bits<int>(a); }
inline unsigned __float_as_uint(float a) { return orbbec::emulation::same_bits<unsigned>(a); }
inline float __int_as_float(int a) { return orbbec::emulation::same_bits<float>(a); }
inline float __uint_as_float(unsigned a) { return orbbec::emulation::same_bits<float>(a); }
inline long long __double_as_longlong(double a) {
  return orbbec::emulation::same_bits<long long>(a);
}
inline double __longlong_as_double(long long a) { return orbbec::emulation::same_bits<double>(a); }

inline int __popc(unsigned a) { return std::popcount(a); }
inline int __popcll(unsigned long long a) { return std::popcount(a); }
inline int __clz(int a) { return std::countl_zero(static_cast<unsigned>(a)); }
inline int __clzll(long long a) { return std::countl_zero(static_cast<unsigned long long>(a)); }
inline int __ffs(int a) { return a == 0 ? 0 : std::countr_zero(static_cast<unsigned>(a)) + 1; }
inline int __ffsll(long long a) {
  return a == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(a)) + 1;
}
inline unsigned __brev(unsigned a) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (a >> bit & 1u) << (31 - bit);
  return reversed;
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
// The low word of {high, low} shifted right, by the low five bits of `shift`.
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
// Sums of four products of bytes, and of two of 16-bit numbers and the low or high bytes.
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 4; ++i) sum += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  return sum;
}
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 2; ++i) sum += (a >> 16 * i & 0xffff) * (b >> 8 * i & 0xff);
  return sum;
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned sum) {
  return __dp2a_lo(a, b >> 16, sum);
}
// Byte i of the result is the byte of {a, b} that nibble i of `selector` names.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> (4 * i);
    const unsigned byte = bytes >> (8 * (nibble & 7)) & 0xff;
    const bool sign_only = nibble & 8;
    result |= (sign_only ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
  }
  return result;
}

// Cache hints change no value.
template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
void __stcs(T* address, T value) {
  *address = value;
}
template <class T>
void __stcg(T* address, T value) {
  *address = value;
}

#define ORBBEC_EMULATION_MIN_MAX(type)                      \
  inline type min(type a, type b) { return b < a ? b : a; } \
  inline type max(type a, type b) { return a < b ? b : a; }

ORBBEC_EMULATION_MIN_MAX(int)
ORBBEC_EMULATION_MIN_MAX(unsigned)
ORBBEC_EMULATION_MIN_MAX(long)
ORBBEC_EMULATION_MIN_MAX(unsigned long)
ORBBEC_EMULATION_MIN_MAX(long long)
ORBBEC_EMULATION_MIN_MAX(unsigned long long)
#undef ORBBEC_EMULATION_MIN_MAX

// As fminf: a number wins over NaN.
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
