// Maps of pixels: the channels of a pixel give the channels of the pixel at the same place. A rule
// computes in `Lane`: int for uint8, else the type that pixels are computed in. Included by every
// operator of this folder.
#pragma once

#include "../core/image.h"
#include "../core/per_image.h"
#include "../core/scalar.h"

namespace orbbec {

// A call of a map: filled by the binding, read by the dispatch.
struct MapArguments {
  AnyImages source, output;
  DType dtype, output_dtype;
};

template <class T>
using Lane = std::conditional_t<std::is_same_v<T, uint8_t>, int, Compute<T>>;

template <class T>
ORBBEC_HD Lane<T> to_lane(T value) {
  if constexpr (std::is_same_v<T, uint8_t>) return value;
  if constexpr (!std::is_same_v<T, uint8_t>) return load(value);
}

// Rules keep lanes of uint8 from 0 to 255.
template <class T>
ORBBEC_HD T from_lane(Lane<T> value) {
  if constexpr (std::is_same_v<T, uint8_t>) return static_cast<uint8_t>(value);
  if constexpr (!std::is_same_v<T, uint8_t>) return store<T>(value);
}

ORBBEC_HD int to_byte(int value) { return clamp_int(value, 0, 255); }

// OpenCV's vectors take so many pixels of a row at a time; what is left of it goes another way.
constexpr int kVectorPixels = 32;

// Whether an image can be read where its output is written. A table of unlike images, which may lie
// where the host cannot see it, need not fit to its output: then the image is black.
template <class From, class To>
ORBBEC_HD bool is_readable(const Image<const From>& from, const Image<To>& to) {
  return from.height == to.height && from.width == to.width;
}

// What the pixels of whole vectors are told from those at the end of a row by.
template <bool kInVector>
using InVector = std::bool_constant<kInVector>;

// `rule.of(n)` gives what does the work of image n: `(in, out, InVector)`.
template <class T, class MapRule>
struct PixelMap {
  using In = T;
  using Out = T;
  using Rule = MapRule;
  static constexpr int kIn = Rule::kIn, kOut = Rule::kOut;

  Images<const T> source;
  Images<T> output;
  Rule rule;

  PixelMap(const MapArguments& a, const Rule& with)
      : source(a.source), output(a.output), rule(with) {}

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<const T> from = source[n];
    const Image<T> to = output[n];
    Lane<T> in[kIn], out[kOut];
    const bool readable = is_readable(from, to);
    for (int c = 0; c < kIn; ++c) in[c] = to_lane(readable ? from.at(y, x, c) : T{});
    if constexpr (Rule::kKnowsVectors) {
      if (x >= to.width / kVectorPixels * kVectorPixels) {
        rule.of(n)(in, out, InVector<false>{});
        return write(to, y, x, out);
      }
    }
    rule.of(n)(in, out, InVector<true>{});
    write(to, y, x, out);
  }

  ORBBEC_HD static void write(const Image<T>& to, int y, int x, const Lane<T> (&out)[kOut]) {
    for (int c = 0; c < kOut; ++c) to.at(y, x, c) = from_lane<T>(out[c]);
  }
};

// `rule.of(n, c)` gives what does the work of channel c of image n: `(value)`.
template <class From, class To, class ChannelRule>
struct ChannelMap {
  using In = From;
  using Out = To;
  using Rule = ChannelRule;

  Images<const From> source;
  Images<To> output;
  Rule rule;

  ChannelMap(const MapArguments& a, const Rule& with)
      : source(a.source), output(a.output), rule(with) {}

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<const From> from = source[n];
    const Image<To> to = output[n];
    const bool readable = is_readable(from, to);
    for (int64_t c = 0; c < output.channels; ++c) {
      const From value = readable ? from.at(y, x, c) : From{};
      to.at(y, x, c) = from_lane<To>(rule.of(n, c)(to_lane(value)));
    }
  }
};

}  // namespace orbbec
