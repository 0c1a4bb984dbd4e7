#include "../core/constant_divisor.h"
#include "../executors/cuda/pointwise.h"
#include "normalize.h"

namespace orbbec {
namespace {

// Normalizes bytes without divisions, where that gives the same bits.
struct NormalizeBytes {
  static constexpr bool kSameForChannels = false;
  Normalize<float> rule;
  float reciprocal[kMaxNormalized];
  bool are_exact;

  explicit NormalizeBytes(const Normalize<float>& rule) : rule(rule), are_exact(true) {
    for (int c = 0; c < rule.numbers; ++c) {
      reciprocal[c] = 1 / rule.std[c];
      are_exact = are_exact && in_divided_range(rule.std[c]) && all_are_divided(rule.of(0, c));
    }
  }

  static bool all_are_divided(const NormalizeChannel<float>& channel) {
    for (int value = 0; value < 256; ++value) {
      const float difference = channel.difference(value);
      if (bits_of(difference) != 0 && !in_divided_range(difference)) return false;
    }
    return true;
  }

  struct Channel {
    NormalizeChannel<float> channel;
    float reciprocal;
    bool is_exact;

    ORBBEC_HD float operator()(int pixel) const {
      const ConstantDivisor std{channel.std, reciprocal};
      return is_exact ? std.quotient(channel.difference(pixel)) : channel(pixel);
    }
  };
  ORBBEC_HD Channel of(int64_t n, int64_t c) const {
    return {rule.of(n, c), reciprocal[rule.numbers == 1 ? 0 : c], are_exact};
  }
};

template <class Pointwise>
int run(const Pointwise& pointwise, const NormalizeArguments&, void* stream) {
  return run_pointwise_cuda(pointwise, stream);
}
template <class Out>
int run(const ChannelPointwise<uint8_t, Out, Normalize<float>>& pointwise,
        const NormalizeArguments& arguments, void* stream) {
  const NormalizeBytes rule(pointwise.rule);
  return run_pointwise_cuda(ChannelPointwise<uint8_t, Out, NormalizeBytes>(arguments, rule),
                            stream);
}

}  // namespace

int normalize_cuda(const NormalizeArguments& arguments, void* stream) {
  return dispatch_normalize(
      arguments, [&](const auto& pointwise) { return run(pointwise, arguments, stream); });
}

}  // namespace orbbec
