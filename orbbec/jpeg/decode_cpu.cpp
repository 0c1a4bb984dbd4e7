// The entry points that data/decode/native.py loads from the binary, without Python or torch.
#include <pthread.h>

#include <cstdio>
#include <exception>

#include "row_starts.h"
#include "shorts_scalar.h"

namespace orbbec {
namespace {

// The tables of a thread's previous file: most files use those of T.81, K.3.
struct LastTables {
  CodeLengths dc[2], ac[2];
  DecodeTables tables;
  bool is_set = false;

  // Null if a table is invalid.
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

// Never destroyed: threads may decode while the process ends.
RowStartCache& row_starts() {
  static RowStartCache* const cache = new RowStartCache;
  return *cache;
}

// A process forked while another thread has the lock would wait for it for ever.
const int kHasForkHandlers =
    pthread_atfork([] { row_starts().mutex().lock(); }, [] { row_starts().mutex().unlock(); },
                   [] { row_starts().mutex().unlock(); });

Decoded decode_on(const DecodeArguments& arguments) {
#if defined(__x86_64__)
  if (simd_level() >= Simd::kAvx2) return decode_jpeg_on<JpegAvx2>(arguments);
#endif
  return StripDecoder<ScalarShorts>(arguments).run();
}

// Whether anything lies above the region or right of it, and a row's bits fit an integer.
bool may_skip(const DecodeArguments& a) {
  const bool is_cut = a.region.top > 0 || a.region.left + a.region.width < a.frame.width;
  return a.planes == nullptr && is_cut && a.frame.restart_interval == 0 &&
         a.end - a.frame.scan < int64_t{1} << 28;
}

Decoded decode(const uint8_t* data, DecodeArguments arguments) {
  if (!may_skip(arguments)) return decode_on(arguments);
  const ContentKey key(data, static_cast<size_t>(arguments.end - data));
  const auto known = row_starts().find(key);
  const int count = known == nullptr ? 1 : static_cast<int>(known->size());
  KnownRows rows(static_cast<size_t>(std::max(count, arguments.frame.height / kBlockSide + 2)));
  if (known != nullptr) std::copy(known->begin(), known->end(), rows.begin());
  RowStarts starts{rows.data(), count};
  arguments.starts = &starts;
  const Decoded decoded = decode_on(arguments);
  if (decoded == Decoded::kYes && starts.count > count) {
    row_starts().put(key, {rows.begin(), rows.begin() + starts.count});
  }
  return decoded;
}

// Return values; data/decode/native.py uses the same numbers.
enum Status { kDone = 0, kRefused = 1, kUnknown = 2 };

int refused(const char* reason, char* message) {
  std::snprintf(message, 200, "%s", reason);
  return kRefused;
}

int status_of(const uint8_t* data, const DecodeArguments& arguments, char* message) try {
  const Decoded decoded = decode(data, arguments);
  if (decoded == Decoded::kYes) return kDone;
  return refused(decoded == Decoded::kDamaged ? "the JPEG's data are damaged" : "out of memory",
                 message);
} catch (const std::exception& error) {  // of ORBBEC_SIMD; C has no exceptions
  return refused(error.what(), message);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Whether this decoder supports the file, if it is intact.
int orbbec_jpeg_is_known(const uint8_t* data, size_t size) {
  Frame frame;
  return FrameReader(data, size).read(frame) && tables_of(frame) != nullptr;
}

// Writes the rectangle of a JPEG to `out`: [height, width, channels], channels 1 or 3, with strides
// in bytes. Returns 0; 1 and a message of at most 200 bytes in `message` if the file is damaged or
// the rectangle does not fit; or 2 if the decoder does not support the file or `shrink` is not 1.
int orbbec_jpeg_decode(const uint8_t* data, size_t size, int shrink, int channels, int left,
                       int top, int width, int height, uint8_t* out, ptrdiff_t row_stride,
                       ptrdiff_t pixel_stride, char* message) {
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
  return status_of(data,
                   {.frame = frame,
                    .tables = *tables,
                    .end = data + size,
                    .region = {left, top, width, height},
                    .channels = channels,
                    .output = {out, row_stride, pixel_stride},
                    .planes = nullptr,
                    .starts = nullptr},
                   message);
}

// Writes the planes of a JPEG of `height` x `width` pixels and a subsampling of stored_image.h to
// `out`, one after the other. Returns the same values; 2 also for another size or subsampling.
int orbbec_jpeg_decode_planes(const uint8_t* data, size_t size, int height, int width,
                              int subsampling, uint8_t* out, char* message) {
  Frame frame;
  if (!FrameReader(data, size).read(frame) || frame.height != height || frame.width != width ||
      subsampling_of(frame) != subsampling) {
    return kUnknown;
  }
  const DecodeTables* const tables = tables_of(frame);
  if (tables == nullptr) return kUnknown;
  const Rectangle whole{0, 0, width, height};
  return status_of(data,
                   {.frame = frame,
                    .tables = *tables,
                    .end = data + size,
                    .region = whole,
                    .channels = 3,
                    .output = {},
                    .planes = out,
                    .starts = nullptr},
                   message);
}
}
#pragma GCC visibility pop
}  // namespace orbbec
