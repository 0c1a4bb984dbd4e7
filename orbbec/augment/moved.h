// Options of an augment pass that only moves, normalizes and casts pixels, for plans in C++.
#pragma once

#include <string>
#include <vector>

namespace orbbec {

struct MovedOptions {
  const std::vector<double>&mean, &std;
  double scale;
  const std::string &interpolation, &border;
  const std::vector<double>& fill;
};

}  // namespace orbbec
