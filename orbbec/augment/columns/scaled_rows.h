// Rows under transforms that scale, flip and shift but neither rotate nor shear: a column reads the
// same two source columns in every row. Each source row is blended horizontally once and kept; an
// output row is the vertical blend of two kept rows. The sampler blends in the same order, so the
// results are bit-identical. Included by augment_avx2.cpp and augment_avx512.cpp, under their
// targets.
#pragma once

#include <algorithm>
#include <vector>

#include "../scalar_rows.h"

namespace orbbec {

// A faster way to read the columns of a row of bytes, of packed RGB or of planes, which a SIMD
// level may have: see permuted_columns.h.
template <class Simd>
struct PackedColumns {
  // `offsets`: the byte of the left pixel of each column. False where the pixels are loaded one by
  // one instead.
  bool set(const int*, int, int) { return false; }
  // Blend each pixel with its right neighbor; `nbytes` follow `pixels`. Channels are `channel`
  // floats apart.
  void blend_rgb(const uint8_t*, int64_t, const float*, float*, int64_t) const {}
  void blend_plane(const uint8_t*, int64_t, const float*, float*) const {}
};

// For linear readers of bytes and floats; kept by a thread from row to row.
template <class Simd, class Reader>
class ScaledRows {
 public:
  explicit ScaledRows(const Reader& reader)
      : reader_(reader), channels_(static_cast<int>(reader.output.channels)) {}

  // For the first `width` columns of image n.
  void prepare(int64_t n, int width) {
    width_ = width;
    set_image(n);
  }

  // Whether this class can read some columns, or knows that they are the fill of the border.
  bool serves() const { return reach_.inside.begin < reach_.inside.end || has_fill_; }

  // Of `count` columns of row y, starting at `begin`, those that this class can read.
  Span columns(int y, int begin, int count) {
    const int first = std::clamp(reach_.inside.begin - begin, 0, count);
    const int last = std::clamp(reach_.inside.end - begin, first, count);
    return first < last && set_row(y) ? Span{first, last} : Span{0, 0};
  }

  // Of the same columns, those that may not be the fill of the border.
  Span reached(int y, int begin, int count) {
    if (!has_fill_) return {0, count};
    const float at = reader_.transform.fused(n_, y, 0).y;
    if (!(at >= -1 && at < static_cast<float>(image_.height))) return {0, 0};
    const int first = std::clamp(reach_.reached.begin - begin, 0, count);
    return {first, std::clamp(reach_.reached.end - begin, first, count)};
  }

  // Calls sink(c, i, values) for each channel and each group of kLanes columns starting at begin +
  // i that overlaps `span`; values outside the span are arbitrary.
  template <class Sink>
  void read(int begin, Span span, const Sink& sink) {
    span.begin = span.begin / Simd::kLanes * Simd::kLanes;
    packed_rgb_ ? read_channels<3>(begin, span, sink) : read_channels<0>(begin, span, sink);
  }

 private:
  using T = typename Reader::Value;
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  typedef unsigned Unsigned __attribute__((vector_size(4 * Simd::kLanes)));
  static constexpr bool kIsByte = sizeof(T) == 1;
  static constexpr int kLine = 64;      // bytes of a cache line
  static constexpr int kPairBytes = 8;  // bytes of a load that holds a pixel and its right neighbor
  static constexpr float kFar = 1 << 23;  // from here on, neighboring pixels are equal in float

  // What the columns of an image depend on. Frames of a clip and images of one size share them.
  struct Scale {
    float step = 0, start = 0;
    int width = 0, output_width = 0, image_width = 0, pixel = 0;
    bool clamps = false, packed_rgb = false;

    bool operator==(const Scale&) const = default;
  };

  struct Reach {
    Span inside{0, 0};      // columns that this class can read
    Span reached{0, 0};     // columns that read inside the image
    bool permutes = false;  // whether the packed columns read these
  };

  // Of a thread, for one image at a time: allocation takes as long as a few rows.
  struct Memory {
    Scale scale;
    Reach reach;
    PackedColumns<Simd> columns;
    std::vector<int> offsets;    // bytes from the start of a row to a column's left pixel
    std::vector<float> weights;  // of a column's right pixel
    std::vector<float> rows;     // two source rows
  };

  static Memory& of_thread() {
    thread_local Memory memory;
    return memory;
  }

  int64_t stride() const { return width_ + Simd::kLanes; }
  const T* source_row(int row) const { return image_.data + row * image_.stride_y; }

