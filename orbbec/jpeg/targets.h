// jpeg_compression and the decoder for each target. Included by the .cpp files, above the target
// pragma.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "../core/scalar.h"
#include "../executors/strips_cpu.h"

namespace orbbec {

struct JpegArguments;
struct DecodeArguments;
enum class Decoded { kYes, kDamaged, kNoMemory };

struct JpegScalar {};
struct JpegAvx2 {};
struct JpegAvx512 {};

template <class Target>
void jpeg_compression_on(const JpegArguments& arguments, const ParallelFor& parallel);
template <class Target>
Decoded decode_jpeg_on(const DecodeArguments& arguments);

}  // namespace orbbec
