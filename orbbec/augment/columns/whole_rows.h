// Rows of bytes under crops, flips and shifts by whole pixels, a vector of columns at a time.
// Included by augment_avx2.cpp and augment_avx512.cpp, under their targets.
#pragma once

#include <optional>

#include "../../executors/simd/interleave3.h"
#include "../whole_pixels.h"

namespace orbbec {

// For planes and packed RGB, with the members of ScaledRows.
template <class Simd, class Reader>
class WholeRows {
 public:
  explicit WholeRows(const Reader& reader)
      : reader_(reader), channels_(static_cast<int>(reader.output.channels)) {}

  void prepare(int64_t n, int) {
    n_ = n;
    whole_.reset();
  }

  // Asked before the members below.
  bool serves() {
    if (!whole_) set_image();
    return serves_;
  }

  Span columns(int y, int begin, int count) {
    y_ = y;
    return serves(y, begin) ? whole_->inside(y, begin, count) : Span{0, 0};
  }

  Span reached(int y, int begin, int count) const {
    if (!serves(y, begin) || !outside_is_value(reader_.border)) return {0, count};
    return whole_->inside(y, begin, count);
  }

  template <class Sink>
  void read(int begin, Span span, const Sink& sink) const {
    const uint8_t* const from = whole_->at(y_, begin + span.begin);
    for (int group = span.begin / kGroup * kGroup; group < span.end; group += kGroup) {
      const Span lanes{larger(span.begin - group, 0), smaller(span.end - group, kGroup)};
      Bytes bytes[kMaxFills];
      load(from + (group - span.begin) * whole_->stride(), lanes, bytes);
      for (int i = lanes.begin / kLanes * kLanes; i < lanes.end; i += kLanes) {
        for (int c = 0; c < channels_; ++c) {
          const auto* const values = reinterpret_cast<const uint8_t*>(&bytes[c]) + i;
          sink(c, group + i, Simd::to_float(Simd::load_bytes(values)));
        }
      }
    }
  }

 private:
  using Pixels = Interleave3<Simd>;
  using Bytes = typename Pixels::Bytes;
  static constexpr int kLanes = Simd::kLanes, kGroup = Pixels::kGroup;
  static_assert(kGroup % kLanes == 0);

  [[gnu::noinline]] void set_image() {
    image_ = reader_.source[n_];
    whole_.emplace(reader_, n_);
    is_packed_ = channels_ == 3 && image_.stride_x == 3 && image_.stride_c == 1;
    serves_ = (is_packed_ || image_.stride_x == 1) && whole_->serves(0, 0);
    if (serves_) end_ = &image_.at(image_.height - 1, image_.width - 1, channels_ - 1) + 1;
  }

  bool serves(int y, int begin) const { return serves_ && whole_->serves(y, begin); }

  // A group of pixels, the first of which is `from`; bytes outside of `lanes` are arbitrary.
  void load(const uint8_t* from, Span lanes, Bytes (&bytes)[kMaxFills]) const {
    const int64_t step = whole_->stride(), to_last = (kGroup - 1) * step;
    const uint8_t* const low = step < 0 ? from + to_last : from;
    const uint8_t* const high =
        (step < 0 ? from : from + to_last) + (channels_ - 1) * image_.stride_c;
    if (low < image_.data || high >= end_) {
      for (int c = 0; c < channels_; ++c)
        for (int i = lanes.begin; i < lanes.end; ++i)
          bytes[c][i] = from[i * step + c * image_.stride_c];
    } else if (is_packed_) {
      load_packed(from, bytes);
    } else {
      for (int c = 0; c < channels_; ++c) {
        memcpy(&bytes[c], low + c * image_.stride_c, kGroup);
        if (step < 0) bytes[c] = reversed(bytes[c]);
      }
    }
  }

  void load_packed(const uint8_t* from, Bytes (&bytes)[kMaxFills]) const {
    Bytes channels[3];
    if (whole_->is_reversed()) {
      Pixels::template deinterleave<true>(from, channels);
    } else {
      Pixels::template deinterleave<false>(from, channels);
    }
    for (int c = 0; c < 3; ++c) bytes[c] = channels[c];
  }

  static Bytes reversed(Bytes v) {
    return __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }

  const Reader& reader_;
  int channels_;
  int64_t n_ = 0;
  int y_ = 0;            // the current row
  bool serves_ = false;  // whether this class can read the image
  bool is_packed_ = false;
  Image<const uint8_t> image_{};
  const uint8_t* end_ = nullptr;  // one past the image's last byte
  std::optional<WholePixels<Reader>> whole_;
};

}  // namespace orbbec
