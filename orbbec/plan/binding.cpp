#include "../augment/geometric_options.h"
#include "../bridge/noise.h"
#include "coordinates.h"

namespace orbbec {

// Defined in augment/binding.cpp. regions: int64 [N, 4], the visible region of each image.
void augment_geometric(const Tensor& images, const Tensor& matrix,
                       const std::optional<Tensor>& regions, const GeometricOptions& options,
                       const Tensor& out);

namespace {

constexpr const char* kAreas = "draw_areas";
constexpr const char* kCoordinates = "draw_coordinates";
constexpr const char* kDrawn = "augment_drawn";
constexpr double kMostOfANumber = 1 << 30;  // in a program
constexpr int64_t kPassNumbers = 16;        // of an image in a pass

// int64 [N, 2] of heights and widths.
Tensor checked_sizes(const char* op, const Tensor& sizes) {
  check(sizes.is_cpu() && sizes.dim() == 2 && sizes.size(1) == 2, op,
        "expected sizes of shape [N, 2] on the CPU, but got ", shape_text(sizes));
  const Tensor given = whole_numbers_on(op, "sizes", sizes, sizes);
  const auto* sides = static_cast<const int64_t*>(given.const_data_ptr());
  for (int64_t i = 0; i < given.numel(); ++i) {
    check(sides[i] >= 1 && sides[i] <= kMaxSide, op, "expected images with pixels, but image ",
          i / 2, " is of size [", sides[i / 2 * 2], ", ", sides[i / 2 * 2 + 1], "]");
  }
  return given;
}

Tensor checked_ids(const char* op, const Tensor& sample_ids, const Tensor& sizes) {
  check(sample_ids.is_cpu(), op, "expected sample_ids on the CPU");
  return sample_ids_on(op, sample_ids, sizes, sizes.size(0));
}

void check_range(const char* op, const char* name, double low, double high, double least) {
  check(low >= least && low <= high && high <= 1e30, op, "expected ", name,
        " of two ascending numbers, but got ", low, " and ", high);
}

void draw_areas(StableIValue* stack, uint64_t, uint64_t) {
  Tensor sizes, sample_ids;
  std::vector<double> scale, ratio;
  bool transposed;
  int64_t seed, epoch, position, first;
  unpack(stack, sizes, sample_ids, scale, ratio, transposed, seed, epoch, position, first);
  const Tensor given = checked_sizes(kAreas, sizes);
  const Tensor samples = checked_ids(kAreas, sample_ids, given);
  check(scale.size() == 2 && ratio.size() == 2, kAreas, "expected two numbers of scale and ratio");
  check_range(kAreas, "scale", scale[0], scale[1], 0);
  check_range(kAreas, "ratio", ratio[0], ratio[1], 1e-30);
  check(first >= 0 && first <= 65535, kAreas, "expected first from 0 to 65535, but got ", first);
  const AreaRange range{{scale[0], scale[1]}, {ratio[0], ratio[1]}, transposed};
  const uint32_t at = checked_position(kAreas, position);
  const Tensor output =
      new_tensor(kAreas, std::vector<int64_t>{given.size(0), 5}, ScalarType::Double, given);
  const auto* sides = static_cast<const int64_t*>(given.const_data_ptr());
  const auto* ids = static_cast<const int64_t*>(samples.const_data_ptr());
  auto* to = static_cast<double*>(output.mutable_data_ptr());
  for (int64_t n = 0; n < given.size(0); ++n) {
    PhiloxStream stream(key_of(seed, epoch), static_cast<uint64_t>(ids[n]), at);
    for (int64_t i = 0; i < first; ++i) stream.word();
    const Area area = draw_area(range, sides[2 * n], sides[2 * n + 1], stream);
    for (const double number :
         {area.fits ? 1.0 : 0.0, area.height, area.width, area.top, area.left})
      *to++ = number;
  }
  give(stack, output);
}

struct Row {
  Coordinate kind;
  uint32_t position;
  bool begins_pass;
  const double* numbers;
};

void check_row(const Row& row) {
  const double* const p = row.numbers;
  for (int i = 0; i < kCoordinateNumbers - 3; ++i) {
    check(p[i] >= -kMostOfANumber && p[i] <= kMostOfANumber, kCoordinates,
          "expected numbers of a program between -2^30 and 2^30, but got ", p[i]);
  }
  if (row.kind == Coordinate::kFlipColumns || row.kind == Coordinate::kFlipRows) return;
  check(p[0] >= 1 && (row.kind == Coordinate::kResizeShorter || p[1] >= 1), kCoordinates,
        "expected sizes of at least 1, but got ", p[0], " and ", p[1]);
  if (row.kind != Coordinate::kResizeArea) return;
  check_range(kCoordinates, "scale", p[2], p[3], 0);
  check_range(kCoordinates, "ratio", p[4], p[5], 1e-30);
}

std::vector<Row> rows_of(const Tensor& program) {
  check(program.is_cpu() && program.dim() == 2 && program.size(1) == kCoordinateNumbers &&
            program.scalar_type() == ScalarType::Double && program.is_contiguous(),
        kCoordinates, "expected program as contiguous float64 [K, ", kCoordinateNumbers,
        "] on the CPU, but got shape ", shape_text(program));
  check(program.size(0) <= 4096, kCoordinates, "expected a program of at most 4096 rows, but got ",
        program.size(0));
  std::vector<Row> rows;
  const auto* numbers = static_cast<const double*>(program.const_data_ptr());
  for (int64_t i = 0; i < program.size(0); ++i, numbers += kCoordinateNumbers) {
    const double kind = numbers[0], position = numbers[1];
    check(kind >= 0 && kind < kCoordinateKinds, kCoordinates, "expected kinds from 0 to ",
          kCoordinateKinds - 1, ", but got ", kind);
    check(position >= 0 && position <= 65535, kCoordinates,
          "expected transform indices from 0 to 65535, but got ", position);
    rows.push_back({static_cast<Coordinate>(static_cast<int>(kind)),
                    static_cast<uint32_t>(position), numbers[2] != 0, numbers + 3});
    check_row(rows.back());
  }
  return rows;
}

// For each pass [N, 9] matrices, [N, 4] boxes, [N, 2] sizes and [N] flips, one after the other:
// allocating a tensor for each would take longer than drawing an image's parameters.
struct PassTables {
  double* numbers;
  int64_t count;

