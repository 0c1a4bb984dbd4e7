// Copies bytes of rows by a table of source columns, 64 at a time. Included by gather_rows_cpu.h.
#pragma once

#include <cstdint>
#include <vector>

namespace orbbec {

// For CPUs with VBMI, and columns whose next 64 lie within 256 bytes.
class GatheredBytes {
 public:
  // False if this does not serve the CPU or the columns.
  bool set(const int* columns, int count);

  // A row: `count` bytes of the `width` from `from`.
  void copy(const char* from, int width, char* to) const;

 private:
  static constexpr int kLanes = 64;

  struct Group {
    int first;  // the lowest column
    int lanes;
    bool is_wide;            // beyond 128 bytes
    uint8_t orders[kLanes];  // columns, from the first
  };

  std::vector<Group> groups_;
};

}  // namespace orbbec
