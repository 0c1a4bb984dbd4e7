#include "../bridge/noise.h"
#include "draw.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "draw";
constexpr double kMostOfANumber = 1e30, kMostOfACount = 1 << 30;

enum class Operand : char {
  kNone, kNumber, kSide, kCount, kRegister, kRegisters, kOutputs, kConstants, kTable, kColors,
  kBoxes, kWords
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

 private:
  static constexpr bool same(const char* begin, const char* end, const char* name) {
    while (begin != end && *begin == *name) ++begin, ++name;
    return begin == end && *name == '\0';
  }

  static constexpr Operand operand_of(const char* begin, const char* end) {
    constexpr const char* kNames[] = {"",         "number",  "side",      "count", "register",
                                      "registers", "outputs", "constants", "table", "colors",
                                      "boxes",     "words"};
    for (int i = 0; i < 12; ++i)
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

std::string draw_rules() {
  std::ostringstream text;
  for (const RuleSpec& rule : kRules)
    text << rule.name << ':' << rule.outputs << ':' << rule.text << '\n';
  return text.str();
}

// What a program may refer to.
struct Limits {
  int64_t rows, registers, words;
};

// Checks a row; `k` is its index.
class RowCheck {
 public:
  RowCheck(const double* row, int64_t k, const Limits& limits)
      : row_(row), k_(k), limits_(limits) {}

  void run() const {
    require(row_[0] >= 0 && row_[0] < kRuleCount && is_whole(row_[0]), "a known rule");
    const RuleSpec& rule = kRules[static_cast<int>(row_[0])];
    require(is_count(row_[1]) && row_[1] <= 65535, "a transform index from 0 to 65535");
    require(is_count(row_[2]), "a first word of at least 0");
    require(row_[3] == -1 || is_register(row_[3], 1), "the register of a condition");
    if (rule.outputs > 0) check_outputs(rule.outputs);
    for (int i = 0; i < kOperands && rule.operands[i] != Operand::kNone; ++i) check_operand(rule, i);
  }

 private:
  // The message is only built if a check fails.
  void require(bool condition, const char* expected) const {
    if (!condition) fail(kOp, "expected ", expected, " in row ", k_, " of the program");
  }
  static bool is_whole(double x) { return x == static_cast<double>(static_cast<int64_t>(x)); }
  static bool is_count(double x) { return x >= 0 && x <= kMostOfACount && is_whole(x); }
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
        return require(x >= -kMostOfANumber && x <= kMostOfANumber, "numbers up to 1e30");
      case Operand::kSide:
        return require(is_count(x) && x >= 1, "sizes of at least 1");
      case Operand::kCount:
        return require(is_count(x), "whole numbers from 0 to 2^30");
      case Operand::kRegister:
        return require(is_register(x, rule.registers[i]), "registers of the program");
      case Operand::kRegisters:
        return require(is_count(next) && is_register(x, next * registers_per_count()),
                       "registers of the program");
      case Operand::kOutputs:
        require(is_count(x) && x >= 1 && x <= kMostOutputs, "1 to 64 outputs");
        return check_outputs(x);
      case Operand::kConstants:
        return check_table(x, kRuleNumbers);
      case Operand::kTable:
        require(is_count(next), "whole numbers from 0 to 2^30");
        return check_table(x, next);
      case Operand::kColors:
      case Operand::kBoxes:
        return check_rows(rule.operands[i] == Operand::kColors ? kStepNumbers : kBoxNumbers, x, next);
      default:
        if (x != -1) check_block(x, i == 0 ? 9 : 8);
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
      require(is_count(p[2]) && p[2] <= 6 && is_count(p[3]) && p[3] <= 2, "a known color step");
  }

  const double* const row_;
  const int64_t k_;
  const Limits& limits_;
};

// Arguments of `draw`, as its schema has them.
struct Call {
  Tensor code, sizes, sample_ids, state, words;
  int64_t seed = 0, epoch = 0, begin = 0, end = 0;

