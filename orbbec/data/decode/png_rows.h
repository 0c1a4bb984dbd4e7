// The rows of a PNG: their filters, and the conversion of their samples. Included by png.cpp.
#pragma once

#include "codec.h"

namespace orbbec {

// Bytes that rows may be read beyond their ends.
constexpr int kPadding = 16;

// The bytes of a pixel of up to 8 bytes, each in a lane, by the vectors of GCC and clang.
using Lanes = int16_t __attribute__((vector_size(16)));
using Packed = uint8_t __attribute__((vector_size(16)));

inline Lanes load(const uint8_t* from) {
  using Words = uint64_t __attribute__((vector_size(16)));
  uint64_t word;
  std::memcpy(&word, from, 8);
  return (Lanes)__builtin_shufflevector((Packed)Words{word, 0}, Packed{}, 0, 16, 1, 17, 2, 18, 3,
                                        19, 4, 20, 5, 21, 6, 22, 7, 23);
}

template <int kStep>
void store(Lanes pixel, uint8_t* to) {
  using Half = uint8_t __attribute__((vector_size(8)));
  const uint64_t word = (uint64_t)__builtin_convertvector(pixel, Half);
  std::memcpy(to, &word, kStep);
}

inline Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }

inline Lanes absolute(Lanes value) { return value > -value ? value : -value; }

struct Sub {
  Lanes operator()(Lanes left, Lanes, Lanes) const { return left; }
};
struct Average {
  Lanes operator()(Lanes left, Lanes up, Lanes) const { return (left + up) >> 1; }
};
// The nearest to left + up - corner; of equally near ones the first. Each pixel waits for the one
// on its left, so what counts is the number of steps from `left` to the result.
struct Paeth {
  Lanes operator()(Lanes left, Lanes up, Lanes corner) const {
    const Lanes vertical = up - corner, horizontal = left - corner;
    const Lanes to_left = absolute(vertical), to_up = absolute(horizontal);
    const Lanes nearest = smaller(absolute(vertical + horizontal), smaller(to_left, to_up));
    return to_left == nearest ? left : to_up == nearest ? up : corner;
  }
};

template <int kStep, class Predict>
void add_predictions(uint8_t* row, const uint8_t* above, size_t bytes, const Predict& predict) {
  Lanes left{}, corner{};
  for (size_t i = 0; i < bytes; i += kStep) {
    const Lanes up = load(above + i), prediction = predict(left, up, corner);
    left = (Lanes)((Packed)load(row + i) + (Packed)prediction);  // modulo 256
    corner = up;
    store<kStep>(left, row + i);
  }
}

// Reverses the filter of a row of pixels of kStep bytes, given the row above.
template <int kStep>
#ifdef __x86_64__
__attribute__((target_clones("avx2", "default")))
#endif
void unfilter(int filter, uint8_t* row, const uint8_t* above, size_t bytes) {
  if (filter == 1) add_predictions<kStep>(row, above, bytes, Sub());
  if (filter == 2) {
    for (size_t i = 0; i < bytes; ++i) row[i] += above[i];
  }
  if (filter == 3) add_predictions<kStep>(row, above, bytes, Average());
  if (filter == 4) add_predictions<kStep>(row, above, bytes, Paeth());
}

using Unfilter = void(int filter, uint8_t* row, const uint8_t* above, size_t bytes);

// For the number of bits of a pixel.
inline Unfilter* unfilter_of(int bits) {
  switch (bits) {
    case 16:
      return unfilter<2>;
    case 24:
      return unfilter<3>;
    case 32:
      return unfilter<4>;
    case 48:
      return unfilter<6>;
    case 64:
      return unfilter<8>;
    default:
      return unfilter<1>;
  }
}

// Pixels of one sample: gray, of which 16 bits keep the upper 8, or palette indices.
template <int kBits>
struct Indexed {
  const Rgba* colors;

  Rgba operator()(const uint8_t* row, int64_t x) const {
    if constexpr (kBits >= 8) {
      return colors[row[x * (kBits / 8)]];
    } else {
      const int shift = 8 - kBits - static_cast<int>(x * kBits % 8);
      return colors[row[x * kBits / 8] >> shift & ((1 << kBits) - 1)];
    }
  }
};

// Calls `body` with the conversion of a file's samples.
template <class Body>
void with_samples(int color, int bits, const Rgba* colors, const Rgba* key, const Body& body) {
  if (color == 2) return bits == 8 ? body(Direct<3, 1>{key}) : body(Direct<3, 2>{key});
  if (color == 4) return bits == 8 ? body(Direct<2, 1>{key}) : body(Direct<2, 2>{key});
  if (color == 6) return bits == 8 ? body(Direct<4, 1>{key}) : body(Direct<4, 2>{key});
  if (bits == 1) return body(Indexed<1>{colors});
  if (bits == 2) return body(Indexed<2>{colors});
  if (bits == 4) return body(Indexed<4>{colors});
  return bits == 8 ? body(Indexed<8>{colors}) : body(Indexed<16>{colors});
}

}  // namespace orbbec
