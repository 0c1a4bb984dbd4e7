#include "../../bridge/noise.h"
#include "../../bridge/pointwise.h"
#include "salt_and_pepper.h"

namespace orbbec {

void salt_and_pepper_cpu(const SaltAndPepperArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int salt_and_pepper_cuda(const SaltAndPepperArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "salt_and_pepper";

// The arguments of `salt_and_pepper`, as its schema has them.
struct Call {
  Tensor images;
  std::optional<Tensor> layout, amounts, salt_ratios, sample_ids;
  int64_t channels = 0, seed = 0, epoch = 0, position = 0;
  double amount = 0, salt_ratio = 0;

  explicit Call(StableIValue* stack) {
    unpack(stack, images, layout, channels, amount, amounts, salt_ratio, salt_ratios, seed,
           sample_ids, epoch, position);
  }
};

Tensor run(const Call& call) {
  const Tensor& images = call.images;
  SaltAndPepperArguments a{};
  a.source = source_images(kOp, images, call.layout, call.channels);
  check_pointwise_dtype(kOp, images, true);
  a.dtype = dtype_of(kOp, images);
  const int64_t count = a.source.count;
  a.amount = {check_per_image(kOp, "amount", call.amounts, images, count), call.amount};
  a.salt_ratio = {check_per_image(kOp, "salt_ratio", call.salt_ratios, images, count),
                  call.salt_ratio};
  a.noise.key = key_of(call.seed, call.epoch);
  a.noise.position = checked_position(kOp, call.position);
  std::optional<Tensor> samples;  // outlives the launch
  if (call.sample_ids.has_value()) {
    samples = sample_ids_on(kOp, *call.sample_ids, images, count);
    a.noise.samples = static_cast<const int64_t*>(samples->const_data_ptr());
  }
  const Tensor output = new_pointwise_output(kOp, images, call.layout, a.source);
  if (output.numel() == 0 || count == 0) return output;
  a.output = pointwise_output(kOp, output, call.layout, a.source.channels);
  run_where(kOp, images, salt_and_pepper_cpu, salt_and_pepper_cuda, a);
  return output;
}

void salt_and_pepper(StableIValue* stack, uint64_t, uint64_t) { give(stack, run(Call(stack))); }

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "salt_and_pepper(Tensor images, Tensor? layout, int channels, float amount, Tensor? amounts, "
      "float salt_ratio, Tensor? salt_ratios, SymInt seed, Tensor? sample_ids, SymInt epoch, "
      "SymInt transform_index) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("salt_and_pepper", &orbbec::salt_and_pepper); }
