// Pillow's resizes of bytes on AVX2. A block of source rows is transposed so that each lane is a
// row: the weights of an output column then apply to all lanes. Its sums are kept as pairs of rows,
// the layout of the vertical pass. Included by resize_avx2.cpp under its target.
#pragma once

#include "pillow_columns.h"

namespace orbbec {
namespace {

// A strip of output rows: `kLanes` interleaved channels, or one plane.
template <int kLanes>
class PillowStrip {
  using Int = PillowAvx2::Int;

 public:
  PillowStrip(const Image<const uint8_t>& from, const Image<uint8_t>& to,
              const TapPairs& horizontal, const TapPairs& vertical)
      : from_(from), to_(to), horizontal_(horizontal), vertical_(vertical) {
    depth_ = (2 * vertical.longest() + kRows - 2) / kRows + 1;
    const int64_t value_bytes = int64_t{depth_} * kRowPairs * kLanes * sizeof(int32_t);
    const int64_t fitting = std::max<int64_t>(kRingBytes / value_bytes / kColumns, 1) * kColumns;
    columns_ = static_cast<int>(std::min<int64_t>(fitting, horizontal.entries()));
    plane_ = (int64_t{columns_} + kRows - 1) / kRows * kRows + kPadding;
    stride_ = plane_ * kLanes;
    ring_.resize(depth_ * kRowPairs * stride_ / kRows);
    measure_chunks();
    pairs_.resize(int64_t{kLanes} * quads_ * 2);
  }

  // Output rows [begin, end), as given to the vertical pass.
  void run(int begin, int end) {
    for (int x = 0; x < horizontal_.entries(); x += columns_) {
      const int width = std::min(columns_, horizontal_.entries() - x);
      int next = vertical_.first(0) / kRowPairs;  // next block to sum
      for (int y = begin; y < end; ++y) {
        for (; next * kRowPairs < vertical_.first(y - begin) + vertical_.count(y - begin); ++next)
          sum_block(next, x, x + width);
        write_row(y - begin, y, x, width);
      }
    }
  }

 private:
  static constexpr int kRows = PillowAvx2::kLanes;  // per block
  static constexpr int kRowPairs = kRows / 2;
  static constexpr int kColumns = 32;  // summed from one transposed piece of a block
  static constexpr int kBytes = 4 * PillowAvx2::kLanes;  // per vector
  static constexpr int kPadding = 64;                    // vectors read past the end
  static constexpr int kQuadsPerTranspose =
      kLanes == 1 ? 4 : 1;  // four pixels each, transposed together
  static constexpr int kWords = kLanes == 1 ? 4 : kLanes;

  struct alignas(sizeof(Int)) Vector {  // std::vector alone would not align it
    Int lanes;
  };

  bool is_interleaved() const { return has_packed_rows(to_, kLanes); }

  struct Quads {
    int begin, end;
  };
  // Indices increase from column to column.
  Quads quads_of(int x, int end) const {
    const int begin = horizontal_.first(x) / 2,
              count = (horizontal_.first(end - 1) + horizontal_.longest() + 1) / 2 - begin;
    return {begin,
            begin + (count + kQuadsPerTranspose - 1) / kQuadsPerTranspose * kQuadsPerTranspose};
  }

  // Sets how many quads a piece has and how far its loads reach.
  void measure_chunks() {
    for (int x = 0; x < horizontal_.entries(); ++x) {
      const Quads quads = quads_of(x, std::min(x + kColumns, horizontal_.entries()));
      quads_ = std::max(quads_, quads.end - quads.begin);
      reach_ = std::max<int64_t>(reach_, int64_t{quads.end} * 4 * kLanes + 4);
    }
  }

  struct Rows {
    const uint8_t* first;
    int64_t stride;
  };

