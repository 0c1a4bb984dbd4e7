// Shared by the bindings of greedy suppression: checks of the ranking and its groups, the result,
// and the scratch memory of the CUDA executor. Included by binding.cpp of nms and nms_rotated.
#pragma once

#include <algorithm>
#include <optional>

#include "../bridge/device.h"
#include "../bridge/memory.h"
#include "greedy.h"

namespace orbbec {

// Boxes [N, columns] of float32 or float64, contiguous and aligned to 16 bytes; the result must
// outlive the launch.
inline Tensor ranked_boxes(const char* op, const Tensor& boxes, int64_t columns) {
  check(boxes.dim() == 2 && boxes.size(1) == columns, op, "expected boxes of shape [N, ", columns,
        "], but got ", shape_text(boxes));
  check(boxes.scalar_type() == ScalarType::Float || boxes.scalar_type() == ScalarType::Double, op,
        "expected boxes of float32 or float64");
  const Tensor result = contiguous(op, boxes);
  if (reinterpret_cast<uintptr_t>(result.const_data_ptr()) % 16 == 0) return result;
  Tensor aligned = new_tensor(op, boxes.sizes(), boxes.scalar_type(), boxes);
  return torch::stable::copy_(aligned, result);
}

// Groups [N], int64, ascending. Their order is not checked on a device: unsorted groups give a
// wrong selection, but no invalid access.
inline std::optional<Tensor> ranked_groups(const char* op, const std::optional<Tensor>& groups,
                                           const Tensor& boxes) {
  if (!groups) return std::nullopt;
  check(groups->dim() == 1 && groups->size(0) == boxes.size(0), op, "expected groups of shape [",
        boxes.size(0), "], but got ", shape_text(*groups));
  check(groups->scalar_type() == ScalarType::Long, op, "expected groups of int64");
  check(same_device(*groups, boxes), op, "expected groups on the device of boxes");
  const Tensor result = contiguous(op, *groups);
  if (result.is_cpu()) {
    const int64_t* const first = static_cast<const int64_t*>(result.const_data_ptr());
    check(std::is_sorted(first, first + result.size(0)), op, "expected groups in ascending order");
  }
  return result;
}

// Scratch memory of the CUDA executor. Each part has a multiple of 16 bytes.
inline Tensor greedy_scratch(const char* op, const Tensor& boxes, GreedyArguments& a) {
  constexpr int64_t kWords = kGreedyTile / 32;
  const int64_t segments = greedy_slab_pairs(a.count) * kGreedyTile * kWords;
  const int64_t summary = greedy_slab(a.count) * greedy_summaries(a.count) * kGreedyTile;
  const std::vector<int64_t> words{segments + summary + greedy_tiles(a.count) * kWords};
  Tensor scratch = new_tensor(op, words, ScalarType::Int, boxes);
  a.segments = static_cast<uint32_t*>(scratch.mutable_data_ptr());
  a.summary = a.segments + segments;
  a.keep = a.summary + summary;
  return scratch;
}

// Fills `arguments.greedy`, calls `on_cpu(arguments, threads)` or `on_cuda(arguments, stream)`, and
// returns the keepers, int64 [N].
template <class Arguments, class OnCpu, class OnCuda>
Tensor run_greedy(const char* op, const Tensor& boxes, const std::optional<Tensor>& groups,
                  Arguments& arguments, OnCpu on_cpu, OnCuda on_cuda) {
  const int64_t count = boxes.size(0);
  constexpr int64_t kMaxBoxes = int64_t{1} << 30;  // ranks are int on a device
  check(count <= kMaxBoxes, op, "expected at most ", kMaxBoxes, " boxes, but got ", count);
  Tensor keepers = new_tensor(op, std::vector<int64_t>{count}, ScalarType::Long, boxes);
  if (count == 0) return keepers;
  GreedyArguments& greedy = arguments.greedy;
  greedy.count = count;
  greedy.groups = groups ? static_cast<const int64_t*>(groups->const_data_ptr()) : nullptr;
  greedy.keepers = static_cast<int64_t*>(keepers.mutable_data_ptr());
  std::optional<Tensor> scratch;
  if (runs_cuda_kernels(boxes)) scratch = greedy_scratch(op, boxes, greedy);
  run_where(op, boxes, on_cpu, on_cuda, arguments);
  return keepers;
}

}  // namespace orbbec
