#include <algorithm>
#include <cctype>
#include <cfenv>
#include <cstdlib>

#include "decoder.h"

namespace orbbec::ptx {

bool remove(Parts& parts, const char* part) {
  const auto found = std::find(parts.begin() + 1, parts.end(), part);
  if (found == parts.end()) return false;
  parts.erase(found);
  return true;
}

std::string join(const Parts& parts) {
  std::string text = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) text += "." + parts[i];
  return text;
}

int take_rounding(Parts& parts) {
  if (remove(parts, "rz")) return FE_TOWARDZERO;
  if (remove(parts, "rm")) return FE_DOWNWARD;
  if (remove(parts, "rp")) return FE_UPWARD;
  remove(parts, "rn");
  return FE_TONEAREST;
}

std::vector<std::string_view> elements(std::string_view text) {
  if (text.empty() || text.front() != '{') return {text};
  std::vector<std::string_view> parts;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.front())))
      part.remove_prefix(1);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back())))
      part.remove_suffix(1);
    parts.push_back(part);
    text = text.substr(std::min(comma + 1, text.size()));
  }
  return parts;
}

Space take_space(Parts& parts) {
  if (remove(parts, "global")) return Space::kGlobal;
  if (remove(parts, "shared")) return Space::kShared;
  if (remove(parts, "local")) return Space::kLocal;
  if (remove(parts, "param")) return Space::kParam;
  if (remove(parts, "const")) return Space::kConst;
  return Space::kGeneric;
}

const char* unsigned_type(int bytes) {
  return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
}

const char* signed_type(int bytes) {
  return bytes == 1 ? "s8" : bytes == 2 ? "s16" : bytes == 4 ? "s32" : "s64";
}

void Decoder::fail(const std::string& why) const {
  std::string text = program_.name + ": " + why;
  if (statement_ != nullptr) {
    text += ": '" + std::string(statement_->opcode);
    for (const std::string_view argument : statement_->arguments)
      text += " " + std::string(argument);
    const auto file = module_.files.find(statement_->file);
    text += "'";
    if (file != module_.files.end()) {
      text += " at " + file->second + ":" + std::to_string(statement_->line);
    }
  }
  throw Fault(text);
}

int Decoder::statement_index() const {
  return static_cast<int>(statement_ - kernel_.statements.data());
}

Slot Decoder::allocate(int bytes) {
  const Slot slot = program_.file_bytes;
  program_.file_bytes += bytes;
  return slot;
}

Slot Decoder::constant(uint64_t bits, int bytes) {
  if (bytes < 8) bits &= (uint64_t{1} << 8 * bytes) - 1;
  const auto [found, is_new] = constants_.try_emplace({bits, bytes}, 0);
  if (is_new) {
    found->second = allocate(bytes);
    program_.constants.push_back({found->second, bytes, bits});
  }
  return found->second;
}

Register Decoder::find_special(std::string_view name) {
  static const std::map<std::string_view, std::pair<Special, int>> known = {
      {"%tid.x", {Special::kTid, 0}},
      {"%tid.y", {Special::kTid, 1}},
      {"%tid.z", {Special::kTid, 2}},
      {"%ntid.x", {Special::kNtid, 0}},
      {"%ntid.y", {Special::kNtid, 1}},
      {"%ntid.z", {Special::kNtid, 2}},
      {"%ctaid.x", {Special::kCtaid, 0}},
      {"%ctaid.y", {Special::kCtaid, 1}},
      {"%ctaid.z", {Special::kCtaid, 2}},
      {"%nctaid.x", {Special::kNctaid, 0}},
      {"%nctaid.y", {Special::kNctaid, 1}},
      {"%nctaid.z", {Special::kNctaid, 2}},
      {"%laneid", {Special::kLane, 0}},
      {"%warpid", {Special::kWarpId, 0}},
      {"%lanemask_eq", {Special::kLaneMask, 0}},
      {"%lanemask_lt", {Special::kLaneMask, 1}},
      {"%lanemask_le", {Special::kLaneMask, 2}},
      {"%lanemask_gt", {Special::kLaneMask, 3}},
      {"%lanemask_ge", {Special::kLaneMask, 4}},
  };
  const auto found = known.find(name);
  if (found == known.end()) return {};
  const auto [entry, is_new] = specials_.try_emplace(std::string(name), 0);
  if (is_new) {
    entry->second = allocate(4);
    program_.specials.push_back({entry->second, found->second.first, found->second.second});
  }
  return {entry->second, 4};
}

