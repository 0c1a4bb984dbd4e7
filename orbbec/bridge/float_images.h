// Half precision on the CPU: kernels that read neighboring pixels get float32 copies, which widens
// every value once and is exact, and their float32 results are rounded once. CUDA kernels read and
// write half precision. Included by bindings.
#pragma once

#include <memory>
#include <vector>

#include "../executors/float_images_cpu.h"
#include "call_memory.h"

namespace orbbec {

// The dtype of what a kernel of the CPU gets.
inline DType widened(DType dtype) {
  const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return is_half ? DType::kFloat32 : dtype;
}

// The float32 copies of a call, which live as long as this.
class FloatImages {
 public:
  FloatImages(const char* op, const Tensor& like, const ParallelFor& parallel)
      : op_(op), like_(like), parallel_(parallel) {}

  // Points `images` to their values in float32.
  void read(DType dtype, AnyImages& images) {
    with_half_type(dtype, [&](auto half) {
      const AnyImages halves = images;
      allocate(images);
      widen_images<decltype(half)>(halves, images, parallel_);
    });
  }

  // Points `images` to memory that `round_results` reads.
  void write(DType dtype, AnyImages& images) {
    if (widened(dtype) == dtype) return;
    const AnyImages halves = images;
    allocate(images);
    results_.push_back({dtype, halves, images});
  }

  // The same for memory that is also read.
  void update(DType dtype, AnyImages& images) {
    const AnyImages halves = images;
    read(dtype, images);
    if (widened(dtype) != dtype) results_.push_back({dtype, halves, images});
  }

  void round_results() const {
    for (const Result& result : results_) {
      with_half_type(result.dtype, [&](auto half) {
        narrow_images<decltype(half)>(result.floats, result.halves, parallel_);
      });
    }
  }

 private:
  struct Result {
    DType dtype;
    AnyImages halves, floats;
  };

  void allocate(AnyImages& images) {
    const FloatLayout layout(images);
    images = layout.images;
    memory_.push_back(call_memory(op_, layout.count * int64_t{sizeof(float)}, like_));
    images.data = memory_.back().get();
  }

  const char* op_;
  const Tensor& like_;
  const ParallelFor& parallel_;
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<Result> results_;
};

// For arguments with `source`, `output` and one `dtype`.
struct SourceToOutput {
  template <class Arguments>
  void operator()(FloatImages& floats, Arguments& a) const {
    floats.read(a.dtype, a.source);
    floats.write(a.dtype, a.output);
    a.dtype = widened(a.dtype);
  }
};

// `on_cpu` on copies of the images of its arguments, to which `use(floats, arguments)` points them.
template <class Arguments, class Use = SourceToOutput>
auto in_floats(const char* op, const Tensor& like,
               void (*on_cpu)(const Arguments&, const ParallelFor&), Use use = {}) {
  return [=, &like](Arguments arguments, const ParallelFor& parallel) {
    FloatImages floats(op, like, parallel);
    use(floats, arguments);
    on_cpu(arguments, parallel);
    floats.round_results();
  };
}

}  // namespace orbbec
