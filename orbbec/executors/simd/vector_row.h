// Vectorized nearest and linear warps of uint8 and float32 images: the samplers' arithmetic on
// groups of neighboring pixels, to pixels or to floats before rounding. Groups that it cannot
// handle (positions that are not finite or far beyond a reflected border) go to the warp's own
// operator(). Included by *_avx2.cpp and *_avx512.cpp, under their targets.
#pragma once

#include "../../core/warp.h"

namespace orbbec {

template <class Simd, class Op, class Out = typename Op::Value>
class VectorRow {
 public:
  using T = typename Op::Value;
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;

  VectorRow(const Op& op, int64_t n, const Image<Out>& target)
      : op_(op), n_(n), image_(op.source[n]), target_(target), channels_(op.output.channels) {
    const int64_t pixel = image_.stride_x * static_cast<int64_t>(sizeof(T));
    pairs_ = pixel >= 1 && pixel <= 4;
    prefetch_ = prefetch_offset();
    copies_packed_ = kCopies && kIsByte && is_packed(image_) && is_packed(target_);
    if (!pairs_) {
      rgb_ = kIsLinear && channels_ == 3 && image_.stride_x == 3 && image_.stride_c == 1;
      last_left_ = image_.width - (rgb_ ? 3 : 2);
      return;
    }
    const int64_t row =
        (image_.width - 1) * pixel + static_cast<int64_t>(sizeof(T));  // bytes of one channel's row
    last_left_ = row < kPairBytes ? -1 : static_cast<int>((row - kPairBytes) / pixel);
    pair_shift_ = static_cast<int>(8 * pixel);
    const bool packed_out = target_.stride_c == 1 && target_.stride_x == 3;
    rgb_ = kIsByte && channels_ == 3 && pixel == 3 && image_.stride_c == 1 &&
           (packed_out || target_.stride_x == 1);
  }

  // Columns [begin, end) of an output row, `begin` a multiple of kRowBlock, to the target's columns
  // from 0 on.
  void run(int y, int begin, int end) {
    begin_ = begin;
    const int blocks = op_.output.width / kRowBlock * kRowBlock;
    const int whole = !fits() || blocks < begin ? begin : blocks < end ? blocks : end;
    for (int x = begin; x < whole;) {
      const bool is_copied = kCopies && x + kCopyBlock <= whole && copy_block(y, x);
      const int count = is_copied ? kCopyBlock : Simd::kLanes;
      if (!is_copied && !run_group(y, x)) run_pixels(y, x, x + count);
      x += count;
    }
    run_pixels(y, whole, end);
  }

 private:
  static constexpr bool kIsByte = sizeof(T) == 1;
  static constexpr bool kRounds = sizeof(Out) == 1;
  static constexpr bool kIsLinear = Op::kIsLinear;
  static constexpr bool kCopies = !kIsLinear && std::is_same_v<Out, T>;  // pixels do not change
  static constexpr int kTaps = kIsLinear ? 4 : 1;
  static constexpr int kPrefetchRows = 4;  // far enough ahead to hide the memory latency
  // Groups of floats have three planes to prefetch, and every second pixel is enough.
  static constexpr int kPrefetchStep = kIsByte ? 1 : 2;
  static constexpr int kCopyBlock = 32;  // columns
  static constexpr int kPairBytes = 8;  // bytes of a load that holds a pixel and its right neighbor

  // The four pixels around each position: + 1 is the right neighbor, + 2 the lower.
  struct Taps {
    Int bytes[kTaps];   // from the first byte of the image
    Int inside[kTaps];  // whether the pixel is inside the image, if `mixed`
    Float a, b;
    bool mixed;
  };

  // Whether 4 bytes hold a pixel of 3 or 4 channels.
  bool is_packed(const auto& image) const {
    return image.stride_c == 1 && image.stride_x == channels_ && (channels_ == 3 || channels_ == 4);
  }

  // Byte offsets are int, and 4-byte loads need 4 bytes.
  bool fits() const {
    if (image_.height < 1 || image_.width < 3) return false;
    return last_byte() >= 3 && last_byte() < 0x7fffffff;
  }
  int64_t last_byte() const {
    const int64_t last = (image_.height - 1) * image_.stride_y +
                         (image_.width - 1) * image_.stride_x + (channels_ - 1) * image_.stride_c;
    return (last + 1) * static_cast<int64_t>(sizeof(T)) - 1;
  }

