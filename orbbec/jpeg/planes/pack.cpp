// The entry points that data/decode/native.py loads to pack the scans of JPEGs for jpeg_planes,
// without Python or torch.
#include "../../feed/feed.h"
#include "packed_scan.h"

namespace orbbec {
namespace {

using feed::ScanSize;

constexpr int kEndOfImage = 0xd9, kFirstRestart = 0xd0;

bool are_valid(const CodeLengths& dc, const CodeLengths& ac) {
  Codes codes;
  if (!codes.set(ac) || !codes.set(dc)) return false;
  for (int i = 0; i < dc.size; ++i) {
    if (dc.symbols[i] > 15) return false;
  }
  return true;
}

BlockGrid grid_of(const Frame& frame) {
  return BlockGrid(StoredImage(nullptr, frame.height, frame.width,
                               static_cast<Subsampling>(subsampling_of(frame))));
}

int64_t interval_of(const Frame& frame, const BlockGrid& grid) {
  const int64_t interval = frame.restart_interval;
  return interval > 0 && interval < grid.mcus ? interval : grid.mcus;
}

// Reads the header of a file whose scan can be packed.
bool read_frame(const uint8_t* data, size_t size, Frame& frame) {
  if (!FrameReader(data, size).read(frame)) return false;
  const int64_t scan_bytes = data + size - frame.scan;
  // A block has at least a bit for DC and one for its end.
  if (scan_bytes > kMaxScanBytes || grid_of(frame).blocks() > 4 * scan_bytes) return false;
  for (int c = 0; c < frame.count; ++c) {
    const Component& component = frame.components[c];
    if (!are_valid(frame.dc[component.dc], frame.ac[component.ac])) return false;
  }
  return true;
}

void pack_codes(const CodeLengths& lengths, PackedCodes& codes) {
  std::memcpy(codes.counts, lengths.counts, sizeof(codes.counts));
  std::memcpy(codes.symbols, lengths.symbols, sizeof(codes.symbols));
}

// Copies up to the next marker, without stuffed zeros. Returns the marker; 0 at the end of the
// file.
int copy_segment(const uint8_t*& from, const uint8_t* end, uint8_t*& to) {
  for (;;) {
    const void* const found = std::memchr(from, 0xff, static_cast<size_t>(end - from));
    const uint8_t* const stop = found != nullptr ? static_cast<const uint8_t*>(found) : end;
    std::memcpy(to, from, static_cast<size_t>(stop - from));
    to += stop - from;
    from = stop;
    while (from < end && *from == 0xff) ++from;  // fill bytes before a marker
    if (from == end) return 0;
    if (const int marker = *from++) return marker;
    *to++ = 0xff;
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Returns whether jpeg_planes supports the file.
int orbbec_jpeg_scan_size(const uint8_t* data, size_t size, ScanSize* scan) {
  Frame frame;
  if (!read_frame(data, size, frame)) return 0;
  const BlockGrid grid = grid_of(frame);
  const int64_t segments = divided_up(grid.mcus, interval_of(frame, grid));
  *scan = {.most_bytes = PackedScan::bytes_with(segments, data + size - frame.scan),
           .blocks = grid.blocks(),
           .height = frame.height,
           .width = frame.width,
           .subsampling = subsampling_of(frame)};
  return 1;
}

// Writes the packed scan of such a file to `out`, aligned to kScanAlignment. Returns its bytes; 0
// if a restart marker or the end of the image is not where it should be.
int64_t orbbec_jpeg_pack_scan(const uint8_t* data, size_t size, uint8_t* out) {
  Frame frame;
  if (!read_frame(data, size, frame)) return 0;
  const BlockGrid grid = grid_of(frame);
  PackedScan& packed = *reinterpret_cast<PackedScan*>(out);
  packed = {};
  packed.interval = static_cast<uint32_t>(interval_of(frame, grid));
  packed.segments = divided_up(static_cast<uint32_t>(grid.mcus), packed.interval);
  for (int c = 0; c < frame.count; ++c) {
    const Component& component = frame.components[c];
    pack_codes(frame.dc[component.dc], packed.codes[0][c > 0]);
    pack_codes(frame.ac[component.ac], packed.codes[1][c > 0]);
    const uint16_t* const steps = frame.steps[component.steps];
    for (int i = 0; i < kCells; ++i) {
      packed.steps[c][i / kBlockSide].of[i % kBlockSide] =
          steps[i % kBlockSide * kBlockSide + i / kBlockSide];
    }
  }
  uint32_t* const begins = reinterpret_cast<uint32_t*>(out + sizeof(PackedScan));
  uint8_t* const first = reinterpret_cast<uint8_t*>(begins + packed.segments);
  const uint8_t* from = frame.scan;
  uint8_t* to = first;
  for (uint32_t s = 0; s < packed.segments; ++s) {
    begins[s] = static_cast<uint32_t>(to - first);
    const int marker = copy_segment(from, data + size, to);
    const bool is_last = s + 1 == packed.segments;
    if (marker != (is_last ? kEndOfImage : kFirstRestart + static_cast<int>(s % 8))) return 0;
  }
  packed.scan_bytes = static_cast<uint32_t>(to - first);
  std::memset(to, 0, kScanPadding);
  return PackedScan::bytes_with(packed.segments, packed.scan_bytes);
}
}
#pragma GCC visibility pop
}  // namespace orbbec
