#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "../executor_cpu.h"

namespace orbbec {
namespace {

Simd best_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 =
      avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  return avx512 ? Simd::kAvx512 : avx2 ? Simd::kAvx2 : Simd::kScalar;
#else
  return Simd::kScalar;
#endif
}

// What ORBBEC_SIMD allows; read every time, so that tests can change it.
Simd allowed_level() {
  const char* const text = std::getenv("ORBBEC_SIMD");
  const std::string name = text == nullptr ? "" : text;
  if (name.empty() || name == "avx512") return Simd::kAvx512;
  if (name == "avx2") return Simd::kAvx2;
  if (name == "scalar") return Simd::kScalar;
  throw std::invalid_argument("orbbec: expected ORBBEC_SIMD of scalar, avx2 or avx512, but got '" +
                              name + "'");
}

}  // namespace

Simd simd_level() {
  static const Simd best = best_level();
  return std::min(best, allowed_level());
}

}  // namespace orbbec
