// Rows of warps with many taps (cubic, Lanczos) on the CPU: weights once per pixel instead of once
// per channel, and no checks of bounds where all taps are inside the image. Included by
// warp_rows_cpu.h and by augment/.
#pragma once

#include <memory>

#include "simd/taps_avx2.h"

namespace orbbec {

// The steps of a pixel whose kSize x kSize taps are inside the image.
template <class SamplerOfOp, class T>
struct TapReader;

template <class T>
struct TapReader<CubicSampler, T> {
  using Sampler = CubicSampler;
  using Tap = Sampler::Tap<T>;
  using Weights = Sampler::Weights<T>;
  using Sum = Compute<T>;

  template <class Op>
  ORBBEC_HD Tap locate(const Op& op, const Image<const T>& image, int64_t n, int y, int x) const {
    return op.locate(image, n, y, x);
  }
  ORBBEC_HD Weights weights(const Tap& tap) const { return Sampler::weights_of(tap); }
  ORBBEC_HD Sum sum(const Image<const T>& image, const Tap& tap, const Weights& w,
                    int64_t c) const {
    Sum sum = 0;
    for (int r = 0; r < 4; ++r) {
      const T* const row = &image.at(tap.y + r, tap.x, c);
      const T pixels[4] = {row[0], row[image.stride_x], row[2 * image.stride_x],
                           row[3 * image.stride_x]};
      Sampler::add_row(w, r, pixels, sum);
    }
    return sum;
  }
  ORBBEC_HD T rounded(Sum sum) const { return static_cast<T>(Sampler::rounded_inside<T>(sum)); }
};

// The weights of bytes by the two fractions, as OpenCV 4 tabulates them; corrections are added.
template <class Kernel>
class FixedWeights {
 public:
  static constexpr int kTaps = Kernel::kSize * Kernel::kSize;
  using Row = int16_t[kTaps];

  static const Row* table() {
    static const FixedWeights weights;
    return weights.rows_.get();
  }

 private:
  FixedWeights() : rows_(new Row[kFractions * kFractions]) {
    using Sampler = TabulatedSampler<Kernel>;
    for (int i = 0; i < kFractions * kFractions; ++i) {
      typename Sampler::template Tap<uint8_t> tap{};
      tap.fraction_x = i % kFractions;
      tap.fraction_y = i / kFractions;
      Sampler::correct(tap);
      float wx[Kernel::kSize], wy[Kernel::kSize];
      Kernel::weights(tap.fraction_x, wx);
      Kernel::weights(tap.fraction_y, wy);
      for (int k = 0; k < kTaps; ++k) {
        const int q = k % Kernel::kSize;
        const int weight =
            Sampler::fixed_weight(wy[k / Kernel::kSize], Sampler::scaled_weight(wx[q]), q);
        rows_[i][k] = static_cast<int16_t>(weight + (k == tap.corrected ? tap.correction : 0));
      }
    }
  }

  std::unique_ptr<Row[]> rows_;
};

template <class Kernel>
struct TapReader<TabulatedSampler<Kernel>, uint8_t> {
  using Sampler = TabulatedSampler<Kernel>;
  using Tap = typename Sampler::template Tap<uint8_t>;
  using Weights = const int16_t*;
  using Sum = int;

  const typename FixedWeights<Kernel>::Row* table = FixedWeights<Kernel>::table();

  template <class Op>
  ORBBEC_HD Tap locate(const Op& op, const Image<const uint8_t>& image, int64_t n, int y,
                       int x) const {
    const Source<uint8_t> source{image, op.border, 0};
    return Sampler::template locate_uncorrected<uint8_t>(op.transform, source, n, y, x);
  }
  ORBBEC_HD Weights weights(const Tap& tap) const {
    return table[tap.fraction_y * kFractions + tap.fraction_x];
  }
  ORBBEC_HD Sum sum(const Image<const uint8_t>& image, const Tap& tap, Weights w, int64_t c) const {
    constexpr int kSize = Kernel::kSize;
    Sum sum = kWeightRound;
    for (int r = 0; r < kSize; ++r) {
      const uint8_t* const row = &image.at(tap.y + r, tap.x, c);
      for (int q = 0; q < kSize; ++q) sum += row[q * image.stride_x] * w[r * kSize + q];
    }
    return sum;
  }
  ORBBEC_HD uint8_t rounded(Sum sum) const { return Sampler::rounded(sum); }
};

template <class Kernel, class T>
struct TapReader<TabulatedSampler<Kernel>, T> {
  using Sampler = TabulatedSampler<Kernel>;
  using Tap = typename Sampler::template Tap<T>;
  struct Weights {
    float x[Kernel::kSize], y[Kernel::kSize];
  };
  using Sum = Compute<T>;

  template <class Op>
  ORBBEC_HD Tap locate(const Op& op, const Image<const T>& image, int64_t n, int y, int x) const {
    return op.locate(image, n, y, x);
  }
  ORBBEC_HD Weights weights(const Tap& tap) const {
    Weights w;
    Kernel::weights(tap.fraction_x, w.x);
    Kernel::weights(tap.fraction_y, w.y);
    return w;
  }
  ORBBEC_HD Sum sum(const Image<const T>& image, const Tap& tap, const Weights& w,
                    int64_t c) const {
    Sum sum = 0;
    for (int r = 0; r < Kernel::kSize; ++r) {
      const T* const from = &image.at(tap.y + r, tap.x, c);
      Sum row = load(from[0]) * Sum(w.y[r] * w.x[0]);
      for (int q = 1; q < Kernel::kSize; ++q)
        row = row + load(from[q * image.stride_x]) * Sum(w.y[r] * w.x[q]);
      sum = r == 0 ? row : sum + row;
    }
    return sum;
  }
  ORBBEC_HD T rounded(Sum sum) const { return store<T>(sum); }
};

// Columns [begin, end) of a row to the target's columns from 0 on, of pixels or of floats before
// rounding.
template <class Level, class Op, class Out>
ORBBEC_HD void write_taps(const Op& op, const Image<Out>& target, int64_t n, int y, int begin,
                          int end) {
  using T = typename Op::Value;
  using Reader = TapReader<typename Op::Sampler, T>;
  constexpr int kLast = Op::Sampler::kSize - 1;
  const Reader reader;
  const Image<const T> image = op.source[n];
  const int64_t channels = op.output.channels;
  for (int x = begin; x < end; ++x) {
    const auto tap = reader.locate(op, image, n, y, x);
    const bool inside =
        tap.valid && image.contains(tap.y, tap.x) && image.contains(tap.y + kLast, tap.x + kLast);
    if (!inside) {
      op.write(target, n, y, x, x - begin);
      continue;
    }
    const auto weights = reader.weights(tap);
    Out* const to = &target.at(y, x - begin, 0);
    Out values[4];
    const bool knows = Level::read(image, channels, tap, weights, values);
    for (int c = 0; c < 4 && knows; ++c) {
      if (c < channels) to[c * target.stride_c] = values[c];
    }
    for (int64_t c = 0; c < channels && !knows; ++c) {
      if constexpr (std::is_same_v<Out, T>) {
        to[c * target.stride_c] = reader.rounded(reader.sum(image, tap, weights, c));
      } else {
        to[c * target.stride_c] = reader.sum(image, tap, weights, c);
      }
    }
  }
}

}  // namespace orbbec
