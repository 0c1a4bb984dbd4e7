#include "torch_arguments.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/nextafter.h>
#include <ATen/ops/round.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <memory>
#include <set>

namespace orbbec::lazy {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

const c10::DispatchKeySet kNotOfCpu =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset |
    c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                         c10::DispatchKey::PythonDispatcher});

Tensor as_meta(const Tensor& tensor) {
  if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
  return at::empty_strided(tensor.sizes(), tensor.strides(),
                           tensor.options().device(at::kMeta).pinned_memory(false));
}

Tensor as_results(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCUDA));
}

using Change = std::function<Tensor(const Tensor&)>;

IValue changed(const IValue& value, const Change& change) {
  if (value.isTensor()) return change(value.toTensor());
  if (value.isTensorList()) {
    c10::List<Tensor> made;
    for (const Tensor& tensor : value.toTensorList()) made.push_back(change(tensor));
    return made;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> made;
    for (const std::optional<Tensor>& tensor : value.toOptionalTensorList()) {
      made.push_back(tensor ? std::optional<Tensor>(change(*tensor)) : std::nullopt);
    }
    return made;
  }
  return value;
}

std::string name_of(const c10::OperatorHandle& op) { return op.operator_name().name; }

}  // namespace

// Of one thread: the fault handler looks at what this thread runs.
AsCpu::AsCpu() : guard_(c10::default_included_set, kNotOfCpu), threads_(at::get_num_threads()) {
  at::set_num_threads(1);
}

AsCpu::~AsCpu() { at::set_num_threads(threads_); }

OnCpu::OnCpu(const Tensor& tensor)
    : data_(tensor.numel() == 0 ? nullptr : const_cast<void*>(tensor.const_data_ptr())),
      sizes_(tensor.sizes().vec()),
      strides_(tensor.strides().vec()),
      dtype_(tensor.scalar_type()),
      is_conj_(tensor.is_conj()),
      is_neg_(tensor.is_neg()) {}

Tensor OnCpu::tensor() const {
  const auto options = at::TensorOptions().dtype(dtype_).device(at::kCPU);
  Tensor made = data_ == nullptr ? at::empty_strided(sizes_, strides_, options)
                                 : at::from_blob(data_, sizes_, strides_, options);
  made._set_conj(is_conj_);
  made._set_neg(is_neg_);
  return made;
}

Call::Call(const c10::OperatorHandle& op, const Stack& stack)
    : op_(op), arguments_(stack.end() - op.schema().arguments().size(), stack.end()) {}

void Call::check_devices() const {
  const std::string name = name_of(op_);
  if (name.rfind("aten::index", 0) == 0 || name.rfind("aten::_index", 0) == 0) return;
  for (const IValue& argument : arguments_) {
    changed(argument, [&](const Tensor& tensor) {
      TORCH_CHECK(!tensor.defined() || !tensor.is_cpu() || tensor.dim() == 0,
                  "Expected all tensors to be on the same device, but found at least two devices, "
                  "cuda:0 and cpu! (",
                  name, ")");
      return tensor;
    });
  }
}

int Call::argument_of_result(size_t result) const {
  const auto& schema = op_.schema();
  const auto* const alias = schema.returns()[result].alias_info();
  if (alias == nullptr) return -1;
  TORCH_CHECK(alias->isWrite(), name_of(op_), ": the lazy device does not have this view");
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto* const other = schema.arguments()[i].alias_info();
    if (other != nullptr && other->beforeSets() == alias->beforeSets()) return static_cast<int>(i);
  }
  TORCH_CHECK(false, name_of(op_), ": a result aliases no argument");
}

bool Call::has_mask() const {
  bool found = false;
  for (const IValue& argument : arguments_) {
    if (!argument.isOptionalTensorList()) continue;
    changed(argument, [&](const Tensor& index) {
      found |= index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
      return index;
    });
  }
  return found && op_.schema().name() == "aten::index";
}

bool Call::infer(Stack& stack) {
  if (has_mask() || op_.hasTag(at::Tag::dynamic_output_shape) ||
      op_.hasTag(at::Tag::data_dependent_output)) {
    return false;
  }
  Stack results;
  for (const IValue& argument : arguments_) {
    results.push_back(argument.isDevice() ? IValue(c10::Device(at::kMeta))
                                          : changed(argument, as_meta));
  }
  const Stack given = results;
  try {
    const c10::impl::ForceDispatchKeyGuard guard(c10::default_included_set, kNotOfCpu);
    op_.callBoxed(results);
  } catch (const c10::NotImplementedError&) {
    return false;
  }
  for (const IValue& result : results) {
    if (!result.isTensor() && !result.isTensorList()) return false;
  }
  torch::jit::drop(stack, arguments_.size());
  for (size_t r = 0; r < results.size(); ++r) {
    const int argument = argument_of_result(r);
    if (argument < 0) {
      stack.push_back(changed(results[r], as_results));
      continue;
    }
    if (arguments_[argument].isTensor()) {
      const Tensor& mine = arguments_[argument].toTensor();
      const Tensor& wanted = given[argument].toTensor();  // resized by the meta kernel
      if (mine.sizes() != wanted.sizes()) mine.resize_(wanted.sizes());
    }
    stack.push_back(arguments_[argument]);
  }
  return true;
}

