// A block in execution: one lane per thread, an array per register. An instruction is a function
// over the active lanes. Included by the files that hold instructions, and by decode.cpp and
// run.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/text.h"
#include "memory.h"

namespace orbbec::ptx {

constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;
constexpr int kMaxWarps = kMaxThreads / kWarp;
constexpr unsigned char kFreshByte = 0xcb;  // as in the emulated runtime

// The position of a register in the register file: its offset in bytes for a block of one lane.
using Slot = uint32_t;
constexpr Slot kNoSlot = ~Slot{0};

struct Execution;
struct Instruction;
using Handler = void (*)(Execution&, const Instruction&);

enum class Flow : uint8_t { kNone, kBranch, kReturn, kBarrier };

struct Instruction {
  Handler run = nullptr;
  std::array<Slot, 6> argument{};  // results first
  int64_t offset = 0;              // of an address
  uint64_t constant = 0;           // what else the handler wants
  Slot guard = kNoSlot;
  bool negated = false;    // the guard
  bool is_atomic = false;  // its access
  Space space = Space::kGeneric;
  uint8_t vector = 1;
  int8_t address = -1;  // the argument that is one
  uint8_t bytes = 0;    // accessed there
  int rounding = 0;     // of <cfenv>
  uint32_t index = 0;   // of itself
  int file = 0, line = 0;
  int statement = -1;                // of the text; -1: a conversion that decoding added
  mutable Region* region = nullptr;  // the last one accessed in this launch
};

using Mask = std::array<uint32_t, kMaxWarps>;  // bit per thread

// Instructions that run without a change of lanes, then a change of flow.
struct BasicBlock {
  uint32_t first = 0, last = 0;  // last: where the flow's own instruction is, if it has one
  Flow flow = Flow::kNone;
  Slot guard = kNoSlot;
  bool negated = false;
  int taken = -1;
  bool meets_warp = false;  // begins with an instruction that waits for lanes
};

struct Constant {
  Slot slot = 0;
  int bytes = 0;
  uint64_t bits = 0;
};

enum class Special : uint8_t { kTid, kNtid, kCtaid, kNctaid, kLane, kWarpId, kLaneMask, kLocal };

struct SpecialRegister {
  Slot slot = 0;
  Special what = Special::kTid;
  int axis = 0;  // x, y, z; of a lane mask: eq, lt, le, gt, ge
};

struct Program {
  std::string name;
  const KernelText* text = nullptr;
  const ModuleText* module = nullptr;
  std::vector<Instruction> instructions;
  std::vector<BasicBlock> blocks;
  std::vector<Constant> constants;
  std::vector<SpecialRegister> specials;
  Slot file_bytes = 0;          // of the register file, per lane
  std::vector<char> params;     // overwritten by each launch
  uint64_t dynamic_offset = 0;  // of dynamic shared memory
  bool fenced = false;          // it orders its blocks itself
};

Program decode(const ModuleText& module, KernelText& kernel);

class Counts;

struct Launch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint64_t shared_bytes = 0;
  bool finds_races = true;
  Counts* counts = nullptr;  // filled, if wanted
};

// Where shared memory lies, in all blocks of all launches.
uintptr_t shared_address();

// Runs a whole grid; `next_block` gives the numbers of its blocks, each once. One launch at a time.
void run_grid(Program& program, const Launch& launch, const std::function<uint64_t()>& next_block);

uint64_t lane_instructions();  // executed so far

struct Execution {
  char* file = nullptr;
  uint32_t stride = 0;              // lanes of a register, a multiple of 64
  const uint16_t* lanes = nullptr;  // the active ones; null: `first` and those after it
  int first = 0;
  int count = 0;

  const Program* program = nullptr;
  Launch launch;
  int threads = 0;
  uint64_t block = 0;
  Mask active{};
  Mask live{};  // threads that have not returned
  Region shared, local, params;
  bool finds_races = true;  // and reads of shared memory that nobody wrote

