// augment: a pipeline of augmentations in one pass. Each output pixel is read through the
// coordinate transform of its image, processed by its color program, erased where a rectangle
// covers it, normalized, mixed with another image, cast and stored. Included by augment_cpu.cpp,
// augment_rows.h, kernels_cuda.h, planes.h and binding.cpp.
#pragma once

#include "../core/constant_divisor.h"
#include "../core/matrix.h"
#include "../core/perspective_transform.h"
#include "program.h"

namespace orbbec {

constexpr int kBoxNumbers = 8;  // left, top, right, bottom, four fills
constexpr int kMixNumbers = 7;  // pair index, left, top, right, bottom, own weight, other weight

struct AugmentArguments {
  // `output` gives sizes and strides; its elements are of `output_dtype`. If it is ragged, its
  // height and width are the largest ones.
  WarpArguments warp;
  GivenMatrices matrices;  // for CUDA, in place of the transform of `warp`
  DType output_dtype;
  ProgramArguments program;
  const float* boxes;  // [N, boxes_per_image, kBoxNumbers], in output pixels
  int64_t boxes_stride;
  int boxes_per_image;
  // (value * scale - mean) / std, or value * scale alone.
  float scale, mean[kMaxFills], std[kMaxFills];
  bool normalizes;
  int gray_rows;  // of the tiles whose gray values are already summed; 0: none are
  // [N], initially zero; for CUDA [N, gray_tiles()]. Null where no program needs a mean.
  int64_t* gray_sums;
  const float* mix;  // [N, kMixNumbers], in output pixels; null without mixing
};

// The smallest tiles of an output that have gray sums of their own, and how many there are.
constexpr int kGrayTileWidth = 32, kGrayTileHeight = 8;
ORBBEC_HD int64_t gray_tiles(const AnyImages& output) {
  const int64_t rows = (output.height + int64_t{kGrayTileHeight} - 1) / kGrayTileHeight;
  return rows * ((output.width + int64_t{kGrayTileWidth} - 1) / kGrayTileWidth);
}

// The last step of a channel before mixing.
struct Finish {
  float scale, mean, std;
  bool normalizes;

  // Value is a float or a vector of floats.
  template <class Value>
  ORBBEC_HD Value scaled(Value value) const {
    return value * scale;
  }
  // What is divided by `std`.
  template <class Value>
  ORBBEC_HD Value difference(Value value) const {
    return scaled(value) - mean;
  }
  template <class Value>
  ORBBEC_HD Value operator()(Value value) const {
    return normalizes ? difference(value) / std : scaled(value);
  }
};

// Quotients by `std`, where the values are such that they have the bits of divisions.
struct Quotients {
  bool are_exact;
  float reciprocal[kMaxFills];
};

// After scaling and mean subtraction a byte is zero or a normal float, so the division by
// reciprocal is exact. Fills of rectangles can be subnormal, and are divided.
inline Quotients quotients_of(const AugmentArguments& a) {
  constexpr float kMin = 0x1p-30f, kMax = 0x1p30f;
  Quotients quotients{a.normalizes && a.warp.dtype == DType::kUInt8 && magnitude(a.scale) < kMax,
                      {}};
  for (int c = 0; c < kMaxFills; ++c) {
    quotients.reciprocal[c] = 1 / a.std[c];
    const bool is_usual = magnitude(a.mean[c]) > kMin && magnitude(a.mean[c]) < kMax;
    if (!is_usual || !in_divided_range(a.std[c])) quotients.are_exact = false;
  }
  return quotients;
}

// Another image of the batch, seen in a rectangle of the output. The rectangle is empty without
// one.
struct Mix {
  int64_t pair_index = 0;
  float left = 0, top = 0, right = 0, bottom = 0, weight = 1, other = 0;

  ORBBEC_HD Mix(const AugmentArguments& a, int64_t n) {
    if (a.mix == nullptr) return;
    const float* const row = a.mix + n * kMixNumbers;
    if (!(row[0] >= 0 && row[0] < static_cast<float>(a.warp.output.count))) return;
    pair_index = static_cast<int64_t>(row[0]);
    left = row[1], top = row[2], right = row[3], bottom = row[4];
    weight = row[5], other = row[6];
  }
  ORBBEC_HD bool covers_row(float y) const { return y >= top && y < bottom; }
  ORBBEC_HD bool covers(float y, float x) const { return covers_row(y) && x >= left && x < right; }
  ORBBEC_HD bool covers(int y, int x) const {
    return covers(static_cast<float>(y), static_cast<float>(x));
  }
  // Whether only the other image is visible.
  ORBBEC_HD bool replaces() const { return weight == 0 && other == 1; }
  ORBBEC_HD float sum(float value, float other_value) const {
    return other_value * other + value * weight;
  }
};

constexpr int kExactSide = 1 << 23;  // positions up to here are exact in float

// A coordinate transform that maps pixels to whole pixels: a crop, a flip or the identity.
struct WholeShift {
  bool is_whole;
  int step_x, left, step_y, top;