  // The rows of a block as packed bytes that loads may read past; copied where necessary.
  Rows readable(int block) {
    const int first = block * kRows, below = from_.height - first - kRows;
    const uint8_t* const bytes = from_.data + first * from_.stride_y;
    const int64_t length = int64_t{from_.width} * kLanes;
    const bool packed = kLanes > 1 || from_.stride_x == 1;
    if (packed && below >= 0 && below * from_.stride_y + length >= reach_)
      return {bytes, from_.stride_y};
    const int64_t capacity = std::max(length, reach_);
    copies_.resize(kRows * capacity);
    for (int i = 0; i < kRows; ++i) {
      const uint8_t* const row =
          from_.data + std::min(first + i, from_.height - 1) * from_.stride_y;
      uint8_t* const copy = copies_.data() + i * capacity;
      if (packed) {
        std::copy_n(row, length, copy);
      } else {
        for (int x = 0; x < from_.width; ++x) copy[x] = row[x * from_.stride_x];
      }
    }
    return {copies_.data(), capacity};
  }

  int32_t* row_pair(int pair) {
    const int64_t index = pair / kRowPairs % depth_ * kRowPairs + pair % kRowPairs;
    return reinterpret_cast<int32_t*>(ring_.data()) + index * stride_;
  }

  // Sums a block horizontally for output columns [begin, end), into the ring.
  void sum_block(int block, int begin, int end) {
    const Rows rows = readable(block);
    int32_t* const ring = row_pair(block * kRowPairs);
    for (int x = begin; x < end; x += kColumns) {
      const int chunk_end = std::min(x + kColumns, end);
      const Quads quads = quads_of(x, chunk_end);
      transpose_rows(rows, quads);
      if (chunk_end < end)
        fetch(rows, quads.end, quads_of(chunk_end, std::min(chunk_end + kColumns, end)).end);
      if (is_interleaved()) {
        sum_columns<true>(quads.begin, x, chunk_end, ring + int64_t{x - begin} * kLanes);
      } else {
        sum_columns<false>(quads.begin, x, chunk_end, ring + (x - begin));
      }
    }
  }

  // Prefetches the pixels that are transposed next.
  static void fetch(const Rows& rows, int begin, int end) {
    for (int i = 0; i < kRows; ++i) {
      const uint8_t* const row = rows.first + i * rows.stride;
      for (int64_t at = int64_t{begin} * 4 * kLanes; at < int64_t{end} * 4 * kLanes; at += 64)
        __builtin_prefetch(row + at);
    }
  }

  // Transposes rows to lanes: each word holds two neighboring pixels of a channel.
  void transpose_rows(const Rows& rows, const Quads& quads) {
    const __m128i order = pair_order();
    // Bytes 0 and 2, and bytes 1 and 3, of a transposed word form pairs.
    static constexpr int kOrder[4] = {0, 2, 1, 3};
    const uint8_t* bytes[4];
    for (int j = 0; j < 4; ++j)
      bytes[j] = rows.first + int64_t{quads.begin} * 4 * kLanes + kOrder[j] * rows.stride;
    Vector* to = pairs_.data();
    for (int quad = quads.begin; quad < quads.end; quad += kQuadsPerTranspose) {
      Int words[4];
      for (int j = 0; j < 4; ++j) {
        words[j] = PillowAvx2::shuffle(PillowAvx2::load_halves(bytes[j], 4 * rows.stride), order);
        bytes[j] += 4 * kLanes * kQuadsPerTranspose;
        asm("" : "+r"(bytes[j]));  // keeps the compiler from spilling sixteen pointers
      }
      PillowAvx2::transpose(words);
      for (int w = 0; w < kWords; ++w) {
        Vector* const pair = to + (kLanes == 1 ? 2 * w : w);
        pair[0].lanes = even_bytes(words[w]);
        pair[kLanes].lanes = even_bytes(words[w] >> 8);
      }
      to += 2 * kQuadsPerTranspose * kLanes;
    }
  }

  // Of 16 bytes: four pixels of each channel to a word, the second pair's first.
  static __m128i pair_order() {
    if (kLanes == 3) return _mm_setr_epi8(0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11, -1, -1, -1, -1);
    if (kLanes == 4) return _mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15);
    return _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  }

  static Int even_bytes(Int words) { return words & 0x00ff00ff; }

