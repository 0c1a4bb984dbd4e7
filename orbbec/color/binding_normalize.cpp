#include "../bridge/pointwise.h"
#include "normalize.h"

namespace orbbec {

void normalize_cpu(const NormalizeArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int normalize_cuda(const NormalizeArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "normalize";

Tensor normalize(Tensor images, std::optional<Tensor> layout, int64_t channels,
                 std::vector<double> mean, std::vector<double> std, double scale, int64_t dtype,
                 std::vector<int64_t> size, bool channels_last) {
  NormalizeArguments a{};
  a.source = source_images(kOp, images, layout, channels);
  a.dtype = dtype_of(kOp, images);
  const ScalarType type = dtype_numbered(kOp, dtype, /*bytes=*/false, /*doubles=*/true);
  a.output_dtype = dtype_of(kOp, type);
  check_one_or_each(kOp, "mean", mean, a.source.channels);
  check_one_or_each(kOp, "std", std, a.source.channels);
  a.numbers = static_cast<int>(std::max(mean.size(), std.size()));
  check(a.numbers <= kMaxNormalized, kOp, "expected at most ", kMaxNormalized,
        " numbers of mean and of std, but got ", a.numbers);
  for (int c = 0; c < a.numbers; ++c) {
    a.mean[c] = mean[mean.size() == 1 ? 0 : c];
    a.std[c] = std[std.size() == 1 ? 0 : c];
    check(a.std[c] != 0, kOp, "expected nonzero std");
  }
  a.scale = scale;
  if (layout.has_value()) {
    const auto extent = output_size(kOp, a.source, size);
    a.source.height = static_cast<int>(extent[0]);
    a.source.width = static_cast<int>(extent[1]);
  }
  const Tensor output =
      new_images(kOp, images, {a.source.count, a.source.channels, a.source.height, a.source.width},
                 channels_last, type);
  if (output.numel() == 0) return output;
  a.output = dense_images(kOp, "output", output, output.mutable_data_ptr());
  run_where(kOp, images, normalize_cpu, normalize_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "normalize(Tensor images, Tensor? layout, int channels, float[] mean, float[] std, "
      "float scale, int dtype, SymInt[] size, bool channels_last) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) { m.impl("normalize", TORCH_BOX(&orbbec::normalize)); }

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) { m.impl("normalize", TORCH_BOX(&orbbec::normalize)); }
