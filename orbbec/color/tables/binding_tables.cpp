#include "../../bridge/pointwise.h"
#include "../binding_call.h"
#include "tables.h"

namespace orbbec {

void histogram_cpu(const HistogramArguments& arguments, const ParallelFor& parallel);
void apply_lut_cpu(const ApplyLut& op, const ParallelFor& parallel);
void make_luts_cpu(const MakeLut& op, int64_t count, const ParallelFor& parallel);
[[gnu::weak]] int histogram_cuda(const HistogramArguments& arguments, void* stream);
[[gnu::weak]] int apply_lut_cuda(const ApplyLut& op, void* stream);
[[gnu::weak]] int make_luts_cuda(const MakeLut& op, int64_t count, void* stream);

namespace {

AnyImages byte_images(const char* op, const Tensor& images, const std::optional<Tensor>& layout,
                      int64_t channels) {
  const AnyImages source = source_images(op, images, layout, channels);
  check(images.scalar_type() == ScalarType::Byte, op, "expected images of uint8");
  return source;
}

Tensor histogram_of(const Tensor& images, const AnyImages& source, const double* drawn) {
  constexpr const char* kOp = "histogram";
  HistogramArguments a{Images<const uint8_t>(source), nullptr, drawn};
  Tensor counts = new_zeros(kOp, std::vector<int64_t>{a.source.count, a.source.channels, kLevels},
                            ScalarType::Long, images);
  if (counts.numel() == 0 || images.numel() == 0) return counts;
  a.counts = static_cast<int64_t*>(counts.mutable_data_ptr());
  run_where(kOp, images, histogram_cpu, histogram_cuda, a);
  return counts;
}

Tensor histogram(Tensor images, std::optional<Tensor> layout, int64_t channels) {
  return histogram_of(images, byte_images("histogram", images, layout, channels), nullptr);
}

Tensor lut(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor table) {
  constexpr const char* kOp = "lut";
  const AnyImages source = byte_images(kOp, images, layout, channels);
  check(table.dim() == 3 && table.size(2) == kLevels &&
            (table.size(0) == 1 || table.size(0) == source.count) &&
            (table.size(1) == 1 || table.size(1) == source.channels),
        kOp, "expected table of shape [256], [", source.channels, ", 256] or [", source.count, ", ",
        source.channels, ", 256], but got ", shape_text(table));
  check(table.scalar_type() == ScalarType::Byte, kOp, "expected table of uint8");
  const Tensor luts = argument_on_device_of(kOp, "table", table, images);
  const Tensor output = new_pointwise_output(kOp, images, layout, source);
  if (output.numel() == 0) return output;
  const ApplyLut op{
      .source = Images<const uint8_t>(source),
      .output = Images<uint8_t>(pointwise_output(kOp, output, layout, source.channels)),
      .luts = static_cast<const uint8_t*>(luts.const_data_ptr()),
      .stride_n = table.size(0) == 1 ? 0 : table.size(1) * kLevels,
      .stride_c = table.size(1) == 1 ? 0 : kLevels};
  run_where(kOp, images, apply_lut_cpu, apply_lut_cuda, op);
  return output;
}

LutKind kind_of(const std::string& name) {
  constexpr std::pair<const char*, LutKind> kNames[] = {{"autocontrast", LutKind::kAutocontrast},
                                                        {"equalize", LutKind::kEqualize},
                                                        {"equalize_hist", LutKind::kEqualizeHist}};
  for (const auto& [known, value] : kNames) {
    if (name == known) return value;
  }
  fail("by_histogram", "expected the name of a lookup table, but got '", name, "'");
}

Tensor make_luts(const char* op, const MakeLut& arguments, const Tensor& like, int64_t count) {
  MakeLut make = arguments;
  const Tensor luts =
      new_tensor(op, std::vector<int64_t>{count, make.channels, kLevels}, ScalarType::Byte, like);
  if (luts.numel() == 0) return luts;
  make.luts = static_cast<uint8_t*>(luts.mutable_data_ptr());
  run_where(op, like, make_luts_cpu, make_luts_cuda, make, count);
  return luts;
}

Tensor histogram_luts(const Tensor& counts, const std::string& name) {
  const char* const op = name.c_str();
  MakeLut make{};
  make.kind = kind_of(name);
  check(counts.size(1) <= kMaxSide, op, "expected fewer channels, but got ", counts.size(1));
  make.counts = static_cast<const int64_t*>(counts.const_data_ptr());
  make.channels = static_cast<int>(counts.size(1));
  return make_luts(op, make, counts, counts.size(0));
}

// Histogram, lookup tables and their application in one call.
Tensor by_histogram(Tensor images, std::optional<Tensor> layout, int64_t channels, Text name) {
  kind_of(name);
  byte_images(name.c_str(), images, layout, channels);
  return lut(images, layout, channels, histogram_luts(histogram(images, layout, channels), name));
}

// Images that are not drawn have no pixels in their histograms, and so LUTs that change nothing.
Tensor run_by_histogram(const std::string& name, const OperatorCall& call) {
  const char* const op = name.c_str();
  const Tensor& images = call.images;
  const AnyImages source = byte_images(op, images, std::nullopt, 0);
  const Tensor luts = histogram_luts(histogram_of(images, source, call.drawn), name);
  const Tensor output =
      call.is_temporary ? images : new_pointwise_output(op, images, std::nullopt, source);
  const ApplyLut apply{
      .source = Images<const uint8_t>(source),
      .output = Images<uint8_t>(pointwise_output(op, output, std::nullopt, source.channels)),
      .luts = static_cast<const uint8_t*>(luts.const_data_ptr()),
      .stride_n = source.channels * kLevels,
      .stride_c = kLevels,
      .drawn = call.is_temporary ? call.drawn : nullptr};
  run_where(op, images, apply_lut_cpu, apply_lut_cuda, apply);
  return output;
}

Tensor gamma_luts(Tensor gamma, double gain) {
  MakeLut make{};
  make.kind = LutKind::kGamma;
  make.channels = 1;
  make.factor = {
      check_per_image("adjust_gamma", "gamma", gamma, gamma, gamma.dim() == 1 ? gamma.size(0) : 0),
      0};
  make.gain = {nullptr, gain};
  return make_luts("adjust_gamma", make, gamma, gamma.size(0));
}

}  // namespace

Tensor run_autocontrast(const OperatorCall& call) { return run_by_histogram("autocontrast", call); }
Tensor run_equalize(const OperatorCall& call) { return run_by_histogram("equalize", call); }

}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("histogram(Tensor images, Tensor? layout, int channels) -> Tensor");
  orbbec::define_with_out(
      m, "lut(Tensor images, Tensor? layout, int channels, Tensor table) -> Tensor");
  orbbec::define_with_out(
      m, "by_histogram(Tensor images, Tensor? layout, int channels, str name) -> Tensor");
  m.def("tables_of_gamma(Tensor gamma, float gain) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("histogram", TORCH_BOX(&orbbec::histogram));
  orbbec::implement_with_out<TORCH_BOX(&orbbec::lut)>(m, "lut");
  orbbec::implement_with_out<TORCH_BOX(&orbbec::by_histogram)>(m, "by_histogram");
  m.impl("tables_of_gamma", TORCH_BOX(&orbbec::gamma_luts));
}
