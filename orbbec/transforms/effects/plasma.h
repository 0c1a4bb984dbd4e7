// Clouds by midpoint displacement: grids of numbers, each with half the spacing of the one before.
// Included by plasma_cpu.cpp and binding_plasma.cpp.
#pragma once

#include <cstdint>

#include "../../core/common.h"

namespace orbbec {

constexpr int64_t kFirstSide = 3;   // of the first grid
constexpr int64_t kRowsOfGrid = 5;  // that each row of the next reads

// The side of the next grid.
ORBBEC_HD constexpr int64_t finer_side(int64_t side) { return 2 * side - 1; }

struct GridsOfClouds {
  int64_t side, points;  // of the last grid, and of all
};

// The grids until one has this size.
inline GridsOfClouds grids_of_clouds(int64_t height, int64_t width) {
  GridsOfClouds grids{kFirstSide, kFirstSide * kFirstSide};
  while (grids.side < height || grids.side < width) {
    grids.side = finer_side(grids.side);
    grids.points += grids.side * grids.side;
  }
  return grids;
}

struct PlasmaArguments {
  // From 0 to 1, one for each point of every grid, the coarsest first; the last grid has `height`
  // rows and `width` columns. They become noise from -1 to 1, times `roughness` more in each grid.
  const float* draws;
  int64_t height, width;
  double roughness;
  float* memory;  // [2 * side^2 + kRowsOfGrid * (side + 1)], where side is that of the last grid
  float* clouds;  // [height, width], from 0 to 1
};

}  // namespace orbbec
