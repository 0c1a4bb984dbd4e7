// `run`: draws the parameters of a batch and runs the passes of a program, in one call.
#include "../augment/augment.h"
#include "../augment/crop/binding_call.h"
#include "binding_draws.h"

namespace orbbec {
namespace {

// Images between passes.
struct Batch {
  Tensor images;
  std::optional<Tensor> layout;
  int64_t channels;
  std::vector<int64_t> longest;  // of variable-size images
  bool interleaves = false;      // whether warps between passes give channels last
  bool is_temporary = false;     // whether a pass made them
};

// What a pass does to values.
AugmentCall value_call(const double* row, const Batch& batch, const Parameters& p,
                       const std::optional<Tensor>& out) {
  AugmentCall call;
  call.takes_one = true;
  call.tables.colors = p.rows(row[kColorWords], row[kColorCount], kStepNumbers);
  call.tables.boxes = p.rows(row[kEraseWords], row[kEraseCount], kBoxNumbers);
  call.mean = list_in(row, kStatisticCount, kMean);
  call.std = list_in(row, kStatisticCount, kStd);
  call.out = out;
  call.dtype = kDtypes[index_in(row, kDtype)];
  const bool was_byte = batch.images.scalar_type() == ScalarType::Byte;
  const bool is_byte = call.dtype == ScalarType::Byte;
  call.scale = was_byte == is_byte ? 1.0 : is_byte ? 255.0 : 1.0 / 255;
  call.max_value = was_byte ? 255 : 1;
  call.contrast = row[kContrast] != 0;
  call.channels_last = row[kLayout] < 0
                           ? reads_channels_last(source_images(kRun, batch.images, batch.layout,
                                                               batch.channels, true))
                           : row[kLayout] != 0;
  return call;
}

AugmentCall augment_call(const double* row, const Batch& batch, const Parameters& p,
                         const std::optional<Tensor>& out) {
  AugmentCall call = value_call(row, batch, p, out);
  call.images = batch.images;
  call.layout = batch.layout;
  call.channels = batch.channels;
  call.tables.matrices = p.rows_at<float>(row[kMatrixWords], 9);
  call.size = p.size(row);
  call.interpolation = kReadings[index_in(row, kReading)];
  call.border = kBorders[index_in(row, kBorder)];
  call.fill = list_in(row, kFillCount, kFill);
  if (row[kRegionWords] >= 0) call.tables.regions = p.rows_at<int64_t>(row[kRegionWords], 4);
  return call;
}

ResizeCall resize_call(const double* row, const Batch& batch, const Parameters& p) {
  ResizeCall call;
  call.takes_one = true;
  call.images = batch.images;
  call.layout = batch.layout;
  call.channels = batch.channels;
  call.boxes = p.boxes(row[kBoxWords]);
  call.size = p.size(row);
  call.interpolation = kReadings[index_in(row, kReading)];
  call.antialias = row[kAntialias] != 0;
  call.arithmetic = call.antialias ? "pillow_13" : "cv2_5";
  call.longest = batch.longest;
  if (row[kFlipWords] >= 0) call.flips = p.flags(row[kFlipWords]);
  return call;
}

// Whether the host sees that an operator changes none of the images.
bool changes_nothing(const double* row, const Batch& batch, const Parameters& p) {
  if (row[kKind] != kOperatorPass || runs_cuda_kernels(batch.images)) return false;
  const double* const drawn = p.column(row[kDrawnWords]);
  return drawn != nullptr && std::all_of(drawn, drawn + p.count, [](double x) { return x == 0; });
}

// Whether a pass changes no value of any pixel, as the host sees.
bool keeps_values(const double* row, const Batch& batch, const Parameters& p) {
  if (row[kKind] != kAugmentPass || runs_cuda_kernels(batch.images)) return false;
  if (batch.images.scalar_type() != ScalarType::Byte ||
      kDtypes[index_in(row, kDtype)] != ScalarType::Byte)
    return false;
  if (row[kStatisticCount] > 0 || row[kEraseCount] > 0) return false;
  const TableRows colors = p.rows(row[kColorWords], row[kColorCount], kStepNumbers);
  const int64_t count = colors.count * p.count;
  for (int64_t i = 0; i < count; ++i)
    if (!(colors.rows[i * kStepNumbers] < 1)) return false;  // else no step
  return true;
}

// A view of the rectangle that a pass cuts out of one image of the caller; none if it does more.
std::optional<Tensor> cut_out(const double* row, const Batch& batch, const Parameters& p) {
  const bool is_one = p.count == 1 && !batch.layout && !batch.is_temporary;
  if (!is_one || !keeps_values(row, batch, p) || row[kRegionWords] >= 0) return std::nullopt;
  const WholeShift shift(p.rows_at<float>(row[kMatrixWords], 9));
  const Tensor& images = batch.images;
  const int64_t y = images.dim() - 2, x = y + 1;  // dimensions
  const std::vector<int64_t> size = p.size(row);
  const auto fits = [](int64_t step, int64_t first, int64_t length, int64_t whole) {
    return step == 1 && first >= 0 && first + length <= whole;
  };
  if (!fits(shift.step_y, shift.top, size[0], images.size(y))) return std::nullopt;
  if (!fits(shift.step_x, shift.left, size[1], images.size(x))) return std::nullopt;
  std::vector<int64_t> shape(images.sizes().begin(), images.sizes().end());
  const std::vector<int64_t> strides(images.strides().begin(), images.strides().end());
  std::copy(size.begin(), size.end(), shape.begin() + y);
  auto* const first = static_cast<uint8_t*>(const_cast<void*>(images.const_data_ptr()));
  return torch::stable::from_blob(first + shift.top * strides[y] + shift.left * strides[x], shape,
                                  strides, images.device(), ScalarType::Byte);
}

// In `out` if the operator makes new results.
Tensor run_operator(const double* row, const Batch& batch, const Parameters& p,
                    const std::optional<Tensor>& out) {
  struct Scope {
    ~Scope() { output_of_variant = nullptr; }
  };
  check(!batch.layout, kRun, "expected images of one size for an operator");
  const Scope scope;
  if (out && out->dim() == 4) output_of_variant = &*out;
  const bool is_one = batch.images.dim() == 3;
  OperatorCall call{is_one ? torch::stable::unsqueeze(batch.images, 0) : batch.images,
                    {},
                    p.column(row[kDrawnWords]),
                    batch.is_temporary};
  const RunOperator& entry = kOperators[index_in(row, kOperator)];
  for (int i = 0; i < entry.argument_count(); ++i)
    call.arguments.push_back({p.column(row[kArguments + 2 * i]), row[kArguments + 2 * i + 1]});
  const Tensor result = entry.run(call);
  return is_one ? torch::stable::squeeze(result, 0) : result;
}

// Between passes the next one reads interleaved bytes faster.
Tensor new_interleaved(const double* row, const Batch& batch, const Parameters& p) {
  const std::vector<int64_t> size = p.size(row);
  const std::vector<int64_t> shape{p.count, batch.images.size(1), size[0], size[1]};
  return new_images(kRun, batch.images, shape, true, kDtypes[index_in(row, kDtype)]);
}

Tensor run_pass(const double* row, const Batch& batch, const Parameters& p,
                std::optional<Tensor> out) {
  if (row[kKind] == kOperatorPass) return run_operator(row, batch, p, out);
  if (row[kKind] == kAugmentPass) {
    if (!out && batch.interleaves) out = new_interleaved(row, batch, p);
    return run_augment(augment_call(row, batch, p, out));
  }
  ResizeCall crop = resize_call(row, batch, p);
  if (row[kKind] == kCropPass) return run_augment_crop(crop, value_call(row, batch, p, out));
  crop.out = out;
  return run_resize(crop);
}

std::vector<int64_t> longest_sides(const RunCall& call) {
  if (!call.layout) return {};
  std::vector<int64_t> longest{1, 1};
  const auto* const rows = static_cast<const int64_t*>(call.host_layout->const_data_ptr());
  for (int64_t i = 0; i < call.host_layout->numel(); ++i)
    if (i % 3 > 0) longest[i % 3 - 1] = std::max(longest[i % 3 - 1], rows[i]);
  return longest;
}

// Leaves the results in `out`, unless there is none or the last pass changes images in place.
Tensor run_passes(const RunProgram& program, Batch batch, const Parameters& p,
                  const std::optional<Tensor>& out) {
  for (int64_t k = 0; k < program.pass_count; ++k) {
    const double* const row = program.pass(k);
    const bool is_last = k + 1 == program.pass_count;
    if ((!is_last || batch.is_temporary) && changes_nothing(row, batch, p)) continue;
    if (const auto view = is_last ? std::nullopt : cut_out(row, batch, p)) {
      batch.images = *view;
      continue;
    }
    batch.images = run_pass(row, batch, p, is_last ? out : std::nullopt);
    batch.layout = std::nullopt;
    batch.is_temporary = true;
  }
  return batch.images;
}

// How the images of a batch go through several passes on the CPU: a few at a time on one core,
// whose cache has what a pass leaves for the next one.
class Ranges {
 public:
  Ranges(const RunCall& call, const RunProgram& program, const Parameters& p)
      : call_(call), program_(program), p_(p) {
    for (int64_t k = 0; k < program.pass_count; ++k) add_pass(program.pass(k));
    // One by one they are interleaved, which the results of an operator at the end would be, too.
    const bool is_faster = can_share() && last_pass()[kKind] != kOperatorPass;
    if (call.layout) one_by_one_ |= is_faster || program.pass(0)[kKind] == kOperatorPass;
    length_ = one_by_one_ ? 1 : longest_length();
  }

