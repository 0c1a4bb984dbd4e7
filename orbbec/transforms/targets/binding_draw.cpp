// `draw_targets`: draws the parameters of a batch, and moves the boxes and points of its targets
// through all passes of its program, in place. Boxes that are not dropped come first, in order.
// Sizes become those of the results, and numbers of boxes those that are left.
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

// How all passes move one image of a size.
struct ImageMotion {
  std::vector<Motion> motions;  // one per warp
  double height, width;

  ImageMotion(const std::vector<const double*>& warps, const DrawArguments& a, int64_t n)
      : height(static_cast<double>(a.layout[3 * n + 1])),
        width(static_cast<double>(a.layout[3 * n + 2])) {
    motions.reserve(warps.size());
    for (const double* const warp : warps) motions.emplace_back(warp, a, n);
  }

  double height_after() const { return motions.empty() ? height : motions.back().height(); }
  double width_after() const { return motions.empty() ? width : motions.back().width(); }

  // What is left of a box.
  TargetBox after(const Box& edges, const BoxLimits* limits) const {
    TargetBox box{edges.left, edges.top, edges.right, edges.bottom, 1, 1, 1};
    for (const Motion& motion : motions) motion.move(box, limits);
    if (motions.empty()) pass_box(box, nullptr, nullptr, height, width, limits);
    return box;
  }

  void move(TargetPoint& point) const {
    point.is_inside = 1;
    for (const Motion& motion : motions) motion.move(point);
    if (motions.empty()) pass_point(point, nullptr, nullptr, height, width);
  }
};

// What becomes of a box: by which factor its visible area changed, and 0 if it is dropped.
struct BoxChange {
  double scale, keep;
};

// Moves a box of a format to `result`, unless it is dropped.
BoxChange move_box(const Box& box, const ImageMotion& motion, const BoxFormat& format,
                   const BoxLimits* limits, Box*& result) {
  const TargetBox after = motion.after(edges_of(box, format, motion.height, motion.width), limits);
  const Box edges{after.left, after.top, after.right, after.bottom};
  if (after.keep != 0)
    *result++ = in_format(edges, format, motion.height_after(), motion.width_after());
  return {after.scale, after.keep};
}

// An image: what its draws depend on, and the numbers of its boxes and points.
struct Sample {
  int64_t id, height, width, boxes, points;
};

// Rows of numbers [K, ...], to be changed.
template <class Row, class Number = double>
Row* rows_of(const char* name, const Tensor& table) {
  constexpr int64_t kNumbers = sizeof(Row) / sizeof(Number);
  check(table.is_cpu() && table.dim() == 2, kOp, "expected ", name, " [K, ", kNumbers,
        "] on the CPU, but got shape ", shape_text(table));
  const Number* const rows =
      check_table<Number>(kOp, name, table, {table.size(0), kNumbers}, table);
  return reinterpret_cast<Row*>(const_cast<Number*>(rows));
}

// What draws the parameters of a batch on the host, and memory for them.
struct Draws {
  DrawArguments a{};
  std::vector<int64_t> layout, ids, box_counts, point_counts;
  std::vector<double> registers;
  std::vector<int64_t> words;  // 8 bytes each

  Draws(const WholeProgram& program, const Sample* images, int64_t count, int64_t frames)
      : registers(static_cast<size_t>(count * program.registers)),
        words(static_cast<size_t>(count * program.words / 2 + 1)) {
    for (int64_t n = 0; n < count; ++n) {
      const Sample& image = images[n];
      check_pixels(kOp, n, image.height, image.width);
      layout.insert(layout.end(), {0, image.height, image.width});
      ids.push_back(image.id);
      box_counts.push_back(image.boxes);
      point_counts.push_back(image.points);
    }
    a.count = count;
    a.rows = static_cast<const double*>(program.code.const_data_ptr());
    a.end = program.end;
    a.frames = checked_frames(kOp, frames, count);
    a.layout = layout.data();
    a.ids = ids.data();
    a.register_count = program.registers;
    a.registers = registers.data();
    a.words = reinterpret_cast<float*>(words.data());
  }
};

void draw_targets(Tensor code, Tensor samples, Tensor boxes, Tensor changes, Tensor points,
                  Tensor readings, Text box_format, int64_t seed, int64_t epoch, int64_t frames,
                  std::vector<double> limits) {
  const WholeProgram program(kOp, code);
  const std::vector<const double*> warps = warps_of(program);
  auto* image = rows_of<Sample, int64_t>("samples", samples);
  const int64_t count = samples.size(0);
  Draws draws(program, image, count, frames);
  const Box* box = rows_of<Box>("boxes", boxes);
  auto* change = rows_of<BoxChange>("changes", changes);
  auto* point = rows_of<TargetPoint>("points", points);
  check_counts(kOp, "boxes", draws.box_counts, count, boxes.size(0));
  check_counts(kOp, "changes", draws.box_counts, count, changes.size(0));
  check_counts(kOp, "points", draws.point_counts, count, points.size(0));
  const auto warp_count = static_cast<int64_t>(warps.size());
  auto* const reading = reinterpret_cast<Reading*>(const_cast<double*>(
      check_table<double>(kOp, "readings", readings, {warp_count, count, kReadingNumbers}, boxes)));
  const BoxFormat format = parse_box_format(kOp, box_format);
  check(format.is_upright(), kOp, "expected box_format of upright boxes, but got ", box_format);
  check_boxes(reinterpret_cast<const double*>(box), format, box_format, draws.box_counts);
  const BoxLimits some = checked_limits(kOp, limits);
  const BoxLimits* const limit = limits.empty() ? nullptr : &some;
  draws.a.seed = static_cast<uint64_t>(seed);
  draws.a.epoch = epoch;
  draw_batch(kOp, draws.a);
  auto* result = const_cast<Box*>(box);
  for (int64_t n = 0; n < count; ++n, ++image) {
    const ImageMotion motion(warps, draws.a, n);
    const Box* const first = result;
    for (int64_t k = draws.box_counts[n]; k > 0; --k)
      *change++ = move_box(*box++, motion, format, limit, result);
    for (int64_t k = draws.point_counts[n]; k > 0; --k) motion.move(*point++);
    for (int64_t k = 0; k < warp_count; ++k) reading[k * count + n] = motion.motions[k].reading();
    image->height = static_cast<int64_t>(motion.height_after());
    image->width = static_cast<int64_t>(motion.width_after());
    image->boxes = result - first;
  }
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "draw_targets(Tensor code, Tensor(a!) samples, Tensor(b!) boxes, Tensor(c!) changes, "
      "Tensor(d!) points, Tensor(e!) readings, str box_format, int seed, int epoch, int frames, "
      "float[] limits) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("draw_targets", TORCH_BOX(&orbbec::draw_targets));
}
