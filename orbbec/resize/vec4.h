// Vectors of four numbers. Included by block_rows.h and rows_vectors.h, under a target with AVX2.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "../core/scalar.h"

namespace orbbec {
namespace {

template <class T>
struct Vec4Of {
  typedef T Type __attribute__((vector_size(4 * sizeof(T))));
};
template <class T>
using Vec4 = typename Vec4Of<T>::Type;

template <class To, class T>
Vec4<To> load_vec4(const T* from) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    int bytes;
    memcpy(&bytes, from, sizeof(bytes));
    const auto values =
        reinterpret_cast<Vec4<int32_t>>(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes)));
    return __builtin_convertvector(values, Vec4<To>);
  } else if constexpr (std::is_arithmetic_v<T>) {
    Vec4<T> values;
    memcpy(&values, from, sizeof(values));
    return __builtin_convertvector(values, Vec4<To>);
  } else {
    return Vec4<To>{static_cast<To>(load(from[0])), static_cast<To>(load(from[1])),
                    static_cast<To>(load(from[2])), static_cast<To>(load(from[3]))};
  }
}

}  // namespace
}  // namespace orbbec
