// The arguments of `run`, and what it draws. Included by binding_run.cpp.
#pragma once

#include "../augment/binding_call.h"
#include "../bridge/host_memory.h"
#include "binding_passes.h"

namespace orbbec {

[[gnu::weak]] int draw_cuda(const DrawArguments& arguments, void* stream);

constexpr const char* kRun = "run";

// The arguments of `run`, as its schema has them.
struct RunCall {
  Tensor images, code;
  std::optional<Tensor> sample_ids, layout, host_layout, code_on_device, epoch_tensor, out;
  int64_t channels = 0, seed = 0, epoch = 0, frames = 1;

  static RunCall of(StableIValue* stack) {
    RunCall call;
    unpack(stack, call.images, call.code, call.seed, call.epoch, call.sample_ids, call.layout,
           call.host_layout, call.channels, call.code_on_device, call.epoch_tensor, call.out,
           call.frames);
    return call;
  }

  // `run_seed`: torch spends as long on nine defaults as on drawing.
  static RunCall of_seed(StableIValue* stack) {
    RunCall call;
    unpack(stack, call.images, call.code, call.seed);
    return call;
  }

  int64_t count() const {
    if (layout) return layout->size(0);
    return images.dim() == 3 ? 1 : images.size(0);
  }
  // Of the images if they have one size.
  int64_t height() const { return images.size(images.dim() - 2); }
  int64_t width() const { return images.size(images.dim() - 1); }
};

// A program, and where it is drawn.
struct RunProgram : WholeProgram {
  const Tensor* code_on_device = nullptr;  // null: the host draws

  explicit RunProgram(const RunCall& call) : WholeProgram(kRun, call.code) {
    if (!draws_anywhere || !runs_cuda_kernels(call.images)) return;
    if (call.code_on_device) {
      code_on_device = &*call.code_on_device;
    } else if (same_device(call.code, call.images)) {
      code_on_device = &call.code;
    }
  }
};

// Memory for one call at a time on a thread: allocating tensors takes longer than drawing.
template <class T>
T* scratch(int64_t count) {
  thread_local std::vector<T> memory;
  if (static_cast<int64_t>(memory.size()) < count) memory.resize(static_cast<size_t>(count));
  return memory.data();
}

// The parameters of some images of a batch: words on the device of the images; registers too if a
// kernel draws.
struct Parameters {
  double* registers;
  float* words;
  int64_t total, width;  // images of the batch; registers of each
  bool on_host;          // whether the host can read the registers
  std::optional<Tensor> memory;
  const Tensor& images;
  int64_t first = 0, count = total;  // which of the images

  Parameters of(int64_t begin, int64_t end) const {
    Parameters some = *this;
    some.first = begin;
    some.count = end - begin;
    return some;
  }

  // The first row of a block of rows of a number of bytes.
  void* at(double offset, int64_t row_bytes) const {
    return reinterpret_cast<char*>(words + static_cast<int64_t>(offset) * total) +
           first * row_bytes;
  }

  template <class T>
  const T* rows_at(double offset, int numbers) const {
    return static_cast<const T*>(at(offset, numbers * int64_t{sizeof(T)}));
  }

  // Null for an offset of -1.
  const double* column(double offset) const {
    return offset < 0 ? nullptr : rows_at<double>(offset, 1);
  }

  // A block as a tensor that shares its memory.
  Tensor boxes(double offset) const {
    return torch::stable::from_blob(at(offset, 4 * sizeof(double)), {count, 4}, {4, 1},
                                    images.device(), ScalarType::Double);
  }
  Tensor flags(double offset) const {
    return torch::stable::from_blob(at(offset, sizeof(bool)), {count}, {1}, images.device(),
                                    ScalarType::Bool);
  }

  TableRows rows(double offset, double count_of_rows, int numbers) const {
    if (count_of_rows < 1) return {};
    const int rows = static_cast<int>(count_of_rows);
    return {rows_at<float>(offset, rows * numbers), int64_t{rows} * numbers, rows};
  }

  // The common size of the outputs of a pass, which is static or drawn.
  std::vector<int64_t> size(const double* row) const {
    const double* const known = row + kStaticSize;
    if (known[0] > 0) return {static_cast<int64_t>(known[0]), static_cast<int64_t>(known[1])};
    check(on_host, kRun, "expected passes of static sizes");
    const double* const sides = sides_of(row);
    for (int64_t n = 1; n < count; ++n) {
      const double* const other = sides + n * width;
      check(other[0] == sides[0] && other[1] == sides[1], kRun,
            "expected outputs of one size, but got ", sides[0], "x", sides[1], " and ", other[0],
            "x", other[1]);
    }
    return {static_cast<int64_t>(sides[0]), static_cast<int64_t>(sides[1])};
  }

  bool have_one_size(const double* row) const {
    if (row[kStaticSize] > 0) return true;
    const double* const sides = sides_of(row);
    for (int64_t n = 1; n < count; ++n)
      if (sides[n * width] != sides[0] || sides[n * width + 1] != sides[1]) return false;
    return true;
  }

