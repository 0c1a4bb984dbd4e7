// What lanes of a warp or threads of a block do together: shuffles, votes, matches, reductions. The
// scheduler has seen to it that all lanes of the mask are here.
#include <bit>
#include <unordered_map>

#include "execution.h"

namespace orbbec::ptx {

namespace {

enum class Shuffle { kUp, kDown, kBfly, kIdx };

// Arguments: result, whether in range, value, b, c, mask. The formula is the manual's.
template <Shuffle kForm>
void shuffle(Execution& m, const Instruction& in) {
  uint32_t before[kMaxThreads];
  const uint32_t* const values = m.reg<uint32_t>(in.argument[2]);
  m.each([&](int i) { before[i] = values[i]; });
  const uint32_t* const b = m.reg<uint32_t>(in.argument[3]);
  const uint32_t* const c = m.reg<uint32_t>(in.argument[4]);
  const uint32_t* const masks = m.reg<uint32_t>(in.argument[5]);
  m.each([&](int i) {
    const int lane = i % kWarp, first = i - lane;
    const int by = b[i] & 31, segment = c[i] >> 8 & 31;
    const int highest = (lane & segment) | (c[i] & 31 & ~segment), lowest = lane & segment;
    int from = 0;
    bool in_range = false;
    if (kForm == Shuffle::kUp) {
      from = lane - by;
      in_range = from >= highest;
    } else {
      if (kForm == Shuffle::kDown) from = lane + by;
      if (kForm == Shuffle::kBfly) from = lane ^ by;
      if (kForm == Shuffle::kIdx) from = lowest | (by & ~segment);
      in_range = from <= highest;
    }
    if (!in_range) from = lane;
    if ((m.active[first / kWarp] & masks[i] & 1u << from) == 0) {
      m.fail(in, i, "reads lane " + std::to_string(from) + ", which does not take part");
    }
    m.reg<uint32_t>(in.argument[0])[i] = before[first + from];
    m.reg<bool>(in.argument[1])[i] = in_range;
  });
}

enum class Vote { kAll, kAny, kUni, kBallot };

uint32_t lanes_where(const Execution& m, const bool* values, int first) {
  uint32_t bits = 0;
  for (int lane = 0; lane < kWarp; ++lane) {
    const bool is_active = (m.active[first / kWarp] >> lane & 1) != 0;
    if (is_active && values[first + lane]) bits |= 1u << lane;
  }
  return bits;
}

// Arguments: result, predicate, mask.
template <Vote kForm>
void vote(Execution& m, const Instruction& in) {
  const bool* const values = m.reg<bool>(in.argument[1]);
  const uint32_t* const masks = m.reg<uint32_t>(in.argument[2]);
  uint32_t ballots[kMaxWarps];
  for (int warp = 0; warp * kWarp < m.threads; ++warp) {
    ballots[warp] = lanes_where(m, values, warp * kWarp);
  }
  m.each([&](int i) {
    const uint32_t mask = masks[i] & m.active[i / kWarp], ballot = ballots[i / kWarp] & mask;
    if (kForm == Vote::kBallot) m.reg<uint32_t>(in.argument[0])[i] = ballot;
    if (kForm == Vote::kAll) m.reg<bool>(in.argument[0])[i] = ballot == mask;
    if (kForm == Vote::kAny) m.reg<bool>(in.argument[0])[i] = ballot != 0;
    if (kForm == Vote::kUni) m.reg<bool>(in.argument[0])[i] = ballot == 0 || ballot == mask;
  });
}

// Arguments: result, value, mask.
template <class T>
void match_any(Execution& m, const Instruction& in) {
  T before[kMaxThreads];
  const T* const values = m.reg<T>(in.argument[1]);
  m.each([&](int i) { before[i] = values[i]; });
  m.each([&](int i) {
    const int first = i / kWarp * kWarp;
    const uint32_t mask = m.reg<uint32_t>(in.argument[2])[i] & m.active[i / kWarp];
    uint32_t same = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if (before[first + lane] == before[i]) same |= 1u << lane;
    }
    m.reg<uint32_t>(in.argument[0])[i] = same;
  });
}

void active_mask(Execution& m, const Instruction& in) {
  uint32_t* const to = m.reg<uint32_t>(in.argument[0]);
  m.each([&](int i) { to[i] = m.active[i / kWarp]; });
}

void nothing(Execution&, const Instruction&) {}

enum class Reduction { kAnd, kOr, kPopc };

// Arguments: result, predicate. All threads of the block are here.
template <Reduction kForm>
void reduce_block(Execution& m, const Instruction& in) {
  int trues = 0;
  const bool* const values = m.reg<bool>(in.argument[1]);
  m.each([&](int i) { trues += values[i] ? 1 : 0; });
  m.each([&](int i) {
    if (kForm == Reduction::kPopc) m.reg<uint32_t>(in.argument[0])[i] = trues;
    if (kForm == Reduction::kAnd) m.reg<bool>(in.argument[0])[i] = trues == m.count;
    if (kForm == Reduction::kOr) m.reg<bool>(in.argument[0])[i] = trues != 0;
  });
}

}  // namespace

Handler find_warp(std::string_view opcode) {
  static const std::unordered_map<std::string_view, Handler> table = {
      {"shfl.up", &shuffle<Shuffle::kUp>},
      {"shfl.down", &shuffle<Shuffle::kDown>},
      {"shfl.bfly", &shuffle<Shuffle::kBfly>},
      {"shfl.idx", &shuffle<Shuffle::kIdx>},
      {"vote.all", &vote<Vote::kAll>},
      {"vote.any", &vote<Vote::kAny>},
      {"vote.uni", &vote<Vote::kUni>},
      {"vote.ballot", &vote<Vote::kBallot>},
      {"match.any.b32", &match_any<uint32_t>},
      {"match.any.b64", &match_any<uint64_t>},
      {"activemask", &active_mask},
      {"bar.warp", &nothing},
  };
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

Handler find_barrier_reduction(std::string_view what) {
  if (what == "and") return &reduce_block<Reduction::kAnd>;
  if (what == "or") return &reduce_block<Reduction::kOr>;
  return what == "popc" ? &reduce_block<Reduction::kPopc> : nullptr;
}

}  // namespace orbbec::ptx
