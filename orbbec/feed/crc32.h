// The CRC-32 of zlib and tar indices, eight bytes at a time. Included by files.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace orbbec::feed {

class Crc32 {
 public:
  static uint32_t of(const uint8_t* data, size_t size) {
    uint32_t crc = ~0u;
    for (; size >= 8; data += 8, size -= 8) {
      uint64_t word;
      std::memcpy(&word, data, 8);
      word ^= crc;
      crc = 0;
      for (int i = 0; i < 8; ++i) crc ^= kTables[7 - i][word >> (8 * i) & 0xff];
    }
    for (; size > 0; ++data, --size) crc = kTables[0][(crc ^ *data) & 0xff] ^ crc >> 8;
    return ~crc;
  }

 private:
  using Tables = std::array<std::array<uint32_t, 256>, 8>;
  static constexpr uint32_t kPolynomial = 0xedb88320;  // reflected

  // Table k has the CRC of a byte that k zeros follow.
  static constexpr Tables make_tables() {
    Tables tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
      tables[0][byte] = crc;
    }
    for (int zeros = 1; zeros < 8; ++zeros) {
      for (int byte = 0; byte < 256; ++byte) {
        const uint32_t crc = tables[zeros - 1][byte];
        tables[zeros][byte] = tables[0][crc & 0xff] ^ crc >> 8;
      }
    }
    return tables;
  }

  static const Tables kTables;
};

inline constexpr Crc32::Tables Crc32::kTables = Crc32::make_tables();

}  // namespace orbbec::feed