  std::vector<std::pair<uint32_t, uint64_t>> blocks_begun;  // serial, block
  // Serial numbers of the last events that order accesses.
  uint32_t serial = 0, launch_start = 0, block_start = 0, phase_start = 0;
  std::array<uint32_t, kMaxWarps> warp_sync{}, warp_meeting{};

  template <class T>
  T* reg(Slot slot) const {
    return reinterpret_cast<T*>(file + static_cast<size_t>(slot) * stride);
  }

  template <class F>
  void each(F f) const {
    if (lanes == nullptr) {
      const int begin = first, end = first + count;
#pragma GCC ivdep
      for (int i = begin; i < end; ++i) f(i);
    } else {
      const uint16_t* const list = lanes;
      for (int k = 0, n = count; k < n; ++k) f(static_cast<int>(list[k]));
    }
  }

  // The host address of `bytes` bytes that the lane reads or writes.
  char* at(const Instruction& in, uint64_t address, int bytes, int lane, bool writes) {
    if (!(in.region != nullptr && in.region->holds(address, bytes))) find(in, address, bytes, lane);
    if ((address & (bytes - 1)) != 0) fail_misaligned(in, address, bytes, lane);
    Region& region = *in.region;
    if (region.space == Space::kGlobal || region.space == Space::kShared) {
      if (finds_races) touch(in, region, address - region.begin, bytes, lane, writes);
    } else if (region.space == Space::kLocal) {
      check_local(in, address, bytes, lane);
    }
    return reinterpret_cast<char*>(address);
  }

  // What is added to an address of the instruction's space.
  uint64_t base_of(Space space) const { return space == Space::kShared ? shared.begin : 0; }

  void find(const Instruction& in, uint64_t address, int bytes, int lane);
  void touch(const Instruction& in, Region& region, size_t offset, int bytes, int lane,
             bool writes);
  void check_local(const Instruction& in, uint64_t address, int bytes, int lane) const;

  bool is_ordered(const Access& before, bool before_reads, const Access& now) const;
  std::string name_of(uint64_t block_number, int thread) const;
  std::string line_of(const Instruction& in) const;
  [[noreturn]] void fail(const Instruction& in, int lane, const std::string& what) const;
  [[noreturn]] void fail_misaligned(const Instruction& in, uint64_t address, int bytes,
                                    int lane) const;
  [[noreturn]] void fail_race(const Instruction& in, const Region& region, const Access& before,
                              bool before_reads, int lane, bool writes) const;
};

// A handler made of a function of one lane: result and operands have its types.
struct Operation {
  Handler run = nullptr;
  int result = 0;                 // bytes
  std::array<int, 4> operands{};  // bytes; 0: none
};

template <auto F>
struct Map;
template <class R, class... A, R (*F)(A...)>
struct Map<F> {
  static void loop(const Execution& m, R* to, const A*... from) {
    m.each([=](int i) { to[i] = F(from[i]...); });
  }
  template <size_t... I>
  static void unpack(const Execution& m, const Instruction& in, std::index_sequence<I...>) {
    loop(m, m.reg<R>(in.argument[0]), m.reg<A>(in.argument[I + 1])...);
  }
  static void run(Execution& m, const Instruction& in) {
    unpack(m, in, std::index_sequence_for<A...>());
  }
  static Operation operation() { return {&run, sizeof(R), {static_cast<int>(sizeof(A))...}}; }
};

// Instructions by opcode without its modifiers of rounding; run is null where there is none.
Operation find_arithmetic(const std::string& opcode);
std::vector<std::string> arithmetic_opcodes();
Operation find_conversion(const std::string& to, const std::string& from, const std::string& mode,
                          bool saturates);
Handler find_load(std::string_view type, int register_bytes);
Handler find_store(std::string_view type, int register_bytes);
Handler find_load_param(std::string_view type, int register_bytes);
// `what`: add, min, ...; has_result: atom, else red.
Handler find_atomic(std::string_view what, std::string_view type, bool has_result);
// Instructions of a warp: shfl.bfly, vote.ballot, bar.warp, ...
Handler find_warp(std::string_view opcode);
Handler find_barrier_reduction(std::string_view what);

}  // namespace orbbec::ptx
