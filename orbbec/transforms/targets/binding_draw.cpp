// `draw_boxes`: draws the parameters of a batch, moves the boxes of its targets through all passes
// of its program, and replaces the sizes of the images by those of the results.
#include "../../plan/binding_program.h"
#include "binding_boxes.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "draw_boxes";

// A pass that resamples images: its first register, and its block of crops before its matrix, or
// -1.
struct Warp {
  int64_t out, crops;
};

// What `program` lists: the numbers of rules, of registers and of words, then the warps.
std::vector<Warp> checked_warps(const std::vector<int64_t>& program) {
  check(program.size() >= 3 && program.size() % 2 == 1, kOp,
        "expected program as the numbers of rules, registers and words, and two numbers per pass");
  const int64_t registers = program[1], words = program[2];
  check(words >= 0 && words <= 1 << 24, kOp, "expected from 0 to 2^24 words, but got ", words);
  std::vector<Warp> warps;
  for (size_t i = 3; i < program.size(); i += 2) {
    const Warp warp{program[i], program[i + 1]};
    check(warp.out >= kRegisters && warp.out <= registers - kPassRegisters, kOp,
          "expected passes with registers of the program, but got ", warp.out);
    check(warp.crops == -1 || (warp.crops >= 0 && warp.crops <= words - 8 && warp.crops % 2 == 0),
          kOp, "expected crops within the words, but got ", warp.crops);
    warps.push_back(warp);
  }
  return warps;
}

// How a warp moves the pixels of one image.
struct Motion {
  ForwardMatrix forward;
  const int64_t* crop;  // left, top, right, bottom; null: none
  double height, width;

  Motion(const Warp& warp, const DrawArguments& a, int64_t n) {
    const double* const out = a.registers + n * a.register_count + warp.out;
    crop = warp.crops < 0
               ? nullptr
               : reinterpret_cast<const int64_t*>(a.words + warp.crops * a.count) + 4 * n;
    double matrix[9];
    std::copy_n(out, 9, matrix);
    if (crop != nullptr) {  // of pixels of the crop
      for (int i = 0; i < 3; ++i) {
        matrix[i] -= static_cast<double>(crop[0]) * matrix[6 + i];
        matrix[3 + i] -= static_cast<double>(crop[1]) * matrix[6 + i];
      }
    }
    forward = ForwardMatrix::inverse_of(matrix);
    height = out[9], width = out[10];
    check(is_side(height) && is_side(width), kOp, "expected outputs with pixels, but image ", n,
          " gets ", height, "x", width);
  }

  void move(TargetBox& box, const BoxLimits* limits) const {
    pass_box(box, crop, &forward, height, width, limits);
  }
};

// The motions of image n, one per warp.
std::vector<Motion> motions_of(const std::vector<Warp>& warps, const DrawArguments& a, int64_t n) {
  std::vector<Motion> motions;
  motions.reserve(warps.size());
  for (const Warp& warp : warps) motions.emplace_back(warp, a, n);
  return motions;
}

// What is left of a box, left, top, right, bottom, of an image of a size.
TargetBox box_after(const double* edges, const std::vector<Motion>& motions, const int64_t* size,
                    const BoxLimits* limits) {
  TargetBox box{edges[0], edges[1], edges[2], edges[3], 1, 1, 1};
  for (const Motion& motion : motions) motion.move(box, limits);
  if (motions.empty())
    pass_box(box, nullptr, nullptr, static_cast<double>(size[0]), static_cast<double>(size[1]),
             limits);
  return box;
}

void check_counts(const std::vector<int64_t>& counts, int64_t images, int64_t boxes) {
  int64_t left = boxes;
  for (const int64_t count : counts) {
    check(count >= 0 && count <= left, kOp, "expected counts of ", boxes, " boxes");
    left -= count;
  }
  check(left == 0 && static_cast<int64_t>(counts.size()) == images, kOp, "expected counts of ",
        boxes, " boxes of ", images, " images");
}

Tensor draw_boxes(Tensor code, std::vector<int64_t> program, Tensor sizes, Tensor sample_ids,
                  Tensor boxes, std::vector<int64_t> counts, int64_t seed, int64_t epoch,
                  int64_t frames, std::vector<double> limits) {
  check_code(kOp, code);
  const std::vector<Warp> warps = checked_warps(program);
  check_rules(kOp, {code, 0, program[0], program[1], program[2]});
  const Tensor layout = layout_of(kOp, checked_sizes(kOp, sizes));
  check(sizes.is_contiguous(), kOp, "expected sizes as a contiguous tensor");
  check(sample_ids.is_cpu(), kOp, "expected sample_ids on the CPU");
  DrawArguments a{};
  a.count = sizes.size(0);
  const Tensor samples = sample_ids_on(kOp, sample_ids, sizes, a.count);
  check(boxes.is_cpu() && boxes.dim() == 2, kOp, "expected boxes [K, 4] on the CPU, but got shape ",
        shape_text(boxes));
  check_counts(counts, a.count, boxes.size(0));
  const auto* edges = check_table<double>(kOp, "boxes", boxes, {boxes.size(0), 4}, boxes);
  const BoxLimits some = checked_limits(kOp, limits);
  a.rows = static_cast<const double*>(code.const_data_ptr());
  a.end = program[0];
  a.frames = checked_frames(kOp, frames, a.count);
  a.layout = static_cast<const int64_t*>(layout.const_data_ptr());
  a.ids = static_cast<const int64_t*>(samples.const_data_ptr());
  a.seed = static_cast<uint64_t>(seed);
  a.epoch = epoch;
  a.register_count = program[1];
  std::vector<double> registers(static_cast<size_t>(a.count * program[1]));
  std::vector<int64_t> words(static_cast<size_t>(a.count * program[2] / 2 + 1));  // 8 bytes each
  a.registers = registers.data();
  a.words = reinterpret_cast<float*>(words.data());
  draw_batch(kOp, a);
  const std::array<int64_t, 2> shape{boxes.size(0), kTargetBoxNumbers};
  const Tensor results = new_tensor(kOp, shape, ScalarType::Double, boxes);
  auto* to = static_cast<TargetBox*>(results.mutable_data_ptr());
  auto* size = static_cast<int64_t*>(sizes.mutable_data_ptr());
  for (int64_t n = 0; n < a.count; ++n, size += 2) {
    const std::vector<Motion> motions = motions_of(warps, a, n);
    for (int64_t k = counts[static_cast<size_t>(n)]; k > 0; --k, edges += 4)
      *to++ = box_after(edges, motions, size, limits.empty() ? nullptr : &some);
    if (motions.empty()) continue;
    size[0] = static_cast<int64_t>(motions.back().height);
    size[1] = static_cast<int64_t>(motions.back().width);
  }
  return results;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "draw_boxes(Tensor code, int[] program, Tensor(a!) sizes, Tensor sample_ids, Tensor boxes, "
      "int[] counts, int seed, int epoch, int frames, float[] limits) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) { m.impl("draw_boxes", TORCH_BOX(&orbbec::draw_boxes)); }
