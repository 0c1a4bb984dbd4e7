// Arithmetic, comparisons and bits: what PTX's manual defines for one lane.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_map>

#include "execution.h"
#include "words.h"

namespace orbbec::ptx {

namespace {

using Table = std::unordered_map<std::string, Operation>;

template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
template <class T>
constexpr int kBits = 8 * sizeof(T);

// NaN of float32 is this one; float64 keeps payloads, as x86 does.
float canonical(float x) { return x == x ? x : std::bit_cast<float>(0x7fffffffu); }
double canonical(double x) { return x; }

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Bits<T>>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b)));
  } else {
    return canonical(a + b);
  }
}
template <class T>
T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Bits<T>>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b)));
  } else {
    return canonical(a - b);
  }
}
template <class T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

template <class T>
T mul_lo(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <class T>
T mul_hi(T a, T b) {
  return static_cast<T>((static_cast<Double<T>>(a) * b) >> kBits<T>);
}
template <class T>
Double<T> mul_wide(T a, T b) {
  return static_cast<Double<T>>(a) * b;
}
template <class T>
T mad_lo(T a, T b, T c) {
  return add(mul_lo(a, b), c);
}
template <class T>
T mad_hi(T a, T b, T c) {
  return add(mul_hi(a, b), c);
}
template <class T>
Double<T> mad_wide(T a, T b, Double<T> c) {
  return add(mul_wide(a, b), c);
}
// The manual leaves x / 0 open; GPUs give all ones, and x as the remainder.
template <class T>
T div(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return sub<T>(0, a);
  return static_cast<T>(a / b);
}
template <class T>
T rem(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}
template <class T>
T min(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return b < a ? b : a;
  } else {  // a number wins over NaN, -0 is less than +0
    if (a != a) return canonical(b);
    if (b != b) return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }
}
template <class T>
T max(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b ? b : a;
  } else {
    if (a != a) return canonical(b);
    if (b != b) return a;
    return b < a || (a == b && !std::signbit(a)) ? a : b;
  }
}
template <class T>
T neg(T a) {
  if constexpr (std::is_integral_v<T>) return sub<T>(0, a);
  return -a;
}
template <class T>
T abs(T a) {
  if constexpr (std::is_integral_v<T>) return a < 0 ? sub<T>(0, a) : a;
  return std::fabs(a);
}
template <class T>
T mul(T a, T b) {
  return canonical(a * b);
}
template <class T>
T fma(T a, T b, T c) {
  return canonical(std::fma(a, b, c));
}
template <class T>
T quotient(T a, T b) {
  return canonical(a / b);
}
template <class T>
T rcp(T a) {
  return canonical(1 / a);
}
template <class T>
T sqrt(T a) {
  return canonical(std::sqrt(a));
}
template <class T>
T copysign(T a, T b) {  // the sign of a
  return std::copysign(b, a);
}
float flush(float a) {
  return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(0.0f, a) : a;
}
template <class T>
T saturate(T a) {
  return a > 0 ? (a < 1 ? a : T{1}) : T{0};
}