  explicit Call(StableIValue* stack) {
    unpack(stack, code, sizes, sample_ids, seed, epoch, begin, end, state, words);
  }
};

void check_doubles(const char* name, const Tensor& table, int64_t width) {
  check(table.is_cpu() && table.dim() == 2 && table.scalar_type() == ScalarType::Double &&
            table.is_contiguous() && (width == 0 || table.size(1) == width),
        kOp, "expected ", name, " as contiguous float64 [rows, numbers] on the CPU, but got shape ",
        shape_text(table));
}

void check_program(const Call& call, int64_t count) {
  check_doubles("code", call.code, kRuleNumbers);
  check_doubles("state", call.state, 0);
  const Limits limits{call.code.size(0), call.state.size(1),
                      count == 0 ? int64_t{1} << 40 : call.words.numel() / count};
  check(limits.rows <= 65536 && limits.registers >= kRegisters, kOp,
        "expected a program of at most 65536 rows and a state of at least ", int{kRegisters},
        " registers");
  check(call.begin >= 0 && call.begin <= call.end && call.end <= limits.rows, kOp,
        "expected begin and end within the program, but got ", call.begin, " and ", call.end);
  check(call.state.size(0) == count, kOp, "expected state of ", count, " rows");
  check(call.words.is_cpu() && call.words.dim() == 1 && call.words.is_contiguous() &&
            call.words.scalar_type() == ScalarType::Float,
        kOp, "expected words as contiguous float32 [numbers] on the CPU");
  const auto* row = static_cast<const double*>(call.code.const_data_ptr());
  for (int64_t k = 0; k < call.end; ++k, row += kRuleNumbers) RowCheck(row, k, limits).run();
}

// int64 [N, 2] of heights and widths.
Tensor checked_sizes(const Tensor& sizes) {
  check(sizes.is_cpu() && sizes.dim() == 2 && sizes.size(1) == 2, kOp,
        "expected sizes of shape [N, 2] on the CPU, but got ", shape_text(sizes));
  const Tensor table = whole_numbers_on(kOp, "sizes", sizes, sizes);
  const auto* sides = static_cast<const int64_t*>(table.const_data_ptr());
  for (int64_t i = 0; i < table.numel(); ++i)
    check(sides[i] >= 1 && sides[i] <= kMaxSide, kOp, "expected images with pixels, but image ",
          i / 2, " is of size [", sides[i / 2 * 2], ", ", sides[i / 2 * 2 + 1], "]");
  return table;
}

[[noreturn]] void fail_at(const Fault& fault, int64_t n) {
  const Shortage& s = fault.shortage;
  if (!s.is_short)
    fail(kOp, "rule ", fault.rule, ": expected at most 2147483647 rows and columns, but image ", n,
         " gets ", fault.height, "x", fault.width);
  fail(kOp, "rule ", fault.rule, ": expected images of at least ", s.least_height, "x",
       s.least_width, ", but image ", n, " is ", s.height, "x", s.width);
}

void draw(StableIValue* stack, uint64_t, uint64_t) {
  const Call call(stack);
  const Tensor sizes = checked_sizes(call.sizes);
  const int64_t count = sizes.size(0);
  check_program(call, count);
  check(call.sample_ids.is_cpu(), kOp, "expected sample_ids on the CPU");
  const Tensor samples = sample_ids_on(kOp, call.sample_ids, sizes, count);
  const RuleProgram program{static_cast<const double*>(call.code.const_data_ptr()), call.begin,
                        call.end, key_of(call.seed, call.epoch)};
  const auto* sides = static_cast<const int64_t*>(sizes.const_data_ptr());
  const auto* ids = static_cast<const int64_t*>(samples.const_data_ptr());
  auto* registers = static_cast<double*>(call.state.mutable_data_ptr());
  auto* const words = static_cast<float*>(call.words.mutable_data_ptr());
  for (int64_t n = 0; n < count; ++n, registers += call.state.size(1)) {
    if (call.begin == 0)
      Geometry(registers).begin_image(static_cast<double>(sides[2 * n]),
                                      static_cast<double>(sides[2 * n + 1]));
    Interpreter interpreter(program, registers, {words, count, n}, static_cast<uint64_t>(ids[n]));
    const Fault fault = interpreter.run();
    if (fault.rule >= 0) fail_at(fault, n);
  }
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "draw(Tensor code, Tensor sizes, Tensor sample_ids, int seed, int epoch, int begin, int end, "
      "Tensor(a!) state, Tensor(b!) words) -> ()");
  m.def("draw_rules() -> str");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) { m.impl("draw", &orbbec::draw); }
STABLE_TORCH_LIBRARY_IMPL(orbbec, CompositeExplicitAutograd, m) {
  m.impl("draw_rules", TORCH_BOX(&orbbec::draw_rules));
}
