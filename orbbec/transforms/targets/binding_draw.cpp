// `draw_targets`: draws the parameters of a batch, moves the boxes and points of its targets
// through all passes of its program, and replaces the sizes of the images by those of the results.
#include "../../plan/binding_program.h"
#include "binding_boxes.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "draw_targets";

// A pass that resamples images.
struct Warp {
  int64_t out;     // its first register
  int64_t crops;   // the block of crops before its matrix; -1: none
  int64_t seen;    // the block of what it reads of images; -1: all
  int64_t offset;  // whether something is added to the positions that a nearest warp reads
};

constexpr size_t kWarpNumbers = sizeof(Warp) / sizeof(int64_t), kHead = 3;

// What `program` lists: the numbers of rules, of registers and of words, then the warps.
std::vector<Warp> checked_warps(const std::vector<int64_t>& program) {
  check(program.size() >= kHead && program.size() % kWarpNumbers == kHead, kOp,
        "expected program as the numbers of rules, registers and words, and ", kWarpNumbers,
        " numbers per pass");
  const int64_t registers = program[1], words = program[2];
  check(words >= 0 && words <= 1 << 24, kOp, "expected from 0 to 2^24 words, but got ", words);
  const auto is_block = [words](int64_t begin) {
    return begin == -1 || (begin >= 0 && begin <= words - 8 && begin % 2 == 0);
  };
  std::vector<Warp> warps;
  for (size_t i = kHead; i < program.size(); i += kWarpNumbers) {
    const Warp warp{program[i], program[i + 1], program[i + 2], program[i + 3]};
    check(warp.out >= kRegisters && warp.out <= registers - kPassRegisters, kOp,
          "expected passes with registers of the program, but got ", warp.out);
    check(is_block(warp.crops) && is_block(warp.seen), kOp,
          "expected crops within the words, but got ", warp.crops, " and ", warp.seen);
    warps.push_back(warp);
  }
  return warps;
}

// How masks of one image read it in a pass. Python reads the rows.
struct Reading {
  Matrix3 matrix;  // output pixels to pixels of the part that is seen
  double left, top, right, bottom, height, width;
};

constexpr int kReadingNumbers = sizeof(Reading) / sizeof(double);

// How a warp moves the pixels of one image.
class Motion {
 public:
  Motion(const Warp& warp, const DrawArguments& a, int64_t n)
      : out_(a.registers + n * a.register_count + warp.out),
        crop_(block(a, warp.crops, n)),
        seen_(block(a, warp.seen, n)),
        has_offset_(warp.offset != 0) {
    check(is_side(height()) && is_side(width()), kOp, "expected outputs with pixels, but image ", n,
          " gets ", height(), "x", width());
    forward_ = ForwardMatrix::inverse_of(matrix_of(crop_).m);
  }

  double height() const { return out_[9]; }
  double width() const { return out_[10]; }

  void move(TargetBox& box, const BoxLimits* limits) const {
    pass_box(box, crop_, &forward_, height(), width(), limits);
  }

  void move(TargetPoint& point) const { pass_point(point, crop_, &forward_, height(), width()); }

  Reading reading() const {
    Reading result{matrix_of(seen_), 0, 0, -1, -1, height(), width()};
    if (seen_ != nullptr) std::copy_n(seen_, 4, &result.left);
    if (has_offset_) shift(result.matrix, out_[16], out_[17]);
    return result;
  }

 private:
  static const int64_t* block(const DrawArguments& a, int64_t begin, int64_t n) {
    if (begin < 0) return nullptr;
    return reinterpret_cast<const int64_t*>(a.words + begin * a.count) + 4 * n;
  }

  // Output pixels to pixels of a crop.
  Matrix3 matrix_of(const int64_t* crop) const {
    Matrix3 matrix;
    std::copy_n(out_, 9, matrix.m);
    if (crop != nullptr)
      shift(matrix, -static_cast<double>(crop[0]), -static_cast<double>(crop[1]));
    return matrix;
  }

  const double* out_;            // registers
  const int64_t *crop_, *seen_;  // left, top, right, bottom; null: none
  bool has_offset_;
  ForwardMatrix forward_;
};

// The motions of image n, one per warp.
std::vector<Motion> motions_of(const std::vector<Warp>& warps, const DrawArguments& a, int64_t n) {
  std::vector<Motion> motions;
  motions.reserve(warps.size());
  for (const Warp& warp : warps) motions.emplace_back(warp, a, n);
  return motions;
}

struct Box {
  double left, top, right, bottom;
};

struct Point {
  double x, y;
};

// What is left of a box of an image of a size.
TargetBox box_after(const Box& edges, const std::vector<Motion>& motions, const int64_t* size,
                    const BoxLimits* limits) {
  TargetBox box{edges.left, edges.top, edges.right, edges.bottom, 1, 1, 1};
  for (const Motion& motion : motions) motion.move(box, limits);
  if (motions.empty())
    pass_box(box, nullptr, nullptr, static_cast<double>(size[0]), static_cast<double>(size[1]),
             limits);
  return box;
}

TargetPoint point_after(const Point& position, const std::vector<Motion>& motions,
                        const int64_t* size) {
  TargetPoint point{position.x, position.y, 1};
  for (const Motion& motion : motions) motion.move(point);
  if (motions.empty())
    pass_point(point, nullptr, nullptr, static_cast<double>(size[0]), static_cast<double>(size[1]));
  return point;
}

