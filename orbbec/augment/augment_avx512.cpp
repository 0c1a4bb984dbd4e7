#include "../executors/simd/vector_rows.h"
#include "../executors/tap_rows_cpu.h"
#include "augment.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw,prefer-vector-width=512")
#include "columns/permuted_columns.h"
#include "vector_target.h"

template void orbbec::augment_with_vectors<orbbec::Avx512>(const AugmentArguments&,
                                                           const ParallelFor&);
#endif
