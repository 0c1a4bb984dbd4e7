// `edge_distances`: distances from the edges of an image of one channel, as OpenCV finds them.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "../../bridge/images.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "edge_distances";

using Plane = std::vector<int32_t>;

// A plane with a margin of zeros, or of another value, on each side.
struct Padded {
  int64_t stride, margin;
  Plane values;

  Padded(int64_t height, int64_t width, int64_t margin, int32_t value)
      : stride(width + 2 * margin), margin(margin), values((height + 2 * margin) * stride, value) {}

  int32_t* row(int64_t y) { return values.data() + (y + margin) * stride + margin; }
};

// Sums of 1, 2, 1 and differences of neighbors, with the nearest pixel beyond the border.
struct Gradients {
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
bool is_crest(const int32_t* strength, int64_t stride, int32_t across, int32_t down) {
  constexpr int64_t kTangent = 13573;  // of 22.5 degrees, times 2^15
  const int64_t x = std::abs(across), y = static_cast<int64_t>(std::abs(down)) << 15;
  const int32_t here = *strength;
  if (y < x * kTangent) return here > strength[-1] && here >= strength[1];
  if (y > x * kTangent + (x << 16)) return here > strength[-stride] && here >= strength[stride];
  const int64_t side = (across ^ down) < 0 ? -1 : 1;
  return here > strength[-stride - side] && here > strength[stride + side];
}

enum Mark : int32_t { kNone, kWeak, kEdge };

// The edges of an image by Canny: crests above `low` that are connected to one above `high`.
Padded edges_of(const Gradients& image, int32_t low, int32_t high) {
  Padded strength(image.height, image.width, 1, 0), marks(image.height, image.width, 1, kNone);
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
struct Step {
  int64_t y, x;
  int32_t length;
};
constexpr int32_t kSide = 65536, kDiagonal = 91750, kKnight = 143976;  // 1, 1.4, 2.1969
constexpr Step kSteps[] = {{-2, -1, kKnight},   {-2, 1, kKnight}, {-1, -2, kKnight},
                           {-1, -1, kDiagonal}, {-1, 0, kSide},   {-1, 1, kDiagonal},
                           {-1, 2, kKnight},    {0, -1, kSide}};

int32_t nearest(const int32_t* at, int64_t stride, int64_t sign) {
  int32_t least = *at;
  for (const Step& step : kSteps)
    least = std::min(least, at[sign * (step.y * stride + step.x)] + step.length);
  return least;
}

// The lengths of the shortest paths to edges, up to `most` pixels.
void distances_of(Padded& marks, int64_t height, int64_t width, float most, float* out) {
  constexpr int32_t kFar = 1 << 30;
  Padded lengths(height, width, 2, kFar);
  for (int64_t y = 0; y < height; ++y) {
    int32_t* const row = lengths.row(y);
    const int32_t* const mark = marks.row(y);
    for (int64_t x = 0; x < width; ++x)
      row[x] = mark[x] == kEdge ? 0 : nearest(row + x, lengths.stride, 1);
  }
  for (int64_t y = height - 1; y >= 0; --y) {
    int32_t* const row = lengths.row(y);
    for (int64_t x = width - 1; x >= 0; --x) {
      row[x] = nearest(row + x, lengths.stride, -1);
      out[y * width + x] = std::min(static_cast<float>(row[x]) * (1.0f / kSide), most);
    }
  }
}

Tensor edge_distances(Tensor image, int64_t low, int64_t high, double most) {
  check(image.is_cpu() && image.dim() == 2 && image.scalar_type() == ScalarType::Byte &&
            image.is_contiguous(),
        kOp, "expected image as contiguous uint8 [H, W] on the CPU, but got shape ",
        shape_text(image));
  check(0 <= low && low <= high && high <= 2040, kOp,
        "expected 0 <= low <= high <= 2040, but got low ", low, " and high ", high);
  check(most > 0 && most <= 1000, kOp, "expected most above 0 and up to 1000, but got ", most);
  const int64_t height = image.size(0), width = image.size(1);
  const auto* const values = static_cast<const uint8_t*>(image.const_data_ptr());
  const Tensor result = new_tensor(kOp, image.sizes(), ScalarType::Float, image);
  if (height * width == 0) return result;
  Padded marks =
      edges_of({values, height, width}, static_cast<int32_t>(low), static_cast<int32_t>(high));
  distances_of(marks, height, width, static_cast<float>(most),
               static_cast<float*>(result.mutable_data_ptr()));
  return result;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("edge_distances(Tensor image, int low, int high, float most) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("edge_distances", TORCH_BOX(&orbbec::edge_distances));
}