  void write(int64_t pass, int64_t n, const ImageState& p) const {
    double* const own = numbers + kPassNumbers * count * pass;
    std::copy_n(p.matrix, 9, own + 9 * n);
    std::copy_n(p.box, 4, own + 9 * count + 4 * n);
    double* const size = own + 13 * count + 2 * n;
    size[0] = static_cast<double>(p.height), size[1] = static_cast<double>(p.width);
    own[15 * count + n] = p.is_flipped ? 1 : 0;
  }
};

void apply_row(ImageState& p, const Row& row, int64_t n, int64_t sample, PhiloxKey key) {
  PhiloxStream stream(key, static_cast<uint64_t>(sample), row.position);
  check(apply_transform(p, row.kind, row.numbers, stream), kCoordinates,
        "expected images of at least ", row.numbers[0], "x", row.numbers[1], ", but image ", n,
        " is ", p.height, "x", p.width);
  check(p.height <= kMaxSide && p.width <= kMaxSide, kCoordinates,
        "expected at most 2147483647 rows and columns, but image ", n, " gets ", p.height, "x",
        p.width);
}

void draw_image(const std::vector<Row>& rows, int64_t n, int64_t sample, const int64_t* size,
                PhiloxKey key, const PassTables& tables) {
  ImageState p = image_state(size[0], size[1]);
  int64_t pass = 0;
  for (const Row& row : rows) {
    if (row.begins_pass) {
      tables.write(pass++, n, p);
      p = image_state(p.height, p.width);
    }
    apply_row(p, row, n, sample, key);
  }
  tables.write(pass, n, p);
}

Tensor draw_coordinates(Tensor sizes, Tensor sample_ids, Tensor program, int64_t passes,
                        int64_t seed, int64_t epoch) {
  const Tensor given = checked_sizes(kCoordinates, sizes);
  const Tensor samples = checked_ids(kCoordinates, sample_ids, given);
  const std::vector<Row> rows = rows_of(program);
  const int64_t count = given.size(0);
  const int64_t begun =
      1 + std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.begins_pass; });
  check(passes == begun, kCoordinates, "expected passes to be ", begun, ", but got ", passes);
  const Tensor output = new_tensor(kCoordinates, std::vector<int64_t>{passes, kPassNumbers * count},
                                   ScalarType::Double, given);
  const PassTables tables{static_cast<double*>(output.mutable_data_ptr()), count};
  const auto* sides = static_cast<const int64_t*>(given.const_data_ptr());
  const auto* ids = static_cast<const int64_t*>(samples.const_data_ptr());
  for (int64_t n = 0; n < count; ++n)
    draw_image(rows, n, ids[n], sides + 2 * n, key_of(seed, epoch), tables);
  return output;
}