  ORBBEC_HD explicit WholeShift(const float* m) {
    is_whole = fabsf(m[0]) == 1 && m[1] == 0 && m[3] == 0 && fabsf(m[4]) == 1 && m[6] == 0 &&
               m[7] == 0 && m[8] == 1 && fabsf(m[2]) < kExactSide && fabsf(m[5]) < kExactSide &&
               rintf(m[2]) == m[2] && rintf(m[5]) == m[5];
    step_x = is_whole ? static_cast<int>(m[0]) : 0;
    left = is_whole ? static_cast<int>(m[2]) : 0;
    step_y = is_whole ? static_cast<int>(m[4]) : 0;
    top = is_whole ? static_cast<int>(m[5]) : 0;
  }
};

// How many pixels a sampler reads along each axis.
template <class Sampler>
constexpr int kTapsOf = std::is_same_v<Sampler, NearestSampler>  ? 1
                        : std::is_same_v<Sampler, LinearSampler> ? 2
                                                                 : 4;

// Reading a pixel takes three steps: the view of image n, once per image; the tap of an output
// pixel; the values at the tap. Missing channels are 0.
template <class T, class Transform, class Sampler>
ORBBEC_HD Image<const T> view_of(const Warp<T, Transform, Sampler>& reader, int64_t n) {
  return reader.source[n];
}

template <class T, class Transform, class Sampler>
ORBBEC_HD auto tap_of(const Warp<T, Transform, Sampler>& reader, const Image<const T>& image,
                      int64_t n, int y, int x) {
  return reader.locate(image, n, y, x);
}

template <class T, class Transform, class Sampler, class Tap>
ORBBEC_HD void read_tap(const Warp<T, Transform, Sampler>& reader, const Image<const T>& image,
                        const Tap& tap, float (&values)[kMaxFills]) {
#pragma unroll
  for (int c = 0; c < kMaxFills; ++c)
    values[c] = c < reader.output.channels ? reader.value(image, tap, c) : 0.0f;
}

// The source value of an output pixel.
template <class Reader>
ORBBEC_HD void read_pixel(const Reader& reader, int64_t n, int y, int x,
                          float (&values)[kMaxFills]) {
  const auto view = view_of(reader, n);
  read_tap(reader, view, tap_of(reader, view, n, y, x), values);
}

template <class PixelReader>
struct Augment {
  using Reader = PixelReader;
  using Value = typename Reader::Value;

  Reader reader;
  AugmentArguments arguments;
  // The outputs, whatever their type is: their sizes, and offsets in elements.
  Images<uint8_t> shapes{arguments.warp.output};

  ORBBEC_HD int channels() const { return static_cast<int>(arguments.warp.output.channels); }

  ORBBEC_HD Program program(int64_t n) const {
    return program(n, arguments.gray_sums != nullptr ? arguments.gray_sums[n] : 0);
  }
  ORBBEC_HD Program program(int64_t n, int64_t gray_sum) const {
    const Image<uint8_t> output = shapes[n];
    return {arguments.program, n, gray_sum, int64_t{output.height} * output.width};
  }

  // For the gray sums, which other threads still add to: no step before contrast needs the mean.
  ORBBEC_HD Program program_without_mean(int64_t n) const { return {arguments.program, n, 0, 1}; }

  // Runs the program up to step `end` for pixel (y, x). One channel stands for three equal ones.
  ORBBEC_HD void color(const Program& program, int end, int y, int x,
                       float (&values)[kMaxFills]) const {
    float rgb[3] = {values[0], channels() == 1 ? values[0] : values[1],
                    channels() == 1 ? values[0] : values[2]};
    for (int s = 0; s < end; ++s)
      program.with_step(s, [&](const auto& step) { run_step(step, y, x, rgb); });
    for (int c = 0; c < 3; ++c) values[c] = rgb[c];
  }

  ORBBEC_HD const float* box(int64_t n, int i) const {
    return arguments.boxes + n * arguments.boxes_stride + int64_t{i} * kBoxNumbers;
  }

  // Whether box i of image n covers a pixel of the columns [left, right] of the rows [top, bottom].
  ORBBEC_HD bool box_meets(int64_t n, int i, int left, int top, int right, int bottom) const {
    const float* const b = box(n, i);
    return static_cast<float>(right) >= b[0] && static_cast<float>(bottom) >= b[1] &&
           static_cast<float>(left) < b[2] && static_cast<float>(top) < b[3];
  }

