// JPEG's DCT in libjpeg's accurate integer arithmetic: 13-bit constants, 2 extra bits between the
// passes. libjpeg arranges the products like Loeffler, Ligtenberg and Moschytz; integer sums are
// the same in any arrangement. Included by jpeg.h.
//
// Source: C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms with 11
// multiplications", ICASSP 1989; ITU-T T.81, A.3.3.
#pragma once

#include "../core/ycc.h"

namespace orbbec {

constexpr int kBlockSide = 8;
constexpr int kConstantBits = 13, kKeptBits = 2;

// The factors, times 2^13.
constexpr int kC0298 = 2446, kC0390 = 3196, kC0541 = 4433, kC0765 = 6270, kC0899 = 7373,
              kC1175 = 9633, kC1501 = 12299, kC1847 = 15137, kC1961 = 16069, kC2053 = 16819,
              kC2562 = 20995, kC3072 = 25172;

template <int kBits, class V>
ORBBEC_HD V rounded_shift(const V& value) {
  return (value + (1 << (kBits - 1))) >> kBits;
}

// The odd half of either transform. Sums before a multiplication wrap at 16 bits, as in
// libjpeg-turbo's vector code; this matters for damaged files only.
template <class Columns, class V = typename Columns::V, class Sum = typename Columns::Sum>
ORBBEC_HD void odd_half(const V (&odd)[4], Sum (&result)[4]) {
  const auto sums = Columns::pair(odd[0] + odd[2], odd[1] + odd[3]);
  const Sum first = Columns::template sum<kC1175 - kC1961, kC1175>(sums);
  const Sum second = Columns::template sum<kC1175, kC1175 - kC0390>(sums);
  const auto outer = Columns::pair(odd[0], odd[3]), inner = Columns::pair(odd[1], odd[2]);
  result[0] = Columns::template sum<kC0298 - kC0899, -kC0899>(outer) + first;
  result[1] = Columns::template sum<kC2053 - kC2562, -kC2562>(inner) + second;
  result[2] = Columns::template sum<-kC2562, kC3072 - kC2562>(inner) + first;
  result[3] = Columns::template sum<-kC0899, kC1501 - kC0899>(outer) + second;
}

// Eight samples to eight frequencies. Both passes together scale by 8.
template <class Columns, bool kFirst, class V = typename Columns::V>
ORBBEC_HD void forward_pass(V (&v)[kBlockSide]) {
  constexpr int kShift = kFirst ? kConstantBits - kKeptBits : kConstantBits + kKeptBits;
  const V sum0 = v[0] + v[7], sum1 = v[1] + v[6], sum2 = v[2] + v[5], sum3 = v[3] + v[4];
  V odd[4] = {v[3] - v[4], v[2] - v[5], v[1] - v[6], v[0] - v[7]};
  const V outer = sum0 + sum3, inner = sum1 + sum2;
  if constexpr (kFirst) {
    v[0] = (outer + inner) * (1 << kKeptBits);
    v[4] = (outer - inner) * (1 << kKeptBits);
  } else {
    v[0] = rounded_shift<kKeptBits>(outer + inner);
    v[4] = rounded_shift<kKeptBits>(outer - inner);
  }
  const auto apart = Columns::pair(sum0 - sum3, sum1 - sum2);
  v[2] = rounded_shift<kShift>(Columns::template sum<kC0541 + kC0765, kC0541>(apart));
  v[6] = rounded_shift<kShift>(Columns::template sum<kC0541, kC0541 - kC1847>(apart));
  V result[4];
  odd_half<Columns>(odd, result);
  for (int i = 0; i < 4; ++i) v[7 - 2 * i] = rounded_shift<kShift>(result[i]);
}

// Eight frequencies to eight samples. The last pass removes the scale of 8.
template <class Columns, bool kFirst, class V = typename Columns::V,
          class Sum = typename Columns::Sum>
ORBBEC_HD void inverse_pass(V (&v)[kBlockSide]) {
  constexpr int kShift = kFirst ? kConstantBits - kKeptBits : kConstantBits + kKeptBits + 3;
  const auto uneven = Columns::pair(v[2], v[6]);
  const Sum even2 = Columns::template sum<kC0541, kC0541 - kC1847>(uneven);
  const Sum even3 = Columns::template sum<kC0541 + kC0765, kC0541>(uneven);
  const Sum even0 = (v[0] + v[4]) * (1 << kConstantBits),
            even1 = (v[0] - v[4]) * (1 << kConstantBits);
  const Sum even[4] = {even0 + even3, even1 + even2, even1 - even2, even0 - even3};
  const V odd[4] = {v[7], v[5], v[3], v[1]};
  Sum result[4];
  odd_half<Columns>(odd, result);
  for (int i = 0; i < 4; ++i) {
    v[i] = rounded_shift<kShift>(even[i] + result[3 - i]);
    v[7 - i] = rounded_shift<kShift>(even[i] - result[3 - i]);
  }
}

}  // namespace orbbec
