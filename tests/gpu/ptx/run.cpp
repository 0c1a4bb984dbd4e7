// Runs grids: block after block, and in a block always the threads with the lowest program counter,
// so that branches meet again and a thread at a barrier waits.
#include <bit>
#include <cfenv>
#include <cstring>
#include <memory>

#include "counts.h"
#include "execution.h"

namespace orbbec::ptx {

namespace {

constexpr size_t kMaxShared = 256 * 1024;
uint64_t executed = 0;
uint32_t last_serial = 0;

template <size_t kAlign>
char* aligned(std::vector<char>& storage, size_t bytes) {
  if (storage.size() < bytes + kAlign) storage.resize(bytes + kAlign);
  const auto at = reinterpret_cast<uintptr_t>(storage.data());
  return reinterpret_cast<char*>((at + kAlign - 1) / kAlign * kAlign);
}

class Grid {
 public:
  Grid(Program& program, const Launch& launch);
  ~Grid() { last_serial = m_.serial; }
  void run(uint64_t block);

 private:
  void fill_registers();
  void fill(const SpecialRegister& special);
  void run_from(int index, Mask lanes);
  void activate(const Mask& lanes);
  void execute(const BasicBlock& block);
  void execute_slowly(const Instruction& in);
  Mask where(Slot guard, bool negated) const;
  bool gather(int index, Mask& lanes);
  void push(int index, const Mask& lanes);
  int lowest() const;
  bool release();
  [[noreturn]] void fail_stuck();
  template <class F>
  void each_word(F f) const {
    for (int w = 0; w < warps_; ++w) f(w);
  }
  bool is_empty(const Mask& lanes) const {
    uint32_t any = 0;
    each_word([&](int w) { any |= lanes[w]; });
    return any == 0;
  }

