#include "../binding_noise.h"
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
  double amount = 0, salt_ratio = 0, salt = 0, pepper = 0;

  explicit Call(StableIValue* stack) {
    unpack(stack, images, layout, channels, amount, amounts, salt_ratio, salt_ratios, seed,
           sample_ids, epoch, position, salt, pepper);
  }
};

Tensor run(const Call& call) {
  const auto set_numbers = [&](SaltAndPepperArguments& a) {
    const int64_t count = a.source.count;
    a.amount = {check_per_image(kOp, "amount", call.amounts, call.images, count), call.amount};
    a.salt_ratio = {check_per_image(kOp, "salt_ratio", call.salt_ratios, call.images, count),
                    call.salt_ratio};
    a.salt = call.salt;
    a.pepper = call.pepper;
  };
  return run_noise<SaltAndPepperArguments>(kOp, call, set_numbers, salt_and_pepper_cpu,
                                           salt_and_pepper_cuda);
}

void salt_and_pepper(StableIValue* stack, uint64_t, uint64_t) { give(stack, run(Call(stack))); }

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "salt_and_pepper(Tensor images, Tensor? layout, int channels, float amount, Tensor? amounts, "
      "float salt_ratio, Tensor? salt_ratios, SymInt seed, Tensor? sample_ids, SymInt epoch, "
      "SymInt transform_index, float salt, float pepper) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { orbbec::implement_with_out<&orbbec::salt_and_pepper>(m, "salt_and_pepper"); }
