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
    const int64_t pixel = image_.stride_x;
    const bool is_packed = image_.stride_c == 1 && channels_ <= pixel && pixel <= 4;
    shares_load_ = kIsByte && is_packed;
    packed_out_ = kRounds && shares_load_ && target_.stride_c == 1 &&
                  target_.stride_x == channels_ && (channels_ == 3 || channels_ == 4);
    prefetch_ = prefetch_offset();
    if (fits()) set_inside(pixel, is_packed);
  }

  // Columns [begin, end) of an output row, `begin` a multiple of kRowBlock, to the target's columns
  // from 0 on.
  void run(int y, int begin, int end) {
    begin_ = begin;
    const int blocks = op_.output.width / kRowBlock * kRowBlock;
    const int whole = !fits() || blocks < begin ? begin : blocks < end ? blocks : end;
    Block block;
    int x = begin, first = begin;  // the block has columns [first, x)
    for (; x < whole; x += Simd::kLanes) {
      if (x == first + kBlock) {
        write_block(y, first, kBlock, block);
        first = x;
      }
      if (locate_inside(y, x, x - first, block)) continue;
      write_block(y, first, x - first, block);
      first = x + Simd::kLanes;
      if (!run_group(y, x)) run_pixels(y, x, first);
    }
    write_block(y, first, x - first, block);
    run_pixels(y, whole, end);
  }

 private:
  static constexpr bool kIsByte = sizeof(T) == 1;
  static constexpr bool kRounds = sizeof(Out) == 1;
  static constexpr bool kIsLinear = Op::kIsLinear;
  static constexpr int kTaps = kIsLinear ? 4 : 1;
  static constexpr int kPrefetchRows = 4;     // far enough ahead to hide the memory latency
  static constexpr int kPrefetchColumns = 4;  // share a prefetch
  static constexpr int kBlock = 64;           // columns
  static constexpr int kPairBytes = 8;        // that hold a pixel and its right neighbor

  // Columns whose taps are inside the image.
  struct Block {
    int bytes[kBlock];  // from the first byte of the image to the upper left tap
    Float a[kBlock / Simd::kLanes], b[kBlock / Simd::kLanes];
  };

  // The four pixels around each position: + 1 is the right neighbor, + 2 the lower.
  struct Taps {
    Int bytes[kTaps];   // from the first byte of the image
    Int inside[kTaps];  // whether the pixel is inside the image
    Float a, b;
  };

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

  // The upper left taps whose loads stay inside the rows; none in layouts without such loads.
  void set_inside(int64_t pixel, bool is_packed) {
    rows_inside_ = image_.height - (kIsLinear ? 1 : 0);
    if (!kIsLinear) {
      copies_packed_ = packed_out_ && pixel == channels_;
      columns_inside_ = image_.width - (copies_packed_ ? 1 : 0);  // 4 bytes may pass the last pixel
    } else if (pixel == 1) {
      columns_inside_ = image_.width - 1;
    } else if (!kIsByte) {
      columns_inside_ = is_packed && pixel == 3 && channels_ == 3 ? image_.width - 2 : 0;
    } else if (pixel >= 2 && pixel <= 4) {
      const int64_t row = (image_.width - 1) * pixel + 1;  // bytes of one channel's row
      if (row >= kPairBytes) columns_inside_ = static_cast<int>((row - kPairBytes) / pixel + 1);
    }
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

  // The upper left taps of a group, INT_MIN where a position is not finite.
  void locate(const Point<Float>& at, Int& left, Int& top, Float& a, Float& b) const {
    if constexpr (kIsLinear) {
      left = Simd::truncate(Simd::floor(at.x));
      top = Simd::truncate(Simd::floor(at.y));
      a = at.x - Simd::to_float(left);
      b = at.y - Simd::to_float(top);
    } else {
      left = Simd::round(at.x);
      top = Simd::round(at.y);
    }
  }

  // Adds a group to a block whose columns so far are `count`. False if a load is not inside.
  bool locate_inside(int y, int x, int count, Block& block) const {
    const Point<Float> at = op_.transform.template fused_group<Simd>(n_, y, x);
    Int left, top;
    Float a{}, b{};
    locate(at, left, top, a, b);
    if (!Simd::all(is_in(left, columns_inside_) & is_in(top, rows_inside_))) return false;
    const Int first = left * step_x() + top * step_y();
    memcpy(block.bytes + count, &first, sizeof(first));
    block.a[count / Simd::kLanes] = a;
    block.b[count / Simd::kLanes] = b;
    return true;
  }

  void write_block(int y, int x, int count, const Block& block) const {
    if (count == 0) return;
    for (int i = 0; i < count && prefetch_ != 0; i += kPrefetchColumns)
      __builtin_prefetch(base() + block.bytes[i] + prefetch_);
    if constexpr (!kIsLinear) {
      if (!copies_packed_) return copy_planes(y, x, count, block);
      channels_ == 3 ? copy_packed<3>(y, x, count, block) : copy_packed<4>(y, x, count, block);
    } else if (image_.stride_x == 1) {
      blend_block<1>(y, x, count, block);
    } else if constexpr (kIsByte) {
      if (image_.stride_x == 2) blend_block<2>(y, x, count, block);
      if (image_.stride_x == 3) blend_block<3>(y, x, count, block);
      if (image_.stride_x == 4) blend_block<4>(y, x, count, block);
    } else {
      for (int i = 0; i < count; i += Simd::kLanes) store_rgb_floats(y, x, i, block);
    }
  }

  // Pixels of 3 or 4 bytes, the last byte of which may be that of the next.
  template <int kPixel>
  void copy_packed(int y, int x, int count, const Block& block) const {
    const char* const from = base();
    char* const to = reinterpret_cast<char*>(&out(y, x, 0));
    const int last = count - 1;
#pragma GCC unroll 8
    for (int i = 0; i < last; ++i) memcpy(to + i * kPixel, from + block.bytes[i], 4);
    memcpy(to + last * kPixel, from + block.bytes[last], kPixel);
  }

  void copy_planes(int y, int x, int count, const Block& block) const {
    const int64_t step = target_.stride_x;
    for (int64_t c = 0; c < channels_; ++c) {
      const char* const from = base() + channel_bytes(c);
      Out* to = &out(y, x, c);
#pragma GCC unroll 8
      for (int i = 0; i < count; ++i, to += step) {
        T value;
        memcpy(&value, from + block.bytes[i], sizeof(T));
        *to = static_cast<Out>(value);
      }
    }
  }

  // Pixels and their right neighbors, kPixel elements away.
  template <int kPixel>
  void blend_block(int y, int x, int count, const Block& block) const {
    constexpr bool kIsNarrow = kIsByte && kPixel == 1;
    uint16_t pairs[2][kBlock];
    const int64_t step = shares_load_ ? channels_ : 1;
    for (int64_t c = 0; c < channels_; c += step) {
      const char *const from = base() + channel_bytes(c), *const from_below = from + step_y();
      if (kIsNarrow) copy_pairs(from, block.bytes, count, pairs[0]);
      if (kIsNarrow) copy_pairs(from_below, block.bytes, count, pairs[1]);
      for (int i = 0; i < count; i += Simd::kLanes) {
        Int above[2], below[2], pixels{};
        if (kIsNarrow) {
          above[0] = load_words(pairs[0] + i);
          below[0] = load_words(pairs[1] + i);
        } else {
          Simd::load_8_bytes(from, block.bytes + i, above[0], above[1]);
          Simd::load_8_bytes(from_below, block.bytes + i, below[0], below[1]);
        }
        const Float a = block.a[i / Simd::kLanes], b = block.b[i / Simd::kLanes];
#pragma GCC unroll 4
        for (int k = 0; k < kPixel; ++k) {
          if (k >= step) break;
          const Float p[4] = {element(above, k), element(above, k + kPixel), element(below, k),
                              element(below, k + kPixel)};
          store(y, x + i, c + k, blend(a, b, p), pixels);
        }
      }
    }
  }

  // Pairs of bytes, which are few enough to be copied before they are read in vectors.
  static void copy_pairs(const char* from, const int* bytes, int count, uint16_t* to) {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) memcpy(to + i, from + bytes[i], 2);
  }

  static Int load_words(const uint16_t* from) {
    typedef uint16_t Words __attribute__((vector_size(2 * Simd::kLanes)));
    Words words;
    memcpy(&words, from, sizeof(words));
    return __builtin_convertvector(words, Int);
  }

  // Element k of pairs.
  static Float element(const Int (&halves)[2], int k) {
    return kIsByte ? Simd::to_float(byte_of(halves[k / 4], k % 4)) : (Float)halves[k];
  }

  // A group of which some taps may be outside. False where this class has no rule.
  bool run_group(int y, int x) const {
    const Point<Float> at = op_.transform.template fused_group<Simd>(n_, y, x);
    const Float not_a_number = (at.x - at.x) + (at.y - at.y);
    if (!Simd::all(not_a_number == 0.0f)) return false;
    Taps taps;
    bool outside = false;
    Int left, top;
    locate(at, left, top, taps.a, taps.b);
    if (!locate_mixed(taps, outside, left, top)) return false;
    Int loaded[kTaps], pixels{};
    for (int64_t c = 0; c < channels_; ++c) {
      Float result = Simd::all_lanes(fill(c));
      if (!outside) {
        if (c == 0 || !shares_load_)
          for (int k = 0; k < kTaps; ++k) loaded[k] = load_one(taps.bytes[k], c);
        result = value(taps, loaded, shares_load_ ? static_cast<int>(c) : 0, c);
      }
      store(y, x, c, result, pixels);
    }
    return true;
  }

  // `outside`: all taps of all pixels are beyond a constant border.
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
    left *= step_x();
    top *= step_y();
    taps.bytes[0] = left + top;
    if constexpr (kIsLinear) {
      right *= step_x();
      bottom *= step_y();
      taps.bytes[1] = right + top;
      taps.bytes[2] = left + bottom;
      taps.bytes[3] = right + bottom;
    }
  }

  const char* base() const { return reinterpret_cast<const char*>(image_.data); }
  int step_x() const { return static_cast<int>(image_.stride_x * sizeof(T)); }
  int step_y() const { return static_cast<int>(image_.stride_y * sizeof(T)); }
  int channel_bytes(int64_t c) const { return static_cast<int>(c * image_.stride_c * sizeof(T)); }

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
    const bool fills = op_.border == Border::kConstant;
    for (int k = 0; k < kTaps; ++k) {
      p[k] = kIsByte ? Simd::to_float(byte_of(loaded[k], byte)) : (Float)loaded[k];
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

  // Pixels of three floats. A vector holds several, each in three of four lanes.
  void store_rgb_floats(int y, int x, int first, const Block& block) const {
    constexpr int kPixels = Simd::kLanes / 4;
    constexpr int64_t kPixel = 3 * sizeof(T);
    const char *const above = base(), *const below = above + step_y();
    const Float a = block.a[first / Simd::kLanes], b = block.b[first / Simd::kLanes];
    x += first;
    float pixels[4 * Simd::kLanes];
    const Int lanes = Simd::lane_numbers(), packed = lanes + lanes / 3;
    for (int i = 0; i < Simd::kLanes; i += kPixels) {
      const int* const bytes = block.bytes + first + i;
      const Int pixel = lanes / 4 + i;
      const Float p[4] = {
          Simd::load_16_bytes(above, bytes), Simd::load_16_bytes(above + kPixel, bytes),
          Simd::load_16_bytes(below, bytes), Simd::load_16_bytes(below + kPixel, bytes)};
      const Float blended = blend(__builtin_shuffle(a, pixel), __builtin_shuffle(b, pixel), p);
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

  // Channel c of a group. Packed bytes are collected in `pixels` and stored with the last channel.
  void store(int y, int x, int64_t c, Float values, Int& pixels) const {
    if constexpr (kRounds) {
      if (packed_out_) {
        pixels |= Simd::round(values) << static_cast<int>(8 * c);
        if (c + 1 < channels_) return;
        uint8_t* const to = reinterpret_cast<uint8_t*>(&out(y, x, 0));
        return channels_ == 3 ? Simd::store_bytes_3(to, pixels) : Simd::store_bytes_4(to, pixels);
      }
    }
    store_plane(&out(y, x, c), values);
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
  bool shares_load_;            // whether the bytes of a pixel's channels are loaded together
  bool packed_out_;             // whether 3 or 4 bytes of a pixel are stored together
  bool copies_packed_ = false;  // nearest pixels of 3 or 4 bytes, as 4 bytes
  int columns_inside_ = 0, rows_inside_ = 0;  // upper left taps that Block may have
  int64_t prefetch_;
};

template <class Simd, class Op>
void vector_row(const Op& op, int64_t n, int y, int begin, int end) {
  Image<typename Op::Value> target = op.output[n];
  target.data += begin * target.stride_x;
  VectorRow<Simd, Op>(op, n, target).run(y, begin, end);
}

}  // namespace orbbec
