// A decoder that only sleeps, as ../../../feed/feed.h declares it; for test_scaling.py.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

extern "C" int sleeper(const uint8_t*, size_t, int, int channels, int, int, int width, int height,
                       uint8_t* out, ptrdiff_t row_stride, ptrdiff_t, char*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(4));
  for (int y = 0; y < height; ++y) std::memset(out + y * row_stride, 7, width * channels);
  return 0;
}
