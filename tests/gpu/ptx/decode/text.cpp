#include "text.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace orbbec::ptx {

namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool takes(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  size_t end = 0;
  while (end < text.size() && !is_space(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

// Overwrites comments by spaces, so that views into the text stay valid.
void blank_comments(std::string& text) {
  for (size_t i = 0; (i = text.find('/', i)) != std::string::npos; ++i) {
    size_t end = i;
    if (text.compare(i, 2, "//") == 0) {
      end = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      end = std::min(text.find("*/", i), text.size() - 2) + 2;
    } else {
      continue;
    }
    for (; i < end; ++i) text[i] = text[i] == '\n' ? '\n' : ' ';
  }
}

struct Declaration {
  std::string_view name;
  std::string_view type;
  uint64_t align = 1, bytes = 0;
  bool open_ended = false;  // name[]
};

// ".align 4 .b8 name[32]", after the word of its space.
Declaration parse_declaration(std::string_view text) {
  Declaration result;
  uint64_t align = 0;
  bool is_pointer = false;  // an alignment is then that of what it points to
  while (!text.empty()) {
    std::string_view word = take_word(text);
    if (word == ".ptr") {
      is_pointer = true;
    } else if (word == ".align") {
      const std::string number(take_word(text));
      if (!is_pointer) align = std::strtoull(number.c_str(), nullptr, 0);
    } else if (word.front() == '.' && bytes_of(word.substr(1)) > 0) {
      result.type = word.substr(1);
    } else if (word.front() != '.') {
      const size_t bracket = word.find('[');
      result.name = word.substr(0, bracket);
      uint64_t count = 1;
      if (bracket != std::string_view::npos) {
        result.open_ended = word[bracket + 1] == ']';
        count = std::strtoull(std::string(word.substr(bracket + 1)).c_str(), nullptr, 0);
      }
      result.bytes = count * bytes_of(result.type);
    }
  }
  result.align = align != 0 ? align : std::max(1, bytes_of(result.type));
  return result;
}

Variable allocate(uint64_t& end, const Declaration& declared) {
  end = (end + declared.align - 1) / declared.align * declared.align;
  const Variable result{end, declared.bytes};
  end += declared.bytes;
  return result;
}

uint64_t number_of(std::string_view text) {
  if (takes(text, "0f") || takes(text, "0d") || takes(text, "0F") || takes(text, "0D")) {
    return std::strtoull(std::string(text).c_str(), nullptr, 16);
  }
  return std::strtoull(std::string(text).c_str(), nullptr, 0);
}

void define_global(ModuleText& module, std::string_view text) {
  const size_t equals = text.find('=');
  const Declaration declared = parse_declaration(trimmed(text.substr(0, equals)));
  const int size = bytes_of(declared.type);
  module.storage.push_back(std::make_unique<char[]>(declared.bytes + 256));
  const auto raw = reinterpret_cast<uintptr_t>(module.storage.back().get());
  char* const data = reinterpret_cast<char*>((raw + 127) / 128 * 128);
  if (equals != std::string_view::npos) {
    std::string_view values = trimmed(text.substr(equals + 1));
    if (values.front() == '{') values = values.substr(1, values.size() - 2);
    char* at = data;
    for (const std::string_view value : split(values)) {
      const char first = value.front();
      if (first != '-' && std::isdigit(static_cast<unsigned char>(first)) == 0) {
        throw Fault("initial value of " + std::string(declared.name) + ": " + std::string(value));
      }
      const uint64_t bits = number_of(value);
      std::memcpy(at, &bits, size);
      at += size;
    }
  }
  module.globals[declared.name] = {reinterpret_cast<uintptr_t>(data), declared.bytes};
}

void parse_kernel(ModuleText& module, std::string_view head, std::string_view body) {
  KernelText kernel;
  const size_t open = head.find('(');
  std::string_view name = trimmed(head.substr(0, open));
  kernel.name = std::string(name);
  kernel.body = body;
  if (open != std::string_view::npos) {
    const size_t end = head.find(')', open);
    for (std::string_view param : split(head.substr(open + 1, end - open - 1))) {
      takes(param, ".param");
      const Declaration declared = parse_declaration(trimmed(param));
      kernel.params[declared.name] = allocate(kernel.param_bytes, declared);
    }
  }
  module.kernels[kernel.name] = std::move(kernel);
}

void parse_directive(ModuleText& module, std::string_view text) {
  while (takes(text, ".visible") || takes(text, ".extern") || takes(text, ".weak") ||
         takes(text, ".common")) {
    text = trimmed(text);
  }
  if (takes(text, ".shared")) {
    const Declaration declared = parse_declaration(trimmed(text));
    if (declared.open_ended) {
      module.dynamic_shared = declared.name;
    } else {
      module.shared[declared.name] = allocate(module.shared_bytes, declared);
    }
  } else if (takes(text, ".global") || takes(text, ".const")) {
    define_global(module, trimmed(text));
  }
}

void declare_registers(KernelText& kernel, int scope, std::string_view text) {
  const std::string_view type = take_word(text);
  for (std::string_view name : split(text)) {
    const size_t count = name.find('<');
    kernel.scopes[scope].registers[name.substr(0, count)] = bytes_of(type.substr(1));
  }
}

Statement parse_statement(std::string_view text) {
  Statement result;
  if (text.front() == '@') {
    text.remove_prefix(1);
    result.negated = takes(text, "!");
    result.guard = take_word(text);
  }
  result.opcode = take_word(text);
  result.arguments = split(text);
  return result;
}

bool is_label(std::string_view text) {
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '$' && c != '%') {
      return false;
    }
  }
  return !text.empty();
}

}  // namespace

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c != ',' || (depth != 0 && i < text.size())) continue;
    const std::string_view part = trimmed(text.substr(begin, i - begin));
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  throw Fault("a brace is not closed");
}

