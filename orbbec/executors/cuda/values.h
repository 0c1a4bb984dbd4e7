// Runs pointwise functors that treat all channels alike over images of bytes, dense or
// variable-size, on a CUDA device: an image is one line of values. Included by pointwise.h.
#pragma once

#include "groups.h"

namespace orbbec {

// What the threads of a block share about an image.
template <class Op>
struct SharedValues {
  const uint8_t* from[Op::kSources];
  uint8_t* to;
  int64_t pixels, values;
  int width, alignment;  // in bytes, of all of them; 0: the values are not in one line
};

// Whether the values of an image are in one line, and in which order.
template <class T>
__device__ Packing packing_of(const Image<T>& image, int64_t channels) {
  if (image.height != 1 && image.stride_y != image.width * image.stride_x) return Packing::kNone;
  const int64_t plane = int64_t{image.height} * image.width;
  if (image.stride_x == 1 && (channels == 1 || image.stride_c == plane)) return Packing::kPlanes;
  const bool together = image.stride_c == 1 && image.stride_x == channels;
  return together ? Packing::kPixels : Packing::kNone;
}

template <class Op>
__device__ void load_shared(const Op& op, int64_t n, SharedValues<Op>& shared) {
  const int64_t channels = op.output.channels;
  const auto target = op.output[n];
  const Packing packing = packing_of(target, channels);
  auto addresses = reinterpret_cast<uintptr_t>(target.data);
  bool in_line = packing != Packing::kNone && op.is_ordinary(n);
  for (int i = 0; i < Op::kSources; ++i) {
    const auto source = op.source_of(n, i);
    in_line = in_line && packing_of(source, channels) == packing;
    addresses |= reinterpret_cast<uintptr_t>(source.data);
    shared.from[i] = source.data;
  }
  shared.to = target.data;
  shared.pixels = int64_t{target.height} * target.width;
  shared.values = shared.pixels * channels;
  shared.width = target.width;
  shared.alignment = !in_line ? 0 : addresses % 16 == 0 ? 16 : addresses % 4 == 0 ? 4 : 1;
}

template <int kBytes>
struct alignas(kBytes) ByteRun {
  uint8_t values[kBytes];
};

// Value k of a run of 4 or 16 bytes, whose words are in registers.
__device__ inline int value_of(const uint32_t* words, int k) {
  return static_cast<int>(byte_of(words[k / 4], k % 4));
}
__device__ inline int value_of(const uint8_t* bytes, int) { return bytes[0]; }

// Runs of kBytes from value `begin` on, one per thread. Returns the value after the last run.
template <int kBytes, class Op, class Work>
__device__ int64_t run_values(const Work& work, const SharedValues<Op>& shared, int64_t begin) {
  using Word = std::conditional_t<kBytes == 1, uint8_t, uint32_t>;
  struct alignas(kBytes) Words {
    Word words[kBytes / sizeof(Word)];
  };
  const SharedValues<Op> image = shared;  // in registers: stores may change shared memory
  const int64_t runs = (image.values - begin) / kBytes;
  for (int64_t i = int64_t{blockIdx.x} * kPointwiseThreads + threadIdx.x; i < runs;
       i += int64_t{gridDim.x} * kPointwiseThreads) {
    Words in[Op::kSources];
    ByteRun<kBytes> out;
    for (int s = 0; s < Op::kSources; ++s)
      in[s] = reinterpret_cast<const Words*>(image.from[s] + begin)[i];
    for (int k = 0; k < kBytes; ++k) {
      int value[Op::kSources][1];
      uint8_t result[1];
      for (int s = 0; s < Op::kSources; ++s) value[s][0] = value_of(in[s].words, k);
      work(value, result);
      out.values[k] = result[0];
    }
    reinterpret_cast<ByteRun<kBytes>*>(image.to + begin)[i] = out;
  }
  return begin + runs * kBytes;
}

}  // namespace orbbec