Register Decoder::find_register(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) --digits;
  for (int scope = statement_->scope; scope >= 0; scope = kernel_.scopes[scope].parent) {
    const auto& declared = kernel_.scopes[scope].registers;
    auto found = declared.find(name);
    if (found == declared.end()) found = declared.find(name.substr(0, digits));
    if (found == declared.end()) continue;
    const auto [entry, is_new] = registers_.try_emplace({scope, name}, Register{});
    if (is_new) entry->second = {allocate(found->second), found->second};
    return entry->second;
  }
  return find_special(name);
}

bool Decoder::find_symbol(std::string_view name, uint64_t& value) const {
  const auto of = [&](const auto& variables, uint64_t base) {
    const auto found = variables.find(name);
    if (found == variables.end()) return false;
    value = base + found->second.offset;
    return true;
  };
  if (of(kernel_.params, reinterpret_cast<uintptr_t>(program_.params.data()))) return true;
  if (of(kernel_.shared, 0) || of(module_.shared, 0) || of(module_.globals, 0)) return true;
  if (name == "WARP_SZ") {
    value = kWarp;
    return true;
  }
  value = program_.dynamic_offset;
  return !name.empty() && name == module_.dynamic_shared;
}

void Decoder::convert(const char* to, const char* from, Slot result, Slot source) {
  emit(find_conversion(to, from, "", false), {result, source});
}

Slot Decoder::read(std::string_view argument, int bytes, bool is_float) {
  if (argument.front() == '!') {
    const Slot result = allocate(1);
    emit(find_arithmetic("not.pred"), {result, read(argument.substr(1), 1)});
    return result;
  }
  Register found = find_register(argument);
  if (found.slot == kNoSlot) {
    const char first = argument.front();
    uint64_t bits = 0;
    const std::string text(argument);
    if (text.size() > 2 && first == '0' &&
        (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D')) {
      bits = std::strtoull(text.c_str() + 2, nullptr, 16);
    } else if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '-') {
      bits = std::strtoull(text.c_str(), nullptr, 0);
    } else if (const auto local = kernel_.local.find(argument); local != kernel_.local.end()) {
      const Slot slot = allocate(8);
      program_.specials.push_back({slot, Special::kLocal, static_cast<int>(local->second.offset)});
      return slot;
    } else if (!find_symbol(argument, bits)) {
      fail("unknown operand " + text);
    }
    if (bytes == 1) bits = bits != 0 ? 1 : 0;  // of a predicate: true is -1
    found = {constant(bits, bytes), bytes};
  }
  if (found.bytes < bytes) fail("the register " + std::string(argument) + " is too narrow");
  Slot slot = found.slot;
  if (found.bytes > bytes) {
    slot = allocate(bytes);
    convert(unsigned_type(bytes), unsigned_type(found.bytes), slot, found.slot);
  }
  if (is_float && ftz_ && bytes == 4) {
    const Slot flushed = allocate(4);
    emit(find_arithmetic("flush.f32"), {flushed, slot});
    slot = flushed;
  }
  return slot;
}

Slot Decoder::write(std::string_view argument, int bytes, bool is_signed, bool is_float) {
  if (argument == "_") return allocate(bytes);
  const Register found = find_register(argument);
  if (found.slot == kNoSlot) fail("unknown register " + std::string(argument));
  if (found.bytes < bytes) fail("the register " + std::string(argument) + " is too narrow");
  Slot slot = found.slot;
  if (found.bytes > bytes) {
    const Slot narrow = allocate(bytes);
    const auto type = is_signed ? signed_type : unsigned_type;
    pending_.push_back({find_conversion(type(found.bytes), type(bytes), "", false), narrow, slot});
    slot = narrow;
  }
  const auto through = [&](const char* opcode) {
    const Slot before = allocate(bytes);
    pending_.push_back({find_arithmetic(opcode), before, slot});
    slot = before;
  };
  if (is_float && saturates_) through(bytes == 4 ? "saturate.f32" : "saturate.f64");
  if (is_float && ftz_ && bytes == 4) through("flush.f32");
  return slot;
}

