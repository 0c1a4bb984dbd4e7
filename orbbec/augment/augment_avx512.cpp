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
  using VectorStore::store_lanes;
  // float_to_half on vectors: NaN keeps its sign alone.
  static void store_lanes(const float (&values)[kStored], Half* to) {
    for (int i = 0; i < kStored; i += 16) {
      const __m512 value = _mm512_loadu_ps(values + i);
      const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
      const __m512i sign = _mm512_and_si512(_mm512_castps_si512(value), _mm512_set1_epi32(1 << 31));
      const __m512i nan = _mm512_or_si512(sign, _mm512_set1_epi32(0x7fc00000));
      const __m512 plain = _mm512_mask_mov_ps(value, is_nan, _mm512_castsi512_ps(nan));
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(to + i),
          _mm512_maskz_cvtps_ph(0xffff, plain, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
  }

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
