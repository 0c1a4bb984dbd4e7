#include "targets.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../executors/simd/avx2.h"
#include "separable/bytes_avx2.h"
#include "vector_filters.h"

namespace orbbec {

template void gaussian_blur_on<Avx2Target>(const SeparableArguments&, const ParallelFor&);
template void box_blur_on<Avx2Target>(const SeparableArguments&, const ParallelFor&);
template void filter2d_on<Avx2Target>(const FilterArguments&, const ParallelFor&);
template void median_blur_on<Avx2Target>(const MedianArguments&, const ParallelFor&);

}  // namespace orbbec
#endif
