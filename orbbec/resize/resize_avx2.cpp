#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../executors/simd/avx2.h"
#include "flip_rows.h"
#include "pillow_strips.h"
#include "rows_bytes.h"

namespace orbbec {

template <class Op>
void resize_strips_avx2(const Op& op, int64_t begin, int64_t end) {
  if constexpr (std::is_same_v<typename Op::Value, uint8_t>) {
    resize_byte_strips<Avx2>(op, begin, end);
  } else {
    resize_strips<VectorRows, Op>(op, begin, end);
  }
}

#define ORBBEC_INSTANTIATE(T, ...) \
  template void resize_strips_avx2(const Resize<T, __VA_ARGS__>& op, int64_t, int64_t)
#define ORBBEC_INSTANTIATE_FLOATS(T)   \
  ORBBEC_INSTANTIATE(T, FloatTaps<T>); \
  ORBBEC_INSTANTIATE(T, AreaTaps<T>);  \
  ORBBEC_INSTANTIATE(T, PillowFloat<T>)

ORBBEC_INSTANTIATE(uint8_t, FixedLinear);
ORBBEC_INSTANTIATE(uint8_t, ExactLinear<uint8_t>);
ORBBEC_INSTANTIATE(uint8_t, FixedTaps<true>);
ORBBEC_INSTANTIATE(uint8_t, FixedTaps<false>);
ORBBEC_INSTANTIATE(uint8_t, AreaTaps<uint8_t>);
ORBBEC_INSTANTIATE(uint16_t, ExactLinear<uint16_t>);
ORBBEC_INSTANTIATE_FLOATS(uint16_t);
ORBBEC_INSTANTIATE_FLOATS(float);
ORBBEC_INSTANTIATE_FLOATS(double);

void resize_pillow_strips_avx2(const Resize<uint8_t, PillowFixed>& op, int64_t begin, int64_t end) {
  resize_pillow_strips(op, begin, end);
}

namespace {
struct Avx2Target {};
}  // namespace

void flip_rows_avx2(const AnyImages& images, int value_bytes, int64_t n, int begin, int end) {
  FlipRows<Avx2Target>::run(images, value_bytes, n, begin, end);
}

}  // namespace orbbec
#endif
