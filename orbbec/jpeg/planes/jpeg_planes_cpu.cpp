#include <algorithm>
#include <memory>
#include <vector>

#include "../../executors/executor_cpu.h"
#include "jpeg_planes.h"

namespace orbbec {
namespace {

// Decodes units until none changes. Returns false after too many rounds.
bool synchronize(const Scan& scan, const Lookups& lookups, std::vector<ScanUnit>& units) {
  for (uint32_t i = 0; i < scan.units; ++i) {
    units.emplace_back(scan, i);
    units[i].count(scan, lookups, ScanWords(scan));
  }
  for (uint32_t round = 0; round < scan.max_rounds(); ++round) {
    bool changed = false;
    for (uint32_t i = scan.units; i-- > 1;) {  // backwards: the exits of the round before
      if (!(units[i].entry != units[i - 1].exit)) continue;
      changed = true;
      units[i].entry = units[i - 1].exit;
      units[i].count(scan, lookups, ScanWords(scan));
    }
    if (!changed) return true;
  }
  return false;
}

// What the segment of each unit has before it.
std::vector<ScanTotals> totals_before(const Scan& scan, const std::vector<ScanUnit>& units) {
  std::vector<ScanTotals> sums(1), before;
  for (const ScanUnit& unit : units) {
    sums.push_back(sums.back());
    sums.back() += unit.totals;
    before.push_back(sums[unit.index] - sums[unit.first_of_segment(scan)]);
  }
  return before;
}

int decode_scan(const JpegPlanes& op, const Scan& scan, int16_t* coefficients) {
  for (uint32_t s = 0; s < scan.packed->segments; ++s) {
    if (!scan.is_ordered(s)) return kBadScan;
  }
  const auto lookups = std::make_unique<Lookups>();
  std::copy(op.positions, op.positions + kCells, lookups->positions);
  for (int i = 0; i < 4; ++i) {
    CodeLookup& lookup = lookups->of[i];
    lookup.set(scan.codes(i));
    for (int s = 0; s < CodeLookup::kSymbols; ++s) lookup.set_symbol(scan.codes(i), s);
    for (int e = 0; e < CodeLookup::kEntries; ++e) lookups->set_entry(i, e);
  }
  std::vector<ScanUnit> units;
  if (!synchronize(scan, *lookups, units)) return kNotSynchronized;
  int flags = 0;
  const std::vector<ScanTotals> blocks = totals_before(scan, units);
  for (uint32_t i = 0; i < scan.units; ++i) {
    flags |= units[i].store(scan, *lookups, ScanWords(scan), blocks[i].blocks, coefficients);
  }
  const std::vector<ScanTotals> before = totals_before(scan, units);
  for (uint32_t i = 0; i < scan.units; ++i) units[i].add_dc(scan, before[i], coefficients);
  return flags;
}

// A block of a component; returns flags.
int write_block(const PlaneBlock& block, int64_t stride, const BlockColumn<int16_t>* coefficients,
                const BlockColumn<uint16_t>* steps) {
  int columns[kBlockSide][kBlockSide];
  bool fits = true;
  for (int x = 0; x < kBlockSide; ++x) {
    fits = inverse_column(coefficients[x], steps[x], columns[x]) && fits;
  }
  for (int y = 0; y < block.rows; ++y) {
    int v[kBlockSide];
    for (int x = 0; x < kBlockSide; ++x) v[x] = columns[x][y];
    inverse_row(v);
    uint8_t* const row = block.first + y * stride;
    for (int x = 0; x < block.columns; ++x) row[x] = static_cast<uint8_t>(v[x]);
  }
  return fits ? 0 : kLargeCoefficient;
}

int decode_image(const JpegPlanes& op, int64_t n) {
  if (!op.has_scan(n)) return 0;
  const Scan scan = op.scan(n);
  if (!scan.is_valid()) return kBadScan;
  int flags = decode_scan(op, scan, op.coefficients_of(n));
  const StoredImage image = op.stored[n];
  const McuRegion region(scan.grid, op.box(n));
  for (int c = 0; c < scan.grid.components(); ++c) {
    const int64_t stride = PlaneBlock::stride_of(image, c);
    for (uint32_t i = 0; i < region.blocks_of(scan.grid, c); ++i) {
      const PlaneBlock block(scan.grid, image, region, c, i);
      flags |= write_block(block, stride, op.columns_of(n, block.index), scan.packed->steps[c]);
    }
  }
  return flags;
}

}  // namespace

void jpeg_planes_cpu(const JpegPlanes& op, const ParallelFor& parallel) {
  parallel(op.stored.planes.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) op.flags[n] = decode_image(op, n);
  });
}

}  // namespace orbbec
