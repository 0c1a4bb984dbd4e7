// Draws the parameters of one image: runs the rules of a program in order. The same code runs on
// the host and on a CUDA device. Included by binding.cpp.
#pragma once

#include "colors.h"

namespace orbbec {

// Words that kernels read, float32: blocks of [N, numbers], one after the other.
struct Words {
  float* begin;
  int64_t count, n;  // images; this image

  // The numbers of this image in a block that begins after `offset` words per image.
  ORBBEC_HD float* at(double offset, int64_t numbers) const {
    return begin + static_cast<int64_t>(offset) * count + n * numbers;
  }
};

struct RuleProgram {
  const double* rows;  // [K, kRuleNumbers]: rules, then constants
  int64_t begin, end;  // rules to run
  PhiloxKey key;
  int64_t epoch;
};

// An image that a rule does not take; `rule` is -1 where there is none.
struct Fault {
  int64_t rule = -1;
  Shortage shortage;  // all zero: the output is too large
  double height = 0, width = 0;
};

ORBBEC_HD bool is_side(double pixels) { return pixels >= 1 && pixels <= 2147483647; }

// The sample that a frame of a clip draws as, where frames do not share what they draw.
ORBBEC_HD uint64_t frame_sample(uint64_t clip, uint64_t frame) { return clip ^ frame << 48; }

// Numbers `first`, `first + step` ... of a block become 0.
ORBBEC_HD void clear(const double* operands, const Words& words, int first, int step) {
  const auto numbers = static_cast<int64_t>(operands[1]);
  float* const to = words.at(operands[0], numbers);
  ORBBEC_ROLLED
  for (int64_t i = first; i < numbers; i += step) to[i] = 0;
}

// What a rule's row says in whole numbers, and its random words. Independent of other rules.
struct RuleHead {
  Rule rule;
  int condition;   // registers, or -1
  int64_t output;  // not of 32 bits, so that there is no padding
  PhiloxStream stream;
};

// Runs rules on one image.
class Interpreter {
 public:
  ORBBEC_HD Interpreter(const RuleProgram& program, double* registers, const Words& words,
                        uint64_t sample, uint64_t frame)
      : program_(program),
        r_(registers),
        geometry_(registers),
        words_(words),
        sample_(sample),
        frame_(frame) {}

  ORBBEC_HD RuleHead head_of(int64_t k) const {
    const double* const row = row_of(k);
    const auto transform = static_cast<uint32_t>(row[1]);
    const uint64_t sample = transform < kPerFrame ? sample_ : frame_sample(sample_, frame_);
    PhiloxStream stream(program_.key, sample, transform % kPerFrame);
    stream.skip(static_cast<uint64_t>(row[2]));
    return {static_cast<Rule>(static_cast<int>(row[0])), static_cast<int>(row[3]),
            static_cast<int>(row[4]), stream};
  }

  ORBBEC_HD Fault run() {
    for (int64_t k = program_.begin; k < program_.end; ++k) {
      const Fault fault = run_rule(k, head_of(k));
      if (fault.rule >= 0) return fault;
    }
    return {};
  }

  ORBBEC_HD Fault run_rule(int64_t k, const RuleHead& head) {
    const bool is_warp = is_geometry(head.rule);
    if (head.condition >= 0 && r_[head.condition] == 0) {
      if (is_warp) geometry_.pass_over();
      return {};
    }
    const Shortage shortage = apply(head, row_of(k) + kFirstOperand);
    if (!is_warp) return {};  // the others do not change the size
    if (shortage.is_short || !is_side(geometry_.height()) || !is_side(geometry_.width()))
      return {k, shortage, geometry_.height(), geometry_.width()};
    return {};
  }

 private:
  ORBBEC_HD static bool is_geometry(Rule rule) {
    return rule >= Rule::kResize && rule <= Rule::kStepWarp;
  }