  void run_pixels(int y, int begin, int end) const {
    for (int x = begin; x < end; ++x) op_.write(target_, n_, y, x, x - begin_);
  }

  // Offset from a pixel's source to that of the pixel some rows below; 0 if that is far away.
  int64_t prefetch_offset() const {
    constexpr float kFar = 65536;
    const Point<float> step = op_.transform.row_step(n_);
    const float x = step.x * kPrefetchRows, y = step.y * kPrefetchRows;
    if (!(x > -kFar && x < kFar && y > -kFar && y < kFar)) return 0;
    return (static_cast<int>(y) * image_.stride_y + static_cast<int>(x) * image_.stride_x) *
           static_cast<int64_t>(sizeof(T));
  }

  bool run_group(int y, int x) const {
    Taps taps;
    bool outside = false;
    if (!locate(y, x, taps, outside)) return false;
    const bool packed_in = kIsByte && image_.stride_c == 1 && channels_ <= 4;
    const bool packed_out = kRounds && target_.stride_c == 1 && target_.stride_x == channels_;
    if (kIsLinear && rgb_ && !taps.mixed) {
      if constexpr (kIsLinear) kIsByte ? store_rgb(y, x, taps) : store_rgb_floats(y, x, taps);
    } else if (packed_in && packed_out && channels_ != 2) {
      store_packed(y, x, taps, outside);
    } else {
      store_planes(y, x, taps, outside, packed_in);
    }
    return true;
  }

  // False where this class has no rule. `outside`: all taps of all pixels are beyond a constant
  // border.
  bool locate(int y, int x, Taps& taps, bool& outside) const {
    const Point<Float> at = op_.transform.template fused_group<Simd>(n_, y, x);
    const Float not_a_number = (at.x - at.x) + (at.y - at.y);
    if (!Simd::all(not_a_number == 0.0f)) return false;
    Int left, top;
    if constexpr (kIsLinear) {
      left = Simd::truncate(Simd::floor(at.x));
      top = Simd::truncate(Simd::floor(at.y));
      taps.a = at.x - Simd::to_float(left);
      taps.b = at.y - Simd::to_float(top);
    } else {
      left = Simd::round(at.x);
      top = Simd::round(at.y);
    }
    const Int within = (left >= 0) & (left <= last_left_) & (top >= 0) & (top < image_.height - 1);
    taps.mixed = !Simd::all(within);
    if (!taps.mixed) {
      set_offsets(taps, left, left + 1, top, top + 1);
      return true;
    }
    return locate_mixed(taps, outside, left, top);
  }

  bool locate_mixed(Taps& taps, bool& outside, Int left, Int top) const {
    if (op_.border == Border::kTransparent) return false;
    const Int right = wrapping_next(left), bottom = wrapping_next(top);
    const Int left_in = is_in(left, image_.width), top_in = is_in(top, image_.height);
    taps.inside[0] = left_in & top_in;
    Int any_inside = taps.inside[0];
    if constexpr (kIsLinear) {
      const Int right_in = is_in(right, image_.width), bottom_in = is_in(bottom, image_.height);
      taps.inside[1] = right_in & top_in;
      taps.inside[2] = left_in & bottom_in;
      taps.inside[3] = right_in & bottom_in;
      any_inside = (left_in | right_in) & (top_in | bottom_in);
    }
    if (op_.border == Border::kConstant) outside = !Simd::any(any_inside);
    Int columns[2] = {left, right}, rows[2] = {top, bottom};
    for (int i = 0; i < (kIsLinear ? 2 : 1); ++i) {
      if (!bring_inside(columns[i], image_.width) || !bring_inside(rows[i], image_.height))
        return false;
    }
    set_offsets(taps, columns[0], columns[1], rows[0], rows[1]);
    return true;
  }

  typedef unsigned Unsigned __attribute__((vector_size(4 * Simd::kLanes)));
  static Int wrapping_next(Int v) { return (Int)((Unsigned)v + 1u); }
  static Int is_in(Int v, int size) { return (v >= 0) & (v < size); }

