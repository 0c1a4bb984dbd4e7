// Error messages of the bindings: `warp_affine: expected matrix of shape [8, 2, 3], but got [4, 2,
// 3]`. std::invalid_argument reaches Python as ValueError.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include "torch_api.h"

namespace orbbec {

template <class... Parts>
[[noreturn]] void fail(const char* op, const Parts&... parts) {
  std::ostringstream message;
  message << op << ": ";
  (message << ... << parts);
  throw std::invalid_argument(message.str());
}

template <class... Parts>
void check(bool condition, const char* op, const Parts&... parts) {
  if (!condition) fail(op, parts...);
}

template <class Range>
std::string shape_text(const Range& shape) {
  std::ostringstream text;
  text << '[';
  const char* separator = "";
  for (const auto& size : shape) {
    text << separator << size;
    separator = ", ";
  }
  text << ']';
  return text.str();
}

inline std::string shape_text(const Tensor& tensor) { return shape_text(tensor.sizes()); }

}  // namespace orbbec