  // Of rules before kResize.
  ORBBEC_HD static bool draws(Rule rule) {
    constexpr Rule kDrawing[] = {Rule::kUniform,     Rule::kWhole,  Rule::kChance, Rule::kChoice,
                                 Rule::kPermutation, Rule::kOrder,  Rule::kArea,   Rule::kBeta,
                                 Rule::kDirichlet,   Rule::kNormal, Rule::kHole,   Rule::kCell,
                                 Rule::kCut};
    uint64_t mask = 0;
    for (const Rule drawing : kDrawing) mask |= uint64_t{1} << static_cast<int>(drawing);
    return (mask >> static_cast<int>(rule) & 1) != 0;
  }

  ORBBEC_HD Shortage apply(const RuleHead& head, const double* p) {
    const Rule rule = head.rule;
    if (rule == Rule::kClear) {
      clear(p, words_, 0, 1);
    } else if (rule < Rule::kResize) {
      draw_number(head, p);
    } else if (is_geometry(rule)) {
      return move(head, p);
    } else if (rule < Rule::kErase) {
      color(rule, p);
    } else if (rule == Rule::kErase) {
      erase(p);
    } else if (rule == Rule::kColumn) {
      *reinterpret_cast<double*>(words_.at(p[0], 2)) = number(p[1]);
    } else {
      end_pass(r_ + head.output, p);
    }
    return {};
  }

  ORBBEC_HD const double* row_of(int64_t k) const { return program_.rows + k * kRuleNumbers; }
  ORBBEC_HD double number(double index) const { return r_[static_cast<int>(index)]; }
  ORBBEC_HD const double* numbers(double index) const { return r_ + static_cast<int>(index); }
  ORBBEC_HD const double* constants(double row) const { return row_of(static_cast<int64_t>(row)); }
  ORBBEC_HD static NearestOffset nearest_of(double number) {
    return static_cast<NearestOffset>(static_cast<int>(number));
  }

  ORBBEC_HD void draw_number(const RuleHead& head, const double* p) {
    double* const out = r_ + head.output;
    if (!draws(head.rule)) return compute(head.rule, p, out);
    PhiloxStream stream = head.stream;
    switch (head.rule) {
      case Rule::kUniform:
        *out = p[0] + double{stream.uniform()} * (p[1] - p[0]);
        return;
      case Rule::kWhole:
        *out = p[0] + draw_below(stream, p[1]) * p[2];
        return;
      case Rule::kChance:
        *out = double{stream.uniform()} < p[0] ? 1 : 0;
        return;
      case Rule::kChoice:
        return choose_one(out, constants(p[0]), static_cast<int>(p[1]), double{stream.uniform()});
      case Rule::kPermutation:
        return permute(out, static_cast<int>(p[0]), nullptr, stream);
      case Rule::kOrder:
        return permute(out, index_of(p[0], static_cast<int>(p[2])), constants(p[1]), stream);
      case Rule::kArea:
        return draw_rectangle(out, p, stream);
      case Rule::kBeta:
        *out = draw_beta(p[0], stream);
        return;
      case Rule::kDirichlet:
        return draw_dirichlet(out, static_cast<int>(p[0]), p[1], stream);
      case Rule::kNormal:
        *out = p[0] + p[1] * draw_normal(stream);
        return;
      case Rule::kHole:
        return put(out, draw_hole(p, geometry_.height(), geometry_.width(), stream));
      case Rule::kCell:
        return put(out, draw_hole_of_cell(p, geometry_.height(), geometry_.width(), stream));
      default:
        return draw_cut(out, number(p[0]), {geometry_.width(), geometry_.height()}, stream);
    }
  }