  // border_index, for positions less than one image away; false if any is farther.
  bool bring_inside(Int& index, int size) const {
    if (op_.border == Border::kConstant || op_.border == Border::kReplicate) {
      index = index < 0 ? Int{} : index;
      index = index > size - 1 ? Int{} + (size - 1) : index;
      return true;
    }
    const unsigned length = static_cast<unsigned>(size);
    const unsigned seam = op_.border == Border::kReflect101 ? 1u : 0u;
    const Unsigned u = (Unsigned)index;
    const bool wraps = op_.border == Border::kWrap;
    const Unsigned before = wraps ? u + length : seam - 1u - u;
    const Unsigned after = wraps ? u - length : 2u * length - 1u - seam - u;
    index = index < 0 ? (Int)before : index > size - 1 ? (Int)after : index;
    return Simd::all(is_in(index, size));
  }

  void set_offsets(Taps& taps, Int left, Int right, Int top, Int bottom) const {
    const int step_x = static_cast<int>(image_.stride_x * sizeof(T)),
              step_y = static_cast<int>(image_.stride_y * sizeof(T));
    left *= step_x;
    top *= step_y;
    taps.bytes[0] = left + top;
    if constexpr (kIsLinear) {
      right *= step_x;
      bottom *= step_y;
      taps.bytes[1] = right + top;
      taps.bytes[2] = left + bottom;
      taps.bytes[3] = right + bottom;
    }
  }

  // Copies the nearest pixels of a block of columns. False if one is outside, which stays undone.
  bool copy_block(int y, int x) const {
    const Image<const T> image = image_;
    const int step_x = static_cast<int>(image.stride_x * sizeof(T)),
              step_y = static_cast<int>(image.stride_y * sizeof(T));
    const int columns = image.width - (copies_packed_ ? 1 : 0);  // 4 bytes may pass the last pixel
    int bytes[kCopyBlock];
    Int within = Simd::lane_numbers() >= 0;
    for (int i = 0; i < kCopyBlock; i += Simd::kLanes) {
      const Point<Float> at = op_.transform.template fused_group<Simd>(n_, y, x + i);
      const Int left = Simd::round(at.x), top = Simd::round(at.y);  // INT_MIN if not finite
      within &= is_in(left, columns) & is_in(top, image.height);
      const Int first = left * step_x + top * step_y;
      memcpy(bytes + i, &first, sizeof(first));
    }
    if (!Simd::all(within)) return false;
    const char* const base = reinterpret_cast<const char*>(image.data);
    if (prefetch_ != 0)
      for (int i = 0; i < kCopyBlock; i += 4) __builtin_prefetch(base + bytes[i] + prefetch_);
    if (copies_packed_) {
      copy_packed(&out(y, x, 0), base, bytes);
      return true;
    }
    for (int64_t c = 0; c < channels_; ++c)
      copy_plane(&out(y, x, c), image.data + c * image.stride_c, bytes);
    return true;
  }

  // Pixels of 3 or 4 bytes, the last byte of which may be that of the next.
  void copy_packed(Out* to, const char* base, const int* bytes) const {
    char* const bytes_to = reinterpret_cast<char*>(to);
    const int64_t channels = channels_;
    const int last = kCopyBlock - 1;
    for (int i = 0; i < last; ++i) memcpy(bytes_to + i * channels, base + bytes[i], 4);
    memcpy(bytes_to + last * channels, base + bytes[last], static_cast<size_t>(channels));
  }

  void copy_plane(Out* to, const T* plane, const int* bytes) const {
    const int64_t step = target_.stride_x;
    const char* const base = reinterpret_cast<const char*>(plane);
    for (int i = 0; i < kCopyBlock; ++i) memcpy(to + i * step, base + bytes[i], sizeof(T));
  }

  // The taps of channel c, or of all channels of a packed pixel.
  void load(const Taps& taps, int64_t c, Int (&loaded)[kTaps]) const {
    if (pairs_ && !taps.mixed) {
      Simd::template prefetch<kPrefetchStep>(
          reinterpret_cast<const char*>(image_.data) + channel_bytes(c) + prefetch_, taps.bytes[0]);
      Int unused;
      load_pair(taps.bytes[0], c, loaded[0], kIsLinear ? loaded[kTaps / 4] : unused);
      if constexpr (kIsLinear) load_pair(taps.bytes[2], c, loaded[2], loaded[3]);
      return;
    }
    for (int k = 0; k < kTaps; ++k) loaded[k] = load_one(taps.bytes[k], c);
  }

