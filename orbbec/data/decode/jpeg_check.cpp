// Checks the entropy-coded data of a JPEG without decoding pixels. Damage is defined by libjpeg's
// warnings, which decoders such as Pillow and cv2 do not report. Also rejects files whose headers
// would exhaust time or memory. An entry point of a shared library loaded by native.py, without
// Python, torch or libjpeg.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include "jpeg_bits.h"

namespace orbbec {
namespace {

constexpr int kMaxScans = 500, kMaxComponents = 4;

// Blocks that all scans together may visit: about 2 s. Files of 100 million pixels and ten scans
// stay below; larger ones may visit each block kMaxBlockVisits times.
constexpr int64_t kMaxVisits = int64_t{1} << 27, kMaxBlockVisits = 32;

struct Component {
  int id, factor_x, factor_y;     // sampling factors
  int64_t columns, rows;          // blocks inside the image
  int64_t stride, lines;          // blocks of whole MCUs
  int8_t known[kCoefficients];    // the lowest bit that was sent; -1: none
  std::vector<uint64_t> nonzero;  // progressive files: one bit per coefficient of each block
};

struct Scan {
  int count, first, last, high, low;  // components; coefficients; bits
  Component* components[kMaxComponents];
  Codes *dc[kMaxComponents], *ac[kMaxComponents];
};

class File {
 public:
  File(const uint8_t* data, size_t size, bool walks)
      : at_(data), end_(data + size), walks_(walks) {}

  void check() {
    if (end_ - at_ < 2 || at_[0] != 0xff || at_[1] != 0xd8) damaged("no JPEG");
    at_ += 2;
    for (int marker = next_marker(); marker != 0xd9; marker = next_marker()) {
      read(marker);
      if (!walks_ && !is_progressive_ && scans_ == 1 && has_all_) return;  // no more can follow
    }
    if (components_.empty()) damaged("no frame");
    for (const Component& component : components_) {
      for (int k = 0; k < kCoefficients; ++k) {
        if (component.known[k] != 0) damaged("scans are missing");
      }
    }
  }

 private:
  int next_marker() {
    while (true) {
      const void* found = std::memchr(at_, 0xff, static_cast<size_t>(end_ - at_));
      at_ = found ? static_cast<const uint8_t*>(found) : end_;
      while (at_ < end_ && *at_ == 0xff) ++at_;
      if (at_ == end_) damaged("the file is cut off");
      if (*at_++ != 0) return at_[-1];
    }
  }

  void read(int marker) {
    if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) return;
    if (end_ - at_ < 2) damaged("the file is cut off");
    const int length = at_[0] << 8 | at_[1];
    if (length < 2 || end_ - at_ < length) damaged("a segment is cut off");
    const uint8_t *body = at_ + 2, *end = at_ + length;
    at_ = end;
    if (marker == 0xc4) {
      read_tables(body, end);
    } else if (marker >= 0xc0 && marker <= 0xc2) {
      read_frame(body, end, marker == 0xc2);
    } else if (marker >= 0xc3 && marker <= 0xcf && marker != 0xc8 && marker != 0xcc) {
      unknown("of lossless, hierarchical or arithmetic coding");
    } else if (marker == 0xdd && length == 4) {
      restart_ = body[0] << 8 | body[1];
    } else if (marker == 0xda) {
      read_scan(body, end);
    }
  }

  void read_tables(const uint8_t* at, const uint8_t* end) {
    while (end - at >= 17) {
      Table& table = tables_[(at[0] >> 4) & 1][at[0] & 3];
      if (at[0] & 0xec) damaged("a bad Huffman table");
      int total = 0;
      for (int i = 1; i <= 16; ++i) total += table.counts[i] = at[i];
      at += 17;
      if (total > 256 || end - at < total) damaged("a bad Huffman table");
      std::memset(table.symbols, 0, sizeof table.symbols);
      std::memcpy(table.symbols, at, total);
      table.is_there = true;
      at += total;
    }
  }

