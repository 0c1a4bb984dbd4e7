// Stores blocks of rows whose values are finished, and finishes blocks that need no more than that
// in registers. Included by augment_rows.h, under its targets.
#pragma once

#include <algorithm>
#include <cmath>

#include "../executors/simd/interleave3.h"
#include "augment.h"
#include "scalar_rows.h"
#include "store_lanes.h"
#include "streamed_store.h"

namespace orbbec {

// Columns [begin, begin + count) of row y of output n.
struct RowBlock {
  int64_t n;
  int y, begin, count;
};

template <class Target, class Op>
class FinishedRows {
 public:
  static constexpr int kBlock = 256;  // columns of a block; its planes stay in the L1 cache
  template <class Out>
  using Planes = Out[kMaxFills][kBlock];

  explicit FinishedRows(const Op& op)
      : op_(op),
        quotients_(quotients_of(op.arguments)),
        channels_(op.channels()),
        streams_(output_bytes(op.arguments) >= kStreamedBytes) {}

  // Products that replace divisions of values that come from the image.
  const Quotients& quotients() const { return quotients_; }
  bool streams() const { return streams_; }  // whether stores bypass the caches

  // The block from source rows of the cache, or from fills. False where they do not suffice.
  template <class RowCache>
  bool store_cached(RowCache& cache, const RowBlock& block) const {
    const int visible = visible_columns(block);
    const Span reached =
        first_of(cache.reached(block.n, block.y, block.begin, block.count), visible);
    const Span inside =
        first_of(cache.columns(block.n, block.y, block.begin, block.count), visible);
    if (inside.begin == inside.end && reached.begin < reached.end) return false;
    with_output_type(op_.arguments.output_dtype, [&](auto typed) {
      using Out = decltype(typed);
      const Image<Out> target = Images<Out>(op_.arguments.warp.output)[block.n];
      Span vectors{0, 0};
      if constexpr (std::is_same_v<Out, float>) {
        vectors = vectors_of(target, block, inside);
        if (vectors.begin < vectors.end) store_vectors(target, cache, block, vectors);
      }
      for (const auto [begin, end] : {Span{0, vectors.begin}, Span{vectors.end, block.count}}) {
        if (begin == end) continue;
        const RowBlock part{block.n, block.y, block.begin + begin, end - begin};
        alignas(64) Planes<Out> planes;
        finish_cached(cache, part, part_of(reached, begin, end), part_of(inside, begin, end),
                      planes);
        store_planes(target, part, 0, planes);
      }
    });
    return true;
  }

  // The first column at or after `edge`, of `count` columns starting at `begin`.
  static int column_of(float edge, int begin, int count) {
    const float column = ceilf(edge) - static_cast<float>(begin);
    if (!(column > 0)) return 0;
    return column < static_cast<float>(count) ? static_cast<int>(column) : count;
  }

  // fill(box, first, last) for the columns of each box in the block.
  template <class Fill>
  void for_each_box(const RowBlock& block, const Fill& fill) const {
    const float row = static_cast<float>(block.y);
    for (int i = 0; i < op_.arguments.boxes_per_image; ++i) {
      const float* const box = op_.box(block.n, i);
      if (!(row >= box[1] && row < box[3])) continue;
      const int first = column_of(box[0], block.begin, block.count);
      const int last = column_of(box[2], block.begin, block.count);
      if (first < last) fill(box, first, last);
    }
  }

  float fill_of(const float* box, int c) const {
    return box[4 + c] * op_.arguments.program.max_value;
  }

  // Without the first `skipped` columns.
  template <class Out>
  void store_planes(const Image<Out>& target, const RowBlock& block, int skipped,
                    const Planes<Out>& planes) const {
    Out* const to = &target.at(block.y, block.begin, 0);
    const int count = block.count;
    if (target.stride_x == 1) {
      for (int c = 0; c < channels_; ++c) {
        put(to + c * target.stride_c + skipped, planes[c] + skipped,
            (count - skipped) * sizeof(Out));
      }
    } else if (is_rgb(target)) {
      alignas(64) Out pixels[3 * kBlock];
      for (int i = Pixels::put_together(planes, count, pixels); i < count; ++i) {
        for (int c = 0; c < 3; ++c) pixels[3 * i + c] = planes[c][i];
      }
      put(to + 3 * skipped, pixels + 3 * skipped, 3 * (count - skipped) * sizeof(Out));
    } else {
      for (int c = 0; c < channels_; ++c) {
        for (int i = skipped; i < count; ++i)
          to[i * target.stride_x + c * target.stride_c] = planes[c][i];
      }
    }
  }

  void put(void* to, const void* from, size_t nbytes) const {
    streams_ ? Streamed::copy(to, from, nbytes) : copy_values(to, from, nbytes);
  }

 private:
  using Pixels = Interleave3<Target>;
  using Streamed = StreamedStore<Target>;
  using Float = typename Target::Float;
  static constexpr int kWidth = sizeof(Float) / sizeof(float);

  // The finish of channel c of vectors that come from the image.
  struct AnyFinish {
    Finish channels[kMaxFills];

    ORBBEC_HD Float operator()(int c, Float value) const { return channels[c](value); }
  };
  // Where quotients are exact.
  struct QuotientFinish {
    Finish channels[kMaxFills];
    Quotients quotients;

    ORBBEC_HD Float operator()(int c, Float value) const {
      const Finish& finish = channels[c];
      return Target::quotient(finish.difference(value), {finish.std, quotients.reciprocal[c]});
    }
  };

