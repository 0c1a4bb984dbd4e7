// Three interleaved channels of bytes to planes and back. Included by color/ and resize/.
#pragma once

#include <cstdint>

namespace orbbec {

// Whether the CPU permutes bytes of two registers (AVX-512 VBMI); of x86 only.
bool can_permute();

void split_bytes(const uint8_t* packed, uint8_t* first, uint8_t* second, uint8_t* third, int count);
void join_bytes(const uint8_t* first, const uint8_t* second, const uint8_t* third, uint8_t* packed,
                int count);
// Pixels of three bytes, each with its channels in reverse order.
void reverse_channels(const uint8_t* packed, uint8_t* reversed, int count);

}  // namespace orbbec
