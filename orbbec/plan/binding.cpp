#include "binding_passes.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "draw";

// A line per rule: its name, outputs and operands. Then a line of operators with their arguments,
// and one per list in binding_passes.h: of names, and of names with numbers.
std::string program_names() {
  std::ostringstream text;
  for (const RuleSpec& rule : kRules)
    text << rule.name << ':' << rule.outputs << ':' << rule.text << '\n';
  for (const RunOperator& each : kOperators) text << each.name << ' ' << each.arguments << ';';
  text << '\n';
  const auto add = [&](const auto& names) {
    for (const char* name : names) text << name << ' ';
    text << '\n';
  };
  add(kReadings);
  add(kBorders);
  add(kDtypeNames);
  add(kKinds);
  const auto add_numbers = [&](const auto& numbers) {
    for (const NamedNumber& each : numbers) text << each.name << '=' << each.value << ' ';
    text << '\n';
  };
  add_numbers(kPassLayout);
  add_numbers(kProgramLayout);
  return text.str();
}

// The arguments of `draw`, as its schema has them.
struct Call {
  Tensor code, sizes, sample_ids, state, words;
  int64_t seed = 0, epoch = 0, begin = 0, end = 0, frames = 1;

  explicit Call(StableIValue* stack) {
    unpack(stack, code, sizes, sample_ids, seed, epoch, begin, end, state, words, frames);
  }
};

void check_tables(const Call& call, int64_t count) {
  check(call.state.is_cpu() && call.state.dim() == 2 && call.state.size(0) == count &&
            call.state.scalar_type() == ScalarType::Double && call.state.is_contiguous(),
        kOp, "expected state as contiguous float64 [", count,
        ", registers] on the CPU, but got shape ", shape_text(call.state));
  check(call.words.is_cpu() && call.words.dim() == 1 && call.words.is_contiguous() &&
            call.words.scalar_type() == ScalarType::Float,
        kOp, "expected words as contiguous float32 [numbers] on the CPU");
}

void draw(StableIValue* stack, uint64_t, uint64_t) {
  const Call call(stack);
  const Tensor sizes = checked_sizes(kOp, call.sizes);
  const int64_t count = sizes.size(0);
  check_tables(call, count);
  // Without images nothing is written.
  const int64_t words = count == 0 ? int64_t{1} << 40 : call.words.numel() / count;
  const ProgramCode program{call.code, call.begin, call.end, call.state.size(1), words};
  check_code(kOp, call.code);
  check_rules(kOp, program);
  check(call.sample_ids.is_cpu(), kOp, "expected sample_ids on the CPU");
  const Tensor layout = layout_of(kOp, sizes);
  const Tensor samples = sample_ids_on(kOp, call.sample_ids, sizes, count);
  DrawArguments a{};
  a.rows = static_cast<const double*>(call.code.const_data_ptr());
  a.begin = call.begin;
  a.end = call.end;
  a.count = count;
  a.frames = checked_frames(kOp, call.frames, count);
  a.layout = static_cast<const int64_t*>(layout.const_data_ptr());
  a.ids = static_cast<const int64_t*>(samples.const_data_ptr());
  a.seed = static_cast<uint64_t>(call.seed);
  a.epoch = call.epoch;
  a.registers = static_cast<double*>(call.state.mutable_data_ptr());
  a.register_count = program.registers;
  a.words = static_cast<float*>(call.words.mutable_data_ptr());
  draw_batch(kOp, a);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "draw(Tensor code, Tensor sizes, Tensor sample_ids, int seed, int epoch, int begin, int end, "
      "Tensor(a!) state, Tensor(b!) words, int frames=1) -> ()");
  m.def("program_names() -> str");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) { m.impl("draw", &orbbec::draw); }
STABLE_TORCH_LIBRARY_IMPL(orbbec, CompositeExplicitAutograd, m) {
  m.impl("program_names", TORCH_BOX(&orbbec::program_names));
}