  void read_frame(const uint8_t* body, const uint8_t* end, bool is_progressive) {
    if (!components_.empty()) damaged("two frames");
    if (end - body < 6 || end - body != 6 + 3 * body[5]) damaged("a bad frame");
    is_progressive_ = is_progressive;
    const int height = body[1] << 8 | body[2], width = body[3] << 8 | body[4], count = body[5];
    if (body[0] != 8 || height == 0 || width == 0 || count < 1 || count > kMaxComponents) {
      unknown("of other than 8 bits, 1 to 4 components and a known height");
    }
    for (int c = 0; c < count; ++c) {
      const uint8_t* of = body + 6 + 3 * c;
      Component component{};
      component.id = of[0];
      component.factor_x = of[1] >> 4;
      component.factor_y = of[1] & 15;
      if (component.factor_x < 1 || component.factor_x > 4 || component.factor_y < 1 ||
          component.factor_y > 4) {
        damaged("a bad sampling factor");
      }
      std::memset(component.known, -1, sizeof component.known);
      max_factor_x_ = std::max(max_factor_x_, component.factor_x);
      max_factor_y_ = std::max(max_factor_y_, component.factor_y);
      components_.push_back(component);
    }
    mcu_columns_ = up(width, 8 * max_factor_x_);
    mcu_rows_ = up(height, 8 * max_factor_y_);
    int64_t blocks = 0;
    for (Component& of : components_) {
      of.columns = up(up(int64_t{width} * of.factor_x, max_factor_x_), 8);
      of.rows = up(up(int64_t{height} * of.factor_y, max_factor_y_), 8);
      of.stride = mcu_columns_ * of.factor_x;
      of.lines = mcu_rows_ * of.factor_y;
      blocks += of.columns * of.rows;
    }
    // A block has at least one bit for its DC coefficient and, in baseline files, one for the
    // others.
    if ((end_ - at_) * 8 < blocks * (is_progressive ? 1 : 2)) {
      bomb("too few bytes for so many pixels");
    }
    most_visits_ = std::max(kMaxVisits, kMaxBlockVisits * blocks);
    if (!is_progressive || !walks_) return;
    for (Component& of : components_) of.nonzero.resize(static_cast<size_t>(of.stride * of.lines));
  }

  static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

  void read_scan(const uint8_t* body, const uint8_t* end) {
    if (components_.empty()) damaged("a scan before the frame");
    if (++scans_ > kMaxScans) bomb("more than 500 scans");
    Scan scan{};
    scan.count = body < end ? body[0] : 0;
    if (scan.count < 1 || scan.count > kMaxComponents || end - body != 4 + 2 * scan.count) {
      damaged("a bad scan");
    }
    const uint8_t* progress = body + 1 + 2 * scan.count;
    scan.first = is_progressive_ ? progress[0] : 0;
    scan.last = is_progressive_ ? progress[1] : 63;
    scan.high = is_progressive_ ? progress[2] >> 4 : 0;
    scan.low = is_progressive_ ? progress[2] & 15 : 0;
    const bool is_dc = scan.first == 0;
    if (is_progressive_ && ((is_dc && scan.last != 0) || scan.first > scan.last || scan.last > 63 ||
                            (!is_dc && scan.count != 1) ||
                            (scan.high && scan.low != scan.high - 1) || scan.low > 13)) {
      damaged("a bad scan");
    }
    for (int i = 0; i < scan.count; ++i) {
      Component* component = nullptr;
      for (Component& each : components_) {
        if (each.id == body[1 + 2 * i]) component = &each;
      }
      if (component == nullptr) damaged("a scan of no component");
      for (int before = 0; before < i; ++before) {
        if (scan.components[before] == component) damaged("a bad scan");
      }
      scan.components[i] = component;
      const int dc = body[2 + 2 * i] >> 4, ac = body[2 + 2 * i] & 15;
      const bool reads_dc = !is_progressive_ || (is_dc && !scan.high);
      if (walks_ && reads_dc) scan.dc[i] = derived(0, dc);
      if (walks_ && (!is_progressive_ || !is_dc)) scan.ac[i] = derived(1, ac);
      for (int k = scan.first; k <= scan.last; ++k) {
        component->known[k] = static_cast<int8_t>(scan.low);
      }
      visits_ += component->columns * component->rows;
    }
    if (visits_ > most_visits_) bomb("too many scans for so many pixels");
    has_all_ = scan.count == static_cast<int>(components_.size());
    if (walks_) walk(scan);
  }

  Codes* derived(int is_ac, int number) {
    if (number > 3) damaged("a missing Huffman table");
    Table table = tables_[is_ac][number];
    if (!table.is_there) {
      if (number > 1) damaged("a missing Huffman table");
      const uint8_t* counts = is_ac ? kAcCounts[number] : kDcCounts[number];
      std::memcpy(table.counts + 1, counts, 16);
      for (int i = 0; i < 12; ++i) table.symbols[i] = static_cast<uint8_t>(i);
      if (is_ac) std::memcpy(table.symbols, kAcSymbols[number], sizeof kAcSymbols[number]);
    }
    Codes& codes = codes_[is_ac][number];
    codes.derive(table);
    if (!is_ac) {
      int total = 0;
      for (int i = 1; i <= 16; ++i) total += table.counts[i];
      for (int i = 0; i < total; ++i) {
        if (table.symbols[i] > 15) damaged("a bad Huffman table");
      }
    }
    return &codes;
  }

