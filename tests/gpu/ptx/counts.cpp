#include "counts.h"

#include <algorithm>
#include <bit>
#include <map>
#include <sstream>

namespace orbbec::ptx {

namespace {

constexpr const char* kNames[kKinds] = {"integer", "float32", "float64", "division64", "load",
                                        "store",   "atomic",  "branch",  "other"};
constexpr const char* kLevelNames[kLevels] = {"dram", "l2", "l1", "shared"};
// Cycles, to find the slowest warp; about those of compute capability 9.0.
constexpr uint64_t kLevelCycles[kLevels] = {480, 260, 40, 30};
constexpr uint64_t kDepthCycles = 4;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Kind kind_of(std::string_view opcode) {
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  if (base == "ld") return Kind::kLoad;
  if (base == "st") return Kind::kStore;
  if (base == "atom" || base == "red") return Kind::kAtomic;
  if (base == "bra" || base == "ret" || base == "exit") return Kind::kBranch;
  if (base == "bar" || base == "barrier" || base == "shfl" || base == "vote" || base == "match") {
    return Kind::kOther;
  }
  const bool is_wide = ends_with(opcode, "64") && !ends_with(opcode, "f64");
  if ((base == "div" || base == "rem") && is_wide) return Kind::kDivision64;
  if (base == "mov" || base == "selp") return Kind::kInteger;
  if (opcode.find(".f64") != std::string_view::npos) return Kind::kFloat64;
  return opcode.find(".f32") != std::string_view::npos ? Kind::kFloat32 : Kind::kInteger;
}

}  // namespace

Level Sectors::touch(uint64_t sector, uint64_t block) {
  const uint64_t page = sector / kPage;
  if (page != last_page_) {
    auto& found = pages_[page];
    if (found == nullptr) found = std::make_unique<std::array<uint32_t, kPage>>();
    last_ = found->data();
    last_page_ = page;
  }
  uint32_t& owner = last_[sector % kPage];
  const auto now = static_cast<uint32_t>(block + 1);
  if (owner == now) return Level::kL1;
  const Level level = owner == 0 ? Level::kDram : Level::kL2;
  unique_ += owner == 0 ? 1 : 0;
  ++unique_by_block_;
  owner = now;
  return level;
}

void Counts::Time::add(const Time& other) {
  for (int i = 0; i < kLevels; ++i) waits[i] += other.waits[i];
  instructions += other.instructions;
  depth += other.depth;
}

uint64_t Counts::Time::cycles() const {
  uint64_t sum = std::max(instructions, kDepthCycles * depth);
  for (int i = 0; i < kLevels; ++i) sum += waits[i] * kLevelCycles[i];
  return sum;
}

void Counts::prepare() {
  const auto& statements = program_.text->statements;
  for (const Statement& statement : statements) {
    const bool is_param = statement.opcode.find(".param") != std::string_view::npos;
    kinds_.push_back(is_param ? Kind::kOther : kind_of(statement.opcode));
  }
  waits_ = waits_of(*program_.text);
  warps_of_.resize(statements.size());
  lanes_of_.resize(statements.size());
}

void Counts::add(const Execution& m, const Instruction& in) {
  if (in.statement < 0) return;
  if (kinds_.empty()) prepare();
  if (m.block != block_) end_block();
  block_ = m.block;
  const Wait& wait = waits_[in.statement];
  int warps = 0, lanes = 0;
  for (int w = 0; w * kWarp < m.threads; ++w) {
    if (m.active[w] == 0) continue;
    ++warps;
    lanes += std::popcount(m.active[w]);
    ++warps_[w].instructions;
    if (wait.deepens) ++warps_[w].depth;
    if (wait.on_shared && in.address < 0) ++warps_[w].waits[static_cast<int>(Level::kShared)];
  }
  warps_of_[in.statement] += warps;
  lanes_of_[in.statement] += lanes;
  if (in.address >= 0) add_access(m, in, kinds_[in.statement]);
}

void Counts::add_access(const Execution& m, const Instruction& in, Kind kind) {
  const uint64_t* const pointers = m.reg<uint64_t>(in.argument[in.address]);
  const uint64_t base = m.base_of(in.space) + static_cast<uint64_t>(in.offset);
  const bool* const guard = in.guard == kNoSlot ? nullptr : m.reg<bool>(in.guard);
  const Wait& wait = waits_[in.statement];
  for (int w = 0; w * kWarp < m.threads; ++w) {
    addresses_.clear();
    for (uint32_t rest = m.active[w]; rest != 0; rest &= rest - 1) {
      const int i = w * kWarp + std::countr_zero(rest);
      if (guard == nullptr || guard[i] != in.negated) addresses_.push_back(base + pointers[i]);
    }
    if (addresses_.empty()) continue;
    Level level = Level::kL1;
    if (m.shared.holds(addresses_[0], 1)) {
      level = Level::kShared;
      add_shared(in.bytes, kind == Kind::kAtomic);
    } else if (m.local.holds(addresses_[0], 1)) {
      local_bytes_ += addresses_.size() * in.bytes;
      ++local_requests_;
    } else if (!m.params.holds(addresses_[0], 1)) {
      level = add_global(kind == Kind::kLoad ? loads_ : stores_, in.bytes);
      if (kind == Kind::kAtomic) {
        level = std::min(level, Level::kL2);
        for (const uint64_t address : addresses_) ++atomics_[address];
      }
    }
    if (wait.on_memory || wait.on_shared) ++warps_[w].waits[static_cast<int>(level)];
  }
}

Level Counts::add_global(Traffic& traffic, int bytes) {
  scratch_.clear();
  for (const uint64_t address : addresses_) scratch_.push_back(address / 32);  // aligned: in one
  if (!std::is_sorted(scratch_.begin(), scratch_.end()))
    std::sort(scratch_.begin(), scratch_.end());
  for (size_t begin = 0, end = 0; begin < scratch_.size(); begin = end) {
    while (end < scratch_.size() && scratch_[end] == scratch_[begin]) ++end;
    traffic.partial_sectors += (end - begin) * bytes < 32 ? 1 : 0;
  }
  scratch_.erase(std::unique(scratch_.begin(), scratch_.end()), scratch_.end());
  ++traffic.requests;
  traffic.bytes += addresses_.size() * bytes;
  traffic.sectors += scratch_.size();
  Level level = Level::kL1;
  for (const uint64_t sector : scratch_) {
    level = std::min(level, traffic.touched.touch(sector, block_));
  }
  return level;
}

// 32 banks of 4 bytes; a pass reads one word of each. Wide accesses run by halves and quarters.
void Counts::add_shared(int bytes, bool is_atomic) {
  const size_t words = std::max(1, bytes / 4), together = kWarp / words;
  ++shared_requests_;
  for (size_t begin = 0; begin < addresses_.size(); begin += together) {
    add_conflicts(begin, std::min(begin + together, addresses_.size()), words, is_atomic);
  }
}

// Lanes that read the same word share a pass; atomics do not.
void Counts::add_conflicts(size_t begin, size_t end, size_t words, bool is_atomic) {
  scratch_.clear();
  for (size_t i = begin; i < end; ++i) {
    for (size_t word = 0; word < words; ++word) scratch_.push_back(addresses_[i] / 4 + word);
  }
  if (!is_atomic) {
    std::sort(scratch_.begin(), scratch_.end());
    scratch_.erase(std::unique(scratch_.begin(), scratch_.end()), scratch_.end());
  }
  std::array<int, 32> banks{};
  int passes = 1;
  for (const uint64_t word : scratch_) passes = std::max(passes, ++banks[word % 32]);
  shared_passes_ += passes;
  bank_conflicts_ += passes - 1;
}

void Counts::end_block() {
  for (Time& warp : warps_) {
    if (warp.instructions == 0) continue;
    total_.add(warp);
    if (warp.cycles() > slowest_.cycles()) slowest_ = warp;
    warp = {};
  }
}

std::string Counts::by_line() const {
  std::map<int, uint64_t> counts;
  for (size_t i = 0; i < warps_of_.size(); ++i) {
    uint64_t& warps = counts[program_.text->statements[i].line];
    warps = std::max(warps, warps_of_[i]);
  }
  std::ostringstream out;
  const char* between = "";
  for (const auto& [line, warps] : counts) {
    out << between << '"' << line << "\": " << warps;
    between = ", ";
  }
  return out.str();
}

std::string Counts::times() {
  end_block();
  std::ostringstream out;
  const auto write = [&](const char* name, const Time& time) {
    out << '"' << name << "\": {\"instructions\": " << time.instructions
        << ", \"depth\": " << time.depth;
    for (int i = 0; i < kLevels; ++i)
      out << ", \"" << kLevelNames[i] << "_waits\": " << time.waits[i];
    out << "}, ";
  };
  write("all_warps", total_);
  write("slowest_warp", slowest_);
  return out.str();
}

std::string Counts::json() {
  std::array<uint64_t, kKinds> warps{}, lanes{};
  for (size_t i = 0; i < warps_of_.size(); ++i) {
    warps[static_cast<int>(kinds_[i])] += warps_of_[i];
    lanes[static_cast<int>(kinds_[i])] += lanes_of_[i];
  }
  std::ostringstream out;
  const auto by_kind = [&](const char* name, const std::array<uint64_t, kKinds>& values) {
    out << '"' << name << "\": {";
    for (int i = 0; i < kKinds; ++i)
      out << (i == 0 ? "\"" : ", \"") << kNames[i] << "\": " << values[i];
    out << "}, ";
  };
  const auto traffic = [&](const char* name, const Traffic& value) {
    out << '"' << name << "\": {\"requests\": " << value.requests << ", \"bytes\": " << value.bytes
        << ", \"sectors\": " << value.sectors << ", \"partial_sectors\": " << value.partial_sectors
        << ", \"unique_sectors\": " << value.touched.unique()
        << ", \"unique_sectors_by_block\": " << value.touched.unique_by_block() << "}, ";
  };
  const auto sizes = [&](const char* name, const std::array<uint32_t, 3>& value) {
    out << '"' << name << "\": [" << value[0] << ", " << value[1] << ", " << value[2] << "], ";
  };
  uint64_t hottest = 0;
  for (const auto& [address, count] : atomics_) hottest = std::max(hottest, count);
  out << "{\"kernel\": \"" << program_.name << "\", ";
  sizes("grid", launch_.grid);
  sizes("block", launch_.block);
  out << "\"static_shared_bytes\": " << program_.text->shared_bytes
      << ", \"dynamic_shared_bytes\": " << launch_.shared_bytes << ", ";
  by_kind("warp_instructions", warps);
  by_kind("lane_instructions", lanes);
  traffic("loads", loads_);
  traffic("stores", stores_);
  out << times() << "\"local_bytes\": " << local_bytes_
      << ", \"local_requests\": " << local_requests_
      << ", \"shared_requests\": " << shared_requests_ << ", \"shared_passes\": " << shared_passes_
      << ", \"bank_conflicts\": " << bank_conflicts_ << ", \"hottest_atomic\": " << hottest
      << ", \"lines\": {" << by_line() << "}}";
  return out.str();
}

}  // namespace orbbec::ptx
