#include "../../bridge/device.h"
#include "../../bridge/memory.h"
#include "angles.h"

namespace orbbec {

void angles_cpu(const AnglesArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int angles_cuda(const AnglesArguments& arguments, void* stream);

namespace {

void check_numbers(const char* op, const char* name, const Tensor& numbers) {
  constexpr int64_t kMaxNumbers = 2147483647;  // indices are int
  check(numbers.scalar_type() == ScalarType::Float || numbers.scalar_type() == ScalarType::Double,
        op, "expected ", name, " of float32 or float64");
  check(numbers.numel() <= kMaxNumbers, op, "expected at most ", kMaxNumbers, " numbers, but got ",
        numbers.numel());
}

// A function of `numbers`, and of `x` for the arctangent; the result has a shape.
Tensor computed(const char* op, AngleFunction function, const Tensor& numbers, const Tensor& x,
                const std::vector<int64_t>& shape) {
  const Tensor dense = contiguous(op, numbers), dense_x = contiguous(op, x);
  const Tensor result = new_tensor(op, shape, numbers.scalar_type(), numbers);
  if (result.numel() == 0) return result;
  const AnglesArguments a{.function = function,
                          .y = dense.const_data_ptr(),
                          .x = dense_x.const_data_ptr(),
                          .result = result.mutable_data_ptr(),
                          .count = static_cast<int>(numbers.numel()),
                          .is_double = numbers.scalar_type() == ScalarType::Double};
  run_where(op, numbers, angles_cpu, angles_cuda, a);
  return result;
}

std::vector<int64_t> shape_of(const Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

Tensor arctangents(Tensor y, Tensor x) {
  constexpr const char* kOp = "arctangent";
  check_numbers(kOp, "y", y);
  check(shape_of(y) == shape_of(x), kOp, "expected y and x of one shape, but got ", shape_text(y),
        " and ", shape_text(x));
  check(y.scalar_type() == x.scalar_type(), kOp, "expected y and x of one dtype");
  check(same_device(y, x), kOp, "expected y and x on one device");
  return computed(kOp, AngleFunction::kArctangent, y, x, shape_of(y));
}

Tensor sines_cosines(Tensor degrees) {
  constexpr const char* kOp = "sine_cosine";
  check_numbers(kOp, "degrees", degrees);
  std::vector<int64_t> shape = shape_of(degrees);
  shape.insert(shape.begin(), 2);
  return computed(kOp, AngleFunction::kSineCosine, degrees, degrees, shape);
}

Tensor square_roots(Tensor squares) {
  constexpr const char* kOp = "square_root";
  check_numbers(kOp, "squares", squares);
  return computed(kOp, AngleFunction::kSquareRoot, squares, squares, shape_of(squares));
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("arctangent(Tensor y, Tensor x) -> Tensor");
  m.def("sine_cosine(Tensor degrees) -> Tensor");
  m.def("square_root(Tensor squares) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("arctangent", TORCH_BOX(&orbbec::arctangents));
  m.impl("sine_cosine", TORCH_BOX(&orbbec::sines_cosines));
  m.impl("square_root", TORCH_BOX(&orbbec::square_roots));
}