  void walk(const Scan& scan) {
    Bits bits(at_, end_);
    const Component& only = *scan.components[0];
    const bool is_alone = scan.count == 1;
    const int64_t columns = is_alone ? only.columns : mcu_columns_;
    const int64_t rows = is_alone ? only.rows : mcu_rows_;
    int64_t left = restart_;
    int marker = 0;
    uint32_t skipped = 0;  // following blocks without coefficients
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t x = 0; x < columns; ++x) {
        if (restart_ && left-- == 0) {
          at_ = bits.at();
          if (next_marker() != 0xd0 + marker) damaged("a restart marker is missing");
          bits = Bits(at_, end_);
          marker = (marker + 1) & 7;
          left = restart_ - 1;
          skipped = 0;
        }
        for (int i = 0; i < scan.count; ++i) {
          Component& of = *scan.components[i];
          const int factor_x = is_alone ? 1 : of.factor_x, factor_y = is_alone ? 1 : of.factor_y;
          for (int v = 0; v < factor_y; ++v) {
            for (int h = 0; h < factor_x; ++h) {
              const int64_t block = (y * factor_y + v) * of.stride + x * factor_x + h;
              walk_block(scan, i, bits, block, skipped);
            }
          }
        }
      }
    }
    at_ = bits.at();
  }

  void walk_block(const Scan& scan, int i, Bits& bits, int64_t block, uint32_t& skipped) {
    if (!is_progressive_) return bits.skip_block(*scan.dc[i], *scan.ac[i]);
    if (scan.first == 0) {
      if (scan.high) return (void)bits.take(1);
      return (void)bits.take(bits.symbol(*scan.dc[i], true));
    }
    uint64_t& nonzero = scan.components[i]->nonzero[static_cast<size_t>(block)];
    if (scan.high) {
      refine(scan, bits, *scan.ac[i], nonzero, skipped);
    } else {
      first_bits(scan, bits, *scan.ac[i], nonzero, skipped);
    }
  }

  static void first_bits(const Scan& scan, Bits& bits, const Codes& ac, uint64_t& nonzero,
                         uint32_t& skipped) {
    if (skipped) {
      --skipped;
      return;
    }
    for (int k = scan.first; k <= scan.last; ++k) {
      const int symbol = bits.symbol(ac, true), zeros = symbol >> 4, size = symbol & 15;
      if (size == 0 && zeros != 15) {
        skipped = (1u << zeros) + bits.take(zeros) - 1;
        break;
      }
      k += zeros;
      bits.take(size);
      if (size) nonzero |= uint64_t{1} << (k > 63 ? 63 : k);
    }
  }

  static void refine(const Scan& scan, Bits& bits, const Codes& ac, uint64_t& nonzero,
                     uint32_t& skipped) {
    int k = scan.first;
    for (; skipped == 0 && k <= scan.last; ++k) {
      const int symbol = bits.symbol(ac, true), size = symbol & 15;
      int zeros = symbol >> 4;
      if (size == 0 && zeros != 15) {
        skipped = (1u << zeros) + bits.take(zeros);
        break;
      }
      if (size > 1) damaged("a bad Huffman code");
      bits.take(size);  // the sign
      for (; k <= scan.last; ++k) {
        if (nonzero >> k & 1) {
          bits.take(1);
        } else if (--zeros < 0) {
          break;
        }
      }
      if (size) nonzero |= uint64_t{1} << (k > 63 ? 63 : k);
    }
    if (skipped == 0) return;
    const uint64_t rest = k > 63 ? 0 : nonzero >> k << k << (63 - scan.last);
    for (int left = __builtin_popcountll(rest); left > 0; left -= 16) bits.take(std::min(left, 16));
    --skipped;
  }

  const uint8_t *at_, *end_;
  const bool walks_;
  bool is_progressive_ = false, has_all_ = false;
  int scans_ = 0, restart_ = 0, max_factor_x_ = 1, max_factor_y_ = 1;
  int64_t mcu_columns_ = 0, mcu_rows_ = 0, visits_ = 0, most_visits_ = 0;
  std::vector<Component> components_;
  Table tables_[2][4];
  Codes codes_[2][4];
};

}  // namespace

extern "C" {

// Returns 0 for an intact file, 1 for a damaged one, 2 if damage cannot be determined, 3 for a file
// made to exhaust time or memory. Writes the reason, at most 200 bytes, to `message`. Reads only
// headers unless `walks`.
__attribute__((visibility("default"))) int orbbec_jpeg_check(const uint8_t* data, size_t size,
                                                             int walks, char* message) {
  try {
    File(data, size, walks != 0).check();
    return kWhole;
  } catch (const Bad& bad) {
    std::snprintf(message, 200, "%s", bad.reason);
    return bad.verdict;
  } catch (const std::exception&) {  // out of memory
    std::snprintf(message, 200, "no memory for %zu bytes", size);
    return kBomb;
  }
}
}
}  // namespace orbbec
