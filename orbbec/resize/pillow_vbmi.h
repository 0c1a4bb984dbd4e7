// Pillow's resizes of bytes on AVX-512 with VBMI and VNNI. Included by resize_vbmi.cpp under its
// target.
#pragma once

#include "taps_vbmi.h"

namespace orbbec {
namespace {

// Deinterleaves packed pixels.
class PlaneSplit {
 public:
  explicit PlaneSplit(int lanes)
      : lanes_(lanes), indices_(lanes), masks_(static_cast<size_t>(lanes) * lanes) {
    for (int c = 0; c < lanes; ++c) {
      uint8_t indices[kBlock];
      for (int x = 0; x < kBlock; ++x) {
        const int index = x * lanes + c;
        indices[x] = static_cast<uint8_t>(index % kBlock);
        masks_[c * lanes + index / kBlock] |= __mmask64{1} << x;
      }
      indices_[c].bytes = _mm512_loadu_si512(indices);
    }
  }

  // Channel c of 64 pixels.
  Bytes operator()(const uint8_t* pixels, int c) const {
    Bytes plane = _mm512_setzero_si512();
    for (int w = 0; w < lanes_; ++w)
      plane = _mm512_mask_permutexvar_epi8(plane, masks_[c * lanes_ + w], indices_[c].bytes,
                                           _mm512_loadu_si512(pixels + w * kBlock));
    return plane;
  }

 private:
  int lanes_;
  std::vector<Vector> indices_;
  std::vector<__mmask64> masks_;  // [channels][lanes]: the bytes that each vector contributes
};

// A strip of output rows: interleaved channels, or one plane.
class VbmiStrip {
 public:
  VbmiStrip(const Image<const uint8_t>& from, const Image<uint8_t>& to, int lanes,
            const HorizontalTaps& horizontal, const VerticalTaps& vertical)
      : from_(from),
        to_(to),
        lanes_(lanes),
        horizontal_(horizontal),
        vertical_(vertical),
        split_(lanes) {
    const int64_t fitting = kRingBytes / (int64_t{vertical.longest()} * kTapsOfQuad);
    const int64_t step = int64_t{kBlock} * lanes;  // whole vectors of whole pixels
    columns_ = std::min(round_up<int64_t>(horizontal.values(), kBlock),
                        std::max<int64_t>(fitting / step, 1) * step);
  }

  // Pillow's usual order: the horizontal pass first. [begin, end): as given to the vertical pass.
  void run_horizontal_first(int begin, int end) {
    ring_.resize(vertical_.longest() * columns_ / kGroup);
    for (int64_t x = 0; x < horizontal_.values(); x += columns_) {
      const int64_t last = std::min(x + columns_, horizontal_.values());
      int next = vertical_.first(0);  // next four rows to sum
      for (int y = begin; y < end; ++y) {
        const int row = y - begin, past = vertical_.first(row) + vertical_.count(row);
        for (; next < past; ++next) sum_horizontal(next, x, last);
        write_row(row, y, x, last);
      }
    }
  }

  // The other order, for source columns [left, right).
  void run_vertical_first(int begin, int end, int left, int right) {
    const int64_t stride = std::max(horizontal_.reach(), int64_t{from_.width} * lanes_) + kBlock;
    copies_.resize(4 * stride);
    for (int y = begin; y < end; y += 4) {
      RowQuad rows{};
      for (int i = 0; i < 4; ++i) {
        uint8_t* const row = &copies_[i * stride];
        rows.first[i] = row;
        sum_vertical(std::min(y + i, end - 1) - begin, int64_t{left} * lanes_,
                     int64_t{right} * lanes_, row);
      }
      write_four(rows, y, std::min(4, end - y));
    }
  }

 private:
  bool is_output_packed() const { return has_packed_rows(to_, lanes_); }

  // Four source rows as packed bytes that loads may read past; copied where necessary.
  RowQuad readable(int first) {
    const int64_t length = int64_t{from_.width} * lanes_;
    const int64_t capacity = std::max(length, horizontal_.reach());
    const bool packed = from_.stride_x == lanes_;
    RowQuad rows{{}, kTapsOfQuad * from_.stride_y};
    for (int i = 0; i < 4; ++i) {
      const int y = std::min(first + i, from_.height - 1);
      const uint8_t* const row = from_.data + y * from_.stride_y;
      rows.first[i] = row;
      if (packed && (from_.height - 1 - y) * from_.stride_y + length >= horizontal_.reach())
        continue;
      copies_.resize(4 * capacity);
      uint8_t* const copy = &copies_[i * capacity];
      for (int64_t x = 0; x < from_.width; ++x)
        std::copy_n(row + x * from_.stride_x, lanes_, copy + x * lanes_);
      rows.first[i] = copy;
    }
    return rows;
  }

  Vector* ring(int quad) { return &ring_[quad % vertical_.longest() * (columns_ / kGroup)]; }

