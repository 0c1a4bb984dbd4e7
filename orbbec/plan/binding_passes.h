// The passes of a program as rows of numbers. Included by binding.cpp and binding_run.cpp.
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

enum PassKind { kAugmentPass, kResizePass, kCropPass, kOperatorPass };  // a crop pass is both

// The numbers of a pass, by index.
enum PassNumber {
  kKind,  // a PassKind
  kOut,   // its first register
  kReading,
  kBorder,
  kDtype,
  kLayout,  // channels last: 0, 1, or -1 for that of the images
  kAntialias,
  kContrast,
  kFills,            // a count, then four numbers
  kStatistics = 13,  // a count, then four means and four deviations
  kMatrixWords = 22,
  kRegionWords,
  kColorWords,
  kColorCount,
  kEraseWords,
  kEraseCount,
  kBoxWords,
  kFlipWords,
  kStaticHeight,  // of its outputs; 0 if they are drawn
  kStaticWidth,
  kPassNumbers
};

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
  kOperator = 8,  // its index in kOperators
  kDrawnWords,    // of which images it changes; -1: all
  kArguments,     // for each its words, or -1, and a number
};

template <int kSize>
constexpr int size_of(const char* const (&)[kSize]) {
  return kSize;
}

// Where the common size of the outputs of a pass is: in the pass, or in registers.
struct PassSize {
  int64_t out, height, width;

  explicit PassSize(const double* p)
      : out(static_cast<int64_t>(p[kOut])),
        height(static_cast<int64_t>(p[kStaticHeight])),
        width(static_cast<int64_t>(p[kStaticWidth])) {}
};

// A pass of `augment`.
struct AugmentRow {
  PassSize size;
  std::string interpolation, border;
  std::vector<double> fill, mean, std;
  ScalarType dtype;
  int channels_last;
  bool contrast;
  double matrix, region, colors, color_rows, erase, rectangles;

  explicit AugmentRow(const double* p)
      : size(p),
        interpolation(kReadings[static_cast<int>(p[kReading])]),
        border(kBorders[static_cast<int>(p[kBorder])]),
        fill(p + kFills + 1, p + kFills + 1 + static_cast<int>(p[kFills])),
        mean(p + kStatistics + 1, p + kStatistics + 1 + static_cast<int>(p[kStatistics])),
        std(p + kStatistics + 5, p + kStatistics + 5 + static_cast<int>(p[kStatistics])),
        dtype(kDtypes[static_cast<int>(p[kDtype])]),
        channels_last(static_cast<int>(p[kLayout])),
        contrast(p[kContrast] != 0),
        matrix(p[kMatrixWords]),
        region(p[kRegionWords]),
        colors(p[kColorWords]),
        color_rows(p[kColorCount]),
        erase(p[kEraseWords]),
        rectangles(p[kEraseCount]) {}
};

// A pass of `resized_crop`.
struct ResizeRow {
  PassSize size;
  std::string interpolation;
  bool antialias;
  double boxes, flips;

  explicit ResizeRow(const double* p)
      : size(p),
        interpolation(kReadings[static_cast<int>(p[kReading])]),
        antialias(p[kAntialias] != 0),
        boxes(p[kBoxWords]),
        flips(p[kFlipWords]) {}
};

// A pass of an operator.
struct OperatorRow {
  const RunOperator& of;
  double drawn;
  const double* arguments;

  explicit OperatorRow(const double* p)
      : of(kOperators[static_cast<int>(p[kOperator])]),
        drawn(p[kDrawnWords]),
        arguments(p + kArguments) {}
};

// Checks that the numbers of a pass stay within the program.
inline void check_pass(const char* op, const double* p, const Limits& limits) {
  const auto require = [&](bool condition) {
    check(condition, op, "expected the passes of a program, but got other numbers");
  };
  const auto is_index = [](double x, int count) {
    return x >= 0 && x < count && x == static_cast<double>(static_cast<int>(x));
  };
  require(is_index(p[kKind], 4) && is_index(p[kReading], size_of(kReadings)) &&
          is_index(p[kBorder], size_of(kBorders)) && is_index(p[kDtype], size_of(kDtypeNames)));
  require(p[kOut] >= kRegisters && p[kOut] + kPassRegisters <= limits.registers &&
          p[kOut] == static_cast<double>(static_cast<int64_t>(p[kOut])));
  require(is_index(p[kStaticHeight], 1 << 30) && is_index(p[kStaticWidth], 1 << 30) &&
          (p[kStaticHeight] > 0) == (p[kStaticWidth] > 0));
  const auto has_block = [&](double offset, double words) {
    return offset >= 0 && offset + words <= static_cast<double>(limits.words) &&
           offset == static_cast<double>(static_cast<int64_t>(offset));
  };
  const auto is_even = [](double x) { return x == 2 * std::floor(x / 2); };
  const auto has_column = [&](double x) { return x == -1 || (has_block(x, 2) && is_even(x)); };
  if (p[kKind] == kOperatorPass) {
    require(is_index(p[kOperator], kOperatorCount) && has_column(p[kDrawnWords]));
    const OperatorRow row(p);
    for (int i = 0; i < row.of.argument_count(); ++i) {
      const double words = row.arguments[2 * i], number = row.arguments[2 * i + 1];
      require(has_column(words) && (words == -1 || !row.of.is_constant(i)));
      require(number >= -kMaxNumber && number <= kMaxNumber);
    }
    return;
  }
  require(is_index(p[kLayout] + 1, 3) && is_index(p[kFills], 5) && p[kFills] >= 1 &&
          is_index(p[kStatistics], 5));
  if (p[kKind] == kAugmentPass) {
    require(has_block(p[kMatrixWords], 9));
    require(p[kRegionWords] == -1 || (has_block(p[kRegionWords], 8) && is_even(p[kRegionWords])));
  } else {
    require(has_block(p[kBoxWords], 8) && (p[kFlipWords] == -1 || has_block(p[kFlipWords], 1)));
    require(is_even(p[kBoxWords]));
  }
  if (p[kKind] == kResizePass) return;
  require(is_index(p[kColorCount], 4097) &&
          (p[kColorCount] == 0 || has_block(p[kColorWords], p[kColorCount] * kStepNumbers)));
  require(is_index(p[kEraseCount], 4097) &&
          (p[kEraseCount] == 0 || has_block(p[kEraseWords], p[kEraseCount] * kBoxNumbers)));
}

}  // namespace orbbec
