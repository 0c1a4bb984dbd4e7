#include "../../bridge/float_images.h"
#include "../../bridge/pointwise.h"
#include "../binding_call.h"
#include "adjust.h"

namespace orbbec {

void adjust_cpu(const AdjustArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int adjust_cuda(const AdjustArguments& arguments, void* stream);

namespace {

Adjustment adjustment_of(const std::string& name) {
  constexpr std::pair<const char*, Adjustment> kNames[] = {
      {"adjust_brightness", Adjustment::kBrightness},
      {"adjust_contrast", Adjustment::kContrast},
      {"adjust_saturation", Adjustment::kSaturation},
      {"adjust_hue", Adjustment::kHue},
      {"adjust_gamma", Adjustment::kGamma},
      {"adjust_sharpness", Adjustment::kSharpness},
      {"invert", Adjustment::kInvert},
      {"posterize", Adjustment::kPosterize},
      {"solarize", Adjustment::kSolarize},
  };
  for (const auto& [known, value] : kNames) {
    if (name == known) return value;
  }
  fail("adjust_color", "expected the name of an adjustment, but got '", name, "'");
}

// Of pixels alone, kernels convert half precision by themselves.
void neighbors_in_floats(FloatImages& floats, AdjustArguments& a) {
  if (a.adjustment != Adjustment::kSharpness) return;
  SourceToOutput{}(floats, a);
  a.output_dtype = a.dtype;
}

Tensor adjust_color(Tensor images, std::optional<Tensor> layout, int64_t channels, Text name,
                    double factor, std::optional<Tensor> factors, double gain,
                    std::optional<Tensor> mean) {
  const char* const op = name.c_str();
  AdjustArguments a{};
  a.adjustment = adjustment_of(name);
  a.source = source_images(op, images, layout, channels);
  check_pointwise_dtype(op, images, true);
  a.dtype = a.output_dtype = dtype_of(op, images);
  const int64_t count = a.source.count;
  a.factor = {check_per_image(op, "factor", factors, images, count), factor};
  a.gain = gain;
  a.mean = check_per_image(op, "mean", mean, images, count);
  check(mean.has_value() || a.adjustment != Adjustment::kContrast, op,
        "expected the mean of each image");
  const bool mixes = a.adjustment == Adjustment::kHue || a.adjustment == Adjustment::kSaturation;
  check(!mixes || a.source.channels == 3, op, "expected images of 3 channels, but got ",
        a.source.channels);
  check(a.adjustment != Adjustment::kGamma || a.dtype != DType::kUInt8, op,
        "expected floating-point images: uint8 images use a lookup table");
  const Tensor output = new_pointwise_output(op, images, layout, a.source);
  if (output.numel() == 0) return output;
  a.output = pointwise_output(op, output, layout, a.source.channels);
  run_where(op, images, in_floats(op, images, adjust_cpu, neighbors_in_floats), adjust_cuda, a);
  return output;
}

}  // namespace

Tensor run_adjust_sharpness(const OperatorCall& call) {
  constexpr const char* kOp = "adjust_sharpness";
  const Tensor& images = call.images;
  AdjustArguments a{};
  a.adjustment = Adjustment::kSharpness;
  a.source = source_images(kOp, images, std::nullopt, 0);
  check_pointwise_dtype(kOp, images, true);
  a.dtype = a.output_dtype = dtype_of(kOp, images);
  a.factor = call.arguments[0];
  a.drawn = call.drawn;
  const Tensor output = new_pointwise_output(kOp, images, std::nullopt, a.source);
  a.output = pointwise_output(kOp, output, std::nullopt, a.source.channels);
  run_where(kOp, images, in_floats(kOp, images, adjust_cpu, neighbors_in_floats), adjust_cuda, a);
  return output;
}
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "adjust_color(Tensor images, Tensor? layout, int channels, str name, float factor, "
      "Tensor? factors, float gain, Tensor? mean) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  orbbec::implement_with_out<TORCH_BOX(&orbbec::adjust_color)>(m, "adjust_color");
}