 private:
  // Of the first image; those of the next one are `width` registers further.
  const double* sides_of(const double* row) const {
    return registers + first * width + static_cast<int64_t>(row[kOut]) + kPassHeight;
  }
};
inline const int64_t* checked_layout(const RunCall& call) {
  if (!call.layout) {
    check(call.images.dim() == 4 || call.images.dim() == 3, kRun,
          "expected images of shape [N, C, H, W] or [C, H, W], but got ", shape_text(call.images));
    check_pixels(kRun, 0, call.height(), call.width());
    return nullptr;
  }
  check(call.layout->dim() == 2, kRun, "expected layout of shape [N, 3], but got ",
        shape_text(*call.layout));
  check(call.host_layout.has_value() && call.host_layout->is_cpu(), kRun,
        "expected host_layout of variable-size images on the CPU");
  const auto* const rows = check_table<int64_t>(kRun, "host_layout", *call.host_layout,
                                                {call.layout->size(0), 3}, *call.host_layout);
  for (int64_t n = 0; n < call.layout->size(0); ++n)
    check_pixels(kRun, n, rows[3 * n + 1], rows[3 * n + 2]);
  return rows;
}

inline std::optional<Tensor> checked_ids(const RunCall& call, const RunProgram& program) {
  if (!call.sample_ids) return std::nullopt;
  return sample_ids_on(kRun, *call.sample_ids,
                       program.code_on_device ? call.images : *call.sample_ids, call.count());
}

inline const int64_t* checked_epoch(const RunCall& call, const RunProgram& program) {
  if (!call.epoch_tensor) return nullptr;
  const Tensor& where = program.code_on_device ? call.images : call.code;
  return check_table<int64_t>(kRun, "epoch_tensor", *call.epoch_tensor, {1}, where);
}

// What to draw, without memory for it.
inline DrawArguments draw_arguments(const RunCall& call, const RunProgram& program) {
  DrawArguments a{};
  a.layout = checked_layout(call);
  a.rows = static_cast<const double*>(call.code.const_data_ptr());
  a.row_count = call.code.size(0);
  a.end = program.end;
  a.count = call.count();
  a.frames = checked_frames(kRun, call.frames, a.count);
  if (!call.layout) a.height = call.height(), a.width = call.width();
  a.seed = static_cast<uint64_t>(call.seed);
  a.epoch = call.epoch;
  a.live_epoch = checked_epoch(call, program);
  a.register_count = program.registers;
  return a;
}

inline Parameters draw_on_host(const RunCall& call, const RunProgram& program, DrawArguments a) {
  check(!call.sample_ids || call.sample_ids->is_cpu(), kRun, "expected sample_ids on the CPU");
  check(a.live_epoch == nullptr || *a.live_epoch >= 0, kRun,
        "expected epoch_tensor from 0, but got ", a.live_epoch == nullptr ? 0 : *a.live_epoch);
  a.registers = scratch<double>(a.count * program.registers);
  Parameters p{a.registers, nullptr, a.count, program.registers, true, std::nullopt, call.images};
  const int64_t numbers = a.count * program.words;
  if (!runs_cuda_kernels(call.images)) {
    p.words = a.words = scratch<float>(numbers);
    draw_batch(kRun, a);
    return p;
  }
  const Tensor words = new_host_tensor(kRun, {numbers}, ScalarType::Float, call.images);
  a.words = static_cast<float*>(words.mutable_data_ptr());
  draw_batch(kRun, a);
  p.memory = on_device_of(kRun, words, call.images);
  p.words = static_cast<float*>(p.memory->mutable_data_ptr());
  return p;
}

inline void draw_where(const DrawArguments& a, const ParallelFor&) { draw_batch(kRun, a); }

inline Parameters draw_on_device(const RunCall& call, const RunProgram& program, DrawArguments a) {
  const Tensor &images = call.images, &code = *program.code_on_device;
  check(same_device(code, images) && code.is_contiguous() && code.numel() == call.code.numel() &&
            code.scalar_type() == ScalarType::Double,
        kRun, "expected code_on_device as a copy of code on the device of images");
  check(shared_bytes(a) <= kMaxSharedBytes, kRun, "expected at most ", kMaxSharedBytes,
        " bytes of code and registers, but got ", shared_bytes(a));
  a.rows = static_cast<const double*>(code.const_data_ptr());
  if (call.layout)
    a.layout = check_table<int64_t>(kRun, "layout", *call.layout, {a.count, 3}, images);
  const std::array<int64_t, 1> words{a.count * program.words};
  const Tensor memory = new_tensor(kRun, words, ScalarType::Float, images);
  a.words = static_cast<float*>(memory.mutable_data_ptr());
  run_where(kRun, images, draw_where, draw_cuda, a);
  return {nullptr, a.words, a.count, program.registers, false, memory, images};
}

inline Parameters draw_parameters(const RunCall& call, const RunProgram& program) {
  DrawArguments a = draw_arguments(call, program);
  const std::optional<Tensor> samples = checked_ids(call, program);
  a.ids = samples ? static_cast<const int64_t*>(samples->const_data_ptr()) : nullptr;
  return program.code_on_device ? draw_on_device(call, program, a) : draw_on_host(call, program, a);
}

}  // namespace orbbec
