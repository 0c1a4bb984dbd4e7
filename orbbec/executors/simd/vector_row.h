// Vectorized nearest, linear and cubic warps of uint8 and float32 images: groups of neighboring
// pixels, to pixels or to floats before rounding. Groups that it cannot handle (positions that are
// not finite or far beyond a reflected border) go to the warp's own operator(). Included by
// *_avx2.cpp and *_avx512.cpp, under their targets.
#pragma once

#include "vector_output.h"
#include "vector_samplers.h"

namespace orbbec {

template <class Simd, class Op, class Out = typename Op::Value>
class VectorRow {
 public:
  using T = typename Op::Value;
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;

  VectorRow(const Op& op, int64_t n, const Image<Out>& target)
      : op_(op),
        n_(n),
        image_(op.source[n]),
        channels_(op.output.channels),
        is_packed_(image_.stride_c == 1 && channels_ <= image_.stride_x && image_.stride_x <= 4),
        target_(target, channels_, shares_load()) {
    if (fits()) set_inside(image_.stride_x);
  }

  // Columns [begin, end) of an output row, `begin` a multiple of kRowBlock, to the target's columns
  // from 0 on.
  void run(int y, int begin, int end) {
    target_.begin_at(begin);
    const int whole = end_of_groups(begin, end);
    Block block;
    if (kStepsAlike) block.ahead = prefetch_offset(y, begin);
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
    if (begin < whole && overlaps_groups() && run_last(y, end - Simd::kLanes, block)) return;
    run_pixels(y, whole, end);
  }

 private:
  static constexpr bool kIsByte = sizeof(T) == 1;
  using Sampler = VectorSampler<Simd, typename Op::Sampler>;
  using Weights = typename Sampler::Weights;
  static constexpr int kSize = Op::Sampler::kSize;
  static constexpr bool kIsCubic = kSize == 4;
  using Target = VectorOutput<Simd, Out, kIsCubic>;
  static constexpr bool kRounds = Target::kRounds;
  // Whether the pixel below is as far for all pixels of a row, as in an affine warp.
  static constexpr bool kStepsAlike =
      requires(const Op& op) { op.transform.columns_near(0, 0, 1, 1, 1); };
  static constexpr int kPrefetchRows = 4;  // far enough ahead to hide the memory latency
  static constexpr int kBlock = 64;        // columns

  // Columns whose taps are inside the image.
  struct Block {
    int bytes[kBlock];  // from the first byte of the image to the upper left tap
    int64_t ahead;      // bytes from a tap to that of the pixel some rows below
    Float a[kBlock / Simd::kLanes], b[kBlock / Simd::kLanes];
  };

  // The taps of a group: their offsets, and whether they are inside the image.
  struct Taps {
    Int columns[kSize], rows[kSize];
    Int columns_in[kSize], rows_in[kSize];
    Weights weights;

    Int inside(int r, int q) const { return rows_in[r] & columns_in[q]; }
    Int any_inside() const {
      Int row = rows_in[0], column = columns_in[0];
      for (int i = 1; i < kSize; ++i) row |= rows_in[i];
      for (int i = 1; i < kSize; ++i) column |= columns_in[i];
      return row & column;
    }
  };

  // Whether the bytes of a pixel's channels are loaded together.
  bool shares_load() const { return kIsByte && is_packed_; }

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

  // Bytes that are loaded for a row of taps, kPixel elements apart.
  static constexpr int row_bytes(int64_t pixel) {
    if (pixel == 1) return kSize * static_cast<int>(sizeof(T));
    return kIsCubic && pixel > 2 ? 16 : 8;
  }

