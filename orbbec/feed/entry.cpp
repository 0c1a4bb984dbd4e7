// The functions that feed.py calls. None of them throws, and none needs Python's lock.
#include <exception>

#include "pool.h"

using orbbec::feed::Batch;
using orbbec::feed::Functions;
using orbbec::feed::Output;
using orbbec::feed::Pool;
using orbbec::feed::Request;
using orbbec::feed::Row;
using orbbec::feed::Settings;

#pragma GCC visibility push(default)
extern "C" {

// Starts the threads. Null if there is none.
Pool* orbbec_feed_begin(const Settings* settings, const Functions* functions) try {
  return new Pool(*settings, *functions);
} catch (const std::exception&) {
  return nullptr;
}

// Continues with another number of threads that decode.
void orbbec_feed_resize(Pool* pool, int threads) { pool->resize(threads); }

// Ends the threads. All batches must have been freed.
void orbbec_feed_end(Pool* pool) { delete pool; }

// Begins to read a batch. Null if there is no memory. Memory that `spans` names must stay until the
// batch is freed.
Batch* orbbec_feed_read(Pool* pool, const Request* request) try {
  return pool->read(*request);
} catch (const std::exception&) {
  return nullptr;
}

// Begins to decode the good images of a batch that was read. 0, or 1 if there is no memory.
int orbbec_feed_decode(Pool* pool, Batch* batch, const Output* output) try {
  pool->decode(*batch, *output);
  return 0;
} catch (const std::exception&) {
  return 1;
}

// Whether what was begun is done, after at most this time.
int orbbec_feed_wait(Pool* pool, const Batch* batch, int milliseconds) {
  return pool->wait(*batch, milliseconds) ? 1 : 0;
}

// The rows of a batch, once it is read.
const Row* orbbec_feed_rows(const Batch* batch) { return batch->rows(); }

// The seconds that threads have read, and decoded, for a batch that is done.
const double* orbbec_feed_seconds(const Batch* batch) { return batch->seconds(); }

// Frees a batch, after the images that a thread works on.
void orbbec_feed_free(Pool* pool, Batch* batch) { pool->free(batch); }
}
#pragma GCC visibility pop
