// mixup and copy_paste by soft masks: each output value is the weighted sum of an image and its
// pair; and add_to_pairs, which their gradients need. Included by blends_cpu.cpp, blends_cuda.cu
// and binding.cpp.
#pragma once

#include "mix.h"

namespace orbbec {

enum class Blend { kMixup, kCopyPaste };

struct BlendArguments {
  AnyImages source, output;
  DType dtype;
  Blend blend;
  const int64_t* pair_indices;  // [N]
  const double* weights;        // [N], of mixup: of the image itself
  AnyImages masks;  // of copy_paste: of the paired image; float, or double for double images
};

template <class F>
struct Weights {
  F base, other;
};

template <class F>
struct MixupRule {
  const double* weights;

  explicit MixupRule(const BlendArguments& a) : weights(a.weights) {}

  ORBBEC_HD Weights<F> at(int64_t n, int, int) const {
    return {static_cast<F>(weights[n]), static_cast<F>(1.0 - weights[n])};
  }
};

template <class F>
struct SoftMaskRule {
  Images<const F> masks;

  explicit SoftMaskRule(const BlendArguments& a) : masks(a.masks) {}

  ORBBEC_HD Weights<F> at(int64_t n, int y, int x) const {
    const F other = masks[n].at(y, x, 0);
    return {F(1) - other, other};
  }
};

// Where the paired image has no pixel, or there is none, the image itself is copied.
template <class T, class BlendRule>
struct BlendPixels {
  using Value = T;
  using In = T;
  using Out = T;
  using Rule = BlendRule;

  Images<const T> source;
  Images<T> output;
  PairIndices pair_indices;
  Rule rule;

  explicit BlendPixels(const BlendArguments& a)
      : source(a.source), output(a.output), pair_indices{a.pair_indices, a.source.count}, rule(a) {}

  // Empty if the image has no pair.
  ORBBEC_HD Image<const T> pair_of(int64_t n) const {
    const int64_t pair_index = pair_indices.at(n);
    return pair_index != PairIndices::kNone ? source[pair_index] : Image<const T>{};
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<const T> base = source[n], other = pair_of(n);
    const Image<T> to = output[n];
    const bool mixed = other.contains(y, x);
    const auto weights = rule.at(n, y, x);
    for (int64_t c = 0; c < output.channels; ++c) {
      const T value = base.at(y, x, c);
      to.at(y, x, c) =
          mixed ? weighted_sum<T>(value, weights.base, other.at(y, x, c), weights.other) : value;
    }
  }

  // For executors/cuda/pointwise.h: the image itself and its pair, if weights are per image.
  static constexpr int kSources = 2, kIn = 0, kOut = 0;
  static constexpr bool kSameForChannels = true;
  struct OfImage {
    Weights<Compute<T>> weights;
    template <int kChannels>
    ORBBEC_HD void operator()(const int (&pixel)[2][kChannels], T (&result)[kChannels]) const {
      for (int c = 0; c < kChannels; ++c)
        result[c] = weighted_sum<T>(pixel[0][c], weights.base, pixel[1][c], weights.other);
    }
  };
  ORBBEC_HD Image<const T> source_of(int64_t n, int i) const {
    const int64_t pair_index = pair_indices.at(n);
    return source[i == 0 || pair_index == PairIndices::kNone ? n : pair_index];
  }
  // An image without a pair is the sum of itself and nothing.
  ORBBEC_HD OfImage of_image(int64_t n) const {
    if (pair_indices.at(n) == PairIndices::kNone) return {{1, 0}};
    return {rule.at(n, 0, 0)};
  }
  ORBBEC_HD bool is_ordinary(int64_t n) const {
    const Image<T> to = output[n];
    const Image<const T> base = source_of(n, 0), other = source_of(n, 1);
    return base.height == to.height && base.width == to.width && other.height == to.height &&
           other.width == to.width;
  }
};

template <class T, class Launch>
int dispatch_blend(const BlendArguments& a, const Launch& launch) {
  using F = Compute<T>;
  if (a.blend == Blend::kMixup) return launch(BlendPixels<T, MixupRule<F>>(a));
  return launch(BlendPixels<T, SoftMaskRule<F>>(a));
}

// Adds to each image's own gradient the contributions of the images that it is paired with, in
// order.
struct SumArguments {
  AnyImages base, contributions, output;
  DType dtype;
  const int64_t* order;   // [N]: images sorted by their pair index
  const int64_t* starts;  // [N + 1]: where the images of each pair index begin in `order`
};

template <class T>
struct AddToPairs {
  Images<const T> base, contributions;
  Images<T> output;
  const int64_t *order, *starts;

  explicit AddToPairs(const SumArguments& a)
      : base(a.base),
        contributions(a.contributions),
        output(a.output),
        order(a.order),
        starts(a.starts) {}

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const int64_t count = output.count;
    const int64_t begin = starts[n] > 0 ? starts[n] : 0;
    const int64_t end = starts[n + 1] < count ? starts[n + 1] : count;
    for (int64_t c = 0; c < output.channels; ++c) {
      Compute<T> sum = load(base[n].at(y, x, c));
      for (int64_t k = begin; k < end; ++k) {
        const int64_t from = order[k];
        if (from >= 0 && from < count) sum += load(contributions[from].at(y, x, c));
      }
      output[n].at(y, x, c) = store<T>(sum);
    }
  }
};

template <class Launch>
int dispatch_blends(const BlendArguments& a, const Launch& launch) {
  return dispatch_any_dtype(a.dtype,
                            [&](auto value) { return dispatch_blend<decltype(value)>(a, launch); });
}

template <class Launch>
int dispatch_sum(const SumArguments& a, const Launch& launch) {
  return dispatch_any_dtype(a.dtype,
                            [&](auto value) { return launch(AddToPairs<decltype(value)>(a)); });
}

}  // namespace orbbec
