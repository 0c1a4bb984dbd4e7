#include <cstring>

#include "../core/strips_cpu.h"
#include "moves.h"

namespace orbbec {
namespace {

// `count` pixels from `x` on; side by side they are copied at once.
template <class T>
void copy_run(const Image<const T>& from, const Place& place, const Image<T>& to, int y, int x,
              int64_t channels, int count) {
  if (from.stride_c == 1 && to.stride_c == 1 && from.stride_x == channels &&
      to.stride_x == channels) {
    memcpy(&to.at(y, x, 0), &from.at(place.y, place.x, 0), sizeof(T) * channels * count);
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    const T* const source = &from.at(place.y, place.x, c);
    T* const target = &to.at(y, x, c);
    if (from.stride_x == 1 && to.stride_x == 1) {
      memcpy(target, source, sizeof(T) * count);
    } else {
      for (int64_t i = 0; i < count; ++i) target[i * to.stride_x] = source[i * from.stride_x];
    }
  }
}

template <class T, class Rule>
void move_row(const MovePixels<T, Rule>& op, int64_t n, int y) {
  const Image<T> to = op.output[n];
  for (int x = 0; x < to.width;) {
    const Place place = op.rule.place(n, y, x);
    const int end = op.rule.end(n, y, x, to.width);
    if (place.image != Partners::kNone) {
      copy_run(op.source[place.image], place, to, y, x, op.output.channels, end - x);
    } else {
      for (int64_t c = 0; c < op.output.channels; ++c) {
        T* const target = &to.at(y, 0, c);
        for (int64_t i = x; i < end; ++i) target[i * to.stride_x] = op.fill_of(c);
      }
    }
    x = end;
  }
}

}  // namespace

void move_pixels_cpu(const MoveArguments& arguments, const ParallelFor& parallel) {
  dispatch_moves(arguments, [&](const auto& op) {
    for_each_strip_cpu(op.output, 1, parallel, [&](int64_t n, int y) { move_row(op, n, y); });
    return 0;
  });
}

}  // namespace orbbec
