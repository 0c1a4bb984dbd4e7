// Checks programs, and draws the parameters of a batch on the host. Included by binding_passes.h
// and binding_run.cpp.
#pragma once

#include "../bridge/noise.h"
#include "draw_batch.h"

namespace orbbec {

constexpr double kMaxNumber = 1e30, kMaxCount = 1 << 30;

enum class Operand : char {
  kNone,
  kNumber,
  kSide,
  kCount,
  kRegister,
  kRegisters,
  kOutputs,
  kConstants,
  kTable,
  kColors,
  kBoxes,
  kNumbers,
  kWords
};

// The operands of a rule as its text in rules.h says.
struct RuleSpec {
  const char *name, *text;
  int outputs;
  Operand operands[kOperands] = {};
  int registers[kOperands] = {};  // of a register operand

  constexpr RuleSpec(const char* name, int outputs, const char* text)
      : name(name), text(text), outputs(outputs) {
    int at = 0;
    for (const char* c = text; *c != '\0'; ++at) {
      const char* const begin = c;
      while (*c >= 'a' && *c <= 'z') ++c;
      operands[at] = operand_of(begin, c);
      registers[at] = *c >= '0' && *c <= '9' ? 0 : 1;
      for (; *c >= '0' && *c <= '9'; ++c) registers[at] = 10 * registers[at] + (*c - '0');
      if (*c == ' ') ++c;
    }
  }

  // The number of operands of a kind.
  constexpr int count(Operand kind) const {
    int found = 0;
    for (const Operand operand : operands) found += operand == kind ? 1 : 0;
    return found;
  }

 private:
  static constexpr bool same(const char* begin, const char* end, const char* name) {
    while (begin != end && *begin == *name) ++begin, ++name;
    return begin == end && *name == '\0';
  }

  static constexpr Operand operand_of(const char* begin, const char* end) {
    constexpr const char* kNames[] = {"",          "number",  "side",      "count", "register",
                                      "registers", "outputs", "constants", "table", "colors",
                                      "boxes",     "numbers", "words"};
    for (int i = 0; i < 13; ++i)
      if (same(begin, end, kNames[i])) return static_cast<Operand>(i);
    return Operand::kNone;
  }
};

constexpr RuleSpec kRules[] = {
#define ORBBEC_RULE(id, name, outputs, operands) RuleSpec(name, outputs, operands),
    ORBBEC_RULES(ORBBEC_RULE)
#undef ORBBEC_RULE
};
constexpr int kRuleCount = sizeof(kRules) / sizeof(kRules[0]);

// What a program may refer to.
struct Limits {
  int64_t rows, registers, words;
};

// Checks a row; `k` is its index.
class RowCheck {
 public:
  RowCheck(const char* op, const double* row, int64_t k, const Limits& limits)
      : op_(op), row_(row), k_(k), limits_(limits) {}

  void run() const {
    require(row_[0] >= 0 && row_[0] < kRuleCount && is_whole(row_[0]), "a known rule");
    const RuleSpec& rule = kRules[static_cast<int>(row_[0])];
    require(is_count(row_[1]) && row_[1] < 2 * kPerFrame, "a transform index from 0 to 65535");
    require(is_count(row_[2]), "a first word of at least 0");
    require(row_[3] == -1 || is_register(row_[3], 1), "the register of a condition");
    if (rule.outputs > 0) check_outputs(rule.outputs);
    for (int i = 0; i < kOperands && rule.operands[i] != Operand::kNone; ++i)
      check_operand(rule, i);
  }

 private:
  // The message is only built if a check fails.
  void require(bool condition, const char* expected) const {
    if (!condition) fail(op_, "rule ", k_, ": expected ", expected);
  }
  static bool is_whole(double x) { return x == static_cast<double>(static_cast<int64_t>(x)); }
  static bool is_count(double x) { return x >= 0 && x <= kMaxCount && is_whole(x); }
  bool is_register(double x, double count) const {
    return is_count(x) && x + count <= static_cast<double>(limits_.registers);
  }
  void check_outputs(double count) const {
    require(row_[4] >= int{kRegisters} && is_register(row_[4], count), "output registers");
  }
  void check_block(double offset, double numbers) const {
    require(is_count(offset) && offset + numbers <= static_cast<double>(limits_.words),
            "a block within the words");
  }
  void check_table(double row, double count) const {
    require(is_count(row) && count >= 1 &&
                row * kRuleNumbers + count <= static_cast<double>(limits_.rows * kRuleNumbers),
            "constants within the program");
  }

  void check_operand(const RuleSpec& rule, int i) const {
    const double x = row_[kFirstOperand + i];
    const double next = i + 1 < kOperands ? row_[kFirstOperand + i + 1] : 0;
    switch (rule.operands[i]) {
      case Operand::kNumber:
        return require(x >= -kMaxNumber && x <= kMaxNumber, "numbers up to 1e30");
      case Operand::kSide:
        return require(is_count(x) && x >= 1, "sizes from 1 to 2^30");
      case Operand::kCount:
        return require(is_count(x), "whole numbers from 0 to 2^30");
      case Operand::kRegister:
        return require(is_register(x, rule.registers[i]), "registers of the program");
      case Operand::kRegisters:
        return require(is_count(next) && is_register(x, next * registers_per_count()),
                       "registers of the program");
      case Operand::kOutputs:
        require(is_count(x) && x >= 1 && x <= kMaxOutputs, "1 to 64 outputs");
        return check_outputs(x);
      case Operand::kConstants:
        return check_table(x, kRuleNumbers);
      case Operand::kTable:
        require(is_count(next), "whole numbers from 0 to 2^30");
        return check_table(x, next);
      case Operand::kColors:
      case Operand::kBoxes:
        return check_rows(rule.operands[i] == Operand::kColors ? kStepNumbers : kBoxNumbers, x,
                          next);
      case Operand::kNumbers:
        check_block(x, 2);
        return require(is_whole(x / 2), "blocks of 8 bytes at even offsets");
      default:
        if (rule.outputs == 0) return check_block(x, next);  // of clear
        if (x == -1) return;
        check_block(x, i == 0 ? 9 : i == 4 ? 1 : 8);
        require(i % 2 == 0 || is_whole(x / 2), "blocks of 8 bytes at even offsets");
    }
  }

