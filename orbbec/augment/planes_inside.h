// Images stored as JPEG planes in the CUDA kernels of augment. Included by planes_cuda.cu.
#pragma once

#include "planes.h"
#include "read_inside.h"

namespace orbbec {

template <class Sampler>
ORBBEC_HD const PerspectiveTransform<float>& transform_of(const PlanesReader<Sampler>& reader) {
  return reader.rgb.transform;
}

template <class Sampler>
ORBBEC_HD PlanesReader<Sampler> with_matrix(PlanesReader<Sampler> reader, const float* matrix,
                                            int width) {
  reader.rgb = with_matrix(reader.rgb, matrix, width);
  return reader;
}

template <class Sampler>
struct ReadInside<PlanesReader<Sampler>> {
  using Reader = PlanesReader<Sampler>;
  using Tap = typename Sampler::template Tap<uint8_t>;
  static constexpr int kRegisters = 80, kColorRegisters = 80;
  using Rgb = ReadInside<decltype(Reader::rgb)>;
  static constexpr bool kIsLight = Rgb::kIsLight, kIsLinear = Rgb::kIsLinear;
  static constexpr int kPixels = 1, kNormalizedPixels = kIsLight ? 1 : 0;  // with two, they spill

  ORBBEC_HD static const Image<const uint8_t>& image_of(const UprightImage& upright) {
    return upright.visible;
  }
  ORBBEC_HD static Border border_of(const Reader& reader) { return reader.rgb.border; }

  ORBBEC_HD static int channels_of(const Reader&) { return 3; }
  ORBBEC_HD static bool are_packed(const Reader&, const UprightImage&) { return true; }

  // Two columns of an image, each of whose colors is made of four values of either chroma plane.
  class Columns {
   public:
    ORBBEC_HD static bool can_read(const UprightImage& image) {
      return image.stored.subsampling == Subsampling::k420 && image.stored.is_blended() &&
             !image.transposed;
    }
    ORBBEC_HD void prepare(const UprightImage& image, int left, int right) {
      stored_ = image.stored;
      row_step_ = image.flipped ? -1 : 1;
      first_row_ = image.flipped ? stored_.height - 1 - image.top : image.top;
      const int upright[2] = {image.left + left, image.left + right};
      for (int i = 0; i < 2; ++i) {
        luma_[i] = image.mirrored ? stored_.width - 1 - upright[i] : upright[i];
        near_[i] = luma_[i] / 2;
        far_[i] = StoredImage::next_to(luma_[i], stored_.chroma_width);
      }
    }
    ORBBEC_HD void read(int y, float (&left)[3], float (&right)[3]) const {
      const int row = first_row_ + y * row_step_;
      int chroma[2][2];
      for (int plane = 0; plane < 2; ++plane) {
        const uint8_t* const near = stored_.chroma_row(plane, row / 2);
        const uint8_t* const far =
            stored_.chroma_row(plane, StoredImage::next_to(row, stored_.chroma_height));
        for (int i = 0; i < 2; ++i) {
          chroma[i][plane] = blend_columns(blend_rows(near[near_[i]], far[near_[i]]),
                                           blend_rows(near[far_[i]], far[far_[i]]), luma_[i]);
        }
      }
      const uint8_t* const luma = stored_.luma_row(row);
      set(left, color_of<OneColumn, int>(luma[luma_[0]], chroma[0][0], chroma[0][1]));
      set(right, color_of<OneColumn, int>(luma[luma_[1]], chroma[1][0], chroma[1][1]));
    }
    ORBBEC_HD void read(const UprightImage&, int, int, float&, float&) const {}

   private:
    ORBBEC_HD static void set(float (&pixel)[3], const Color<int>& color) {
      pixel[0] = static_cast<float>(color.red);
      pixel[1] = static_cast<float>(color.green);
      pixel[2] = static_cast<float>(color.blue);
    }

    StoredImage stored_;
    int first_row_, row_step_;
    int luma_[2], near_[2], far_[2];  // columns
  };

  const UprightImage* image;
  TapsInside<kTapsOf<Sampler>> inside;

  ORBBEC_HD void prepare(const Reader&, const UprightImage& upright) {
    image = &upright;
    inside.of(upright.visible);
    if (!kIsLight) inside.rows = 0;
  }

  ORBBEC_HD static bool has_border_pixels(const Reader&, const UprightImage&) { return false; }
  ORBBEC_HD static void read_border(const Reader&, const UprightImage&, const Tap&,
                                    float (&)[kMaxFills]) {}

  ORBBEC_HD void read(const Reader& reader, const Tap& tap, float (&values)[kMaxFills]) const {
    values[3] = 0;
    if constexpr (kIsLight) read_patch(reader, Patch<Sampler>(*image, tap), tap, values);
  }
};

}  // namespace orbbec
