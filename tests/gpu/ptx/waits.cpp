#include "waits.h"

#include <algorithm>
#include <cctype>

namespace orbbec::ptx {

namespace {

struct Path {
  int memory = 0, shared = 0, instructions = 0;

  void follow(const Path& other) {
    memory = std::max(memory, other.memory);
    shared = std::max(shared, other.shared);
    instructions = std::max(instructions, other.instructions);
  }
};

bool is_one_of(std::string_view base, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), base) != names.end();
}

// Calls `f` with each register that an argument names.
template <class F>
void each_register(std::string_view argument, F f) {
  for (size_t at = argument.find('%'); at != std::string_view::npos;) {
    size_t end = at + 1;
    while (end < argument.size() &&
           (std::isalnum(static_cast<unsigned char>(argument[end])) || argument[end] == '_'))
      ++end;
    f(argument.substr(at, end - at));
    at = argument.find('%', end);
  }
}

class Block {
 public:
  Wait add(const Statement& statement);

 private:
  std::map<std::string_view, Path> known_;
  Path deepest_, stores_;  // stores_: what a later load of the same memory has to follow
};

Wait Block::add(const Statement& statement) {
  const std::string_view opcode = statement.opcode, base = opcode.substr(0, opcode.find('.'));
  const bool is_shared = opcode.find(".shared") != std::string_view::npos;
  const bool is_exchange = is_one_of(base, {"shfl", "vote", "match", "bar", "barrier"});
  const bool loads = base == "atom" || (base == "ld" && opcode.find(".param") == opcode.npos);
  const bool stores = is_one_of(base, {"st", "red", "atom", "membar", "fence", "bar", "barrier"});
  const bool has_result =
      !is_one_of(base, {"st", "red", "membar", "fence", "bar", "barrier", "bra", "ret", "exit"});
  Path path;
  const auto read = [&](std::string_view name) {
    const auto found = known_.find(name);
    if (found != known_.end()) path.follow(found->second);
  };
  each_register(statement.guard, read);
  for (size_t i = has_result ? 1 : 0; i < statement.arguments.size(); ++i)
    each_register(statement.arguments[i], read);
  if (loads && opcode.find(".nc") == opcode.npos) path.follow(stores_);
  if (is_exchange || (loads && is_shared)) {
    ++path.shared;
  } else if (loads) {
    ++path.memory;
  }
  if (base != "mov" && base != "cvta") ++path.instructions;  // ptxas removes these
  const Wait wait{path.memory > deepest_.memory, path.shared > deepest_.shared,
                  path.instructions > deepest_.instructions};
  deepest_.follow(path);
  if (stores) {
    stores_.memory = std::max(stores_.memory, path.memory);
    stores_.shared = std::max(stores_.shared, path.shared);
  }
  if (has_result && !statement.arguments.empty())
    each_register(statement.arguments[0], [&](std::string_view name) { known_[name] = path; });
  return wait;
}

}  // namespace

std::vector<Wait> waits_of(const KernelText& kernel) {
  std::vector<Wait> waits;
  Block block;
  for (const Statement& statement : kernel.statements) {
    const std::string_view base = statement.opcode.substr(0, statement.opcode.find('.'));
    if (!statement.label.empty()) block = {};
    waits.push_back(statement.label.empty() ? block.add(statement) : Wait{});
    if (is_one_of(base, {"bra", "ret", "exit"})) block = {};
  }
  return waits;
}

}  // namespace orbbec::ptx