template <class T>
T bit_and(T a, T b) {
  return a & b;
}
template <class T>
T bit_or(T a, T b) {
  return a | b;
}
template <class T>
T bit_xor(T a, T b) {
  return a ^ b;
}
template <class T>
T bit_not(T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    return static_cast<T>(~a);
  }
}
template <class T>
T shl(T a, uint32_t n) {
  return n >= kBits<T> ? T{0} : static_cast<T>(static_cast<Bits<T>>(a) << n);
}
template <class T>
T shr(T a, uint32_t n) {
  if (n < kBits<T>) return static_cast<T>(a >> n);
  return static_cast<T>(std::is_signed_v<T> ? a >> (kBits<T> - 1) : 0);
}
template <class T>
uint32_t popc(T a) {
  return std::popcount(a);
}
template <class T>
uint32_t clz(T a) {
  return std::countl_zero(a);
}
template <class T>
T brev(T a) {
  T result = 0;
  for (int i = 0; i < kBits<T>; ++i) result |= (a >> i & 1) << (kBits<T> - 1 - i);
  return result;
}
template <class T>
uint32_t bfind(T a) {  // the highest bit that differs from the sign
  const auto bits = static_cast<Bits<T>>(std::is_signed_v<T> && a < 0 ? ~a : a);
  return bits == 0 ? ~0u : kBits<T> - 1 - std::countl_zero(bits);
}
template <class T>
uint32_t bfind_shift(T a) {
  const uint32_t at = bfind(a);
  return at == ~0u ? at : kBits<T> - 1 - at;
}
template <class T>
T bfe(T a, uint32_t position, uint32_t length) {
  position &= 255;
  length &= 255;
  if (length == 0) return 0;
  const uint32_t last = std::min<uint32_t>(position + length - 1, kBits<T> - 1);
  const bool sign = std::is_signed_v<T> && (static_cast<Bits<T>>(a) >> last & 1) != 0;
  const Bits<T> field = shr<Bits<T>>(a, position);
  const Bits<T> above = shl<Bits<T>>(~Bits<T>{0}, std::min(length, 64u));
  const Bits<T> kept = static_cast<Bits<T>>(field & ~above);
  // From the last bit on, all are the sign.
  const uint32_t known = last >= position ? last - position + 1 : 0;
  return static_cast<T>(sign ? kept | shl<Bits<T>>(~Bits<T>{0}, known) : kept);
}
template <class T>
T bfi(T a, T b, uint32_t position, uint32_t length) {
  position &= 255;
  length &= 255;
  const T field = shl<T>(bit_not(shl<T>(static_cast<T>(~T{0}), length)), position);
  return static_cast<T>((b & ~field) | (shl<T>(a, position) & field));
}
template <class T>
T sad(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}
template <class T>
T move(T a) {
  return a;
}
template <class T>
T select(T a, T b, bool first) {
  return first ? a : b;
}
template <class T>
bool eq(T a, T b) {
  return a == b;
}
template <class T>
bool ne(T a, T b) {
  return a < b || a > b;  // false for NaN
}
template <class T>
bool lt(T a, T b) {
  return a < b;
}
template <class T>
bool le(T a, T b) {
  return a <= b;
}
template <class T>
bool gt(T a, T b) {
  return a > b;
}
template <class T>
bool ge(T a, T b) {
  return a >= b;
}
template <class T>
bool equ(T a, T b) {
  return !ne(a, b);
}
template <class T>
bool neu(T a, T b) {
  return a != b;
}
template <class T>
bool ltu(T a, T b) {
  return !(a >= b);
}
template <class T>
bool leu(T a, T b) {
  return !(a > b);
}
template <class T>
bool gtu(T a, T b) {
  return !(a <= b);
}
template <class T>
bool geu(T a, T b) {
  return !(a < b);
}
template <class T>
bool num(T a, T b) {
  return a == a && b == b;
}
template <class T>
bool nan(T a, T b) {
  return !num(a, b);
}

template <auto F>
void put(Table& table, const std::string& opcode) {
  table[opcode] = Map<F>::operation();
}

template <class T>
void put_comparisons(Table& t, const std::string& type) {
  put<eq<T>>(t, "setp.eq" + type);
  put<ne<T>>(t, "setp.ne" + type);
  put<lt<T>>(t, "setp.lt" + type);
  put<le<T>>(t, "setp.le" + type);
  put<gt<T>>(t, "setp.gt" + type);
  put<ge<T>>(t, "setp.ge" + type);
  if constexpr (std::is_unsigned_v<T>) {
    put<lt<T>>(t, "setp.lo" + type);
    put<le<T>>(t, "setp.ls" + type);
    put<gt<T>>(t, "setp.hi" + type);
    put<ge<T>>(t, "setp.hs" + type);
  }
}

template <class T>
void put_integers(Table& t, const std::string& type) {
  put_comparisons<T>(t, type);
  put<add<T>>(t, "add" + type);
  put<sub<T>>(t, "sub" + type);
  put<mul_lo<T>>(t, "mul.lo" + type);
  put<mul_hi<T>>(t, "mul.hi" + type);
  put<mad_lo<T>>(t, "mad.lo" + type);
  put<mad_hi<T>>(t, "mad.hi" + type);
  put<div<T>>(t, "div" + type);
  put<rem<T>>(t, "rem" + type);
  put<min<T>>(t, "min" + type);
  put<max<T>>(t, "max" + type);
  put<sad<T>>(t, "sad" + type);
  put<shr<T>>(t, "shr" + type);
  put<move<T>>(t, "mov" + type);
  put<select<T>>(t, "selp" + type);
  if constexpr (std::is_signed_v<T>) {
    put<neg<T>>(t, "neg" + type);
    put<abs<T>>(t, "abs" + type);
  }
  if constexpr (sizeof(T) < 8) {
    put<mul_wide<T>>(t, "mul.wide" + type);
    put<mad_wide<T>>(t, "mad.wide" + type);
  }
  if constexpr (sizeof(T) > 2) {
    put<bfe<T>>(t, "bfe" + type);
    put<bfind<T>>(t, "bfind" + type);
    put<bfind_shift<T>>(t, "bfind.shiftamt" + type);
  }
}

