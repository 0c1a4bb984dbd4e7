// jpeg_compression and the decoder compiled for each kind of machine. Included, above the target,
// by the .cpp files.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "../core/scalar.h"
#include "../core/strips_cpu.h"

namespace orbbec {

struct JpegArguments;
struct DecodeArguments;
enum class Decoded { kYes, kDamaged, kNoMemory };

struct JpegPlain {};
struct JpegAvx2 {};
struct JpegAvx512 {};

template <class Machine>
void jpeg_compression_on(const JpegArguments& arguments, const ParallelFor& parallel);
template <class Machine>
Decoded decode_jpeg_on(const DecodeArguments& arguments);

}  // namespace orbbec
