// Error messages of the bindings, such as `warp_affine: expected matrix of shape [8, 2, 3], but got
// [4, 2, 3]`. std::invalid_argument reaches Python as ValueError; see _library.py.
#pragma once

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>

#include "torch_api.h"

namespace orbbec {

inline thread_local std::string last_refusal;  // of this thread

template <class... Args>
[[noreturn]] void fail(const char* op, const Args&... args) {
  std::ostringstream message;
  message << op << ": ";
  (message << ... << args);
  last_refusal = message.str();
  throw std::invalid_argument(last_refusal);
}

template <class... Args>
void check(bool condition, const char* op, const Args&... args) {
  if (!condition) fail(op, args...);
}

// The operator that calls `op`, for its messages; `name` must outlive the result.
inline const char* caller_of(const char* op, const std::string& name) {
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9');
  };
  const bool begins = !name.empty() && (name[0] < '0' || name[0] > '9');
  check(begins && std::all_of(name.begin(), name.end(), is_of_name), op,
        "expected op as the name of an operator, but got '", name, "'");
  return name.c_str();
}

// A shape inside a message; formatted only if a check fails.
struct ShapeText {
  const int64_t *begin, *end;
};

inline std::ostream& operator<<(std::ostream& out, const ShapeText& shape) {
  out << '[';
  for (const int64_t* size = shape.begin; size != shape.end; ++size)
    out << (size == shape.begin ? "" : ", ") << *size;
  return out << ']';
}

// `shape` must outlive the message.
template <class Range>
ShapeText shape_text(const Range& shape) {
  return {shape.data(), shape.data() + shape.size()};
}

inline ShapeText shape_text(const Tensor& tensor) { return shape_text(tensor.sizes()); }

}  // namespace orbbec
