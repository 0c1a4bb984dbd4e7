// Shared by the entry points of _jpeg.abi3.so: converts libjpeg-turbo's errors and warnings to a
// status and a message. Included by jpeg_*.cpp.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
#include <jpeglib.h>
// Included last: its message numbers depend on jpeglib.h.
#include <jerror.h>
}

namespace orbbec {

constexpr int kMaxScans = 500;  // of a progressive file; more are an attack on time

// No C++ object with a destructor may live where an error jumps over it, so rows are raw memory.
struct Failure {
  jpeg_error_mgr base;
  jmp_buf jump;
  char* message;
};

inline void fail(j_common_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  info->err->format_message(info, failure->message);
  longjmp(failure->jump, 1);
}

// Warnings of damaged pixels are errors; others are ignored.
inline void warn(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  const bool is_damage = code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER ||
                         code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC;
  if (level < 0 && is_damage) fail(info);
}

inline void count_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
    ERREXIT(info, JERR_BAD_PROGRESSION);
  }
}

// Reads the header of a file. Returns the result of `body(info, rows)`, where `rows` may be set to
// memory of malloc, or 1 after an error, with a message of at most 200 bytes in `message`.
template <class Body>
int read_file(const uint8_t* data, size_t size, char* message, const Body& body) {
  jpeg_decompress_struct info{};
  jpeg_progress_mgr progress{};
  Failure failure{};
  uint8_t* volatile rows = nullptr;
  volatile int result = 1;
  failure.message = message;
  info.err = jpeg_std_error(&failure.base);
  failure.base.error_exit = fail;
  failure.base.emit_message = warn;
  if (setjmp(failure.jump) == 0) {
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, data, static_cast<unsigned long>(size));
    progress.progress_monitor = count_scans;
    info.progress = &progress;
    jpeg_read_header(&info, TRUE);
    result = body(info, rows);
  }
  jpeg_destroy_decompress(&info);
  std::free(rows);
  return result;
}

// Starts decoding. Of a file of several scans, all are read here; libjpeg replaces missing scans by
// zeros.
inline void start(jpeg_decompress_struct& info) {
  jpeg_start_decompress(&info);
  if (!jpeg_has_multiple_scans(&info)) return;
  for (int c = 0; c < info.num_components; ++c) {
    bool is_whole = info.comp_info[c].quant_table != nullptr;
    for (int k = 0; info.progressive_mode && k < DCTSIZE2; ++k) {
      is_whole = is_whole && info.coef_bits[c][k] == 0;
    }
    if (!is_whole) ERREXIT(&info, JERR_NO_IMAGE);
  }
}

}  // namespace orbbec
