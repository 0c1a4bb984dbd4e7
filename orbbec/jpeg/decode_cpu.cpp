// The functions that data/native.py loads out of the binary: no Python and no torch.
#include <cstdio>

#include "shorts_plain.h"

namespace orbbec {
namespace {

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
  return StripDecoder<PlainShorts>(arguments).run();
}

// What the functions below give; data/native.py knows the numbers.
enum Status { kDone = 0, kRefused = 1, kUnknown = 2 };

int status(Decoded decoded, char* message) {
  if (decoded == Decoded::kYes) return kDone;
  std::snprintf(message, 200, "%s",
                decoded == Decoded::kDamaged ? "the JPEG's data are damaged" : "out of memory");
  return kRefused;
}

// The numbers of ycbcr.h: gray, 4:4:4, 4:2:2, 4:4:0, 4:2:0.
int sampling_of(const Frame& frame) {
  const Component& luma = frame.components[0];
  return frame.count == 1 ? 1 : 2 + (luma.across - 1) + 2 * (luma.down - 1);
}

}  // namespace

extern "C" {

// Whether the functions below decode the file, if it is not damaged.
__attribute__((visibility("default"))) int orbbec_jpeg_is_known(const uint8_t* data, size_t size) {
  Frame frame;
  return FrameReader(data, size).read(frame) && tables_of(frame) != nullptr;
}

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
  return status(decode({frame,
                        *tables,
                        data + size,
                        {left, top, width, height},
                        channels,
                        {out, down, across},
                        nullptr}),
                message);
}

// Writes the planes of a JPEG of `height` x `width` pixels and a sampling of ycbcr.h, one after the
// other, to `out`. Gives what the function above gives; 2 also of another size or sampling.
__attribute__((visibility("default"))) int orbbec_jpeg_decode_planes(const uint8_t* data,
                                                                     size_t size, int height,
                                                                     int width, int sampling,
                                                                     uint8_t* out, char* message) {
  Frame frame;
  if (!FrameReader(data, size).read(frame) || frame.height != height || frame.width != width ||
      sampling_of(frame) != sampling) {
    return kUnknown;
  }
  const DecodeTables* const tables = tables_of(frame);
  if (tables == nullptr) return kUnknown;
  const Rectangle whole{0, 0, width, height};
  return status(decode({frame, *tables, data + size, whole, 3, {}, out}), message);
}
}
}  // namespace orbbec
