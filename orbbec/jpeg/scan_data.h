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

  ScanData(const uint8_t* scan, const uint8_t* end) : next_(scan), file_end_(end) {}

  // Starts reading at the next marker.
  const uint8_t* begin() {
    end_ = bytes_ + kTail;
    ended_ = false;
    read();
    return bytes_ + kTail;
  }

  // Reads more if less than an MCU is left; returns the new position of `next`.
  const uint8_t* read_on(const uint8_t* next) {
    if (ended_ || end_ - next >= kPadding) return next;
    const uint8_t* const tail = next - kTail;
    const size_t left = static_cast<size_t>(end_ - tail);
    std::memmove(bytes_, tail, left);
    end_ = bytes_ + left;
    read();
    return bytes_ + kTail;
  }

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
    while (next_ < file_end_ && end_ < limit) {
      const size_t most = static_cast<size_t>(std::min(file_end_ - next_, limit - end_));
      const void* const found = std::memchr(next_, 0xff, most);
      const size_t count =
          found != nullptr ? static_cast<size_t>(static_cast<const uint8_t*>(found) - next_) : most;
      std::memcpy(end_, next_, count);
      end_ += count;
      next_ += count;
      if (found == nullptr || end_ == limit) continue;
      while (next_ < file_end_ && *next_ == 0xff) ++next_;  // fill bytes before a marker
      if (next_ == file_end_) break;
      marker_ = *next_++;
      if (marker_ != 0) break;
      *end_++ = 0xff;
    }
    ended_ = marker_ != 0 || next_ == file_end_;
    std::memset(end_, 0, kPadding);
  }

  const uint8_t* next_;
  const uint8_t* const file_end_;
  uint8_t* end_ = bytes_;
  bool ended_ = false;
  int marker_ = 0;
  uint8_t bytes_[kCapacity + kPadding];
};

}  // namespace
}  // namespace orbbec