  template <bool kInterleaved>
  void sum_columns(int first_quad, int begin, int end, int32_t* ring) {
    switch (horizontal_.longest()) {
      case 2:
        return sum_columns<kInterleaved, 2>(first_quad, begin, end, ring);
      case 3:
        return sum_columns<kInterleaved, 3>(first_quad, begin, end, ring);
      case 4:
        return sum_columns<kInterleaved, 4>(first_quad, begin, end, ring);
      case 5:
        return sum_columns<kInterleaved, 5>(first_quad, begin, end, ring);
      case 6:
        return sum_columns<kInterleaved, 6>(first_quad, begin, end, ring);
      default:
        return sum_columns<kInterleaved, 0>(first_quad, begin, end, ring);
    }
  }

  // Four columns of all channels at a time, in the order of the output.
  template <bool kInterleaved, int kCount>
  void sum_columns(int first_quad, int begin, int end, int32_t* ring) {
    const int count = kCount > 0 ? kCount : horizontal_.longest();
    const int* first = horizontal_.firsts() + begin;
    const TapPairs::Weights* weights = horizontal_.weights(begin);
    const Vector* const pairs = pairs_.data() - 2 * first_quad * kLanes;
    const int64_t stride = stride_, next = kInterleaved ? 4 : plane_;
    for (int x = begin; x < end; x += TapPairs::kGroup) {
      Int sums[TapPairs::kGroup * kLanes];
#pragma GCC unroll 4
      for (int i = 0; i < TapPairs::kGroup; ++i) {
        sum_column<kCount>(pairs + int64_t{*first++} * kLanes, weights, count, sums + i * kLanes);
        weights += count;
      }
#pragma GCC unroll 4
      for (int g = 0; g < kLanes; ++g) {
        Int group[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) group[i] = sums[kInterleaved ? 4 * g + i : i * kLanes + g];
        const Int bytes = PillowAvx2::to_bytes(group);
        PillowAvx2::store_halves(ring + g * next, 2 * stride, even_bytes(bytes));
        PillowAvx2::store_halves(ring + g * next + stride, 2 * stride, even_bytes(bytes >> 8));
      }
      ring += kInterleaved ? 4 * kLanes : 4;
    }
  }

