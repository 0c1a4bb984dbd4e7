// The part of cuda_fp16.h that orbbec's kernels use; add what a new kernel needs.
#pragma once

struct alignas(4) __half2 {
  _Float16 x, y;
};

// Differences, clamped to 0 and 1.
inline __half2 __hsub2_sat(__half2 a, __half2 b) {
  const auto sub = [](_Float16 c, _Float16 d) -> _Float16 {
    const auto difference = static_cast<_Float16>(c - d);
    return difference > 0 ? difference < 1 ? difference : _Float16{1} : _Float16{0};
  };
  return {sub(a.x, b.x), sub(a.y, b.y)};
}