  // Calls `run` with the finish, which is chosen once for many vectors.
  template <class Run>
  void with_vector_finish(const Run& run) const {
    AnyFinish any;
    for (int c = 0; c < kMaxFills; ++c) any.channels[c] = op_.finish(c);
    if (!quotients_.are_exact) return run(any);
    QuotientFinish exact{{}, quotients_};
    std::copy_n(any.channels, kMaxFills, exact.channels);
    run(exact);
  }

  static int64_t output_bytes(const AugmentArguments& a) {
    const AnyImages& o = a.warp.output;
    int64_t size = 0;
    with_output_type(a.output_dtype, [&](auto typed) { size = sizeof(typed); });
    return o.count * o.channels * o.height * o.width * size;
  }

  template <class Out>
  bool is_rgb(const Image<Out>& target) const {
    return channels_ == 3 && target.stride_x == 3 && target.stride_c == 1;
  }

  static Span first_of(Span span, int count) {
    return {std::min(span.begin, count), std::min(span.end, count)};
  }
  // Columns of a block as columns of its part [begin, end).
  static Span part_of(Span span, int begin, int end) {
    return {std::clamp(span.begin, begin, end) - begin, std::clamp(span.end, begin, end) - begin};
  }

  // The columns before those that boxes cover up to the end of the block.
  int visible_columns(const RowBlock& block) const {
    int visible = block.count;
    for_each_box(block, [&](const float*, int first, int last) {
      if (last == block.count) visible = std::min(visible, first);
    });
    return visible;
  }

  // Of the columns that the cache has, those that go from vectors to the output.
  Span vectors_of(const Image<float>& target, const RowBlock& block, Span inside) const {
    const bool in_planes = target.stride_x == 1 && target.stride_c % kWidth == 0;
    const auto first = reinterpret_cast<uintptr_t>(&target.at(block.y, block.begin, 0));
    if (first % sizeof(Float) != 0 || !(in_planes || is_rgb(target))) return {0, 0};
    Span columns = inside;
    for_each_box(block,
                 [&](const float*, int first, int) { columns.end = std::min(columns.end, first); });
    columns = {(columns.begin + kWidth - 1) / kWidth * kWidth, columns.end / kWidth * kWidth};
    return columns.begin < columns.end ? columns : Span{0, 0};
  }

  template <class RowCache>
  void store_vectors(const Image<float>& target, RowCache& cache, const RowBlock& block,
                     Span columns) const {
    float* const to = &target.at(block.y, block.begin, 0);
    const int64_t plane = target.stride_c;
    const bool streams = streams_;
    if (target.stride_x == 1) {
      return with_vector_finish([&](const auto& finish) {
        cache.read(block.begin, columns, [=](int c, int i, auto values) {
          write(finish(c, values), to + c * plane + i, streams);
        });
      });
    }
    with_vector_finish(
        [&](const auto& finish) { store_pixels(to, cache, block, columns, finish); });
  }

  template <class RowCache, class VectorFinish>
  void store_pixels(float* to, RowCache& cache, const RowBlock& block, Span columns,
                    const VectorFinish& finish) const {
    const bool streams = streams_;
    Float channels[3];
    cache.read(block.begin, columns, [=, &channels](int c, int i, auto values) {
      channels[c] = finish(c, values);
      if (c < 2) return;
      Float pixels[3];
      Pixels::interleave(channels, pixels);
      for (int k = 0; k < 3; ++k) write(pixels[k], to + 3 * i + k * kWidth, streams);
    });
  }

  ORBBEC_HD static void write(Float values, float* to, bool streams) {
    streams ? Target::stream_vector(values, to) : Target::store_vector(values, to);
  }

  template <class Out, class RowCache>
  void finish_cached(RowCache& cache, const RowBlock& block, Span reached, Span inside,
                     Planes<Out>& planes) const {
    Finish finishes[kMaxFills];
    for (int c = 0; c < kMaxFills; ++c) finishes[c] = op_.finish(c);
    if (inside.begin < inside.end) {
      with_vector_finish([&](const auto& finish) {
        cache.read(block.begin, inside, [&planes, finish](int c, int i, auto values) {
          Target::store_vector(finish(c, values), planes[c] + i);
        });
      });
    }
    for (int c = 0; c < channels_; ++c) {
      const Out fill = store<Out>(finishes[c](load(op_.reader.fill_of(c))));
      for (int i = 0; i < reached.begin; ++i) planes[c][i] = fill;
      for (int i = reached.end; i < block.count; ++i) planes[c][i] = fill;
    }
    for (int i = reached.begin; i < reached.end; ++i) {
      if (i == inside.begin) i = inside.end;
      if (i < reached.end) read_pixel(block, i, finishes, planes);
    }
    for_each_box(block, [&](const float* box, int first, int last) {
      for (int c = 0; c < channels_; ++c)
        std::fill(planes[c] + first, planes[c] + last, store<Out>(finishes[c](fill_of(box, c))));
    });
  }

  // Column i of the block, by the sampler.
  template <class Out>
  void read_pixel(const RowBlock& block, int i, const Finish (&finishes)[kMaxFills],
                  Planes<Out>& planes) const {
    float pixel[kMaxFills];
    const Image<float> target{
        .data = pixel, .height = 1, .width = 1, .stride_y = 0, .stride_x = 1, .stride_c = 1};
    op_.reader.write(target, block.n, block.y, block.begin + i, 0);
    for (int c = 0; c < channels_; ++c) planes[c][i] = store<Out>(finishes[c](pixel[c]));
  }

  const Op& op_;
  const Quotients quotients_;
  int channels_;
  bool streams_;
};

}  // namespace orbbec
