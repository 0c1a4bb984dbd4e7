#include "targets.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "../executors/simd/avx512.h"
#include "separable/bytes_avx512.h"
#include "vector_filters.h"

namespace orbbec {

template void gaussian_blur_on<Avx512Target>(const SeparableArguments&, const ParallelFor&);
template void box_blur_on<Avx512Target>(const SeparableArguments&, const ParallelFor&);
template void filter2d_on<Avx512Target>(const FilterArguments&, const ParallelFor&);
template void median_blur_on<Avx512Target>(const MedianArguments&, const ParallelFor&);

}  // namespace orbbec
#endif
