#include "tests/binding/abi_page.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

namespace binding {
namespace {

struct Page {
  std::string text;
  std::map<std::string, std::uint32_t> numbers;
  std::uint32_t bindings = 0;
};

[[noreturn]] void missing(const std::string& what) {
  std::fprintf(stderr, "docs/reference/abi.md does not say %s\n", what.c_str());
  std::abort();
}

// Rows of the form "| `name` | number | ...".
Page read() {
  Page page;
  std::ifstream file(std::string(PTX2SPV_SOURCE_DIR) + "/docs/reference/abi.md");
  const std::regex row("\\| `(\\w+)` \\| (\\d+) \\|.*");
  std::string line, section;
  while (std::getline(file, line)) {
    page.text += line + "\n";
    if (line.starts_with("## ")) section = line;
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    page.numbers.emplace(match[1], static_cast<std::uint32_t>(std::stoul(match[2])));
    if (section.starts_with("## Descriptor set 0")) ++page.bindings;
  }
  return page;
}

const Page& page() {
  static const Page kPage = read();
  return kPage;
}

}  // namespace

std::uint32_t abi(const std::string& name) {
  const auto found = page().numbers.find(name);
  if (found == page().numbers.end()) missing(name);
  return found->second;
}

std::uint32_t abi_bindings() { return page().bindings; }

std::uint32_t abi_between(const std::string& before, const std::string& behind) {
  std::smatch match;
  const std::regex number(before + "([0-9,]+)" + behind);
  if (!std::regex_search(page().text, match, number)) missing(before + "..." + behind);
  std::string digits = match[1];
  std::erase(digits, ',');
  return static_cast<std::uint32_t>(std::stoul(digits));
}

}  // namespace binding
