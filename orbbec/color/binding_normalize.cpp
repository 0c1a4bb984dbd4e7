#include "../bridge/pointwise.h"
#include "normalize.h"

namespace orbbec {

void normalize_cpu(const NormalizeArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int normalize_cuda(const NormalizeArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "normalize";

void set_numbers(const std::vector<double>& mean, const std::vector<double>& std,
                 NormalizeArguments& a) {
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
}

void normalize(StableIValue* stack, uint64_t, uint64_t) {
  Tensor images;
  std::optional<Tensor> layout;
  int64_t channels = 0, dtype = 0;
  std::vector<double> mean, std;
  std::vector<int64_t> size;  // of variable-size images, which all have it
  bool channels_last = false;
  NormalizeArguments a{};
  unpack(stack, images, layout, channels, mean, std, a.scale, dtype, size, channels_last);

  a.source = source_images(kOp, images, layout, channels);
  a.dtype = dtype_of(kOp, images);
  const ScalarType type = dtype_numbered(kOp, dtype, /*bytes=*/false, /*doubles=*/true);
  a.output_dtype = dtype_of(kOp, type);
  set_numbers(mean, std, a);
  if (layout.has_value()) {
    const auto extent = output_size(kOp, a.source, size);
    a.source.height = static_cast<int>(extent[0]);
    a.source.width = static_cast<int>(extent[1]);
  }
  const Tensor output =
      new_images(kOp, images, {a.source.count, a.source.channels, a.source.height, a.source.width},
                 channels_last, type);
  if (output.numel() != 0) {
    a.output = dense_images(kOp, "output", output, output.mutable_data_ptr());
    run_where(kOp, images, normalize_cpu, normalize_cuda, a);
  }
  give(stack, output);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "normalize(Tensor images, Tensor? layout, int channels, float[] mean, float[] std, "
      "float scale, int dtype, SymInt[] size, bool channels_last) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { orbbec::implement_with_out<&orbbec::normalize>(m, "normalize"); }
