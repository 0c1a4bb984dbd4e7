// torch's operators on the lazy device: each queues what the CPU's operator does, on the memory of
// the device. Shapes of results come from torch's meta kernels, so that nothing waits for values.
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "memory.h"
#include "queue.h"
#include "torch_arguments.h"

namespace orbbec::lazy {

namespace {

using at::IntArrayRef;
using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

Tensor empty(IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
             std::optional<at::Device>, std::optional<bool>,
             std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, c10::GetAllocator(c10::DeviceType::CUDA), kCuda,
                                   c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, c10::GetAllocator(c10::DeviceType::CUDA),
                                           kCuda, c10::dtype_or_default(dtype));
}

// The storage of `self` grows to `bytes`; what it holds is copied.
void grow(const Tensor& self, size_t bytes) {
  c10::StorageImpl* const storage = self.storage().unsafeGetStorageImpl();
  if (bytes <= storage->nbytes()) return;
  c10::DataPtr fresh = c10::GetAllocator(c10::DeviceType::CUDA)->allocate(bytes);
  const size_t kept = storage->nbytes();
  void* const to = fresh.get();
  const void* const from = storage->data();
  if (kept > 0) {
    push(current_stream(), {"resize_"}, [=] { std::memcpy(to, from, kept); });
  }
  storage->set_data_ptr_noswap(std::move(fresh));
  storage->set_nbytes(bytes);
}

void resize_to(const Tensor& self, IntArrayRef sizes, IntArrayRef strides) {
  const size_t item = self.dtype().itemsize();
  grow(self, at::detail::computeStorageNbytes(sizes, strides, item, self.storage_offset()));
  self.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
}

const Tensor& resize_(const Tensor& self, IntArrayRef sizes,
                      std::optional<at::MemoryFormat> format) {
  if (self.sizes() == sizes && !format) return self;
  const Tensor like = at::empty(sizes, self.options().device(at::kMeta), format);
  resize_to(self, sizes, like.strides());
  return self;
}

Tensor& set_storage(Tensor& self, at::Storage source, int64_t offset, IntArrayRef sizes,
                    IntArrayRef strides) {
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(source));
  self.unsafeGetTensorImpl()->set_storage_offset(offset);
  const c10::DimVector dense = c10::contiguous_strides(sizes);
  resize_to(self, sizes, strides.empty() && !sizes.empty() ? IntArrayRef(dense) : strides);
  return self;
}

void record_stream(Tensor& self, c10::Stream stream) {
  memory().record_stream(self.storage().mutable_data(), static_cast<int>(stream.id()));
}

bool is_pinned(const Tensor& tensor) {
  return tensor.is_cpu() && memory().pinned_begin(tensor.const_data_ptr()) != nullptr;
}

void keep_pinned(const Tensor& tensor) {
  memory().use_pinned(memory().pinned_begin(tensor.const_data_ptr()), current_stream());
}

void check_capture(const Tensor& host) {
  TORCH_CHECK(!thread_captures() || is_pinned(host),
              "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU "
              "tensor is pinned");
}

// To the device.
struct Copies {
  int64_t pinned = 0, pageable = 0;
};

Copies& copies() {
  static Copies counts;
  return counts;
}

// As in torch's Copy.cu: what the memory's layouts do not allow in one transfer goes by way of
// pageable memory.
void copy_from_host(const Tensor& self, const Tensor& source, bool non_blocking) {
  check_capture(source);
  const bool direct = source.dtype() == self.dtype() && source.sizes() == self.sizes() &&
                      source.is_contiguous() && !source.is_conj() && !source.is_neg();
  const bool late = direct && is_pinned(source);
  ++(late ? copies().pinned : copies().pageable);
  // Of memory that the device reads late, only the address is kept.
  const Tensor kept = late ? Tensor() : source.to(self.scalar_type(), false, true);
  const OnCpu to(self), from(late ? source : kept);
  push(current_stream(), {"copy_ to the device"}, [to, from, kept] {
    const AsCpu guard;
    to.tensor().copy_(from.tensor());
  });
  if (late) keep_pinned(source);
  if (!non_blocking) {
    host_waits_for_stream(current_stream(), Wait::kImplicit, "copy_ to the device");
  }
}

void copy_to_host(const Tensor& self, const Tensor& source, bool non_blocking) {
  check_capture(self);
  const bool late = non_blocking && is_pinned(self) && self.is_contiguous() &&
                    self.dtype() == source.dtype() && self.sizes() == source.sizes();
  const OnCpu to(self), from(source);
  push(current_stream(), {"copy_ to the host"}, [to, from] {
    const AsCpu guard;
    to.tensor().copy_(from.tensor());
  });
  if (late) keep_pinned(self);
  if (!late) host_waits_for_stream(current_stream(), Wait::kImplicit, "copy_ to the host");
}

Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  if (self.numel() == 0 && source.numel() == 0) return self;
  TORCH_CHECK(!self.is_meta() && !source.is_meta(), "copy_: a tensor has no memory");
  if (self.is_cuda() && source.is_cuda()) {
    const OnCpu to(self), from(source);
    push(current_stream(), {"copy_"}, [to, from] {
      const AsCpu guard;
      to.tensor().copy_(from.tensor());
    });
  } else if (self.is_cuda()) {
    copy_from_host(self, source, non_blocking);
  } else {
    copy_to_host(self, source, non_blocking);
  }
  return self;
}

c10::Scalar local_scalar_dense(const Tensor& self) {
  c10::Scalar value;
  const OnCpu from(self);
  push(current_stream(), {"item"}, [&value, from] {
    const AsCpu guard;
    value = at::native::_local_scalar_dense_cpu(from.tensor());
  });
  host_waits_for_stream(current_stream(), Wait::kImplicit, "item");
  return value;
}

// Everything else.
void any_operator(const c10::OperatorHandle& op, Stack* stack) {
  Call call(op, *stack);
  call.check_devices();
  if (op.hasTag(at::Tag::nondeterministic_seeded)) {
    call.run_now(*stack, Wait::kAsked);  // draws are in the order of calls
  } else if (!call.infer(*stack)) {
    call.run_now(*stack, Wait::kImplicit);  // the shapes of its results depend on values
  } else {
    call.queue(*stack);
  }
}

// The copies to the device so far, from pinned and from pageable memory.
TORCH_LIBRARY_FRAGMENT(lazy_device, m) {
  m.def("copies", [] { return std::make_tuple(copies().pinned, copies().pageable); });
}

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&any_operator>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("unfold", &at::native::unfold);
  m.impl("resize_", &resize_);
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("record_stream", &record_stream);
  m.impl("copy_", &copy_);
  m.impl("_local_scalar_dense", &local_scalar_dense);
}

}  // namespace

}  // namespace orbbec::lazy
