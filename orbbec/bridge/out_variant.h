// Out variants of operators: they write their result to a tensor that the caller gives, such as a
// buffer of the pool. Included by images.h and bindings.
#pragma once

#include <string>
#include <utility>

#include "check.h"

namespace orbbec {

// The output of the out variant that runs in this thread, until the operator takes it.
inline thread_local const Tensor* output_of_variant = nullptr;

using BoxedOperator = void (*)(StableIValue* stack, uint64_t arguments, uint64_t results);

// An operator with one result as its out variant, whose last argument is the output.
template <BoxedOperator kOperator>
void write_to_out(StableIValue* stack, uint64_t arguments, uint64_t) {
  struct Scope {
    ~Scope() { output_of_variant = nullptr; }
  };
  Tensor out, result;
  unpack(stack + arguments - 1, out);
  const Scope scope;
  output_of_variant = &out;
  kOperator(stack, arguments - 1, 1);
  unpack(stack, result);
}

// Defines `x(...) -> Tensor` and `x_out(..., Tensor(a!) out) -> ()`.
template <class Library>
void define_with_out(Library& m, const std::string& schema) {
  const size_t name = schema.find('('), end = schema.rfind(") -> Tensor");
  m.def(schema.c_str());
  m.def((schema.substr(0, name) + "_out" + schema.substr(name, end - name) +
         ", Tensor(a!) out) -> ()")
            .c_str());
}

template <BoxedOperator kOperator, class Library>
void implement_with_out(Library& m, const std::string& name) {
  m.impl(name.c_str(), kOperator);
  m.impl((name + "_out").c_str(), write_to_out<kOperator>);
}

}  // namespace orbbec
