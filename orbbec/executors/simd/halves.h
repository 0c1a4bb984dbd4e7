// Contiguous values of half precision to float32 and back, by the instructions of a level. Included
// by executors and kernels of the CPU.
#pragma once

#include <type_traits>

#include "../../core/scalar.h"
#include "../executor_cpu.h"

namespace orbbec {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// T is Half or BFloat16.
template <class T>
void to_floats(const T* from, float* to, int64_t count, Simd level);
// Rounds half to even, as `store`.
template <class T>
void to_halves(const float* from, T* to, int64_t count, Simd level);

}  // namespace orbbec
