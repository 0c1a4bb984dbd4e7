// Launches one kernel: NAME THREADS BYTES, the last of dynamic shared memory. Prints its status.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "orbbec/executors/cuda/launch.h"

namespace orbbec {
namespace {

template <int kBytes>
struct Box {
  char bytes[kBytes];
};

template <class T>
__global__ void fill(int* out, T box) {
  out[threadIdx.x] = box.bytes[0];
}

}  // namespace
}  // namespace orbbec

int main(int, char** arguments) {
  static int out[1024];
  const auto threads = static_cast<unsigned>(std::atoi(arguments[2]));
  const auto bytes = static_cast<size_t>(std::atoi(arguments[3]));
  const auto run = [&](auto box) {
    return orbbec::launch(orbbec::fill<decltype(box)>, 1, threads, bytes, nullptr, out, box);
  };
  const bool is_small = std::strcmp(arguments[1], "small") == 0;
  const int status = is_small ? run(orbbec::Box<4>{}) : run(orbbec::Box<32768>{});
  std::printf("%s\n", cudaGetErrorString(static_cast<cudaError_t>(status)));
}