  // The upper left taps whose loads stay inside the rows; none in layouts without such loads.
  void set_inside(int64_t pixel) {
    rows_inside_ = image_.height - (kSize - 1);
    if (kSize == 1) {
      copies_packed_ = target_.is_packed() && pixel == channels_;
      columns_inside_ = image_.width - (shares_load() ? 1 : 0);  // 4 bytes may pass the last pixel
    } else if (pixel == 1 || (kIsByte && pixel >= 2 && pixel <= 4)) {
      const int64_t step = pixel * static_cast<int64_t>(sizeof(T));
      const int64_t row = (image_.width - 1) * step + static_cast<int64_t>(sizeof(T));
      if (row >= row_bytes(pixel))
        columns_inside_ = static_cast<int>((row - row_bytes(pixel)) / step + 1);
    } else if (kSize == 2 && !kIsByte && is_packed_ && pixel == 3 && channels_ == 3) {
      columns_inside_ = image_.width - 2;
    }
  }

  // Past the groups that start at `begin`.
  int end_of_groups(int begin, int end) const {
    if (!fits()) return begin;
    if (kIsCubic) return begin + (end - begin) / Simd::kLanes * Simd::kLanes;
    const int blocks = op_.output.width / kRowBlock * kRowBlock;
    return blocks < begin ? begin : blocks < end ? blocks : end;
  }

  // Whether columns may be written again: a transparent border reads the output.
  bool overlaps_groups() const { return kIsCubic && op_.border != Border::kTransparent; }

  bool run_last(int y, int x, Block& block) const {
    if (!locate_inside(y, x, 0, block)) return run_group(y, x);
    write_block(y, x, Simd::kLanes, block);
    return true;
  }

  void run_pixels(int y, int begin, int end) const {
    for (int x = begin; x < end; ++x) op_.write(target_.image(), n_, y, x, x - target_.begin());
  }

  // Offset from what a pixel reads to what the pixel some rows below probably reads, as far as from
  // the rows above, whose coordinates are in cache; 0 if that is far away.
  int64_t prefetch_offset(int y, int x) const {
    constexpr float kFar = 65536;
    const int above = larger(y - kPrefetchRows, 0);
    const auto from = op_.transform.fused(n_, above, x), to = op_.transform.fused(n_, y, x);
    const auto right = to.x - from.x, down = to.y - from.y;
    if (!(right > -kFar && right < kFar && down > -kFar && down < kFar)) return 0;
    return (static_cast<int>(down) * image_.stride_y + static_cast<int>(right) * image_.stride_x) *
           static_cast<int64_t>(sizeof(T));
  }

  // The upper left taps of a group, INT_MIN where a position is not finite.
  void locate(const Point<Float>& at, Int& left, Int& top, Float& a, Float& b) const {
    left = Sampler::locate(Sampler::clamp(at.x, image_.width), a);
    top = Sampler::locate(Sampler::clamp(at.y, image_.height), b);
  }

  // Adds a group to a block whose columns so far are `count`. False if a load is not inside.
  bool locate_inside(int y, int x, int count, Block& block) const {
    Int left, top;
    Float a{}, b{};
    locate(Sampler::position(op_.transform, n_, y, x), left, top, a, b);
    if (!Simd::all(is_in(left, columns_inside_) & is_in(top, rows_inside_))) return false;
    const Int first = left * step_x() + top * step_y();
    memcpy(block.bytes + count, &first, sizeof(first));
    block.a[count / Simd::kLanes] = a;
    block.b[count / Simd::kLanes] = b;
    return true;
  }

  void write_block(int y, int x, int count, Block& block) const {
    if (count == 0) return;
    if (!kStepsAlike) block.ahead = prefetch_offset(y, x);
    if constexpr (kSize == 1) {
      if (!shares_load()) return copy_planes(y, x, count, block);
      if (!copies_packed_) return copy_channels(y, x, count, block);
      channels_ == 3 ? copy_packed<3>(y, x, count, block) : copy_packed<4>(y, x, count, block);
    } else if (image_.stride_x == 1) {
      sum_block<1>(y, x, count, block);
    } else if constexpr (kIsByte) {
      if (image_.stride_x == 2) sum_block<2>(y, x, count, block);
      if (image_.stride_x == 3) sum_block<3>(y, x, count, block);
      if (image_.stride_x == 4) sum_block<4>(y, x, count, block);
    } else if constexpr (kSize == 2) {
      for (int i = 0; i < count; i += Simd::kLanes) store_rgb_floats(y, x, i, block);
    }
  }

