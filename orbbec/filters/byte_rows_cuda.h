// The bytes of a tile and its margins, read into shared memory by wide loads. Included by
// separable/bytes_cuda.h and median_cuda.cu.
#pragma once

#include "../executors/cuda/bytes.h"
#include "tiles_cuda.h"

namespace orbbec {

// Rows of the shared array begin `shift` bytes before value `first` of the plane, so that loads of
// 16 bytes are aligned in both memories. If rows are aligned differently, loads are of 4 bytes.
struct ByteRows {
  static constexpr int kMaxShift = 15, kLoads = 3;  // loads in flight per thread

  Plane<const uint8_t> plane;
  int origin, shift;          // the value at byte 0, and the byte of value `first`
  int load_bytes;             // 16, or 4 of any address
  int first_load, last_load;  // such loads that lie within a row
  int first_byte, last_byte;  // that have to be there

  __device__ ByteRows(const Plane<const uint8_t>& plane, int first) : plane(plane) {
    const bool is_wide = plane.stride_y % 16 == 0;
    shift = is_wide ? static_cast<int>(reinterpret_cast<uintptr_t>(plane.data + first) & 15) : 0;
    origin = first - shift;
    load_bytes = is_wide ? 16 : 4;
  }

  // Says which bytes of a row have to be there. A load of any address reads two aligned words, up
  // to 3 bytes beyond on both sides, which have to be of the row.
  __device__ void need(int first, int last) {
    first_byte = first;
    last_byte = last;
    const int beyond = load_bytes == 16 ? 0 : 3;
    const int values = static_cast<int>(plane.values());
    first_load = origin >= beyond ? 0 : loads_of(beyond - origin + load_bytes - 1);
    const int inside = loads_of(values - beyond - origin),
              needed = loads_of(last_byte + load_bytes - 1);
    last_load = inside < needed ? inside : needed;
    if (last_load < first_load) last_load = first_load = loads_of(first_byte + load_bytes - 1);
  }

  // Rounded down, without a division.
  __device__ int loads_of(int bytes) const { return bytes >> (load_bytes == 16 ? 4 : 2); }

  // Bytes that no load reaches: before the first load, and after the last.
  __device__ int bytes_before() const {
    const int bytes = first_load * load_bytes - first_byte;
    return bytes > 0 ? bytes : 0;
  }
  __device__ int other_bytes() const {
    const int after = last_byte - last_load * load_bytes;
    return bytes_before() + (after > 0 ? after : 0);
  }
  __device__ int position_of(int other) const {
    const int before = bytes_before();
    return other < before ? first_byte + other : last_load * load_bytes + other - before;
  }

  // The columns of the other bytes, or -1.
  __device__ void find_columns(Border border, int* columns) const {
    for (int i = threadIdx.x; i < other_bytes(); i += kTileThreads) {
      columns[i] = static_cast<int>(find_value(plane, origin + position_of(i), border));
    }
  }

  // `rows` and `columns` are those that find_rows and find_columns found.
  __device__ void load(int count, const int64_t* rows, const int* columns, int pitch,
                       uint8_t* to) const {
    if (load_bytes == 16) load_rows<uint4>(count, rows, pitch, to);
    if (load_bytes == 4) load_rows<uint32_t>(count, rows, pitch, to);
    const auto other = [&](int x) {
      const int64_t column = columns[x];
      return [this, rows, column](int y) { return value_or_zero(plane.data, rows[y], column); };
    };
    copy_rows<1>(count, other_bytes(), other,
                 [&](int y, int x, uint8_t value) { to[y * pitch + position_of(x)] = value; });
  }

 private:
  template <class Loaded>
  __device__ void load_rows(int count, const int64_t* rows, int pitch, uint8_t* bytes) const {
    constexpr int kBytes = static_cast<int>(sizeof(Loaded));
    const int first = first_load, pitch_loads = pitch / kBytes;
    const auto load = [&](int x) {
      const uint8_t* const from = plane.data + origin + kBytes * (first + x);
      return [=](int y) {
        const int64_t row = rows[y];
        const Loaded value = load_from<Loaded>(from + (row < 0 ? 0 : row));
        return row < 0 ? Loaded{} : value;
      };
    };
    auto* const to = reinterpret_cast<Loaded*>(bytes) + first;
    copy_rows<kLoads>(count, last_load - first, load,
                      [&](int y, int x, const Loaded& value) { to[y * pitch_loads + x] = value; });
  }

  template <class Loaded>
  __device__ static Loaded load_from(const uint8_t* from) {
    if constexpr (sizeof(Loaded) == 16) {
      return *reinterpret_cast<const Loaded*>(from);
    } else {
      return load_word(from);
    }
  }
};

}  // namespace orbbec
