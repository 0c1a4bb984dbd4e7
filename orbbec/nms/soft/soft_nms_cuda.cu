// soft_nms on a CUDA device: a block runs the selection of a group, a thread owns every
// blockDim.x-th box. In each step the block reduces to the best box, and each thread lowers the
// scores of its boxes.
#include <algorithm>

#include "../../executors/cuda/tiles.h"
#include "../../executors/cuda/warp.h"
#include "soft_nms.h"

namespace orbbec {

namespace {

// A double takes two of the registers, of which 1024 threads leave each 64.
template <class F>
constexpr int kMaxThreads = sizeof(F) == 8 ? 512 : 1024;
template <class F>
constexpr int kMaxWarps = kMaxThreads<F> / kWarp;

// A block runs the selection of a group. A thread owns every blockDim.x-th box and alone reads and
// writes its score; all threads read the box that was taken. `of_warps` has the best of each warp,
// twice, so that one barrier per step is enough. A step reads each column once.
template <class F>
__device__ __forceinline__ void select_softly(const SoftNmsArguments& a, const SoftNmsRule<F>& rule,
                                              const SoftNmsColumns<F>& columns,
                                              SoftNmsBest<F>* of_warps) {
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
    const SoftNmsBest<F> best = block_reduce(
        mine, SoftNmsBest<F>{},
        [](const SoftNmsBest<F>& a, const SoftNmsBest<F>& b) {
          return a.loses_to(b.score, b.index) ? b : a;
        },
        of_warps + taken % 2 * kMaxWarps<F>);
    if (best.index < 0 || taken == a.most) break;
    if (thread == 0) {
      a.indices[taken] = a.first + best.index;
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
      score = rule.score_or_none(score);
      columns.score[i] = score;
      if (score > mine.score) {
        mine.score = score;
        mine.index = i;
      }
    }
  }
  for (int i = taken + thread; i < a.most; i += threads) {
    a.indices[i] = -1;
    scores[i] = static_cast<F>(a.padding);
  }
  if (thread == 0 && a.taken != nullptr) *a.taken = taken;
}

// The first box of [begin, end) that is the first of its group; `end` if there is none. Every warp
// searches.
__device__ __forceinline__ int first_group(const int64_t* groups, int begin, int end) {
  const int lane = lane_id();
  for (int i = begin; i < end; i += kWarp) {
    const int box = i + lane;
    const bool starts = box < end && (box == 0 || groups[box] != groups[box - 1]);
    const uint32_t lanes = __ballot_sync(kAllLanes, starts);
    if (lanes != 0) return i + __ffs(lanes) - 1;
  }
  return end;
}

// One past the last box of the group that begins at `begin`.
__device__ __forceinline__ int end_of_group(const int64_t* groups, int begin, int count) {
  const int threads = static_cast<int>(blockDim.x);
  for (int i = begin;; i += threads) {
    const int box = i + static_cast<int>(threadIdx.x);
    const int of_group = __syncthreads_count(box < count && groups[box] == groups[begin]);
    if (of_group < threads) return i + of_group;
  }
}

// A block owns the groups that begin in its part of the boxes; without groups, one block owns all.
// Shared memory: the columns of up to `capacity` boxes, and 256 or 512 bytes; the columns of larger
// groups are in global memory.
template <class F>
__global__ void __launch_bounds__(kMaxThreads<F>, 1)
    soft_nms_kernel(const SoftNmsArguments a, const SoftNmsRule<F> rule, int capacity) {
  alignas(16) __shared__ char best_bytes[2 * kMaxWarps<F> * sizeof(SoftNmsBest<F>)];
  SoftNmsBest<F>* const of_warps = reinterpret_cast<SoftNmsBest<F>*>(best_bytes);
  const auto columns_of = [&](const SoftNmsArguments& group) {
    return group.count <= capacity ? SoftNmsColumns<F>(dynamic_shared<F>(), capacity)
                                   : SoftNmsColumns<F>(group.work, group.column_stride);
  };
  if (a.groups == nullptr) {
    select_softly(a, rule, columns_of(a), of_warps);
    return;
  }
  const int blocks = static_cast<int>(gridDim.x), share = (a.count + blocks - 1) / blocks;
  const int64_t after = (int64_t{blockIdx.x} + 1) * share;
  const int last = after < a.count ? static_cast<int>(after) : a.count;
  int begin = static_cast<int>(after - share < a.count ? after - share : a.count);
  while ((begin = first_group(a.groups, begin, last)) < last) {
    const int end = end_of_group(a.groups, begin, a.count);  // a barrier before columns are reused
    const SoftNmsArguments group = soft_nms_group<F>(a, begin, end);
    select_softly(group, rule, columns_of(group), of_warps);
    begin = end;
  }
}

constexpr int kGroupBlocks = 512;  // several for each multiprocessor, since groups differ in size
constexpr int kGroupThreads = 256;

template <class F>
int run(const SoftNmsArguments& a, void* stream) {
  const size_t bytes_per_box = sizeof(F) * kSoftNmsColumns;
  const int most = static_cast<int>((kDefaultSharedBytes - 2048) / bytes_per_box);
  const bool grouped = a.groups != nullptr;
  const int capacity = grouped ? std::min(a.count, most) : a.count <= most ? a.count : 0;
  const int warps = std::clamp((a.count + kWarp - 1) / kWarp, 1, kMaxWarps<F>);
  return launch(soft_nms_kernel<F>, dim3(grouped ? std::min(a.count, kGroupBlocks) : 1),
                dim3(grouped ? kGroupThreads : warps * kWarp), capacity * bytes_per_box, stream, a,
                SoftNmsRule<F>(a), capacity);
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
