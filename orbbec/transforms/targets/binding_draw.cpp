// `draw_targets`: draws the parameters of a batch, moves the boxes and points of its targets
// through all passes of its program, and replaces the sizes of the images by those of the results.
#include "../../plan/binding_passes.h"
#include "binding_boxes.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "draw_targets";

// The rows of the passes that resample images.
std::vector<const double*> warps_of(const WholeProgram& program) {
  std::vector<const double*> warps;
  for (int64_t k = 0; k < program.pass_count; ++k)
    if (program.pass(k)[kKind] != kOperatorPass) warps.push_back(program.pass(k));
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
  Motion(const double* warp, const DrawArguments& a, int64_t n)
      : out_(a.registers + n * a.register_count + static_cast<int64_t>(warp[kOut])),
        seen_(warp[kKind] == kAugmentPass ? block(a, warp[kRegionWords], n) : nullptr),
        crop_(warp[kReadsBeyond] != 0 ? seen_ : nullptr),
        has_offset_(warp[kHasOffset] != 0) {
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
  static const int64_t* block(const DrawArguments& a, double begin, int64_t n) {
    if (begin < 0) return nullptr;
    return reinterpret_cast<const int64_t*>(a.words + static_cast<int64_t>(begin) * a.count) +
           4 * n;
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
  const int64_t *seen_, *crop_;  // left, top, right, bottom; null: none
  bool has_offset_;
  ForwardMatrix forward_;
};

// The motions of image n, one per warp.
std::vector<Motion> motions_of(const std::vector<const double*>& warps, const DrawArguments& a,
                               int64_t n) {
  std::vector<Motion> motions;
  motions.reserve(warps.size());
  for (const double* const warp : warps) motions.emplace_back(warp, a, n);
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

  Draws(const WholeProgram& program, const Tensor& sizes, const Tensor& sample_ids, int64_t frames)
      : layout(layout_of(kOp, checked_sizes(kOp, sizes))),
        samples(sample_ids_on(kOp, sample_ids, sizes, sizes.size(0))),
        registers(static_cast<size_t>(sizes.size(0) * program.registers)),
        words(static_cast<size_t>(sizes.size(0) * program.words / 2 + 1)) {
    a.count = sizes.size(0);
    a.rows = static_cast<const double*>(program.code.const_data_ptr());
    a.end = program.end;
    a.frames = checked_frames(kOp, frames, a.count);
    a.layout = static_cast<const int64_t*>(layout.const_data_ptr());
    a.ids = static_cast<const int64_t*>(samples.const_data_ptr());
    a.register_count = program.registers;
    a.registers = registers.data();
    a.words = reinterpret_cast<float*>(words.data());
  }
};

std::tuple<Tensor, Tensor, Tensor> draw_targets(Tensor code, int64_t warp_count, Tensor sizes,
                                                Tensor sample_ids, Tensor boxes,
                                                std::vector<int64_t> box_counts, Tensor points,
                                                std::vector<int64_t> point_counts, int64_t seed,
                                                int64_t epoch, int64_t frames,
                                                std::vector<double> limits) {
  const WholeProgram program(kOp, code);
  const std::vector<const double*> warps = warps_of(program);
  check(static_cast<int64_t>(warps.size()) == warp_count, kOp, "expected warps as the ",
        warps.size(), " passes that resample images, but got ", warp_count);
  check(sizes.is_contiguous(), kOp, "expected sizes as a contiguous tensor");
  check(sample_ids.is_cpu(), kOp, "expected sample_ids on the CPU");
  Draws draws(program, sizes, sample_ids, frames);
  const int64_t count = draws.a.count;
  Rows<Box, TargetBox> target_boxes("boxes", boxes, box_counts, count);
  Rows<Point, TargetPoint> target_points("points", points, point_counts, count);
  const BoxLimits some = checked_limits(kOp, limits);
  const BoxLimits* const limit = limits.empty() ? nullptr : &some;
  draws.a.seed = static_cast<uint64_t>(seed);
  draws.a.epoch = epoch;
  draw_batch(kOp, draws.a);
  const std::array<int64_t, 3> shape{warp_count, count, kReadingNumbers};
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
      "draw_targets(Tensor code, int warps, Tensor(a!) sizes, Tensor sample_ids, Tensor boxes, "
      "int[] box_counts, Tensor points, int[] point_counts, int seed, int epoch, int frames, "
      "float[] limits) -> (Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("draw_targets", TORCH_BOX(&orbbec::draw_targets));
}
