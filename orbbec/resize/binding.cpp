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

// Memory for the coefficients, which must outlive the launch; sets those of `a`.
std::shared_ptr<void> new_coefficients(const char* op, const Tensor& images,
                                       const std::vector<int64_t>& longest, ResizeArguments& a) {
  ResizeCoefficients& t = a.coefficients;
  const bool alike = a.source.layout == nullptr && a.request.boxes == nullptr;
  t.sets = alike ? std::min<int64_t>(a.source.count, 1) : a.source.count;
  t.height = a.request.height;
  t.width = a.request.width;
  t.taps_x = taps_capacity(a.request.method, longest[1], t.width);
  t.taps_y = taps_capacity(a.request.method, longest[0], t.height);
  const int64_t weight_size = dispatch_weight(a.request.method, a.dtype,
                                              [](auto weight) { return int64_t{sizeof(weight)}; });
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

int resize_each_cuda(const std::vector<ResizeArguments>& images, void* stream) {
  for (const ResizeArguments& a : images) {
    if (const int status = fill_resize_coefficients_cuda(a, stream)) return status;
    if (const int status = resize_cuda(a, stream)) return status;
  }
  return 0;
}

// But for nearest, which copies the bits of pixels.
void resize_in_floats(FloatImages& floats, ResizeArguments& a) {
  if (!is_nearest(a.request.method)) SourceToOutput{}(floats, a);
}

// Image n of bytes as a batch of one.
AnyImages one_of(AnyImages images, int64_t n) {
  images.count = 1;
  if (images.layout != nullptr) {
    images.layout += 3 * n;
  } else {
    images.data = static_cast<uint8_t*>(images.data) + n * images.stride_n;
  }
  return images;
}

AnyImages dense_one_of(const char* op, const Images<uint8_t>& images, int64_t n) {
  const Image<uint8_t> image = images[n];
  check(image.height > 0, op, "image ", n, " of out is not inside its buffer");
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

AnyImages ragged_output(const char* op, const ResizeCall& call, const Tensor& layout,
                        const AnyImages& source) {
  const Tensor &out = *call.out, &images = call.images;
  check(images.scalar_type() == ScalarType::Byte, op, "expected images of uint8");
  const AnyImages output = images_of_table(op, out, layout, source.channels);
  check(layout.is_cpu(), op, "expected out_layout on the CPU");
  check(output.count == source.count, op, "expected out of ", source.count, " images, but got ",
        output.count);
  check(same_device(out, images), op, "expected out on the device of images");
  check_apart(op, out, images, "images");
  if (call.boxes.has_value()) check_apart(op, out, *call.boxes, "boxes");
  if (call.flips.has_value()) check_apart(op, out, *call.flips, "flips");
  return output;
}

// Results of the sizes of `layout`, on the host, in the flat buffer `call.out`.
void run_resize_each(const ResizeCall& call, const Tensor& layout) {
  const char* const op = name_of(call.boxes);
  ResizeArguments all{};
  all.source = source_images(op, call.images, call.layout, call.channels);
  all.dtype = dtype_of(op, call.images);
  set_method(op, {call.interpolation, call.antialias, call.arithmetic}, all.request);
  const std::vector<int64_t> sides = longest_sides(op, all.source, call.longest);
  const Images<uint8_t> output(ragged_output(op, call, layout, all.source));
  const std::optional<Tensor> boxes = prepare_boxes(op, call.images, call.boxes, output.count);
  all.flips = check_flips(op, call.flips, call.images, output.count);
  std::vector<ResizeArguments> images(output.count, all);
  std::vector<std::shared_ptr<void>> coefficients;
  for (int64_t n = 0; n < output.count; ++n) {
    ResizeArguments& a = images[n];
    a.source = one_of(all.source, n);
    a.output = dense_one_of(op, output, n);
    set_geometry(boxes, a);
    if (boxes.has_value()) a.request.boxes += 4 * n;
    if (all.flips != nullptr) a.flips += n;
    coefficients.push_back(new_coefficients(op, call.images, sides, a));
  }
  run_where(op, call.images, resize_each_cpu, resize_each_cuda, images);
}

void resize_out(StableIValue* stack, uint64_t, uint64_t) {
  ResizeCall call;
  Tensor out;
  unpack(unpack_call(stack, call), out);
  call.out = out;
  run_resize(call);
}

void resize_each(StableIValue* stack, uint64_t, uint64_t) {
  ResizeCall c;
  Tensor out, layout;
  unpack(stack, c.images, c.layout, c.channels, c.boxes, c.interpolation, c.antialias, c.arithmetic,
         c.longest, c.flips, out, layout);
  c.out = out;
  run_resize_each(c, layout);
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
                       std::vector<int64_t> image_size, std::string interpolation, bool antialias,
                       std::string arithmetic) {
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
  const std::optional<Tensor> held_boxes = prepare_boxes(op, gradient, boxes, a.source.count);
  set_geometry(held_boxes, a);
  if (gradient.numel() == 0) return new_float_images(op, gradient, sides[0], sides[1]);
  const std::shared_ptr<void> coefficients = new_coefficients(op, gradient, image_size, a);
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
  const std::shared_ptr<void> coefficients = new_coefficients(op, images, sides, a);
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
      "Tensor out_layout) -> ()");
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
