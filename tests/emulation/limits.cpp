// ORBBEC_EMULATION_LIMITS names a folder with limits.tsv, a row per architecture, and kernels.tsv,
// a row per kernel: those of tools/machine_code. If it is not set, every launch is accepted.
#include "emulation/limits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "emulation/block.h"
#include "emulation/symbols.h"

namespace orbbec::emulation {

namespace {

using Row = std::map<std::string, std::string>;  // by column

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

struct Table {
  std::vector<Row> rows;
  std::vector<std::string> architectures;  // of a cell with several numbers
};

// Lines that begin with # are comments, those with [ name the source file of what follows.
Table read_table(const std::string& path) {
  static const std::string architectures = "# architectures ";
  std::ifstream file(path);
  if (!file) fail("ORBBEC_EMULATION_LIMITS: cannot read %s", path.c_str());
  std::vector<std::string> columns;
  Table table;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(architectures, 0) == 0)
      table.architectures = split(line.substr(architectures.size()), '/');
    if (line.empty() || line[0] == '#' || line[0] == '[') continue;
    const std::vector<std::string> cells = split(line, '\t');
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    Row& row = table.rows.emplace_back();
    for (size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) row[columns[i]] = cells[i];
  }
  return table;
}

size_t number(const Row& row, const char* column) { return std::stoull(row.at(column)); }

// A cell is one number, or one for each architecture.
size_t number(const Row& row, const char* column, size_t architecture) {
  const std::vector<std::string> values = split(row.at(column), '/');
  return std::stoull(values.size() == 1 ? values[0] : values.at(architecture));
}

class Limits {
 public:
  explicit Limits(const std::string& folder);
  std::string refusal(const void* kernel, const LaunchSize& size);

 private:
  const Row* row_of(const void* kernel, std::string& name);

  std::vector<Row> devices_;
  std::vector<std::string> architectures_;  // of the cells of kernels_
  std::map<std::string, Row> kernels_;
  std::map<const void*, std::string> names_;
};

Limits::Limits(const std::string& folder) : devices_(read_table(folder + "/limits.tsv").rows) {
  const Table kernels = read_table(folder + "/kernels.tsv");
  architectures_ = kernels.architectures;
  for (const Row& row : kernels.rows) kernels_[row.at("kernel")] = row;
}

const Row* Limits::row_of(const void* kernel, std::string& name) {
  const bool is_new = names_.find(kernel) == names_.end();
  if (is_new) names_[kernel] = short_name(symbol_of(kernel));
  name = names_[kernel];
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return &found->second;
  if (is_new) {
    std::fprintf(stderr,
                 "%s: not in kernels.tsv; its registers, launch bounds and static shared memory "
                 "are not checked (tools/check_cuda.py --update)\n",
                 name.c_str());
  }
  return nullptr;
}

// A device that has less than the emulated one reports would have been asked for less.
std::string shared_refusal(const Row& device, size_t fixed, const LaunchSize& size) {
  const size_t wanted = fixed + size.shared_bytes;
  if (wanted <= number(device, "shared_block")) return "";
  const std::string sum = std::to_string(fixed) + " + " + std::to_string(size.shared_bytes);
  if (size.shared_bytes > size.asked_shared)
    return sum + " bytes of shared memory, more than without asking";
  const size_t most = number(device, "shared_opt_in");
  if (most < size.reported_opt_in || wanted <= most) return "";
  return sum + " of " + std::to_string(most) + " bytes of shared memory";
}

// cuda_occupancy.h: the registers of a warp are rounded up to 256, the warps of a block to 4.
std::string register_refusal(const Row& device, size_t registers, unsigned threads) {
  const size_t warps = (threads + 127) / 128 * 4, of_warp = (registers * 32 + 255) / 256 * 256;
  if (warps * of_warp <= number(device, "registers_block")) return "";
  return std::to_string(registers) + " registers in " + std::to_string(threads) + " threads";
}

// `row` is null, or has the numbers of the device in its cells at `position`.
std::string refusal_of(const Row& device, const Row* row, size_t position, const LaunchSize& size) {
  const auto cell = [&](const char* column) { return number(*row, column, position); };
  const size_t parameters = row != nullptr ? cell("parameters") : size.argument_bytes;
  if (parameters > number(device, "parameters"))
    return std::to_string(parameters) + " bytes of parameters";
  if (row != nullptr) {
    const size_t bound = cell("threads");
    if (bound > 0 && size.threads > bound)
      return std::to_string(size.threads) + " threads, launch bounds of " + std::to_string(bound);
    const std::string reason = register_refusal(device, cell("registers"), size.threads);
    if (!reason.empty()) return reason;
  }
  return shared_refusal(device, row != nullptr ? cell("shared") : 0, size);
}

std::string Limits::refusal(const void* kernel, const LaunchSize& size) {
  std::string name;
  const Row* const row = row_of(kernel, name);
  for (const Row& device : devices_) {
    const std::string& architecture = device.at("architecture");
    const auto found = std::find(architectures_.begin(), architectures_.end(), architecture);
    const bool is_known = found != architectures_.end();
    const auto position = static_cast<size_t>(found - architectures_.begin());
    const std::string reason = refusal_of(device, is_known ? row : nullptr, position, size);
    if (!reason.empty()) return "sm_" + architecture + " refuses " + name + ": " + reason;
  }
  return "";
}

}  // namespace

std::string refusal(const void* kernel, const LaunchSize& size) {
  const char* const folder = std::getenv("ORBBEC_EMULATION_LIMITS");
  if (folder == nullptr) return "";
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  static auto* const limits = new Limits(folder);
  return limits->refusal(kernel, size);
}

}  // namespace orbbec::emulation
