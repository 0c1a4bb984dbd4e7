// Noise fields with one number per (sample, channel, y, x): four neighbors of a row share a Philox
// block, whose draw number is (channel * height + y) * ceil(width / 4) + x / 4. A number depends
// neither on the batch nor on the memory layout nor on the executor. Included by mix/erase/, noise/
// and noise/philox/.
#pragma once

#include "philox.h"
#include "scalar.h"

namespace orbbec {

// kCentered: uniform from -1 to 1, in floats.
enum class Noise { kNone, kUniform, kNormal, kCentered };

struct NoiseKey {
  PhiloxKey key;
  const int64_t* samples;  // [N]; null: 0, 1, 2, ...
  uint32_t position;
  Noise kind;
};

// As a pixel: uniform over the range of integers, 0 to 1 for floats; normal as it is for floats,
// and for integers with its mean in the middle of the range and a standard deviation of a quarter
// of it.
template <class T>
ORBBEC_HD T uniform_pixel(uint32_t word) {
  if constexpr (std::is_same_v<T, uint8_t> || std::is_same_v<T, uint16_t>) {
    return static_cast<T>(word >> (32 - 8 * sizeof(T)));
  } else {
    return store<T>(uniform_of(word));
  }
}

template <class T>
ORBBEC_HD T normal_pixel(float normal) {
  if constexpr (std::is_same_v<T, uint8_t> || std::is_same_v<T, uint16_t>) {
    constexpr float kTop = std::is_same_v<T, uint8_t> ? 255 : 65535;
    return store<T>(fused_multiply_add(normal, 0.25f * kTop, 0.5f * kTop));
  } else {
    return store<T>(normal);
  }
}

template <class T>
struct PixelQuad {
  T values[4];
};

// `to` is aligned to 16 bytes. The compiler splits an ordinary store of a float4 here.
ORBBEC_HD void store_quad(float* to, const PixelQuad<float>& quad) {
#if defined(__CUDA_ARCH__)
  __stcg(reinterpret_cast<float4*>(to),
         make_float4(quad.values[0], quad.values[1], quad.values[2], quad.values[3]));
#else
  for (int i = 0; i < 4; ++i) to[i] = quad.values[i];
#endif
}

template <class T, Noise kKind>
ORBBEC_HD PixelQuad<T> pixels_of(const PhiloxBlock& block) {
  PixelQuad<T> pixels;
  for (int i = 0; i < 4; i += 2) {
    if constexpr (kKind == Noise::kNormal) {
      float a, b;
      normals_of(block.words[i], block.words[i + 1], a, b);
      pixels.values[i] = normal_pixel<T>(a);
      pixels.values[i + 1] = normal_pixel<T>(b);
    } else if constexpr (kKind == Noise::kCentered) {
      pixels.values[i] = centered_of(block.words[i]);
      pixels.values[i + 1] = centered_of(block.words[i + 1]);
    } else {
      pixels.values[i] = uniform_pixel<T>(block.words[i]);
      pixels.values[i + 1] = uniform_pixel<T>(block.words[i + 1]);
    }
  }
  return pixels;
}

ORBBEC_HD uint64_t noise_sample(const NoiseKey& noise, int64_t n) {
  return static_cast<uint64_t>(noise.samples != nullptr ? noise.samples[n] : n);
}

ORBBEC_HD PhiloxBlock noise_block(const NoiseKey& noise, int64_t n, int64_t draw) {
  const auto counter =
      philox_counter(noise_sample(noise, n), noise.position, static_cast<uint64_t>(draw));
  return philox(counter, noise.key);
}

// The block of four neighbors of a row; rows are counted through all channels of an image.
ORBBEC_HD PhiloxBlock noise_block(const NoiseKey& noise, int64_t n, int64_t row, int64_t groups,
                                  int64_t group) {
  return noise_block(noise, n, row * groups + group);
}

// put(x, pixel) for columns [first, last) of a row.
template <class T, Noise kKind, class Put>
ORBBEC_HD void for_each_noise_pixel(const NoiseKey& noise, int64_t n, int64_t row, int width,
                                    int first, int last, const Put& put) {
  const int64_t groups = (int64_t{width} + 3) / 4;
  for (int group = first / 4; group * int64_t{4} < last; ++group) {
    const PixelQuad<T> pixels = pixels_of<T, kKind>(noise_block(noise, n, row, groups, group));
    for (int i = 0; i < 4; ++i) {
      const int64_t x = group * int64_t{4} + i;
      if (x >= first && x < last) put(static_cast<int>(x), pixels.values[i]);
    }
  }
}

}  // namespace orbbec
