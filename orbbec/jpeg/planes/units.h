// Entropy decoding of a packed scan in units of bits, which decode at once: a unit starts from a
// guess, and again from the state in which the unit before it ended, until no state changes. Blocks
// and DC are then sums over units. One unit is the serial decoder. Included by jpeg_planes_cpu.cpp
// and jpeg_planes_cuda.cu.
//
// Source: A. Weissenberger, B. Schmidt, "Accelerating JPEG decompression on GPUs", arXiv
// 2111.09219; ITU-T T.81, annex F.2.
#pragma once

#include "code_lookup.h"

namespace orbbec {

// Why the host must decide about an image.
enum ScanFlag {
  kBadScan = 1,           // the tables of the call do not match
  kNotSynchronized = 2,   // too many rounds
  kNoCode = 4,            // bits that are no code
  kPastBlock = 8,         // an index past the last coefficient
  kWrongLength = 16,      // a segment is shorter or longer than its blocks
  kLargeCoefficient = 32  // where libjpeg's 16-bit arithmetic may wrap
};

constexpr int kMinUnitBits = 128;  // more than a symbol crosses
constexpr int kMaxUnits = 512;     // of a scan

// The packed scan of an image.
struct Scan {
  const PackedScan* packed;
  const uint32_t *begins, *words;
  uint32_t bits, unit_bits, units;
  BlockGrid grid;

  Scan() = default;
  // `bytes`: of the packed scan.
  ORBBEC_HD Scan(const uint8_t* data, int64_t bytes, const BlockGrid& grid, int64_t min_unit_bits)
      : packed(reinterpret_cast<const PackedScan*>(data)), grid(grid) {
    if (!set(data, bytes)) packed = nullptr;
    const uint32_t most = (bits + kMaxUnits - 1) / kMaxUnits;
    unit_bits = larger(most, static_cast<uint32_t>(min_unit_bits));
    units = larger((bits + unit_bits - 1) / unit_bits, 1u);
  }

  ORBBEC_HD bool is_valid() const { return packed != nullptr; }

  // Table i of `Lookups`.
  ORBBEC_HD const PackedCodes& codes(int i) const { return packed->codes[i / 2][i % 2]; }

  // Whether the segments are in order; each segment is asked for.
  ORBBEC_HD bool is_ordered(uint32_t segment) const {
    const uint32_t begin = begins[segment];
    return (segment > 0 || begin == 0) && 8 * begin <= end_of(segment) && begin <= bits / 8;
  }

  ORBBEC_HD uint32_t begin_of(uint32_t segment) const { return 8 * begins[segment]; }
  ORBBEC_HD uint32_t end_of(uint32_t segment) const {
    return segment + 1 < packed->segments ? begin_of(segment + 1) : bits;
  }
  ORBBEC_HD int64_t first_block(uint32_t segment) const {
    return int64_t{segment} * packed->interval * grid.blocks_of_mcu;
  }
  ORBBEC_HD uint32_t blocks_of(uint32_t segment) const {
    const int64_t first = first_block(segment), next = first_block(segment + 1);
    return static_cast<uint32_t>(smaller(next, grid.blocks()) - first);
  }
  // A flat image never synchronizes: unit i is right after round i.
  ORBBEC_HD uint32_t max_rounds() const { return larger(8u, (1u << 18) / unit_bits); }

 private:
  ORBBEC_HD bool set(const uint8_t* data, int64_t bytes) {
    bits = 0;
    if (bytes < PackedScan::bytes_with(1, 0)) return false;
    const int64_t segments = packed->segments, scan_bytes = packed->scan_bytes;
    if (scan_bytes > kMaxScanBytes || bytes < PackedScan::bytes_with(segments, scan_bytes)) {
      return false;
    }
    if (grid.blocks() > 4 * scan_bytes || packed->interval == 0) return false;
    if (segments != divided_up(static_cast<uint32_t>(grid.mcus), packed->interval)) return false;
    begins = reinterpret_cast<const uint32_t*>(data + sizeof(PackedScan));
    words = begins + segments;
    bits = static_cast<uint32_t>(8 * scan_bytes);
    return true;
  }
};

// The words of a scan, in order. Kernels have their own, of the same members.
class ScanWords {
 public:
  // Symbols between two calls of `prefetch`.
  static constexpr uint32_t kSymbols = 4;

  ORBBEC_HD explicit ScanWords(const Scan& scan) : words_(scan.words) {}

  // `next` returns word `index`, its first byte highest.
  ORBBEC_HD void seek(uint32_t index) { next_ = words_ + index; }
  ORBBEC_HD uint32_t next() { return big_endian(*next_++); }
  ORBBEC_HD void prefetch() {}

 private:
  ORBBEC_HD static uint32_t big_endian(uint32_t word) {
    return word << 24 | (word & 0xff00) << 8 | (word >> 8 & 0xff00) | word >> 24;
  }

