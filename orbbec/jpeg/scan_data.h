// The entropy-coded data of a scan. Included, below the target, by decode_strips.h.
//
// Source: ITU-T T.81, B.1.1.5 and F.1.2.3 (the zeros that are stuffed in).
#pragma once

#include "machines.h"

namespace orbbec {
namespace {  // each file compiles its own, for its kind of machine

// Data of a scan without the zeros that are stuffed in, some at a time.
class ScanData {
 public:
  static constexpr int kPadding = 2048;  // bytes that can be read past the last; no MCU is longer

  ScanData(const uint8_t* scan, const uint8_t* end) : place_(scan), file_end_(end) {}

  // Begins to read what lies up to the next marker.
  const uint8_t* begin() {
    end_ = bytes_ + kKept;
    ended_ = false;
    read();
    return bytes_ + kKept;
  }

  // Reads on, where less than an MCU is left; gives where `next` is then.
  const uint8_t* read_on(const uint8_t* next) {
    if (ended_ || end_ - next >= kPadding) return next;
    const uint8_t* const kept = next - kKept;
    const size_t left = static_cast<size_t>(end_ - kept);
    std::memmove(bytes_, kept, left);
    end_ = bytes_ + left;
    read();
    return bytes_ + kKept;
  }

  const uint8_t* end() const { return end_; }  // of what is read
  int marker() const { return marker_; }       // that ended it; 0: none yet, or the end of the file

  // The marker after the last MCU; 0: none for many bytes.
  int last_marker() {
    read_on(end_);
    return marker_;
  }

 private:
  static constexpr ptrdiff_t kKept = 8;  // bytes that were read and may be looked at anew
  static constexpr ptrdiff_t kRoom = 16384;

  // Up to a marker, or as much as there is room for.
  void read() {
    uint8_t* const limit = bytes_ + kRoom;
    marker_ = 0;
    while (place_ < file_end_ && end_ < limit) {
      const size_t most = static_cast<size_t>(std::min(file_end_ - place_, limit - end_));
      const void* const found = std::memchr(place_, 0xff, most);
      const size_t count = found != nullptr
                               ? static_cast<size_t>(static_cast<const uint8_t*>(found) - place_)
                               : most;
      std::memcpy(end_, place_, count);
      end_ += count;
      place_ += count;
      if (found == nullptr || end_ == limit) continue;
      while (place_ < file_end_ && *place_ == 0xff) ++place_;  // a marker may have fill bytes
      if (place_ == file_end_) break;
      marker_ = *place_++;
      if (marker_ != 0) break;
      *end_++ = 0xff;
    }
    ended_ = marker_ != 0 || place_ == file_end_;
    std::memset(end_, 0, kPadding);
  }

  const uint8_t* place_;
  const uint8_t* const file_end_;
  uint8_t* end_ = bytes_;
  bool ended_ = false;
  int marker_ = 0;
  uint8_t bytes_[kRoom + kPadding];
};

}  // namespace
}  // namespace orbbec
