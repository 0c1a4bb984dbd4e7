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
        finishes_(op, quotients_),
        channels_(op.channels()),
        streams_(output_bytes(op.arguments) >= kStreamedBytes) {}

  // Products that replace divisions of values that come from the image.
  const Quotients& quotients() const { return quotients_; }
  bool streams() const { return streams_; }  // whether stores bypass the caches

  // The block from source rows of the cache, or from fills. False where they do not suffice. The
  // next columns up to `writable` are stored later.
  template <class RowCache>
  bool store_cached(RowCache& cache, const RowBlock& block, int writable) const {
    const Span reached = cache.reached(block.y, block.begin, block.count);
    const Span inside = cache.columns(block.y, block.begin, block.count);
    if (inside.begin == inside.end && reached.begin < reached.end) return false;
    with_output_type(op_.arguments.output_dtype, [&](auto typed) {
      using Out = decltype(typed);
      const Image<Out> target = Images<Out>(op_.arguments.warp.output)[block.n];
      Span vectors{0, 0};
      if constexpr (std::is_same_v<Out, float>) {
        const bool has_fills = reached.begin == inside.begin && reached.end == inside.end;
        vectors = vectors_of(target, block, inside, has_fills, writable);
        if (vectors.begin < vectors.end) store_vectors(target, cache, block, vectors, inside);
      }
      for (const auto [begin, end] : {Span{0, vectors.begin}, Span{vectors.end, block.count}}) {
        if (begin >= end) continue;
        const RowBlock part{block.n, block.y, block.begin + begin, end - begin};
        alignas(64) Planes<Out> planes;
        finish_cached(cache, part, part_of(reached, begin, end), part_of(inside, begin, end),
                      planes);
        store_planes(target, part, 0, planes);
      }
    });
    return true;
  }

  // The first columns of rows [top, bottom) of image n, without those that a box covers up to
  // `width` in all of these rows.
  int visible_columns(int64_t n, int top, int bottom, int width) const {
    int visible = width;
    for (int i = 0; i < op_.arguments.boxes_per_image; ++i) {
      const float* const box = op_.box(n, i);
      const bool has_rows =
          static_cast<float>(top) >= box[1] && static_cast<float>(bottom - 1) < box[3];
      if (has_rows && column_of(box[2], 0, width) == width)
        visible = std::min(visible, column_of(box[0], 0, width));
    }
    return visible;
  }

  // Columns that boxes cover.
  void store_boxes(const RowBlock& columns) const {
    with_output_type(op_.arguments.output_dtype, [&](auto typed) {
      using Out = decltype(typed);
      const Image<Out> target = Images<Out>(op_.arguments.warp.output)[columns.n];
      if (target.stride_x == 1 && !streams_) {
        Out* const to = &target.at(columns.y, columns.begin, 0);
        return fill_boxes<Out>(columns, [=](int c) { return to + c * target.stride_c; });
      }
      for (int done = 0; done < columns.count; done += kBlock) {
        const RowBlock block{columns.n, columns.y, columns.begin + done,
                             std::min(columns.count - done, kBlock)};
        alignas(64) Planes<Out> planes;
        fill_boxes<Out>(block, [&](int c) { return planes[c]; });
        store_planes(target, block, 0, planes);
      }
    });
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
  static constexpr int kLongRow = 4 * kWidth;  // columns that pay for loops of their own

  // How the last step of a vector is computed.
  enum class Step { kScale, kQuotient, kAny };
  template <Step kStep>
  using StepOf = std::integral_constant<Step, kStep>;

  // The last step of vectors that come from the image.
  struct VectorFinishes {
    Finish finishes[kMaxFills];
    float reciprocals[kMaxFills], fills[kMaxFills];
    Step step;

    VectorFinishes(const Op& op, const Quotients& quotients)
        : step(!op.arguments.normalizes ? Step::kScale
               : quotients.are_exact    ? Step::kQuotient
                                        : Step::kAny) {
      for (int c = 0; c < kMaxFills; ++c) {
        finishes[c] = op.finish(c);
        fills[c] = finishes[c](load(op.reader.fill_of(c)));
        reciprocals[c] = quotients.reciprocal[c];
      }
    }

    ORBBEC_HD Float quotient(int c, Float value) const {
      return Target::quotient(finishes[c].difference(value), {finishes[c].std, reciprocals[c]});
    }
    ORBBEC_HD Float operator()(int c, Float value) const {
      return step == Step::kQuotient ? quotient(c, value) : finishes[c](value);
    }
    // The same where the step is known when compiled.
    template <Step kStep>
    ORBBEC_HD Float finish(StepOf<kStep>, int c, Float value) const {
      if constexpr (kStep == Step::kScale) return finishes[c].scaled(value);
      if constexpr (kStep == Step::kQuotient) return quotient(c, value);
      if constexpr (kStep == Step::kAny) return finishes[c](value);
    }
    // Lanes [begin, end) are values, the others fills.
    ORBBEC_HD Float with_fill(int c, Float value, int begin, int end) const {
      const Float finished = (*this)(c, value);
      if (begin <= 0 && end >= kWidth) return finished;
      return Target::with_fill(finished, fills[c], begin, end);
    }
  };

  // Calls `use` with the StepOf the vectors.
  template <class Use>
  void with_step(const Use& use) const {
    if (finishes_.step == Step::kScale) return use(StepOf<Step::kScale>{});
    if (finishes_.step == Step::kQuotient) return use(StepOf<Step::kQuotient>{});
    use(StepOf<Step::kAny>{});
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

  // The vectors of columns that the cache has, which go to the output; also those that have fills,
  // or columns that are stored later.
  Span vectors_of(const Image<float>& target, const RowBlock& block, Span inside, bool has_fills,
                  int writable) const {
    const auto first = reinterpret_cast<uintptr_t>(&target.at(block.y, block.begin, 0));
    const bool is_aligned =
        first % sizeof(Float) == 0 && (target.stride_x > 1 || target.stride_c % kWidth == 0);
    if (!(target.stride_x == 1 || is_rgb(target)) || (streams_ && !is_aligned)) return {0, 0};
    int most = block.count;
    for_each_box(block, [&](const float*, int covered, int) { most = std::min(most, covered); });
    const int end = std::min(inside.end, most);
    if (end == block.count && !streams_) {
      most = std::max(most, writable);
    } else if (!has_fills || end < inside.end) {
      most = end;
    }
    const int begin = has_fills ? inside.begin / kWidth : (inside.begin + kWidth - 1) / kWidth;
    const int last = std::min((end + kWidth - 1) / kWidth, most / kWidth);
    return begin < last ? Span{begin * kWidth, last * kWidth} : Span{0, 0};
  }

  template <class RowCache>
  void store_vectors(const Image<float>& target, RowCache& cache, const RowBlock& block,
                     Span columns, Span inside) const {
    const VectorFinishes finishes = finishes_;  // a local copy, which stores cannot alias
    const auto store_any = [&](Span part) {
      if (part.begin >= part.end) return;
      const auto finished = [=](int c, int i, Float values) {
        return finishes.with_fill(c, values, inside.begin - i, inside.end - i);
      };
      store_finished(target, cache, block, part, finished, streams_);
    };
    const Span read{std::max(columns.begin, inside.begin), std::min(columns.end, inside.end)};
    const int first = (read.begin + kWidth - 1) / kWidth * kWidth;
    const int last = std::max(read.end / kWidth * kWidth, first);
    if (last - first < kLongRow) return store_any(read);
    with_step([&](auto step) {  // of vectors without fills
      const auto finished = [=](int c, int, Float value) {
        return finishes.finish(step, c, value);
      };
      const auto store = [&](auto streams) {
        store_finished(target, cache, block, Span{first, last}, finished, streams);
      };
      streams_ ? store(std::true_type{}) : store(std::false_type{});
    });
    store_any({read.begin, std::min(first, read.end)});
    store_any({last, read.end});
  }

  // The vectors of `part` to the output.
  template <class RowCache, class Finished, class Streams>
  void store_finished(const Image<float>& target, RowCache& cache, const RowBlock& block, Span part,
                      const Finished& finished, Streams streams) const {
    float* const to = &target.at(block.y, block.begin, 0);
    const int64_t plane = target.stride_c;
    if (target.stride_x == 1) {
      cache.read(block.begin, part, [=](int c, int i, auto values) {
        write(finished(c, i, values), to + c * plane + i, streams);
      });
      return;
    }
    Float channels[3];
    cache.read(block.begin, part, [=, &channels](int c, int i, auto values) {
      channels[c] = finished(c, i, values);
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
      with_step([&](auto step) {
        cache.read(block.begin, inside, [&planes, step, all = finishes_](int c, int i, auto value) {
          Target::store_vector(all.finish(step, c, value), planes[c] + i);
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
    fill_boxes<Out>(block, [&](int c) { return planes[c]; });
  }

  // The columns that boxes cover; channel(c) is the first value of the block.
  template <class Out, class Channel>
  void fill_boxes(const RowBlock& block, const Channel& channel) const {
    for_each_box(block, [&](const float* box, int first, int last) {
      for (int c = 0; c < channels_; ++c) {
        const Out fill = store<Out>(op_.finish(c)(fill_of(box, c)));
        fill_row(channel(c) + first, last - first, fill);
      }
    });
  }

  // In whole vectors, the last of which may overlap the one before it.
  template <class Out>
  static void fill_row(Out* to, int count, Out value) {
    constexpr int kGroup = 64 / sizeof(Out);
    if (count < kGroup) {
      std::fill_n(to, count, value);
      return;
    }
    for (int i = 0; i + kGroup <= count; i += kGroup) std::fill_n(to + i, kGroup, value);
    std::fill_n(to + count - kGroup, kGroup, value);
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
  const VectorFinishes finishes_;
  int channels_;
  bool streams_;
};

}  // namespace orbbec
