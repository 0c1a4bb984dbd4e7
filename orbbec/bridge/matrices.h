// The matrices of a call: checked, inverted on their device as OpenCV does, in the type that the
// kernel reads.
#pragma once

#include "../core/matrix.h"
#include "warp.h"

namespace orbbec {

[[gnu::weak]] int prepare_matrices_cuda(const MatrixArguments& arguments,
                                        void* stream);  // matrices_cuda.cu

inline void prepare_matrices_cpu(const MatrixArguments& arguments, const ParallelFor& parallel) {
  dispatch_matrices(arguments, [&](const auto& prepare) {
    for_each_item_cpu(prepare, arguments.count, 1, 1, parallel);
    return 0;
  });
}

inline Tensor check_matrix(const char* op, const Tensor& images, const Tensor& matrix,
                           int64_t count, int64_t rows) {
  const bool shared = matrix.dim() == 2 && matrix.size(0) == rows && matrix.size(1) == 3;
  const bool own =
      matrix.dim() == 3 && matrix.size(0) == count && matrix.size(1) == rows && matrix.size(2) == 3;
  check(shared || own, op, "expected matrix of shape ",
        shape_text(std::array<int64_t, 3>{count, rows, 3}), ", but got ", shape_text(matrix));
  check(matrix.scalar_type() == ScalarType::Float || matrix.scalar_type() == ScalarType::Double, op,
        "expected matrix of float32 or float64");
  check(matrix.is_cpu() || same_device(matrix, images), op,
        "expected matrix on the CPU or on the device of images");
  return contiguous(op, matrix);
}

// Output-to-source matrices on the device of `images`. Sets the transform of `arguments` to the
// result, which must outlive them.
inline Tensor prepare_matrices(const char* op, const Tensor& images, const Tensor& matrix,
                               int64_t rows, bool inverse, WarpArguments& arguments) {
  const Tensor given = check_matrix(op, images, matrix, arguments.source.count, rows);
  const ScalarType type = transform_scalar_type(arguments);
  Tensor prepared = given;
  if (!inverse || given.scalar_type() != type) {
    prepared = new_tensor(op, given.sizes(), type, given);
    const int64_t size = rows * 3;
    const MatrixArguments a{.matrices = given.const_data_ptr(),
                            .prepared = prepared.mutable_data_ptr(),
                            .in_double = given.scalar_type() == ScalarType::Double,
                            .out_double = type == ScalarType::Double,
                            .count = given.numel() / size,
                            .size = size,
                            .inverse = inverse};
    run_where(op, given, prepare_matrices_cpu, prepare_matrices_cuda, a);
  }
  if (!same_device(prepared, images)) prepared = on_device_of(op, prepared, images);
  arguments.transform = prepared.const_data_ptr();
  arguments.transform_stride = given.dim() == 3 ? rows * 3 : 0;
  return prepared;
}

// The transform of a warp by matrices: one of rows x 3 for all images, or one each.
struct Matrices {
  const Tensor& given;
  int64_t rows;
  bool inverse;

  Tensor prepare(const char* op, const Tensor& images, WarpArguments& arguments) const {
    return prepare_matrices(op, images, given, rows, inverse, arguments);
  }
};

}  // namespace orbbec
