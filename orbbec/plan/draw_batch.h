// Draws the parameters of a batch, an item per image, on the host or in a kernel. Included by
// binding_program.h and draw_cuda.cu.
#pragma once

#include "draw.h"

namespace orbbec {

struct DrawArguments {
  const double* rows;     // of the program
  int64_t row_count;      // constants and passes included
  int64_t begin, end;     // rules to run
  int64_t count;          // images
  int64_t height, width;  // of all images, or
  const int64_t* layout;  // [count, 3]: offset, height, width of each; null if they are alike
  const int64_t* ids;     // [count]; null: 0 to count - 1
  int64_t frames;         // images of each clip, which follow one another; 1 if there are none
  uint64_t seed;
  int64_t epoch;
  const int64_t* live_epoch;  // in memory that a CUDA graph reads; null: `epoch`
  double* registers;          // [count, register_count]; a kernel has them in shared memory
  int64_t register_count;
  float* words;  // [count * words per image]
};

// What a block has without opting in; program.py knows it, too.
constexpr int64_t kMaxSharedBytes = 48 * 1024;

// Of a program, the heads of its rules and the registers of an image.
inline int64_t shared_bytes(const DrawArguments& a) {
  static_assert(sizeof(RuleHead) <= kRuleNumbers * sizeof(double));
  return 8 * (2 * a.row_count * kRuleNumbers + a.register_count);
}

// The registers of image n before the first rule.
ORBBEC_HD void begin_image(const DrawArguments& a, int64_t n, double* registers) {
  const int64_t height = a.layout != nullptr ? a.layout[3 * n + 1] : a.height;
  const int64_t width = a.layout != nullptr ? a.layout[3 * n + 2] : a.width;
  Geometry(registers).begin_image(static_cast<double>(height), static_cast<double>(width));
}

// Of image n, with the program and the registers where they are read.
ORBBEC_HD Interpreter interpreter_of(const DrawArguments& a, int64_t n, const double* rows,
                                     double* registers) {
  const uint64_t sample = static_cast<uint64_t>(a.ids != nullptr ? a.ids[n] : n);
  const int64_t epoch = a.live_epoch != nullptr ? *a.live_epoch : a.epoch;
  const PhiloxKey key = philox_key(a.seed, static_cast<uint64_t>(epoch));
  const auto frame = uint64_t{static_cast<uint32_t>(n) % static_cast<uint32_t>(a.frames)};
  return Interpreter({rows, a.begin, a.end, key, epoch}, registers, {a.words, a.count, n}, sample,
                     frame);
}

// The parameters of image n, on the host.
inline Fault draw_image(const DrawArguments& a, int64_t n) {
  double* const registers = a.registers + n * a.register_count;
  if (a.begin == 0) {
    begin_image(a, n, registers);
  } else if (!is_side(registers[kHeight]) || !is_side(registers[kWidth])) {
    return {a.begin, {}, registers[kHeight], registers[kWidth]};
  }
  return interpreter_of(a, n, a.rows, registers).run();
}

}  // namespace orbbec
