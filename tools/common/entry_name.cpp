#include "tools/common/entry_name.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ptx2spv::tools {
namespace {

/// The position of the bracket that closes the one at `open`, or npos.
std::size_t closing(std::string_view text, std::size_t open, char opens, char closes) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == opens) ++depth;
    if (text[at] == closes && --depth == 0) return at;
  }
  return text.npos;
}

// "void filters::blur<4>(int)" without the type it returns, which template functions have.
std::string_view without_return_type(std::string_view name) {
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '(' && !name.substr(at).starts_with("(anonymous namespace)") && depth == 0) break;
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
    if (c == ' ' && depth == 0) return name.substr(at + 1);
  }
  return name;
}

// "filters::blur<4>(int)" -> "filters::blur<4>": up to the bracket that opens the arguments.
std::string_view without_arguments(std::string_view name) {
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name.substr(at).starts_with("(anonymous namespace)")) {
      at = closing(name, at, '(', ')');
      continue;
    }
    if (name[at] == '<') ++depth;
    if (name[at] == '>') --depth;
    if (name[at] == '(' && depth == 0) return name.substr(0, at);
  }
  return name;
}

// "filters::blur<4>" -> "filters::blur"
std::string_view without_template_arguments(std::string_view name) {
  if (!name.ends_with('>')) return name;
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == '>') ++depth;
    if (name[at] == '<' && --depth == 0) return name.substr(0, at);
  }
  return name;
}

std::string_view last_part(std::string_view name) {
  const std::size_t at = name.rfind("::");
  return at == name.npos ? name : name.substr(at + 2);
}

bool answers_to(const std::string& name, std::string_view wanted) {
  const std::string whole = demangled(name);
  const std::string_view call = without_return_type(whole);
  const std::string_view qualified = without_arguments(call);
  const std::string_view plain = without_template_arguments(qualified);
  return wanted == whole || wanted == call || wanted == qualified || wanted == plain ||
         wanted == last_part(plain);
}

}  // namespace

std::string shown_name(const std::string& name) {
  const std::string text = demangled(name);
  return text == name ? "'" + name + "'" : "'" + name + "' (" + text + ")";
}

int find_entry_name(const std::vector<std::string>& names, std::string_view wanted,
                    std::string& problem) {
  const auto exact = std::find(names.begin(), names.end(), wanted);
  if (exact != names.end()) return int(exact - names.begin());
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (answers_to(names[k], wanted)) found.push_back(k);
  if (found.size() == 1) return int(found[0]);
  std::string list;
  const auto add = [&](std::size_t k) {
    list += (list.empty() ? "" : ", ") + shown_name(names[k]);
  };
  if (found.empty()) {
    for (std::size_t k = 0; k < names.size(); ++k) add(k);
    problem = "there is no kernel '" + std::string(wanted) + "'; there " +
              (names.empty()       ? "is none"
               : names.size() == 1 ? "is " + list
                                   : "are " + list);
  } else {
    for (std::size_t k : found) add(k);
    problem = fmt::format("{} kernels are called '{}': {}; the manifest has to say which",
                          found.size(), wanted, list);
  }
  return -1;
}

}  // namespace ptx2spv::tools