  int channel_bytes(int64_t c) const {
    return static_cast<int>(c * image_.stride_c * static_cast<int64_t>(sizeof(T)));
  }

  void load_pair(Int bytes, int64_t c, Int& left, Int& right) const {
    Int high;
    Simd::load_8_bytes(reinterpret_cast<const char*>(image_.data) + channel_bytes(c), bytes, left,
                       high);
    right = pair_shift_ == 32 ? high
                              : (Int)((Unsigned)left >> pair_shift_) | high << (32 - pair_shift_);
  }

  // 4 bytes at each offset as one number; at the end of the image, the load starts earlier and the
  // number is shifted.
  Int load_one(Int bytes, int64_t c) const {
    bytes += channel_bytes(c);
    const int limit = static_cast<int>(last_byte()) - 3;
    const Int start = bytes > limit ? Int{} + limit : bytes;
    return Simd::shift_right(Simd::gather(image_.data, start), (bytes - start) * 8);
  }

  float fill(int64_t c) const { return static_cast<float>(op_.fill_of(c)); }

  static Float blend(Float a, Float b, const Float (&p)[4]) {
    const Float above = Simd::fused_multiply_add(a, p[1] - p[0], p[0]);
    const Float below = Simd::fused_multiply_add(a, p[3] - p[2], p[2]);
    return Simd::fused_multiply_add(b, below - above, above);
  }

  // The channel in byte `byte` of the loaded numbers, or the loaded float.
  Float value(const Taps& taps, const Int (&loaded)[kTaps], int byte, int64_t c) const {
    Float p[kTaps];
    const bool fills = taps.mixed && op_.border == Border::kConstant;
    for (int k = 0; k < kTaps; ++k) {
      p[k] = kIsByte ? Simd::to_float((Int)((Unsigned)loaded[k] >> (8 * byte)) & 255)
                     : (Float)loaded[k];
      if (fills) p[k] = taps.inside[k] ? p[k] : Simd::all_lanes(fill(c));
    }
    if constexpr (kIsLinear) {
      const Float blended = blend(taps.a, taps.b, p);
      if (kIsByte || !fills) return blended;
      const Int any_inside = taps.inside[0] | taps.inside[1] | taps.inside[2] | taps.inside[3];
      return any_inside ? blended : Simd::all_lanes(fill(c));
    }
    return p[0];
  }

  static Int byte_of(Int v, int byte) { return (Int)((Unsigned)v >> (8 * byte)) & 255; }

  // Packed RGB with all taps inside, to packed RGB or planes: of the 8 bytes of a pair, bytes 0 to
  // 2 are the left pixel, 3 to 5 the right.
  void store_rgb(int y, int x, const Taps& taps) const {
    const char* const base = reinterpret_cast<const char*>(image_.data);
    Simd::prefetch(base + prefetch_, taps.bytes[0]);
    Int above[2], below[2];
    Simd::load_8_bytes(base, taps.bytes[0], above[0], above[1]);
    Simd::load_8_bytes(base, taps.bytes[2], below[0], below[1]);
    Float result[3];
    for (int c = 0; c < 3; ++c) {
      const int half = (c + 3) / 4, byte = (c + 3) % 4;
      const Float p[4] = {
          Simd::to_float(byte_of(above[0], c)), Simd::to_float(byte_of(above[half], byte)),
          Simd::to_float(byte_of(below[0], c)), Simd::to_float(byte_of(below[half], byte))};
      result[c] = blend(taps.a, taps.b, p);
    }
    if (kRounds && target_.stride_c == 1) {
      return Simd::store_bytes_3(
          reinterpret_cast<uint8_t*>(&out(y, x, 0)),
          Simd::round(result[0]) | Simd::round(result[1]) << 8 | Simd::round(result[2]) << 16);
    }
    for (int c = 0; c < 3; ++c) store_plane(&out(y, x, c), result[c]);
  }

