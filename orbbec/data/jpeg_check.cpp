// Walks through the entropy-coded data of a JPEG without decoding pixels, and tells damage by the
// rules of libjpeg's warnings: for decoders that keep those to themselves, as Pillow and cv2 do.
// And tells from its headers whether a file was made to burn time and memory, for all decoders. An
// entry of a shared library, loaded by native.py, that holds no Python, no torch and no libjpeg.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

namespace orbbec {
namespace {

constexpr int kMostScans = 500, kMostComponents = 4, kCoefficients = 64;
constexpr int kLookahead = 9;  // bits: most codes are shorter, and the table stays in the L1 cache

// Blocks that all scans together may visit: some 2 s. Files of 100 million pixels and ten scans
// stay below; larger ones may visit each block so often.
constexpr int64_t kMostVisits = int64_t{1} << 27, kMostVisitsOfBlock = 32;

enum Verdict { kWhole, kDamaged, kUnknown, kBomb };

struct Bad {
  Verdict verdict;
  const char* reason;
};

[[noreturn]] void damaged(const char* reason) { throw Bad{kDamaged, reason}; }
[[noreturn]] void bomb(const char* reason) { throw Bad{kBomb, reason}; }
[[noreturn]] void unknown(const char* reason) { throw Bad{kUnknown, reason}; }

struct Table {
  bool is_there = false;
  uint8_t counts[17] = {}, symbols[256] = {};
};

// Annex K of ITU T.81: frames of Motion JPEG leave these tables out.
constexpr uint8_t kDcCounts[2][16] = {{0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
                                      {0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}};
constexpr uint8_t kAcCounts[2][16] = {{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d},
                                      {0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77}};
constexpr uint8_t kAcSymbols[2][162] = {
    {0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61,
     0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52,
     0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25,
     0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45,
     0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64,
     0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
     0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
     0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6,
     0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3,
     0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8,
     0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa},
    {0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61,
     0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33,
     0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18,
     0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44,
     0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63,
     0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a,
     0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
     0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4,
     0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca,
     0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7,
     0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa}};

// A table as it is read by: codes of up to kLookahead bits at once, longer ones bit by bit.
struct Codes {
  uint16_t at_once[1 << kLookahead];  // length << 8 | symbol; 0: a longer code
  int32_t last[18], offset[17];       // by length
  uint8_t symbols[256];

  void derive(const Table& table) {
    std::memset(at_once, 0, sizeof at_once);
    std::memcpy(symbols, table.symbols, sizeof symbols);
    int32_t code = 0, place = 0;
    for (int length = 1; length <= 16; ++length, code <<= 1) {
      const int count = table.counts[length];
      offset[length] = place - code;
      last[length] = count ? code + count - 1 : -1;
      if (code + count > 1 << length || place + count > 256) damaged("a bad Huffman table");
      for (int i = 0; i < count; ++i, ++code, ++place) {
        if (length > kLookahead) continue;
        const int spare = kLookahead - length;
        for (int low = 0; low < 1 << spare; ++low) {
          at_once[code << spare | low] = static_cast<uint16_t>(length << 8 | symbols[place]);
        }
      }
    }
  }
};

// Bits up to the next marker, before which stuffed zeros are left out.
class Bits {
 public:
  Bits(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  const uint8_t* at() const { return at_; }

  uint32_t take(int count) {
    if (count == 0) return 0;
    if (count_ < count) fill(count);
    count_ -= count;
    return static_cast<uint32_t>(held_ >> count_) & ((1u << count) - 1);
  }

  // 17 bits that are no code are taken for a 0, as libjpeg does; `strict`: they are damage, which
  // libjpeg-turbo tells only of progressive files.
  int symbol(const Codes& codes, bool strict) {
    if (count_ < kLookahead) fill(0);
    const int found = codes.at_once[peek()];
    const int length = found >> 8;
    if (length && length <= count_) {
      count_ -= length;
      return found & 0xff;
    }
    int size = 1;
    for (int32_t code = static_cast<int32_t>(take(1));; code = code << 1 | int32_t(take(1))) {
      if (size <= 16 && code <= codes.last[size]) {
        return codes.symbols[(code + codes.offset[size]) & 0xff];
      }
      if (++size > 17) break;
    }
    if (strict) damaged("a bad Huffman code");
    return 0;
  }

 private:
  int peek() const {
    const uint64_t bits =
        count_ < kLookahead ? held_ << (kLookahead - count_) : held_ >> (count_ - kLookahead);
    return static_cast<int>(bits & ((1 << kLookahead) - 1));
  }

  void fill(int needed) {
    while (count_ <= 48) {
      if (at_ == end_) damaged("the file is cut off");
      if (*at_ == 0xff) {
        const uint8_t* next = at_ + 1;
        while (next < end_ && *next == 0xff) ++next;
        if (next == end_) damaged("the file is cut off");
        if (*next != 0) break;  // a marker
        at_ = next;
        push(0xff);
      } else {
        push(*at_);
      }
      ++at_;
    }
    if (count_ < needed) damaged("the data of a scan break off");
  }

  void push(uint8_t byte) {
    held_ = held_ << 8 | byte;
    count_ += 8;
  }

  const uint8_t *at_, *end_;
  uint64_t held_ = 0;
  int count_ = 0;
};

struct Component {
  int id, across, down;           // sampling factors
  int64_t columns, rows;          // blocks, those that lie in the image
  int64_t stride, lines;          // blocks, those of whole MCUs
  int8_t known[kCoefficients];    // the lowest bit that was sent; -1: nothing
  std::vector<uint64_t> nonzero;  // of progressive files: a bit a coefficient of each block
};

struct Scan {
  int count, first, last, high, low;  // components; coefficients; bits
  Component* components[kMostComponents];
  Codes *dc[kMostComponents], *ac[kMostComponents];
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
    if (body[0] != 8 || height == 0 || width == 0 || count < 1 || count > kMostComponents) {
      unknown("of other than 8 bits, 1 to 4 components and a known height");
    }
    for (int c = 0; c < count; ++c) {
      const uint8_t* of = body + 6 + 3 * c;
      Component component{};
      component.id = of[0];
      component.across = of[1] >> 4;
      component.down = of[1] & 15;
      if (component.across < 1 || component.across > 4 || component.down < 1 ||
          component.down > 4) {
        damaged("a bad sampling factor");
      }
      std::memset(component.known, -1, sizeof component.known);
      most_across_ = component.across > most_across_ ? component.across : most_across_;
      most_down_ = component.down > most_down_ ? component.down : most_down_;
      components_.push_back(component);
    }
    mcu_columns_ = up(width, 8 * most_across_);
    mcu_rows_ = up(height, 8 * most_down_);
    int64_t blocks = 0;
    for (Component& of : components_) {
      of.columns = up(up(int64_t{width} * of.across, most_across_), 8);
      of.rows = up(up(int64_t{height} * of.down, most_down_), 8);
      of.stride = mcu_columns_ * of.across;
      of.lines = mcu_rows_ * of.down;
      blocks += of.columns * of.rows;
    }
    // A block has at least a bit for its DC coefficient, and one for the others of a baseline file.
    if ((end_ - at_) * 8 < blocks * (is_progressive ? 1 : 2)) {
      bomb("too few bytes for so many pixels");
    }
    most_visits_ = std::max(kMostVisits, kMostVisitsOfBlock * blocks);
    if (!is_progressive || !walks_) return;
    for (Component& of : components_) of.nonzero.resize(static_cast<size_t>(of.stride * of.lines));
  }

  static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

  void read_scan(const uint8_t* body, const uint8_t* end) {
    if (components_.empty()) damaged("a scan before the frame");
    if (++scans_ > kMostScans) bomb("more than 500 scans");
    Scan scan{};
    scan.count = body < end ? body[0] : 0;
    if (scan.count < 1 || scan.count > kMostComponents || end - body != 4 + 2 * scan.count) {
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
    uint32_t skipped = 0;  // blocks that follow without coefficients
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
          const int across = is_alone ? 1 : of.across, down = is_alone ? 1 : of.down;
          for (int v = 0; v < down; ++v) {
            for (int h = 0; h < across; ++h) {
              const int64_t block = (y * down + v) * of.stride + x * across + h;
              walk_block(scan, i, bits, block, skipped);
            }
          }
        }
      }
    }
    at_ = bits.at();
  }

