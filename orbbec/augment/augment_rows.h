// augment on the CPU: a block of a row at a time, deinterleaved into float planes so that the
// compiler vectorizes each step. Included by augment_cpu.cpp, augment_avx2.cpp and
// augment_avx512.cpp, under their targets; `Target` keeps the copies apart.
#pragma once

#include <cmath>
#include <cstring>
#include <optional>

#include "../executors/executor_cpu.h"
#include "../executors/float_dispatch_cpu.h"
#include "../executors/simd/interleave3.h"
#include "augment.h"
#include "finished_rows.h"
#include "scalar_rows.h"
#include "steps/short_form.h"
#include "store_lanes.h"
#include "whole_pixels.h"

namespace orbbec {

template <class Target, class Op>
class AugmentRow {
 public:
  using RowCache = typename Target::template RowCache<typename Op::Reader>;
  using Finished = FinishedRows<Target, Op>;

  // Rows [top, bottom) of image n.
  static void augment(const Op& op, const Finished& finished, RowCache& cache, int64_t n, int top,
                      int bottom, int width) {
    const Mix mix(op.arguments, n);
    AugmentRow unpaired(op, finished, n, op.program(n), &cache);
    AugmentRow paired(op, finished, mix.pair_index, op.program(mix.pair_index));
    const bool has_boxes = op.arguments.boxes_per_image > 0;
    const int visible = finished.visible_columns(n, top, bottom, width);
    cache.prepare(n, op.arguments.mix == nullptr ? visible : width);
    for (int y = top; y < bottom; ++y) {
      if (!mix.covers_row(static_cast<float>(y))) {
        has_boxes ? unpaired.write_visible(n, y, width) : unpaired.write(n, y, 0, width);
        continue;
      }
      const int first = Finished::column_of(mix.left, 0, width);
      const int last = larger(Finished::column_of(mix.right, 0, width), first);
      if (first > 0) unpaired.write(n, y, 0, first);
      if (first < last) {
        unpaired.paired_ = &paired;
        (mix.replaces() ? paired : unpaired).write(n, y, first, last);
        unpaired.paired_ = nullptr;
      }
      if (last < width) unpaired.write(n, y, last, width);
    }
  }

  // Adds the gray values of rows if the image's program needs its mean.
  static void add_gray(const Op& op, const Finished& finished, RowCache& cache, int64_t n, int top,
                       int bottom, int width) {
    AugmentRow row(op, finished, n, op.program_without_mean(n), &cache);
    const int end = row.program_.contrast_step();
    if (end < 0) return;
    cache.prepare(n, width);
    int64_t sum = 0;
    for (int y = top; y < bottom; ++y) {
      for (int x = 0; x < width; x += kBlock) {
        row.set_block(x, width);
        row.read(y);
        row.run_program(end, y);
        sum += row.gray_units();
      }
    }
    atomic_add(op.arguments.gray_sums + n, sum);
  }

 private:
  using T = typename Op::Value;
  using Pixels = Interleave3<Target>;
  static constexpr bool kIsByte = sizeof(T) == 1;
  static constexpr int kBlock = Finished::kBlock;
  static_assert(kBlock % kRowBlock == 0);

  AugmentRow(const Op& op, const Finished& finished, int64_t n, const Program& program,
             RowCache* cache = nullptr)
      : op_(op),
        n_(n),
        row_cache_(cache),
        channels_(op.channels()),
        finished_(finished),
        program_(program),
        image_(op.reader.source[n]),
        whole_(op.reader, n),
        reader_(op.reader, n, block_view()) {
    // Trailing kNone steps are dropped: the image was not drawn for them.
    while (program_.count > 0 && program_.code(program_.count - 1) == StepCode::kNone) {
      --program_.count;
    }
    inverts_ = kIsByte && program_.count == 1 && program_.inverts(0);
  }

  Image<float> block_view() {
    return {.data = planes_[0],
            .height = 1,
            .width = kBlock,
            .stride_y = 0,
            .stride_x = 1,
            .stride_c = kBlock};
  }

  // Row y of output n without a pair. What boxes cover up to its end is not read.
  void write_visible(int64_t n, int y, int width) {
    const int visible = finished_.visible_columns(n, y, y + 1, width);
    if (visible > 0) write(n, y, 0, visible, width);
    if (visible < width) finished_.store_boxes({n, y, visible, width - visible});
  }

