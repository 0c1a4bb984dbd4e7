// Counts what a launch does, for models of its time. Included by run.cpp, which calls `add` before
// each instruction, and by api.cpp and hook.cpp, which own it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "execution.h"

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

class Counts {
 public:
  explicit Counts(const Program& program) : program_(program) {}
  void add(const Execution& m, const Instruction& in);
  std::string json() const;

 private:
  // Of one direction in global memory. A request is an instruction of one warp.
  struct Traffic {
    uint64_t requests = 0, bytes = 0, sectors = 0;
    std::unordered_set<uint64_t> unique;  // sectors of 32 bytes
  };
  void add_access(const Execution& m, const Instruction& in, Kind kind);
  void add_global(Traffic& traffic, const std::vector<uint64_t>& addresses, int bytes);
  void add_shared(const std::vector<uint64_t>& addresses, int bytes);

  const Program& program_;
  std::vector<Kind> kinds_;  // by statement
  std::array<uint64_t, kKinds> warps_{}, lanes_{};
  Traffic loads_, stores_;
  uint64_t local_bytes_ = 0, shared_requests_ = 0, shared_passes_ = 0;
  std::unordered_map<uint64_t, uint64_t> atomics_;  // by address
};

}  // namespace orbbec::ptx