  ORBBEC_HD void erase(int64_t n, int y, int x, float (&values)[kMaxFills]) const {
    for (int i = 0; i < arguments.boxes_per_image; ++i) {
      const float* const b = box(n, i);
      if (!box_meets(n, i, x, y, x, y)) continue;
#pragma unroll
      for (int c = 0; c < kMaxFills; ++c) values[c] = b[4 + c] * arguments.program.max_value;
    }
  }

  ORBBEC_HD Finish finish(int c) const {
    return {arguments.scale, arguments.mean[c], arguments.std[c], arguments.normalizes};
  }

  // Pixel (y, x) as read, after color steps and erasing.
  ORBBEC_HD void augment(int64_t n, int y, int x, float (&values)[kMaxFills]) const {
    read_pixel(reader, n, y, x, values);
    const Program steps = program(n);
    if (steps.count > 0) color(steps, steps.count, y, x, values);
    erase(n, y, x, values);
  }

  ORBBEC_HD void finished(int64_t n, int y, int x, float (&values)[kMaxFills]) const {
    augment(n, y, x, values);
#pragma unroll
    for (int c = 0; c < kMaxFills; ++c) values[c] = finish(c)(values[c]);
  }

  // Pixel (y, x) of output n.
  ORBBEC_HD void output(int64_t n, int y, int x, float (&values)[kMaxFills]) const {
    const Mix mix(arguments, n);
    const bool mixed = mix.covers(y, x);
    finished(mixed && mix.replaces() ? mix.pair_index : n, y, x, values);
    if (!mixed || mix.replaces()) return;
    float theirs[kMaxFills];
    finished(mix.pair_index, y, x, theirs);
#pragma unroll
    for (int c = 0; c < kMaxFills; ++c) values[c] = mix.sum(values[c], theirs[c]);
  }

  // The gray value in integer units for the image's mean.
  ORBBEC_HD int gray_units(const Program& program, int end, int64_t n, int y, int x) const {
    float values[kMaxFills];
    read_pixel(reader, n, y, x, values);
    color(program, end, y, x, values);
    return program.gray_units(values);
  }
};

template <class T, class Sampler>
auto augment_of(const AugmentArguments& a) {
  const auto reader = make_warp<T, PerspectiveTransform<float>, Sampler>(a.warp);
  return Augment<std::decay_t<decltype(reader)>>{reader, a};
}

// Calls run(sampler) with the sampler of an interpolation.
template <class Run>
auto with_sampler(Interpolation interpolation, const Run& run) {
  switch (interpolation) {
    case Interpolation::kNearest:
      return run(NearestSampler{});
    case Interpolation::kCubic:
      return run(CubicSampler{});
    default:
      return run(LinearSampler{});
  }
}

template <class Launch>
auto dispatch_augment(const AugmentArguments& a, const Launch& launch) {
  return dispatch_dtype<uint8_t, Half, BFloat16, float>(a.warp.dtype, [&](auto value) {
    return with_sampler(a.warp.interpolation, [&](auto sampler) {
      return launch(augment_of<decltype(value), decltype(sampler)>(a));
    });
  });
}

template <class Launch>
ORBBEC_HD void with_output_type(DType dtype, const Launch& launch) {
  switch (dtype) {
    case DType::kUInt8:
      return launch(uint8_t{});
    case DType::kFloat16:
      return launch(Half{});
    case DType::kBFloat16:
      return launch(BFloat16{});
    default:
      return launch(float{});
  }
}

ORBBEC_HD int64_t bytes_of(DType dtype) {
  return dtype == DType::kUInt8 ? 1 : dtype == DType::kFloat32 ? 4 : 2;
}

// Output n, whose elements are of type Out.
template <class Out>
ORBBEC_HD Image<Out> target_of(const AugmentArguments& a, int64_t n) {
  return Images<Out>(a.warp.output)[n];
}

// Stores the channels of a pixel in the dtype of the output.
template <class Op>
struct AugmentPixel {
  Op op;

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    float values[kMaxFills];
    op.output(n, y, x, values);
    with_output_type(op.arguments.output_dtype, [&](auto typed) {
      using Out = decltype(typed);
      const Image<Out> target = target_of<Out>(op.arguments, n);
#pragma unroll
      for (int c = 0; c < kMaxFills; ++c) {
        if (c < op.channels()) target.at(y, x, c) = store<Out>(values[c]);
      }
    });
  }
};

}  // namespace orbbec
