// Pillow's resizes of bytes on AVX-512 with VBMI and VNNI. Included by resize_vbmi.cpp under its
// target.
#pragma once

#include "taps_vbmi.h"

namespace orbbec {
namespace {

// Takes packed pixels apart into planes.
class PlaneSplit {
 public:
  explicit PlaneSplit(int lanes)
      : lanes_(lanes), places_(lanes), masks_(static_cast<size_t>(lanes) * lanes) {
    for (int c = 0; c < lanes; ++c) {
      uint8_t places[kBlock];
      for (int x = 0; x < kBlock; ++x) {
        const int place = x * lanes + c;
        places[x] = static_cast<uint8_t>(place % kBlock);
        masks_[c * lanes + place / kBlock] |= __mmask64{1} << x;
      }
      places_[c].bytes = _mm512_loadu_si512(places);
    }
  }

  // Channel c of 64 pixels.
  Bytes operator()(const uint8_t* pixels, int c) const {
    Bytes plane = _mm512_setzero_si512();
    for (int w = 0; w < lanes_; ++w)
      plane = _mm512_mask_permutexvar_epi8(plane, masks_[c * lanes_ + w], places_[c].bytes,
                                           _mm512_loadu_si512(pixels + w * kBlock));
    return plane;
  }

 private:
  int lanes_;
  std::vector<Vector> places_;
  std::vector<__mmask64> masks_;  // [channels][lanes]: which bytes of it each vector has
};

// A strip of output rows: channels that lie together in the source, or one plane.
class VbmiStrip {
 public:
  VbmiStrip(const Image<const uint8_t>& from, const Image<uint8_t>& to, int lanes,
            const TapsAcross& across, const TapsDown& down)
      : from_(from), to_(to), lanes_(lanes), across_(across), down_(down), split_(lanes) {
    const int64_t fitting = kRingBytes / (int64_t{down.longest()} * kTapsOfQuad);
    const int64_t step = int64_t{kBlock} * lanes;  // whole vectors of whole pixels
    columns_ = std::min(round_up(across.values()), std::max<int64_t>(fitting / step, 1) * step);
  }

  // Pillow's usual order: rows are summed along x first. [begin, end): those that `down` tells of.
  void run_rows_first(int begin, int end) {
    ring_.resize(down_.longest() * columns_ / kGroup);
    for (int64_t x = 0; x < across_.values(); x += columns_) {
      const int64_t last = std::min(x + columns_, across_.values());
      int next = down_.first(0);  // four rows to be summed
      for (int y = begin; y < end; ++y) {
        const int row = y - begin, past = down_.first(row) + down_.count(row);
        for (; next < past; ++next) sum_across(next, x, last);
        write_row(row, y, x, last);
      }
    }
  }

  // The other order, for source columns [left, right).
  void run_columns_first(int begin, int end, int left, int right) {
    const int64_t stride = std::max(across_.reach(), int64_t{from_.width} * lanes_) + kBlock;
    copies_.resize(4 * stride);
    for (int y = begin; y < end; y += 4) {
      FourRows rows{};
      for (int i = 0; i < 4; ++i) {
        uint8_t* const row = &copies_[i * stride];
        rows.first[i] = row;
        sum_down(std::min(y + i, end - 1) - begin, int64_t{left} * lanes_, int64_t{right} * lanes_,
                 row);
      }
      write_four(rows, y, std::min(4, end - y));
    }
  }

 private:
  static int64_t round_up(int64_t values) { return (values + kBlock - 1) / kBlock * kBlock; }

  bool is_output_packed() const { return has_packed_rows(to_, lanes_); }

  // Four source rows as packed bytes that loads may reach beyond; copied where they are not.
  FourRows readable(int first) {
    const int64_t length = int64_t{from_.width} * lanes_;
    const int64_t room = std::max(length, across_.reach());
    const bool packed = from_.stride_x == lanes_;
    FourRows rows{{}, kTapsOfQuad * from_.stride_y};
    for (int i = 0; i < 4; ++i) {
      const int y = std::min(first + i, from_.height - 1);
      const uint8_t* const row = from_.data + y * from_.stride_y;
      rows.first[i] = row;
      if (packed && (from_.height - 1 - y) * from_.stride_y + length >= across_.reach()) continue;
      copies_.resize(4 * room);
      uint8_t* const copy = &copies_[i * room];
      for (int64_t x = 0; x < from_.width; ++x)
        std::copy_n(row + x * from_.stride_x, lanes_, copy + x * lanes_);
      rows.first[i] = copy;
    }
    return rows;
  }

