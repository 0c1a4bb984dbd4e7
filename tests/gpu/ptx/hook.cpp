// ORBBEC_PTX names the folder of the PTX files; ORBBEC_PTX_LAUNCHED a file to which the name of
// each kernel is appended when it is launched for the first time. ORBBEC_PTX_RACES=0: no races are
// looked for. ORBBEC_PTX_COUNTS names a file to which a line of JSON is appended per launch.
#include "hook.h"

#include <time.h>

#include <cfenv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "counts.h"
#include "emulation/order.h"
#include "emulation/symbols.h"
#include "execution.h"

namespace orbbec::ptx {

namespace {

std::string fault;

struct Totals {
  uint64_t launches = 0;
  double seconds = 0;  // of this process's CPU, in kernels
} totals;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Kernel {
  ModuleText* module = nullptr;
  KernelText* text = nullptr;
  std::unique_ptr<Program> program;
};

class Kernels {
 public:
  Kernels();
  Kernel& of(const void* key);

 private:
  void load(const std::filesystem::path& path);
  std::vector<std::unique_ptr<ModuleText>> modules_;
  std::map<std::string, Kernel> by_name_;
};

Kernels::Kernels() {
  const char* const folder = std::getenv("ORBBEC_PTX");
  if (folder == nullptr) throw Fault("ORBBEC_PTX: expected a folder of PTX files");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ptx") load(entry.path());
  }
}

void Kernels::load(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  modules_.push_back(parse_module(text.str()));
  ModuleText& module = *modules_.back();
  for (const auto& [name, variable] : module.globals) {
    memory().add(reinterpret_cast<void*>(variable.offset), variable.bytes);
  }
  for (auto& [name, kernel] : module.kernels) {
    const std::string common = emulation::short_name(name);
    const auto [first, is_new] = by_name_.try_emplace(common, Kernel{&module, &kernel, nullptr});
    // Of a template every file has the same instance.
    if (!is_new && first->second.text->name != name)
      throw Fault("two kernels are called " + common);
  }
}

Kernel& Kernels::of(const void* key) {
  const std::string symbol = emulation::symbol_of(key);
  if (symbol.empty()) throw Fault("a kernel that is no function of this library");
  const std::string name = emulation::short_name(symbol);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) throw Fault("no PTX for " + name);
  Kernel& kernel = found->second;
  if (kernel.program == nullptr) {
    kernel.program = std::make_unique<Program>(decode(*kernel.module, *kernel.text));
    if (const char* const path = std::getenv("ORBBEC_PTX_LAUNCHED")) {
      std::ofstream(path, std::ios::app) << kernel.text->name << '\n';
    }
  }
  return kernel;
}

// Parameters lie in the order of the kernel's; their bytes are those of the host.
void copy_arguments(Program& program, const emulation::Kernel& kernel) {
  size_t count = 0;
  while (kernel.sizes[count] != 0) ++count;
  std::map<uint64_t, uint64_t> sizes;  // by offset
  for (const auto& [name, param] : program.text->params) sizes[param.offset] = param.bytes;
  if (sizes.size() != count) throw Fault(program.name + ": another number of parameters");
  size_t i = 0;
  for (const auto& [offset, bytes] : sizes) {
    if (bytes != kernel.sizes[i]) throw Fault(program.name + ": a parameter of another size");
    std::memcpy(program.params.data() + offset, kernel.values[i], bytes);
    ++i;
  }
}

}  // namespace

const char* last_fault() { return fault.c_str(); }

cudaError_t launch(const void* key, const emulation::Kernel& kernel, dim3 grid, dim3 block,
                   size_t shared_bytes) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  try {
    static auto* const kernels = new Kernels;
    Program& program = *kernels->of(key).program;
    copy_arguments(program, kernel);
    emulation::choose_order();
    static uint64_t salt = 0;
    emulation::Order order(uint64_t{grid.x} * grid.y * grid.z, ++salt);
    const char* const races = std::getenv("ORBBEC_PTX_RACES");
    Launch launch{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}};
    launch.shared_bytes = shared_bytes;
    launch.finds_races = races == nullptr || std::strcmp(races, "0") != 0;
    const char* const path = std::getenv("ORBBEC_PTX_COUNTS");
    Counts counts(program, launch);
    if (path != nullptr) launch.counts = &counts;
    ++totals.launches;
    totals.seconds -= cpu_seconds();
    run_grid(program, launch, [&] { return order.next(); });
    totals.seconds += cpu_seconds();
    if (path != nullptr) std::ofstream(path, std::ios::app) << counts.json() << '\n';
    return cudaSuccess;
  } catch (const std::exception& error) {
    std::fesetround(FE_TONEAREST);
    fault = error.what();
    std::fprintf(stderr, "%s\n", fault.c_str());
    return cudaErrorLaunchFailure;
  }
}

}  // namespace orbbec::ptx

// For plugin.py: launches, lane-instructions, CPU seconds.
extern "C" void ptx_totals(double* values) {
  values[0] = static_cast<double>(orbbec::ptx::totals.launches);
  values[1] = static_cast<double>(orbbec::ptx::lane_instructions());
  values[2] = orbbec::ptx::totals.seconds;
}
