#include "../../bridge/stored.h"
#include "jpeg_planes.h"

namespace orbbec {

void jpeg_planes_cpu(const JpegPlanes& op, const ParallelFor& parallel);
[[gnu::weak]] int jpeg_planes_cuda(const JpegPlanes& op, void* stream);

namespace {

constexpr const char* kOp = "jpeg_planes";
constexpr int64_t kMaxBlocks = int64_t{1} << 40, kMaxUnitBits = int64_t{1} << 24;

Tensor jpeg_planes(Tensor scans, Tensor files, Tensor planes, Tensor layout, Tensor forms,
                   int64_t blocks, int64_t unit_bits) {
  const StoredImages stored = stored_images(kOp, planes, layout, forms);
  check(scans.dim() == 1 && scans.is_contiguous() && scans.scalar_type() == ScalarType::Byte, kOp,
        "expected scans as flat contiguous uint8, but got shape ", shape_text(scans));
  check(same_device(scans, planes), kOp, "expected scans on the device of planes");
  check(reinterpret_cast<uintptr_t>(scans.const_data_ptr()) % kScanAlignment == 0, kOp,
        "expected scans at a multiple of ", kScanAlignment, " bytes");
  check(blocks >= 0 && blocks <= kMaxBlocks, kOp, "expected blocks from 0 to 2^40, but got ",
        blocks);
  check(unit_bits >= kMinUnitBits && unit_bits <= kMaxUnitBits, kOp, "expected unit_bits from ",
        kMinUnitBits, " to ", kMaxUnitBits, ", but got ", unit_bits);
  check_apart(kOp, planes, scans, "scans");
  const int64_t count = stored.planes.count;
  const int64_t* const of_files =
      check_table<int64_t>(kOp, "files", files, {count, JpegPlanes::kColumns}, planes);
  const Tensor flags = new_zeros(kOp, std::vector<int64_t>{count}, ScalarType::Int, planes);
  const Tensor coefficients =
      new_zeros(kOp, std::vector<int64_t>{blocks * kCells}, ScalarType::Short, planes);
  if (count == 0) return flags;
  JpegPlanes op{.scans = static_cast<const uint8_t*>(scans.const_data_ptr()),
                .scan_bytes = scans.numel(),
                .files = of_files,
                .stored = stored,
                .coefficients = static_cast<int16_t*>(coefficients.mutable_data_ptr()),
                .blocks = blocks,
                .unit_bits = unit_bits,
                .flags = static_cast<int32_t*>(flags.mutable_data_ptr()),
                .positions = {}};
  for (int i = 0; i < kCells; ++i) op.positions[i] = position_of(i);
  run_where(kOp, planes, jpeg_planes_cpu, jpeg_planes_cuda, op);
  return flags;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "jpeg_planes(Tensor scans, Tensor files, Tensor(a!) planes, Tensor layout, Tensor forms, "
      "int blocks, int unit_bits) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("jpeg_planes", TORCH_BOX(&orbbec::jpeg_planes)); }
