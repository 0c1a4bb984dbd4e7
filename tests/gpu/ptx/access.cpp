// Loads, stores and atomics.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "execution.h"

namespace orbbec::ptx {

namespace {

template <class Value, class Register>
void load(Execution& m, const Instruction& in) {
  const uint64_t base = m.base_of(in.space) + static_cast<uint64_t>(in.offset);
  const uint64_t* const addresses = m.reg<uint64_t>(in.argument[in.vector]);
  const int count = in.vector;
  m.each([&](int i) {
    const char* from = m.at(in, base + addresses[i], sizeof(Value) * count, i, false);
    for (int v = 0; v < count; ++v, from += sizeof(Value)) {
      Value value;
      std::memcpy(&value, from, sizeof value);
      m.reg<Register>(in.argument[v])[i] = static_cast<Register>(value);
    }
  });
}

// From a known address: the same for all lanes.
template <class Value, class Register>
void load_param(Execution& m, const Instruction& in) {
  for (int v = 0; v < in.vector; ++v) {
    Value value;
    std::memcpy(&value, m.program->params.data() + in.offset + v * sizeof value, sizeof value);
    Register* const to = m.reg<Register>(in.argument[v]);
    m.each([=](int i) { to[i] = static_cast<Register>(value); });
  }
}

template <class Value, class Register>
void store(Execution& m, const Instruction& in) {
  const uint64_t base = m.base_of(in.space) + static_cast<uint64_t>(in.offset);
  const uint64_t* const addresses = m.reg<uint64_t>(in.argument[0]);
  const int count = in.vector;
  m.each([&](int i) {
    char* to = m.at(in, base + addresses[i], sizeof(Value) * count, i, true);
    for (int v = 0; v < count; ++v, to += sizeof(Value)) {
      const auto value = static_cast<Value>(m.reg<Register>(in.argument[v + 1])[i]);
      std::memcpy(to, &value, sizeof value);
    }
  });
}

struct AtomicAdd {
  template <class T>
  static T of(T old, T a, T) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(old) + static_cast<U>(a));
    } else {
      return old + a;
    }
  }
};
struct AtomicMin {
  template <class T>
  static T of(T old, T a, T) {
    return std::min(old, a);
  }
};
struct AtomicMax {
  template <class T>
  static T of(T old, T a, T) {
    return std::max(old, a);
  }
};
struct AtomicExchange {
  template <class T>
  static T of(T, T a, T) {
    return a;
  }
};
struct AtomicCompare {
  template <class T>
  static T of(T old, T a, T b) {
    return old == a ? b : old;
  }
};
struct AtomicIncrement {
  template <class T>
  static T of(T old, T a, T) {
    return old >= a ? T{0} : old + 1;
  }
};
struct AtomicDecrement {
  template <class T>
  static T of(T old, T a, T) {
    return old == 0 || old > a ? a : old - 1;
  }
};
struct AtomicAnd {
  template <class T>
  static T of(T old, T a, T) {
    return old & a;
  }
};
struct AtomicOr {
  template <class T>
  static T of(T old, T a, T) {
    return old | a;
  }
};
struct AtomicXor {
  template <class T>
  static T of(T old, T a, T) {
    return old ^ a;
  }
};

template <class Op, class T, bool kHasResult>
void atomic(Execution& m, const Instruction& in) {
  const uint64_t base = m.base_of(in.space) + static_cast<uint64_t>(in.offset);
  const Slot* const argument = in.argument.data() + (kHasResult ? 1 : 0);
  const uint64_t* const addresses = m.reg<uint64_t>(argument[0]);
  const T* const a = m.reg<T>(argument[1]);
  const T* const b = std::is_same_v<Op, AtomicCompare> ? m.reg<T>(argument[2]) : a;
  m.each([&](int i) {
    char* const target = m.at(in, base + addresses[i], sizeof(T), i, true);
    T old;
    std::memcpy(&old, target, sizeof old);
    const T next = Op::of(old, a[i], b[i]);
    std::memcpy(target, &next, sizeof next);
    if (kHasResult) m.reg<T>(in.argument[0])[i] = old;
  });
}