  ORBBEC_HD void compute(Rule rule, const double* p, double* out) {
    switch (rule) {
      case Rule::kSet:
        *out = p[0];
        return;
      case Rule::kCopy:
        *out = number(p[0]);
        return;
      case Rule::kShift: {
        const double side = p[1] == 0 ? geometry_.width() : geometry_.height();
        *out = rint((2 * number(p[0]) - 1) * (p[2] * side));
        return;
      }
      case Rule::kEpochs: {
        const auto epoch = static_cast<double>(program_.epoch);
        *out = epoch >= p[0] && epoch < p[1] ? 1 : 0;
        return;
      }
      case Rule::kSort:
        return sort(out, static_cast<int>(p[0]));
      case Rule::kEqual:
        *out = number(p[0]) == p[1] ? 1 : 0;
        return;
      case Rule::kAnyEqual:
        *out = 0;
        for (int i = 0; i < static_cast<int>(p[1]); ++i)
          if (numbers(p[0])[i] == p[2]) *out = 1;
        return;
      case Rule::kAtMost:
        *out = number(p[0]) <= number(p[1]) ? 1 : 0;
        return;
      case Rule::kBoth:
        *out = number(p[0]) != 0 && number(p[1]) != 0 ? 1 : 0;
        return;
      case Rule::kTimes:
        *out = number(p[0]) * number(p[1]);
        return;
      case Rule::kPlus:
        *out = number(p[0]) + p[1];
        return;
      case Rule::kOver:
        *out = number(p[0]) / p[1];
        return;
      case Rule::kRound:
        *out = rint(number(p[0]));
        return;
      case Rule::kSum:
        *out = number(p[0]) + number(p[1]);
        return;
      case Rule::kQuotient:
        *out = number(p[0]) / number(p[1]);
        return;
      case Rule::kSmaller:
        *out = smaller(number(p[0]), number(p[1]));
        return;
      case Rule::kLarger:
        *out = larger(number(p[0]), number(p[1]));
        return;
      case Rule::kFloor:
        *out = floor(number(p[0]));
        return;
      case Rule::kExp:
        *out = exponential(number(p[0]));
        return;
      case Rule::kSineCosine:
        return sine_cosine_degrees(number(p[0]), out[0], out[1]);
      case Rule::kSelect:
        *out = number(p[0]) != 0 ? number(p[1]) : p[2];
        return;
      case Rule::kFilter:
        return filter(out, static_cast<int>(p[0]), numbers(p[1]), static_cast<int>(p[2]));
      case Rule::kLookup: {
        *out = constants(p[1])[index_of(number(p[0]), static_cast<int>(p[2]) - 1)];
        return;
      }
      default:
        *out = magnitude_of(Space(constants(p[3])), operation_of(number(p[0])), number(p[1]),
                            number(p[2]), geometry_);
    }
  }

  ORBBEC_HD void draw_rectangle(double* out, const double* p, PhiloxStream& stream) const {
    const Area area = number(p[6]) == 0 ? Area{}
                                        : draw_area(AreaRange(p, true), geometry_.height(),
                                                    geometry_.width(), stream);
    put(out, {area.left, area.top, area.left + area.width, area.top + area.height});
  }

  ORBBEC_HD static void put(double* out, const Hole& hole) {
    out[0] = hole.left, out[1] = hole.top, out[2] = hole.right, out[3] = hole.bottom;
  }

  ORBBEC_HD Shortage move(const RuleHead& head, const double* p) {
    Geometry& g = geometry_;
    switch (head.rule) {
      case Rule::kResizeArea: {
        PhiloxStream stream = head.stream;
        resize_area(g, p, stream);
        return {};
      }
      case Rule::kCropRandom: {
        PhiloxStream stream = head.stream;
        return crop_random(g, p, stream);
      }
      case Rule::kPadTo: {
        PhiloxStream stream = head.stream;
        pad_to(g, p, stream);
        return {};
      }
      case Rule::kPerspective: {
        PhiloxStream stream = head.stream;
        perspective(g, p[0], stream);
        return {};
      }
      case Rule::kCropFixed:
        return crop_fixed(g, p[0], p[1], p[2], p[3], p[4] != 0);
      default:
        if (head.rule < Rule::kResizeArea) {
          resize(head.rule, p);
        } else {
          warp(head.rule, p);
        }
        return {};
    }
  }

