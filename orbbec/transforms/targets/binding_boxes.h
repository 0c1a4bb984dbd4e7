// The arguments of the operators on boxes of targets, and their checks. Included by binding.cpp,
// binding_draw.cpp and binding_objects.cpp.
#pragma once

#include <charconv>

#include "../../bridge/warp.h"
#include "boxes.h"

namespace orbbec {

// The limits in a list, which is empty where no box is dropped.
inline BoxLimits checked_limits(const char* op, const std::vector<double>& limits) {
  check(limits.empty() || limits.size() == 3, op, "expected limits as 0 or 3 numbers, but got ",
        limits.size());
  return limits.empty() ? BoxLimits{} : BoxLimits{limits[0], limits[1], limits[2]};
}

inline BoxFormat parse_box_format(const char* op, const std::string& text) {
  static constexpr std::array<std::pair<const char*, BoxFormat>, 8> kNames{{
      {"xyxy", {4}},
      {"xywh", {4, true}},
      {"cxcywh", {4, true, true}},
      {"cxcywha", {5, true, true}},
      {"xywha", {5, true}},
      {"xyxyxyxy", {8, false, false, false, true}},
      {"xyxyn", {4, false, false, true}},
      {"cxcywhn", {4, true, true, true}},
  }};
  return parse(op, "box_format", text, kNames);
}

inline void check_counts(const char* op, const char* name, const std::vector<int64_t>& counts,
                         int64_t images, int64_t rows) {
  int64_t left = rows;
  for (const int64_t count : counts) {
    check(count >= 0 && count <= left, op, "expected counts of ", rows, " ", name);
    left -= count;
  }
  check(left == 0 && static_cast<int64_t>(counts.size()) == images, op, "expected counts of ", rows,
        " ", name, " of ", images, " images");
}

// Call `visit(row, k, n)` for box k of image n, each `numbers` long.
template <class Visit>
void for_each_box(const double* row, int64_t numbers, const std::vector<int64_t>& counts,
                  const Visit& visit) {
  for (size_t n = 0; n < counts.size(); ++n)
    for (int64_t k = 0; k < counts[n]; ++k, row += numbers) visit(row, k, n);
}

// A number as Python shows it.
inline std::string repr_of(double value) {
  char text[32];
  const double size = std::abs(value);
  const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = is_fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const std::string number(text, std::to_chars(text, std::end(text), value, format).ptr);
  return is_fixed && number.find('.') == std::string::npos ? number + ".0" : number;
}

// Refuses boxes that are not finite, or whose ends are in the wrong order. `indices` are those of
// the images, for messages; none: in order.
inline void check_boxes(const double* rows, const BoxFormat& format, const std::string& name,
                        const std::vector<int64_t>& counts,
                        const std::vector<int64_t>& indices = {}) {
  constexpr const char* kOp = "transform_targets";
  const auto index = [&](size_t n) {
    return indices.empty() ? static_cast<int64_t>(n) : indices[n];
  };
  for_each_box(rows, format.numbers, counts, [&](const double* row, int64_t k, size_t n) {
    const auto is_finite = [](double number) { return std::isfinite(number); };
    check(std::all_of(row, row + format.numbers, is_finite), kOp, "box ", k, " of image ", index(n),
          " is not finite");
  });
  if (format.has_any_ends) return;
  for_each_box(rows, format.numbers, counts, [&](const double* row, int64_t k, size_t n) {
    const double x = format.has_sides ? 0 : row[0], y = format.has_sides ? 0 : row[1];
    if (row[2] >= x && row[3] >= y) return;
    std::string numbers = repr_of(row[0]);
    for (int64_t i = 1; i < format.numbers; ++i) numbers += ", " + repr_of(row[i]);
    fail(kOp, "expected boxes ", name, " with sides of at least 0, but box ", k, " of image ",
         index(n), " is [", numbers, "]");
  });
}

}  // namespace orbbec
