#include "../core/vector_rows.h"
#include "augment.h"

#if defined(__x86_64__)
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,f16c")
#include "../core/simd_avx2.h"
#include "../core/vector_row.h"
#include "augment_rows.h"
#include "scaled_rows.h"

namespace orbbec {

namespace {

struct Avx2Machine : VectorStore<Avx2> {
  template <class Reader>
  using BlockReader = std::conditional_t<kHasVectorRow<Reader>, VectorRow<Avx2, Reader, float>,
                                         SamplerRow<Avx2Machine, Reader>>;
  template <class Reader>
  using KeptRows = std::conditional_t<kHasVectorRow<Reader> && Reader::kIsLinear,
                                      ScaledRows<Avx2, Reader>, NoRows>;
};

}  // namespace

void augment_avx2(const AugmentArguments& arguments, const ParallelFor& parallel) {
  run_augment<Avx2Machine>(arguments, parallel);
}

}  // namespace orbbec
#endif