  // Pixels of three floats with all taps inside. A vector holds several, each in three of four
  // lanes.
  void store_rgb_floats(int y, int x, const Taps& taps) const {
    constexpr int kPixels = Simd::kLanes / 4;
    constexpr int64_t kPixel = 3 * sizeof(T);
    const char* const above = reinterpret_cast<const char*>(image_.data);
    const char* const below = above + image_.stride_y * static_cast<int64_t>(sizeof(T));
    Simd::prefetch(above + prefetch_, taps.bytes[0]);
    int bytes[Simd::kLanes];
    memcpy(bytes, &taps.bytes[0], sizeof(bytes));
    float pixels[4 * Simd::kLanes];
    const Int lanes = Simd::lane_numbers(), packed = lanes + lanes / 3;
    for (int i = 0; i < Simd::kLanes; i += kPixels) {
      const Int pixel = lanes / 4 + i;
      const Float p[4] = {
          Simd::load_16_bytes(above, bytes + i), Simd::load_16_bytes(above + kPixel, bytes + i),
          Simd::load_16_bytes(below, bytes + i), Simd::load_16_bytes(below + kPixel, bytes + i)};
      const Float blended =
          blend(__builtin_shuffle(taps.a, pixel), __builtin_shuffle(taps.b, pixel), p);
      Simd::store(pixels + 3 * i, __builtin_shuffle(blended, packed));
    }
    if (target_.stride_x == 3 && target_.stride_c == 1) {
      memcpy(&out(y, x, 0), pixels, 3 * Simd::kLanes * sizeof(float));
      return;
    }
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < Simd::kLanes; ++i) out(y, x + i, c) = pixels[3 * i + c];
    }
  }

  void store_packed(int y, int x, const Taps& taps, bool outside) const {
    const int channels = static_cast<int>(channels_);
    Int pixels{};
    if (outside) {
      for (int c = 0; c < channels; ++c) pixels |= static_cast<int>(op_.fill[c]) << (8 * c);
    } else {
      Int loaded[kTaps];
      load(taps, 0, loaded);
      for (int c = 0; c < channels; ++c)
        pixels |= Simd::round(value(taps, loaded, c, c)) << (8 * c);
    }
    uint8_t* const to = reinterpret_cast<uint8_t*>(&out(y, x, 0));
    if (channels == 1) return Simd::store_bytes_1(to, pixels);
    if (channels == 3) return Simd::store_bytes_3(to, pixels);
    Simd::store_bytes_4(to, pixels);
  }

  void store_planes(int y, int x, const Taps& taps, bool outside, bool packed_in) const {
    Int loaded[kTaps];
    for (int64_t c = 0; c < channels_; ++c) {
      Float result = Simd::all_lanes(fill(c));
      if (!outside) {
        if (c == 0 || !packed_in) load(taps, c, loaded);
        result = value(taps, loaded, packed_in ? static_cast<int>(c) : 0, c);
      }
      store_plane(&out(y, x, c), result);
    }
  }

  void store_plane(Out* to, Float values) const {
    if constexpr (kRounds) {
      uint8_t bytes[Simd::kLanes];
      if (target_.stride_x == 1) return Simd::store_bytes_1(to, Simd::round(values));
      Simd::store_bytes_1(bytes, Simd::round(values));
      for (int i = 0; i < Simd::kLanes; ++i) to[i * target_.stride_x] = bytes[i];
    } else {
      float floats[Simd::kLanes];
      if (target_.stride_x == 1) return Simd::store(to, values);
      Simd::store(floats, values);
      for (int i = 0; i < Simd::kLanes; ++i) to[i * target_.stride_x] = floats[i];
    }
  }

  Out& out(int y, int x, int64_t c) const { return target_.at(y, x - begin_, c); }

  const Op& op_;
  int64_t n_;
  int begin_ = 0;  // the output column at the target's column 0
  Image<const T> image_;
  Image<Out> target_;
  int64_t channels_;
  bool pairs_;          // whether 8 bytes hold a pixel and its right neighbor
  int last_left_ = -1;  // the last column whose loads stay inside the row
  bool copies_packed_;  // nearest pixels of 3 or 4 bytes, as 4 bytes
  bool rgb_ = false;    // packed pixels of 3 bytes in, packed or planes out; or of 3 floats in
  int64_t prefetch_ = 0;
  int pair_shift_ = 0;  // bits from a pixel to its right neighbor
};

template <class Simd, class Op>
void vector_row(const Op& op, int64_t n, int y, int begin, int end) {
  Image<typename Op::Value> target = op.output[n];
  target.data += begin * target.stride_x;
  VectorRow<Simd, Op>(op, n, target).run(y, begin, end);
}

}  // namespace orbbec
