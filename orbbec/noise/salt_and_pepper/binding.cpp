#include "../binding_noise.h"
#include "salt_and_pepper.h"

namespace orbbec {

void salt_and_pepper_cpu(const SaltAndPepperArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int salt_and_pepper_cuda(const SaltAndPepperArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "salt_and_pepper";

void salt_and_pepper(StableIValue* stack, uint64_t, uint64_t) {
  NoiseCall call;
  std::optional<Tensor> amounts, salt_ratios;
  double amount, salt_ratio, salt, pepper;
  unpack(stack, call.images, call.layout, call.channels, amount, amounts, salt_ratio, salt_ratios,
         call.seed, call.sample_ids, call.epoch, call.position, salt, pepper);
  const auto set_numbers = [&](SaltAndPepperArguments& a) {
    const int64_t count = a.source.count;
    a.amount = {check_per_image(kOp, "amount", amounts, call.images, count), amount};
    a.salt_ratio = {check_per_image(kOp, "salt_ratio", salt_ratios, call.images, count),
                    salt_ratio};
    a.salt = salt;
    a.pepper = pepper;
  };
  give(stack, run_noise(kOp, call, set_numbers, salt_and_pepper_cpu, salt_and_pepper_cuda));
}

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
