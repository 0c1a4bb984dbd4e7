// Reads files, or ranges of files, into blocks of memory. Included by work.h.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "blocks.h"
#include "crc32.h"

namespace orbbec::feed {

struct Span {
  int64_t offset, bytes;  // -1 bytes: to the end
  int64_t crc;            // CRC-32; kNoCrc, or kTfRecord: the CRC-32C of TFRecord follows the data
};

constexpr int64_t kNoCrc = -1, kTfRecord = -2;

// Whether the bytes of a span are those that were written.
inline bool is_intact(const uint8_t* data, size_t size, int64_t crc) {
  if (crc == kNoCrc) return true;
  if (crc != kTfRecord) return crc32(0, data, size) == static_cast<uint64_t>(crc);
  uint32_t stored;
  if (size < sizeof stored) return false;
  size -= sizeof stored;
  const uint8_t* const end = data + size;
  stored = end[0] | end[1] << 8 | end[2] << 16 | uint32_t{end[3]} << 24;
  const uint32_t sum = crc32c(0, data, size);
  return stored == (sum >> 15 | sum << 17) + 0xa282ead8;
}

class OpenFile {
 public:
  // A pipe is opened too, without waiting for its writer, and refused by its kind.
  explicit OpenFile(const char* path) : number_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (number_ >= 0) close(number_);
  }

  // The bytes of a regular file; -1 for anything else.
  int64_t size() const {
    struct stat status;
    if (number_ < 0 || fstat(number_, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
    return status.st_size;
  }

  bool read(uint8_t* out, int64_t offset, int64_t bytes) const {
    while (bytes > 0) {
      const ssize_t done = pread(number_, out, static_cast<size_t>(bytes), offset);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;  // an error, or the file has become shorter
      out += done;
      offset += done;
      bytes -= done;
    }
    return true;
  }

 private:
  const int number_;
};

// A file in a block of memory.
struct Encoded {
  uint8_t* data = nullptr;
  size_t size = 0;
};

// Reads a span of a file. False, without a block, if it is missing, empty, too short, or has
// another checksum.
inline bool read_span(const char* path, Span span, Encoded& encoded) {
  const OpenFile file(path);
  const int64_t size = file.size();
  if (span.bytes < 0) span.bytes = size;
  if (span.offset < 0 || span.bytes < 1 || span.bytes > size || span.offset > size - span.bytes) {
    return false;
  }
  const size_t bytes = static_cast<size_t>(span.bytes);
  uint8_t* const block = shared_blocks.take(bytes);
  if (block == nullptr) return false;
  if (!file.read(block, span.offset, span.bytes) || !is_intact(block, bytes, span.crc)) {
    shared_blocks.give(block, bytes);
    return false;
  }
  encoded = {block, bytes};
  return true;
}

}  // namespace orbbec::feed
