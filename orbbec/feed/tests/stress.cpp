// Makers that begin, wait for and drop batches while threads come and go; run under
// ThreadSanitizer. Prints the batches that were decoded and dropped; the status is 1 if one is
// wrong.
#include <atomic>
#include <cstdio>
#include <random>

#include "simulated.h"

using namespace orbbec::feed;

namespace {

std::atomic<int> decoded, dropped, wrong;

void make_batches(Pool& pool, unsigned seed, int count) {
  std::minstd_rand chance(seed);
  Files files(40);
  for (int i = 0; i < count; ++i) {
    Batch* const batch = pool.read(files.request());
    const unsigned leaves = chance() % 8;
    if (leaves == 0) {
      pool.free(batch);
      ++dropped;
      continue;
    }
    while (!pool.wait(*batch, 1)) {
    }
    pool.decode(*batch, files.output());
    if (leaves == 1) {
      pool.wait(*batch, 0);
      pool.free(batch);
      ++dropped;
      continue;
    }
    while (!pool.wait(*batch, 1)) {
    }
    if (!files.are_decoded(batch->rows())) ++wrong;
    pool.free(batch);
    ++decoded;
  }
}

}  // namespace

int main() {
  const int cores[] = {0};
  for (int round = 0; round < 6; ++round) {
    sleep_of_decoder = round % 2 * 20;
    Pool pool({.threads = 1 + round % 4,
               .readers = round % 3,
               .nice = round % 2,
               .core_count = round == 5 ? 1 : 0,
               .cores = cores},
              simulated_functions());
    std::vector<std::thread> makers;
    for (unsigned maker = 0; maker < 3; ++maker) {
      makers.emplace_back(make_batches, std::ref(pool), 7 * round + maker, 30);
    }
    for (const int threads : {3, 1, 5, 2}) pool.resize(threads);
    for (std::thread& maker : makers) maker.join();
  }
  std::printf("%d %d\n", decoded.load(), dropped.load());
  return wrong != 0;
}
