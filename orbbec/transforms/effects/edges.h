// Edges of an image of one channel and distances from them, as OpenCV has them; included by
// binding_edges.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace orbbec {

// A plane with a margin of zeros, or of another value, on each side.
struct PaddedPlane {
  int64_t stride, margin;
  std::vector<int32_t> values;

  PaddedPlane(int64_t height, int64_t width, int64_t margin, int32_t value)
      : stride(width + 2 * margin), margin(margin), values((height + 2 * margin) * stride, value) {}

  int32_t* row(int64_t y) { return values.data() + (y + margin) * stride + margin; }
};

// Sums of 1, 2, 1 and differences of neighbors, with the nearest pixel beyond the border.
struct EdgeGradients {
  const uint8_t* image;
  int64_t height, width;

  int32_t at(int64_t y, int64_t x) const {
    return image[std::clamp<int64_t>(y, 0, height - 1) * width +
                 std::clamp<int64_t>(x, 0, width - 1)];
  }

  int32_t across(int64_t y, int64_t x) const {
    return at(y - 1, x + 1) - at(y - 1, x - 1) + 2 * (at(y, x + 1) - at(y, x - 1)) +
           at(y + 1, x + 1) - at(y + 1, x - 1);
  }

  int32_t down(int64_t y, int64_t x) const {
    return at(y + 1, x - 1) - at(y - 1, x - 1) + 2 * (at(y + 1, x) - at(y - 1, x)) +
           at(y + 1, x + 1) - at(y - 1, x + 1);
  }
};

// Whether no neighbor along the gradient, rounded to 45 degrees, is stronger. Where two are equal,
// the first along the axis counts.
inline bool is_crest(const int32_t* strength, int64_t stride, int32_t across, int32_t down) {
  constexpr int64_t kTangent = 13573;  // of 22.5 degrees, times 2^15
  const int64_t x = std::abs(across), y = static_cast<int64_t>(std::abs(down)) << 15;
  const int32_t here = *strength;
  if (y < x * kTangent) return here > strength[-1] && here >= strength[1];
  if (y > x * kTangent + (x << 16)) return here > strength[-stride] && here >= strength[stride];
  const int64_t side = (across ^ down) < 0 ? -1 : 1;
  return here > strength[-stride - side] && here > strength[stride + side];
}

enum EdgeMark : int32_t { kNone, kWeak, kEdge };

// The edges of an image by Canny: crests above `low` that are connected to one above `high`.
inline PaddedPlane edges_of(const EdgeGradients& image, int32_t low, int32_t high) {
  PaddedPlane strength(image.height, image.width, 1, 0), marks(image.height, image.width, 1, kNone);
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x)
      strength.row(y)[x] = std::abs(image.across(y, x)) + std::abs(image.down(y, x));
  std::vector<int32_t*> open;
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      const int32_t* const here = strength.row(y) + x;
      if (*here <= low || !is_crest(here, strength.stride, image.across(y, x), image.down(y, x)))
        continue;
      int32_t* const mark = marks.row(y) + x;
      *mark = *here > high ? kEdge : kWeak;
      if (*mark == kEdge) open.push_back(mark);
    }
  }
  while (!open.empty()) {
    int32_t* const mark = open.back();
    open.pop_back();
    for (int64_t dy = -1; dy <= 1; ++dy) {
      for (int64_t dx = -1; dx <= 1; ++dx) {
        int32_t* const other = mark + dy * marks.stride + dx;
        if (*other != kWeak) continue;
        *other = kEdge;
        open.push_back(other);
      }
    }
  }
  return marks;
}

// Steps to neighbors that precede a pixel and their lengths, times 2^16; those after it are
// opposite.
struct PathStep {
  int64_t y, x;
  int32_t length;
};
constexpr int32_t kSide = 65536, kDiagonal = 91750, kKnight = 143976;  // 1, 1.4, 2.1969
constexpr PathStep kSteps[] = {{-2, -1, kKnight},   {-2, 1, kKnight}, {-1, -2, kKnight},
                               {-1, -1, kDiagonal}, {-1, 0, kSide},   {-1, 1, kDiagonal},
                               {-1, 2, kKnight},    {0, -1, kSide}};

inline int32_t shortest(const int32_t* at, int64_t stride, int64_t sign) {
  int32_t least = *at;
  for (const PathStep& step : kSteps)
    least = std::min(least, at[sign * (step.y * stride + step.x)] + step.length);
  return least;
}

// The lengths of the shortest paths to edges, up to `most` pixels.
inline void distances_of(PaddedPlane& marks, int64_t height, int64_t width, float most,
                         float* out) {
  constexpr int32_t kFar = 1 << 30;
  PaddedPlane lengths(height, width, 2, kFar);
  for (int64_t y = 0; y < height; ++y) {
    int32_t* const row = lengths.row(y);
    const int32_t* const mark = marks.row(y);
    for (int64_t x = 0; x < width; ++x)
      row[x] = mark[x] == kEdge ? 0 : shortest(row + x, lengths.stride, 1);
  }
  for (int64_t y = height - 1; y >= 0; --y) {
    int32_t* const row = lengths.row(y);
    for (int64_t x = width - 1; x >= 0; --x) {
      row[x] = shortest(row + x, lengths.stride, -1);
      out[y * width + x] = std::min(static_cast<float>(row[x]) * (1.0f / kSide), most);
    }
  }
}

}  // namespace orbbec
