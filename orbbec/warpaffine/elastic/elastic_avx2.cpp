#include "elastic_targets.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "elastic_strips.h"

namespace orbbec {

template void elastic_on<Avx2Target>(const ElasticArguments&, DrawRun, const ParallelFor&);

}  // namespace orbbec
#endif