// Boxes or points of all images, those of each image in order, and what becomes of them.
template <class From, class To>
class Rows {
 public:
  Rows(const char* name, const Tensor& table, const std::vector<int64_t>& counts, int64_t images)
      : counts_(counts) {
    constexpr int64_t kNumbers = sizeof(From) / sizeof(double);
    check(table.is_cpu() && table.dim() == 2, kOp, "expected ", name, " [K, ", kNumbers,
          "] on the CPU, but got shape ", shape_text(table));
    const std::array<int64_t, 2> shape{table.size(0), sizeof(To) / sizeof(double)};
    from_ = reinterpret_cast<const From*>(
        check_table<double>(kOp, name, table, {table.size(0), kNumbers}, table));
    check_counts(name, images, table.size(0));
    results = new_tensor(kOp, shape, ScalarType::Double, table);
    to_ = static_cast<To*>(results.mutable_data_ptr());
  }

  template <class Change>
  void of_image(int64_t n, const Change& change) {
    for (int64_t k = counts_[static_cast<size_t>(n)]; k > 0; --k) *to_++ = change(*from_++);
  }

  Tensor results;

 private:
  void check_counts(const char* name, int64_t images, int64_t rows) const {
    int64_t left = rows;
    for (const int64_t count : counts_) {
      check(count >= 0 && count <= left, kOp, "expected counts of ", rows, " ", name);
      left -= count;
    }
    check(left == 0 && static_cast<int64_t>(counts_.size()) == images, kOp, "expected counts of ",
          rows, " ", name, " of ", images, " images");
  }

  const std::vector<int64_t>& counts_;
  const From* from_;
  To* to_;
};

// What draws the parameters of a batch on the host, and memory for them.
struct Draws {
  DrawArguments a{};
  Tensor layout, samples;
  std::vector<double> registers;
  std::vector<int64_t> words;  // 8 bytes each

  Draws(const Tensor& code, const std::vector<int64_t>& program, const Tensor& sizes,
        const Tensor& sample_ids, int64_t frames)
      : layout(layout_of(kOp, checked_sizes(kOp, sizes))),
        samples(sample_ids_on(kOp, sample_ids, sizes, sizes.size(0))),
        registers(static_cast<size_t>(sizes.size(0) * program[1])),
        words(static_cast<size_t>(sizes.size(0) * program[2] / 2 + 1)) {
    a.count = sizes.size(0);
    a.rows = static_cast<const double*>(code.const_data_ptr());
    a.end = program[0];
    a.frames = checked_frames(kOp, frames, a.count);
    a.layout = static_cast<const int64_t*>(layout.const_data_ptr());
    a.ids = static_cast<const int64_t*>(samples.const_data_ptr());
    a.register_count = program[1];
    a.registers = registers.data();
    a.words = reinterpret_cast<float*>(words.data());
  }
};

std::tuple<Tensor, Tensor, Tensor> draw_targets(Tensor code, std::vector<int64_t> program,
                                                Tensor sizes, Tensor sample_ids, Tensor boxes,
                                                std::vector<int64_t> box_counts, Tensor points,
                                                std::vector<int64_t> point_counts, int64_t seed,
                                                int64_t epoch, int64_t frames,
                                                std::vector<double> limits) {
  check_code(kOp, code);
  const std::vector<Warp> warps = checked_warps(program);
  check_rules(kOp, {code, 0, program[0], program[1], program[2]});
  check(sizes.is_contiguous(), kOp, "expected sizes as a contiguous tensor");
  check(sample_ids.is_cpu(), kOp, "expected sample_ids on the CPU");
  Draws draws(code, program, sizes, sample_ids, frames);
  const int64_t count = draws.a.count;
  Rows<Box, TargetBox> target_boxes("boxes", boxes, box_counts, count);
  Rows<Point, TargetPoint> target_points("points", points, point_counts, count);
  const BoxLimits some = checked_limits(kOp, limits);
  const BoxLimits* const limit = limits.empty() ? nullptr : &some;
  draws.a.seed = static_cast<uint64_t>(seed);
  draws.a.epoch = epoch;
  draw_batch(kOp, draws.a);
  const std::array<int64_t, 3> shape{static_cast<int64_t>(warps.size()), count, kReadingNumbers};
  const Tensor readings = new_tensor(kOp, shape, ScalarType::Double, boxes);
  auto* const reading = static_cast<Reading*>(readings.mutable_data_ptr());
  auto* size = static_cast<int64_t*>(sizes.mutable_data_ptr());
  for (int64_t n = 0; n < count; ++n, size += 2) {
    const std::vector<Motion> motions = motions_of(warps, draws.a, n);
    target_boxes.of_image(n, [&](const Box& box) { return box_after(box, motions, size, limit); });
    target_points.of_image(n, [&](const Point& at) { return point_after(at, motions, size); });
    for (size_t k = 0; k < motions.size(); ++k)
      reading[static_cast<int64_t>(k) * count + n] = motions[k].reading();
    if (motions.empty()) continue;
    size[0] = static_cast<int64_t>(motions.back().height());
    size[1] = static_cast<int64_t>(motions.back().width());
  }
  return {target_boxes.results, target_points.results, readings};
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "draw_targets(Tensor code, int[] program, Tensor(a!) sizes, Tensor sample_ids, Tensor boxes, "
      "int[] box_counts, Tensor points, int[] point_counts, int seed, int epoch, int frames, "
      "float[] limits) -> (Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("draw_targets", TORCH_BOX(&orbbec::draw_targets));
}