  // Pixels of 3 or 4 bytes, the last byte of which may be that of the next.
  template <int kPixel>
  void copy_packed(int y, int x, int count, const Block& block) const {
    const char *const from = base(), *const ahead = from + block.ahead;
    char* const to = reinterpret_cast<char*>(&target_.at(y, x, 0));
    const int last = count - 1;
#pragma GCC unroll 8
    for (int i = 0; i < last; ++i) {
      __builtin_prefetch(ahead + block.bytes[i]);
      memcpy(to + i * kPixel, from + block.bytes[i], 4);
    }
    memcpy(to + last * kPixel, from + block.bytes[last], kPixel);
  }

  // Pixels of which four bytes are loaded, channel by channel.
  void copy_channels(int y, int x, int count, const Block& block) const {
    const char *const from = base(), *const ahead = from + block.ahead;
    const Target to = target_;  // a local copy, which stores cannot alias
    for (int i = 0; i < count; i += Simd::kLanes) {
      Int bytes;
      memcpy(&bytes, block.bytes + i, sizeof(bytes));
      prefetch<Simd::kLanes>(ahead, block.bytes + i);
      const Int pixels = Simd::gather(from, bytes);
      for (int64_t c = 0; c < channels_; ++c) {
        const Int values = byte_of(pixels, static_cast<int>(c));
        to.store_bytes(y, x + i, c, values);
      }
    }
  }

  void copy_planes(int y, int x, int count, const Block& block) const {
    const int64_t to_step = target_.image().stride_x;
    for (int64_t c = 0; c < channels_; ++c) {
      const char *const from = base() + channel_bytes(c), *const ahead = from + block.ahead;
      Out* const to = &target_.at(y, x, c);
      const auto copy = [&](int64_t step) {
#pragma GCC unroll 8
        for (int i = 0; i < count; ++i) {
          T value;
          __builtin_prefetch(ahead + block.bytes[i]);
          memcpy(&value, from + block.bytes[i], sizeof(T));
          to[i * step] = static_cast<Out>(value);
        }
      };
      to_step == 1 ? copy(1) : copy(to_step);
    }
  }

  // Rows of taps, kPixel elements apart.
  template <int kPixel>
  void sum_block(int y, int x, int count, const Block& block) const {
    constexpr bool kIsNarrow = kIsByte && kPixel == 1;
    const Target to = target_;  // a local copy, which stores cannot alias
    Narrow narrow[kSize][kBlock];
    const int64_t step = shares_load() ? channels_ : 1;
    for (int64_t c = 0; c < channels_; c += step) {
      const char *const from = base() + channel_bytes(c), *const ahead = from + block.ahead;
      for (int i = 0; kIsNarrow && i < count; i += Simd::kLanes) {
        prefetch<Simd::kLanes>(ahead, block.bytes + i);
        if (kSize == 2) prefetch<Simd::kLanes>(ahead + step_y(), block.bytes + i);
        for (int r = 0; r < kSize; ++r)
          copy_narrow(from + r * step_y(), block.bytes + i, narrow[r] + i);
      }
      for (int i = 0; i < count; i += Simd::kLanes) {
        if (!kIsNarrow) prefetch<Simd::kLanes>(ahead, block.bytes + i);
        if (!kIsNarrow && kSize == 2) prefetch<Simd::kLanes>(ahead + step_y(), block.bytes + i);
        const Weights weights =
            Sampler::weights_of(block.a[i / Simd::kLanes], block.b[i / Simd::kLanes]);
        Float sums[kPixel] = {};
#pragma GCC unroll 4
        for (int r = 0; r < kSize; ++r) {
          Int words[4];
          if (kIsNarrow) {
            words[0] = load_narrow(narrow[r] + i);
          } else {
            load_row<kPixel>(from + r * step_y(), block.bytes + i, words);
          }
#pragma GCC unroll 4
          for (int k = 0; k < kPixel; ++k) {
            Float pixels[kSize];
#pragma GCC unroll 4
            for (int q = 0; q < kSize; ++q) pixels[q] = element(words, k + q * kPixel);
            Sampler::add_row(weights, r, pixels, sums[k]);
          }
        }
        if constexpr (kRounds && kPixel >= 3) {
          if (to.is_packed() && channels_ == kPixel) {
            to.store_pixels(y, x + i, sums);
            continue;
          }
        }
        Int stored{};
#pragma GCC unroll 4
        for (int k = 0; k < kPixel; ++k)
          if (k < step) to.store(y, x + i, c + k, sums[k], stored);
      }
    }
  }

