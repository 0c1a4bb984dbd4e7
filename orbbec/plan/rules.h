// The rules of a program: what each draws or changes, and the operands of its row. plan/rules.py
// reads this list, so that a rule has one number, one name and one set of operands.
//
// A row is kRuleNumbers doubles: the rule, the index of its transform's stream (plus kPerFrame if
// each frame of a clip draws its own numbers), the first random
// word that it takes, the register that must not be 0 for it to run (or -1), its first output
// register (or -1), and its operands.
#pragma once

#include "../core/common.h"

namespace orbbec {

constexpr int kRuleNumbers = 16, kFirstOperand = 5, kOperands = kRuleNumbers - kFirstOperand;
constexpr uint32_t kPerFrame = 1 << 16;
constexpr int64_t kMaxFrames = 1 << 16;  // of a clip: frame_sample has 16 bits for them

// name, number of output registers, operands by kind:
//   number      any number up to 10^30
//   side        a whole number of pixels, at least 1
//   count       a whole number from 0 to 2^30
//   register    index of a register; register4: of the first of four; registers: of as many as the
//               next operand, a count, says
//   outputs     a count of output registers, at most kMaxOutputs
//   constants   index of a row of constants; table: of a table, whose length is the next operand
//   colors, boxes  offset of a block of words, and the rows per image of the block
//   numbers     offset of a block of words with a float64 per image
//   words       offset of a block of words, or -1
// "draws" are words of the transform's stream; "the rectangle" is the part of the image that
// becomes the output; `nearest` is a NearestOffset.
#define ORBBEC_RULES(X)                                                                            \
  /* Numbers. */                                                                                   \
  X(kClear, "clear", 0, "words count")                   /* zeros for a block */                   \
  X(kSet, "set", 1, "number")                            /* value */                               \
  X(kCopy, "copy", 1, "register")                        /* a register */                          \
  X(kShift, "shift", 1, "register count number")         /* draw, axis, fraction of the side */    \
  X(kUniform, "uniform", 1, "number number")             /* low, high; 1 draw */                   \
  X(kWhole, "whole", 1, "number count number")           /* low, count, step; 1 draw */            \
  X(kChance, "chance", 1, "number")                      /* probability; 1 draw */                 \
  X(kChoice, "choice", 1, "table count")                 /* cumulative weights; 1 draw */          \
  X(kPermutation, "permutation", 0, "outputs")           /* of `count`, as many draws */           \
  X(kSort, "sort", 0, "outputs")                         /* ascending, in place */                 \
  X(kEqual, "equal", 1, "register number")               /* 1 where equal */                       \
  X(kAnyEqual, "any_equal", 1, "registers count number") /* of `count` registers */                \
  X(kAtMost, "at_most", 1, "register register")          /* 1 where first <= second */             \
  X(kBoth, "both", 1, "register register")               /* 1 where neither is 0 */                \
  X(kTimes, "times", 1, "register register")             /* the product */                         \
  X(kPlus, "plus", 1, "register number")                 /* the sum */                             \
  X(kEpochs, "epochs", 1, "count count")              /* 1 from the first to before the second */  \
  X(kOver, "over", 1, "register number")              /* the quotient */                           \
  X(kSelect, "select", 1, "register register number") /* second where first, or number */          \
  X(kFilter, "filter", 0, "outputs register4 count")  /* entries of four in a mask */              \
  X(kLookup, "lookup", 1, "register table count")     /* a table's entry */                        \
  X(kArea, "area", 4, "number number number number number number register")                        \
  /* ranges of scale, ratio, log ratio; whether to draw; 40 draws: left, top, right, bottom */     \
  X(kMagnitude, "magnitude", 1, "register register register constants")                            \
  /* operation, level, draw of the sign; a Space */                                                \
  X(kRound, "round", 1, "register")               /* half to even */                               \
  X(kBeta, "beta", 1, "number")                   /* alpha; 98 draws */                            \
  X(kDirichlet, "dirichlet", 0, "outputs number") /* `count` weights, alpha; 49 draws each */      \
  X(kCut, "cut", 5, "register")                                                                    \
  /* fraction of the area outside; 2 draws: left, top, right, bottom, that fraction of the image   \
   */                                                                                              \
  X(kNormal, "normal", 1, "number number") /* mean, standard deviation; 2 draws */                 \
  X(kSum, "sum", 1, "register register")                                                           \
  X(kQuotient, "quotient", 1, "register register")                                                 \
  X(kSmaller, "smaller", 1, "register register")                                                   \
  X(kLarger, "larger", 1, "register register")                                                     \
  X(kFloor, "floor", 1, "register")                                                                \
  X(kExp, "exp", 1, "register")                                                                    \
  X(kSineCosine, "sine_cosine", 2, "register") /* of degrees */                                    \
  X(kOrder, "order", 0, "outputs table count") /* of `count`, by weights; as many draws */         \
  X(kHole, "hole", 4, "number number number number count")                                         \
  /* ranges of height and width; whether in pixels; 4 draws: left, top, right, bottom */           \
  X(kCell, "cell", 4, "count side count side number count")                                        \
  /* row, rows, column, columns, fraction of the sides; whether at a random position: 2 draws */   \
  /* Geometry: changes the size and the matrix. */                                                 \
  X(kResize, "resize", 0, "side side count")                     /* height, width, nearest */      \
  X(kResizeShorter, "resize_shorter", 0, "register count count") /* side, maximum, nearest */      \
  X(kResizeLonger, "resize_longer", 0, "side count")             /* side, nearest */               \
  X(kResizeFit, "resize_fit", 0, "side side count count") /* height, width, enlarge, nearest */    \
  X(kResizeScaled, "resize_scaled", 0, "register count count count")                               \
  /* factor; height and width of a crossed fit, or 0; nearest */                                   \
  X(kResizeShortest, "resize_shortest", 0, "register count count") /* side, maximum, nearest */    \
  X(kResizeTo, "resize_to", 0, "register register count")          /* height, width, nearest */    \
  X(kResizeArea, "resize_area", 0, "side side number number number number number number count")    \
  /* height, width, as area, nearest; 40 draws */                                                  \
  X(kCropRandom, "crop_random", 0, "side side count count count count count")                      \
  /* height, width, padding left, top, right, bottom, whether to pad if needed; 2 draws */         \
  X(kCropCenter, "crop_center", 0, "side side") /* height, width */                                \
  X(kCropFixed, "crop_fixed", 0, "number number side side count")                                  \
  /* top, left, height, width; whether to pad */                                                   \
  X(kPad, "pad", 0, "count count count count") /* left, top, right, bottom */                      \
  X(kPadTo, "pad_to", 0, "side side number number count")                                          \
  /* height, width; fractions above and left, or whether to draw them */                           \
  X(kCropTo, "crop_to", 0, "register4")                    /* left, top, width, height */          \
  X(kZoomOut, "zoom_out", 0, "register register register") /* factor, positions x and y */         \
  X(kLetterbox, "letterbox", 0, "side side count count")   /* height, width, enlarge, nearest */   \
  X(kFlip, "flip", 0, "count")                             /* axis: 0 x, 1 y */                    \
  X(kAffine, "affine", 0, "register7 count number number count")                                   \
  /* angle, shift, scale, shear; whether there is a center, x, y; expand: 1, or 2 to fit */        \
  X(kAutoWarp, "auto_warp", 0, "register register") /* operation, magnitude */                     \
  X(kMatrixWarp, "matrix_warp", 0, "constants")     /* 9 of a matrix */                            \
  X(kPerspective, "perspective", 0, "number")       /* distortion; 8 draws */                      \
  X(kStepWarp, "step_warp", 0, "register18 count")  /* of a step: matrix, size, box, */            \
  /* flip, offset; whether it has a box */                                                         \
  /* Colors: adds a row to the color program. */                                                   \
  X(kColor, "color", 0,                                                                            \
    "colors count count count register register register register "                                \
    "register register register")                                                                  \
  /* code, how many numbers; their registers */                                                    \
  X(kColorMatrix, "color_matrix", 0, "colors count constants")     /* 9 of a matrix, 3 offsets */  \
  X(kColorLine, "color_line", 0, "colors count register register") /* factor, summand */           \
  X(kColorSwap, "color_swap", 0, "colors count register3")         /* a permutation of channels */ \
  X(kColorScale, "color_scale", 0, "colors count register3 register3") /* factors, summands */     \
  X(kColorJitter, "color_jitter", 0, "colors count register4 register4 register4 count")           \
  /* order, factors, which are applied; mask of those that any image may get */                    \
  X(kAutoColor, "auto_color", 0, "colors count register register") /* operation, magnitude */      \
  X(kStepColors, "step_colors", 0, "colors count registers count") /* of a step: 16 per row */     \
  /* Rectangles. */                                                                                \
  X(kErase, "erase", 0, "boxes count count register8") /* index; edges and fills */                \
  /* Columns. */                                                                                   \
  X(kColumn, "column", 0, "numbers register") /* the number of each image */                       \
  /* The end of a pass: its numbers go to registers and words. */                                  \
  X(kEndPass, "end_pass", kPassRegisters, "words words count words words")                         \
  /* words of the matrix and of the region; whether the offset is added; words of the rectangle    \
     as float64 and of whether it is flipped */

enum class Rule {
#define ORBBEC_RULE(id, name, outputs, operands) id,
  ORBBEC_RULES(ORBBEC_RULE)
#undef ORBBEC_RULE
};

// Registers of every image, float64; those of a program begin at kRegisters.
enum Register {
  kHeight,  // of the output so far
  kWidth,
  kMatrix,          // [3, 3]: output to source pixels of the open pass
  kBox = 11,        // left, top, right, bottom of what the first geometry of the pass reads
  kIsFirst = 15,    // whether no geometry came yet in this pass
  kIsFlipped,       // horizontally
  kOffset,          // x, y: of the positions that nearest warps read
  kColorRows = 19,  // that the pass has so far
  kTotal,           // [3, 3]: output to image pixels, of all passes
  kRegisters = 29
};

// Registers of a pass, from its first: copies of those above at its end.
enum PassRegister {
  kPassMatrix,
  kPassHeight = kPassMatrix + 9,
  kPassWidth,
  kPassBox,
  kPassIsFlipped = kPassBox + 4,
  kPassOffset,
  kPassColorRows = kPassOffset + 2,
  kPassRegisters
};

constexpr int kMaxOutputs = 64;
enum class NearestOffset { kNone, kNearest, kExact };

}  // namespace orbbec