  ORBBEC_HD void resize(Rule rule, const double* p) {
    Geometry& g = geometry_;
    switch (rule) {
      case Rule::kResize:
        return g.resize(g.whole(), p[0], p[1], nearest_of(p[2]));
      case Rule::kResizeShorter:
        return resize_shorter(g, number(p[0]), p[1], nearest_of(p[2]));
      case Rule::kResizeLonger:
        return resize_longer(g, p[0], nearest_of(p[1]));
      case Rule::kResizeFit: {
        const Fit fit(g, p[0], p[1], p[2] != 0);
        return g.resize(g.whole(), fit.height, fit.width, nearest_of(p[3]));
      }
      case Rule::kResizeScaled: {
        // torchvision's ratios are crossed: target width to height and target height to width.
        const double fit = p[1] == 0 ? 1 : smaller(p[2] / g.height(), p[1] / g.width());
        return resize_scaled(g, p[1] == 0 ? number(p[0]) : fit * number(p[0]), nearest_of(p[3]));
      }
      case Rule::kResizeTo:
        return g.resize(g.whole(), side_of(number(p[0])), side_of(number(p[1])), nearest_of(p[2]));
      default: {
        double factor = number(p[0]) / smaller(g.height(), g.width());
        if (p[1] != 0) factor = smaller(factor, p[1] / larger(g.height(), g.width()));
        return resize_scaled(g, factor, nearest_of(p[2]));
      }
    }
  }

  ORBBEC_HD void warp(Rule rule, const double* p) {
    Geometry& g = geometry_;
    switch (rule) {
      case Rule::kCropCenter:
        return crop_center(g, p[0], p[1]);
      case Rule::kPad:
        return g.crop(-p[0], -p[1], g.height() + (p[1] + p[3]), g.width() + (p[0] + p[2]));
      case Rule::kCropTo:
        return crop_to(g, numbers(p[0]));
      case Rule::kZoomOut:
        return zoom_out(g, number(p[0]), number(p[1]), number(p[2]));
      case Rule::kLetterbox:
        return letterbox(g, p[0], p[1], p[2] != 0, nearest_of(p[3]));
      case Rule::kFlip:
        return g.flip(p[0] == 0 ? 0 : 1);
      case Rule::kAffine:
        return affine(g, numbers(p[0]), p + 1);
      case Rule::kAutoWarp:
        return auto_warp(g, operation_of(number(p[0])), number(p[1]));
      case Rule::kMatrixWarp: {
        Matrix3 matrix;
        for (int i = 0; i < 9; ++i) matrix.m[i] = constants(p[0])[i];
        return g.warp(matrix, g.height(), g.width());
      }
      default:
        return step_warp(numbers(p[0]), p[1] != 0);
    }
  }

  // As end_pass writes it.
  ORBBEC_HD void step_warp(const double* numbers, bool has_box) {
    Geometry& g = geometry_;
    const double* const box = numbers + kPassBox;
    if (has_box && g.is_first()) g.set_box({box[0], box[1], box[2] - box[0], box[3] - box[1]});
    g.add_offset(numbers[kPassOffset], numbers[kPassOffset + 1]);
    Matrix3 matrix;
    for (int i = 0; i < 9; ++i) matrix.m[i] = numbers[kPassMatrix + i];
    g.warp(matrix, numbers[kPassHeight], numbers[kPassWidth]);
    if (numbers[kPassIsFlipped] != 0) r_[kIsFlipped] = 1 - r_[kIsFlipped];
  }

  ORBBEC_HD void color(Rule rule, const double* p) {
    const int most = static_cast<int>(p[1]);
    ColorRows rows(words_.at(p[0], int64_t{most} * kStepNumbers), most, r_[kColorRows]);
    switch (rule) {
      case Rule::kColor: {
        float* const to = rows.add(static_cast<StepCode>(static_cast<int>(p[2])));
        for (int i = 0; i < static_cast<int>(p[3]); ++i)
          to[i] = static_cast<float>(number(p[4 + i]));
        return;
      }
      case Rule::kColorMatrix: {
        float* const to = rows.add(StepCode::kMatrix);
        for (int i = 0; i < 12; ++i) to[i] = static_cast<float>(constants(p[2])[i]);
        return;
      }
      case Rule::kColorLine:
        return rows.add_line(number(p[2]), false, number(p[3]));
      case Rule::kColorScale:
        return rows.add_scale(numbers(p[2]), numbers(p[3]));
      case Rule::kColorSwap:
        return rows.add_swap(numbers(p[2]));
      case Rule::kColorJitter:
        return jitter(rows, numbers(p[2]), numbers(p[3]), numbers(p[4]), static_cast<int>(p[5]));
      case Rule::kAutoColor:
        return rows.add_operation(operation_of(number(p[2])), number(p[3]));
      default:
        return step_colors(rows, numbers(p[2]), static_cast<int>(p[3]));
    }
  }

