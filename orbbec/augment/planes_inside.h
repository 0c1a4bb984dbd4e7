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
  static constexpr int kBlocks = 2;  // with three, registers spill
  static constexpr int kNormalizedPixels = 1;
  using Rgb = ReadInside<decltype(Reader::rgb)>;
  static constexpr bool kIsLight = Rgb::kIsLight, kIsLinear = Rgb::kIsLinear;

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

  template <int kCount>
  ORBBEC_HD void read(const Reader& reader, const Tap (&taps)[kCount],
                      float (&values)[kCount][kMaxFills]) const {
    for (int p = 0; p < kCount; ++p) {
      values[p][3] = 0;
      if constexpr (kIsLight)
        read_patch(reader, Patch<Sampler>(*image, taps[p]), taps[p], values[p]);
    }
  }
};

}  // namespace orbbec
