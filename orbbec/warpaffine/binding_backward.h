// Shared by the bindings of the warps' gradients.
#pragma once

#include <utility>

#include "../bridge/warp.h"
#include "warp_backward.h"

namespace orbbec {

// The arguments of a warp's gradient, as its schema has them; `rest` points to those that follow.
template <class Transform>
struct WarpBackwardCall {
  Tensor gradient, images, largest;
  Transform transform;
  std::string interpolation, border, arithmetic;
  std::vector<double> fill;
  StableIValue* rest;

  WarpBackwardCall(StableIValue* stack, Transform initial) : transform(initial) {
    rest = transform.read(unpack(stack, gradient, images));
    rest = transform.read_direction(unpack(rest, largest, interpolation, border, fill));
    rest = unpack(rest, arithmetic);
  }
  WarpOptions options() const { return {interpolation, border, fill, arithmetic}; }
};

// The gradient of the images, of their shape and dtype, and that of the transform, float64 of
// `transform_shape`.
template <class Transform, class OnCpu, class OnCuda>
std::pair<Tensor, Tensor> warp_backward(const char* op, const WarpBackwardCall<Transform>& call,
                                        const std::vector<int64_t>& transform_shape,
                                        int64_t numbers, OnCpu on_cpu, OnCuda on_cuda,
                                        const std::optional<Tensor>& regions = std::nullopt) {
  const Tensor &gradient = call.gradient, &images = call.images;
  const WarpOptions options = call.options();
  AnyImages source = source_images(op, images, std::nullopt, 0);
  source.regions = check_regions(op, regions, images, source.count);
  const AnyImages incoming =
      dense_images(op, "gradient", gradient, const_cast<void*>(gradient.const_data_ptr()));
  check(gradient.scalar_type() == images.scalar_type() && same_device(gradient, images) &&
            incoming.count == source.count && incoming.channels == source.channels,
        op, "expected gradient of the dtype, device, count and channels of images, but got ",
        shape_text(gradient));
  const std::array<int64_t, 2> extent =
      output_size(op, source, {gradient.size(2), gradient.size(3)});
  WarpBackwardArguments arguments{};
  arguments.warp = warp_arguments(op, images, source, options, extent, /*has_out=*/false);
  check(arguments.warp.dtype == DType::kFloat32 || arguments.warp.dtype == DType::kFloat64, op,
        "gradients are computed for float32 and float64");
  check(arguments.warp.interpolation == Interpolation::kNearest ||
            arguments.warp.interpolation == Interpolation::kLinear,
        op, "gradients are computed for nearest and linear");
  check(options.fill.size() == 1 || source.channels <= kMaxFills, op,
        "expected fill of 1 number, but got ", options.fill.size());
  arguments.warp.output = incoming;
  arguments.largest = check_table<double>(op, "largest", call.largest, {images.size(0)}, images);
  for (int c = 0; c < kMaxFills; ++c) {
    arguments.warp.fill[c] = options.fill[std::min<size_t>(c, options.fill.size() - 1)];
  }
  const auto memory = call.transform.prepare(op, images, arguments.warp);
  Tensor result = regions ? new_zeros(op, images.sizes(), images.scalar_type(), images)
                          : new_tensor(op, images.sizes(), images.scalar_type(), images);
  Tensor transform_gradient = new_zeros(op, transform_shape, ScalarType::Double, images);
  if (source.count == 0) return {result, transform_gradient};
  arguments.result = dense_images(op, "result", result, result.mutable_data_ptr());
  arguments.result.regions = source.regions;
  arguments.transform_gradient = static_cast<double*>(transform_gradient.mutable_data_ptr());
  const Tensor strip_sums =
      new_tensor(op, std::vector<int64_t>{source.count, arguments.strips(), numbers},
                 ScalarType::Double, images);
  arguments.strip_sums = static_cast<double*>(strip_sums.mutable_data_ptr());
  const auto sums_or_reads = [&] {
    if (!runs_cuda_kernels(images)) return new_zeros(op, images.sizes(), ScalarType::Long, images);
    const std::vector<int64_t> cells{source.count, arguments.cells()};
    return new_tensor(op, cells, ScalarType::Long, images);
  }();
  arguments.sums = static_cast<int64_t*>(sums_or_reads.mutable_data_ptr());
  arguments.reads = static_cast<TileRange*>(sums_or_reads.mutable_data_ptr());
  run_where(op, images, on_cpu, on_cuda, arguments);
  return {result, transform_gradient};
}

}  // namespace orbbec
