// The speed of the threads alone: decoders only sleep. Prints images per second, the fraction of
// what the sleeps allow, and microseconds of CPU time per image.
//
//   ceiling THREADS BATCHES MICROSECONDS
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "simulated.h"

using namespace orbbec::feed;

namespace {

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
         1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void make_batches(Pool& pool, int count) {
  Files files(256);
  for (int i = 0; i < count; ++i) {
    Batch* const batch = pool.read(files.request());
    while (!pool.wait(*batch, 50)) {
    }
    pool.decode(*batch, files.output());
    while (!pool.wait(*batch, 50)) {
    }
    pool.free(batch);
  }
}

}  // namespace

int main(int, char** arguments) {
  const int threads = std::atoi(arguments[1]), batches = std::atoi(arguments[2]);
  sleep_of_decoder = std::atoi(arguments[3]);
  Pool pool({.threads = threads, .readers = 8, .nice = 0, .core_count = 0, .cores = nullptr},
            simulated_functions());
  const auto began = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  std::vector<std::thread> makers;
  for (int maker = 0; maker < 3; ++maker)
    makers.emplace_back(make_batches, std::ref(pool), batches);
  for (std::thread& maker : makers) maker.join();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const int images = 3 * 256 * batches;
  std::printf("%.0f %.3f %.2f\n", images / seconds,
              images * 1e-6 * sleep_of_decoder / threads / seconds,
              1e6 * (cpu_seconds() - cpu) / images);
}