  const uint32_t *words_, *next_ = nullptr;
};

// The next bits of a scan, highest first. Words are loaded before their bits are needed.
template <class Words>
class ScanReader {
 public:
  ORBBEC_HD explicit ScanReader(const Words& words) : words_(words) {}

  ORBBEC_HD void seek(uint32_t bit) {
    bit_ = bit;
    words_.seek(bit / 32);
    high_ = words_.next();
    low_ = words_.next();
    following_ = words_.next();
  }
  ORBBEC_HD void prefetch() { words_.prefetch(); }

  ORBBEC_HD uint32_t bit() const { return bit_; }
  ORBBEC_HD uint32_t window() const {
    const uint64_t both = static_cast<uint64_t>(high_) << 32 | low_;
    return static_cast<uint32_t>(both << (bit_ & 31) >> 32);
  }
  // At most 31 bits.
  ORBBEC_HD void drop(int bits) {
    const uint32_t word = bit_ / 32;
    bit_ += static_cast<uint32_t>(bits);
    if (bit_ / 32 == word) return;
    high_ = low_;
    low_ = following_;
    following_ = words_.next();
  }

 private:
  Words words_;
  uint32_t high_ = 0, low_ = 0, following_ = 0, bit_ = 0;
};

// Where the decoder is: the next bit, its segment (or their number, at the end), the block of the
// MCU and the index of the next coefficient.
struct ScanState {
  uint32_t bit, segment;
  int32_t block, k;

  ORBBEC_HD bool operator!=(const ScanState& other) const {
    return bit != other.bit || segment != other.segment || block != other.block || k != other.k;
  }
};

// What was decoded of the segment: finished blocks, and the sum of the DC differences of each
// component, modulo 2^32.
struct ScanTotals {
  uint32_t blocks, dc[kMaxComponents];

  ORBBEC_HD ScanTotals operator-(const ScanTotals& other) const {
    return {blocks - other.blocks, {dc[0] - other.dc[0], dc[1] - other.dc[1], dc[2] - other.dc[2]}};
  }
  ORBBEC_HD void operator+=(const ScanTotals& other) {
    blocks += other.blocks;
    for (int c = 0; c < kMaxComponents; ++c) dc[c] += other.dc[c];
  }
};

// Decodes from a state on. kStores: blocks are counted from the segment's begin, and coefficients
// are stored; DC differences are added up from where the walk begins.
template <bool kStores, class Words>
class ScanWalk {
 public:
  ScanState at;
  ScanTotals totals;
  int flags = 0;

  // blocks: before `at`, of its segment. coefficients: [blocks, 64] of the scan, column by column;
  // all 0.
  ORBBEC_HD ScanWalk(const Scan& scan, const Lookups& lookups, const Words& words,
                     const ScanState& at, uint32_t blocks, int16_t* coefficients)
      : at(at),
        totals{blocks, {}},
        scan_(scan),
        lookups_(lookups),
        reader_(words),
        coefficients_(coefficients) {}

  // Stops at the first symbol from bit `end` on, or after the last segment.
  ORBBEC_HD void run(uint32_t end) {
    if (at.segment >= scan_.packed->segments) return;
    begin_segment(end);
    for (uint32_t symbols = 0;; ++symbols) {
      if (symbols % Words::kSymbols == 0) reader_.prefetch();
      if (reader_.bit() < stop_) {
        read_symbol();
        continue;
      }
      at.bit = reader_.bit();
      const bool is_whole = kStores && totals.blocks >= expected_;
      if (!is_whole && at.bit < segment_end_) return;
      // Up to 7 bits fill the last byte.
      if (!is_whole || segment_end_ - at.bit > 7) flags |= kWrongLength;
      at = {segment_end_, at.segment + 1, 0, 0};
      totals = {};
      if (at.segment == scan_.packed->segments) return;
      begin_segment(end);
    }
  }

 private:
  ORBBEC_HD void begin_segment(uint32_t end) {
    reader_.seek(at.bit);
    segment_end_ = scan_.end_of(at.segment);
    stop_ = smaller(segment_end_, end);
    find_lookup();
    if (!kStores) return;
    expected_ = scan_.blocks_of(at.segment);
    block_ = coefficients_ + (scan_.first_block(at.segment) + totals.blocks) * kCells;
    if (totals.blocks >= expected_) stop_ = 0;
  }

  ORBBEC_HD int component() const { return scan_.grid.component_of(at.block); }

  ORBBEC_HD void find_lookup() { lookup_ = &lookups_.of[component() > 0]; }

  ORBBEC_HD void read_symbol() {
    const uint32_t window = reader_.window();
    const Symbol symbol = lookup_[at.k > 0 ? Lookups::kAc : 0].find(window >> 16, at.k == 0);
    reader_.drop(symbol.bits());
    if (kStores) store(symbol, window);
    at.k += symbol.advance();
    if (at.k >= kCells) end_block();
  }