  Vector* ring(int quad) { return &ring_[quad % down_.longest() * (columns_ / kGroup)]; }

  // Sums of four source rows along x, of values [begin, end), go into the ring.
  void sum_across(int quad, int64_t begin, int64_t end) {
    Vector* to = ring(quad);
    across_.for_each_group(readable(quad * kTapsOfQuad), begin / kGroup, groups_of(end),
                           [&](int64_t, Bytes sums) { (to++)->bytes = in_lanes(sums); });
  }

  void write_row(int row, int y, int64_t begin, int64_t end) {
    rows_of_ring_.resize(down_.longest());
    for (int k = 0; k < down_.count(row); ++k) rows_of_ring_[k] = ring(down_.first(row) + k);
    uint8_t* const to = values_to(y, 0, begin, end);
    for (int64_t at = 0; at < end - begin; at += kBlock) {
      const Bytes sums = down_.sum(row, [&](int k, Bytes(&bytes)[4]) {
        for (int i = 0; i < 4; ++i) bytes[i] = rows_of_ring_[k][at / kGroup + i].bytes;
      });
      _mm512_mask_storeu_epi8(to + at, first_bytes(end - begin - at), in_order(sums));
    }
    spread(to, y, begin, end);
  }

  // Source values [begin, end) of the rows that an output row takes.
  void sum_down(int row, int64_t begin, int64_t end, uint8_t* to) const {
    for (int64_t at = begin; at < end; at += kBlock) {
      const __mmask64 inside = first_bytes(end - at);
      const Bytes sums = down_.sum(row, [&](int k, Bytes(&rows)[4]) {
        for (int i = 0; i < 4; ++i) {
          const int y = std::min((down_.first(row) + k) * kTapsOfQuad + i, from_.height - 1);
          rows[i] = _mm512_maskz_loadu_epi8(inside, from_.data + y * from_.stride_y + at);
        }
        interleave(rows);
      });
      _mm512_storeu_si512(to + at, sums);
    }
  }

  // Of four rows to four bytes a lane, in the order that `weighted` undoes.
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

  // Sums of `count` of four rows along x.
  void write_four(const FourRows& rows, int y, int count) {
    const int64_t length = across_.values();
    uint8_t* to[4];
    for (int i = 0; i < count; ++i) to[i] = values_to(y + i, i, 0, length);
    across_.for_each_group(rows, 0, groups_of(length), [&](int64_t group, Bytes sums) {
      const int64_t at = group * kGroup;
      alignas(kBlock) uint8_t four[4][kGroup];
      _mm512_store_si512(four, in_order(sums));
      for (int i = 0; i < count; ++i)
        std::copy_n(four[i], std::min<int64_t>(kGroup, length - at), to[i] + at);
    });
    for (int i = 0; i < count; ++i) spread(to[i], y + i, 0, length);
  }

  // Where packed values of an output row go; `spread` takes them on to pixels that are apart.
  uint8_t* values_to(int y, int slot, int64_t begin, int64_t end) {
    if (is_output_packed()) return &to_.at(y, 0, 0) + begin;
    const int64_t room = end - begin + int64_t{kBlock} * lanes_;  // what PlaneSplit may read
    values_.resize(4 * room);
    return &values_[slot * room];
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
  const TapsAcross& across_;
  const TapsDown& down_;
  const PlaneSplit split_;
  int64_t columns_;           // values of the ring, a multiple of kBlock
  std::vector<Vector> ring_;  // [down_.longest()][columns_] times four rows
  std::vector<const Vector*> rows_of_ring_;
  std::vector<uint8_t> copies_, values_;
};

}  // namespace
}  // namespace orbbec
