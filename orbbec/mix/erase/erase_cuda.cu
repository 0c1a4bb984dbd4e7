// erase on a CUDA device: a thread owns a chunk of 16 bytes of a line, neighboring threads
// neighboring chunks. In place, only chunks that a rectangle meets are loaded and stored.
#include "../../executors/cuda/tiles.h"
#include "erase.h"

namespace orbbec {
namespace {

constexpr int kChunkBytes = 16;  // the widest store of a thread
constexpr int kThreads = 256;
constexpr int kRaggedColumns = 4,
              kRaggedRows = 64;  // blocks per image whose size is on the device

// The layout of a row: contiguous per channel, interleaved, or neither.
enum class RowForm { kPlanes, kPixels, kStrided };

RowForm form_of(const AnyImages& images) {
  if (images.stride_x == 1) return RowForm::kPlanes;
  const bool packed = images.stride_c == 1 && images.stride_x == images.channels;
  return packed ? RowForm::kPixels : RowForm::kStrided;
}

template <class T>
struct alignas(kChunkBytes) Chunk {
  static constexpr int kLength = kChunkBytes / sizeof(T);
  T values[kLength];
};

template <class T>
__device__ bool is_aligned(const T* address) {
  return reinterpret_cast<uintptr_t>(address) % kChunkBytes == 0;
}

// A line is a contiguous run: a row of a plane, or of packed pixels.
template <class T>
struct Line {
  Image<T> to;
  int64_t n, c;  // c: of a plane
  int y, pixel;  // pixel: elements per pixel, 1 in a plane
  int64_t length;

