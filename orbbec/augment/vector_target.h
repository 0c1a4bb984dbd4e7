// The target of augment with vectors of `Simd`. Included by augment_avx2.cpp and
// augment_avx512.cpp, under their targets.
#pragma once

#include "../executors/simd/vector_row.h"
#include "augment_rows.h"
#include "columns/scaled_rows.h"
#include "columns/whole_rows.h"

namespace orbbec {

namespace {

template <class Reader>
constexpr bool kReadsBytes = std::is_same_v<typename Reader::Value, uint8_t> &&
                             std::is_same_v<typename Reader::Sampler, NearestSampler>;

template <class Simd>
struct VectorTarget : VectorStore<Simd> {
  static constexpr bool kFused = true;
  template <class Reader>
  using BlockReader = std::conditional_t<kHasVectorRow<Reader>, VectorRow<Simd, Reader, float>,
                                         SamplerRow<VectorTarget, Reader>>;
  template <class Reader>
  using RowCache =
      std::conditional_t<kHasVectorRow<Reader> && Reader::kIsLinear, ScaledRows<Simd, Reader>,
                         std::conditional_t<kReadsBytes<Reader>, WholeRows<Simd, Reader>, NoRows>>;
};

}  // namespace

template <class Simd>
void augment_with_vectors(const AugmentArguments& arguments, const ParallelFor& parallel) {
  run_augment<VectorTarget<Simd>>(arguments, parallel);
}

}  // namespace orbbec
