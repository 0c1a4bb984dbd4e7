// The entropy-coded data of a scan. Included, below the target pragma, by decode_strips.h.
//
// Source: ITU-T T.81, B.1.1.5 and F.1.2.3 (byte stuffing).
#pragma once

#include "targets.h"

namespace orbbec {
namespace {  // one copy per target

// The data of a scan without stuffed zeros, a chunk at a time.
class ScanData {
 public:
  static constexpr int kPadding = 2048;  // bytes readable past the last; no MCU is longer

  // counts: whether `offset_of` will be called.
  ScanData(const uint8_t* scan, const uint8_t* end, bool counts)
      : counts_(counts), scan_(scan), next_(scan), read_end_(end), file_end_(end) {}

  // Goes to a byte of the scan; reads no further than `end`.
  void seek(int64_t offset, int64_t end) {
    next_ = scan_ + std::min<int64_t>(offset, file_end_ - scan_);
    read_end_ = scan_ + std::min<int64_t>(end, file_end_ - scan_);
  }

  // Starts reading at the next marker, or where `seek` went.
  const uint8_t* begin() {
    counted_ = end_ = bytes_ + kTail;
    offset_ = next_ - scan_;
    ended_ = false;
    read();
    return bytes_ + kTail;
  }

  // Reads more if less than an MCU is left; returns the new position of `next`.
  const uint8_t* read_on(const uint8_t* next) {
    if (ended_ || end_ - next >= kPadding) return next;
    const uint8_t* const tail = next - kTail;
    if (counts_ && counted_ < tail) offset_of(tail);
    const size_t left = static_cast<size_t>(end_ - tail);
    std::memmove(bytes_, tail, left);
    counted_ = bytes_ + (counted_ - tail);
    end_ = bytes_ + left;
    read();
    return bytes_ + kTail;
  }

  // The offset in the scan of a byte, which is not before the byte of the previous call. A byte
  // 0xff is followed by a stuffed zero.
  int64_t offset_of(const uint8_t* byte) {
    for (; counted_ < byte; ++counted_) offset_ += *counted_ == 0xff ? 2 : 1;
    return offset_;
  }
  // Whether bytes 0xff were repeated, so that offsets are wrong.
  bool has_fill_bytes() const { return has_fill_bytes_; }

  const uint8_t* end() const { return end_; }  // of the data read so far
  int marker() const {
    return marker_;
  }  // the marker that ended the data; 0: none yet, or the end of the file

  // The marker after the last MCU; 0 if none follows soon.
  int last_marker() {
    read_on(end_);
    return marker_;
  }

 private:
  static constexpr ptrdiff_t kTail = 8;  // consumed bytes that may be read again
  static constexpr ptrdiff_t kCapacity = 16384;

  // Up to a marker, or the capacity of the buffer.
  void read() {
    uint8_t* const limit = bytes_ + kCapacity;
    marker_ = 0;
    while (next_ < read_end_ && end_ < limit) {
      const size_t most = static_cast<size_t>(std::min(read_end_ - next_, limit - end_));
      const void* const found = std::memchr(next_, 0xff, most);
      const size_t count =
          found != nullptr ? static_cast<size_t>(static_cast<const uint8_t*>(found) - next_) : most;
      std::memcpy(end_, next_, count);
      end_ += count;
      next_ += count;
      if (found == nullptr || end_ == limit) continue;
      const uint8_t* const first = next_;
      while (next_ < read_end_ && *next_ == 0xff) ++next_;  // fill bytes before a marker
      if (next_ == read_end_) break;
      has_fill_bytes_ = has_fill_bytes_ || next_ - first > 1;
      marker_ = *next_++;
      if (marker_ != 0) break;
      *end_++ = 0xff;
    }
    ended_ = marker_ != 0 || next_ == read_end_;
    std::memset(end_, 0, kPadding);
  }

  const bool counts_;
  const uint8_t* const scan_;
  const uint8_t *next_, *read_end_;
  const uint8_t* const file_end_;
  uint8_t* end_ = bytes_;
  const uint8_t* counted_ = bytes_;  // the byte at offset_
  int64_t offset_ = 0;
  bool has_fill_bytes_ = false;
  bool ended_ = false;
  int marker_ = 0;
  uint8_t bytes_[kCapacity + kPadding];
};

}  // namespace
}  // namespace orbbec
