#include "../executors/simd/vector_rows.h"
#include "augment.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw,prefer-vector-width=512")
#include "../executors/simd/avx512.h"
#include "../executors/simd/vector_row.h"
#include "augment_rows.h"
#include "scaled_rows.h"

namespace orbbec {

namespace {

struct Avx512Target : VectorStore<Avx512> {
  template <class Reader>
  using BlockReader = std::conditional_t<kHasVectorRow<Reader>, VectorRow<Avx512, Reader, float>,
                                         SamplerRow<Avx512Target, Reader>>;
  template <class Reader>
  using KeptRows = std::conditional_t<kHasVectorRow<Reader> && Reader::kIsLinear,
                                      ScaledRows<Avx512, Reader>, NoRows>;
};

}  // namespace

void augment_avx512(const AugmentArguments& arguments, const ParallelFor& parallel) {
  run_augment<Avx512Target>(arguments, parallel);
}

}  // namespace orbbec
#endif
