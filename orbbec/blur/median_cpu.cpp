#include "machines.h"
#include "median_strips.h"

namespace orbbec {

template <>
void median_blur_on<PlainMachine>(const MedianArguments& arguments, const ParallelFor& parallel) {
  run_median<PlainMachine>(arguments, parallel);
}

void median_blur_cpu(const MedianArguments& arguments, const ParallelFor& parallel) {
  on_this_machine([&](auto machine) { median_blur_on<decltype(machine)>(arguments, parallel); });
}

}  // namespace orbbec
