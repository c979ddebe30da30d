#include "tests/programs/departures.hpp"

#include <cstdint>
#include <cstdlib>
#include <regex>
#include <sstream>

#include <fmt/format.h>

namespace ptx2spv::tests {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The bits of a small number as a binary16 or, with eight bits of exponent, a bfloat16.
std::uint32_t half_of(std::uint32_t number, bool bfloat) {
  const std::uint32_t fraction_bits = bfloat ? 7 : 10, bias = bfloat ? 127 : 15;
  if (number == 0) return 0;
  std::uint32_t exponent = 0;
  while (number >> (exponent + 1)) ++exponent;
  const std::uint32_t fraction = (number << fraction_bits) >> exponent;
  return ((exponent + bias) << fraction_bits) | (fraction & ((1u << fraction_bits) - 1));
}

/// A constant that a guarded `set` with a half result may leave in its destination.
bool convert_constants(std::vector<std::string>& lines) {
  static const std::regex kSet(
      R"(@!?%\w+ set\.\w+(?:\.and|\.or|\.xor)?(?:\.ftz)?\.(bf16|f16)\.\w+ (%v\d+),)");
  static const std::regex kMove(R"((\s*mov\.b16 )(%v\d+), (\d+);)");
  bool any = false;
  std::smatch set, move;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!std::regex_search(lines[i], set, kSet)) continue;
    for (std::size_t k = i; k-- > 0;) {
      if (!std::regex_match(lines[k], move, kMove) || move[2] != set[2]) continue;
      const auto number =
          static_cast<std::uint32_t>(std::strtoul(move[3].str().c_str(), nullptr, 10));
      if (number >= 128) break;
      lines[k] = fmt::format("{}{}, {:#06x};", move[1].str(), move[2].str(),
                             half_of(number, set[1] == "bf16"));
      any = true;
      break;
    }
  }
  return any;
}

}  // namespace

Departures as_ptxas_takes(const std::string& text) {
  Departures changed;
  std::vector<std::string> lines = lines_of(text);
  if (convert_constants(lines))
    changed.reasons.emplace_back(
        "ptxas makes a half of an integer constant that a guarded set of halves may leave");
  for (const std::string& line : lines) changed.text += line + "\n";
  return changed;
}

}  // namespace ptx2spv::tests
