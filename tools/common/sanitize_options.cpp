#include "tools/common/sanitize_options.hpp"

#include <charconv>

#include "ptx2spv/sanitize.hpp"

namespace ptx2spv::tools {

namespace {
/// Whether all of `value` is a number from 0 to `most`.
template <typename Number>
bool is_number(const std::string& value, Number most) {
  Number number{};
  const char* end = value.data() + value.size();
  const auto [last, code] = std::from_chars(value.data(), end, number);
  return code == std::errc{} && last == end && number >= 0 && number <= most;
}
}  // namespace

std::string checks_problem(const std::string& value) {
  std::string unknown;
  return parse_checks(value, unknown) ? std::string() : unknown_check(unknown);
}

std::string exit_code_problem(const std::string& value) {
  if (is_number(value, 255)) return {};
  return "an exit code is a number from 0 to 255, not '" + value + "'";
}

std::string seconds_problem(const std::string& value) {
  if (is_number(value, 1e6)) return {};
  return "a time limit is a number of seconds up to 1000000, not '" + value + "'";
}

}  // namespace ptx2spv::tools