  void walk_block(const Scan& scan, int i, Bits& bits, int64_t block, uint32_t& skipped) {
    if (!is_progressive_) return baseline(bits, *scan.dc[i], *scan.ac[i]);
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

  static void baseline(Bits& bits, const Codes& dc, const Codes& ac) {
    bits.take(bits.symbol(dc, false));
    for (int k = 1; k < kCoefficients; ++k) {
      const int symbol = bits.symbol(ac, false), zeros = symbol >> 4, size = symbol & 15;
      if (size == 0 && zeros != 15) break;
      k += zeros;
      bits.take(size);
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
    for (; k <= scan.last; ++k) {
      if (nonzero >> k & 1) bits.take(1);
    }
    --skipped;
  }

  const uint8_t *at_, *end_;
  const bool walks_;
  bool is_progressive_ = false, has_all_ = false;
  int scans_ = 0, restart_ = 0, most_across_ = 1, most_down_ = 1;
  int64_t mcu_columns_ = 0, mcu_rows_ = 0, visits_ = 0, most_visits_ = 0;
  std::vector<Component> components_;
  Table tables_[2][4];
  Codes codes_[2][4];
};

}  // namespace

extern "C" {

// Gives 0 of a whole file, 1 of a damaged one, 2 of one whose damage cannot be told, 3 of one made
// to burn time or memory; the reason as a text of at most 200 bytes in `message`. Unless it
// `walks`, only by headers.
__attribute__((visibility("default"))) int orbbec_jpeg_check(const uint8_t* data, size_t size,
                                                             int walks, char* message) {
  try {
    File(data, size, walks != 0).check();
    return kWhole;
  } catch (const Bad& bad) {
    std::snprintf(message, 200, "%s", bad.reason);
    return bad.verdict;
  } catch (const std::exception&) {  // no memory
    std::snprintf(message, 200, "no memory for %zu bytes", size);
    return kBomb;
  }
}
}
}  // namespace orbbec
