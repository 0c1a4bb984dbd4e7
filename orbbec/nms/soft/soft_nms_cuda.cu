#include <algorithm>

#include "../../executors/executor_cuda.h"
#include "soft_nms.h"

namespace orbbec {

namespace {

// A double takes two of the registers, of which 1024 threads leave each 64.
template <class F>
constexpr int kMostThreads = sizeof(F) == 8 ? 512 : 1024;
template <class F>
constexpr int kMostWarps = kMostThreads<F> / kWarp;

template <class F>
__device__ __forceinline__ SoftNmsBest<F> best_of_warp(SoftNmsBest<F> best) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const F score = __shfl_xor_sync(kAllLanes, best.score, distance);
    const int index = __shfl_xor_sync(kAllLanes, best.index, distance);
    if (best.loses_to(score, index)) {
      best.score = score;
      best.index = index;
    }
  }
  return best;
}

// Returns the block's best to every thread. `of_warps` may be reused after the next barrier.
template <class F>
__device__ __forceinline__ SoftNmsBest<F> best_of_block(SoftNmsBest<F> best,
                                                        SoftNmsBest<F>* of_warps) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  best = best_of_warp(best);
  if (lane == 0) of_warps[threadIdx.x / kWarp] = best;
  __syncthreads();
  SoftNmsBest<F> other;
  if (lane * kWarp < static_cast<int>(blockDim.x)) {  // without the padding, which nobody wrote
    other.score = of_warps[lane].score;
    other.index = of_warps[lane].index;
  }
  return best_of_warp(other);
}

// One block runs the whole selection. A thread owns every blockDim.x-th box and alone reads and
// writes its score; all threads read the box that was taken. Shared memory: the best of each warp,
// twice, so that one barrier per step is enough; and the columns if they fit. A step reads each
// column once.
template <class F>
__global__ void __launch_bounds__(kMostThreads<F>, 1)
    soft_nms_kernel(const SoftNmsArguments a, const SoftNmsRule<F> rule, bool shared_columns) {
  alignas(16) __shared__ char best_bytes[2 * kMostWarps<F> * sizeof(SoftNmsBest<F>)];
  SoftNmsBest<F>* const of_warps = reinterpret_cast<SoftNmsBest<F>*>(best_bytes);
  const SoftNmsColumns<F> columns(shared_columns ? dynamic_shared<F>() : a.work, a.column_stride);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  SoftNmsBest<F> mine;
  for (int i = thread; i < a.count; i += threads) {
    load_soft_nms(a, columns, i);
    if (columns.score[i] > mine.score) {
      mine.score = columns.score[i];
      mine.index = i;
    }
  }
  F* const scores = static_cast<F*>(a.taken_scores);
  int taken = 0;
  while (true) {
    const SoftNmsBest<F> best = best_of_block(mine, of_warps + taken % 2 * kMostWarps<F>);
    if (best.index < 0 || taken == a.most) break;
    if (thread == 0) {
      a.indices[taken] = best.index;
      scores[taken] = best.score;
    }
    ++taken;
    const Box<F> box = columns.box(best.index);
    const F area = columns.area[best.index];
    mine = SoftNmsBest<F>{};
    for (int i = thread; i < a.count; i += threads) {
      F score = columns.score[i];
      if (score == kNoScore<F>) continue;
      const Box<F> other = columns.box(i);
      if (i == best.index) {
        score = kNoScore<F>;
      } else if (rule.touches_all || shared_area(box, other, rule.offset) > F(0)) {
        score = rule.lowered(score, box, area, other, columns.area[i]);
      }
      score = rule.kept(score);
      columns.score[i] = score;
      if (score > mine.score) {
        mine.score = score;
        mine.index = i;
      }
    }
  }
  for (int i = taken + thread; i < a.most; i += threads) {
    a.indices[i] = -1;
    scores[i] = F(0);
  }
  if (thread == 0) *a.taken = taken;
}

template <class F>
int run(const SoftNmsArguments& a, void* stream) {
  const size_t bytes = sizeof(F) * kSoftNmsColumns * static_cast<size_t>(a.column_stride);
  const bool shared_columns = bytes <= kSharedBytesWithoutAsking - 2048;
  const int warps = std::clamp((a.count + kWarp - 1) / kWarp, 1, kMostWarps<F>);
  return launch(soft_nms_kernel<F>, dim3(1), dim3(static_cast<unsigned>(warps * kWarp)),
                shared_columns ? bytes : 0, stream, a, SoftNmsRule<F>(a), shared_columns);
}

}  // namespace

int soft_nms_cuda(const SoftNmsArguments& a, void* stream) {
  return a.is_double ? run<double>(a, stream) : run<float>(a, stream);
}

int matrix_nms_cuda(const MatrixNmsArguments& a, void* stream) {
  return dispatch_matrix_nms(a, [&](const auto& overlaps, const auto& decays) {
    const int status = for_each_item_cuda(overlaps, 1, a.count, stream);
    return status ? status : for_each_item_cuda(decays, 1, a.count, stream);
  });
}

}  // namespace orbbec
