// Replaces calls of device functions by their bodies, so that what follows knows kernels only.
//
// A call stands in braces with its arguments and its result, variables in the space of parameters:
// they become local variables, and so do the parameters of the body, which has their names.
#include <algorithm>
#include <cctype>
#include <map>

#include "text.h"

namespace orbbec::ptx {

namespace {

struct Function {
  std::vector<std::string> variables;  // the result if there is one, then the parameters
  std::string body;                    // with its braces
};

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

// Replaces `from`, as a whole word or as the beginning of one.
void replace(std::string& text, std::string_view from, std::string_view to, bool is_word) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    const size_t end = at + from.size();
    const bool begins = from.front() == '.' || at == 0 || !is_of_name(text[at - 1]);
    if (begins && !(is_word && end < text.size() && is_of_name(text[end]))) {
      text.replace(at, from.size(), to);
      at += to.size();
    } else {
      at = end;
    }
  }
}

// The last names of "(a b[4], c d)" and the like, in order.
std::vector<std::string> last_names(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view part : split(text)) {
    part = part.substr(0, part.find('['));
    size_t begin = part.size();
    while (begin > 0 && is_of_name(part[begin - 1])) --begin;
    names.emplace_back(part.substr(begin));
  }
  return names;
}

// Of "(result) name (parameters)", where each list may lack.
struct Signature {
  std::string name;
  std::vector<std::string> variables;

  explicit Signature(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      if (text[at] == '(') {
        const size_t close = text.find(')', at);
        for (auto& found : last_names(text.substr(at + 1, close - at - 1)))
          variables.push_back(std::move(found));
        at = close + 1;
      } else if (is_of_name(text[at])) {
        size_t end = at;
        while (end < text.size() && is_of_name(text[end])) ++end;
        name = text.substr(at, end - at);
        at = end;
      } else {
        ++at;
      }
    }
  }
};

// Takes the functions out of the text.
std::map<std::string, Function> take_functions(std::string& text) {
  std::map<std::string, Function> functions;
  for (size_t at = 0; (at = text.find(".func", at)) != std::string::npos;) {
    const size_t head = at + 5, stop = text.find_first_of(";{", head);
    const Signature signature(std::string_view(text).substr(head, stop - head));
    size_t end = stop + 1;
    if (text[stop] == '{') {
      end = closing(text, stop);
      functions[signature.name] = {signature.variables, text.substr(stop, end - stop)};
    }
    text.erase(at, end - at);
  }
  return functions;
}

// The brace that encloses `at`.
size_t opening(const std::string& text, size_t at) {
  for (int depth = 0; at-- > 0;) {
    if (text[at] == '}') ++depth;
    if (text[at] == '{' && depth-- == 0) return at;
  }
  throw Fault("a call outside of a function");
}

std::string body_of(const Function& function, const std::vector<std::string>& variables,
                    const std::string& prefix) {
  std::string body = function.body;
  const std::string end = "$" + prefix + "end";
  replace(body, "$L", "$" + prefix + "L", false);
  replace(body, "__local_depot", prefix + "__local_depot", false);
  replace(body, "ret", "bra.uni " + end, true);
  replace(body, ".param", ".local", true);
  for (size_t i = 0; i < variables.size(); ++i)
    replace(body, function.variables[i], variables[i], true);
  return body + "\n" + end + ":\n";
}

}  // namespace

void inline_calls(std::string& text) {
  const std::map<std::string, Function> functions = take_functions(text);
  int calls = 0;
  for (size_t at = 0; (at = text.find("call.uni", at)) != std::string::npos;) {
    const size_t stop = text.find(';', at);
    const Signature call(std::string_view(text).substr(at + 8, stop - at - 8));
    const auto function = functions.find(call.name);
    if (function == functions.end() || function->second.variables.size() != call.variables.size())
      throw Fault("a call of " + call.name + ", which has no body here");
    const std::string prefix = "c" + std::to_string(calls++) + "_";
    const size_t open = opening(text, at), close = closing(text, open);
    std::string before = text.substr(open, at - open),
                after = text.substr(stop + 1, close - stop - 1);
    std::vector<std::string> variables;
    for (const std::string& name : call.variables) {
      variables.push_back(prefix + name);
      for (std::string* part : {&before, &after}) replace(*part, name, variables.back(), true);
    }
    for (std::string* part : {&before, &after}) replace(*part, ".param", ".local", true);
    text.replace(open, close - open, before + body_of(function->second, variables, prefix) + after);
    at = open;
  }
}

}  // namespace orbbec::ptx
