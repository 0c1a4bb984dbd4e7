// Decoders that only sleep, and JPEGs of headers alone: the work of the threads without the images.
#pragma once

#include <cstring>
#include <thread>
#include <vector>

#include "../pool.h"

namespace orbbec::feed {

constexpr int kHeight = 4, kWidth = 6, kBytes = kHeight * kWidth * 3;

// A JPEG whose last byte before the end marker is a number, or whose decoding fails.
inline std::vector<uint8_t> simulated_file(uint8_t number, bool fails) {
  return {0xff,   0xd8, 0xff, 0xc0, 0, 11,   8,    0,    kHeight, 0,
          kWidth, 1,    1,    0x11, 0, 0xff, 0xda, 0x00, 2,       fails ? uint8_t{1} : uint8_t{0},
          number, 0xff, 0xd9};
}

inline int sleep_of_decoder = 0;  // microseconds

inline void sleep_a_while() {
  if (sleep_of_decoder > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(sleep_of_decoder));
  }
}

inline int check(const uint8_t*, size_t, int, char*) { return 0; }
inline int is_known(const uint8_t*, size_t) { return 1; }

inline int region(const uint8_t* data, size_t size, int, int channels, int, int, int width,
                  int height, uint8_t* out, ptrdiff_t row_stride, ptrdiff_t, char*) {
  sleep_a_while();
  if (data[size - 4] != 0) return 1;
  for (int y = 0; y < height; ++y)
    std::memset(out + y * row_stride, data[size - 3], width * channels);
  return 0;
}

inline Functions simulated_functions() {
  Functions functions{};
  functions.check = check;
  functions.is_known = is_known;
  functions.codecs[kJpeg].region = region;
  return functions;
}

// Files in memory.
class Files {
 public:
  explicit Files(int count) {
    for (int i = 0; i < count; ++i) {
      files_.push_back(simulated_file(static_cast<uint8_t>(i), fails(i)));
    }
    for (const std::vector<uint8_t>& file : files_) {
      spans_.insert(spans_.end(), {reinterpret_cast<int64_t>(file.data()),
                                   static_cast<int64_t>(file.size()), -1});
      offsets_.push_back(static_cast<int64_t>(offsets_.size()) * kBytes);
    }
    pixels_.resize(files_.size() * kBytes);
  }

  static bool fails(int index) { return index % 29 == 7; }

  Request request() const {
    return {static_cast<int32_t>(files_.size()), 1, 3, 0, 1 << 20, nullptr, spans_.data()};
  }
  Output output() { return {pixels_.data(), offsets_.data(), nullptr, nullptr, 3}; }

  // Whether every image has its number in all its pixels, and those that fail are said to.
  bool are_decoded(const Row* rows) const {
    for (int i = 0; i < static_cast<int>(files_.size()); ++i) {
      if (rows[i].status != (fails(i) ? kUndecoded : kGood)) return false;
      const uint8_t* const image = pixels_.data() + offsets_[i];
      for (int byte = 0; byte < kBytes && !fails(i); ++byte) {
        if (image[byte] != static_cast<uint8_t>(i)) return false;
      }
    }
    return true;
  }

 private:
  std::vector<std::vector<uint8_t>> files_;
  std::vector<int64_t> spans_, offsets_;
  std::vector<uint8_t> pixels_;
};

}  // namespace orbbec::feed
