#include "../core/vector_rows.h"
#include "augment.h"

#if defined(__x86_64__)
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,avx512f,avx512bw,prefer-vector-width=512")
#include "../core/simd_avx512.h"
#include "../core/vector_row.h"
#include "augment_rows.h"
#include "scaled_rows.h"

namespace orbbec {

namespace {

struct Avx512Machine : VectorStore<Avx512> {
  template <class Reader>
  using BlockReader = std::conditional_t<kHasVectorRow<Reader>, VectorRow<Avx512, Reader, float>,
                                         SamplerRow<Avx512Machine, Reader>>;
  template <class Reader>
  using KeptRows = std::conditional_t<kHasVectorRow<Reader> && Reader::kIsLinear,
                                      ScaledRows<Avx512, Reader>, NoRows>;
};

}  // namespace

void augment_avx512(const AugmentArguments& arguments, const ParallelFor& parallel) {
  run_augment<Avx512Machine>(arguments, parallel);
}

}  // namespace orbbec
#endif
