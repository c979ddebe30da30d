#include "tests/documentation/page.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace documentation {

namespace {

constexpr const char* kBehind = " is behind the code: run this test with PTX2SPV_RECORD=1";

std::string path_of(std::string_view name) {
  return std::string(PTX2SPV_SOURCE_DIR) + "/" + std::string(name);
}

}  // namespace

std::string read_page(std::string_view name) {
  std::ifstream file(path_of(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_part(std::string_view page, std::string_view part, const std::string& text) {
  const std::string all = read_page(page);
  const std::string open = "<!-- table: " + std::string(part) + " -->\n";
  const std::size_t begin = all.find(open);
  ASSERT_NE(begin, std::string::npos) << page << " has no part " << part;
  const std::size_t from = begin + open.size();
  const std::size_t to = all.find("<!-- end -->", from);
  ASSERT_NE(to, std::string::npos) << page << ": part " << part << " has no end";
  if (std::getenv("PTX2SPV_RECORD")) {
    std::ofstream(path_of(page), std::ios::binary) << all.substr(0, from) << text << all.substr(to);
    return;
  }
  // The first line that differs says enough; whole tables would not be read.
  std::istringstream have(all.substr(from, to - from)), want(text);
  std::string mine, theirs;
  bool more = true;
  while (more) {
    more = static_cast<bool>(std::getline(want, theirs));
    ASSERT_EQ(static_cast<bool>(std::getline(have, mine)), more) << page << ": " << part << kBehind;
    if (more) {
      ASSERT_EQ(mine, theirs) << page << ": " << part << kBehind;
    }
  }
}

}  // namespace documentation
