// CRC-32 as in zlib, gzip and PNG, and CRC-32C as in TFRecord. Included by crc32.cpp and by whoever
// checks what it reads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orbbec {

// The checksum of `size` bytes that follow others whose checksum is `crc`; 0 if there are none.
uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t crc32c(uint32_t crc, const uint8_t* data, size_t size);

}  // namespace orbbec
