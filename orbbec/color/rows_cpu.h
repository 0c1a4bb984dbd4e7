// Pointwise operators on the CPU: a block of a row at a time, deinterleaved, so that the compiler
// vectorizes the loop over the block. Included by *_cpu.cpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "../executors/simd/packed_bytes.h"
#include "../executors/strips_cpu.h"
#include "half_rows_cpu.h"
#include "pointwise.h"

namespace orbbec {

constexpr int kBlockPixels = 128;  // the planes of a block stay in the L1 cache

// Whether three channels are interleaved, in this order or, with a negative stride, reversed.
template <class T>
bool is_packed(const Image<T>& image, int channels) {
  return sizeof(T) == 1 && channels == 3 && image.stride_x == 3 &&
         (image.stride_c == 1 || image.stride_c == -1);
}

template <class T>
void read_plane(const T* from, int64_t stride, T* plane, int count) {
  if (stride == 1) {
    memcpy(plane, from, sizeof(T) * count);
  } else {
    for (int i = 0; i < count; ++i) plane[i] = from[i * stride];
  }
}

template <class T>
void write_plane(const T* plane, T* to, int64_t stride, int count) {
  if (stride == 1) {
    memcpy(to, plane, sizeof(T) * count);
  } else {
    for (int i = 0; i < count; ++i) to[i * stride] = plane[i];
  }
}

template <int kChannels, class T>
void read_block(const Image<const T>& from, int y, int x, T (*planes)[kBlockPixels], int count) {
  if constexpr (sizeof(T) == 1 && kChannels == 3) {
    if (is_packed(from, 3)) {
      const bool forward = from.stride_c == 1;
      split_bytes(&from.at(y, x, forward ? 0 : 2), planes[forward ? 0 : 2], planes[1],
                  planes[forward ? 2 : 0], count);
      return;
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    read_plane(&from.at(y, x, c), from.stride_x, planes[c], count);
  }
}

template <int kChannels, class T>
void write_block(const T (*planes)[kBlockPixels], const Image<T>& to, int y, int x, int count) {
  if constexpr (sizeof(T) == 1 && kChannels == 3) {
    if (is_packed(to, 3)) {
      const bool forward = to.stride_c == 1;
      join_bytes(planes[forward ? 0 : 2], planes[1], planes[forward ? 2 : 0],
                 &to.at(y, x, forward ? 0 : 2), count);
      return;
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    write_plane(planes[c], &to.at(y, x, c), to.stride_x, count);
  }
}

template <class Pointwise>
struct PixelBlock {
  alignas(64) typename Pointwise::In in[Pointwise::kIn][kBlockPixels] = {};
  alignas(64) typename Pointwise::Out out[Pointwise::kOut][kBlockPixels] = {};
};

template <class Pointwise, class Work, bool kInVector>
ORBBEC_HD void work_on_block(const Work& work, PixelBlock<Pointwise>& block,
                             InVector<kInVector> like) {
  using T = typename Pointwise::In;
  const Work local = work;  // a local copy, which stores cannot alias
  if constexpr (requires { Work::kStages; }) {
    int values[Work::kValues][kBlockPixels] = {};
    for (int c = 0; c < Pointwise::kIn; ++c)
      for (int i = 0; i < kBlockPixels; ++i) values[c][i] = block.in[c][i];
    run_stages_on(local, values);
    for (int c = 0; c < Pointwise::kOut; ++c)
      for (int i = 0; i < kBlockPixels; ++i) block.out[c][i] = from_lane<T>(values[c][i]);
    return;
  }
  for (int i = 0; i < kBlockPixels; ++i) {
    Lane<T> in[Pointwise::kIn], out[Pointwise::kOut];
    for (int c = 0; c < Pointwise::kIn; ++c) in[c] = to_lane(block.in[c][i]);
    local(in, out, like);
    for (int c = 0; c < Pointwise::kOut; ++c) block.out[c][i] = from_lane<T>(out[c]);
  }
}

template <class Pointwise>
ORBBEC_HD void work_on_row(const Pointwise& pointwise, int64_t n, int y, int width) {
  const Image<const typename Pointwise::In> from = pointwise.source[n];
  const Image<typename Pointwise::Out> to = pointwise.output[n];
  const bool readable = is_readable(from, to);
  if constexpr (requires { Pointwise::Rule::kCopies; } && sizeof(typename Pointwise::In) == 1) {
    if (readable && is_packed(from, 3) && is_packed(to, 3) && from.stride_c != to.stride_c) {
      const int first = from.stride_c < 0 ? 2 : 0;
      return reverse_channels(&from.at(y, 0, first), &to.at(y, 0, 2 - first), width);
    }
  }
  const auto work = pointwise.rule.of(n);
  const int vectors =
      Pointwise::Rule::kKnowsVectors ? width / kVectorPixels * kVectorPixels : width;
  PixelBlock<Pointwise> block;
  for (int x = 0; x < width;) {
    const int end = x < vectors ? vectors : width;
    const int count = end - x < kBlockPixels ? end - x : kBlockPixels;
    if (readable) read_block<Pointwise::kIn>(from, y, x, block.in, count);
    if (x < vectors) {
      work_on_block(work, block, InVector<true>{});
    } else if constexpr (Pointwise::Rule::kKnowsVectors) {
      work_on_block(work, block, InVector<false>{});
    }
    write_block<Pointwise::kOut>(block.out, to, y, x, count);
    x += count;
  }
}

// Values of one channel, or of all channels where these have the same rule.
template <class Work, class In, class Out>
ORBBEC_HD void work_on_values(const Work& work, const In* in, Out* out, int64_t count) {
  const Work local = work;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = from_lane<Out>(local(to_lane(in[i])));
}

// The rule is compiled for one loop. Values that lie as they will in the output are not copied.
template <class Pointwise>
ORBBEC_HD void work_on_channels(const Pointwise& pointwise, int64_t n, int y, int width) {
  using In = typename Pointwise::In;
  using Out = typename Pointwise::Out;
  const Image<const In> from = pointwise.source[n];
  const Image<Out> to = pointwise.output[n];
  const int64_t channels = pointwise.output.channels;
  const bool readable = is_readable(from, to);
  const bool joins_channels = readable && Pointwise::kSameForChannels && from.stride_c == 1 &&
                              to.stride_c == 1 && from.stride_x == channels &&
                              to.stride_x == channels;
  const bool copies = !(joins_channels || (readable && from.stride_x == 1 && to.stride_x == 1));
  const bool is_rgb = copies && channels == 3;
  const bool copies_results = copies && !(is_rgb && to.stride_x == 1);
  const int64_t end = joins_channels ? width * channels : width;
  alignas(64) In in[3][kBlockPixels];
  alignas(64) Out out[3][kBlockPixels];
  if (!readable) memset(in, 0, sizeof(in));
  for (int64_t x = 0; x < end;) {
    const int64_t count = copies && end - x > kBlockPixels ? kBlockPixels : end - x;
    if (is_rgb && readable) read_block<3>(from, y, x, in, count);
    for (int64_t c = 0; c < (joins_channels ? 1 : channels); ++c) {
      const int64_t plane = is_rgb ? c : 0;
      if (copies && !is_rgb && readable) read_plane(&from.at(y, x, c), from.stride_x, in[0], count);
      work_on_values(pointwise.rule.of(n, c), copies ? in[plane] : &from.at(y, x, c),
                     copies_results ? out[plane] : &to.at(y, x, c), count);
      if (copies_results && !is_rgb) write_plane(out[0], &to.at(y, x, c), to.stride_x, count);
    }
    if (copies_results && is_rgb) write_block<3>(out, to, y, x, count);
    x += count;
  }
}

template <class Pointwise>
concept HasChannelRule = requires(Pointwise pointwise) { pointwise.rule.of(0, 0); };
template <class Pointwise>
concept HasPixelRule = requires(Pointwise pointwise) { pointwise.rule.of(0); };

template <class Pointwise>
PixelRow<Pointwise> row_of(const Pointwise&, Simd level) {
  if constexpr (HasChannelRule<Pointwise>) {
    return compiled_to_avx512<work_on_channels<Pointwise>>(level);
  } else if constexpr (HasPixelRule<Pointwise>) {
    return compiled_to_avx512<work_on_row<Pointwise>>(level);
  }
  return pixel_row<Pointwise>(level);
}

// Rows of dense images that follow each other in memory, together: a short row costs as much to
// begin as to compute.
template <class Pointwise>
Pointwise with_long_rows(Pointwise pointwise) {
  AnyImages &from = pointwise.source, &to = pointwise.output;
  if constexpr (HasPixelRule<Pointwise>) {
    if (Pointwise::Rule::kKnowsVectors) return pointwise;  // values depend on the end of the row
  } else if constexpr (!HasChannelRule<Pointwise>) {
    return pointwise;  // values depend on other rows
  }
  for (const AnyImages* images : {&from, &to}) {
    if (images->layout != nullptr || images->regions != nullptr ||
        images->stride_y != images->width * images->stride_x)
      return pointwise;
  }
  int rows = std::max<int64_t>(kPixelsPerTask / 4 / std::max(to.width, 1), 1);
  while (rows > 1 && to.height % rows != 0) --rows;
  for (AnyImages* images : {&from, &to}) {
    images->height /= rows;
    images->width *= rows;
    images->stride_y *= rows;
  }
  return pointwise;
}

// Of an operator without a rule, which reads neighbors, the binding converts half precision.
template <class Pointwise>
int run_pointwise_cpu(const Pointwise& short_rows, const ParallelFor& parallel) {
  const Pointwise pointwise = with_long_rows(short_rows);
  const Simd level = simd_level();
  const auto sizes = pointwise.output;
  if constexpr (HasFloatBlocks<Pointwise>) {
    const auto row = row_of(typename HalfRow<Pointwise>::Floats({}, pointwise.rule), level);
    for_each_strip_cpu(sizes, 1, parallel,
                       [&](int64_t n, int y) { HalfRow(pointwise, row, level).run(n, y); });
  } else if constexpr (requires { typename Pointwise::Rule; } || !has_halves<Pointwise>()) {
    const PixelRow<Pointwise> row = row_of(pointwise, level);
    for_each_strip_cpu(sizes, 1, parallel,
                       [&](int64_t n, int y) { row(pointwise, n, y, sizes[n].width); });
  }
  return 0;
}

}  // namespace orbbec
