// The executor as a library for ctypes; executor.py calls it.
#include <cfenv>
#include <cstring>

#include "counts.h"
#include "execution.h"

namespace orbbec::ptx {

namespace {

std::string last_error, last_counts;
bool counts_launches = false;

struct Module {
  std::unique_ptr<ModuleText> text;
  std::map<std::string, Program> programs;
};

Program& program_of(Module& module, const std::string& name) {
  const auto known = module.programs.find(name);
  if (known != module.programs.end()) return known->second;
  const auto kernel = module.text->kernels.find(name);
  if (kernel == module.text->kernels.end()) throw Fault("no kernel " + name);
  return module.programs.emplace(name, decode(*module.text, kernel->second)).first->second;
}

template <class F>
int guarded(F f) {
  try {
    f();
    return 0;
  } catch (const std::exception& error) {
    std::fesetround(FE_TONEAREST);
    last_error = error.what();
    return 1;
  }
}

}  // namespace

}  // namespace orbbec::ptx

using orbbec::ptx::guarded;

extern "C" {

const char* ptx_error() { return orbbec::ptx::last_error.c_str(); }

void* ptx_load(const char* text) {
  auto module = std::make_unique<orbbec::ptx::Module>();
  const int failed = guarded([&] {
    module->text = orbbec::ptx::parse_module(text);
    for (const auto& [name, variable] : module->text->globals) {
      orbbec::ptx::memory().add(reinterpret_cast<void*>(variable.offset), variable.bytes);
    }
  });
  return failed != 0 ? nullptr : module.release();
}

// Calls `visit` with each instruction of one lane.
void ptx_opcodes(void (*visit)(const char*)) {
  for (const std::string& name : orbbec::ptx::arithmetic_opcodes()) visit(name.c_str());
}

// Calls `visit` with each kernel's name.
void ptx_kernels(void* module, void (*visit)(const char*)) {
  for (const auto& [name, kernel] : static_cast<orbbec::ptx::Module*>(module)->text->kernels) {
    visit(name.c_str());
  }
}

int ptx_decode(void* module, const char* name) {
  return guarded([&] { program_of(*static_cast<orbbec::ptx::Module*>(module), name); });
}

// Whether launches are counted; ptx_counts tells what the last one did, as JSON.
void ptx_count(int on) { orbbec::ptx::counts_launches = on != 0; }
const char* ptx_counts() { return orbbec::ptx::last_counts.c_str(); }

void ptx_add(const void* begin, size_t bytes) { orbbec::ptx::memory().add(begin, bytes); }
void ptx_remove(const void* begin) { orbbec::ptx::memory().remove(begin); }
uint64_t ptx_lane_instructions() { return orbbec::ptx::lane_instructions(); }

int ptx_launch(void* module, const char* name, const uint32_t* grid, const uint32_t* block,
               uint64_t shared_bytes, const void* params, size_t param_bytes) {
  return guarded([&] {
    orbbec::ptx::Program& program = program_of(*static_cast<orbbec::ptx::Module*>(module), name);
    if (param_bytes != program.text->param_bytes) {
      throw orbbec::ptx::Fault(program.name + ": expected parameters of " +
                               std::to_string(program.text->param_bytes) + " bytes, but got " +
                               std::to_string(param_bytes));
    }
    std::memcpy(program.params.data(), params, param_bytes);
    uint64_t next = 0;
    orbbec::ptx::Launch launch{{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}};
    launch.shared_bytes = shared_bytes;
    orbbec::ptx::Counts counts(program, launch);
    if (orbbec::ptx::counts_launches) {
      launch.counts = &counts;
      launch.finds_races = false;  // a kernel of another library may have some
    }
    run_grid(program, launch, [&] { return next++; });
    orbbec::ptx::last_counts = counts.json();
  });
}

}  // extern "C"
