#include "example.h"

// For ctypes; see ExampleReader.
extern "C" __attribute__((visibility("default"))) int64_t
orbbec_example(const uint8_t* data, size_t size, orbbec::feed::Feature* features,
               int64_t feature_room, int64_t* values, int64_t value_room) {
  return orbbec::feed::ExampleReader(data, features, feature_room, values, value_room).read(size);
}
