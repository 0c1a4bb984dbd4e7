// What each kind of statement becomes.
#include <algorithm>
#include <cfenv>
#include <cstdlib>

#include "decoder.h"

namespace orbbec::ptx {

namespace {

Parts split_opcode(std::string_view opcode) {
  Parts parts(1);
  for (const char c : opcode) {
    if (c == '.')
      parts.emplace_back();
    else if (c == ':')
      return {"::"};  // qualifiers such as shared::cta: see Decoder::decode
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

void Decoder::decode_flow(const Parts& parts) {
  if (parts[0] == "bra") {
    jumps_.emplace_back(program_.blocks.size() - 1, statement_->arguments.at(0));
    end_block(Flow::kBranch);
  } else {
    end_block(Flow::kReturn);
  }
}

void Decoder::decode_barrier(Parts parts) {
  if (guard_.slot != kNoSlot) fail("a barrier under a predicate");
  remove(parts, "cta");
  remove(parts, "aligned");
  const auto& arguments = statement_->arguments;
  if (parts[1] == "sync" && arguments.size() == 1) {
    end_block(Flow::kBarrier);
  } else if (parts[1] == "red" && arguments.size() == 3) {
    const Slot value = read(arguments[2], 1);
    const int bytes = parts[2] == "popc" ? 4 : 1;
    const Slot result = write(arguments[0], bytes);
    if (!pending_.empty()) fail("a barrier with a wider register");
    BasicBlock& block = end_block(Flow::kBarrier);
    Instruction& in = program_.instructions[block.last];
    in.run = find_barrier_reduction(parts[2]);
    if (in.run == nullptr) fail_unknown();
    in.argument[0] = result;
    in.argument[1] = value;
  } else {
    fail_unknown();
  }
}

void Decoder::decode_warp(Parts parts) {
  if (guard_.slot != kNoSlot) fail("an operation of a warp under a predicate");
  const std::string type = parts.back();
  if (parts[0] != "activemask") remove(parts, "sync");
  if (parts[0] != "match") parts.resize(parts[0] == "activemask" ? 1 : 2);
  Instruction in;
  in.run = find_warp(join(parts));
  if (in.run == nullptr) fail_unknown();
  in.statement = statement_index();
  const auto& arguments = statement_->arguments;
  Slot mask = kNoSlot;
  if (parts[0] == "shfl") {
    const size_t bar = arguments[0].find('|');
    for (size_t i = 1; i < 5; ++i) in.argument[i + 1] = read(arguments[i], 4);
    in.argument[0] = write(arguments[0].substr(0, bar), 4);
    const bool has_predicate = bar != std::string_view::npos;
    in.argument[1] = has_predicate ? write(arguments[0].substr(bar + 1), 1) : allocate(1);
    mask = in.argument[5];
  } else if (parts[0] == "vote" || parts[0] == "match") {
    in.argument[1] = read(arguments[1], bytes_of(parts[0] == "vote" ? "pred" : type));
    in.argument[2] = mask = read(arguments[2], 4);
    in.argument[0] = write(arguments[0], parts[0] == "vote" ? bytes_of(type) : 4);
  } else if (parts[0] == "activemask") {
    in.argument[0] = write(arguments[0], 4);
  } else {
    mask = read(arguments[0], 4);
  }
  if (mask == kNoSlot) {
    emit(in);
    return;
  }
  in.constant = mask;
  in.vector = parts[0] == "bar" ? 1 : 0;  // whether it orders memory
  begin_block();
  program_.blocks.back().meets_warp = true;
  emit(in);
}

void Decoder::decode_move(Parts parts) {
  const auto& arguments = statement_->arguments;
  const int bytes = bytes_of(parts.back());
  const std::string type = ".b" + std::to_string(8 * bytes);
  if (arguments[1].front() == '{') {  // pack, the first in the low bits
    const auto from = elements(arguments[1]);
    const int part = bytes / static_cast<int>(from.size());
    Slot whole = constant(0, bytes);
    for (size_t i = 0; i < from.size(); ++i) {
      const Slot wide = allocate(bytes), shifted = allocate(bytes), next = allocate(bytes);
      convert(unsigned_type(bytes), unsigned_type(part), wide, read(from[i], part));
      emit(find_arithmetic("shl" + type), {shifted, wide, constant(8 * part * i, 4)});
      emit(find_arithmetic("or" + type), {next, whole, shifted});
      whole = next;
    }
    emit(find_arithmetic("mov" + type), {write(arguments[0], bytes), whole});
    program_.instructions.back().statement = statement_index();
    finish();
  } else if (arguments[0].front() == '{') {
    const auto to = elements(arguments[0]);
    const int part = bytes / static_cast<int>(to.size());
    const Slot whole = read(arguments[1], bytes);
    for (size_t i = 0; i < to.size(); ++i) {
      if (to[i] == "_") continue;
      const Slot shifted = allocate(bytes);
      emit(find_arithmetic("shr" + type), {shifted, whole, constant(8 * part * i, 4)});
      convert(unsigned_type(part), unsigned_type(bytes), write(to[i], part), shifted);
      finish();
    }
    program_.instructions.back().statement = statement_index();
  } else {
    apply(find_arithmetic(join(parts)), arguments, false, false);
  }
}

void Decoder::decode_address_conversion(Parts parts) {
  const bool to_space = remove(parts, "to");
  const bool is_shared = take_space(parts) == Space::kShared;
  const uint64_t base = is_shared ? shared_address() : 0;
  const Slot result = write(statement_->arguments[0], 8);
  emit(find_arithmetic("add.u64"),
       {result, read(statement_->arguments[1], 8), constant(to_space ? 0 - base : base, 8)});
  program_.instructions.back().statement = statement_index();
}

void Decoder::decode_conversion(Parts parts) {
  const int rounding = take_rounding(parts);
  const bool has_mode = parts.size() == 4;
  if (parts.size() < 3 || parts.size() > 4) fail_unknown();
  const std::string from = parts.back(), to = parts[parts.size() - 2];
  const bool to_int = to[0] == 's' || to[0] == 'u';
  const Operation operation = find_conversion(to, from, has_mode ? parts[1] : "", saturates_);
  const bool sign = to[0] == 's';
  if (to_int) saturates_ = false;  // done by the operation
  const bool is_float = to == "f32" || to == "f64";
  if (operation.run == nullptr || (saturates_ && !is_float)) fail_unknown();
  // .ftz is for float32 alone, on either side.
  const bool flushes = ftz_;
  const auto& arguments = statement_->arguments;
  Instruction in;
  in.run = operation.run;
  in.rounding = rounding;
  in.statement = statement_index();
  in.argument[1] = read(arguments.at(1), operation.operands[0], from == "f32");
  ftz_ = flushes && to == "f32";
  in.argument[0] = write(arguments.at(0), operation.result, sign, is_float);
  emit(in);
  finish();
}

void Decoder::decode_comparison(Parts parts) {
  std::string combine;
  for (const char* what : {"and", "or", "xor"}) {
    if (remove(parts, what)) combine = what;
  }
  auto arguments = statement_->arguments;
  const bool is_float = parts.back() == "f32";
  if (arguments[0].find('|') != std::string_view::npos) fail("a second result of setp");
  const std::string_view other = combine.empty() ? "" : arguments.back();
  if (!combine.empty()) arguments.pop_back();
  // Before the comparison, which may overwrite it.
  Slot combined = kNoSlot;
  if (!combine.empty()) {
    combined = allocate(1);
    emit(find_arithmetic("mov.pred"), {combined, read(other, 1)});
  }
  apply(find_arithmetic(join(parts)), arguments, false, is_float);
  if (combine.empty()) return;
  const Slot result = write(arguments[0], 1);
  emit(find_arithmetic(combine + ".pred"), {result, result, combined});
}

void Decoder::decode_memory(Parts parts) {
  const bool is_load = parts[0] != "st";
  const Space space = take_space(parts);
  Instruction in;
  in.space = space;
  in.statement = statement_index();
  for (const char* strong : {"volatile", "relaxed", "acquire", "release", "mmio"}) {
    if (remove(parts, strong)) in.is_atomic = true;
  }
  for (const char* hint :
       {"nc", "weak", "gpu", "sys", "cta", "cluster", "ca", "cg", "cs", "cv", "lu", "wb", "wt"}) {
    remove(parts, hint);
  }
  const std::string type = parts.back();
  const auto& arguments = statement_->arguments;
  const auto values = elements(arguments[is_load ? 0 : 1]);
  in.vector = static_cast<uint8_t>(values.size());
  const size_t expected = values.size() == 1 ? 2 : 3;  // ld.v2.u32
  if (parts.size() != expected || bytes_of(type) == 0 || values.size() > 4) {
    fail_unknown();
  }
  const std::string_view where = arguments[is_load ? 1 : 0];
  const int bytes = find_register(values[0] == "_" ? values.back() : values[0]).bytes;
  const int register_bytes = bytes == 0 ? std::max(2, bytes_of(type)) : bytes;
  const std::string_view name = where.substr(1, where.find_first_of("+]") - 1);
  const auto param = kernel_.params.find(name);
  const bool is_known = is_load && space == Space::kParam && param != kernel_.params.end();
  if (is_known) {
    in.run = find_load_param(type, register_bytes);
    address(where, in);
    in.offset += static_cast<int64_t>(param->second.offset);
  } else {
    in.run = is_load ? find_load(type, register_bytes) : find_store(type, register_bytes);
    in.address = static_cast<int8_t>(is_load ? values.size() : 0);
    in.bytes = static_cast<uint8_t>(bytes_of(type) * values.size());
    in.argument[in.address] = address(where, in);
  }
  if (in.run == nullptr) fail_unknown();
  for (size_t i = 0; i < values.size(); ++i) {
    in.argument[is_load ? i : i + 1] =
        is_load ? write(values[i], register_bytes) : read(values[i], register_bytes);
  }
  emit(in);
  finish();
}

void Decoder::decode_atomic(Parts parts) {
  const bool has_result = parts[0] == "atom";
  Instruction in;
  in.space = take_space(parts);
  in.is_atomic = true;
  in.constant = 1;  // it reads what it writes
  in.statement = statement_index();
  for (const char* hint :
       {"relaxed", "acquire", "release", "acq_rel", "gpu", "sys", "cta", "cluster"}) {
    remove(parts, hint);
  }
  if (parts.size() != 3) fail_unknown();
  in.run = find_atomic(parts[1], parts[2], has_result);
  if (in.run == nullptr) fail_unknown();
  const auto& arguments = statement_->arguments;
  const int bytes = bytes_of(parts[2]);
  size_t i = has_result ? 1 : 0;
  in.address = static_cast<int8_t>(i);
  in.bytes = static_cast<uint8_t>(bytes);
  in.argument[i] = address(arguments[i], in);
  for (++i; i < arguments.size(); ++i) in.argument[i] = read(arguments[i], bytes);
  if (has_result) in.argument[0] = write(arguments[0], bytes);
  emit(in);
  finish();
}

void Decoder::decode_arithmetic(Parts parts) {
  const std::string type = parts.back();
  const bool is_float = type == "f32" || type == "f64";
  const int rounding = take_rounding(parts);
  if (saturates_ && type == "f16x2") {  // saturates by itself
    parts.insert(parts.end() - 1, "sat");
    saturates_ = false;
  }
  if (saturates_ && !is_float) fail_unknown();
  apply(find_arithmetic(join(parts)), statement_->arguments, type[0] == 's', is_float, rounding);
}

void Decoder::decode(const Statement& statement) {
  statement_ = &statement;
  if (!statement.label.empty()) {
    begin_block();
    labels_[statement.label] = static_cast<int>(program_.blocks.size()) - 1;
    return;
  }
  guard_ = statement.guard.empty() ? Register{} : find_register(statement.guard);
  Parts parts = split_opcode(statement.opcode);
  ftz_ = remove(parts, "ftz");
  saturates_ = remove(parts, "sat");
  const std::string& base = parts[0];
  if (base == "bra" || base == "ret" || base == "exit") {
    decode_flow(parts);
  } else if ((base == "bar" && parts.at(1) == "warp") || base == "shfl" || base == "vote" ||
             base == "match" || base == "activemask") {
    if (base == "bar") remove(parts, "sync");
    decode_warp(parts);
  } else if (base == "bar" || base == "barrier") {
    decode_barrier(parts);
  } else if (base == "membar" || base == "fence") {
    program_.fenced = true;
  } else if (base == "mov") {
    decode_move(parts);
  } else if (base == "cvta") {
    decode_address_conversion(parts);
  } else if (base == "cvt") {
    decode_conversion(parts);
  } else if (base == "setp") {
    decode_comparison(parts);
  } else if (base == "ld" || base == "st" || base == "ldu") {
    decode_memory(parts);
  } else if (base == "atom" || base == "red") {
    decode_atomic(parts);
  } else {
    decode_arithmetic(parts);
  }
}

}  // namespace orbbec::ptx
