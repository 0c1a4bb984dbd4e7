// Shared by the bindings of operators that draw noise: kinds by name, keys, sample ids.
#pragma once

#include "../core/noise.h"
#include "images.h"

namespace orbbec {

inline Noise parse_noise(const char* op, const std::string& name) {
  if (name == "uniform") return Noise::kUniform;
  if (name == "normal") return Noise::kNormal;
  fail(op, "expected noise to be one of uniform, normal, but got ", name);
}

inline PhiloxKey key_of(int64_t seed, int64_t epoch) {
  return philox_key(static_cast<uint64_t>(seed), static_cast<uint64_t>(epoch));
}

inline uint32_t checked_position(const char* op, int64_t position) {
  check(position >= 0 && position <= 65535, op,
        "expected transform_index from 0 to 65535, but got ", position);
  return static_cast<uint32_t>(position);
}

// `table` as contiguous int64 on the device of the images; the result must outlive the launch.
inline Tensor whole_numbers_on(const char* op, const char* name, const Tensor& table,
                               const Tensor& images) {
  check(table.scalar_type() == ScalarType::Long, op, "expected ", name, " of int64");
  return argument_on_device_of(op, name, table, images);
}

inline Tensor sample_ids_on(const char* op, const Tensor& samples, const Tensor& images,
                            int64_t count) {
  check(samples.dim() == 1 && samples.size(0) == count, op, "expected sample_ids of shape [", count,
        "], but got ", shape_text(samples));
  return whole_numbers_on(op, "sample_ids", samples, images);
}

}  // namespace orbbec