  ORBBEC_HD void end_block() {
    at.k = 0;
    at.block = at.block + 1 == static_cast<int>(scan_.grid.blocks_of_mcu) ? 0 : at.block + 1;
    ++totals.blocks;
    find_lookup();
    if (!kStores) return;
    block_ += kCells;
    if (totals.blocks >= expected_) stop_ = 0;
  }

  ORBBEC_HD void store(const Symbol& symbol, uint32_t window) {
    if (!symbol.is_code()) flags |= kNoCode;
    const int next = at.k + symbol.advance();
    if (at.k == 0) {
      block_[0] = static_cast<int16_t>(add_dc(symbol.number(window)));
    } else if (symbol.advance() == kCells) {
      return;
    } else if (next > kCells) {
      flags |= kPastBlock;
    } else if (symbol.size() > 0) {
      block_[lookups_.positions[next - 1]] = static_cast<int16_t>(symbol.number(window));
    }
  }

  // Returns the component's DC.
  ORBBEC_HD int add_dc(int difference) {
    const int of = component();
    const auto added = static_cast<uint32_t>(difference);
    for (int c = 0; c < kMaxComponents; ++c) totals.dc[c] += c == of ? added : 0;
    return static_cast<int>(element(totals.dc, of));
  }

  const Scan& scan_;
  const Lookups& lookups_;
  ScanReader<Words> reader_;
  int16_t* const coefficients_;
  const CodeLookup* lookup_ = nullptr;
  int16_t* block_ = nullptr;
  uint32_t segment_end_ = 0, stop_ = 0, expected_ = 0;
};

// A unit of a scan.
struct ScanUnit {
  uint32_t index;
  ScanState entry, exit;
  ScanTotals totals;  // since its begin or that of the segment that it ends in

  // Guesses that a DC of an MCU's first block begins with the unit. The first unit begins with the
  // first segment, even if that is empty.
  ORBBEC_HD ScanUnit(const Scan& scan, uint32_t index)
      : index(index), entry{index * scan.unit_bits, 0, 0, 0}, exit(), totals() {
    uint32_t next = index == 0 ? 1 : scan.packed->segments;  // the first that begins later
    while (next - entry.segment > 1) {
      const uint32_t middle = entry.segment + (next - entry.segment) / 2;
      (scan.begin_of(middle) <= entry.bit ? entry.segment : next) = middle;
    }
  }

  ORBBEC_HD uint32_t end(const Scan& scan) const {
    return index + 1 < scan.units ? (index + 1) * scan.unit_bits : 0xffffffff;
  }

  // Decodes the unit without storing, and without DC.
  template <class Words>
  ORBBEC_HD void count(const Scan& scan, const Lookups& lookups, const Words& words) {
    ScanWalk<false, Words> walk(scan, lookups, words, entry, 0, nullptr);
    walk.run(end(scan));
    exit = walk.at;
    totals = walk.totals;
  }

  // The unit from which on totals count: that in which the segment begins.
  ORBBEC_HD uint32_t first_of_segment(const Scan& scan) const {
    if (entry.segment >= scan.packed->segments) return index;
    return smaller(scan.begin_of(entry.segment) / scan.unit_bits, index);
  }

  // Decodes the unit; `blocks`: of the segment before it. The DC of its blocks lacks that of the
  // units before. Returns flags.
  template <class Words>
  ORBBEC_HD int store(const Scan& scan, const Lookups& lookups, const Words& words, uint32_t blocks,
                      int16_t* coefficients) {
    ScanWalk<true, Words> walk(scan, lookups, words, entry, blocks, coefficients);
    walk.run(end(scan));
    for (int c = 0; c < kMaxComponents; ++c) totals.dc[c] = walk.totals.dc[c];
    return walk.flags;
  }

  // Adds what is before the unit to the DC of its blocks in the segment that it begins in.
  ORBBEC_HD void add_dc(const Scan& scan, const ScanTotals& before, int16_t* coefficients) const {
    if (entry.segment >= scan.packed->segments) return;
    uint32_t last = scan.blocks_of(entry.segment);
    if (exit.segment == entry.segment) {
      last = smaller(last, before.blocks + totals.blocks + (exit.k > 0));
    }
    int16_t* const first = coefficients + scan.first_block(entry.segment) * kCells;
    for (uint32_t b = before.blocks + (entry.k > 0); b < last; ++b) {
      const int component = scan.grid.component_of(static_cast<int>(b % scan.grid.blocks_of_mcu));
      int16_t& dc = first[int64_t{b} * kCells];
      dc = static_cast<int16_t>(static_cast<uint32_t>(dc) + element(before.dc, component));
    }
  }
};

}  // namespace orbbec
