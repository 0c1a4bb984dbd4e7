// Maps of pixels on the CPU: a block of a row at a time, its channels apart, so that the compiler
// makes vectors of the loop over the block. Included by *_cpu.cpp.
#pragma once

#include <cstring>

#include "../core/strips_cpu.h"
#include "maps.h"

namespace orbbec {

constexpr int kBlockPixels = 128;  // planes of a block stay in the first cache

// Three channels of bytes side by side, to planes and back; packed_bytes.cpp.
void split_bytes(const uint8_t* packed, uint8_t* first, uint8_t* second, uint8_t* third, int count);
void join_bytes(const uint8_t* first, const uint8_t* second, const uint8_t* third, uint8_t* packed,
                int count);

// Whether three channels lie side by side, in this order or, by a negative stride, in the other.
template <class T>
bool is_packed(const Image<T>& image, int channels) {
  return sizeof(T) == 1 && channels == 3 && image.stride_x == 3 &&
         (image.stride_c == 1 || image.stride_c == -1);
}

template <class T>
void read_plane(const T* from, int64_t stride, T* plane, int count) {
  if (stride == 1) {
    memcpy(plane, from, sizeof(T) * count);
  } else {
    for (int i = 0; i < count; ++i) plane[i] = from[i * stride];
  }
}

template <class T>
void write_plane(const T* plane, T* to, int64_t stride, int count) {
  if (stride == 1) {
    memcpy(to, plane, sizeof(T) * count);
  } else {
    for (int i = 0; i < count; ++i) to[i * stride] = plane[i];
  }
}

template <int kChannels, class T>
void read_block(const Image<const T>& from, int y, int x, T (*planes)[kBlockPixels], int count) {
  if constexpr (sizeof(T) == 1 && kChannels == 3) {
    if (is_packed(from, 3)) {
      const bool forward = from.stride_c == 1;
      split_bytes(&from.at(y, x, forward ? 0 : 2), planes[forward ? 0 : 2], planes[1],
                  planes[forward ? 2 : 0], count);
      return;
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    read_plane(&from.at(y, x, c), from.stride_x, planes[c], count);
  }
}

template <int kChannels, class T>
void write_block(const T (*planes)[kBlockPixels], const Image<T>& to, int y, int x, int count) {
  if constexpr (sizeof(T) == 1 && kChannels == 3) {
    if (is_packed(to, 3)) {
      const bool forward = to.stride_c == 1;
      join_bytes(planes[forward ? 0 : 2], planes[1], planes[forward ? 2 : 0],
                 &to.at(y, x, forward ? 0 : 2), count);
      return;
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    write_plane(planes[c], &to.at(y, x, c), to.stride_x, count);
  }
}

template <class Map>
struct PixelBlock {
  alignas(64) typename Map::In in[Map::kIn][kBlockPixels] = {};
  alignas(64) typename Map::Out out[Map::kOut][kBlockPixels] = {};
};

template <class Map, class Work, bool kInVector>
ORBBEC_HD void work_on_block(const Work& work, PixelBlock<Map>& block, InVector<kInVector> place) {
  using T = typename Map::In;
  const Work own = work;  // which no pixel that is written can be part of
  for (int i = 0; i < kBlockPixels; ++i) {
    Lane<T> in[Map::kIn], out[Map::kOut];
    for (int c = 0; c < Map::kIn; ++c) in[c] = to_lane(block.in[c][i]);
    own(in, out, place);
    for (int c = 0; c < Map::kOut; ++c) block.out[c][i] = from_lane<T>(out[c]);
  }
}

template <class Map>
ORBBEC_HD void work_on_row(const Map& map, int64_t n, int y, int width) {
  const Image<const typename Map::In> from = map.source[n];
  const Image<typename Map::Out> to = map.output[n];
  const bool readable = is_readable(from, to);
  const auto work = map.rule.of(n);
  const int vectors = Map::Rule::kKnowsVectors ? width / kVectorPixels * kVectorPixels : width;
  PixelBlock<Map> block;
  for (int x = 0; x < width;) {
    const int end = x < vectors ? vectors : width;
    const int count = end - x < kBlockPixels ? end - x : kBlockPixels;
    if (readable) read_block<Map::kIn>(from, y, x, block.in, count);
    if (x < vectors) {
      work_on_block(work, block, InVector<true>{});
    } else if constexpr (Map::Rule::kKnowsVectors) {
      work_on_block(work, block, InVector<false>{});
    }
    write_block<Map::kOut>(block.out, to, y, x, count);
    x += count;
  }
}

template <class Map>
void map_row_plain(const Map& map, int64_t n, int y, int width) {
  work_on_row(map, n, y, width);
}
template <class Map>
ORBBEC_AVX2 void map_row_avx2(const Map& map, int64_t n, int y, int width) {
  work_on_row(map, n, y, width);
}
template <class Map>
ORBBEC_AVX512 void map_row_avx512(const Map& map, int64_t n, int y, int width) {
  work_on_row(map, n, y, width);
}

// The channels of a channel map are worked on one by one.
template <class Map, class Work>
ORBBEC_HD void work_on_plane(const Work& work, const typename Map::In* in, typename Map::Out* out) {
  const Work own = work;
  for (int i = 0; i < kBlockPixels; ++i) {
    out[i] = from_lane<typename Map::Out>(own(to_lane(in[i])));
  }
}

template <class Map>
ORBBEC_HD void work_on_channels(const Map& map, int64_t n, int y, int width) {
  using In = typename Map::In;
  using Out = typename Map::Out;
  const Image<const In> from = map.source[n];
  const Image<Out> to = map.output[n];
  const bool readable = is_readable(from, to);
  const int64_t channels = map.output.channels;
  alignas(64) In in[3][kBlockPixels] = {};
  alignas(64) Out out[3][kBlockPixels] = {};
  for (int x = 0; x < width; x += kBlockPixels) {
    const int count = width - x < kBlockPixels ? width - x : kBlockPixels;
    if (channels == 3) {
      if (readable) read_block<3>(from, y, x, in, count);
      for (int c = 0; c < 3; ++c) work_on_plane<Map>(map.rule.of(n, c), in[c], out[c]);
      write_block<3>(out, to, y, x, count);
      continue;
    }
    for (int64_t c = 0; c < channels; ++c) {
      if (readable) read_plane(&from.at(y, x, c), from.stride_x, in[0], count);
      work_on_plane<Map>(map.rule.of(n, c), in[0], out[0]);
      write_plane(out[0], &to.at(y, x, c), to.stride_x, count);
    }
  }
}

template <class Map>
void channels_row_plain(const Map& map, int64_t n, int y, int width) {
  work_on_channels(map, n, y, width);
}
template <class Map>
ORBBEC_AVX2 void channels_row_avx2(const Map& map, int64_t n, int y, int width) {
  work_on_channels(map, n, y, width);
}
template <class Map>
ORBBEC_AVX512 void channels_row_avx512(const Map& map, int64_t n, int y, int width) {
  work_on_channels(map, n, y, width);
}

template <class Map>
PixelRow<Map> row_of(const Map& map, Simd level) {
  if constexpr (requires { map.rule.of(int64_t{0}, int64_t{0}); }) {
    if (level == Simd::kPlain) return channels_row_plain<Map>;
    return level == Simd::kAvx2 ? channels_row_avx2<Map> : channels_row_avx512<Map>;
  } else if constexpr (requires { map.rule.of(int64_t{0}); }) {
    if (level == Simd::kPlain) return map_row_plain<Map>;
    return level == Simd::kAvx2 ? map_row_avx2<Map> : map_row_avx512<Map>;
  }
  return pixel_row<Map>(level);
}

template <class Map>
int run_map_cpu(const Map& map, const ParallelFor& parallel) {
  const PixelRow<Map> row = row_of(map, simd_level());
  const auto sizes = map.output;
  for_each_strip_cpu(sizes, 1, parallel, [&](int64_t n, int y) { row(map, n, y, sizes[n].width); });
  return 0;
}

}  // namespace orbbec
