#include "counts.h"

#include <algorithm>
#include <bit>
#include <sstream>

namespace orbbec::ptx {

namespace {

constexpr const char* kNames[kKinds] = {"integer", "float32", "float64", "division64", "load",
                                        "store",   "atomic",  "branch",  "other"};

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

void Counts::add(const Execution& m, const Instruction& in) {
  if (in.statement < 0) return;
  if (kinds_.empty()) {
    for (const Statement& statement : program_.text->statements) {
      kinds_.push_back(kind_of(statement.opcode));
    }
  }
  Kind kind = kinds_[in.statement];
  if (kind == Kind::kLoad && in.address < 0) kind = Kind::kOther;  // a parameter
  int warps = 0, lanes = 0;
  for (int w = 0; w * kWarp < m.threads; ++w) {
    warps += m.active[w] != 0 ? 1 : 0;
    lanes += std::popcount(m.active[w]);
  }
  warps_[static_cast<int>(kind)] += warps;
  lanes_[static_cast<int>(kind)] += lanes;
  if (in.address >= 0) add_access(m, in, kind);
}

void Counts::add_access(const Execution& m, const Instruction& in, Kind kind) {
  const uint64_t* const pointers = m.reg<uint64_t>(in.argument[in.address]);
  const uint64_t base = m.base_of(in.space) + static_cast<uint64_t>(in.offset);
  const bool* const guard = in.guard == kNoSlot ? nullptr : m.reg<bool>(in.guard);
  std::vector<uint64_t> addresses;
  for (int w = 0; w * kWarp < m.threads; ++w) {
    addresses.clear();
    for (uint32_t rest = m.active[w]; rest != 0; rest &= rest - 1) {
      const int i = w * kWarp + std::countr_zero(rest);
      if (guard == nullptr || guard[i] != in.negated) addresses.push_back(base + pointers[i]);
    }
    if (addresses.empty()) continue;
    const uint64_t first = addresses[0];
    if (m.shared.holds(first, 1)) {
      add_shared(addresses, in.bytes);
    } else if (m.local.holds(first, 1)) {
      local_bytes_ += addresses.size() * in.bytes;
    } else if (!m.params.holds(first, 1)) {
      add_global(kind == Kind::kLoad ? loads_ : stores_, addresses, in.bytes);
    }
    if (kind != Kind::kAtomic) continue;
    for (const uint64_t address : addresses) ++atomics_[address];
  }
}

void Counts::add_global(Traffic& traffic, const std::vector<uint64_t>& addresses, int bytes) {
  std::vector<uint64_t> sectors;
  for (const uint64_t address : addresses) sectors.push_back(address / 32);  // aligned: in one
  std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  ++traffic.requests;
  traffic.bytes += addresses.size() * bytes;
  traffic.sectors += sectors.size();
  traffic.unique.insert(sectors.begin(), sectors.end());
}

// 32 banks of 4 bytes; a pass reads one word of each. Wide accesses run by halves and quarters.
void Counts::add_shared(const std::vector<uint64_t>& addresses, int bytes) {
  const size_t words = std::max(1, bytes / 4), together = kWarp / words;
  ++shared_requests_;
  for (size_t begin = 0; begin < addresses.size(); begin += together) {
    std::unordered_set<uint64_t> seen;
    std::array<int, 32> banks{};
    int passes = 1;
    for (size_t i = begin; i < std::min(begin + together, addresses.size()); ++i) {
      for (size_t word = 0; word < words; ++word) {
        const uint64_t at = addresses[i] / 4 + word;
        if (seen.insert(at).second) passes = std::max(passes, ++banks[at % 32]);
      }
    }
    shared_passes_ += passes;
  }
}

std::string Counts::json() const {
  std::ostringstream out;
  const auto by_kind = [&](const char* name, const std::array<uint64_t, kKinds>& values) {
    out << '"' << name << "\": {";
    for (int i = 0; i < kKinds; ++i)
      out << (i == 0 ? "\"" : ", \"") << kNames[i] << "\": " << values[i];
    out << "}, ";
  };
  const auto traffic = [&](const char* name, const Traffic& value) {
    out << '"' << name << "\": {\"requests\": " << value.requests << ", \"bytes\": " << value.bytes
        << ", \"sectors\": " << value.sectors << ", \"unique_sectors\": " << value.unique.size()
        << "}, ";
  };
  uint64_t hottest = 0;
  for (const auto& [address, count] : atomics_) hottest = std::max(hottest, count);
  out << "{\"kernel\": \"" << program_.name << "\", ";
  by_kind("warp_instructions", warps_);
  by_kind("lane_instructions", lanes_);
  traffic("loads", loads_);
  traffic("stores", stores_);
  out << "\"local_bytes\": " << local_bytes_ << ", \"shared_requests\": " << shared_requests_
      << ", \"shared_passes\": " << shared_passes_ << ", \"hottest_atomic\": " << hottest << '}';
  return out.str();
}

}  // namespace orbbec::ptx
