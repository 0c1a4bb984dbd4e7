// The arithmetic of the samplers on groups of neighboring pixels. Included by vector_row.h.
#pragma once

#include "../../core/warp.h"

namespace orbbec {

// `position` of a group's pixels, `locate` its upper left taps (INT_MIN where a position is not
// finite) and `add_row` from the top, as the sampler does for one pixel.
template <class Simd, class Sampler>
struct VectorSampler;

// For positions that are not clamped.
template <class Simd>
struct FusedPositions {
  using Float = typename Simd::Float;

  template <class Transform>
  static Point<Float> position(const Transform& transform, int64_t n, int y, int x) {
    return transform.template fused_group<Simd>(n, y, x);
  }
  static Float clamp(Float position, int) { return position; }
};

template <class Simd>
struct VectorSampler<Simd, NearestSampler> : FusedPositions<Simd> {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  struct Weights {};

  static Int locate(Float position, Float&) { return Simd::round(position); }
  static Weights weights_of(Float, Float) { return {}; }
  static void add_row(const Weights&, int, const Float (&pixels)[1], Float& sum) {
    sum = pixels[0];
  }
};

template <class Simd>
struct VectorSampler<Simd, LinearSampler> : FusedPositions<Simd> {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  struct Weights {
    Float a, b;
  };

  static Int locate(Float position, Float& fraction) {
    const Int floor = Simd::truncate(Simd::floor(position));
    fraction = position - Simd::to_float(floor);
    return floor;
  }
  static Weights weights_of(Float a, Float b) { return {a, b}; }
  static Float mix(Float t, Float from, Float to) {
    return Simd::fused_multiply_add(t, to - from, from);
  }
  static void add_row(const Weights& w, int r, const Float (&pixels)[2], Float& sum) {
    const Float row = mix(w.a, pixels[0], pixels[1]);
    sum = r == 0 ? row : mix(w.b, sum, row);
  }
};

template <class Simd>
struct VectorSampler<Simd, CubicSampler> {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  struct Weights {
    Float x[4], y[4];
  };

  template <class Transform>
  static Point<Float> position(const Transform& transform, int64_t n, int y, int x) {
    return transform.template unfused_group<Simd>(n, y, x);
  }
  static Float clamp(Float position, int size) {
    const float reach = static_cast<float>(size > 16 ? size : 16);
    const Float low = Simd::all_lanes(-reach), high = Simd::all_lanes(2 * reach);
    return position < low ? low : position > high ? high : position;
  }
  static Int locate(Float position, Float& fraction) {
    return VectorSampler<Simd, LinearSampler>::locate(position, fraction) - 1;
  }
  static Weights weights_of(Float a, Float b) {
    Weights w;
    set_weights(a, w.x);
    set_weights(b, w.y);
    return w;
  }
  static void add_row(const Weights& w, int r, const Float (&pixels)[4], Float& sum) {
    Float row = pixels[0] * w.x[0];
#pragma GCC unroll 4
    for (int q = 1; q < 4; ++q) row = Simd::fused_multiply_add(pixels[q], w.x[q], row);
    sum = Simd::fused_multiply_add(row, w.y[r], sum);
  }

 private:
  static void set_weights(Float t, Float (&w)[4]) {
    constexpr float kA = -0.75f;
    const Float square = t * t, rest = 1.0f - t, one = Simd::all_lanes(1.0f);
    const Float inner =
        Simd::fused_multiply_add(Simd::all_lanes(kA + 2), t, Simd::all_lanes(-(kA + 3)));
    w[0] = kA * (t * (rest * rest));
    w[1] = Simd::fused_multiply_add(square, inner, one);
    w[3] = kA * (square * rest);
    w[2] = ((one - w[0]) - w[1]) - w[3];
  }
};

}  // namespace orbbec