  // Columns [first, end) of row y of output n; those before `writable` are stored later. Vectors
  // start only at multiples of the block.
  void write(int64_t n, int y, int first, int end, int writable = 0) {
    const int aligned = first / kRowBlock * kRowBlock;
    for (int x = aligned; x < end; x += kBlock) {
      set_block(x, end);
      skipped_ = x < first ? first - x : 0;
      if (copy_bytes(n, y) || finish_cached_rows(n, y, writable - x)) continue;
      run(y);
      if (paired_ != nullptr) {
        paired_->set_block(x, end);
        paired_->run(y);
      }
      with_output_type(op_.arguments.output_dtype, [&](auto typed) {
        using Out = decltype(typed);
        store_block(Images<Out>(op_.arguments.warp.output)[n], y);
      });
    }
  }

  void set_block(int begin, int end) {
    begin_ = begin;
    count_ = end - begin < kBlock ? end - begin : kBlock;
  }

  void run(int y) {
    read(y);
    run_program(program_.count, y);
    erase(y);
  }

  void read(int y) {
    if (!read_whole_pixels(y) && !read_kept_rows(y)) reader_.run(y, begin_, begin_ + count_);
    const int lanes = (count_ + kStored - 1) / kStored * kStored;
    for (int c = 0; c < channels_; ++c) {
      for (int i = count_; i < lanes; ++i) planes_[c][i] = 0;
    }
  }

  bool read_whole_pixels(int y) {
    if (!whole_.serves(y, begin_)) return false;
    const Span inside = whole_.inside(y, begin_, count_);
    read_outside(y, 0, inside.begin);
    read_outside(y, inside.end, count_);
    if (inside.begin == inside.end) return true;
    const T* const from = whole_.at(y, begin_ + inside.begin);
    const int64_t stride = whole_.stride();
    if (kIsByte && channels_ == 3 && image_.stride_c == 1 && (stride == 3 || stride == -3)) {
      stride > 0 ? deinterleave<false>(from, inside) : deinterleave<true>(from, inside);
    } else {
      for (int c = 0; c < channels_; ++c) take(c, from + c * image_.stride_c, stride, inside);
    }
    return true;
  }

  // Whole pixels that the border replaces.
  void read_outside(int y, int begin, int end) {
    const bool fills = outside_is_value(op_.reader.border);
    for (int i = begin; i < end; ++i) {
      const T* const pixel = fills ? nullptr : whole_.at_border(y, begin_ + i);
      for (int c = 0; c < channels_; ++c)
        planes_[c][i] = load(fills ? op_.reader.fill_of(c) : pixel[c * image_.stride_c]);
    }
  }

  bool read_kept_rows(int y) {
    if (row_cache_ == nullptr || !row_cache_->serves()) return false;
    const Span reached = row_cache_->reached(y, begin_, count_);
    const Span inside = row_cache_->columns(y, begin_, count_);
    if (inside.begin == inside.end && reached.begin < reached.end) return false;
    if (inside.begin < inside.end) {
      row_cache_->read(begin_, inside, [&](int c, int i, const auto& values) {
        memcpy(planes_[c] + i, &values, sizeof(values));
      });
    }
    for (int c = 0; c < channels_; ++c) {
      const float fill = load(op_.reader.fill_of(c));
      for (int i = 0; i < reached.begin; ++i) planes_[c][i] = fill;
      for (int i = reached.end; i < count_; ++i) planes_[c][i] = fill;
    }
    const Image<float> target = block_view();
    for (int i = reached.begin; i < reached.end; ++i) {
      if (i == inside.begin) i = inside.end;
      if (i < reached.end) op_.reader.write(target, n_, y, begin_ + i, i);
    }
    return true;
  }

  // Fast path for blocks that only need the finish. Returns false where it does not apply.
  bool finish_cached_rows(int64_t n, int y, int writable) {
    const bool changes = program_.count > 0 || paired_ != nullptr;
    if (row_cache_ == nullptr || !row_cache_->serves() || changes || skipped_ > 0) return false;
    return finished_.store_cached(*row_cache_, {n, y, begin_, count_}, writable);
  }

