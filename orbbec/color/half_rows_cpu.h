// Pointwise operators of float16 on the CPU: blocks of a row in float32, by the operator of float32
// with the same rule. Compilers vectorize the conversion of bfloat16, which is a shift. Included by
// rows_cpu.h.
#pragma once

#include <memory>

#include "../executors/float_dispatch_cpu.h"
#include "../executors/float_images_cpu.h"
#include "pointwise.h"

namespace orbbec {

template <class T>
constexpr bool kIsBlocked = std::is_same_v<T, Half>;
template <class T>
using Widened = std::conditional_t<kIsBlocked<T>, float, T>;

// The operator of float32; none without a rule.
template <class Pointwise>
struct FloatPointwise {};
template <class T, class Rule>
struct FloatPointwise<PixelPointwise<T, Rule>> {
  using Type = PixelPointwise<Widened<T>, Rule>;
};
template <class From, class To, class Rule>
struct FloatPointwise<ChannelPointwise<From, To, Rule>> {
  using Type = ChannelPointwise<Widened<From>, Widened<To>, Rule>;
};

// Columns of a row of an image as a batch, in which every image is this one.
template <class T>
AnyImages columns_of(const Image<T>& image, int64_t channels, int y, int x, int count) {
  AnyImages columns{};
  columns.data = const_cast<std::remove_const_t<T>*>(&image.at(y, x, 0));
  columns.channels = channels;
  columns.height = 1;
  columns.width = count;
  columns.stride_x = image.stride_x;
  columns.stride_c = image.stride_c;
  return columns;
}

// Columns in float32, which are those of the image itself if they are not float16.
template <class T>
class FloatColumns {
 public:
  static constexpr int64_t kMaxValues =
      2048;  // values, so that those of source and output are in cache

  FloatColumns(int64_t channels, Simd level)
      : level_(level), memory_(kIsBlocked<T> ? new float[channels * columns(channels)] : nullptr) {}

  // A multiple of kVectorPixels.
  static int columns(int64_t channels) {
    return static_cast<int>(std::max<int64_t>(kMaxValues / channels / kVectorPixels, 1)) *
           kVectorPixels;
  }

  AnyImages of(const AnyImages& columns) const {
    if (!kIsBlocked<T>) return columns;
    AnyImages floats = FloatLayout(columns).images;
    floats.data = memory_.get();
    return floats;
  }
  void read(const AnyImages& columns) const {
    if constexpr (kIsBlocked<T>)
      for_each_plane(Images<const T>(columns)[0], Images<float>(of(columns))[0], columns, 0,
                     [&](auto... row) { widen_row(row..., level_); });
  }
  void write(const AnyImages& columns) const {
    if constexpr (kIsBlocked<T>)
      for_each_plane(Images<T>(columns)[0], Images<const float>(of(columns))[0], columns, 0,
                     [&](T* to, int64_t step, const float* from, int64_t count) {
                       narrow_row(from, to, step, count, level_);
                     });
  }

 private:
  Simd level_;
  std::unique_ptr<float[]> memory_;
};

// Whether blocks of the operator run in float32.
template <class Pointwise>
concept HasFloatBlocks = requires { typename FloatPointwise<Pointwise>::Type; } &&
                         !std::is_same_v<typename FloatPointwise<Pointwise>::Type, Pointwise>;

template <HasFloatBlocks Pointwise>
class HalfRow {
 public:
  using Floats = typename FloatPointwise<Pointwise>::Type;

  HalfRow(const Pointwise& op, PixelRow<Floats> row, Simd level)
      : op_(op),
        row_(row),
        source_(op.source.channels, level),
        output_(op.output.channels, level),
        step_(source_.columns(std::max(op.source.channels, op.output.channels))) {}

  void run(int64_t n, int y) const {
    const auto from = op_.source[n];
    const auto to = op_.output[n];
    const bool readable = is_readable(from, to);
    for (int x = 0; x < to.width; x += step_) {
      const int count = std::min(to.width - x, step_);
      AnyImages source =
          readable ? columns_of(from, op_.source.channels, y, x, count) : AnyImages{};
      const AnyImages output = columns_of(to, op_.output.channels, y, x, count);
      if (readable) source_.read(source);
      row_(Floats({source_.of(source), output_.of(output)}, op_.rule), n, 0, count);
      output_.write(output);
    }
  }

 private:
  const Pointwise& op_;
  PixelRow<Floats> row_;
  FloatColumns<typename Pointwise::In> source_;
  FloatColumns<typename Pointwise::Out> output_;
  int step_;
};

}  // namespace orbbec
