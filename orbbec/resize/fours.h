// Four numbers, lane by lane. Included by block_rows.h and rows_vectors.h, under AVX2's target.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "../core/scalar.h"

namespace orbbec {
namespace {

template <class T>
struct FourOf {
  typedef T Type __attribute__((vector_size(4 * sizeof(T))));
};
template <class T>
using Four = typename FourOf<T>::Type;

template <class To, class T>
Four<To> load_four(const T* from) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    int bytes;
    memcpy(&bytes, from, sizeof(bytes));
    const auto values =
        reinterpret_cast<Four<int32_t>>(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes)));
    return __builtin_convertvector(values, Four<To>);
  } else if constexpr (std::is_arithmetic_v<T>) {
    Four<T> values;
    memcpy(&values, from, sizeof(values));
    return __builtin_convertvector(values, Four<To>);
  } else {
    return Four<To>{static_cast<To>(load(from[0])), static_cast<To>(load(from[1])),
                    static_cast<To>(load(from[2])), static_cast<To>(load(from[3]))};
  }
}

}  // namespace
}  // namespace orbbec
