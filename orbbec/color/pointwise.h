// Pointwise operators: an output pixel depends on the input pixel at the same position. A rule
// computes in `Lane`: int for uint8, else the computing type of the dtype. Included by every
// operator of this folder.
#pragma once

#include <utility>

#include "../core/image.h"
#include "../core/per_image.h"
#include "../core/scalar.h"
#include "../core/table_of.h"

namespace orbbec {

// A pointwise call: filled by the binding, read by the dispatch.
struct PointwiseArguments {
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

// Rules keep lanes of uint8 within 0 to 255.
template <class T>
ORBBEC_HD T from_lane(Lane<T> value) {
  if constexpr (std::is_same_v<T, uint8_t>) return static_cast<uint8_t>(value);
  if constexpr (!std::is_same_v<T, uint8_t>) return store<T>(value);
}

ORBBEC_HD int to_byte(int value) { return clamp_int(value, 0, 255); }

// OpenCV's vectors take this many pixels of a row at a time; the tail is computed differently.
constexpr int kVectorPixels = 32;

// Whether an image and its output have equal sizes. A table of variable-size images may lie where
// the host cannot check it against its output; an image that does not match becomes black.
template <class From, class To>
ORBBEC_HD bool is_readable(const Image<const From>& from, const Image<To>& to) {
  return from.height == to.height && from.width == to.width;
}

// A rule in stages, `stage<k>(values)` for k below kStages: each looks up values or computes with
// them, so that over many pixels the compiler vectorizes those that compute.
template <int kStage = 0, class Rule, int kCount>
ORBBEC_HD void run_stages_on(const Rule& rule, int (&values)[Rule::kValues][kCount]) {
  if constexpr (kStage < Rule::kStages) {
    for (int i = 0; i < kCount; ++i) {
      int pixel[Rule::kValues];
      for (int v = 0; v < Rule::kValues; ++v) pixel[v] = values[v][i];
      rule.template stage<kStage>(pixel);
      for (int v = 0; v < Rule::kValues; ++v) values[v][i] = pixel[v];
    }
    run_stages_on<kStage + 1>(rule, values);
  }
}

template <class Rule>
ORBBEC_HD void run_stages(const Rule& rule, const int (&in)[Rule::kIn], int (&out)[Rule::kOut]) {
  int values[Rule::kValues][1] = {};
  for (int c = 0; c < Rule::kIn; ++c) values[c][0] = in[c];
  run_stages_on(rule, values);
  for (int c = 0; c < Rule::kOut; ++c) out[c] = values[c][0];
}

// A rule between colors that is the same for all images.
template <class Rule, int kInputs, int kOutputs>
struct ColorRule {
  static constexpr int kIn = kInputs, kOut = kOutputs;
  static constexpr bool kKnowsVectors = false;
  ORBBEC_HD Rule of(int64_t) const { return static_cast<const Rule&>(*this); }
};

// Distinguishes full vectors from the row's tail.
template <bool kInVector>
using InVector = std::bool_constant<kInVector>;

// `rule.of(n)` returns the functor for image n: `(in, out, InVector)`, or where the
// rule has a table `(in, out, table)`.
template <class T, class PointwiseRule>
struct PixelPointwise {
  using In = T;
  using Out = T;
  using Rule = PointwiseRule;
  static constexpr int kIn = Rule::kIn, kOut = Rule::kOut;

  Images<const T> source;
  Images<T> output;
  Rule rule;

  PixelPointwise(const PointwiseArguments& a, const Rule& with)
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

  // For executors/cuda/pointwise.h.
  static constexpr int kSources = 1;
  static constexpr bool kSameForChannels = false;
  using Work = decltype(std::declval<Rule>().of(0));
  using Table = typename TableOf<Rule>::Type;
  struct OfImage {
    Work work;
    const Table& table;
    ORBBEC_HD void operator()(const int (&pixel)[1][kIn], T (&result)[kOut]) const {
      int out[kOut];
      if constexpr (Table::kEntries > 0) work(pixel[0], out, table);
      if constexpr (Table::kEntries == 0) work(pixel[0], out, InVector<true>{});
      for (int c = 0; c < kOut; ++c) result[c] = from_lane<T>(out[c]);
    }
  };
  ORBBEC_HD Image<const T> source_of(int64_t n, int) const { return source[n]; }
  ORBBEC_HD OfImage of_image(int64_t n, const Table& table) const { return {rule.of(n), table}; }
  ORBBEC_HD bool is_ordinary(int64_t n) const {
    const Image<T> to = output[n];
    return is_readable(source[n], to) && (!Rule::kKnowsVectors || to.width % kVectorPixels == 0);
  }
};

// `rule.of(n, c)` returns the functor for channel c of image n: `(value)`.
template <class From, class To, class ChannelRule>
struct ChannelPointwise {
  using In = From;
  using Out = To;
  using Rule = ChannelRule;

  Images<const From> source;
  Images<To> output;
  Rule rule;

  ChannelPointwise(const PointwiseArguments& a, const Rule& with)
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

  // For executors/cuda/pointwise.h: up to 3 channels.
  static constexpr int kSources = 1, kIn = 0, kOut = 0;
  static constexpr bool kSameForChannels = Rule::kSameForChannels;
  using Work = decltype(std::declval<Rule>().of(0, 0));
  struct OfImage {
    Work works[3];
    template <int kChannels>
    ORBBEC_HD void operator()(const int (&pixel)[1][kChannels], To (&result)[kChannels]) const {
      for (int c = 0; c < kChannels; ++c) result[c] = from_lane<To>(works[c](pixel[0][c]));
    }
  };
  ORBBEC_HD Image<const From> source_of(int64_t n, int) const { return source[n]; }
  ORBBEC_HD OfImage of_image(int64_t n) const {
    const int64_t last = output.channels - 1;
    return {{rule.of(n, 0), rule.of(n, last < 1 ? last : 1), rule.of(n, last < 2 ? last : 2)}};
  }
  ORBBEC_HD bool is_ordinary(int64_t n) const { return is_readable(source[n], output[n]); }
};

}  // namespace orbbec