  bool is_one() const { return p_.count <= length_; }

  // The results of all images.
  Tensor run() const {
    const std::vector<int64_t> size = size_of(last_pass());
    const std::vector<int64_t> shape{p_.count, channels(), size[0], size[1]};
    if (call_.out) check_output_of(kRun, *call_.out, shape, dtype_, call_.images);
    const Tensor out =
        call_.out ? *call_.out : new_images(kRun, call_.images, shape, channels_last_, dtype_);
    const auto run_range = [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; n += length_) run_some(n, std::min(n + length_, end), out);
    };
    if (can_share()) {
      torch_threads()(p_.count, length_, run_range);
    } else {  // each pass shares its work among the threads
      run_range(0, p_.count);
    }
    return out;
  }

 private:
  static constexpr double kCacheBytes = 1 << 19;  // of the results between two passes
  static constexpr int64_t kRangesPerThread = 4;  // with fewer, threads wait at the end

  // The fewest images that threads share.
  static int64_t least_count() { return kRangesPerThread * torch::stable::get_num_threads(); }
  bool can_share() const { return !runs_cuda_kernels(call_.images) && p_.count >= least_count(); }

  int64_t channels() const { return call_.layout ? call_.channels : call_.images.size(1); }
  const double* last_pass() const { return program_.pass(program_.pass_count - 1); }
  std::vector<int64_t> size_of(const double* row) const { return p_.of(0, 1).size(row); }