  // kCount: the number of pairs, 0 if known only at run time.
  template <int kCount>
  static void sum_column(const Vector* pairs, const TapPairs::Weights* weights, int count,
                         Int* sums) {
    Int low[kLanes], high[kLanes];
#pragma GCC unroll 4
    for (int c = 0; c < kLanes; ++c) low[c] = PillowAvx2::all(kHalf), high[c] = PillowAvx2::all(0);
#pragma GCC unroll 6
    for (int k = 0; k < (kCount > 0 ? kCount : count); ++k, pairs += kLanes) {
      const Int of_low = PillowAvx2::all(weights[k].low),
                of_high = PillowAvx2::all(weights[k].high);
#pragma GCC unroll 4
      for (int c = 0; c < kLanes; ++c) {
        const Int pixels = pairs[c].lanes;
        low[c] = PillowAvx2::add_products(low[c], pixels, of_low);
        high[c] = PillowAvx2::add_products(high[c], pixels, of_high);
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < kLanes; ++c) sums[c] = PillowAvx2::rounded(low[c], high[c]);
  }

  void write_row(int entry, int y, int x, int width) {
    vertical_rows_.resize(vertical_.longest());
    for (int k = 0; k < vertical_.count(entry); ++k)
      vertical_rows_[k] = row_pair(vertical_.first(entry) + k);
    if (is_interleaved()) return sum_rows(entry, 0, width * kLanes, &to_.at(y, x, 0));
    for (int c = 0; c < kLanes; ++c) {
      uint8_t* const to = &to_.at(y, x, c);
      if (to_.stride_x == 1) {
        sum_rows(entry, c * plane_, width, to);
        continue;
      }
      values_.resize(width);
      sum_rows(entry, c * plane_, width, values_.data());
      for (int i = 0; i < width; ++i) to[i * to_.stride_x] = values_[i];
    }
  }

  void sum_rows(int entry, int64_t first, int count, uint8_t* to) const {
    switch (vertical_.count(entry)) {
      case 2:
        return sum_rows<2>(entry, first, count, to);
      case 3:
        return sum_rows<3>(entry, first, count, to);
      default:
        return sum_rows<0>(entry, first, count, to);
    }
  }

  template <int kCount>
  void sum_rows(int entry, int64_t first, int count, uint8_t* to) const {
    int i = 0;
    for (; i + kBytes <= count; i += kBytes) sum_values<kCount>(entry, first + i, to + i);
    if (i == count) return;
    uint8_t rest[kBytes];
    sum_values<kCount>(entry, first + i, rest);
    std::copy_n(rest, count - i, to + i);
  }

  template <int kCount>
  void sum_values(int entry, int64_t first, uint8_t* to) const {
    const auto read = [&](int k, Int(&pairs)[4]) {
      for (int q = 0; q < 4; ++q)
        pairs[q] = PillowAvx2::load(vertical_rows_[k] + first + q * PillowAvx2::kLanes);
    };
    const Int sums = sum_pairs<kCount>(vertical_.count(entry), vertical_.weights(entry), read);
    PillowAvx2::store_in_order(to, sums);
  }

  const Image<const uint8_t> from_;
  const Image<uint8_t> to_;
  const TapPairs &horizontal_, &vertical_;
  int depth_;                  // blocks in the ring
  int columns_;                // of the ring
  int64_t plane_;              // from channel to channel of a row of the ring
  int64_t stride_;             // from one pair of rows to the next
  int quads_ = 0;              // of a transposed piece
  int64_t reach_ = 0;          // bytes from the beginning of a row that loads may touch
  std::vector<Vector> ring_;   // [depth_][kRowPairs][stride_] numbers
  std::vector<Vector> pairs_;  // [2 * quads_][kLanes]
  std::vector<uint8_t> copies_, values_;
  std::vector<const int32_t*> vertical_rows_;
};

using PillowTaps = StripTaps<TapPairs, TapPairs>;

template <int kLanes>
void resize_channels(const Resize<uint8_t, PillowFixed>& op, const PillowTaps& taps, int64_t n,
                     int begin, int end) {
  const ResizePlan& plan = op.coefficients.plans[op.coefficients.set_of(n)];
  for (int64_t c = 0; c < op.output.channels; c += kLanes) {
    const Image<const uint8_t> from = from_channel(op.source[n], c);
    const Image<uint8_t> to = from_channel(op.output[n], c);
    if (!plan.vertical_first) {
      PillowStrip<kLanes>(from, to, taps.horizontal(), taps.vertical()).run(begin, end);
      continue;
    }
    const ColumnSums sums(from, kLanes, taps.vertical(), plan.left, plan.right);
    const TapPairs as_they_are(end - begin);
    PillowStrip<kLanes>(sums.image(), rows_of(to, begin, end), taps.horizontal(), as_they_are)
        .run(0, end - begin);
  }
}

// The strips [begin, end) of all images.
inline void resize_pillow_strips(const Resize<uint8_t, PillowFixed>& op, int64_t begin,
                                 int64_t end) {
  PillowTaps taps(op.coefficients);
  for_each_strip(op, begin, end, [&](int64_t n, int first, int last) {
    const ResizePlan& plan = op.coefficients.plans[op.coefficients.set_of(n)];
    const Image<const uint8_t> from = op.source[n];
    const int64_t channels = op.output.channels;
    const bool together = (channels == 3 || channels == 4) && has_packed_rows(from, channels);
    const int64_t lanes = together ? channels : 1;
    const bool sums_columns =
        has_packed_rows(from, lanes) && ColumnSums::serves(lanes, plan.left, plan.right);
    if (plan.form == ResizeForm::kEmpty || (plan.vertical_first && !sums_columns))
      return resize_strip<ScalarRows>(op, n, first, last);
    taps.set(n, first, last);
    if (lanes == 3) return resize_channels<3>(op, taps, n, first, last);
    if (lanes == 4) return resize_channels<4>(op, taps, n, first, last);
    resize_channels<1>(op, taps, n, first, last);
  });
}

}  // namespace
}  // namespace orbbec