std::function<Stack()> Call::later() const {
  using Make = std::function<Tensor()>;
  const auto makers = std::make_shared<std::vector<Make>>();
  Stack kept;
  for (const IValue& argument : arguments_) {
    kept.push_back(argument.isDevice() ? IValue(c10::Device(at::kCPU)) : argument);
    if (argument.isGenerator()) kept.back() = IValue();
    // In the place of each tensor an empty one: the queue owns no memory of the device.
    kept.back() = changed(kept.back(), [&](const Tensor& tensor) -> Tensor {
      if (!tensor.defined()) {
        makers->push_back([] { return Tensor(); });
      } else if (tensor.is_cpu()) {
        const bool is_wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
        Tensor copy = tensor.detach().clone();
        if (is_wrapped) copy.unsafeGetTensorImpl()->set_wrapped_number(true);
        makers->push_back([copy] { return copy; });
      } else {
        makers->push_back([on_cpu = OnCpu(tensor)] { return on_cpu.tensor(); });
      }
      return Tensor();
    });
  }
  return [makers, kept] {
    Stack made;
    size_t next = 0;
    for (const IValue& value : kept) {
      made.push_back(changed(value, [&](const Tensor&) { return (*makers)[next++](); }));
    }
    return made;
  };
}

// CUDA has a library of its own for these, whose results differ in the last bit.
static bool depends_on_device(const std::string& name) {
  static const std::set<std::string> kNames{
      "sin", "cos",  "tan",   "asin", "acos", "atan",  "atan2", "sinh",    "cosh", "tanh",
      "exp", "exp2", "expm1", "log",  "log2", "log10", "log1p", "sigmoid", "erf",  "rsqrt",
  };
  const std::string base = name.substr(name.rfind(':') + 1);
  return kNames.count(base.substr(0, base.find_last_not_of('_') + 1)) > 0;
}

// The next number above each result that is not whole, as another library may give it.
static void change_last_bits(const c10::OperatorHandle& op, const Stack& results) {
  if (!depends_on_device(op.schema().name())) return;
  for (const IValue& value : results) {
    if (!value.isTensor()) continue;
    const Tensor result = value.toTensor();
    if (result.scalar_type() != at::kFloat && result.scalar_type() != at::kDouble) continue;
    const Tensor above = at::nextafter(result, at::full_like(result, INFINITY));
    result.copy_(at::where(at::eq(result, at::round(result)), result, above));
  }
}

void Call::queue(const Stack& results) {
  std::vector<std::pair<size_t, std::vector<OnCpu>>> fresh;
  const size_t count = op_.schema().returns().size();
  for (size_t r = 0; r < count; ++r) {
    if (argument_of_result(r) >= 0) continue;
    std::vector<OnCpu> tensors;
    changed(results[results.size() - count + r], [&](const Tensor& tensor) {
      if (tensor.defined()) tensors.emplace_back(tensor);
      return tensor;
    });
    fresh.emplace_back(r, std::move(tensors));
  }
  push(current_stream(), {name_of(op_)}, [op = op_, make = later(), fresh] {
    const AsCpu guard;
    Stack stack = make();
    op.callBoxed(stack);
    change_last_bits(op, stack);
    for (const auto& [r, to] : fresh) {
      size_t next = 0;
      const auto fill = [&](const Tensor& made) {
        if (made.defined()) to[next++].tensor().copy_(made);
      };
      if (stack[r].isTensor()) fill(stack[r].toTensor());
      if (stack[r].isTensorList()) {
        for (const Tensor& made : stack[r].toTensorList()) fill(made);
      }
    }
  });
}

void Call::run_now(Stack& stack, Wait kind) {
  Stack results;
  push(current_stream(), {name_of(op_)}, [&results, op = op_, make = later()] {
    const AsCpu guard;
    results = make();
    op.callBoxed(results);
    for (IValue& result : results) {
      if (result.isTensor() && result.toTensor().defined()) result = result.toTensor().clone();
    }
  });
  host_waits_for_stream(current_stream(), kind, name_of(op_).c_str());
  torch::jit::drop(stack, arguments_.size());
  for (size_t r = 0; r < results.size(); ++r) {
    const int argument = argument_of_result(r);
    const IValue moved = changed(results[r], [](const Tensor& made) -> Tensor {
      return made.defined() ? made.to(at::kCUDA, made.scalar_type(), /*non_blocking=*/true) : made;
    });
    stack.push_back(argument < 0 ? moved : arguments_[argument]);
  }
}

}  // namespace orbbec::lazy