  __device__ T* begin() const { return &to.at(y, 0, c); }
};

// Elements [first, last) of a line within the aligned 16 bytes at `begin`.
struct Span {
  int64_t begin, first, last;
};

template <class T>
__device__ void load_chunk(const Erase<T>& op, const Line<T>& line, const Span& span,
                           Chunk<T>& chunk) {
  const Image<const T> from = op.source[line.n];
  const bool packed = line.pixel > 1;
  const bool dense =
      packed ? from.stride_c == 1 && from.stride_x == line.pixel : from.stride_x == 1;
  const bool whole = span.last - span.first == Chunk<T>::kLength;
  if (dense && whole && is_aligned(&from.at(line.y, 0, line.c) + span.begin)) {
    chunk = *reinterpret_cast<const Chunk<T>*>(&from.at(line.y, 0, line.c) + span.begin);
    return;
  }
#pragma unroll
  for (int i = 0; i < Chunk<T>::kLength; ++i) {
    const int64_t e = span.begin + i;
    if (e < span.first || e >= span.last) continue;
    const int64_t x = packed ? e / line.pixel : e;
    chunk.values[i] = from.at(line.y, static_cast<int>(x), line.c + (e - x * line.pixel));
  }
}

template <class T>
__device__ void store_chunk(const Line<T>& line, const Span& span, const Chunk<T>& chunk) {
  T* const to = line.begin() + span.begin;
  if (span.last - span.first == Chunk<T>::kLength) {
    *reinterpret_cast<Chunk<T>*>(to) = chunk;
    return;
  }
#pragma unroll
  for (int i = 0; i < Chunk<T>::kLength; ++i) {
    if (span.begin + i >= span.first && span.begin + i < span.last) to[i] = chunk.values[i];
  }
}

// The intersection of a rectangle and a span: elements [first, last), empty if first >= last.
template <class T>
__device__ Span overlap_of(const Line<T>& line, const Rectangle& r, const Span& span) {
  if (!r.has_row(line.y)) return {0, 0, 0};
  const int64_t left = int64_t{r.left} * line.pixel, right = int64_t{r.right} * line.pixel;
  return {span.begin, left > span.first ? left : span.first, right < span.last ? right : span.last};
}

template <class T>
__device__ void fill_chunk(const Erase<T>& op, const Line<T>& line, int64_t k, const Span& overlap,
                           Chunk<T>& chunk) {
  int64_t c = line.pixel > 1 ? overlap.first % line.pixel : line.c;
  T value = op.fill_of(line.n, k, c);
#pragma unroll
  for (int i = 0; i < Chunk<T>::kLength; ++i) {
    if (overlap.begin + i < overlap.first || overlap.begin + i >= overlap.last) continue;
    chunk.values[i] = value;
    if (line.pixel > 1) {
      c = c + 1 == line.pixel ? 0 : c + 1;
      value = op.fill_of(line.n, k, c);
    }
  }
}

// A span of a packed line may begin and end within pixels, so the columns depend on the channel.
template <class T>
__device__ void noise_in_chunk(const Erase<T>& op, const Line<T>& line, const Span& overlap) {
  for (int64_t c = 0; c < line.pixel; ++c) {
    const int64_t first = (overlap.first - c + line.pixel - 1) / line.pixel;
    const int64_t last = (overlap.last - c + line.pixel - 1) / line.pixel;
    op.add_noise(line.to, line.n, line.c + c, line.y, static_cast<int>(first),
                 static_cast<int>(last));
  }
}

template <class T>
__device__ Span overlap_of(const Erase<T>& op, const Line<T>& line, int64_t k, const Span& span) {
  return overlap_of(line, op.rectangle(line.n, k, line.to.height, line.to.width), span);
}

template <class T>
__device__ void fill_span(const Erase<T>& op, const Line<T>& line, const Span& span) {
  Chunk<T> chunk;
  bool is_loaded = !op.in_place();
  if (is_loaded) load_chunk(op, line, span, chunk);
  for (int64_t k = 0; k < op.a.rectangles; ++k) {
    const Span overlap = overlap_of(op, line, k, span);
    if (overlap.first >= overlap.last) continue;
    if (!is_loaded) load_chunk(op, line, span, chunk);
    is_loaded = true;
    fill_chunk(op, line, k, overlap, chunk);
  }
  if (is_loaded) store_chunk(line, span, chunk);
}

template <class T>
__device__ void noise_in_span(const Erase<T>& op, const Line<T>& line, const Span& span) {
  if (!op.in_place()) {
    Chunk<T> chunk;
    load_chunk(op, line, span, chunk);
    store_chunk(line, span, chunk);
  }
  for (int64_t k = 0; k < op.a.rectangles; ++k) {
    const Span overlap = overlap_of(op, line, k, span);
    if (overlap.first < overlap.last) noise_in_chunk(op, line, overlap);
  }
}

// A thread owns every (gridDim.x * blockDim.x)-th aligned chunk of 16 bytes of a line: it reads and
// stores each once, with one store where the whole chunk is in the line. No shared memory.
template <class T, bool kNoisy>
__global__ void __launch_bounds__(kThreads, blocks_of(kThreads, 64))
    erase_lines_kernel(const Erase<T> op) {
  constexpr int kLength = Chunk<T>::kLength;
  const bool packed = op.output.stride_x != 1;
  for (int64_t n = blockIdx.z; n < op.output.count; n += gridDim.z) {
    const Image<T> to = op.output[n];
    const int64_t planes = packed ? 1 : op.output.channels;
    const int pixel = packed ? static_cast<int>(op.output.channels) : 1;
    for (int64_t row = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
         row < planes * to.height; row += static_cast<int64_t>(gridDim.y) * blockDim.y) {
      const int64_t c = row / to.height;
      const Line<T> line{.to = to,
                         .n = n,
                         .c = c,
                         .y = static_cast<int>(row - c * to.height),
                         .pixel = pixel,
                         .length = int64_t{to.width} * pixel};
      const auto before =
          static_cast<int64_t>(reinterpret_cast<uintptr_t>(line.begin()) % kChunkBytes / sizeof(T));
      for (int64_t chunk = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
           chunk * kLength - before < line.length;
           chunk += static_cast<int64_t>(gridDim.x) * blockDim.x) {
        const int64_t begin = chunk * kLength - before, end = begin + kLength;
        const Span span{begin, begin > 0 ? begin : 0, end < line.length ? end : line.length};
        if constexpr (kNoisy) noise_in_span(op, line, span);
        if constexpr (!kNoisy) fill_span(op, line, span);
      }
    }
  }
}

// Threads per line: just enough to cover it, so that short lines leave none idle.
inline unsigned threads_along(int64_t chunks) {
  unsigned threads = 1;
  while (threads < 32 && threads < chunks) threads *= 2;
  return threads;
}

template <class T, bool kNoisy>
int launch_lines(const Erase<T>& op, bool packed, void* stream) {
  const auto& output = op.output;
  const auto images = grid_blocks(output.count);
  if (output.layout != nullptr) {
    return launch(erase_lines_kernel<T, kNoisy>, dim3(kRaggedColumns, kRaggedRows, images),
                  dim3(32, kThreads / 32), 0, stream, op);
  }
  const int64_t length = int64_t{output.width} * (packed ? output.channels : 1);
  const int64_t lines = int64_t{output.height} * (packed ? 1 : output.channels);
  const int64_t chunks = (length + 2 * Chunk<T>::kLength - 2) / Chunk<T>::kLength;
  const unsigned threads_per_line = threads_along(chunks),
                 lines_per_block = kThreads / threads_per_line;
  const int64_t columns = (chunks + threads_per_line - 1) / threads_per_line,
                rows = (lines + lines_per_block - 1) / lines_per_block;
  return launch(erase_lines_kernel<T, kNoisy>,
                dim3(grid_blocks(columns), grid_blocks(rows), images),
                dim3(threads_per_line, lines_per_block), 0, stream, op);
}

template <class T>
int launch_erase(const Erase<T>& op, bool packed, void* stream) {
  return op.a.noise.kind == Noise::kNone ? launch_lines<T, false>(op, packed, stream)
                                         : launch_lines<T, true>(op, packed, stream);
}

}  // namespace

int erase_cuda(const EraseArguments& arguments, void* stream) {
  return dispatch_erase(arguments, [&](const auto& op) {
    const RowForm form = form_of(op.output);
    if (form == RowForm::kStrided) return for_each_pixel_cuda(op, op.output, stream);
    return launch_erase(op, form == RowForm::kPixels, stream);
  });
}

}  // namespace orbbec
