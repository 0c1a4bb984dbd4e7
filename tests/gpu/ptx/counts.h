// Counts what a launch does, for models of its time. Included by run.cpp, which calls `add` before
// each instruction, and by api.cpp and hook.cpp, which own it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "execution.h"
#include "waits.h"

namespace orbbec::ptx {

enum class Kind : uint8_t {
  kInteger,
  kFloat32,
  kFloat64,
  kDivision64,
  kLoad,
  kStore,
  kAtomic,
  kBranch,
  kOther
};
constexpr int kKinds = 9;

// What held the bytes that a warp waits for, if a block's caches forget nothing.
enum class Level : uint8_t { kDram, kL2, kL1, kShared };
constexpr int kLevels = 4;

// Sectors of 32 bytes, and which block touched each last.
class Sectors {
 public:
  Level touch(uint64_t sector, uint64_t block);
  uint64_t unique() const { return unique_; }
  uint64_t unique_by_block() const { return unique_by_block_; }

 private:
  static constexpr uint64_t kPage = 256;
  std::unordered_map<uint64_t, std::unique_ptr<std::array<uint32_t, kPage>>> pages_;
  uint64_t last_page_ = ~uint64_t{0};
  uint32_t* last_ = nullptr;
  uint64_t unique_ = 0, unique_by_block_ = 0;
};

class Counts {
 public:
  Counts(const Program& program, const Launch& launch) : program_(program), launch_(launch) {}
  void add(const Execution& m, const Instruction& in);
  std::string json();

 private:
  // Of one direction in global memory. A request is an instruction of one warp.
  struct Traffic {
    uint64_t requests = 0, bytes = 0, sectors = 0;
    uint64_t partial_sectors = 0;  // of whose bytes a request has only some
    Sectors touched;
  };
  // Of one warp, and of all.
  struct Time {
    std::array<uint64_t, kLevels> waits{};
    uint64_t instructions = 0, depth = 0;
    void add(const Time& other);
    uint64_t cycles() const;
  };
  void prepare();
  void add_access(const Execution& m, const Instruction& in, Kind kind);
  Level add_global(Traffic& traffic, int bytes);
  void add_shared(int bytes, bool is_atomic);
  void add_conflicts(size_t begin, size_t end, size_t words, bool is_atomic);
  void end_block();
  std::string by_line() const;  // how many warps ran the line that .loc names
  std::string times();

  const Program& program_;
  const Launch& launch_;
  std::vector<Kind> kinds_;  // by statement, as the next three
  std::vector<Wait> waits_;
  std::vector<uint64_t> warps_of_, lanes_of_;
  Traffic loads_, stores_;
  uint64_t local_bytes_ = 0, local_requests_ = 0, shared_requests_ = 0, shared_passes_ = 0,
           bank_conflicts_ = 0;
  std::unordered_map<uint64_t, uint64_t> atomics_;  // of global memory, by address
  std::vector<uint64_t> addresses_, scratch_;       // of one request
  uint64_t block_ = ~uint64_t{0};
  std::array<Time, kMaxWarps> warps_{};  // of the current block
  Time total_, slowest_;
};

}  // namespace orbbec::ptx
