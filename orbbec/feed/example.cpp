#include "example.h"

// For ctypes; see ExampleReader.
extern "C" __attribute__((visibility("default"))) int64_t
orbbec_example(const uint8_t* data, size_t size, orbbec::feed::Feature* features,
               int64_t max_features, int64_t* values, int64_t max_values) {
  return orbbec::feed::ExampleReader(data, features, max_features, values, max_values).read(size);
}
