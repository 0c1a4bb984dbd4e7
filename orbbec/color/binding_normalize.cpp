#include "../bridge/pointwise.h"
#include "normalize.h"

namespace orbbec {

void normalize_cpu(const NormalizeArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int normalize_cuda(const NormalizeArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "normalize";

// The arguments of `normalize`, as its schema has them.
struct Call {
  Tensor images;
  std::optional<Tensor> layout;
  int64_t channels = 0, dtype = 0;
  std::vector<double> mean, std;
  double scale = 1;
  std::vector<int64_t> size;  // of variable-size images, which all have it
  bool channels_last = false;

  explicit Call(StableIValue* stack) {
    unpack(stack, images, layout, channels, mean, std, scale, dtype, size, channels_last);
  }
};

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

Tensor run(const Call& call) {
  const Tensor& images = call.images;
  NormalizeArguments a{};
  a.source = source_images(kOp, images, call.layout, call.channels);
  a.dtype = dtype_of(kOp, images);
  const ScalarType type = dtype_numbered(kOp, call.dtype, /*bytes=*/false, /*doubles=*/true);
  a.output_dtype = dtype_of(kOp, type);
  set_numbers(call.mean, call.std, a);
  a.scale = call.scale;
  if (call.layout.has_value()) {
    const auto extent = output_size(kOp, a.source, call.size);
    a.source.height = static_cast<int>(extent[0]);
    a.source.width = static_cast<int>(extent[1]);
  }
  const Tensor output =
      new_images(kOp, images, {a.source.count, a.source.channels, a.source.height, a.source.width},
                 call.channels_last, type);
  if (output.numel() == 0) return output;
  a.output = dense_images(kOp, "output", output, output.mutable_data_ptr());
  run_where(kOp, images, normalize_cpu, normalize_cuda, a);
  return output;
}

void normalize(StableIValue* stack, uint64_t, uint64_t) { give(stack, run(Call(stack))); }

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "normalize(Tensor images, Tensor? layout, int channels, float[] mean, float[] std, "
      "float scale, int dtype, SymInt[] size, bool channels_last) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { orbbec::implement_with_out<&orbbec::normalize>(m, "normalize"); }
