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
                           int64_t count, int64_t rows, bool completes) {
  if (completes && matrix.dim() >= 2 && matrix.size(matrix.dim() - 2) == 2) rows = 2;
  const bool shared = matrix.dim() == 2 && matrix.size(0) == rows && matrix.size(1) == 3;
  const bool per_image =
      matrix.dim() == 3 && matrix.size(0) == count && matrix.size(1) == rows && matrix.size(2) == 3;
  check(shared || per_image, op, "expected matrix of shape ",
        shape_text(std::array<int64_t, 3>{count, rows, 3}), ", but got ", shape_text(matrix));
  check(matrix.scalar_type() == ScalarType::Float || matrix.scalar_type() == ScalarType::Double, op,
        "expected matrix of float32 or float64");
  check(matrix.is_cpu() || same_device(matrix, images), op,
        "expected matrix on the CPU or on the device of images");
  return contiguous(op, matrix);
}

// Output-to-source matrices on the device of `images`. Sets the transform of `arguments` to the
// result, which must outlive them. `completes`: matrices of 2 rows are completed to 3.
inline Tensor prepare_matrices(const char* op, const Tensor& images, const Tensor& matrix,
                               int64_t rows, bool inverse, WarpArguments& arguments,
                               bool completes = false) {
  const Tensor input = check_matrix(op, images, matrix, arguments.source.count, rows, completes);
  const ScalarType type = transform_scalar_type(arguments);
  const int64_t input_rows = input.size(input.dim() - 2);
  Tensor prepared = input;
  if (!inverse || input.scalar_type() != type || input_rows != rows) {
    std::vector<int64_t> shape(input.sizes().begin(), input.sizes().end());
    shape[shape.size() - 2] = rows;
    prepared = new_tensor(op, shape, type, input);
    const MatrixArguments a{.matrices = input.const_data_ptr(),
                            .prepared = prepared.mutable_data_ptr(),
                            .in_double = input.scalar_type() == ScalarType::Double,
                            .out_double = type == ScalarType::Double,
                            .count = input.numel() / (input_rows * 3),
                            .input_size = input_rows * 3,
                            .size = rows * 3,
                            .inverse = inverse};
    run_where(op, input, prepare_matrices_cpu, prepare_matrices_cuda, a);
  }
  prepared = on_device_of(op, prepared, images);
  arguments.transform = prepared.const_data_ptr();
  arguments.transform_stride = input.dim() == 3 ? rows * 3 : 0;
  return prepared;
}

// The transform of a warp by matrices: one of rows x 3 for all images, or one each.
struct Matrices {
  int64_t rows;
  Tensor matrix;
  bool inverse = false;

  StableIValue* read(StableIValue* stack) { return unpack(stack, matrix); }
  StableIValue* read_direction(StableIValue* stack) { return unpack(stack, inverse); }
  std::array<Tensor, 1> prepare(const char* op, const Tensor& images,
                                WarpArguments& arguments) const {
    return {prepare_matrices(op, images, matrix, rows, inverse, arguments)};
  }
};

}  // namespace orbbec
