#include <algorithm>
#include <utility>

#include "../../core/scalar.h"
#include "../../executors/executor_cpu.h"
#include "plasma.h"

namespace orbbec {
namespace {

// Numbers of a grid, `stride` from row to row.
struct Numbers {
  float* first;
  int64_t height, width, stride;
};

// The smallest and the largest number, in lanes, as the order of comparisons keeps a loop from
// being vectorized.
struct Limits {
  static constexpr int kLanes = 32;
  float low[kLanes], high[kLanes];

  ORBBEC_HD Limits() {
    for (int i = 0; i < kLanes; ++i) low[i] = INFINITY, high[i] = -INFINITY;
  }
  ORBBEC_HD void add(const float* row, int64_t count) {
    int64_t x = 0;
    for (; x + kLanes <= count; x += kLanes) {
      for (int i = 0; i < kLanes; ++i) add(i, row[x + i]);
    }
    for (; x < count; ++x) add(0, row[x]);
  }
  ORBBEC_HD void merge() {
    for (int i = 1; i < kLanes; ++i) {
      low[0] = smaller(low[i], low[0]);
      high[0] = larger(high[i], high[0]);
    }
  }

 private:
  ORBBEC_HD void add(int lane, float value) {
    low[lane] = smaller(value, low[lane]);
    high[lane] = larger(value, high[lane]);
  }
};

// Shifts and scales numbers to 0 to 1, in place.
ORBBEC_HD void scale_to_1(const Numbers& grid) {
  Limits limits;
  for (int64_t y = 0; y < grid.height; ++y) limits.add(grid.first + y * grid.stride, grid.width);
  limits.merge();
  const float low = limits.low[0], range = larger(limits.high[0] - low, 1e-30f);
  for (int64_t y = 0; y < grid.height; ++y) {
    float* const row = grid.first + y * grid.stride;
    for (int64_t x = 0; x < grid.width; ++x) row[x] = (row[x] - low) / range;
  }
}

ORBBEC_HD float noise_of(float draw, float scale) { return (draw * 2 - 1) * scale; }

// The mean of four points plus noise, 0 where the mean is not above 0.
ORBBEC_HD float displaced(float sum, float noise) {
  const float mean = sum * 0.25f;
  return (mean + noise) * choose(mean > 0, 1.0f, 0.0f);
}

// From a grid to one of half its spacing, whose points are on those of the grid (corners), between
// two of them, or amid four.
struct FinerGrid {
  const float* grid;   // [side, side]
  const float* draws;  // [finer_side(side), finer_side(side)]
  float* finer;        // the same
  int64_t side;
  float scale;

  ORBBEC_HD const float* draws_of(int64_t row) const { return draws + row * finer_side(side); }
  ORBBEC_HD float* row(int64_t y) const { return finer + y * finer_side(side); }

  ORBBEC_HD void corners(int64_t y, float* __restrict to) const {
    const float* __restrict const from = grid + y * side;
    const float* __restrict const draw = draws_of(2 * y);
    const float factor = scale;
    for (int64_t i = 0; i < side; ++i) to[i] = from[i] + noise_of(draw[2 * i], factor);
  }

  // The points amid rows y and y + 1 of corners.
  ORBBEC_HD void middle(int64_t y, const float* __restrict above, const float* __restrict below,
                        float* __restrict to) const {
    const float* __restrict const draw = draws_of(2 * y + 1);
    const float factor = scale;
    for (int64_t i = 0; i < side - 1; ++i) {
      const float sum = (above[i] + below[i]) + (above[i + 1] + below[i + 1]);
      to[i] = displaced(sum, noise_of(draw[2 * i + 1], factor));
    }
  }

  // Row y of corners and the points between them.
  ORBBEC_HD void even_row(int64_t y, const float* __restrict corner, const float* __restrict above,
                          const float* __restrict below) const {
    const float* __restrict const draw = draws_of(2 * y);
    float* __restrict const to = row(2 * y);
    const float factor = scale;
    for (int64_t i = 0; i < side - 1; ++i) {
      const float sum = (corner[i] + corner[i + 1]) + (above[i] + below[i]);
      to[2 * i] = corner[i];
      to[2 * i + 1] = displaced(sum, noise_of(draw[2 * i + 1], factor));
    }
    to[2 * side - 2] = corner[side - 1];
  }

  // The points below row y of corners and those amid; `amid` has a number before its first.
  ORBBEC_HD void odd_row(int64_t y, const float* __restrict above, const float* __restrict below,
                         const float* __restrict amid) const {
    const float* __restrict const draw = draws_of(2 * y + 1);
    float* __restrict const to = row(2 * y + 1);
    const float factor = scale;
    const auto between = [=](int64_t i) {
      const float sum = (above[i] + below[i]) + (amid[i - 1] + amid[i]);
      return displaced(sum, noise_of(draw[2 * i], factor));
    };
    for (int64_t i = 0; i < side - 1; ++i) {
      to[2 * i] = between(i);
      to[2 * i + 1] = amid[i];
    }
    to[2 * side - 2] = between(side - 1);
  }
};

// `rows`: kRowsOfGrid of side + 1 zeros.
ORBBEC_HD void make_finer(const FinerGrid& g, float* rows) {
  const int64_t side = g.side, stride = side + 1;
  float *corner = rows, *next = rows + stride;
  float *above = rows + 2 * stride + 1, *amid = above + stride;
  const float* const nothing = rows + 4 * stride;
  g.corners(0, corner);
  for (int64_t y = 0; y < side - 1; ++y) {
    g.corners(y + 1, next);
    g.middle(y, corner, next, amid);
    g.even_row(y, corner, y > 0 ? above : nothing, amid);
    g.odd_row(y, corner, next, amid);
    std::swap(corner, next);
    std::swap(above, amid);
  }
  g.even_row(side - 1, corner, above, nothing);
}

}  // namespace

void plasma_cpu(const PlasmaArguments& a, int64_t last_side) {
  const Simd level = simd_level();
  const auto finer = compiled_to_avx512<make_finer>(level);
  const auto scale = compiled_to_avx512<scale_to_1>(level);
  const float* draws = a.draws;
  float *grid = a.memory, *next = grid + last_side * last_side;
  float* const rows = next + last_side * last_side;
  int64_t side = kFirstSide;
  double factor = 1;
  for (int64_t i = 0; i < side * side; ++i) grid[i] = noise_of(*draws++, 1);
  while (side < last_side) {
    const int64_t sides = finer_side(side);
    std::fill_n(rows, kRowsOfGrid * (side + 1), 0.0f);
    finer({grid, draws, next, side, static_cast<float>(factor)}, rows);
    scale({next, sides, sides, sides});
    std::swap(grid, next);
    draws += sides * sides;
    side = sides;
    factor *= a.roughness;
  }
  scale({grid, a.height, a.width, side});
  for (int64_t y = 0; y < a.height; ++y)
    std::copy_n(grid + y * side, a.width, a.clouds + y * a.width);
}

}  // namespace orbbec
