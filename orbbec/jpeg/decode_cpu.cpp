// orbbec_jpeg_decode, which data/native.py loads out of the binary: no Python and no torch.
#include <cstdio>

#include "columns.h"
#include "decode_strips.h"

namespace orbbec {
namespace {

struct PlainStrips : PlainColumns {
  static V load_row(const Pending (&blocks)[kBlocks], int y) {
    typedef uint16_t Row __attribute__((vector_size(16)));
    typedef int16_t Signed __attribute__((vector_size(16)));
    Row cells, steps;
    std::memcpy(&cells, blocks[0].cells + y * kBlockSide, sizeof(cells));
    std::memcpy(&steps, blocks[0].steps + y * kBlockSide, sizeof(steps));
    return __builtin_convertvector((Signed)(cells * steps), V);
  }

  // First kept within 16 bits, as libjpeg-turbo's vectors do: sums of such numbers do not overflow,
  // whatever a damaged file says.
  static void transpose(V (&v)[kBlockSide]) {
    for (V& row : v) {
      row = row > 32767 ? V{} + 32767 : row;
      row = row < -32768 ? V{} - 32768 : row;
    }
    PlainColumns::transpose(v);
  }

  static void store_rows(const Pending (&blocks)[kBlocks], const V (&v)[kBlockSide]) {
    for (int y = 0; y < kBlockSide; ++y) {
      store_bytes(blocks[0].to + y * blocks[0].stride, to_byte(v[y] + 128));
    }
  }

  static void store_colors(uint8_t* to, const Color<V>& color) {
    for (int i = 0; i < kLanes; ++i) {
      to[3 * i] = static_cast<uint8_t>(color.red[i]);
      to[3 * i + 1] = static_cast<uint8_t>(color.green[i]);
      to[3 * i + 2] = static_cast<uint8_t>(color.blue[i]);
    }
  }
};

// The tables of a thread's last file: most files have those of T.81, K.3.
struct LastTables {
  CodeLengths dc[2], ac[2];
  DecodeTables tables;
  bool is_set = false;

  // Null where one of them is none.
  const DecodeTables* get(const Frame& frame) {
    const int count = frame.count > 1 ? 2 : 1;
    for (int i = 0; i < count; ++i) {
      const CodeLengths& new_dc = frame.dc[frame.components[i].dc];
      const CodeLengths& new_ac = frame.ac[frame.components[i].ac];
      is_set = is_set && std::memcmp(&dc[i], &new_dc, sizeof(CodeLengths)) == 0 &&
               std::memcmp(&ac[i], &new_ac, sizeof(CodeLengths)) == 0;
      dc[i] = new_dc;
      ac[i] = new_ac;
    }
    for (int i = 0; i < count && !is_set; ++i) {
      if (!tables.dc[i].set(dc[i]) || !tables.ac[i].set(ac[i])) return nullptr;
      tables.skip[i].set(ac[i]);
    }
    is_set = count == 2;
    return &tables;
  }
};

const DecodeTables* tables_of(const Frame& frame) {
  static thread_local std::unique_ptr<LastTables> last;
  if (last == nullptr) last.reset(new (std::nothrow) LastTables);
  return last != nullptr ? last->get(frame) : nullptr;
}

Decoded decode(const DecodeArguments& arguments) {
#if defined(__x86_64__)
  if (simd_level() >= Simd::kAvx2) return decode_jpeg_on<JpegAvx2>(arguments);
#endif
  return StripDecoder<PlainStrips>(arguments).run();
}

// What the function below gives; data/native.py knows the numbers.
enum Status { kDone = 0, kRefused = 1, kUnknown = 2 };

}  // namespace

extern "C" {

// Writes the rectangle of a JPEG to `out`: [height, width, channels], channels 1 or 3, with `down`
// and `across` bytes between pixels. Gives 0; 1 and a text of at most 200 bytes in `message` where
// the file is damaged or the rectangle does not fit; or 2, where this is none of the JPEGs that it
// decodes, or `shrink` is not 1.
__attribute__((visibility("default"))) int orbbec_jpeg_decode(const uint8_t* data, size_t size,
                                                              int shrink, int channels, int left,
                                                              int top, int width, int height,
                                                              uint8_t* out, ptrdiff_t down,
                                                              ptrdiff_t across, char* message) {
  Frame frame;
  if (shrink != 1 || !FrameReader(data, size).read(frame)) return kUnknown;
  if (left < 0 || top < 0 || width < 1 || height < 1 || left + int64_t{width} > frame.width ||
      top + int64_t{height} > frame.height || (channels != 1 && channels != 3)) {
    std::snprintf(message, 200, "rectangle %d, %d, %dx%d of an image of %dx%d", left, top, height,
                  width, frame.height, frame.width);
    return kRefused;
  }
  const DecodeTables* const tables = tables_of(frame);
  if (tables == nullptr) return kUnknown;
  const Decoded decoded = decode(
      {frame, *tables, data + size, {left, top, width, height}, channels, {out, down, across}});
  if (decoded == Decoded::kYes) return kDone;
  std::snprintf(message, 200, "%s",
                decoded == Decoded::kDamaged ? "the JPEG's data are damaged" : "out of memory");
  return kRefused;
}
}
}  // namespace orbbec