  double registers_per_count() const {
    return static_cast<Rule>(static_cast<int>(row_[0])) == Rule::kStepColors ? kStepNumbers : 1;
  }

  void check_rows(double numbers, double offset, double rows) const {
    require(is_count(rows) && rows >= 1, "blocks of at least 1 row");
    check_block(offset, rows * numbers);
    const Rule rule = static_cast<Rule>(static_cast<int>(row_[0]));
    const double* const p = row_ + kFirstOperand;
    if (rule == Rule::kErase) require(is_count(p[2]) && p[2] < rows, "a rectangle of its block");
    if (rule == Rule::kColor)
      require(is_count(p[2]) && p[2] < kStepCodes && is_count(p[3]) &&
                  p[3] <= kRules[static_cast<int>(rule)].count(Operand::kRegister),
              "a known color step");
  }

  const char* const op_;
  const double* const row_;
  const int64_t k_;
  const Limits& limits_;
};

// A program in a tensor, and the numbers per image that it needs.
struct ProgramCode {
  Tensor code;  // float64 [K, kRuleNumbers]
  int64_t begin = 0, end = 0, registers = 0, words = 0;
};

inline void check_code(const char* op, const Tensor& code) {
  check(code.is_cpu() && code.dim() == 2 && code.scalar_type() == ScalarType::Double &&
            code.is_contiguous() && code.size(1) == kRuleNumbers && code.size(0) <= 65536,
        op, "expected code as contiguous float64 [K, ", int{kRuleNumbers},
        "] on the CPU, K at most 65536, but got shape ", shape_text(code));
}

// Of checked code.
inline void check_rules(const char* op, const ProgramCode& program) {
  const Tensor& code = program.code;
  check(program.registers >= kRegisters && program.registers <= 1 << 24, op, "expected from ",
        int{kRegisters}, " to 2^24 registers, but got ", program.registers);
  check(program.begin >= 0 && program.begin <= program.end && program.end <= code.size(0), op,
        "expected begin and end within the program, but got ", program.begin, " and ", program.end);
  const Limits limits{code.size(0), program.registers, program.words};
  const auto* row = static_cast<const double*>(code.const_data_ptr());
  for (int64_t k = 0; k < program.end; ++k, row += kRuleNumbers) RowCheck(op, row, k, limits).run();
}

[[noreturn]] inline void fail_at(const char* op, const Fault& fault, int64_t n) {
  const Shortage& s = fault.shortage;
  if (!s.is_short)
    fail(op, "rule ", fault.rule, ": expected at most 2147483647 rows and columns, but image ", n,
         " gets ", fault.height, "x", fault.width);
  fail(op, "rule ", fault.rule, ": expected images of at least ", s.least_height, "x",
       s.least_width, ", but image ", n, " is ", s.height, "x", s.width);
}

inline void check_pixels(const char* op, int64_t n, int64_t height, int64_t width) {
  check(height >= 1 && width >= 1 && height <= kMaxSide && width <= kMaxSide, op,
        "expected images with pixels, but image ", n, " is of size [", height, ", ", width, "]");
}

// Sizes of images, int64 [N, 2].
inline Tensor checked_sizes(const char* op, const Tensor& sizes) {
  check(sizes.is_cpu() && sizes.dim() == 2 && sizes.size(1) == 2, op,
        "expected sizes of shape [N, 2] on the CPU, but got ", shape_text(sizes));
  return whole_numbers_on(op, "sizes", sizes, sizes);
}

// Rows of offset, height and width.
inline Tensor layout_of(const char* op, const Tensor& sizes) {
  const int64_t count = sizes.size(0);
  const Tensor layout = new_tensor(op, std::vector<int64_t>{count, 3}, ScalarType::Long, sizes);
  const auto* sides = static_cast<const int64_t*>(sizes.const_data_ptr());
  auto* to = static_cast<int64_t*>(layout.mutable_data_ptr());
  for (int64_t n = 0; n < count; ++n, to += 3, sides += 2) {
    check_pixels(op, n, sides[0], sides[1]);
    to[0] = 0, to[1] = sides[0], to[2] = sides[1];
  }
  return layout;
}

inline int64_t checked_frames(const char* op, int64_t frames, int64_t count) {
  check(frames >= 1 && frames <= kMaxFrames && count % frames == 0, op,
        "expected frames from 1 to ", kMaxFrames, " that divide the number of images, ", count,
        ", but got ", frames);
  return frames;
}

// Draws on the host.
inline void draw_batch(const char* op, const DrawArguments& arguments) {
  for (int64_t n = 0; n < arguments.count; ++n) {
    const Fault fault = draw_image(arguments, n);
    if (fault.rule >= 0) fail_at(op, fault, n);
  }
}

}  // namespace orbbec
