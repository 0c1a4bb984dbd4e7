// Where a warp waits: which loads of a basic block begin a round trip to memory, and which
// instructions lengthen its dependent path. Included by counts.cpp.
#pragma once

#include <vector>

#include "decode/text.h"

namespace orbbec::ptx {

// Of a statement. Loads that do not depend on each other share a round trip, as ptxas issues them
// together if no store is between them.
struct Wait {
  bool on_memory = false;  // the first of its round trip to global or local memory
  bool on_shared = false;  // the same to shared memory; shuffles, votes and barriers too
  bool deepens = false;    // the dependent path of the block is one instruction longer
};

std::vector<Wait> waits_of(const KernelText& kernel);

}  // namespace orbbec::ptx
