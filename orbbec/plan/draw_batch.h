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

// Of a program and the registers of an image.
inline int64_t shared_bytes(const DrawArguments& a) {
  return 8 * (a.row_count * kRuleNumbers + a.register_count);
}

// A program and the registers of an image; the first rule to run.
struct DrawMemory {
  const double* rows;
  double* registers;
  int64_t first;
};

// The parameters of image n.
ORBBEC_HD Fault draw_image(const DrawArguments& a, int64_t n, const DrawMemory& memory) {
  double* const registers = memory.registers;
  if (a.begin == 0) {
    const int64_t height = a.layout != nullptr ? a.layout[3 * n + 1] : a.height;
    const int64_t width = a.layout != nullptr ? a.layout[3 * n + 2] : a.width;
    Geometry(registers).begin_image(static_cast<double>(height), static_cast<double>(width));
  } else if (!is_side(registers[kHeight]) || !is_side(registers[kWidth])) {
    return {a.begin, {}, registers[kHeight], registers[kWidth]};
  }
  const uint64_t sample = static_cast<uint64_t>(a.ids != nullptr ? a.ids[n] : n);
  const int64_t epoch = a.live_epoch != nullptr ? *a.live_epoch : a.epoch;
  const PhiloxKey key = philox_key(a.seed, static_cast<uint64_t>(epoch));
  const RuleProgram program{memory.rows, memory.first, a.end, key, epoch};
  const auto frame = uint64_t{static_cast<uint32_t>(n) % static_cast<uint32_t>(a.frames)};
  return Interpreter(program, registers, {a.words, a.count, n}, sample, frame).run();
}

}  // namespace orbbec
