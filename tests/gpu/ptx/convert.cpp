// cvt: conversions between all types, with PTX's rules for rounding, saturation and NaN.
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_map>

#include "execution.h"

namespace orbbec::ptx {

namespace {

enum class Whole { kNone, kNearest, kZero, kDown, kUp };

// Half-precision types by their bits; the value is widened exactly and narrowed once.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

double widen(Half a) {
  const int exponent = a.bits >> 10 & 31, fraction = a.bits & 1023;
  double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return (a.bits & 0x8000) != 0 ? -value : value;
}
double widen(BFloat a) { return std::bit_cast<float>(uint32_t{a.bits} << 16); }

// Rounds by the current mode: the unit in the last place is scaled to 1.
uint16_t narrow(double a, int fraction_bits, int lowest_exponent, int highest_exponent) {
  const uint16_t sign = std::signbit(a) ? 0x8000 : 0;
  const uint16_t infinity =
      static_cast<uint16_t>((highest_exponent - lowest_exponent + 2) << fraction_bits);
  if (a != a) return 0x7fff;
  if (std::isinf(a)) return sign | infinity;
  if (a == 0) return sign;
  const int exponent = std::max(std::ilogb(a), lowest_exponent);
  const double units = std::fabs(std::nearbyint(std::ldexp(a, fraction_bits - exponent)));
  const auto low = static_cast<uint32_t>(units);
  // A carry out of the fraction moves into the exponent, up to infinity.
  const uint32_t bits = (static_cast<uint32_t>(exponent - lowest_exponent) << fraction_bits) + low;
  if (bits < infinity) return sign | static_cast<uint16_t>(bits);
  const int mode = std::fegetround();
  const bool outward = mode == FE_TONEAREST || mode == (sign != 0 ? FE_DOWNWARD : FE_UPWARD);
  return sign | static_cast<uint16_t>(outward ? infinity : infinity - 1);
}

template <class To>
To narrow_to(double a) {
  if constexpr (std::is_same_v<To, Half>) {
    return {narrow(a, 10, -14, 15)};
  } else if constexpr (std::is_same_v<To, BFloat>) {
    return {narrow(a, 7, -126, 127)};
  } else if constexpr (std::is_same_v<To, float>) {
    return a == a ? static_cast<float>(a) : std::bit_cast<float>(0x7fffffffu);
  } else {
    return a;
  }
}
template <class T>
auto value_of(T a) {
  if constexpr (std::is_arithmetic_v<T>) {
    return a;
  } else {
    return widen(a);
  }
}

template <class T>
constexpr bool kIsFloat = !std::is_integral_v<T>;

template <class T>
T to_whole(T a, Whole mode) {
  switch (mode) {
    case Whole::kNearest:
      return std::rint(a);
    case Whole::kZero:
      return std::trunc(a);
    case Whole::kDown:
      return std::floor(a);
    case Whole::kUp:
      return std::ceil(a);
    case Whole::kNone:
      return a;
  }
  return a;
}

template <class To, class From, Whole kMode>
To float_to_int(From given) {
  const auto a = to_whole(value_of(given), kMode);
  using Value = decltype(a + 0);
  constexpr To low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  if (a != a) {  // the rule of the manual
    if (sizeof(From) < 8 && sizeof(To) < 8) return 0;
    return static_cast<To>(uint64_t{1} << (8 * sizeof(To) - 1));
  }
  // Bounds that every float type holds exactly: powers of two.
  const Value bound = std::ldexp(Value{1}, std::numeric_limits<To>::digits);
  if (a >= bound) return high;
  if (a < static_cast<Value>(low)) return low;
  return static_cast<To>(a);
}

template <class To, class From, Whole kMode>
To float_to_float(From a) {
  return narrow_to<To>(to_whole(value_of(a), kMode));
}
// What double holds exactly: the last of 53 bits stands for those below, for one rounding alone.
template <class T>
T jammed(T a) {
  if constexpr (sizeof(T) == 8) {
    const T high = a >> 53;
    if (high != 0 && high != static_cast<T>(-1)) {
      return ((a & 2047) != 0 ? a | 2048 : a) & ~T{2047};
    }
  }
  return a;
}
template <class To, class From>
To int_to_float(From a) {
  if constexpr (std::is_same_v<To, float>)
    return static_cast<float>(a);
  else if constexpr (std::is_same_v<To, double>)
    return static_cast<double>(a);
  else
    return narrow_to<To>(static_cast<double>(jammed(a)));
}
template <class To, class From>
To int_to_int(From a) {
  return static_cast<To>(a);
}
template <class To, class From>
To int_to_int_saturated(From a) {
  const auto wide = static_cast<__int128>(a);
  if (wide < std::numeric_limits<To>::min()) return std::numeric_limits<To>::min();
  if (wide > std::numeric_limits<To>::max()) return std::numeric_limits<To>::max();
  return static_cast<To>(a);
}

Whole mode_of(const std::string& mode) {
  if (mode == "rni") return Whole::kNearest;
  if (mode == "rzi") return Whole::kZero;
  if (mode == "rmi") return Whole::kDown;
  return mode == "rpi" ? Whole::kUp : Whole::kNone;
}

template <class To, class From, Whole kMode>
Operation of_mode() {
  if constexpr (!kIsFloat<From>) {
    return Map<int_to_float<To, From>>::operation();
  } else if constexpr (kIsFloat<To>) {
    // Whole numbers are of the same type: the manual's rule.
    if constexpr (kMode != Whole::kNone && !std::is_same_v<To, From>)
      return {};
    else
      return Map<float_to_float<To, From, kMode>>::operation();
  } else {
    return Map<float_to_int<To, From, kMode>>::operation();
  }
}

template <class To, class From>
Operation find(const std::string& mode, bool saturates) {
  if constexpr (!kIsFloat<From> && !kIsFloat<To>) {
    return saturates ? Map<int_to_int_saturated<To, From>>::operation()
                     : Map<int_to_int<To, From>>::operation();
  } else if constexpr (!kIsFloat<From>) {
    return of_mode<To, From, Whole::kNone>();
  } else {
    switch (mode_of(mode)) {
      case Whole::kNearest:
        return of_mode<To, From, Whole::kNearest>();
      case Whole::kZero:
        return of_mode<To, From, Whole::kZero>();
      case Whole::kDown:
        return of_mode<To, From, Whole::kDown>();
      case Whole::kUp:
        return of_mode<To, From, Whole::kUp>();
      case Whole::kNone:
        break;
    }
    if constexpr (kIsFloat<To>) return of_mode<To, From, Whole::kNone>();
    return {};  // to an integer a mode is required
  }
}

template <class To>
Operation find_from(const std::string& from, const std::string& mode, bool saturates) {
  if (from == "u8") return find<To, uint8_t>(mode, saturates);
  if (from == "s8") return find<To, int8_t>(mode, saturates);
  if (from == "u16") return find<To, uint16_t>(mode, saturates);
  if (from == "s16") return find<To, int16_t>(mode, saturates);
  if (from == "u32") return find<To, uint32_t>(mode, saturates);
  if (from == "s32") return find<To, int32_t>(mode, saturates);
  if (from == "u64") return find<To, uint64_t>(mode, saturates);
  if (from == "s64") return find<To, int64_t>(mode, saturates);
  if (from == "f16") return find<To, Half>(mode, saturates);
  if (from == "bf16") return find<To, BFloat>(mode, saturates);
  if (from == "f32") return find<To, float>(mode, saturates);
  if (from == "f64") return find<To, double>(mode, saturates);
  return {};
}

}  // namespace

Operation find_conversion(const std::string& to, const std::string& from, const std::string& mode,
                          bool saturates) {
  if (to == "u8") return find_from<uint8_t>(from, mode, saturates);
  if (to == "s8") return find_from<int8_t>(from, mode, saturates);
  if (to == "u16") return find_from<uint16_t>(from, mode, saturates);
  if (to == "s16") return find_from<int16_t>(from, mode, saturates);
  if (to == "u32") return find_from<uint32_t>(from, mode, saturates);
  if (to == "s32") return find_from<int32_t>(from, mode, saturates);
  if (to == "u64") return find_from<uint64_t>(from, mode, saturates);
  if (to == "s64") return find_from<int64_t>(from, mode, saturates);
  if (to == "f16") return find_from<Half>(from, mode, saturates);
  if (to == "bf16") return find_from<BFloat>(from, mode, saturates);
  if (to == "f32") return find_from<float>(from, mode, saturates);
  if (to == "f64") return find_from<double>(from, mode, saturates);
  return {};
}

}  // namespace orbbec::ptx
