// `inverse_matrices`, and `move_points`, which moves points by them.
#include "../../bridge/images.h"
#include "points.h"

namespace orbbec {
namespace {

const ForwardMatrix* checked_matrices(const char* op, const Tensor& matrices) {
  check(matrices.is_cpu() && matrices.dim() == 3, op,
        "expected matrices [K, 3, 3] on the CPU, but got shape ", shape_text(matrices));
  return reinterpret_cast<const ForwardMatrix*>(
      check_table<double>(op, "matrices", matrices, {matrices.size(0), 3, 3}, matrices));
}

Tensor inverse_matrices(Tensor matrices) {
  constexpr const char* kOp = "inverse_matrices";
  const ForwardMatrix* const from = checked_matrices(kOp, matrices);
  const Tensor results = new_tensor(kOp, matrices.sizes(), ScalarType::Double, matrices);
  auto* const to = static_cast<ForwardMatrix*>(results.mutable_data_ptr());
  for (int64_t k = 0; k < matrices.size(0); ++k) to[k] = ForwardMatrix::inverse_of(from[k].m);
  return results;
}

Tensor move_points(Tensor matrices, Tensor points) {
  constexpr const char* kOp = "move_points";
  const ForwardMatrix* const by = checked_matrices(kOp, matrices);
  check(points.dim() == 3, kOp, "expected points [K, P, 2], but got shape ", shape_text(points));
  const int64_t count = matrices.size(0), number = points.size(1);
  const double* from = check_table<double>(kOp, "points", points, {count, number, 2}, matrices);
  const std::array<int64_t, 3> shape{count, number, 3};
  const Tensor results = new_tensor(kOp, shape, ScalarType::Double, points);
  auto* to = static_cast<double*>(results.mutable_data_ptr());
  for (int64_t i = 0; i < count * number; ++i, from += 2, to += 3) {
    const ForwardMatrix& matrix = by[i / number];
    to[0] = from[0], to[1] = from[1];
    to[2] = matrix.growth(from[0], from[1]);
    matrix.move(to[0], to[1]);
  }
  return results;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("inverse_matrices(Tensor matrices) -> Tensor");
  m.def("move_points(Tensor matrices, Tensor points) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("inverse_matrices", TORCH_BOX(&orbbec::inverse_matrices));
  m.impl("move_points", TORCH_BOX(&orbbec::move_points));
}
