// Instructions on words of 32 bits, for one lane. Included by arithmetic.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace orbbec::ptx {

inline uint32_t shf_l_wrap(uint32_t a, uint32_t b, uint32_t n) {
  return static_cast<uint32_t>(((uint64_t{b} << 32 | a) << (n & 31)) >> 32);
}
inline uint32_t shf_r_wrap(uint32_t a, uint32_t b, uint32_t n) {
  return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> (n & 31));
}
inline uint32_t shf_l_clamp(uint32_t a, uint32_t b, uint32_t n) {
  return n >= 32 ? a : shf_l_wrap(a, b, n);
}
inline uint32_t shf_r_clamp(uint32_t a, uint32_t b, uint32_t n) {
  return n >= 32 ? b : shf_r_wrap(a, b, n);
}
inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> 4 * i;
    uint32_t byte = bytes >> 8 * (selector & 7) & 255;
    if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;  // its sign, eight times
    result |= byte << 8 * i;
  }
  return result;
}
// Products of 16-bit numbers and bytes, or of bytes and bytes.
template <class A, class B, int kHigh>
inline uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c) {
  using Wide = std::conditional_t<std::is_signed_v<A>, int16_t, uint16_t>;
  for (int i = 0; i < 2; ++i) {
    const int64_t x = static_cast<Wide>(a >> 16 * i);
    const int64_t y = static_cast<B>(b >> 8 * (i + 2 * kHigh));
    c += static_cast<uint32_t>(x * y);
  }
  return c;
}
template <class A, class B>
inline uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 4; ++i) {
    const int64_t x = static_cast<A>(a >> 8 * i), y = static_cast<B>(b >> 8 * i);
    c += static_cast<uint32_t>(x * y);
  }
  return c;
}
// Of two float16; a difference of two is exact in float64.
inline uint32_t sub_saturated(uint32_t a, uint32_t b) {
  const auto half = [](uint32_t bits) -> double {
    return std::bit_cast<_Float16>(static_cast<uint16_t>(bits));
  };
  const auto difference = [&](int i) -> uint32_t {
    const double exact = half(a >> i) - half(b >> i);
    return std::bit_cast<uint16_t>(static_cast<_Float16>(exact > 0 ? std::min(exact, 1.0) : 0.0));
  };
  return difference(16) << 16 | difference(0);
}
inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (int i = 0; i < 8; ++i) {
    if ((table >> i & 1) == 0) continue;
    result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  return result;
}

}  // namespace orbbec::ptx
