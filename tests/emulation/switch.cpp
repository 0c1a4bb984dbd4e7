// Sends CPU tensors through the CUDA kernels: an operator of the test build only.
#include "../../orbbec/bridge/device.h"

namespace orbbec {
namespace {

void set_emulation(bool on) { emulation_is_on = on; }

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) { m.def("set_emulation(bool on) -> ()"); }

STABLE_TORCH_LIBRARY_IMPL(orbbec, CompositeExplicitAutograd, m) {
  m.impl("set_emulation", TORCH_BOX(&orbbec::set_emulation));
}
