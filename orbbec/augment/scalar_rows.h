// Rows read by the sampler alone, for targets and samplers without a faster reader. Included by
// augment_rows.h, under its targets.
#pragma once

#include "../executors/tap_rows_cpu.h"
#include "augment.h"

namespace orbbec {

// Columns.
struct Span {
  int begin, end;
};

// Keeps nothing from row to row.
struct NoRows {
  template <class Reader>
  explicit NoRows(const Reader&) {}
  void prepare(int64_t, int) {}
  bool serves() const { return false; }
  Span columns(int, int, int) { return {0, 0}; }
  Span reached(int, int, int count) { return {0, count}; }
  template <class Sink>
  void read(int, Span, const Sink&) {}
};

// Reads a block with the sampler.
template <class Target, class Reader>
class SamplerRow {
 public:
  SamplerRow(const Reader& reader, int64_t n, const Image<float>& target)
      : reader_(reader), n_(n), target_(target) {}

  void run(int y, int begin, int end) const {
    if constexpr (std::is_same_v<typename Reader::Sampler, CubicSampler>) {
      write_taps<ScalarTaps>(reader_, target_, n_, y, begin, end);
    } else {
      for (int x = begin; x < end; ++x) reader_.write(target_, n_, y, x, x - begin);
    }
  }

 private:
  const Reader& reader_;
  int64_t n_;
  Image<float> target_;
};

}  // namespace orbbec
