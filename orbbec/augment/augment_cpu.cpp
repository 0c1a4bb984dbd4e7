#include "augment_rows.h"

namespace orbbec {

struct Avx2;
struct Avx512;
template <class Simd>
void augment_with_vectors(const AugmentArguments& arguments, const ParallelFor& parallel);

namespace {

struct ScalarTarget : ScalarStore {
  static constexpr bool kFused = false;
  template <class Reader>
  using BlockReader = SamplerRow<ScalarTarget, Reader>;
  template <class Reader>
  using RowCache = NoRows;
};

}  // namespace

void augment_cpu(const AugmentArguments& arguments, const ParallelFor& parallel) {
#if defined(__x86_64__)
  if (simd_level() == Simd::kAvx512) return augment_with_vectors<Avx512>(arguments, parallel);
  if (simd_level() == Simd::kAvx2) return augment_with_vectors<Avx2>(arguments, parallel);
#endif
  run_augment<ScalarTarget>(arguments, parallel);
}

}  // namespace orbbec