  template <int kCount>
  static void prefetch(const char* from, const int* bytes) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) __builtin_prefetch(from + bytes[i]);
  }

  // Two or four bytes, which are few enough to be copied before they are read in vectors.
  using Narrow = std::conditional_t<kIsCubic, int, uint16_t>;
  static void copy_narrow(const char* from, const int* bytes, Narrow* to) {
#pragma GCC unroll 16
    for (int i = 0; i < Simd::kLanes; ++i) memcpy(to + i, from + bytes[i], sizeof(Narrow));
  }

  static Int load_narrow(const Narrow* from) {
    typedef Narrow Numbers __attribute__((vector_size(sizeof(Narrow) * Simd::kLanes)));
    Numbers numbers;
    memcpy(&numbers, from, sizeof(numbers));
    return __builtin_convertvector(numbers, Int);
  }

  // row_bytes(kPixel) bytes at each offset, four in each word.
  template <int kPixel>
  static void load_row(const char* from, const int* bytes, Int (&words)[4]) {
    if constexpr (row_bytes(kPixel) <= 8) {
      Simd::load_8_bytes(from, bytes, words[0], words[1]);
    } else {
      Simd::load_16_bytes(from, bytes, words);
    }
  }

  // Element k of rows of taps.
  static Float element(const Int (&words)[4], int k) {
    return kIsByte ? Simd::to_float(byte_of(words[k / 4], k % 4)) : (Float)words[k];
  }

  // A group of which some taps may be outside. False where this class has no rule.
  bool run_group(int y, int x) const {
    const Point<Float> at = Sampler::position(op_.transform, n_, y, x);
    const Float not_a_number = (at.x - at.x) + (at.y - at.y);
    if (!Simd::all(not_a_number == 0.0f)) return false;
    Taps taps;
    bool outside = false;
    if (!locate_mixed(at, taps, outside)) return false;
    Int loaded[kSize * kSize], stored{};
    const int64_t ahead = prefetch_offset(y, x);
    int bytes[Simd::kLanes];
    const Int upper_left = taps.rows[0] + taps.columns[0];
    memcpy(bytes, &upper_left, sizeof(bytes));
    for (int64_t c = 0; c < channels_; ++c) {
      Float result = Simd::all_lanes(fill(c));
      if (!outside) {
        if (c == 0 || !shares_load()) {
          prefetch<Simd::kLanes>(base() + channel_bytes(c) + ahead, bytes);
          for (int k = 0; k < kSize * kSize; ++k)
            loaded[k] = load_one(taps.rows[k / kSize] + taps.columns[k % kSize], c);
        }
        result = value(taps, loaded, shares_load() ? static_cast<int>(c) : 0, c);
      }
      target_.store(y, x, c, result, stored);
    }
    return true;
  }

  // `outside`: all taps of all pixels are beyond a constant border.
  bool locate_mixed(const Point<Float>& at, Taps& taps, bool& outside) const {
    if (op_.border == Border::kTransparent) return false;
    Float a{}, b{};
    locate(at, taps.columns[0], taps.rows[0], a, b);
    taps.weights = Sampler::weights_of(a, b);
    for (int i = 1; i < kSize; ++i) {
      taps.columns[i] = wrapping_next(taps.columns[i - 1]);
      taps.rows[i] = wrapping_next(taps.rows[i - 1]);
    }
    for (int i = 0; i < kSize; ++i) {
      taps.columns_in[i] = is_in(taps.columns[i], image_.width);
      taps.rows_in[i] = is_in(taps.rows[i], image_.height);
    }
    if (op_.border == Border::kConstant) {
      outside = !Simd::any(taps.any_inside());
      // Floats beyond a cubic's border depend on neighboring pixels.
      if (kIsCubic && !kIsByte && !Simd::all(taps.any_inside())) return false;
      if (kIsCubic && !kRounds) outside = false;  // the weighted sum of fills
    }
    for (int i = 0; i < kSize; ++i) {
      if (!bring_inside(taps.columns[i], image_.width) ||
          !bring_inside(taps.rows[i], image_.height))
        return false;
      taps.columns[i] *= step_x();
      taps.rows[i] *= step_y();
    }
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

  // The channel in byte `byte` of the loaded numbers, or the loaded float.
  Float value(const Taps& taps, const Int (&loaded)[kSize * kSize], int byte, int64_t c) const {
    Float sum{};
    const bool fills = op_.border == Border::kConstant;
    const Float outside = Simd::all_lanes(fill(c));
    for (int r = 0; r < kSize; ++r) {
      Float pixels[kSize];
      for (int q = 0; q < kSize; ++q) {
        const Int number = loaded[r * kSize + q];
        pixels[q] = kIsByte ? Simd::to_float(byte_of(number, byte)) : (Float)number;
        if (fills) pixels[q] = taps.inside(r, q) ? pixels[q] : outside;
      }
      Sampler::add_row(taps.weights, r, pixels, sum);
    }
    if (kSize != 2 || kIsByte || !fills) return sum;
    return taps.any_inside() ? sum : outside;
  }

  static Int byte_of(Int v, int byte) { return (Int)((Unsigned)v >> (8 * byte)) & 255; }

  // Pixels of three floats. A vector holds several, each in three of four lanes.
  void store_rgb_floats(int y, int x, int first, const Block& block) const {
    constexpr int kPixels = Simd::kLanes / 4;
    constexpr int64_t kPixel = 3 * sizeof(T);
    const Float a = block.a[first / Simd::kLanes], b = block.b[first / Simd::kLanes];
    x += first;
    float pixels[4 * Simd::kLanes];
    const Int lanes = Simd::lane_numbers(), packed = lanes + lanes / 3;
    for (int i = 0; i < Simd::kLanes; i += kPixels) {
      const int* const bytes = block.bytes + first + i;
      for (int r = 0; r < 2; ++r) prefetch<kPixels>(base() + block.ahead + r * step_y(), bytes);
      const Int pixel = lanes / 4 + i;
      const Weights weights =
          Sampler::weights_of(__builtin_shuffle(a, pixel), __builtin_shuffle(b, pixel));
      Float sum{};
      for (int r = 0; r < 2; ++r) {
        const char* const from = base() + r * step_y();
        const Float p[2] = {Simd::load_16_bytes(from, bytes),
                            Simd::load_16_bytes(from + kPixel, bytes)};
        Sampler::add_row(weights, r, p, sum);
      }
      Simd::store(pixels + 3 * i, __builtin_shuffle(sum, packed));
    }
    if (target_.image().stride_x == 3 && target_.image().stride_c == 1) {
      memcpy(&target_.at(y, x, 0), pixels, 3 * Simd::kLanes * sizeof(float));
      return;
    }
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < Simd::kLanes; ++i) target_.at(y, x + i, c) = pixels[3 * i + c];
    }
  }

  const Op& op_;
  int64_t n_;
  Image<const T> image_;
  int64_t channels_;
  bool is_packed_;  // whether the channels of a pixel are neighbors
  Target target_;
  bool copies_packed_ = false;                // nearest pixels of 3 or 4 bytes, as 4 bytes
  int columns_inside_ = 0, rows_inside_ = 0;  // upper left taps that Block may have
};

template <class Simd, class Op>
void vector_row(const Op& op, int64_t n, int y, int begin, int end) {
  Image<typename Op::Value> target = op.output[n];
  target.data += begin * target.stride_x;
  VectorRow<Simd, Op>(op, n, target).run(y, begin, end);
}

}  // namespace orbbec
