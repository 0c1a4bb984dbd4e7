#include "../bridge/warp.h"
#include "binding_call.h"
#include "resize_backward.h"

namespace orbbec {

void fill_resize_coefficients_cpu(const ResizeArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int fill_resize_coefficients_cuda(const ResizeArguments& arguments, void* stream);
void resize_cpu(const ResizeArguments& arguments, const ParallelFor& parallel);
void resize_each_cpu(const std::vector<ResizeArguments>& images, const ParallelFor& parallel);
[[gnu::weak]] int resize_cuda(const ResizeArguments& arguments, void* stream);
void resize_backward_cpu(const ResizeBackwardArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int resize_backward_cuda(const ResizeBackwardArguments& arguments, void* stream);

namespace {

// The public operator that a call with or without boxes serves.
const char* name_of(const std::optional<Tensor>& boxes) {
  return boxes.has_value() ? "resized_crop" : "resize";
}

// The options, named as in the schema.
struct ResizeOptions {
  const std::string& interpolation;
  bool antialias;
  const std::string& arithmetic;
};

ResizeMethod parse_cv2_method(const char* op, const ResizeOptions& options) {
  static constexpr std::array<std::pair<const char*, ResizeMethod>, 7> kNames{{
      {"nearest", ResizeMethod::kNearest},
      {"nearest_exact", ResizeMethod::kNearestExact5},
      {"linear", ResizeMethod::kLinear},
      {"linear_exact", ResizeMethod::kLinearExact},
      {"cubic", ResizeMethod::kCubic},
      {"area", ResizeMethod::kArea},
      {"lanczos4", ResizeMethod::kLanczos4},
  }};
  const ResizeMethod method = parse(op, "interpolation", options.interpolation, kNames);
  const bool four = parse_arithmetic(op, options.arithmetic) == Arithmetic::kCv2_4;
  return four && method == ResizeMethod::kNearestExact5 ? ResizeMethod::kNearestExact4 : method;
}

ResizeMethod parse_pillow_method(const char* op, const std::string& interpolation) {
  static constexpr std::array<std::pair<const char*, ResizeMethod>, 7> kNames{{
      {"box", ResizeMethod::kPillowBox},
      {"linear", ResizeMethod::kPillowLinear},
      {"bilinear", ResizeMethod::kPillowLinear},
      {"hamming", ResizeMethod::kPillowHamming},
      {"cubic", ResizeMethod::kPillowCubic},
      {"bicubic", ResizeMethod::kPillowCubic},
      {"lanczos", ResizeMethod::kPillowLanczos},
  }};
  return parse(op, "interpolation of antialias", interpolation, kNames);
}

bool parse_vertical_first_if_tall(const char* op, const std::string& arithmetic) {
  static constexpr std::array<std::pair<const char*, bool>, 2> kNames{{
      {"pillow_13", true},
      {"pillow_12", false},
  }};
  return parse(op, "arithmetic of antialias", arithmetic, kNames);
}

void set_method(const char* op, const ResizeOptions& options, ResizeRequest& request) {
  request.method = options.antialias ? parse_pillow_method(op, options.interpolation)
                                     : parse_cv2_method(op, options);
  request.vertical_first_if_tall =
      options.antialias && parse_vertical_first_if_tall(op, options.arithmetic);
}

// float64 [N, 4] on the device of images; null without boxes. The result must outlive the launch.
std::optional<Tensor> prepare_boxes(const char* op, const Tensor& images,
                                    const std::optional<Tensor>& boxes, int64_t count) {
  if (!boxes.has_value()) return std::nullopt;
  check(boxes->dim() == 2 && boxes->size(0) == count && boxes->size(1) == 4, op,
        "expected boxes of shape [", count, ", 4], but got ", shape_text(*boxes));
  check(boxes->scalar_type() == ScalarType::Double, op, "expected boxes of float64");
  return argument_on_device_of(op, "boxes", *boxes, images);
}

// The most taps of an output pixel if the largest image has `side` pixels along the axis.
int64_t taps_capacity(ResizeMethod method, int64_t side, int64_t out) {
  if (is_nearest(method)) return 1;
  const double scale = static_cast<double>(side) / static_cast<double>(out);
  if (is_pillow(method)) {
    const double reach = pillow_support(method) * std::max(scale, 1.0);
    return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(reach)) * 2 + 1, 1,
                               std::max<int64_t>(side, 1));
  }
  if (method == ResizeMethod::kLanczos4) return 8;
  if (method == ResizeMethod::kCubic) return 4;
  return method == ResizeMethod::kArea ? static_cast<int64_t>(scale) + 3 : 2;
}

int64_t aligned(int64_t bytes) { return (bytes + 15) / 16 * 16; }

// Widens the coefficients to the taps of a result from images of at most `longest` height and
// width.
void widen_taps(const std::vector<int64_t>& longest, int64_t height, int64_t width,
                ResizeArguments& a) {
  int64_t &taps_x = a.coefficients.taps_x, &taps_y = a.coefficients.taps_y;
  taps_x = std::max(taps_x, taps_capacity(a.request.method, longest[1], width));
  taps_y = std::max(taps_y, taps_capacity(a.request.method, longest[0], height));
}

// Memory for the coefficients, which must outlive the launch; sets those of `a`.
std::shared_ptr<void> new_coefficients(const char* op, const Tensor& images, ResizeArguments& a) {
  ResizeCoefficients& t = a.coefficients;
  const bool alike =
      a.source.layout == nullptr && a.request.layout == nullptr && a.request.boxes == nullptr;
  t.sets = alike ? std::min<int64_t>(a.source.count, 1) : a.source.count;
  t.height = a.request.height;
  t.width = a.request.width;
  const int64_t weight_size = a.request.weight_type == WeightType::kFloat64 ? 8 : 4;
  constexpr double kMax = 0x1p50;
  const double weights = static_cast<double>(t.width) * static_cast<double>(t.taps_x) +
                         static_cast<double>(t.height) * static_cast<double>(t.taps_y);
  check(static_cast<double>(t.sets) * weights < kMax && t.width + int64_t{t.height} <= kMaxSide, op,
        "the filter coefficients of ", t.sets, " images are too large");
  const int64_t entries = t.sets * (int64_t{t.width} + t.height);
  const int64_t plan_bytes = aligned(t.sets * static_cast<int64_t>(sizeof(ResizePlan)));
  const int64_t entry_bytes = aligned(entries * static_cast<int64_t>(sizeof(int)));
  const int64_t weight_bytes = t.sets * (t.width * t.taps_x + t.height * t.taps_y) * weight_size;
  const std::shared_ptr<void> memory =
      call_memory(op, plan_bytes + 2 * entry_bytes + weight_bytes, images);
  char* const first = static_cast<char*>(memory.get());
  t.plans = reinterpret_cast<ResizePlan*>(first);
  t.first = reinterpret_cast<int*>(first + plan_bytes);
  t.count = reinterpret_cast<int*>(first + plan_bytes + entry_bytes);
  t.weights = first + plan_bytes + 2 * entry_bytes;
  return memory;
}

void fill_coefficients(const char* op, const Tensor& images, const ResizeArguments& a) {
  run_where(op, images, fill_resize_coefficients_cpu, fill_resize_coefficients_cuda, a);
}

// Sets what the coefficients depend on: the images, the boxes, the size of the output.
void set_geometry(const std::optional<Tensor>& boxes, ResizeArguments& a) {
  a.request.source = a.source;
  a.request.boxes =
      boxes.has_value() ? static_cast<const double*>(boxes->const_data_ptr()) : nullptr;
  a.request.height = a.output.height;
  a.request.width = a.output.width;
  a.request.is_byte = a.dtype == DType::kUInt8;
  a.request.is_wide = a.dtype == DType::kUInt16;
  a.request.weight_type = weight_type(a.request.method, a.dtype);
}

std::vector<int64_t> longest_sides(const char* op, const AnyImages& source,
                                   const std::vector<int64_t>& longest) {
  if (source.layout == nullptr) return {source.height, source.width};
  check(longest.size() == 2 && longest[0] >= 0 && longest[1] >= 0 && longest[0] <= kMaxSide &&
            longest[1] <= kMaxSide,
        op, "expected longest as the greatest (height, width) of the images, but got ",
        shape_text(longest));
  return longest;
}

const bool* check_flips(const char* op, const std::optional<Tensor>& flips, const Tensor& images,
                        int64_t count) {
  if (!flips.has_value()) return nullptr;
  return check_table<bool>(op, "flips", *flips, {count}, images);
}

// Returns the arguments that follow those of `resize`.
StableIValue* unpack_call(StableIValue* stack, ResizeCall& c) {
  return unpack(stack, c.images, c.layout, c.channels, c.boxes, c.size, c.interpolation,
                c.antialias, c.arithmetic, c.longest, c.flips);
}

void resize(StableIValue* stack, uint64_t, uint64_t) {
  ResizeCall call;
  unpack_call(stack, call);
  give(stack, run_resize(call));
}

// But for nearest, which copies the bits of pixels.
void resize_in_floats(FloatImages& floats, ResizeArguments& a) {
  if (!is_nearest(a.request.method)) SourceToOutput{}(floats, a);
}

// `count` images of bytes from image n on.
AnyImages part_of(AnyImages images, int64_t n, int64_t count) {
  images.count = count;
  if (images.layout != nullptr) {
    images.layout += 3 * n;
  } else {
    images.data = static_cast<uint8_t*>(images.data) + n * images.stride_n;
  }
  return images;
}

AnyImages dense_one_of(const Images<uint8_t>& images, int64_t n) {
  const Image<uint8_t> image = images[n];
  AnyImages one{};
  one.data = image.data;
  one.count = 1;
  one.channels = images.channels;
  one.height = image.height;
  one.width = image.width;
  one.stride_y = image.stride_y;
  one.stride_x = image.stride_x;
  one.stride_c = image.stride_c;
  return one;
}

// Of the layout on the device of the images, and of that on the host.
struct RaggedOutput {
  AnyImages images;
  Images<uint8_t> on_host;
};

RaggedOutput ragged_output(const char* op, const ResizeCall& call, const Tensor& layout,
                           const Tensor& host_layout, const AnyImages& source) {
  const Tensor &out = *call.out, &images = call.images;
  check(images.scalar_type() == ScalarType::Byte, op, "expected images of uint8");
  const RaggedOutput output{
      ragged_images(op, out, layout, source.channels),
      Images<uint8_t>(images_of_table(op, out, host_layout, source.channels))};
  check(host_layout.is_cpu(), op, "expected host_layout on the CPU");
  for (const int64_t count : {output.images.count, output.on_host.count})
    check(count == source.count, op, "expected out of ", source.count, " images, but got ", count);
  check(same_device(out, images), op, "expected out on the device of images");
  check_apart(op, out, images, "images");
  if (call.boxes.has_value()) check_apart(op, out, *call.boxes, "boxes");
  if (call.flips.has_value()) check_apart(op, out, *call.flips, "flips");
  return output;
}

// A call whose results have sizes of their own.
struct ResizeEach {
  const char* op;
  const Tensor& images;
  std::vector<int64_t> longest;  // height and width of the sources
  ResizeArguments all;
  RaggedOutput output;

  // The arguments of results [begin, end), whose coefficients fit the largest of them.
  ResizeArguments part(int64_t begin, int64_t end) const {
    ResizeArguments a = all;
    a.source = part_of(all.source, begin, end - begin);
    a.output = part_of(output.images, begin, end - begin);
    a.request.source = a.source;
    a.request.layout = a.output.layout;
    if (all.request.boxes != nullptr) a.request.boxes += 4 * begin;
    if (all.flips != nullptr) a.flips += begin;
    for (int64_t n = begin; n < end; ++n) {
      const Image<uint8_t> image = output.on_host[n];
      check(image.height > 0, op, "image ", n, " of out is not inside its buffer");
      a.request.height = std::max(a.request.height, image.height);
      a.request.width = std::max(a.request.width, image.width);
      widen_taps(longest, image.height, image.width, a);
    }
    a.output.height = a.request.height;
    a.output.width = a.request.width;
    return a;
  }

  // Weights of the coefficients.
  static double weights_of(const ResizeArguments& a) {
    const ResizeCoefficients& t = a.coefficients;
    return static_cast<double>(a.output.count) *
           (static_cast<double>(a.request.width) * static_cast<double>(t.taps_x) +
            static_cast<double>(a.request.height) * static_cast<double>(t.taps_y));
  }

  // On the device, in two launches, or more where one result is so much larger than the others that
  // its coefficients would need too much memory for each.
  void run_on_device(int64_t begin, int64_t end) const {
    constexpr double kMaxWeights = 1 << 23;  // 32 or 64 MB
    constexpr double kMaxExcess = 4;         // of what results of one image need
    ResizeArguments a = part(begin, end);
    double least = 0;
    for (int64_t n = begin; n < end; ++n) least += weights_of(part(n, n + 1));
    if (weights_of(a) > std::max(kMaxWeights, kMaxExcess * least)) {
      const int64_t middle = begin + (end - begin) / 2;
      run_on_device(begin, middle);
      return run_on_device(middle, end);
    }
    if (begin == end) return;
    const std::shared_ptr<void> coefficients = new_coefficients(op, images, a);
    fill_coefficients(op, images, a);
    run_where(op, images, resize_cpu, resize_cuda, a);
  }

  void run_on_host() const {
    std::vector<ResizeArguments> parts;
    std::vector<std::shared_ptr<void>> coefficients;
    for (int64_t n = 0; n < all.source.count; ++n) {
      ResizeArguments& a = parts.emplace_back(part(n, n + 1));
      a.request.layout = nullptr;
      a.output = dense_one_of(output.on_host, n);
      coefficients.push_back(new_coefficients(op, images, a));
    }
    resize_each_cpu(parts, torch_threads());
  }
};

void resize_out(StableIValue* stack, uint64_t, uint64_t) {
  ResizeCall call;
  Tensor out;
  unpack(unpack_call(stack, call), out);
  call.out = out;
  run_resize(call);
}

void resize_each(StableIValue* stack, uint64_t, uint64_t) {
  ResizeCall c;
  Tensor out, layout, host_layout;
  unpack(stack, c.images, c.layout, c.channels, c.boxes, c.interpolation, c.antialias, c.arithmetic,
         c.longest, c.flips, out, layout, host_layout);
  c.out = out;
  const char* const op = name_of(c.boxes);
  ResizeArguments a{};
  a.source = source_images(op, c.images, c.layout, c.channels);
  a.dtype = dtype_of(op, c.images);
  set_method(op, {c.interpolation, c.antialias, c.arithmetic}, a.request);
  const std::vector<int64_t> longest = longest_sides(op, a.source, c.longest);
  const RaggedOutput output = ragged_output(op, c, layout, host_layout, a.source);
  const std::optional<Tensor> boxes = prepare_boxes(op, c.images, c.boxes, a.source.count);
  a.flips = check_flips(op, c.flips, c.images, a.source.count);
  set_geometry(boxes, a);
  const ResizeEach each{op, c.images, longest, a, output};
  runs_cuda_kernels(c.images) ? each.run_on_device(0, a.source.count) : each.run_on_host();
}

Tensor new_float_images(const char* op, const Tensor& like, int64_t height, int64_t width) {
  const std::vector<int64_t> shape{like.size(0), like.size(1), height, width};
  return new_tensor(op, shape, like.scalar_type(), like);
}

// One axis; returns its output.
Tensor spread(const char* op, const Tensor& gradient, const ResizeArguments& forward,
              bool along_y) {
  const Tensor output =
      along_y ? new_float_images(op, gradient, forward.source.height, gradient.size(3))
              : new_float_images(op, gradient, gradient.size(2), forward.source.width);
  if (output.numel() == 0) return output;
  ResizeBackwardArguments a{};
  a.gradient = dense_images(op, "gradient", gradient, const_cast<void*>(gradient.const_data_ptr()));
  a.output = dense_images(op, "output", output, output.mutable_data_ptr());
  a.coefficients = forward.coefficients;
  a.method = forward.request.method;
  a.dtype = forward.dtype;
  a.along_y = along_y;
  run_where(op, gradient, resize_backward_cpu, resize_backward_cuda, a);
  return output;
}

// The gradient of images of `image_size`, from that of the output.
Tensor resize_backward(Tensor gradient, std::optional<Tensor> boxes,
                       std::vector<int64_t> image_size, Text interpolation, bool antialias,
                       Text arithmetic) {
  const char* const op = name_of(boxes);
  ResizeArguments a{};
  check(gradient.scalar_type() == ScalarType::Float || gradient.scalar_type() == ScalarType::Double,
        op, "expected gradient of float32 or float64");
  a.dtype = dtype_of(op, gradient);
  a.output = dense_images(op, "gradient", gradient, nullptr);
  a.source = a.output;
  const std::array<int64_t, 2> sides = output_size(op, a.source, image_size);
  a.source.height = static_cast<int>(sides[0]);
  a.source.width = static_cast<int>(sides[1]);
  set_method(op, {interpolation, antialias, arithmetic}, a.request);
  const std::optional<Tensor> box_table = prepare_boxes(op, gradient, boxes, a.source.count);
  set_geometry(box_table, a);
  if (gradient.numel() == 0) return new_float_images(op, gradient, sides[0], sides[1]);
  widen_taps(image_size, a.request.height, a.request.width, a);
  const std::shared_ptr<void> coefficients = new_coefficients(op, gradient, a);
  fill_coefficients(op, gradient, a);
  return spread(op, spread(op, gradient, a, true), a, false);
}

}  // namespace

Tensor run_resize(const ResizeCall& call) {
  const char* const op = name_of(call.boxes);
  const Tensor& images = call.images;
  const AnyImages source = source_images(op, images, call.layout, call.channels, call.takes_one);
  const std::array<int64_t, 2> extent = output_size(op, source, call.size);
  if (call.out.has_value()) {
    check_output(op, images, *call.out, source, extent);
    if (call.boxes.has_value()) check_apart(op, *call.out, *call.boxes, "boxes");
    if (call.flips.has_value()) check_apart(op, *call.out, *call.flips, "flips");
  }
  const Tensor target = call.out.has_value() ? *call.out : new_output(op, images, source, extent);
  resize_into(dense_images(op, "out", target, target.mutable_data_ptr(), call.takes_one), call,
              [&](const ResizeArguments& a) {
                run_where(op, images, in_floats(op, images, resize_cpu, resize_in_floats),
                          resize_cuda, a);
              });
  return target;
}

void resize_into(const AnyImages& output, const ResizeCall& call,
                 const std::function<void(const ResizeArguments&)>& launch) {
  const char* const op = name_of(call.boxes);
  const Tensor& images = call.images;
  ResizeArguments a{};
  a.source = source_images(op, images, call.layout, call.channels, call.takes_one);
  a.output = output;
  a.dtype = dtype_of(op, images);
  set_method(op, {call.interpolation, call.antialias, call.arithmetic}, a.request);
  const std::vector<int64_t> sides = longest_sides(op, a.source, call.longest);
  const std::optional<Tensor> boxes = prepare_boxes(op, images, call.boxes, a.source.count);
  a.flips = check_flips(op, call.flips, images, a.source.count);
  if (output.count * output.channels == 0) return;
  set_geometry(boxes, a);
  widen_taps(sides, a.request.height, a.request.width, a);
  const std::shared_ptr<void> coefficients = new_coefficients(op, images, a);
  fill_coefficients(op, images, a);
  launch(a);
}

}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "resize(Tensor images, Tensor? layout, int channels, Tensor? boxes, SymInt[] size, "
      "str interpolation, bool antialias, str arithmetic, SymInt[] longest, Tensor? flips=None) -> "
      "Tensor");
  m.def(
      "resize_out(Tensor images, Tensor? layout, int channels, Tensor? boxes, SymInt[] size, "
      "str interpolation, bool antialias, str arithmetic, SymInt[] longest, Tensor? flips, "
      "Tensor(a!) out) -> ()");
  m.def(
      "resize_each(Tensor images, Tensor? layout, int channels, Tensor? boxes, str interpolation, "
      "bool antialias, str arithmetic, SymInt[] longest, Tensor? flips, Tensor(a!) out, "
      "Tensor out_layout, Tensor host_layout) -> ()");
  m.def(
      "resize_backward(Tensor gradient, Tensor? boxes, SymInt[] image_size, str interpolation, "
      "bool antialias, str arithmetic) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("resize", &orbbec::resize);
  m.impl("resize_out", &orbbec::resize_out);
  m.impl("resize_each", &orbbec::resize_each);
  m.impl("resize_backward", TORCH_BOX(&orbbec::resize_backward));
}
