#include "gathered_bytes.h"

#include <algorithm>

#include "packed_bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define ORBBEC_PERMUTE __attribute__((target("avx512f,avx512bw,avx512vbmi")))
#endif

namespace orbbec {

#if defined(__x86_64__)
namespace {

// Bytes [begin, end) of a row from column `begin` on, at most 64; zeros beyond.
ORBBEC_PERMUTE inline __m512i bytes_of(const char* from, int begin, int end) {
  const int left = std::clamp(end - begin, 0, 64);
  return _mm512_maskz_loadu_epi8(left == 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1,
                                 from + begin);
}

// The bytes of `orders` among the 128 from column `begin` on.
ORBBEC_PERMUTE inline __m512i permuted(__m512i orders, const char* from, int begin, int end) {
  return _mm512_permutex2var_epi8(bytes_of(from, begin, end), orders,
                                  bytes_of(from, begin + 64, end));
}

}  // namespace

bool GatheredBytes::set(const int* columns, int count) {
  if (!can_permute()) return false;
  groups_.resize((count + kLanes - 1) / kLanes);
  for (Group& group : groups_) {
    group.lanes = std::min(count, kLanes);
    const auto [low, high] = std::minmax_element(columns, columns + group.lanes);
    if (*high - *low > UINT8_MAX) return false;
    group.first = *low, group.is_wide = *high - *low > INT8_MAX;
    for (int i = 0; i < group.lanes; ++i) group.orders[i] = static_cast<uint8_t>(columns[i] - *low);
    columns += group.lanes, count -= group.lanes;
  }
  return true;
}

ORBBEC_PERMUTE void GatheredBytes::copy(const char* from, int width, char* to) const {
  for (const Group& group : groups_) {
    const __m512i orders = _mm512_loadu_si512(group.orders);
    __m512i bytes = permuted(orders, from, group.first, width);
    if (group.is_wide) {
      bytes = _mm512_mask_blend_epi8(_mm512_movepi8_mask(orders), bytes,
                                     permuted(orders, from, group.first + 128, width));
    }
    if (group.lanes == kLanes) {
      _mm512_storeu_si512(to, bytes);
    } else {
      _mm512_mask_storeu_epi8(to, (uint64_t{1} << group.lanes) - 1, bytes);
    }
    to += group.lanes;
  }
}
#else
bool GatheredBytes::set(const int*, int) { return false; }
void GatheredBytes::copy(const char*, int, char*) const {}
#endif

}  // namespace orbbec
