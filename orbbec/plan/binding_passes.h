// The passes of a program as rows of numbers. Included by binding.cpp, binding_run.cpp and
// transforms/targets/binding_draw.cpp.
#pragma once

#include "../color/binding_call.h"
#include "../filters/binding_call.h"
#include "binding_program.h"

namespace orbbec {

constexpr int kPassRows = 2;  // of a program

// The numbers of the last row of a program, by index. A kernel may draw if no image can be refused
// and sizes are static.
enum ContentsNumber {
  kRuleRows,
  kRegisterCount,
  kWordCount,
  kFirstPass,  // its row
  kPassCount,
  kDrawsAnywhere,
  kContents
};

// Names that a row has the index of; plan/rules.py reads them.
constexpr const char* kReadings[] = {"nearest", "linear",  "cubic", "lanczos4", "linear_exact",
                                     "area",    "lanczos", "box",   "hamming"};
constexpr const char* kBorders[] = {"constant", "replicate", "reflect", "reflect101", "wrap"};
constexpr ScalarType kDtypes[] = {ScalarType::Byte, ScalarType::Half, ScalarType::BFloat16,
                                  ScalarType::Float};
constexpr const char* kDtypeNames[] = {"uint8", "float16", "bfloat16", "float32"};

enum PassKind { kAugmentPass, kResizePass, kCropPass, kOperatorPass };
constexpr const char* kKinds[] = {"augment", "resize", "crop", "operator"};  // a crop is both

// The numbers of a pass: id, name, how many.
#define ORBBEC_PASS_NUMBERS(X)                                                      \
  X(kKind, "kind", 1)                                                               \
  X(kOut, "out", 1) /* its first register */                                        \
  X(kReading, "reading", 1)                                                         \
  X(kBorder, "border", 1)                                                           \
  X(kDtype, "dtype", 1)                                                             \
  X(kLayout, "layout", 1) /* channels last: 0, 1, or -1 for that of the images */   \
  X(kAntialias, "antialias", 1)                                                     \
  X(kContrast, "contrast", 1)                                                       \
  X(kFillCount, "fill_count", 1)                                                    \
  X(kFill, "fill", 4)                                                               \
  X(kStatisticCount, "statistic_count", 1)                                          \
  X(kMean, "mean", 4)                                                               \
  X(kStd, "std", 4)                                                                 \
  X(kMatrixWords, "matrix_words", 1)                                                \
  X(kRegionWords, "region_words", 1)                                                \
  X(kColorWords, "color_words", 1)                                                  \
  X(kColorCount, "color_count", 1)                                                  \
  X(kEraseWords, "erase_words", 1)                                                  \
  X(kEraseCount, "erase_count", 1)                                                  \
  X(kReadsBeyond, "reads_beyond", 1) /* whether it may read outside the region */   \
  X(kHasOffset, "has_offset", 1)     /* whether the offset is added to positions */ \
  X(kStaticSize, "static_size", 2)   /* height and width; 0 if they are drawn */

enum PassNumber {
#define ORBBEC_PASS_NUMBER(id, name, count) id, id##Last = id + (count) - 1,
  ORBBEC_PASS_NUMBERS(ORBBEC_PASS_NUMBER)
#undef ORBBEC_PASS_NUMBER
      kPassNumbers
};
static_assert(kPassNumbers == kPassRows * kRuleNumbers);

// A pass of crops has their boxes and flips instead of a matrix and a region.
enum CropNumber { kBoxWords = kMatrixWords, kFlipWords = kRegionWords };

// An operator that `run` calls, and the names of its arguments: a number per image, or for all.
// With an index, `name:index` is an element of a constant.
struct RunOperator {
  const char *name, *arguments;
  Tensor (*run)(const OperatorCall&);

