#include "greedy_cpu.h"
#include "keeper_boxes.h"

namespace orbbec {

namespace {

template <class Simd>
struct SearchedBoxes : KeeperBoxes {
  SearchedBoxes(const OverlapRule<float>& rule, int64_t capacity)
      : KeeperBoxes(rule, capacity, search_boxes<Simd>) {}
};

}  // namespace

void nms_cpu(const NmsArguments& a, const ParallelFor& parallel) {
  if (a.is_double) return greedy_cpu(overlap_rule<double>(a), a.greedy, parallel);
  const OverlapRule<float> rule = overlap_rule<float>(a);
#if defined(__x86_64__)
  const Simd level = simd_level();
  if (level == Simd::kAvx512) {
    return greedy_cpu<OverlapRule<float>, SearchedBoxes<Avx512>>(rule, a.greedy, parallel);
  }
  if (level == Simd::kAvx2) {
    return greedy_cpu<OverlapRule<float>, SearchedBoxes<Avx2>>(rule, a.greedy, parallel);
  }
#endif
  greedy_cpu(rule, a.greedy, parallel);
}

}  // namespace orbbec