  // Fast path for blocks whose bytes do not change, or are inverted: copied, and filled outside the
  // image. Returns false where it does not apply.
  bool copy_bytes(int64_t n, int y) const {
    const AugmentArguments& a = op_.arguments;
    const bool changes = a.scale != 1 || a.normalizes || (program_.count > 0 && !inverts_) ||
                         a.boxes_per_image > 0 || paired_ != nullptr;
    if (changes || skipped_ > 0 || a.output_dtype != DType::kUInt8) return false;
    const Image<uint8_t> target = Images<uint8_t>(a.warp.output)[n];
    const bool in_planes = image_.stride_x == 1 && target.stride_x == 1;
    const bool in_pixels = channels_ == 3 && image_.stride_x == 3 && image_.stride_c == 1 &&
                           target.stride_x == 3 && target.stride_c == 1;
    if (!kIsByte || !(in_planes || in_pixels) || !whole_.serves(y, begin_)) return false;
    const Span inside = whole_.inside(y, begin_, count_);
    if (inverts_ && inside.end - inside.begin < count_) return false;
    const bool fills = outside_is_value(op_.reader.border);
    for (const Span outside : {Span{0, inside.begin}, Span{inside.end, count_}})
      fills ? fill_bytes(target, y, outside) : copy_border(target, y, outside);
    if (inside.begin == inside.end) return true;
    const auto* const from = reinterpret_cast<const uint8_t*>(whole_.at(y, begin_ + inside.begin));
    uint8_t* const to = &target.at(y, begin_ + inside.begin, 0);
    for (int c = 0; c < (in_planes ? channels_ : 1); ++c) {
      copy_row(from + c * image_.stride_c, to + c * target.stride_c, inside.end - inside.begin);
    }
    return true;
  }

  void copy_border(const Image<uint8_t>& target, int y, Span columns) const {
    for (int x = begin_ + columns.begin; x < begin_ + columns.end; ++x) {
      const auto* const pixel = reinterpret_cast<const uint8_t*>(whole_.at_border(y, x));
      for (int c = 0; c < channels_; ++c) target.at(y, x, c) = pixel[c * image_.stride_c];
    }
  }

  void fill_bytes(const Image<uint8_t>& target, int y, Span columns) const {
    const auto [begin, end] = columns;
    uint8_t fills[kMaxFills];
    bool alike = true;
    for (int c = 0; c < channels_; ++c) {
      fills[c] = static_cast<uint8_t>(load(op_.reader.fill_of(c)));
      alike = alike && fills[c] == fills[0];
    }
    const bool in_planes = target.stride_x == 1;
    uint8_t* const to = &target.at(y, begin_ + begin, 0);
    if (in_planes || alike) {
      const size_t bytes = static_cast<size_t>((end - begin) * target.stride_x);
      for (int c = 0; c < (in_planes ? channels_ : 1); ++c) {
        memset(to + c * target.stride_c, fills[c], bytes);
      }
      return;
    }
    for (int i = 0; i < end - begin; ++i) {
      for (int c = 0; c < channels_; ++c) to[i * target.stride_x + c] = fills[c];
    }
  }

  // Pixels of one or three bytes, in the order of the transform.
  void copy_row(const uint8_t* from, uint8_t* to, int count) const {
    const size_t nbytes = static_cast<size_t>(count * image_.stride_x);
    if (!whole_.is_reversed() && !inverts_) return finished_.put(to, from, nbytes);
    alignas(64) uint8_t bytes[3 * kBlock];
    if (!whole_.is_reversed()) {
      memcpy(bytes, from, nbytes);
    } else if (image_.stride_x == 1) {
      for (int i = 0; i < count; ++i) bytes[i] = from[-i];
    } else {
      Pixels::reverse(from, bytes, count);
    }
    if (inverts_) {
      for (size_t i = 0; i < nbytes; ++i) bytes[i] = static_cast<uint8_t>(~bytes[i]);
    }
    finished_.put(to, bytes, nbytes);
  }