  void add_pass(const double* row) {
    const bool has_one_size = !p_.on_host || p_.have_one_size(row);
    one_by_one_ |= !has_one_size;
    if (row[kKind] == kAugmentPass || row[kKind] == kCropPass) {
      dtype_ = kDtypes[index_in(row, kDtype)];
      if (row[kLayout] >= 0) channels_last_ = row[kLayout] != 0;
    }
    channels_last_ &= has_one_size;  // as pass by pass, where images of several sizes are apart
    if (!p_.on_host || row == last_pass()) return;
    const std::vector<int64_t> size = size_of(row);
    const int item = dtype_ == ScalarType::Byte ? 1 : dtype_ == ScalarType::Float ? 4 : 2;
    const double pixels = static_cast<double>(size[0]) * static_cast<double>(size[1]);
    bytes_ = std::max(bytes_, pixels * static_cast<double>(channels() * item));
  }

  // Of images whose results have one size in each pass.
  int64_t longest_length() const {
    if (call_.layout || !can_share()) return p_.count;
    return std::clamp<int64_t>(static_cast<int64_t>(kCacheBytes / bytes_), 1,
                               p_.count / least_count());
  }

  void run_some(int64_t begin, int64_t end, const Tensor& out) const {
    Tensor to = rows_of(out, begin, end);
    const Tensor results = run_passes(program_, images_of(begin, end), p_.of(begin, end), to);
    if (results.const_data_ptr() != to.const_data_ptr()) torch::stable::copy_(to, results);
  }