  // Sums four source rows horizontally, values [begin, end), into the ring.
  void sum_horizontal(int quad, int64_t begin, int64_t end) {
    Vector* to = ring(quad);
    horizontal_.for_each_group(readable(quad * kTapsOfQuad), begin / kGroup, groups_of(end),
                               [&](int64_t, Bytes sums) { (to++)->bytes = in_lanes(sums); });
  }

  void write_row(int row, int y, int64_t begin, int64_t end) {
    ring_rows_.resize(vertical_.longest());
    for (int k = 0; k < vertical_.count(row); ++k) ring_rows_[k] = ring(vertical_.first(row) + k);
    uint8_t* const to = values_to(y, 0, begin, end);
    for (int64_t at = 0; at < end - begin; at += kBlock) {
      const Bytes sums = vertical_.sum(row, [&](int k, Bytes(&bytes)[4]) {
        for (int i = 0; i < 4; ++i) bytes[i] = ring_rows_[k][at / kGroup + i].bytes;
      });
      _mm512_mask_storeu_epi8(to + at, first_bytes(end - begin - at), in_order(sums));
    }
    spread(to, y, begin, end);
  }

  // Sums source values [begin, end) of the rows of an output row.
  void sum_vertical(int row, int64_t begin, int64_t end, uint8_t* to) const {
    for (int64_t at = begin; at < end; at += kBlock) {
      const __mmask64 inside = first_bytes(end - at);
      const Bytes sums = vertical_.sum(row, [&](int k, Bytes(&rows)[4]) {
        for (int i = 0; i < 4; ++i) {
          const int y = std::min((vertical_.first(row) + k) * kTapsOfQuad + i, from_.height - 1);
          rows[i] = _mm512_maskz_loadu_epi8(inside, from_.data + y * from_.stride_y + at);
        }
        interleave(rows);
      });
      _mm512_storeu_si512(to + at, sums);
    }
  }

  // Interleaves four rows to four bytes per lane, in the order that `weighted` undoes.
  static void interleave(Bytes (&rows)[4]) {
    const Bytes low01 = _mm512_unpacklo_epi8(rows[0], rows[1]);
    const Bytes high01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
    const Bytes low23 = _mm512_unpacklo_epi8(rows[2], rows[3]);
    const Bytes high23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
    rows[0] = _mm512_unpacklo_epi16(low01, low23);
    rows[1] = _mm512_unpackhi_epi16(low01, low23);
    rows[2] = _mm512_unpacklo_epi16(high01, high23);
    rows[3] = _mm512_unpackhi_epi16(high01, high23);
  }

  // The horizontal sums of `count` of four rows.
  void write_four(const RowQuad& rows, int y, int count) {
    const int64_t length = horizontal_.values();
    uint8_t* to[4];
    for (int i = 0; i < count; ++i) to[i] = values_to(y + i, i, 0, length);
    horizontal_.for_each_group(rows, 0, groups_of(length), [&](int64_t group, Bytes sums) {
      const int64_t at = group * kGroup;
      alignas(kBlock) uint8_t four[4][kGroup];
      _mm512_store_si512(four, in_order(sums));
      for (int i = 0; i < count; ++i)
        std::copy_n(four[i], std::min<int64_t>(kGroup, length - at), to[i] + at);
    });
    for (int i = 0; i < count; ++i) spread(to[i], y + i, 0, length);
  }

  // Where packed values of an output row go; `spread` scatters them to pixels that are not packed.
  uint8_t* values_to(int y, int slot, int64_t begin, int64_t end) {
    if (is_output_packed()) return &to_.at(y, 0, 0) + begin;
    const int64_t capacity = end - begin + int64_t{kBlock} * lanes_;  // what PlaneSplit may read
    values_.resize(4 * capacity);
    return &values_[slot * capacity];
  }
  void spread(const uint8_t* values, int y, int64_t begin, int64_t end) const {
    if (is_output_packed()) return;
    const int first = static_cast<int>(begin / lanes_), last = static_cast<int>(end / lanes_);
    for (int64_t c = 0; c < lanes_; ++c) {
      for (int x = first; x < last; x += kBlock) {
        const Bytes plane = split_(values + int64_t{x - first} * lanes_, static_cast<int>(c));
        store(plane, std::min(last - x, kBlock), &to_.at(y, x, c));
      }
    }
  }
  void store(Bytes plane, int count, uint8_t* to) const {
    if (to_.stride_x == 1) return _mm512_mask_storeu_epi8(to, first_bytes(count), plane);
    uint8_t bytes[kBlock];
    _mm512_storeu_si512(bytes, plane);
    for (int i = 0; i < count; ++i) to[i * to_.stride_x] = bytes[i];
  }

  const Image<const uint8_t> from_;
  const Image<uint8_t> to_;
  const int lanes_;
  const HorizontalTaps& horizontal_;
  const VerticalTaps& vertical_;
  const PlaneSplit split_;
  int64_t columns_;           // values of the ring, a multiple of kBlock
  std::vector<Vector> ring_;  // [vertical_.longest()][columns_] times four rows
  std::vector<const Vector*> ring_rows_;
  std::vector<uint8_t> copies_, values_;
};

}  // namespace
}  // namespace orbbec
