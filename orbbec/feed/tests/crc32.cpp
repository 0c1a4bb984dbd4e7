// Compares each way to compute a checksum with its definition, bit by bit. Prints the number of
// comparisons and of differences.
#include "orbbec/feed/crc32.cpp"

#include <cstdio>
#include <vector>

namespace {

using namespace orbbec;

template <uint32_t kPolynomial>
uint32_t by_definition(uint32_t state, const uint8_t* data, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    state ^= data[i];
    for (int bit = 0; bit < 8; ++bit) state = times_x<kPolynomial>(state);
  }
  return state;
}

template <uint32_t kPolynomial>
std::vector<Checksum> supported() {
  std::vector<Checksum> found{by_table<kPolynomial>};
#if defined(__x86_64__)
  if (fastest<kPolynomial>() != by_table<kPolynomial>) found.push_back(by_sse<kPolynomial>);
  if (fastest<kPolynomial>() == by_avx<kPolynomial>) found.push_back(by_avx<kPolynomial>);
#endif
  return found;
}

int compared = 0, wrong = 0;

template <uint32_t kPolynomial>
void compare(const std::vector<uint8_t>& data, uint32_t random) {
  for (size_t size = kMinFolded + 6; size < data.size(); size += size < 600 ? 1 : 431) {
    for (const Checksum checksum : supported<kPolynomial>()) {
      const size_t offset = size % 7;  // any alignment
      const uint8_t* const from = data.data() + offset;
      ++compared;
      wrong += checksum(random, from, size - offset) !=
               by_definition<kPolynomial>(random, from, size - offset);
    }
    random = random * 1664525 + 1;
  }
}

}  // namespace

int main() {
  std::vector<uint8_t> data(5000);
  uint32_t random = 1;
  for (uint8_t& byte : data) byte = static_cast<uint8_t>((random = random * 1664525 + 1) >> 24);
  compare<kZlib>(data, random);
  compare<kCastagnoli>(data, random);
  std::printf("%d %d\n", compared, wrong);
}