// The matrix [3, 3] of an image and, if it is cropped first, its region [4].
void write_matrix(const ImageState& p, double* matrix, int64_t* region) {
  std::copy_n(p.matrix, 9, matrix);
  if (region == nullptr) return;
  for (int i = 0; i < 4; ++i) region[i] = static_cast<int64_t>(p.box[i]);
  matrix[2] -= p.box[0], matrix[5] -= p.box[1];
}

void check_drawn(const Tensor& images, const Tensor& out) {
  check(images.is_cpu() && images.dim() == 4, kDrawn,
        "expected images of shape [N, C, H, W] on the CPU, but got ", shape_text(images));
  check(out.is_cpu() && out.dim() == 4, kDrawn,
        "expected out of shape [N, C, H, W] on the CPU, but got ", shape_text(out));
  for (int i = 2; i < 4; ++i)
    check(images.size(i) >= 1 && images.size(i) <= kMaxSide, kDrawn,
          "expected images with pixels, but got ", shape_text(images));
}

// The arguments of `augment_drawn`, as its schema has them.
struct DrawnCall {
  Tensor images, program, out;
  std::optional<Tensor> sample_ids;
  int64_t seed = 0, epoch = 0;
  bool crops = false;
  std::vector<double> mean, std, fill;
  double scale = 1;
  std::string interpolation, border;

  explicit DrawnCall(StableIValue* stack) {
    unpack(stack, images, sample_ids, program, seed, epoch, crops, mean, std, scale, interpolation,
           border, fill, out);
  }
};

// Draws the matrix of each image and, if it is cropped first, its region; `regions` may be null.
void draw_matrices(const DrawnCall& call, double* matrices, int64_t* regions) {
  const Tensor &images = call.images, &out = call.out;
  const std::vector<Row> rows = rows_of(call.program);
  std::optional<Tensor> samples;
  if (call.sample_ids) samples = checked_ids(kDrawn, *call.sample_ids, images);
  const auto* ids = samples ? static_cast<const int64_t*>(samples->const_data_ptr()) : nullptr;
  for (int64_t n = 0; n < images.size(0); ++n) {
    ImageState p = image_state(images.size(2), images.size(3));
    for (const Row& row : rows) {
      check(!row.begins_pass, kDrawn, "expected a program of one pass");
      apply_row(p, row, n, ids != nullptr ? ids[n] : n, key_of(call.seed, call.epoch));
    }
    check(p.height == out.size(2) && p.width == out.size(3), kDrawn, "expected out of size ",
          p.height, "x", p.width, ", but got ", shape_text(out));
    write_matrix(p, matrices + 9 * n, regions != nullptr ? regions + 4 * n : nullptr);
  }
}

void augment_drawn(StableIValue* stack, uint64_t, uint64_t) {
  const DrawnCall call(stack);
  const Tensor& images = call.images;
  check_drawn(images, call.out);
  const int64_t count = images.size(0);
  std::optional<Tensor> regions;
  if (call.crops)
    regions = new_tensor(kDrawn, std::vector<int64_t>{count, 4}, ScalarType::Long, images);
  const Tensor matrix =
      new_tensor(kDrawn, std::vector<int64_t>{count, 3, 3}, ScalarType::Double, images);
  draw_matrices(call, static_cast<double*>(matrix.mutable_data_ptr()),
                regions ? static_cast<int64_t*>(regions->mutable_data_ptr()) : nullptr);
  augment_geometric(images, matrix, regions,
                    {.mean = call.mean,
                     .std = call.std,
                     .scale = call.scale,
                     .interpolation = call.interpolation,
                     .border = call.border,
                     .fill = call.fill},
                    call.out);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "draw_areas(Tensor sizes, Tensor sample_ids, float[] scale, float[] ratio, bool transposed, "
      "int seed, int epoch, int transform_index, int first) -> Tensor");
  m.def(
      "draw_coordinates(Tensor sizes, Tensor sample_ids, Tensor program, int passes, int seed, int "
      "epoch) -> Tensor");
  m.def(
      "augment_drawn(Tensor images, Tensor? sample_ids, Tensor program, int seed, int epoch, bool "
      "crops, float[] mean, float[] std, float scale, str interpolation, str border, float[] fill, "
      "Tensor(a!) out) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("draw_areas", &orbbec::draw_areas);
  m.impl("draw_coordinates", TORCH_BOX(&orbbec::draw_coordinates));
  m.impl("augment_drawn", &orbbec::augment_drawn);
}
