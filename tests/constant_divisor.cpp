// Proves that ConstantDivisor gives the bits of a division, for every divisor; see
// test_constant_divisor.py. Prints the number of wrong quotients among all that could be wrong.
//
// With 24-bit integers x and y for the value and the divisor, x / y lies |k| / 2y of a float's last
// place from the middle between two floats, where k = x * 2^s - m * y, m is odd, and s is 24 if
// x >= y and 25 otherwise. k is not 0. Before its last rounding, a quotient is off by at most 1.5 *
// 2^-23 of that place: 1.5 positions of `near`, times the relative errors of `rest` and of the
// reciprocal, 2^-24 each. So only |k| <= 6 can round to the wrong side.
#include "orbbec/core/constant_divisor.h"

#include <cstdio>
#include <cstdlib>

namespace {

using orbbec::ConstantDivisor;

struct Counts {
  int64_t tried = 0, wrong = 0;
};

float quotient_of(const ConstantDivisor& divide, float value, bool is_corrected) {
  return is_corrected ? divide.quotient(value) : value * divide.reciprocal;
}

// All x and m of one k: solves m * y = -k modulo 2^s.
void try_all(uint32_t y, int64_t k, int s, bool is_corrected, Counts& counts) {
  const float divisor = static_cast<float>(y);
  const ConstantDivisor divide{divisor, 1 / divisor};
  for (; y % 2 == 0 && k % 2 == 0; y /= 2, k /= 2) --s;
  if (y % 2 == 0 || k % 2 == 0) return;  // no odd m
  uint32_t inverse = y;                  // modulo 2^3, then twice the bits each time
  for (int i = 0; i < 4; ++i) inverse *= 2 - y * inverse;
  const int64_t step = int64_t{1} << s;
  for (int64_t m = (-k * int64_t{inverse}) & (step - 1); m < 1 << 25; m += step) {
    const int64_t x = (m * y + k) >> s;
    if (m < 1 << 24 || x < 1 << 23 || x >= 1 << 24) continue;
    const float value = static_cast<float>(x);
    ++counts.tried;
    counts.wrong += quotient_of(divide, value, is_corrected) != value / divisor;
  }
}

}  // namespace

// Arguments: the distance between divisors, and 0 to leave the correction out.
int main(int, char** arguments) {
  const uint32_t distance = static_cast<uint32_t>(atoi(arguments[1]));
  const bool is_corrected = atoi(arguments[2]) != 0;
  Counts counts;
  for (uint32_t y = 1 << 23; y < 1 << 24; y += distance) {
    for (int64_t k = -8; k <= 8; ++k) {
      if (k == 0) continue;
      try_all(y, k, 24, is_corrected, counts);
      try_all(y, k, 25, is_corrected, counts);
    }
  }
  printf("%lld %lld\n", static_cast<long long>(counts.tried), static_cast<long long>(counts.wrong));
}