  // One channel of the columns `inside`, the first of which is `from`.
  void take(int c, const T* from, int64_t stride, Span inside) {
    float* __restrict const to = planes_[c] + inside.begin;
    const int count = inside.end - inside.begin;
    if (stride == 1) {
      for (int i = 0; i < count; ++i) to[i] = load(from[i]);
    } else if (stride == -1) {
      for (int i = 0; i < count; ++i) to[i] = load(from[-i]);
    } else {
      for (int i = 0; i < count; ++i) to[i] = load(from[i * stride]);
    }
  }

  // Pixels of three interleaved channels, from left to right, or right to left if `kReversed`.
  template <bool kReversed>
  void deinterleave(const T* from, Span inside) {
    constexpr int kGroup = Pixels::kGroup;
    const int count = inside.end - inside.begin, grouped = count / kGroup * kGroup;
    alignas(16) uint8_t channels[3][kBlock];
    for (int i = 0; i < grouped; i += kGroup) {
      typename Pixels::Bytes deinterleaved[3];
      const T* const group = from + (kReversed ? -3 : 3) * i;
      Pixels::template deinterleave<kReversed>(reinterpret_cast<const uint8_t*>(group),
                                               deinterleaved);
      for (int c = 0; c < 3; ++c)
        memcpy(channels[c] + i, &deinterleaved[c], sizeof(deinterleaved[c]));
    }
    for (int c = 0; c < 3; ++c) {
      float* __restrict const to = planes_[c] + inside.begin;
      for (int i = 0; i < grouped; ++i) to[i] = load(channels[c][i]);
      for (int i = grouped; i < count; ++i) to[i] = load(from[(kReversed ? -3 : 3) * i + c]);
    }
  }

  // Runs the program up to step `end` in row y. One channel stands for three equal ones.
  void run_program(int end, int y) {
    if (channels_ == 1 && program_.count > 0) {
      for (int c = 1; c < 3; ++c) memcpy(planes_[c], planes_[0], sizeof(planes_[0]));
    }
    for (int s = 0; s < end; ++s)
      program_.with_step(s, [&](const auto& step) { run_step_in_row(step, y); });
  }

  template <class Step>
  void run_step_in_row(const Step& step, int y) {
    const Step local = step;  // a local copy, which stores cannot alias
    for (int begin = 0; begin < count_; begin += kLanes) {
      float* __restrict const r = planes_[0] + begin;
      float* __restrict const g = planes_[1] + begin;
      float* __restrict const b = planes_[2] + begin;
      if constexpr (Step::kHasShortForm) {
        if (run_short_form<Target::kFused>(local, r, g, b)) continue;
      }
      // The index starts at 0: with -fwrapv, an index of begin + i could wrap, and the loop would
      // not be vectorized.
      for (int i = 0; i < kLanes; ++i) {
        float rgb[3] = {r[i], g[i], b[i]};
        run_step(local, y, begin_ + begin + i, rgb);
        r[i] = rgb[0];
        g[i] = rgb[1];
        b[i] = rgb[2];
      }
    }
  }

  int64_t gray_units() const {
    constexpr int kChunk = 64;  // an int holds the units of this many pixels
    int64_t sum = 0;
    for (int begin = 0; begin < count_; begin += kChunk) {
      const int end = begin + kChunk < count_ ? begin + kChunk : count_;
      int chunk_sum = 0;
      for (int i = begin; i < end; ++i) {
        const float rgb[3] = {planes_[0][i], planes_[1][i], planes_[2][i]};
        chunk_sum += program_.gray_units(rgb);
      }
      sum += chunk_sum;
    }
    return sum;
  }

  void erase(int y) {
    has_fills_ = false;
    finished_.for_each_box({n_, y, begin_, count_}, [&](const float* box, int first, int last) {
      has_fills_ = true;
      for (int c = 0; c < channels_; ++c) {
        const float fill = finished_.fill_of(box, c);
        for (int i = first; i < last; ++i) planes_[c][i] = fill;
      }
    });
  }

  template <class Out>
  void store_block(const Image<Out>& target, int y) {
    Out* __restrict const to = &target.at(y, begin_, 0);
    if (target.stride_x == 1) {
      for (int c = 0; c < channels_; ++c) store_plane(c, to + c * target.stride_c);
      return;
    }
    alignas(64) typename Finished::template Planes<Out> planes;
    for (int c = 0; c < channels_; ++c) {
      for (int begin = 0; begin < count_; begin += kStored) finish(c, begin, planes[c] + begin);
    }
    finished_.store_planes(target, {n_, y, begin_, count_}, skipped_, planes);
  }

