#include "src/options.hpp"

#include <cstdlib>

namespace ptx2spv::runtime {

namespace {
constexpr OptionRow kRows[] = {
#define PTX2SPV_OPTION(name, variable, fallback, help) {#name, variable, fallback, help},
#include "src/options.def"
#undef PTX2SPV_OPTION
};
}  // namespace

std::string_view option_text(Option option) {
  const char* text = std::getenv(kRows[static_cast<int>(option)].variable);
  return text ? std::string_view(text) : std::string_view();
}

bool option_flag(Option option, bool fallback) {
  std::string_view text = option_text(option);
  if (text.empty()) return fallback;
  return text != "0" && text != "no" && text != "off" && text != "false";
}

}  // namespace ptx2spv::runtime
