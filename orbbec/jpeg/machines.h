// jpeg_compression compiled for each kind of machine. Included, above the target, by the .cpp
// files.
#pragma once

#include <algorithm>
#include <cstring>

#include "../core/scalar.h"
#include "../core/strips_cpu.h"

namespace orbbec {

struct JpegArguments;

struct JpegPlain {};
struct JpegAvx2 {};
struct JpegAvx512 {};

template <class Machine>
void jpeg_compression_on(const JpegArguments& arguments, const ParallelFor& parallel);

}  // namespace orbbec
