#include "filter_strips.h"
#include "machines.h"

namespace orbbec {

template <>
void filter2d_on<PlainMachine>(const FilterArguments& arguments, const ParallelFor& parallel) {
  run_filter<PlainMachine>(arguments, parallel);
}

void filter2d_cpu(const FilterArguments& arguments, const ParallelFor& parallel) {
  on_this_machine([&](auto machine) { filter2d_on<decltype(machine)>(arguments, parallel); });
}

}  // namespace orbbec