template <class Op, class T>
Handler atomic_handler(bool has_result) {
  return has_result ? &atomic<Op, T, true> : &atomic<Op, T, false>;
}

template <class T>
Handler integer_atomic(std::string_view what, bool has_result) {
  if (what == "add") return atomic_handler<AtomicAdd, T>(has_result);
  if (what == "min") return atomic_handler<AtomicMin, T>(has_result);
  if (what == "max") return atomic_handler<AtomicMax, T>(has_result);
  if constexpr (std::is_unsigned_v<T>) {
    if (what == "exch") return atomic_handler<AtomicExchange, T>(has_result);
    if (what == "cas") return atomic_handler<AtomicCompare, T>(has_result);
    if (what == "inc") return atomic_handler<AtomicIncrement, T>(has_result);
    if (what == "dec") return atomic_handler<AtomicDecrement, T>(has_result);
    if (what == "and") return atomic_handler<AtomicAnd, T>(has_result);
    if (what == "or") return atomic_handler<AtomicOr, T>(has_result);
    if (what == "xor") return atomic_handler<AtomicXor, T>(has_result);
  }
  return nullptr;
}

// The widths that a register for a value of type Value may have.
template <template <class, class> class Form, class Value>
Handler of_register(int register_bytes) {
  constexpr bool kIsSigned = std::is_signed_v<Value>;
  if (register_bytes < static_cast<int>(sizeof(Value))) return nullptr;
  if (register_bytes == 2)
    return Form<Value, std::conditional_t<kIsSigned, int16_t, uint16_t>>::run;
  if (register_bytes == 4)
    return Form<Value, std::conditional_t<kIsSigned, int32_t, uint32_t>>::run;
  if (register_bytes == 8)
    return Form<Value, std::conditional_t<kIsSigned, int64_t, uint64_t>>::run;
  return nullptr;
}

template <template <class, class> class Form>
Handler of_type(std::string_view type, int register_bytes) {
  if (type == "s8") return of_register<Form, int8_t>(register_bytes);
  if (type == "s16") return of_register<Form, int16_t>(register_bytes);
  if (type == "s32") return of_register<Form, int32_t>(register_bytes);
  switch (bytes_of(type)) {
    case 1:
      return of_register<Form, uint8_t>(register_bytes);
    case 2:
      return of_register<Form, uint16_t>(register_bytes);
    case 4:
      return of_register<Form, uint32_t>(register_bytes);
    case 8:
      return of_register<Form, uint64_t>(register_bytes);
    default:
      return nullptr;
  }
}

template <class Value, class Register>
struct Load {
  static constexpr Handler run = &load<Value, Register>;
};
template <class Value, class Register>
struct LoadParam {
  static constexpr Handler run = &load_param<Value, Register>;
};
template <class Value, class Register>
struct Store {
  static constexpr Handler run = &store<Value, Register>;
};

}  // namespace

Handler find_load(std::string_view type, int register_bytes) {
  return of_type<Load>(type, register_bytes);
}

Handler find_load_param(std::string_view type, int register_bytes) {
  return of_type<LoadParam>(type, register_bytes);
}

Handler find_store(std::string_view type, int register_bytes) {
  return of_type<Store>(type, register_bytes);
}

Handler find_atomic(std::string_view what, std::string_view type, bool has_result) {
  if (type == "u32" || type == "b32") return integer_atomic<uint32_t>(what, has_result);
  if (type == "s32") return integer_atomic<int32_t>(what, has_result);
  if (type == "u64" || type == "b64") return integer_atomic<uint64_t>(what, has_result);
  if (type == "s64") return integer_atomic<int64_t>(what, has_result);
  if (what != "add") return nullptr;
  if (type == "f32") return atomic_handler<AtomicAdd, float>(has_result);
  return type == "f64" ? atomic_handler<AtomicAdd, double>(has_result) : nullptr;
}

}  // namespace orbbec::ptx
