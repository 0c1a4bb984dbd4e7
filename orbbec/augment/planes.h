// augment of images stored as JPEG planes, converted to RGB as they are read. Included by
// planes_cpu.cpp, planes_cuda.cu and binding.cpp.
#pragma once

#include "../core/stored_image.h"
#include "augment.h"

namespace orbbec {

template <class Sampler>
struct PlanesReader {
  using Value = uint8_t;

  StoredImages stored;
  // The upright RGB images that the planes stand for. They are never materialized.
  Warp<uint8_t, PerspectiveTransform<float>, Sampler> rgb;
};

// An upright image of which the region `visible` is read.
struct UprightImage {
  StoredImage stored;
  Image<const uint8_t> visible;
  int left, top;                      // of `visible`
  int transposed, flipped, mirrored;  // not bool, so that no copy in shared memory has padding

  UprightImage() = default;

  template <class Sampler>
  ORBBEC_HD UprightImage(const PlanesReader<Sampler>& reader, int64_t n)
      : stored(reader.stored[n]), visible(reader.rgb.source[n]), left(0), top(0) {
    Images<const uint8_t> all = reader.rgb.source;
    all.regions = nullptr;
    const Image<const uint8_t> whole = all[n];
    const int64_t orientation = reader.stored.orientation(n);
    transposed = is_transposed(orientation);
    flipped = is_flipped(orientation);
    mirrored = is_mirrored(orientation);
    if (!reader.stored.has_size(n, stored, whole.height, whole.width)) {
      visible.height = visible.width = 0;
    } else if (reader.rgb.source.regions != nullptr) {
      const int64_t* const region = reader.rgb.source.regions + 4 * n;
      left = clamp_to_size(region[0], whole.width);  // as in `Images`
      top = clamp_to_size(region[1], whole.height);
    }
  }

  ORBBEC_HD Color<int> color(int y, int x) const {
    const int row = transposed ? left + x : top + y, column = transposed ? top + y : left + x;
    return stored.color(flipped ? stored.height - 1 - row : row,
                        mirrored ? stored.width - 1 - column : column);
  }
};

// The pixels that a sampler reads around a tap. Each is converted once for all three channels.
template <class Sampler>
struct Patch {
  static constexpr int kSide = kTapsOf<Sampler>;
  uint8_t pixels[kSide][kSide][3];

  template <class Tap>
  ORBBEC_HD Patch(const PlanesReader<Sampler>& reader, const UprightImage& image, const Tap& tap) {
#pragma unroll
    for (int r = 0; r < kSide; ++r) {
#pragma unroll
      for (int q = 0; q < kSide; ++q)
        set(pixels[r][q], reader, image, wrapping_add(tap.y, r), wrapping_add(tap.x, q));
    }
  }

  // Of a tap whose pixels are all inside the image.
  template <class Tap>
  ORBBEC_HD Patch(const UprightImage& image, const Tap& tap) {
#pragma unroll
    for (int r = 0; r < kSide; ++r) {
#pragma unroll
      for (int q = 0; q < kSide; ++q) set(pixels[r][q], image.color(tap.y + r, tap.x + q));
    }
  }

  ORBBEC_HD Image<const uint8_t> image() const {
    return {.data = &pixels[0][0][0],
            .height = kSide,
            .width = kSide,
            .stride_y = 3 * kSide,
            .stride_x = 3,
            .stride_c = 1};
  }

 private:
  ORBBEC_HD static void set(uint8_t (&pixel)[3], const PlanesReader<Sampler>& reader,
                            const UprightImage& image, int y, int x) {
    const Border border = reader.rgb.border;
    if (!image.visible.contains(y, x)) {
      if (outside_is_value(border)) {
        for (int c = 0; c < 3; ++c) pixel[c] = reader.rgb.fill_of(c);
        return;
      }
      y = border_index(y, image.visible.height, border);
      x = border_index(x, image.visible.width, border);
    }
    set(pixel, image.color(y, x));
  }

  ORBBEC_HD static void set(uint8_t (&pixel)[3], const Color<int>& color) {
    pixel[0] = static_cast<uint8_t>(color.red);
    pixel[1] = static_cast<uint8_t>(color.green);
    pixel[2] = static_cast<uint8_t>(color.blue);
  }
};

template <class Sampler>
ORBBEC_HD UprightImage view_of(const PlanesReader<Sampler>& reader, int64_t n) {
  return UprightImage(reader, n);
}

template <class Sampler>
ORBBEC_HD auto tap_of(const PlanesReader<Sampler>& reader, const UprightImage& image, int64_t n,
                      int y, int x) {
  return reader.rgb.locate(image.visible, n, y, x);
}

template <class Sampler, class Tap>
ORBBEC_HD void read_patch(const PlanesReader<Sampler>& reader, const Patch<Sampler>& patch, Tap tap,
                          float (&values)[kMaxFills]) {
  tap.x = tap.y = 0;
  tap.valid = true;
  for (int c = 0; c < 3; ++c) values[c] = reader.rgb.value(patch.image(), tap, c);
}

template <class Sampler, class Tap>
ORBBEC_HD void read_tap(const PlanesReader<Sampler>& reader, const UprightImage& image, Tap tap,
                        float (&values)[kMaxFills]) {
  for (int c = 0; c < kMaxFills; ++c) values[c] = c < 3 ? load(reader.rgb.fill_of(c)) : 0.0f;
  if (tap.valid) read_patch(reader, Patch<Sampler>(reader, image, tap), tap, values);
}

template <class Launch>
auto dispatch_planes(const AugmentArguments& a, const StoredImages& stored, const Launch& launch) {
  return with_sampler(a.warp.interpolation, [&](auto sampler) {
    using Sampler = decltype(sampler);
    return launch(Augment<PlanesReader<Sampler>>{
        {stored, make_warp<uint8_t, PerspectiveTransform<float>, Sampler>(a.warp)}, a});
  });
}

}  // namespace orbbec
