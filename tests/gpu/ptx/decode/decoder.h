// Decodes the statements of a kernel into instructions. What PTX leaves implicit becomes an
// instruction of its own: a register wider than the operation, .ftz, .sat, packing. Included by
// decode.cpp (operands, order) and decode_statements.cpp (one function per kind).
#pragma once

#include "../execution.h"

namespace orbbec::ptx {

using Parts = std::vector<std::string>;  // of an opcode: ld, global, u32

// Removes the part; false if there is none.
bool remove(Parts& parts, const char* part);
std::string join(const Parts& parts);
Space take_space(Parts& parts);
int take_rounding(Parts& parts);
// Of "{a, b}"; of anything else itself.
std::vector<std::string_view> elements(std::string_view text);
const char* unsigned_type(int bytes);
const char* signed_type(int bytes);

struct Register {
  Slot slot = kNoSlot;
  int bytes = 0;
};

// After an instruction: its result in a temporary is converted to the register it belongs in.
struct Pending {
  Operation operation;
  Slot from, to;
};

class Decoder {
 public:
  Decoder(const ModuleText& module, KernelText& kernel) : module_(module), kernel_(kernel) {}
  Program decode();

 private:
  void decode(const Statement& statement);
  void decode_flow(const Parts& parts);
  void decode_barrier(Parts parts);
  void decode_warp(Parts parts);
  void decode_move(Parts parts);
  void decode_address_conversion(Parts parts);
  void decode_conversion(Parts parts);
  void decode_comparison(Parts parts);
  void decode_memory(Parts parts);
  void decode_atomic(Parts parts);
  void decode_arithmetic(Parts parts);

  Register find_register(std::string_view name);
  Register find_special(std::string_view name);
  Slot allocate(int bytes);
  Slot constant(uint64_t bits, int bytes);
  bool find_symbol(std::string_view name, uint64_t& value) const;
  // The slot of an operand of `bytes` bytes; `is_float` for .ftz.
  Slot read(std::string_view argument, int bytes, bool is_float = false);
  Slot write(std::string_view argument, int bytes, bool is_signed = false, bool is_float = false);
  // Of "[name+offset]"; the offset goes into the instruction.
  Slot address(std::string_view argument, Instruction& in);

  void convert(const char* to, const char* from, Slot result, Slot source);
  void emit(Instruction in);
  void emit(const Operation& operation, std::initializer_list<Slot> arguments);
  void apply(const Operation& operation, const std::vector<std::string_view>& arguments,
             bool is_signed, bool is_float, int rounding = FE_TONEAREST);
  void finish();
  void begin_block();
  BasicBlock& end_block(Flow flow);
  int statement_index() const;
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail_unknown() const { fail("this executor does not know the instruction"); }

  const ModuleText& module_;
  KernelText& kernel_;
  Program program_;
  const Statement* statement_ = nullptr;
  Register guard_;
  bool ftz_ = false, saturates_ = false;
  std::vector<Pending> pending_;
  std::map<std::pair<int, std::string_view>, Register> registers_;
  std::map<std::pair<uint64_t, int>, Slot> constants_;
  std::map<std::string, Slot, std::less<>> specials_;
  std::map<std::string_view, int> labels_;
  std::vector<std::pair<int, std::string_view>> jumps_;  // block, label
};

}  // namespace orbbec::ptx