  Program& program_;
  Execution m_;
  int warps_ = 0;
  Mask all_{};
  std::vector<Mask> pending_, parked_;  // by basic block
  std::vector<uint64_t> pending_bits_;
  std::vector<int> waiting_at_;  // basic blocks that end with a barrier
  std::vector<Mask> waiting_;
  uint16_t list_[kMaxThreads];
};

Grid::Grid(Program& program, const Launch& launch) : program_(program) {
  static auto* const file = new std::vector<char>;
  static auto* const locals = new std::vector<char>;
  if (last_serial > 1u << 31) {
    memory().forget_accesses();
    last_serial = 0;
  }
  m_.program = &program;
  m_.launch = launch;
  m_.finds_races = launch.finds_races;
  m_.threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
  m_.stride = (m_.threads + 63) / 64 * 64;
  m_.file = aligned<64>(*file, size_t{program.file_bytes} * m_.stride);
  m_.serial = m_.launch_start = last_serial + 1;
  warps_ = (m_.threads + kWarp - 1) / kWarp;
  for (int i = 0; i < m_.threads; ++i) all_[i / kWarp] |= 1u << i % kWarp;
  const uint64_t shared_bytes = launch.shared_bytes == 0
                                    ? program.text->shared_bytes
                                    : program.dynamic_offset + launch.shared_bytes;
  if (shared_bytes > kMaxShared) throw Fault(program.name + ": too much shared memory");
  m_.shared.begin = shared_address();
  m_.shared.size = shared_bytes;
  m_.shared.space = Space::kShared;
  const uint64_t local_bytes = (program.text->local_bytes + 15) / 16 * 16;
  m_.local.size = local_bytes * m_.threads;
  m_.local.begin = reinterpret_cast<uintptr_t>(aligned<64>(*locals, m_.local.size));
  m_.local.space = Space::kLocal;
  m_.params.begin = reinterpret_cast<uintptr_t>(program.params.data());
  m_.params.size = program.text->param_bytes;
  m_.params.space = Space::kParam;
  for (const Instruction& in : program.instructions) in.region = nullptr;
  pending_.resize(program.blocks.size());
  parked_.resize(program.blocks.size());
  pending_bits_.resize(program.blocks.size() / 64 + 1);
  fill_registers();
}

void Grid::fill_registers() {
  m_.lanes = nullptr;
  m_.first = 0;
  m_.count = m_.threads;
  for (const Constant& constant : program_.constants) {
    for (int i = 0; i < m_.threads; ++i) {
      std::memcpy(m_.reg<char>(constant.slot) + i * constant.bytes, &constant.bits, constant.bytes);
    }
  }
  for (const SpecialRegister& special : program_.specials) fill(special);
}

void Grid::fill(const SpecialRegister& special) {
  const auto& [width, height, depth] = m_.launch.block;
  const uint32_t masks[] = {1, 0, 1, ~1u, ~0u};  // of lane 0: eq, lt, le, gt, ge
  for (uint32_t i = 0; i < static_cast<uint32_t>(m_.threads); ++i) {
    const uint32_t tid[] = {i % width, i / width % height, i / width / height};
    const uint32_t lane = i % kWarp;
    uint32_t value = 0;
    switch (special.what) {
      case Special::kTid:
        value = tid[special.axis];
        break;
      case Special::kNtid:
        value = m_.launch.block[special.axis];
        break;
      case Special::kNctaid:
        value = m_.launch.grid[special.axis];
        break;
      case Special::kCtaid: {
        const auto& [w, h, d] = m_.launch.grid;
        const uint64_t at[] = {m_.block % w, m_.block / w % h, m_.block / w / h};
        value = static_cast<uint32_t>(at[special.axis]);
        break;
      }
      case Special::kLane:
        value = lane;
        break;
      case Special::kWarpId:
        value = i / kWarp;
        break;
      case Special::kLaneMask:
        value = masks[special.axis] << lane;
        if (special.axis == 1 || special.axis == 2) value |= (1u << lane) - 1;
        break;
      case Special::kLocal: {
        const uint64_t own = (program_.text->local_bytes + 15) / 16 * 16;
        m_.reg<uint64_t>(special.slot)[i] = m_.local.begin + i * own + special.axis;
        continue;
      }
    }
    m_.reg<uint32_t>(special.slot)[i] = value;
  }
}

void Grid::run(uint64_t block) {
  m_.block = block;
  ++m_.serial;
  m_.block_start = m_.phase_start = m_.serial;
  m_.blocks_begun.emplace_back(m_.serial, block);
  m_.warp_sync.fill(0);
  m_.warp_meeting.fill(0);
  m_.live = all_;
  for (const SpecialRegister& special : program_.specials) {
    if (special.what == Special::kCtaid) fill(special);
  }
  std::memset(reinterpret_cast<char*>(m_.shared.begin), kFreshByte, m_.shared.size);
  std::memset(reinterpret_cast<char*>(m_.local.begin), kFreshByte, m_.local.size);
  push(0, all_);
  do {
    for (int index = lowest(); index >= 0; index = lowest()) {
      const Mask lanes = pending_[index];
      pending_[index] = {};
      pending_bits_[index / 64] &= ~(uint64_t{1} << index % 64);
      run_from(index, lanes);
    }
  } while (release());
}

int Grid::lowest() const {
  for (size_t w = 0; w < pending_bits_.size(); ++w) {
    if (pending_bits_[w] != 0) return static_cast<int>(w * 64) + std::countr_zero(pending_bits_[w]);
  }
  return -1;
}

void Grid::push(int index, const Mask& lanes) {
  each_word([&](int w) { pending_[index][w] |= lanes[w]; });
  pending_bits_[index / 64] |= uint64_t{1} << index % 64;
}

void Grid::activate(const Mask& lanes) {
  m_.active = lanes;
  int count = 0;
  each_word([&](int w) {
    for (uint32_t rest = lanes[w]; rest != 0; rest &= rest - 1) {
      list_[count++] = static_cast<uint16_t>(w * kWarp + std::countr_zero(rest));
    }
  });
  m_.first = list_[0];
  m_.count = count;
  m_.lanes = list_[count - 1] - list_[0] + 1 == count ? nullptr : list_;
}

void Grid::execute(const BasicBlock& block) {
  const Instruction* const all = program_.instructions.data();
  for (const Instruction* in = all + block.first, *end = all + block.last; in != end; ++in) {
    if (m_.launch.counts != nullptr) m_.launch.counts->add(m_, *in);
    if (in->guard == kNoSlot && in->rounding == FE_TONEAREST) {
      in->run(m_, *in);
    } else {
      execute_slowly(*in);
    }
  }
  if (m_.launch.counts != nullptr && block.flow != Flow::kNone) {
    m_.launch.counts->add(m_, all[block.last]);
  }
  executed += static_cast<uint64_t>(m_.count) *
              (block.last - block.first + (block.flow == Flow::kNone ? 0 : 1));
}

void Grid::execute_slowly(const Instruction& in) {
  const Mask before = m_.active;
  if (in.guard != kNoSlot) {
    const Mask chosen = where(in.guard, in.negated);
    if (is_empty(chosen)) return;
    activate(chosen);
  }
  std::fesetround(in.rounding);
  in.run(m_, in);
  std::fesetround(FE_TONEAREST);
  if (in.guard != kNoSlot) activate(before);
}

Mask Grid::where(Slot guard, bool negated) const {
  Mask result{};
  const bool* const values = m_.reg<bool>(guard);
  for (int k = 0; k < m_.count; ++k) {
    const int i = m_.lanes == nullptr ? m_.first + k : m_.lanes[k];
    if (values[i] != negated) result[i / kWarp] |= 1u << i % kWarp;
  }
  return result;
}

void Grid::run_from(int index, Mask lanes) {
  bool is_new = true;
  while (true) {
    const BasicBlock& block = program_.blocks[index];
    if (block.meets_warp) {
      if (!gather(index, lanes)) return;
      is_new = true;
    }
    if (is_new) activate(lanes);
    is_new = false;
    execute(block);
    Mask taken = lanes;
    if (block.guard != kNoSlot) taken = where(block.guard, block.negated);
    Mask rest{};
    each_word([&](int w) { rest[w] = lanes[w] & ~taken[w]; });
    int next = index + 1;
    if (block.flow == Flow::kBarrier) {
      waiting_at_.push_back(index);
      waiting_.push_back(lanes);
      return;
    }
    if (block.flow == Flow::kReturn) {
      each_word([&](int w) { m_.live[w] &= ~taken[w]; });
      if (is_empty(rest)) return;
      is_new = true;
      lanes = rest;
    } else if (block.flow == Flow::kBranch) {
      if (is_empty(rest)) {
        next = block.taken;
      } else if (!is_empty(taken)) {
        push(block.taken, taken);
        push(next, rest);
        return;
      }
    }
    const int other = lowest();
    if (other >= 0 && other <= next) {
      push(next, lanes);
      return;
    }
    index = next;
  }
}

// Parks lanes whose mask has others that are not here yet; true if some go on.
bool Grid::gather(int index, Mask& lanes) {
  const Instruction& in = program_.instructions[program_.blocks[index].first];
  const uint32_t* const masks = m_.reg<uint32_t>(static_cast<Slot>(in.constant));
  Mask& parked = parked_[index];
  each_word([&](int w) { lanes[w] |= parked[w]; });
  parked = {};
  bool has_any = false;
  ++m_.serial;
  m_.active = lanes;
  each_word([&](int w) {
    uint32_t together = 0;
    for (uint32_t rest = lanes[w]; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest), thread = w * kWarp + lane;
      const uint32_t mask = masks[thread];
      if ((mask >> lane & 1) == 0) {
        char text[48];
        std::snprintf(text, sizeof text, "is not in its own mask 0x%08x", mask);
        m_.fail(in, thread, text);
      }
      ((mask & m_.live[w] & ~lanes[w]) == 0 ? together : parked[w]) |= 1u << lane;
    }
    if (together == m_.live[w] && together != 0) {
      m_.warp_meeting[w] = m_.serial;
      if (in.vector != 0) m_.warp_sync[w] = m_.serial;
    }
    lanes[w] = together;
    has_any = has_any || together != 0;
  });
  return has_any;
}

// After all threads wait or have returned: opens the barrier, if all of them are there.
bool Grid::release() {
  for (const Mask& parked : parked_) {
    if (!is_empty(parked)) fail_stuck();
  }
  if (waiting_at_.empty()) return false;
  Mask here{};
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_at_[i] != waiting_at_[0]) fail_stuck();
    each_word([&](int w) { here[w] |= waiting_[i][w]; });
  }
  if (here != all_) fail_stuck();
  const int index = waiting_at_[0];
  waiting_at_.clear();
  waiting_.clear();
  ++m_.serial;
  m_.phase_start = m_.serial;
  const Instruction& in = program_.instructions[program_.blocks[index].last];
  activate(all_);
  if (in.run != nullptr) in.run(m_, in);
  push(index + 1, all_);
  return true;
}