  ORBBEC_HD static void jitter(ColorRows& rows, const double* order, const double* factors,
                               const double* chosen, int known) {
    for (int i = 0; i < 4; ++i) {
      const int which = index_of(order[i], 3);
      if ((known >> which & 1) != 0 && chosen[which] != 0)
        rows.add_adjustment(which, factors[which]);
    }
  }

  ORBBEC_HD static void step_colors(ColorRows& rows, const double* numbers, int count) {
    for (int s = 0; s < count; ++s, numbers += kStepNumbers) {
      if (numbers[0] == 0) continue;
      float* const to = rows.add(StepCode::kNone) - 1;
      for (int i = 0; i < kStepNumbers; ++i) to[i] = static_cast<float>(numbers[i]);
    }
  }

  ORBBEC_HD void erase(const double* p) {
    float* const to = words_.at(p[0], static_cast<int64_t>(p[1]) * kBoxNumbers) +
                      static_cast<int>(p[2]) * kBoxNumbers;
    for (int i = 0; i < kBoxNumbers; ++i) to[i] = static_cast<float>(numbers(p[3])[i]);
  }

  // The numbers of a pass, and what its kernel reads: the matrix, relative to the region, and the
  // region in whole pixels.
  ORBBEC_HD void end_pass(double* out, const double* p) {
    for (int i = 0; i < 9; ++i) out[kPassMatrix + i] = r_[kMatrix + i];
    out[kPassHeight] = r_[kHeight], out[kPassWidth] = r_[kWidth];
    for (int i = 0; i < 4; ++i) out[kPassBox + i] = r_[kBox + i];
    out[kPassIsFlipped] = r_[kIsFlipped];
    for (int i = 0; i < 2; ++i) out[kPassOffset + i] = r_[kOffset + i];
    out[kPassColorRows] = r_[kColorRows];
    const bool has_region = p[1] >= 0;
    if (has_region) {
      auto* const region = reinterpret_cast<int64_t*>(words_.at(p[1], 8));
      for (int i = 0; i < 4; ++i) region[i] = whole_of(r_[kBox + i]);
    }
    if (p[0] >= 0) {
      Matrix3 matrix;
      for (int i = 0; i < 9; ++i) matrix.m[i] = out[kPassMatrix + i];
      if (has_region) shift(matrix, -trunc(r_[kBox]), -trunc(r_[kBox + 1]));
      if (p[2] != 0) shift(matrix, r_[kOffset], r_[kOffset + 1]);
      float* const to = words_.at(p[0], 9);
      for (int i = 0; i < 9; ++i) to[i] = static_cast<float>(matrix.m[i]);
    }
    if (p[3] >= 0) {
      auto* const box = reinterpret_cast<double*>(words_.at(p[3], 8));
      for (int i = 0; i < 4; ++i) box[i] = r_[kBox + i];
    }
    if (p[4] >= 0) reinterpret_cast<bool*>(words_.at(p[4], 0))[words_.n] = r_[kIsFlipped] != 0;
    geometry_.begin_pass();
  }

  ORBBEC_HD static int64_t whole_of(double number) {
    return static_cast<int64_t>(smaller(larger(number, -0x1p53), 0x1p53));
  }

  const RuleProgram program_;
  double* const r_;
  Geometry geometry_;
  const Words words_;
  const uint64_t sample_, frame_;
};

}  // namespace orbbec
