#include "../../bridge/device.h"
#include "../../bridge/memory.h"
#include "angles.h"

namespace orbbec {

void arctangent_cpu(const AnglesArguments& arguments, const ParallelFor& parallel);
void sine_cosine_cpu(const AnglesArguments& arguments, const ParallelFor& parallel);
void square_root_cpu(const AnglesArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int arctangent_cuda(const AnglesArguments& arguments, void* stream);
[[gnu::weak]] int sine_cosine_cuda(const AnglesArguments& arguments, void* stream);
[[gnu::weak]] int square_root_cuda(const AnglesArguments& arguments, void* stream);

namespace {

void check_numbers(const char* op, const char* name, const Tensor& numbers) {
  constexpr int64_t kMaxNumbers = 2147483647;  // indices are int
  check(numbers.scalar_type() == ScalarType::Float || numbers.scalar_type() == ScalarType::Double,
        op, "expected ", name, " of float32 or float64");
  check(numbers.numel() <= kMaxNumbers, op, "expected at most ", kMaxNumbers, " numbers, but got ",
        numbers.numel());
}

Tensor arctangents(Tensor y, Tensor x) {
  constexpr const char* kOp = "arctangent";
  check_numbers(kOp, "y", y);
  check(std::equal(y.sizes().begin(), y.sizes().end(), x.sizes().begin(), x.sizes().end()), kOp,
        "expected y and x of one shape, but got ", shape_text(y), " and ", shape_text(x));
  check(y.scalar_type() == x.scalar_type(), kOp, "expected y and x of one dtype");
  check(same_device(y, x), kOp, "expected y and x on one device");
  const Tensor dense_y = contiguous(kOp, y), dense_x = contiguous(kOp, x);
  const Tensor result = new_tensor(kOp, y.sizes(), y.scalar_type(), y);
  if (result.numel() == 0) return result;
  const AnglesArguments a{.y = dense_y.const_data_ptr(),
                          .x = dense_x.const_data_ptr(),
                          .result = result.mutable_data_ptr(),
                          .count = static_cast<int>(y.numel()),
                          .is_double = y.scalar_type() == ScalarType::Double};
  run_where(kOp, y, arctangent_cpu, arctangent_cuda, a);
  return result;
}

// `launch` for the numbers and a result of a shape.
template <class Launch>
Tensor computed(const char* op, const char* name, const Tensor& numbers,
                const std::vector<int64_t>& shape, const Launch& launch) {
  check_numbers(op, name, numbers);
  const Tensor dense = contiguous(op, numbers);
  const Tensor result = new_tensor(op, shape, numbers.scalar_type(), numbers);
  if (result.numel() == 0) return result;
  launch(AnglesArguments{.y = dense.const_data_ptr(),
                         .x = nullptr,
                         .result = result.mutable_data_ptr(),
                         .count = static_cast<int>(numbers.numel()),
                         .is_double = numbers.scalar_type() == ScalarType::Double});
  return result;
}

Tensor sines_cosines(Tensor degrees) {
  constexpr const char* kOp = "sine_cosine";
  std::vector<int64_t> shape{2};
  shape.insert(shape.end(), degrees.sizes().begin(), degrees.sizes().end());
  return computed(kOp, "degrees", degrees, shape, [&](const AnglesArguments& a) {
    run_where(kOp, degrees, sine_cosine_cpu, sine_cosine_cuda, a);
  });
}

Tensor square_roots(Tensor squares) {
  constexpr const char* kOp = "square_root";
  const std::vector<int64_t> shape(squares.sizes().begin(), squares.sizes().end());
  return computed(kOp, "squares", squares, shape, [&](const AnglesArguments& a) {
    run_where(kOp, squares, square_root_cpu, square_root_cuda, a);
  });
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