int bytes_of(std::string_view type) {
  if (type == "pred" || type == "b8" || type == "u8" || type == "s8") return 1;
  if (type == "b16" || type == "u16" || type == "s16" || type == "f16" || type == "bf16") return 2;
  if (type == "b32" || type == "u32" || type == "s32" || type == "f32") return 4;
  if (type == "b64" || type == "u64" || type == "s64" || type == "f64") return 8;
  return 0;
}

std::unique_ptr<ModuleText> parse_module(std::string text) {
  auto module = std::make_unique<ModuleText>();
  module->text = std::move(text);
  blank_comments(module->text);
  inline_calls(module->text);
  const std::string_view all = module->text;
  size_t at = 0;
  while (at < all.size()) {
    if (is_space(all[at])) {
      ++at;
      continue;
    }
    const std::string_view rest = all.substr(at);
    if (rest.substr(0, 5) == ".file") {
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(5, end - 5);
      const int number = std::atoi(std::string(take_word(line)).c_str());
      const size_t quote = line.rfind('"');
      module->files[number] = std::string(line.substr(1, quote - 1));
      at += end;
      continue;
    }
    const size_t end = rest.find_first_of(";{\n");
    const bool is_line = rest.substr(0, 8) == ".version" || rest.substr(0, 7) == ".target" ||
                         rest.substr(0, 13) == ".address_size";
    const size_t entry = rest.substr(0, std::min(end, rest.size())).find(".entry");
    const size_t section = rest.substr(0, 8) == ".section" ? 0 : std::string_view::npos;
    if (is_line) {
      at += std::min(rest.find('\n'), rest.size());
    } else if (entry != std::string_view::npos || section == 0) {
      const size_t open = rest.find('{');
      const size_t close = closing(rest, open);
      if (entry != std::string_view::npos) {
        parse_kernel(*module, rest.substr(entry + 6, open - entry - 6),
                     rest.substr(open + 1, close - open - 2));
      }
      at += close;
    } else {
      const size_t stop = std::min(rest.find(';'), rest.size());
      parse_directive(*module, trimmed(rest.substr(0, stop)));
      at += stop + 1;
    }
  }
  return module;
}

void parse_body(const ModuleText& module, KernelText& kernel) {
  if (!kernel.scopes.empty()) return;
  kernel.shared_bytes = module.shared_bytes;
  kernel.scopes.push_back({});
  int scope = 0, file = 0, line = 0;
  const std::string_view body = kernel.body;
  for (size_t at = 0; at < body.size();) {
    const char c = body[at];
    if (is_space(c) || c == ';') {
      ++at;
    } else if (c == '{') {
      kernel.scopes.push_back({scope, {}});
      scope = static_cast<int>(kernel.scopes.size()) - 1;
      ++at;
    } else if (c == '}') {
      scope = kernel.scopes[scope].parent;
      ++at;
    } else if (body.substr(at, 5) == ".loc\t" || body.substr(at, 5) == ".loc ") {
      const size_t end = std::min(body.find('\n', at), body.size());
      std::string_view words = body.substr(at + 5, end - at - 5);
      const int where = std::atoi(std::string(take_word(words)).c_str());
      const int number = std::atoi(std::string(take_word(words)).c_str());
      if (number != 0) {  // line 0: code that no line stands for
        file = where;
        line = number;
      }
      at = end;
    } else {
      const size_t stop = std::min(body.find(';', at), body.size());
      const size_t colon = body.substr(at, stop - at).find(':');
      const bool label =
          colon != std::string_view::npos && is_label(trimmed(body.substr(at, colon)));
      const size_t end = label ? at + colon : stop;
      std::string_view text = trimmed(body.substr(at, end - at));
      at = end + 1;
      if (label) {
        kernel.statements.push_back({});
        kernel.statements.back().label = text;
      } else if (takes(text, ".reg")) {
        declare_registers(kernel, scope, trimmed(text));
      } else if (takes(text, ".shared")) {
        const Declaration declared = parse_declaration(trimmed(text));
        kernel.shared[declared.name] = allocate(kernel.shared_bytes, declared);
      } else if (takes(text, ".local")) {
        const Declaration declared = parse_declaration(trimmed(text));
        kernel.local[declared.name] = allocate(kernel.local_bytes, declared);
      } else if (text.front() != '.') {
        kernel.statements.push_back(parse_statement(text));
        Statement& made = kernel.statements.back();
        made.file = file;
        made.line = line;
        made.scope = scope;
      }
    }
  }
}

}  // namespace orbbec::ptx
