#include "../executors/simd/vector_rows.h"
#include "augment.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,f16c")
#include "../executors/simd/avx2.h"
#include "../executors/simd/vector_row.h"
#include "augment_rows.h"
#include "scaled_rows.h"

namespace orbbec {

namespace {

struct Avx2Target : VectorStore<Avx2> {
  template <class Reader>
  using BlockReader = std::conditional_t<kHasVectorRow<Reader>, VectorRow<Avx2, Reader, float>,
                                         SamplerRow<Avx2Target, Reader>>;
  template <class Reader>
  using KeptRows = std::conditional_t<kHasVectorRow<Reader> && Reader::kIsLinear,
                                      ScaledRows<Avx2, Reader>, NoRows>;
};

}  // namespace

void augment_avx2(const AugmentArguments& arguments, const ParallelFor& parallel) {
  run_augment<Avx2Target>(arguments, parallel);
}

}  // namespace orbbec
#endif
