#include "../../bridge/pointwise.h"
#include "convert.h"

namespace orbbec {

void cvt_color_cpu(const ConvertArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int cvt_color_cuda(const ConvertArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "cvt_color";

struct Space {
  const char* name;
  int channels;
  Conversion from_rgb, to_rgb;
};

constexpr Space kSpaces[] = {
    {"RGB", 3, Conversion::kCopy, Conversion::kCopy},
    {"BGR", 3, Conversion::kCopy, Conversion::kCopy},
    {"GRAY", 1, Conversion::kRgbToGray, Conversion::kGrayToRgb},
    {"HSV", 3, Conversion::kRgbToHsv, Conversion::kHsvToRgb},
    {"HLS", 3, Conversion::kRgbToHls, Conversion::kHlsToRgb},
    {"YCrCb", 3, Conversion::kRgbToYCrCb, Conversion::kYCrCbToRgb},
    {"YUV", 3, Conversion::kRgbToYuv, Conversion::kYuvToRgb},
    {"LAB", 3, Conversion::kRgbToLab, Conversion::kLabToRgb},
};

const Space& space_of(const char* what, const std::string& name) {
  std::string known;
  for (const Space& space : kSpaces) {
    if (name == space.name) return space;
    known += (known.empty() ? "" : ", ") + std::string(space.name);
  }
  fail(kOp, "expected ", what, " to be one of ", known, ", but got '", name, "'");
}

bool is_rgb(const Space& space) { return space.from_rgb == Conversion::kCopy; }

// BGR is RGB with the channels reversed.
AnyImages in_order(AnyImages images, const Space& space, int64_t element_size) {
  if (std::string(space.name) != "BGR") return images;
  images.data = static_cast<char*>(images.data) + 2 * images.stride_c * element_size;
  images.stride_c = -images.stride_c;
  return images;
}

bool is_lab(const Space& space) { return space.from_rgb == Conversion::kRgbToLab; }

const int32_t* lab_luts(const std::optional<Tensor>& luts, const Tensor& images) {
  check(images.scalar_type() == ScalarType::Byte, kOp, "expected images of uint8 for LAB");
  check(luts.has_value() && luts->dim() == 1 && luts->size(0) == LabLuts::kEntries &&
            luts->scalar_type() == ScalarType::Int && luts->is_contiguous() &&
            same_device(*luts, images),
        kOp, "expected LAB lookup tables: int32 [", LabLuts::kEntries, "] on the device of images");
  return static_cast<const int32_t*>(luts->const_data_ptr());
}

Tensor cvt_color(Tensor images, std::optional<Tensor> layout, int64_t channels, Text source,
                 Text target, std::optional<Tensor> luts) {
  const Space &from = space_of("source", source), &to = space_of("target", target);
  check(is_rgb(from) || is_rgb(to), kOp, "expected RGB or BGR as source or as target, but got '",
        source, "' and '", target, "'");
  check(from.channels >= to.channels || !layout.has_value(), kOp,
        "variable-size images cannot gain channels");
  ConvertArguments a{};
  const AnyImages input = source_images(kOp, images, layout, channels);
  check_pointwise_dtype(kOp, images, false);
  check(input.channels == from.channels, kOp, "expected images of ", from.channels,
        " channels for ", source, ", but got ", input.channels);
  a.dtype = a.output_dtype = dtype_of(kOp, images);
  const Tensor output = new_pointwise_output(kOp, images, layout, input, to.channels);
  if (output.numel() == 0) return output;
  const int64_t size = images.element_size();
  a.source = in_order(input, from, size);
  a.output = in_order(pointwise_output(kOp, output, layout, to.channels), to, size);
  a.conversion = is_rgb(from) ? to.from_rgb : from.to_rgb;
  if (is_lab(from) || is_lab(to)) a.luts = lab_luts(luts, images);
  run_where(kOp, images, cvt_color_cpu, cvt_color_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "cvt_color(Tensor images, Tensor? layout, int channels, str source, str target, "
      "Tensor? tables) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { orbbec::implement_with_out<TORCH_BOX(&orbbec::cvt_color)>(m, "cvt_color"); }
