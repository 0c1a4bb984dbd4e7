#include <cstdlib>
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

Simd wanted_level() {
  const char* const name = std::getenv("ORBBEC_SIMD");
  if (name == nullptr || std::string(name) == "avx512") return Simd::kAvx512;
  return std::string(name) == "avx2" ? Simd::kAvx2 : Simd::kScalar;
}

}  // namespace

Simd simd_level() {
  static const Simd best = best_level();
  const Simd wanted = wanted_level();
  return wanted < best ? wanted : best;
}

}  // namespace orbbec
