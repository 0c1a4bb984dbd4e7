#include "../binding/maps.h"
#include "tables.h"

namespace orbbec {

void histogram_cpu(const HistogramArguments& arguments, const ParallelFor& parallel);
void look_up_cpu(const LookUp& op, const ParallelFor& parallel);
void make_tables_cpu(const MakeTable& op, int64_t count, const ParallelFor& parallel);
[[gnu::weak]] int histogram_cuda(const HistogramArguments& arguments, void* stream);
[[gnu::weak]] int look_up_cuda(const LookUp& op, void* stream);
[[gnu::weak]] int make_tables_cuda(const MakeTable& op, int64_t count, void* stream);

namespace {

AnyImages byte_images(const char* op, const Tensor& images, const std::optional<Tensor>& layout,
                      int64_t channels) {
  const AnyImages source = source_images(op, images, layout, channels);
  check(images.scalar_type() == ScalarType::Byte, op, "expected images of uint8");
  return source;
}

Tensor histogram(Tensor images, std::optional<Tensor> layout, int64_t channels) {
  constexpr const char* kOp = "histogram";
  HistogramArguments a{Images<const uint8_t>(byte_images(kOp, images, layout, channels)), nullptr};
  Tensor counts = new_zeros(kOp, std::vector<int64_t>{a.source.count, a.source.channels, kLevels},
                            ScalarType::Long, images);
  if (counts.numel() == 0 || images.numel() == 0) return counts;
  a.counts = static_cast<int64_t*>(counts.mutable_data_ptr());
  run_where(
      kOp, images, [&](const ParallelFor& threads) { histogram_cpu(a, threads); },
      [&](void* stream) { return histogram_cuda(a, stream); });
  return counts;
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
  check(same_device(table, images), kOp, "expected table on the device of images");
  const Tensor tables = contiguous(kOp, table);
  const Tensor output =
      new_map_output(kOp, images, layout, source, source.channels, images.scalar_type());
  if (output.numel() == 0) return output;
  const LookUp op{Images<const uint8_t>(source),
                  Images<uint8_t>(map_output(kOp, output, layout, source.channels)),
                  static_cast<const uint8_t*>(tables.const_data_ptr()),
                  table.size(0) == 1 ? 0 : table.size(1) * kLevels,
                  table.size(1) == 1 ? 0 : kLevels};
  run_where(
      kOp, images, [&](const ParallelFor& threads) { look_up_cpu(op, threads); },
      [&](void* stream) { return look_up_cuda(op, stream); });
  return output;
}

TableKind kind_of(const std::string& name) {
  constexpr std::pair<const char*, TableKind> kNames[] = {
      {"autocontrast", TableKind::kAutocontrast},
      {"equalize", TableKind::kEqualize},
      {"equalize_hist", TableKind::kEqualizeHist}};
  for (const auto& [known, value] : kNames) {
    if (name == known) return value;
  }
  fail("by_histogram", "expected the name of a table, but got '", name, "'");
}

Tensor make_tables(const char* op, const MakeTable& arguments, const Tensor& place, int64_t count) {
  MakeTable make = arguments;
  const Tensor tables =
      new_tensor(op, std::vector<int64_t>{count, make.channels, kLevels}, ScalarType::Byte, place);
  if (tables.numel() == 0) return tables;
  make.tables = static_cast<uint8_t*>(tables.mutable_data_ptr());
  run_where(
      op, place, [&](const ParallelFor& threads) { make_tables_cpu(make, count, threads); },
      [&](void* stream) { return make_tables_cuda(make, count, stream); });
  return tables;
}

Tensor tables_of_histogram(const Tensor& counts, const std::string& name) {
  const char* const op = name.c_str();
  MakeTable make{};
  make.kind = kind_of(name);
  check(counts.size(1) <= kMaxSide, op, "expected fewer channels, but got ", counts.size(1));
  make.counts = static_cast<const int64_t*>(counts.const_data_ptr());
  make.channels = static_cast<int>(counts.size(1));
  return make_tables(op, make, counts, counts.size(0));
}

// Histogram, tables and their application in one call.
Tensor by_histogram(Tensor images, std::optional<Tensor> layout, int64_t channels,
                    std::string name) {
  kind_of(name);
  byte_images(name.c_str(), images, layout, channels);
  return lut(images, layout, channels,
             tables_of_histogram(histogram(images, layout, channels), name));
}

Tensor tables_of_gamma(Tensor gamma, double gain) {
  MakeTable make{};
  make.kind = TableKind::kGamma;
  make.channels = 1;
  make.factor = {
      check_per_image("adjust_gamma", "gamma", gamma, gamma, gamma.dim() == 1 ? gamma.size(0) : 0),
      0};
  make.gain = {nullptr, gain};
  return make_tables("adjust_gamma", make, gamma, gamma.size(0));
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("histogram(Tensor images, Tensor? layout, int channels) -> Tensor");
  m.def("lut(Tensor images, Tensor? layout, int channels, Tensor table) -> Tensor");
  m.def("by_histogram(Tensor images, Tensor? layout, int channels, str name) -> Tensor");
  m.def("tables_of_gamma(Tensor gamma, float gain) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("histogram", TORCH_BOX(&orbbec::histogram));
  m.impl("lut", TORCH_BOX(&orbbec::lut));
  m.impl("by_histogram", TORCH_BOX(&orbbec::by_histogram));
  m.impl("tables_of_gamma", TORCH_BOX(&orbbec::tables_of_gamma));
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) {
  m.impl("histogram", TORCH_BOX(&orbbec::histogram));
  m.impl("lut", TORCH_BOX(&orbbec::lut));
  m.impl("by_histogram", TORCH_BOX(&orbbec::by_histogram));
  m.impl("tables_of_gamma", TORCH_BOX(&orbbec::tables_of_gamma));
}
