#include "greedy_cpu.h"
#include "kept_boxes.h"

namespace orbbec {

namespace {

struct KeptBoxesAvx2 : KeptBoxes {
  KeptBoxesAvx2(const OverlapRule<float>& rule, int64_t capacity)
      : KeptBoxes(rule, capacity, search_boxes_avx2) {}
};
struct KeptBoxesAvx512 : KeptBoxes {
  KeptBoxesAvx512(const OverlapRule<float>& rule, int64_t capacity)
      : KeptBoxes(rule, capacity, search_boxes_avx512) {}
};

}  // namespace

void nms_cpu(const NmsArguments& a, const ParallelFor& parallel) {
  if (a.is_double) return greedy_cpu(overlap_rule<double>(a), a.greedy, parallel);
  const OverlapRule<float> rule = overlap_rule<float>(a);
#if defined(__x86_64__)
  const Simd level = simd_level();
  if (level == Simd::kAvx512) {
    return greedy_cpu<OverlapRule<float>, KeptBoxesAvx512>(rule, a.greedy, parallel);
  }
  if (level == Simd::kAvx2) {
    return greedy_cpu<OverlapRule<float>, KeptBoxesAvx2>(rule, a.greedy, parallel);
  }
#endif
  greedy_cpu(rule, a.greedy, parallel);
}

}  // namespace orbbec
