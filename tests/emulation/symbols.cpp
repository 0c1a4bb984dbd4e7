#include "emulation/symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace orbbec::emulation {

namespace {

// The functions of one library by their offsets, local ones too, which dladdr does not know.
class Symbols {
 public:
  Symbols();
  std::string of(const void* function) const;

 private:
  std::map<uintptr_t, std::string> names_;
  uintptr_t base_ = 0;
};

Symbols::Symbols() {
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&short_name), &here);
  base_ = reinterpret_cast<uintptr_t>(here.dli_fbase);
  // A sanitizer preloaded into this process is not for nm.
  const std::string command = std::string("LD_PRELOAD= nm --defined-only '") + here.dli_fname + "'";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return;
  static char line[1 << 16];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    char* name = nullptr;
    const uintptr_t offset = std::strtoull(line, &name, 16);
    if (name == nullptr || std::strlen(name) < 5 || std::strchr("tTwW", name[1]) == nullptr)
      continue;
    name += 3;
    name[std::strcspn(name, "\n")] = '\0';
    names_[offset] = name;
  }
  pclose(pipe);
}

std::string Symbols::of(const void* function) const {
  const auto found = names_.find(reinterpret_cast<uintptr_t>(function) - base_);
  return found == names_.end() ? "" : found->second;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::string short_name(const std::string& mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  replace_all(name, "(anonymous namespace)::", "");
  replace_all(name, "orbbec::", "");
  while (name.find("> >") != std::string::npos) replace_all(name, "> >", ">>");
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    depth += (name[i] == '<') - (name[i] == '>');
    if (depth == 0 && name[i] == '(') name.resize(i);
  }
  return name.rfind("void ", 0) == 0 ? name.substr(5) : name;
}

std::string symbol_of(const void* function) {
  static const auto* const symbols = new Symbols;
  return symbols->of(function);
}

}  // namespace orbbec::emulation
