// The checks of each access: bounds, alignment, initialization, races; and what a fault says.
#include <cxxabi.h>

#include <algorithm>
#include <cstdio>

#include "execution.h"

namespace orbbec::ptx {

namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

std::string name_of_space(Space space) {
  switch (space) {
    case Space::kShared:
      return "shared memory";
    case Space::kLocal:
      return "local memory";
    case Space::kParam:
      return "the parameters";
    default:
      return "global memory";
  }
}

void merge(Access& old, Access now, uint32_t start, uint32_t block_start, uint32_t phase_start) {
  if (old.serial >= start) {
    now.several_blocks = old.several_blocks | (old.serial < block_start ? 1 : 0);
    if (old.serial >= phase_start) {
      now.several_threads = old.several_threads | (old.thread != now.thread ? 1 : 0);
      now.several_warps = old.several_warps | (old.thread / kWarp != now.thread / kWarp ? 1 : 0);
    }
  }
  old = now;
}

}  // namespace

std::string Execution::name_of(uint64_t number, int thread) const {
  const auto& [w, h, d] = launch.block;
  const auto& [gw, gh, gd] = launch.grid;
  char text[160];
  std::snprintf(text, sizeof text, "thread (%u, %u, %u) of block (%u, %u, %u)", thread % w,
                thread / w % h, thread / w / h, static_cast<unsigned>(number % gw),
                static_cast<unsigned>(number / gw % gh), static_cast<unsigned>(number / gw / gh));
  return text;
}

std::string Execution::line_of(const Instruction& in) const {
  const auto file = program->module->files.find(in.file);
  const std::string path = file == program->module->files.end() ? "PTX" : file->second;
  return path.substr(path.rfind('/') + 1) + ":" + std::to_string(in.line);
}

void Execution::fail(const Instruction& in, int lane, const std::string& what) const {
  throw Fault(name_of(block, lane) + " " + what + ", at " + line_of(in) + " in " +
              demangled(program->name));
}

void Execution::fail_misaligned(const Instruction& in, uint64_t address, int bytes,
                                int lane) const {
  char text[120];
  std::snprintf(text, sizeof text, "accesses %d bytes at the misaligned address 0x%llx", bytes,
                static_cast<unsigned long long>(address));
  fail(in, lane, text);
}

void Execution::find(const Instruction& in, uint64_t address, int bytes, int lane) {
  Region* const own[] = {&shared, &local, &params};
  for (Region* const region : own) {
    const bool wanted = in.space == region->space || in.space == Space::kGeneric;
    if (wanted && region->holds(address, bytes)) {
      in.region = region;
      return;
    }
  }
  const bool is_global =
      in.space == Space::kGlobal || in.space == Space::kGeneric || in.space == Space::kConst;
  Region* const region = is_global ? memory().find(address) : nullptr;
  if (region != nullptr && region->holds(address, bytes)) {
    in.region = region;
    return;
  }
  std::string text = "accesses " + std::to_string(bytes) + " bytes";
  const Region* const near =
      is_global ? memory().find_before(address) : own[static_cast<int>(in.space) - 1];
  if (near != nullptr && address - near->begin < near->size + 65536) {
    text += " at offset " + std::to_string(address - near->begin) + " of " +
            std::to_string(near->size) + " bytes of " + name_of_space(near->space);
  } else {
    char number[80];
    std::snprintf(number, sizeof number, " at 0x%llx, outside of all allocations",
                  static_cast<unsigned long long>(address));
    text += number;
  }
  fail(in, lane, text);
}

void Execution::check_local(const Instruction& in, uint64_t address, int bytes, int lane) const {
  const uint64_t own = program->text->local_bytes;
  const uint64_t begin = local.begin + lane * ((own + 15) / 16 * 16);
  if (address >= begin && address + bytes <= begin + own) return;
  fail(in, lane, "accesses " + std::to_string(bytes) + " bytes outside of its own local memory");
}

bool Execution::is_ordered(const Access& before, bool before_reads, const Access& now) const {
  if (before.atomic && now.atomic) return true;
  if (before.serial < block_start || before.several_blocks) return program->fenced;
  if (before.serial < phase_start) return true;
  if (before.thread == now.thread && !before.several_threads) return true;
  const int warp = now.thread / kWarp;
  if (before.several_warps || before.thread / kWarp != warp) return false;
  // A vote or a shuffle waits for the values that its lanes have read, not for their writes.
  return before.serial < (before_reads ? warp_meeting : warp_sync)[warp];
}

void Execution::touch(const Instruction& in, Region& region, size_t offset, int bytes, int lane,
                      bool writes) {
  const bool is_shared = region.space == Space::kShared;
  const uint32_t start = is_shared ? block_start : launch_start;
  Access now;
  now.serial = serial;
  now.thread = lane;
  now.atomic = in.is_atomic;
  now.instruction = std::min(in.index, (1u << 18) - 1);
  Byte* byte = region.bytes() + offset;
  for (Byte* const end = byte + bytes; byte != end; ++byte) {
    if (byte->write.serial >= start) {
      if (!is_ordered(byte->write, false, now)) {
        fail_race(in, region, byte->write, false, lane, writes);
      }
    } else if (is_shared && (!writes || in.constant != 0)) {
      fail(in, lane, "reads shared memory that no thread of the block has written");
    }
    if (!writes) {
      merge(byte->read, now, start, block_start, phase_start);
      continue;
    }
    if (byte->read.serial >= start && !is_ordered(byte->read, true, now)) {
      fail_race(in, region, byte->read, true, lane, writes);
    }
    merge(byte->write, now, start, block_start, phase_start);
  }
}

void Execution::fail_race(const Instruction& in, const Region& region, const Access& before,
                          bool before_reads, int lane, bool writes) const {
  auto begun = std::upper_bound(blocks_begun.begin(), blocks_begun.end(),
                                std::make_pair(before.serial, ~uint64_t{0}));
  const uint64_t number = begun == blocks_begun.begin() ? block : std::prev(begun)->second;
  const Instruction& other = program->instructions[before.instruction];
  fail(in, lane,
       std::string(writes ? "writes" : "reads") + " a byte of " + name_of_space(region.space) +
           " that " + name_of(number, before.thread) + (before_reads ? " reads" : " writes") +
           " at " + line_of(other) + ", and no barrier is between: a race");
}

}  // namespace orbbec::ptx
