#include <algorithm>

#include "../bridge/memory.h"
#include "radix_sort.h"

namespace orbbec {

namespace {

// Takes at most a third of the time of torch's sort; on CUDA, torch sorts.
Tensor argsort(Tensor values, bool descending, Text name) {
  const char* const op = caller_of("argsort", name);
  check(values.dim() == 1, op, "expected values of shape [N], but got ", shape_text(values));
  const Tensor keys = contiguous(op, values);
  const int64_t count = keys.size(0);
  Tensor indices = new_tensor(op, keys.sizes(), ScalarType::Long, keys);
  const void* const data = keys.const_data_ptr();
  int64_t* const to = static_cast<int64_t*>(indices.mutable_data_ptr());
  switch (keys.scalar_type()) {
    case ScalarType::Float:
      stable_argsort(static_cast<const float*>(data), count, descending, to);
      break;
    case ScalarType::Double:
      stable_argsort(static_cast<const double*>(data), count, descending, to);
      break;
    case ScalarType::Long:
      stable_argsort(static_cast<const int64_t*>(data), count, descending, to);
      break;
    default:
      fail(op, "expected values of float32, float64 or int64");
  }
  return indices;
}

// The elements selected by a mask, in a quarter of the time of boolean indexing.
Tensor selected_indices(Tensor indices, Tensor chosen, Text name) {
  const char* const op = caller_of("selected_indices", name);
  check(indices.dim() == 1 && indices.scalar_type() == ScalarType::Long, op,
        "expected indices of int64 and shape [N], but got ", shape_text(indices));
  check(chosen.dim() == 1 && chosen.scalar_type() == ScalarType::Bool &&
            chosen.size(0) == indices.size(0),
        op, "expected chosen of bool and shape [", indices.size(0), "], but got ",
        shape_text(chosen));
  const Tensor from = contiguous(op, indices), mask = contiguous(op, chosen);
  const int64_t* const index = static_cast<const int64_t*>(from.const_data_ptr());
  const uint8_t* const is_chosen = static_cast<const uint8_t*>(mask.const_data_ptr());
  const int64_t count = from.size(0);
  std::vector<int64_t> found(count +
                             1);  // one extra: the last unselected index is written past the end
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    found[size] = index[i];
    size += is_chosen[i] != 0;
  }
  Tensor result = new_tensor(op, std::vector<int64_t>{size}, ScalarType::Long, from);
  std::copy_n(found.data(), size, static_cast<int64_t*>(result.mutable_data_ptr()));
  return result;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  // `op` is the public operator that errors name.
  m.def("argsort(Tensor values, bool descending, str op=\"argsort\") -> Tensor");
  m.def("selected_indices(Tensor indices, Tensor chosen, str op=\"selected_indices\") -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("argsort", TORCH_BOX(&orbbec::argsort));
  m.impl("selected_indices", TORCH_BOX(&orbbec::selected_indices));
}
