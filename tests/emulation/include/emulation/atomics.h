// Atomic operations. One thread runs at a time, so ordinary operations suffice; races.cpp is
// notified of them.
#pragma once

#include <cstddef>
#include <type_traits>

namespace orbbec::emulation {

#ifdef ORBBEC_EMULATION_RACES
void note_atomic(void* address, size_t bytes, void* code);
void note_fence();
#else
inline void note_atomic(void*, size_t, void*) {}
inline void note_fence() {}
#endif

// Stores `change(old)` and returns old.
template <class T, class Change>
__attribute__((no_sanitize("thread"), noinline)) T exchange(T* address, Change change) {
  note_atomic(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  *address = change(old);
  return old;
}

// Integers wrap, as they do in CUDA.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

template <class T>
T wrapping_subtract(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}

template <class T>
struct Same {
  using type = T;
};

}  // namespace orbbec::emulation

// The second argument converts to the type of the first, as with CUDA's overloads.
#define ORBBEC_EMULATION_ATOMIC(name, expression)                                                 \
  template <class T>                                                                              \
  __attribute__((always_inline)) inline T name(T* address,                                        \
                                               typename orbbec::emulation::Same<T>::type value) { \
    return orbbec::emulation::exchange(address, [value](T old) -> T { return expression; });      \
  }

ORBBEC_EMULATION_ATOMIC(atomicAdd, orbbec::emulation::wrapping_add(old, value))
ORBBEC_EMULATION_ATOMIC(atomicSub, orbbec::emulation::wrapping_subtract(old, value))
ORBBEC_EMULATION_ATOMIC(atomicMin, old < value ? old : value)
ORBBEC_EMULATION_ATOMIC(atomicMax, old > value ? old : value)
ORBBEC_EMULATION_ATOMIC(atomicAnd, old& value)
ORBBEC_EMULATION_ATOMIC(atomicOr, old | value)
ORBBEC_EMULATION_ATOMIC(atomicXor, old ^ value)
ORBBEC_EMULATION_ATOMIC(atomicExch, value)
#undef ORBBEC_EMULATION_ATOMIC

template <class T>
__attribute__((always_inline)) inline T atomicCAS(
    T* address, typename orbbec::emulation::Same<T>::type expected,
    typename orbbec::emulation::Same<T>::type value) {
  return orbbec::emulation::exchange(address,
                                     [=](T old) -> T { return old == expected ? value : old; });
}

inline void __threadfence() { orbbec::emulation::note_fence(); }
inline void __threadfence_block() {}
inline void __threadfence_system() { orbbec::emulation::note_fence(); }
