#include "../../bridge/float_images.h"
#include "../../bridge/pointwise.h"
#include "reduce.h"

namespace orbbec {

void reduce_cpu(const ReduceArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int reduce_cuda(const ReduceArguments& arguments, void* stream);

namespace {

void read_floats(FloatImages& floats, ReduceArguments& a) {
  floats.read(a.dtype, a.source);
  a.dtype = widened(a.dtype);
}

// [N, K]; 0 for an image without pixels.
Tensor reduce(const char* op, const Tensor& images, const std::optional<Tensor>& layout,
              int64_t channels, Summand summand) {
  ReduceArguments a{};
  a.source = source_images(op, images, layout, channels);
  check_pointwise_dtype(op, images, true);
  a.dtype = dtype_of(op, images);
  a.summand = summand;
  check(summand == Summand::kChannels || a.source.channels == 1 || a.source.channels == 3, op,
        "expected images of 1 or 3 channels, but got ", a.source.channels);
  check(a.source.channels <= kMaxSide / 2, op, "expected fewer channels, but got ",
        a.source.channels);
  a.kinds = summand == Summand::kGray ? 1 : static_cast<int>(2 * a.source.channels);
  Tensor result =
      new_zeros(op, std::vector<int64_t>{a.source.count, a.kinds}, ScalarType::Double, images);
  if (result.numel() == 0 || images.numel() == 0) return result;
  const auto scratch = [&](int64_t numbers) {
    const int64_t count = runs_cuda_kernels(images) ? 0 : a.source.count;
    const std::vector<int64_t> shape{count, a.kinds, numbers};
    return new_tensor(op, shape, ScalarType::Double, images);
  };
  Tensor lanes = scratch(kLanes), groups = scratch(kGroups);
  a.lanes = static_cast<double*>(lanes.mutable_data_ptr());
  a.groups = static_cast<double*>(groups.mutable_data_ptr());
  a.sums = static_cast<double*>(result.mutable_data_ptr());
  run_where(op, images, in_floats(op, images, reduce_cpu, read_floats), reduce_cuda, a);
  return result;
}

Tensor gray_sums(Tensor images, std::optional<Tensor> layout, int64_t channels) {
  return reduce("adjust_contrast", images, layout, channels, Summand::kGray);
}

Tensor channel_sums(Tensor images, std::optional<Tensor> layout, int64_t channels) {
  return reduce("channel_statistics", images, layout, channels, Summand::kChannels);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("gray_sums(Tensor images, Tensor? layout, int channels) -> Tensor");
  m.def("channel_sums(Tensor images, Tensor? layout, int channels) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("gray_sums", TORCH_BOX(&orbbec::gray_sums));
  m.impl("channel_sums", TORCH_BOX(&orbbec::channel_sums));
}