  void set_image(int64_t n) {
    n_ = n;
    image_ = reader_.source[n];
    row_indices_[0] = row_indices_[1] = -1;
    reach_ = {};
    has_fill_ = false;
    const float* const m = reader_.transform.matrices + n * reader_.transform.stride;
    const int64_t pixel = image_.stride_x * static_cast<int64_t>(sizeof(T));
    const bool scales = reader_.transform.is_axis_aligned(n);
    if (!scales || pixel < 1 || pixel > 4 || channels_ > kMaxFills || image_.height < 1 ||
        image_.width < 2)
      return;
    // Weight 1 gives a byte of the last column exactly; p + 1 * (q - p) of floats may round.
    clamps_ = kIsByte && reader_.border == Border::kReplicate;
    has_fill_ = reader_.border == Border::kConstant;
    packed_rgb_ = kIsByte && channels_ == 3 && pixel == 3 && image_.stride_c == 1;
    pair_shift_ = static_cast<int>(8 * pixel);
    step_ = std::clamp(round_to_int(m[4]), -image_.height, image_.height);
    if (step_ == 0) step_ = m[4] < 0 ? -1 : 1;
    end_ = source_row(image_.height - 1) + (image_.width - 1) * image_.stride_x +
           (channels_ - 1) * image_.stride_c + 1;
    set_columns(m, static_cast<int>(pixel));
  }

  void set_columns(const float* m, int pixel) {
    memory_.rows.resize(2 * channels_ * stride());
    const Scale scale{m[0],         m[2],  width_,  reader_.output.width,
                      image_.width, pixel, clamps_, packed_rgb_};
    if (!(memory_.scale == scale)) {
      memory_.scale = {};  // of no image, should memory run out
      memory_.reach = find_columns(pixel);
      memory_.scale = scale;
    }
    reach_ = memory_.reach;
  }

  // Positions are monotonic along a row, so the columns inside the image are contiguous.
  Reach find_columns(int pixel) {
    memory_.offsets.assign(stride(), 0);
    memory_.weights.assign(stride(), 0.0f);
    const int last_left = image_.width - 2;
    Reach reach;
    auto& [inside, reached, permutes] = reach;
    for (int x = 0; x < width_; ++x) {
      const float at = reader_.transform.fused(n_, 0, x).x;
      if (!(fabsf(at) < kFar)) continue;
      const int left = floor_to_int(at), nearest = std::clamp(left, 0, last_left);
      if (left >= -1 && left < image_.width) extend(reached, x);
      if (left != nearest && !clamps_) continue;
      extend(inside, x);
      memory_.offsets[x] = nearest * pixel;
      memory_.weights[x] = left < 0 ? 0 : left > last_left ? 1 : at - static_cast<float>(left);
    }
    const auto [first, last] = inside;
    if (first == last) return reach;
    std::fill_n(memory_.offsets.begin(), first, memory_.offsets[first]);
    std::fill(memory_.offsets.begin() + last, memory_.offsets.end(), memory_.offsets[last - 1]);
    permutes = kIsByte && (packed_rgb_ || pixel == 1) &&
               memory_.columns.set(memory_.offsets.data(), first, last);
    return reach;
  }

  static void extend(Span& columns, int x) {
    if (columns.begin == columns.end) columns.begin = x;
    columns.end = x + 1;
  }

  // False where the row reads outside the image.
  bool set_row(int y) {
    const float at = reader_.transform.fused(n_, y, 0).y;
    if (!(fabsf(at) < kFar)) return false;
    const int row = floor_to_int(at), last = static_cast<int>(image_.height) - 1;
    top_ = std::clamp(row, 0, last);
    bottom_ = std::clamp(row + 1, 0, last);
    weight_ = at - static_cast<float>(row);
    return clamps_ || (top_ == row && bottom_ == row + 1);
  }

  // kChannels: 3 for packed bytes, or 0 for any count and layout.
  template <int kChannels, class Sink>
  void read_channels(int begin, Span span, const Sink& sink) {
    const float* const above = cached_row<kChannels>(top_) + begin;
    const float* const below = cached_row<kChannels>(bottom_) + begin;
    const Float weight = Simd::all_lanes(weight_);
    const int channels = kChannels > 0 ? kChannels : channels_;
    const int64_t channel = stride();
    for (int i = span.begin; i < span.end; i += Simd::kLanes) {
      for (int c = 0; c < channels; ++c) {
        const Float first = Simd::load(above + c * channel + i);
        const Float second = Simd::load(below + c * channel + i);
        sink(c, i, Simd::fused_multiply_add(weight, second - first, first));
      }
    }
  }

  // The channels of a source row, `stride()` floats apart.
  template <int kChannels>
  const float* cached_row(int row) {
    const int slot = row & 1;
    float* const floats = memory_.rows.data() + slot * channels_ * stride();
    if (row_indices_[slot] == row) return floats;
    row_indices_[slot] = row;
    const T* const pixels = source_row(row);
    const int64_t last_pair =
        std::max(memory_.offsets[reach_.inside.begin], memory_.offsets[reach_.inside.end - 1]) +
        kPairBytes + (channels_ - 1) * image_.stride_c * int64_t{sizeof(T)};
    prefetch(row + step_);
    if constexpr (kIsByte) {
      if (reach_.permutes) {
        permute_row<kChannels>(pixels, floats);
        return floats;
      }
    }
    if (last_pair <= bytes_from(pixels)) {
      blend_row<kChannels, true>(pixels, floats);
    } else {
      blend_row<kChannels, false>(pixels, floats);
    }
    return floats;
  }

