// Options of an augment pass that only transforms coordinates, normalizes and casts, for plans in
// C++.
#pragma once

#include <string>
#include <vector>

namespace orbbec {

struct GeometricOptions {
  const std::vector<double>&mean, &std;
  double scale;
  const std::string &interpolation, &border;
  const std::vector<double>& fill;
};

}  // namespace orbbec
