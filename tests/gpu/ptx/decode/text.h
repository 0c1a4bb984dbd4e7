// PTX text, split into kernels and statements. Nothing is interpreted here but declarations.
// Included by decode.cpp and the two ways in, api.cpp and hook.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace orbbec::ptx {

// What stops a launch; the message names the kernel.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A name with storage: a parameter, an array in shared memory, a variable of the module.
struct Variable {
  uint64_t offset = 0;  // in its space; of a variable of the module: its address
  uint64_t bytes = 0;
};

struct Statement {
  std::string_view label;  // or a label, and nothing else
  std::string_view guard;
  bool negated = false;
  std::string_view opcode;
  std::vector<std::string_view> arguments;
  int file = 0;
  int line = 0;
  int scope = 0;  // of braces, an index into KernelText::scopes
};

struct Scope {
  int parent = -1;
  std::map<std::string_view, int> registers;  // names, or prefixes of numbered names: their bytes
};

struct KernelText {
  std::string name;
  std::string_view body;
  std::map<std::string_view, Variable> params;
  uint64_t param_bytes = 0;
  // Filled by parse_body.
  std::vector<Statement> statements;
  std::vector<Scope> scopes;
  std::map<std::string_view, Variable> shared, local;
  uint64_t shared_bytes = 0;
  uint64_t local_bytes = 0;
};

struct ModuleText {
  std::string text;
  std::map<int, std::string> files;
  std::map<std::string_view, Variable> globals;
  std::map<std::string_view, Variable> shared;  // static shared memory of the module
  uint64_t shared_bytes = 0;
  std::string_view dynamic_shared;
  std::vector<std::unique_ptr<char[]>> storage;
  std::map<std::string, KernelText> kernels;
};

std::unique_ptr<ModuleText> parse_module(std::string text);
void parse_body(const ModuleText& module, KernelText& kernel);

// Replaces calls of device functions by their bodies (calls.cpp), in text without comments.
void inline_calls(std::string& text);

// Splits at commas outside of braces and brackets.
std::vector<std::string_view> split(std::string_view text);

// The index after the brace that closes the one at `open`.
size_t closing(std::string_view text, size_t open);

// Bytes of a value of PTX's type, such as "u32"; 1 for "pred", 0 if it is no type.
int bytes_of(std::string_view type);

}  // namespace orbbec::ptx