template <class T>
void put_bits(Table& t, const std::string& type) {
  put<bit_and<T>>(t, "and" + type);
  put<bit_or<T>>(t, "or" + type);
  put<bit_xor<T>>(t, "xor" + type);
  put<bit_not<T>>(t, "not" + type);
  put<move<T>>(t, "mov" + type);
  if constexpr (!std::is_same_v<T, bool>) {
    put<eq<T>>(t, "setp.eq" + type);
    put<ne<T>>(t, "setp.ne" + type);
    put<shl<T>>(t, "shl" + type);
    put<shr<T>>(t, "shr" + type);
    put<select<T>>(t, "selp" + type);
    if constexpr (sizeof(T) > 2) {
      put<popc<T>>(t, "popc" + type);
      put<clz<T>>(t, "clz" + type);
      put<brev<T>>(t, "brev" + type);
      put<bfi<T>>(t, "bfi" + type);
    }
  }
}

template <class T>
void put_floats(Table& t, const std::string& type) {
  put_comparisons<T>(t, type);
  put<equ<T>>(t, "setp.equ" + type);
  put<neu<T>>(t, "setp.neu" + type);
  put<ltu<T>>(t, "setp.ltu" + type);
  put<leu<T>>(t, "setp.leu" + type);
  put<gtu<T>>(t, "setp.gtu" + type);
  put<geu<T>>(t, "setp.geu" + type);
  put<num<T>>(t, "setp.num" + type);
  put<nan<T>>(t, "setp.nan" + type);
  put<add<T>>(t, "add" + type);
  put<sub<T>>(t, "sub" + type);
  put<mul<T>>(t, "mul" + type);
  put<fma<T>>(t, "fma" + type);
  put<fma<T>>(t, "mad" + type);
  put<quotient<T>>(t, "div" + type);
  put<rcp<T>>(t, "rcp" + type);
  put<sqrt<T>>(t, "sqrt" + type);
  put<min<T>>(t, "min" + type);
  put<max<T>>(t, "max" + type);
  put<neg<T>>(t, "neg" + type);
  put<abs<T>>(t, "abs" + type);
  put<copysign<T>>(t, "copysign" + type);
  put<move<T>>(t, "mov" + type);
  put<select<T>>(t, "selp" + type);
  put<saturate<T>>(t, "saturate" + type);
}

Table make_table() {
  Table t;
  put_integers<uint16_t>(t, ".u16");
  put_integers<int16_t>(t, ".s16");
  put_integers<uint32_t>(t, ".u32");
  put_integers<int32_t>(t, ".s32");
  put_integers<uint64_t>(t, ".u64");
  put_integers<int64_t>(t, ".s64");
  put_bits<bool>(t, ".pred");
  put_bits<uint16_t>(t, ".b16");
  put_bits<uint32_t>(t, ".b32");
  put_bits<uint64_t>(t, ".b64");
  put_floats<float>(t, ".f32");
  put_floats<double>(t, ".f64");
  put<flush>(t, "flush.f32");
  put<shf_l_wrap>(t, "shf.l.wrap.b32");
  put<shf_r_wrap>(t, "shf.r.wrap.b32");
  put<shf_l_clamp>(t, "shf.l.clamp.b32");
  put<shf_r_clamp>(t, "shf.r.clamp.b32");
  put<prmt>(t, "prmt.b32");
  put<lop3>(t, "lop3.b32");
  put<sub_saturated>(t, "sub.sat.f16x2");
  put<dp2a<uint8_t, uint8_t, 0>>(t, "dp2a.lo.u32.u32");
  put<dp2a<uint8_t, uint8_t, 1>>(t, "dp2a.hi.u32.u32");
  put<dp2a<int8_t, int8_t, 0>>(t, "dp2a.lo.s32.s32");
  put<dp2a<int8_t, int8_t, 1>>(t, "dp2a.hi.s32.s32");
  put<dp2a<int8_t, uint8_t, 0>>(t, "dp2a.lo.s32.u32");
  put<dp2a<int8_t, uint8_t, 1>>(t, "dp2a.hi.s32.u32");
  put<dp2a<uint8_t, int8_t, 0>>(t, "dp2a.lo.u32.s32");
  put<dp2a<uint8_t, int8_t, 1>>(t, "dp2a.hi.u32.s32");
  put<dp4a<uint8_t, uint8_t>>(t, "dp4a.u32.u32");
  put<dp4a<int8_t, int8_t>>(t, "dp4a.s32.s32");
  put<dp4a<int8_t, uint8_t>>(t, "dp4a.s32.u32");
  put<dp4a<uint8_t, int8_t>>(t, "dp4a.u32.s32");
  return t;
}

const Table table = make_table();

}  // namespace

Operation find_arithmetic(const std::string& opcode) {
  const auto found = table.find(opcode);
  return found == table.end() ? Operation{} : found->second;
}

std::vector<std::string> arithmetic_opcodes() {
  std::vector<std::string> names;
  for (const auto& [name, operation] : table) names.push_back(name);
  return names;
}

}  // namespace orbbec::ptx