  template <class Out>
  void store_plane(int c, Out* plane) const {
    for (int begin = 0; begin < count_; begin += kStored) {
      const int first = larger(skipped_ - begin, 0);
      const int end = count_ - begin < kStored ? count_ - begin : kStored;
      if (first == 0 && end == kStored && !finished_.streams()) {
        finish(c, begin, plane + begin);
      } else if (first < end) {
        alignas(64) Out stored[kStored];
        finish(c, begin, stored);
        finished_.put(plane + begin + first, stored + first, (end - first) * sizeof(Out));
      }
    }
  }

  // kStored values starting at column `begin` of the block.
  template <class Out>
  void finish(int c, int begin, Out* to) const {
    float values[kStored];
    finish_lanes(c, begin, values);
    if (paired_ != nullptr) mix_lanes(c, begin, values);
    Target::store_lanes(values, to);
  }

  void finish_lanes(int c, int begin, float (&values)[kStored]) const {
    const Finish finish = op_.finish(c);
    const float* const from = planes_[c] + begin;
    if (!finish.normalizes) {  // avoids a division per value
      for (int i = 0; i < kStored; ++i) values[i] = finish.scaled(from[i]);
      return;
    }
    if (Target::kFused && finished_.quotients().are_exact && !has_fills_) {
      const ConstantDivisor by{finish.std, finished_.quotients().reciprocal[c]};
      for (int i = 0; i < kStored; ++i) values[i] = by.quotient(finish.difference(from[i]));
      return;
    }
    for (int i = 0; i < kStored; ++i) values[i] = finish(from[i]);
  }

  void mix_lanes(int c, int begin, float (&values)[kStored]) const {
    const Mix mix(op_.arguments, n_);
    float theirs[kStored];
    paired_->finish_lanes(c, begin, theirs);
    for (int i = 0; i < kStored; ++i) values[i] = mix.sum(values[i], theirs[i]);
  }

  const Op& op_;
  int64_t n_;
  RowCache* row_cache_;                   // null: no rows are kept
  int channels_, begin_ = 0, count_ = 0;  // of the block: first column and number of columns
  int skipped_ = 0;                       // leading columns of the block that are not stored
  bool has_fills_ = false;                // whether the block has fills of boxes
  AugmentRow* paired_ = nullptr;          // the row that it is mixed with
  const Finished& finished_;
  Program program_;
  bool inverts_ = false;  // whether the program subtracts bytes from 255
  alignas(64) float planes_[kMaxFills][kBlock];
  Image<const T> image_;
  WholePixels<typename Op::Reader> whole_;
  typename Target::template BlockReader<typename Op::Reader> reader_;
};

template <class Target>
void run_augment(const AugmentArguments& arguments, const ParallelFor& parallel) {
  dispatch_augment(
      arguments, in_floats_only([&](const auto& op) {
        using Row = AugmentRow<Target, std::decay_t<decltype(op)>>;
        const AnyImages& output = arguments.warp.output;
        const auto run = [&](const auto& work) {
          parallel(output.count * output.height, kPixelsPerTask / larger(output.width, 1) + 1,
                   [&](int64_t begin, int64_t end) {
                     auto local = op;
                     const typename Row::Finished finished(local);
                     std::optional<typename Row::RowCache> cache;
                     for (int64_t i = begin; i < end;) {
                       const int64_t n = i / output.height, first = n * output.height;
                       const int64_t last =
                           end - first < output.height ? end - first : output.height;
                       const Image<uint8_t> shape = op.shapes[n];
                       if (!cache || local.reader.transform.width != shape.width) {
                         local.reader.output.width = local.reader.transform.width = shape.width;
                         cache.emplace(local.reader);
                       }
                       work(local, finished, *cache, n, static_cast<int>(i - first),
                            smaller(static_cast<int>(last), shape.height), shape.width);
                       i = first + last;
                     }
                     StreamedStore<Target>::finish();
                   });
        };
        if (arguments.gray_sums != nullptr) run(Row::add_gray);
        run(Row::augment);
      }));
}

}  // namespace orbbec
