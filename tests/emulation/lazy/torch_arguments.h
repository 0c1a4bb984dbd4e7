// A call of an operator of torch, to be made later by the CPU. Included by torch_operators.cpp.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <functional>
#include <string>
#include <vector>

#include "queue.h"

namespace orbbec::lazy {

const c10::DispatchKeySet kCuda(c10::DispatchKey::CUDA);

// While this lasts, operators are the CPU's own, in whatever thread runs the queue.
class AsCpu {
 public:
  AsCpu();
  ~AsCpu();
  AsCpu(const AsCpu&) = delete;
  AsCpu& operator=(const AsCpu&) = delete;

 private:
  c10::impl::ForceDispatchKeyGuard guard_;
  int threads_;
};

// A tensor's memory without its owner: what the device knows of it.
class OnCpu {
 public:
  explicit OnCpu(const at::Tensor& tensor);
  at::Tensor tensor() const;  // of the CPU, on the same memory

 private:
  void* data_;
  std::vector<int64_t> sizes_, strides_;
  at::ScalarType dtype_;
  bool is_conj_, is_neg_;
};

class Call {
 public:
  Call(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

  // Raises as torch does if tensors of the host are mixed with those of the device.
  void check_devices() const;
  // Replaces the stack by the results, whose memory holds nothing yet; false: their shapes are not
  // known without values.
  bool infer(torch::jit::Stack& stack);
  // Queues the call, which fills the results.
  void queue(const torch::jit::Stack& results);
  // Makes the call, waits for it, and replaces the stack by its results.
  void run_now(torch::jit::Stack& stack, Wait kind);

 private:
  bool has_mask() const;  // which decides how many values are indexed
  // Makes the arguments of the CPU's operator.
  std::function<torch::jit::Stack()> later() const;
  int argument_of_result(size_t result) const;  // which it writes and returns; -1: it is new

  c10::OperatorHandle op_;
  const torch::jit::Stack arguments_;
};

}  // namespace orbbec::lazy