  Batch images_of(int64_t begin, int64_t end) const {
    const Tensor some = call_.layout ? one_of_layout(begin) : rows_of(call_.images, begin, end);
    return {some, std::nullopt, call_.channels, {}, one_by_one_};
  }

  // A view of some images.
  static Tensor rows_of(const Tensor& whole, int64_t begin, int64_t end) {
    std::array<int64_t, 4> shape;
    std::copy_n(whole.sizes().begin(), shape.size(), shape.begin());
    shape[0] = end - begin;
    char* const first = static_cast<char*>(const_cast<void*>(whole.const_data_ptr())) +
                        begin * whole.stride(0) * whole.element_size();
    return torch::stable::from_blob(first, {shape.data(), shape.size()}, whole.strides(),
                                    whole.device(), whole.scalar_type());
  }

  Tensor one_of_layout(int64_t n) const {
    const Tensor& buffer = call_.images;
    const AnyImages all = images_of_table(kRun, buffer, *call_.host_layout, call_.channels);
    const Image<const uint8_t> image = Images<const uint8_t>(all)[n];
    check(image.height > 0, kRun, "image ", n, " is not inside its buffer");
    const std::array<int64_t, 4> shape{1, call_.channels, image.height, image.width};
    const std::array<int64_t, 4> strides{buffer.numel(), 1, image.stride_y, image.stride_x};
    return torch::stable::from_blob(const_cast<uint8_t*>(image.data), {shape.data(), shape.size()},
                                    {strides.data(), strides.size()}, buffer.device(),
                                    ScalarType::Byte);
  }

  const RunCall& call_;
  const RunProgram& program_;
  const Parameters& p_;
  bool one_by_one_ = false;  // as images of several sizes, also between passes, are fastest
  double bytes_ = 1;         // the most of an image between two passes
  ScalarType dtype_ = call_.images.scalar_type();
  bool channels_last_ =
      reads_channels_last(source_images(kRun, call_.images, call_.layout, call_.channels, true));
  int64_t length_ = 0;  // images of a range
};

Tensor run(const RunCall& call) {
  const RunProgram program(call);
  const Parameters parameters = draw_parameters(call, program);
  check(parameters.count > 0, kRun, "expected at least 1 image");
  if (call.count() > 1 && program.pass_count > 1) {
    const Ranges ranges(call, program, parameters);
    if (!ranges.is_one()) return ranges.run();
  }
  const Batch batch{call.images, call.layout, call.channels, longest_sides(call)};
  return run_passes(program, batch, parameters, call.out);
}

template <RunCall (*call_of)(StableIValue*)>
void run_boxed(StableIValue* stack, uint64_t, uint64_t) {
  stack[0] = torch::stable::detail::from(run(call_of(stack)));
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "run(Tensor images, Tensor code, int seed, int epoch=0, Tensor? sample_ids=None, "
      "Tensor? layout=None, Tensor? host_layout=None, int channels=0, "
      "Tensor? code_on_device=None, Tensor? epoch_tensor=None, Tensor? out=None, "
      "int frames=1) -> Tensor");
  m.def("run_seed(Tensor images, Tensor code, int seed) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("run", &orbbec::run_boxed<&orbbec::RunCall::of>);
  m.impl("run_seed", &orbbec::run_boxed<&orbbec::RunCall::of_seed>);
}