void Grid::fail_stuck() {
  for (size_t index = 0; index < parked_.size(); ++index) {
    for (int i = 0; i < m_.threads; ++i) {
      if ((parked_[index][i / kWarp] >> i % kWarp & 1) == 0) continue;
      const Instruction& in = program_.instructions[program_.blocks[index].first];
      char text[80];
      std::snprintf(text, sizeof text, "waits, but not every lane of mask 0x%08x gets there",
                    m_.reg<uint32_t>(static_cast<Slot>(in.constant))[i]);
      m_.fail(in, i, text);
    }
  }
  int missing = 0;
  while ((waiting_[0][missing / kWarp] >> missing % kWarp & 1) != 0) ++missing;
  std::string text = "is not at the barrier where another waits, at ";
  text += m_.line_of(program_.instructions[program_.blocks[waiting_at_[0]].last]);
  for (size_t i = 1; i < waiting_at_.size(); ++i) {
    if (waiting_at_[i] == waiting_at_[0]) continue;
    const Instruction& in = program_.instructions[program_.blocks[waiting_at_[i]].last];
    m_.fail(in, missing, text + ": not every thread of the block gets there");
  }
  const Instruction& in = program_.instructions[program_.blocks[waiting_at_[0]].last];
  m_.fail(in, missing, text + ": not every thread of the block gets there");
}

}  // namespace

uintptr_t shared_address() {
  static auto* const storage = new std::vector<char>;
  return reinterpret_cast<uintptr_t>(aligned<1024>(*storage, kMaxShared));
}

uint64_t lane_instructions() { return executed; }

void run_grid(Program& program, const Launch& launch, const std::function<uint64_t()>& next_block) {
  Grid grid(program, launch);
  const uint64_t blocks = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  for (uint64_t i = 0; i < blocks; ++i) grid.run(next_block());
}

}  // namespace orbbec::ptx
