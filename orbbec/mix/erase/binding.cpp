#include "../../bridge/noise.h"
#include "../../bridge/pointwise.h"
#include "erase.h"

namespace orbbec {

void erase_cpu(const EraseArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int erase_cuda(const EraseArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "erase";

// The arguments of `erase`, as its schema has them; `rest` points to those that follow.
struct Call {
  Tensor images, boxes;
  std::optional<Tensor> layout, fills, sample_ids;
  int64_t channels = 0, seed = 0, epoch = 0, transform_index = 0;
  double fill = 0;
  std::string noise;
  StableIValue* rest;

  explicit Call(StableIValue* stack)
      : rest(unpack(stack, images, layout, channels, boxes, fills, fill, noise, seed, sample_ids,
                    epoch, transform_index)) {}
};

// Sets the boxes of `a`. The result must outlive the launch, as must those of the functions below.
Tensor prepare_boxes(const Tensor& boxes, const Tensor& images, EraseArguments& a) {
  const int64_t count = a.source.count;
  check(boxes.dim() == 3 && (boxes.size(0) == count || boxes.size(0) == 1) && boxes.size(2) == 4,
        kOp, "expected boxes of shape [4], [", count, ", 4] or [", count, ", K, 4], but got ",
        shape_text(boxes));
  const Tensor there = whole_numbers_on(kOp, "boxes", boxes, images);
  a.boxes = static_cast<const int64_t*>(there.const_data_ptr());
  a.rectangles = there.size(1);
  a.boxes_stride = there.size(0) == 1 ? 0 : 4 * a.rectangles;
  return there;
}

std::optional<Tensor> prepare_fills(const std::optional<Tensor>& fills, const Tensor& images,
                                    EraseArguments& a) {
  if (!fills.has_value()) return std::nullopt;
  const int64_t sizes[] = {a.source.count, a.rectangles, a.source.channels};
  bool fits = fills->dim() == 3;
  for (int d = 0; fits && d < 3; ++d) fits = fills->size(d) == sizes[d] || fills->size(d) == 1;
  check(fits, kOp, "expected fill of shape [", sizes[2], "], [", sizes[0], ", ", sizes[2], "] or [",
        sizes[0], ", ", sizes[1], ", ", sizes[2], "], but got ", shape_text(*fills));
  check(fills->scalar_type() == ScalarType::Double, kOp, "expected fill of float64");
  const Tensor there = argument_on_device_of(kOp, "fill", *fills, images);
  const int64_t channels = there.size(2);
  a.fills = static_cast<const double*>(there.const_data_ptr());
  a.fill_stride_c = channels == 1 ? 0 : 1;
  a.fill_stride_k = there.size(1) == 1 ? 0 : channels;
  a.fill_stride_n = there.size(0) == 1 ? 0 : there.size(1) * channels;
  return there;
}

std::optional<Tensor> prepare_noise(const Call& call, EraseArguments& a) {
  a.noise.kind = call.noise == "none" ? Noise::kNone : parse_noise(kOp, call.noise);
  a.noise.key = key_of(call.seed, call.epoch);
  a.noise.position = checked_position(kOp, call.transform_index);
  if (!call.sample_ids.has_value()) return std::nullopt;
  const Tensor there = sample_ids_on(kOp, *call.sample_ids, call.images, a.source.count);
  a.noise.samples = static_cast<const int64_t*>(there.const_data_ptr());
  return there;
}

// Whether both are the same elements in memory.
bool are_one(const Tensor& a, const Tensor& b) {
  if (a.const_data_ptr() != b.const_data_ptr() || a.scalar_type() != b.scalar_type()) return false;
  return std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin(), b.sizes().end()) &&
         std::equal(a.strides().begin(), a.strides().end(), b.strides().begin(), b.strides().end());
}

void check_target(const Tensor& images, const std::optional<Tensor>& layout, const Tensor& out,
                  const AnyImages& source) {
  if (are_one(images, out)) {
    check(!overlaps_itself(out), kOp, "expected out whose elements do not share memory");
    return;
  }
  if (!layout.has_value())
    return check_output(kOp, images, out, source, {images.size(2), images.size(3)});
  check(out.dim() == 1 && out.numel() == images.numel(), kOp, "expected out of shape ",
        shape_text(images), ", but got ", shape_text(out));
  check(same_device(out, images), kOp, "expected out on the device of images");
  check_apart(kOp, out, images, "images");
}

Tensor run(const Call& call, const Tensor* out) {
  const Tensor& images = call.images;
  const std::optional<Tensor>& layout = call.layout;
  EraseArguments a{};
  a.source = source_images(kOp, images, layout, call.channels);
  a.dtype = dtype_of(kOp, images);
  a.fill = call.fill;
  const Tensor boxes = prepare_boxes(call.boxes, images, a);
  const std::optional<Tensor> fills = prepare_fills(call.fills, images, a);
  const std::optional<Tensor> samples = prepare_noise(call, a);
  if (out != nullptr) check_target(images, layout, *out, a.source);
  const Tensor target = out != nullptr ? *out : new_pointwise_output(kOp, images, layout, a.source);
  if (target.numel() == 0 || a.source.count == 0) return target;
  a.output = pointwise_output(kOp, target, layout, call.channels);
  run_where(kOp, images, erase_cpu, erase_cuda, a);
  return target;
}

void erase(StableIValue* stack, uint64_t, uint64_t) { give(stack, run(Call(stack), nullptr)); }

void erase_out(StableIValue* stack, uint64_t, uint64_t) {
  const Call call(stack);
  Tensor out;
  unpack(call.rest, out);
  run(call, &out);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "erase(Tensor images, Tensor? layout, int channels, Tensor boxes, Tensor? fills, float fill, "
      "str noise, SymInt seed, Tensor? sample_ids, SymInt epoch, SymInt transform_index) -> "
      "Tensor");
  m.def(
      "erase_out(Tensor images, Tensor? layout, int channels, Tensor boxes, Tensor? fills, "
      "float fill, str noise, SymInt seed, Tensor? sample_ids, SymInt epoch, SymInt "
      "transform_index, "
      "Tensor(a!) out) -> ()");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("erase", &orbbec::erase);
  m.impl("erase_out", &orbbec::erase_out);
}