  template <int kChannels>
  void permute_row(const T* pixels, float* to) const {
    const int64_t nbytes = bytes_from(pixels);
    if constexpr (kChannels == 3) {
      memory_.columns.blend_rgb(pixels, nbytes, memory_.weights.data(), to, stride());
    } else {
      for (int c = 0; c < channels_; ++c) {
        const int64_t skipped = c * image_.stride_c;
        memory_.columns.blend_plane(pixels + skipped, nbytes - skipped, memory_.weights.data(),
                                    to + c * stride());
      }
    }
  }

  // Prefetches a row that is read soon: the hardware does not predict where it starts. Inlined,
  // because GCC drops a call to a function that does nothing else.
  ORBBEC_HD void prefetch(int row) const {
    if (row < 0 || row >= image_.height) return;
    const auto [begin, end] =
        std::minmax(memory_.offsets[reach_.inside.begin], memory_.offsets[reach_.inside.end - 1]);
    for (int c = 0; c < (packed_rgb_ ? 1 : channels_); ++c) {
      const auto* const pixels =
          reinterpret_cast<const char*>(source_row(row) + c * image_.stride_c);
      for (int i = begin; i < end + kLine; i += kLine) __builtin_prefetch(pixels + i);
    }
  }

  // kInside: whether each pair load ends inside the image.
  template <int kChannels, bool kInside>
  void blend_row(const T* pixels, float* to) const {
    const int channels = kChannels > 0 ? kChannels : channels_, shift = pair_shift_,
              last = reach_.inside.end;
    const int* const offsets = memory_.offsets.data();
    const float* const weights = memory_.weights.data();
    const int64_t channel = stride(), stride_c = image_.stride_c, bytes = bytes_from(pixels);
    for (int x = reach_.inside.begin; x < last; x += Simd::kLanes) {
      const Float weight = Simd::load(weights + x);
      const auto blend = [=](int c, Float left, Float right) {
        Simd::store(to + c * channel + x, Simd::fused_multiply_add(weight, right - left, left));
      };
      Int low, high;
      if constexpr (kChannels == 3) {
        load_pairs<kInside>(pixels, offsets + x, bytes, low, high);
        blend(0, byte_of(low, 0), byte_of(low, 3));
        blend(1, byte_of(low, 1), byte_of(high, 0));
        blend(2, byte_of(low, 2), byte_of(high, 1));
      } else {
        for (int c = 0; c < channels; ++c) {
          const int64_t skipped = c * stride_c;
          load_pairs<kInside>(pixels + skipped, offsets + x,
                              bytes - skipped * static_cast<int64_t>(sizeof(T)), low, high);
          blend(c, value_of(low), value_of(right_of(low, high, shift)));
        }
      }
    }
  }

  // Bytes from a pixel to the end of the image.
  int64_t bytes_from(const T* pixel) const {
    return reinterpret_cast<const char*>(end_) - reinterpret_cast<const char*>(pixel);
  }

  // The 8 bytes at each offset, clipped to `bytes`.
  template <bool kInside>
  static void load_pairs(const T* pixels, const int* offsets, int64_t bytes, Int& low, Int& high) {
    const char* const from = reinterpret_cast<const char*>(pixels);
    if constexpr (kInside) return Simd::load_8_bytes(from, offsets, low, high);
    for (int i = 0; i < Simd::kLanes; ++i) {
      int pair[2] = {0, 0};
      memcpy(pair, from + offsets[i], std::min<int64_t>(bytes - offsets[i], kPairBytes));
      low[i] = pair[0], high[i] = pair[1];
    }
  }

  static Float byte_of(Int v, int index) {
    const Int low = (Int)((Unsigned)v >> (8 * index));
    return Simd::to_float(index == 3 ? low : low & 255);
  }
  static Float value_of(Int v) {
    if constexpr (kIsByte) return byte_of(v, 0);
    if constexpr (!kIsByte) return (Float)v;
  }
  static Int right_of(Int low, Int high, int pair_shift) {
    if (pair_shift == 32) return high;
    return (Int)((Unsigned)low >> pair_shift) | high << (32 - pair_shift);
  }

  const Reader& reader_;
  int width_ = 0, channels_;
  int64_t n_ = -1;
  Image<const T> image_{};
  const T* end_ = nullptr;  // one past the image's last pixel
  Reach reach_;
  bool has_fill_ = false;    // whether other columns are filled
  bool clamps_ = false;      // whether positions outside read the nearest pixel
  bool packed_rgb_ = false;  // whether one load holds all channels of two pixels
  int step_ = 1;             // rows ahead to prefetch
  int pair_shift_ = 0;       // bits from a pixel to its right neighbor
  Memory& memory_ = of_thread();
  int row_indices_[2] = {-1, -1};  // of the rows in memory
  int top_ = 0, bottom_ = 0;       // the two source rows of the current row
  float weight_ = 0;               // of the lower row
};

}  // namespace orbbec