  constexpr int argument_count() const {
    int words = arguments[0] != '\0' ? 1 : 0;
    for (const char* c = arguments; *c != '\0'; ++c) words += *c == ' ' ? 1 : 0;
    return words;
  }
  // Whether an argument is the same for all images.
  constexpr bool is_constant(int index) const {
    const char* c = arguments;
    for (; index > 0; ++c) index -= *c == ' ' ? 1 : 0;
    while (*c != '\0' && *c != ' ' && *c != ':') ++c;
    return *c == ':';
  }
};

constexpr RunOperator kOperators[] = {
    {"gaussian_blur", "sigma kernel_size:0 kernel_size:1", run_gaussian_blur},
    {"adjust_sharpness", "sharpness_factor", run_adjust_sharpness},
    {"autocontrast", "", run_autocontrast},
    {"equalize", "", run_equalize},
};
constexpr int kOperatorCount = sizeof(kOperators) / sizeof(kOperators[0]);

// The numbers of a pass of an operator that other passes do not have.
enum OperatorNumber {
  kOperator = kFillCount,  // its index in kOperators
  kDrawnWords,             // of which images it changes; -1: all
  kArguments,              // for each its words, or -1, and a number
};

// Numbers that plan/rules.py reads by name.
struct NamedNumber {
  const char* name;
  int64_t value;
};

constexpr NamedNumber kPassLayout[] = {
#define ORBBEC_PASS_NUMBER(id, name, count) {name, id},
    ORBBEC_PASS_NUMBERS(ORBBEC_PASS_NUMBER)
#undef ORBBEC_PASS_NUMBER
        {"box_words", kBoxWords},
    {"flip_words", kFlipWords},
    {"operator", kOperator},
    {"drawn_words", kDrawnWords},
    {"arguments", kArguments},
    {"numbers", kPassNumbers}};

constexpr NamedNumber kProgramLayout[] = {{"row_numbers", kRuleNumbers},
                                          {"per_frame", kPerFrame},
                                          {"registers", kRegisters},
                                          {"height", kHeight},
                                          {"width", kWidth},
                                          {"total", kTotal},
                                          {"pass_matrix", kPassMatrix},
                                          {"pass_height", kPassHeight},
                                          {"pass_box", kPassBox},
                                          {"pass_flipped", kPassIsFlipped},
                                          {"pass_offset", kPassOffset},
                                          {"pass_color_rows", kPassColorRows},
                                          {"pass_registers", kPassRegisters}};

template <int kSize>
constexpr int size_of(const char* const (&)[kSize]) {
  return kSize;
}

// A number of a pass that says which.
constexpr int index_in(const double* p, int at) { return static_cast<int>(p[at]); }

// Numbers of a pass after their count.
inline std::vector<double> list_in(const double* p, int count, int first) {
  return {p + first, p + first + index_in(p, count)};
}

// Checks that the numbers of a pass stay within the program.
inline void check_pass(const char* op, const double* p, const Limits& limits) {
  const auto require = [&](bool condition) {
    check(condition, op, "expected the passes of a program, but got other numbers");
  };
  const auto is_index = [](double x, int count) {
    return x >= 0 && x < count && x == static_cast<double>(static_cast<int>(x));
  };
  require(is_index(p[kKind], size_of(kKinds)) && is_index(p[kReading], size_of(kReadings)) &&
          is_index(p[kBorder], size_of(kBorders)) && is_index(p[kDtype], size_of(kDtypeNames)));
  require(p[kOut] >= kRegisters && p[kOut] + kPassRegisters <= limits.registers &&
          p[kOut] == static_cast<double>(static_cast<int64_t>(p[kOut])));
  const double height = p[kStaticSize], width = p[kStaticSize + 1];
  require(is_index(height, 1 << 30) && is_index(width, 1 << 30) && (height > 0) == (width > 0));
  const auto has_block = [&](double offset, double words) {
    return offset >= 0 && offset + words <= static_cast<double>(limits.words) &&
           offset == static_cast<double>(static_cast<int64_t>(offset));
  };
  const auto is_even = [](double x) { return x == 2 * std::floor(x / 2); };
  const auto has_column = [&](double x) { return x == -1 || (has_block(x, 2) && is_even(x)); };
  if (p[kKind] == kOperatorPass) {
    require(is_index(p[kOperator], kOperatorCount) && has_column(p[kDrawnWords]));
    const RunOperator& entry = kOperators[index_in(p, kOperator)];
    for (int i = 0; i < entry.argument_count(); ++i) {
      const double words = p[kArguments + 2 * i], number = p[kArguments + 2 * i + 1];
      require(has_column(words) && (words == -1 || !entry.is_constant(i)));
      require(number >= -kMaxNumber && number <= kMaxNumber);
    }
    return;
  }
  if (p[kKind] == kAugmentPass) {
    require(has_block(p[kMatrixWords], 9));
    require(p[kRegionWords] == -1 || (has_block(p[kRegionWords], 8) && is_even(p[kRegionWords])));
  } else {
    require(has_block(p[kBoxWords], 8) && (p[kFlipWords] == -1 || has_block(p[kFlipWords], 1)));
    require(is_even(p[kBoxWords]));
  }
  if (p[kKind] == kResizePass) return;
  require(is_index(p[kLayout] + 1, 3) && is_index(p[kFillCount], 5) && p[kFillCount] >= 1 &&
          is_index(p[kStatisticCount], 5));
  require(is_index(p[kColorCount], 4097) &&
          (p[kColorCount] == 0 || has_block(p[kColorWords], p[kColorCount] * kStepNumbers)));
  require(is_index(p[kEraseCount], 4097) &&
          (p[kEraseCount] == 0 || has_block(p[kEraseWords], p[kEraseCount] * kBoxNumbers)));
}

// A program with its passes, as its last row has them.
struct WholeProgram : ProgramCode {
  const double* passes;  // rows
  int64_t pass_count;
  bool draws_anywhere;

  WholeProgram(const char* op, const Tensor& tensor) : ProgramCode{tensor} {
    check_code(op, code);
    const int64_t last = code.size(0) - 1;
    check(last >= 0, op, "expected a program of at least 1 row");
    const auto* const rows = static_cast<const double*>(code.const_data_ptr());
    const double* const contents = rows + last * kRuleNumbers;
    for (int i = 0; i < kContents; ++i)
      check(contents[i] >= 0 && contents[i] <= 1 << 24, op,
            "expected the contents of a program in its last row");
    const auto first = static_cast<int64_t>(contents[kFirstPass]);
    end = static_cast<int64_t>(contents[kRuleRows]);
    registers = static_cast<int64_t>(contents[kRegisterCount]);
    words = static_cast<int64_t>(contents[kWordCount]);
    passes = rows + first * kRuleNumbers;
    pass_count = static_cast<int64_t>(contents[kPassCount]);
    draws_anywhere = contents[kDrawsAnywhere] != 0;
    check(first >= end && pass_count >= 1 && pass_count <= 4096 &&
              first + pass_count * kPassRows <= last,
          op, "expected the rows of the passes after the rules");
    check_rules(op, *this);
    for (int64_t k = 0; k < pass_count; ++k) check_pass(op, pass(k), {last, registers, words});
  }

  const double* pass(int64_t k) const { return passes + k * kPassRows * kRuleNumbers; }
};

}  // namespace orbbec
