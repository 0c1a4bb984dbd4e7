#include "../bridge/pointwise.h"
#include "jpeg.h"

namespace orbbec {

void jpeg_compression_cpu(const JpegArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int jpeg_compression_cuda(const JpegArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "jpeg_compression";

Subsampling parse_subsampling(const std::string& text) {
  if (text == "420") return Subsampling::k420;
  if (text == "444") return Subsampling::k444;
  fail(kOp, "expected subsampling to be one of 420, 444, but got '", text, "'");
}

// Two planes per image; for variable-size images, a buffer as large as that of the images.
Tensor new_chroma(const Tensor& images, const JpegArguments& a) {
  int64_t bytes = 0;
  if (a.source.channels == 3 && a.subsampling == Subsampling::k420) {
    const int64_t height = (int64_t{a.source.height} + 1) / 2;
    const int64_t width = (int64_t{a.source.width} + 1) / 2;
    bytes = a.source.layout != nullptr ? images.numel() : a.source.count * 2 * height * width;
  }
  return new_tensor(kOp, std::vector<int64_t>{bytes}, ScalarType::Byte, images);
}

Tensor jpeg_compression(Tensor images, std::optional<Tensor> layout, int64_t channels,
                        int64_t quality, std::optional<Tensor> qualities, Text subsampling) {
  const AnyImages source = source_images(kOp, images, layout, channels);
  check(images.scalar_type() == ScalarType::Byte, kOp, "expected images of uint8");
  check(source.channels == 1 || source.channels == 3, kOp,
        "expected images of 1 or 3 channels, but got ", source.channels);
  const Subsampling parsed = parse_subsampling(subsampling);
  check(qualities.has_value() || (quality >= 1 && quality <= 100), kOp,
        "expected quality from 1 to 100, but got ", quality);
  const int64_t* const of_images =
      qualities.has_value()
          ? check_table<int64_t>(kOp, "quality", *qualities, {source.count}, images)
          : nullptr;
  const Tensor output = new_pointwise_output(kOp, images, layout, source);
  if (output.numel() == 0) return output;
  JpegArguments a{.source = Images<const uint8_t>(source),
                  .output = Images<uint8_t>(pointwise_output(kOp, output, layout, source.channels)),
                  .qualities = of_images,
                  .quality = quality,
                  .subsampling = parsed,
                  .chroma = nullptr,
                  .tables = {}};
  const Tensor chroma = new_chroma(images, a);
  a.chroma = static_cast<uint8_t*>(chroma.mutable_data_ptr());
  run_where(kOp, images, jpeg_compression_cpu, jpeg_compression_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "jpeg_compression(Tensor images, Tensor? layout, int channels, int quality, "
      "Tensor? qualities, str subsampling) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  orbbec::implement_with_out<TORCH_BOX(&orbbec::jpeg_compression)>(m, "jpeg_compression");
}