Slot Decoder::address(std::string_view argument, Instruction& in) {
  std::string_view inner = argument.substr(1, argument.size() - 2);
  const size_t plus = inner.find('+');
  if (plus != std::string_view::npos) {
    in.offset = std::strtoll(std::string(inner.substr(plus + 1)).c_str(), nullptr, 0);
    inner = inner.substr(0, plus);
  }
  const Register found = find_register(inner);
  if (found.slot == kNoSlot || found.bytes == 8) return read(inner, 8);
  const Slot wide = allocate(8);
  convert("u64", unsigned_type(found.bytes), wide, found.slot);
  return wide;
}

void Decoder::emit(Instruction in) {
  in.guard = guard_.slot;
  in.negated = statement_->negated;
  in.file = statement_->file;
  in.line = statement_->line;
  in.index = static_cast<uint32_t>(program_.instructions.size());
  program_.instructions.push_back(in);
}

void Decoder::emit(const Operation& operation, std::initializer_list<Slot> arguments) {
  Instruction in;
  in.run = operation.run;
  std::copy(arguments.begin(), arguments.end(), in.argument.begin());
  emit(in);
}

void Decoder::apply(const Operation& operation, const std::vector<std::string_view>& arguments,
                    bool is_signed, bool is_float, int rounding) {
  if (operation.run == nullptr) fail_unknown();
  Instruction in;
  in.run = operation.run;
  in.rounding = rounding;
  in.statement = statement_index();
  size_t count = 0;
  while (count < operation.operands.size() && operation.operands[count] != 0) ++count;
  if (arguments.size() != count + 1) fail("unexpected operands");
  for (size_t i = 0; i < count; ++i) {
    in.argument[i + 1] = read(arguments[i + 1], operation.operands[i], is_float);
  }
  in.argument[0] = write(arguments[0], operation.result, is_signed, is_float);
  emit(in);
  finish();
}

void Decoder::finish() {
  while (!pending_.empty()) {  // the innermost comes last
    const Pending last = pending_.back();
    pending_.pop_back();
    emit(last.operation, {last.to, last.from});
  }
}

void Decoder::begin_block() {
  const auto at = static_cast<uint32_t>(program_.instructions.size());
  if (!program_.blocks.empty()) program_.blocks.back().last = at;
  program_.blocks.push_back({});
  program_.blocks.back().first = at;
}

// Adds the instruction that the flow stands for and opens the next block.
BasicBlock& Decoder::end_block(Flow flow) {
  const size_t index = program_.blocks.size() - 1;
  const auto at = static_cast<uint32_t>(program_.instructions.size());
  Instruction in;
  in.statement = statement_index();
  emit(in);
  begin_block();
  BasicBlock& block = program_.blocks[index];
  block.last = at;
  block.flow = flow;
  block.guard = guard_.slot;
  block.negated = statement_->negated;
  return block;
}

Program Decoder::decode() {
  parse_body(module_, kernel_);
  program_.name = kernel_.name;
  program_.text = &kernel_;
  program_.module = &module_;
  program_.params.resize(kernel_.param_bytes + 16);
  program_.dynamic_offset = (kernel_.shared_bytes + 15) / 16 * 16;
  begin_block();
  for (const Statement& statement : kernel_.statements) decode(statement);
  Statement end;  // falling off the end returns
  statement_ = &end;
  guard_ = {};
  end_block(Flow::kReturn);
  program_.instructions.back().statement = -1;
  program_.blocks.pop_back();
  for (const auto& [block, label] : jumps_) {
    const auto found = labels_.find(label);
    if (found == labels_.end()) fail("no label " + std::string(label));
    program_.blocks[block].taken = found->second;
  }
  return std::move(program_);
}

Program decode(const ModuleText& module, KernelText& kernel) {
  return Decoder(module, kernel).decode();
}

}  // namespace orbbec::ptx
