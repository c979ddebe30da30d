#include "src/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <vector>

#include "ptx2spv/debug_setting.hpp"
#include "ptx2spv/text.hpp"

namespace ptx2spv::runtime {

namespace {

/// What a setting may be.
struct Form {
  std::string_view words;  ///< with blanks between; empty: any text, or a number
  bool several = false;    ///< words, with commas between
  std::uint64_t least = 1, most = 0;
  bool is_number() const { return least <= most; }
};

constexpr std::uint64_t kAny = ~std::uint64_t{0}, kWord = 0xffffffff;

constexpr Form text() { return {}; }
constexpr Form words(std::string_view all) { return {all}; }
constexpr Form list(std::string_view all) { return {all, true}; }
constexpr Form flag() { return words("0 1 no yes off on false true"); }
constexpr Form number(std::uint64_t least, std::uint64_t most) { return {{}, false, least, most}; }

struct Row {
  const char* name;
  bool is_key;  ///< of PTX2SPV_DEBUG, not a variable
  Form form;
};

constexpr Row kRows[] = {
#define PTX2SPV_OPTION(name, variable, form, fallback, help) {variable, false, form},
#define PTX2SPV_DEBUG_KEY(name, key, form, fallback, help) {key, true, form},
#include "src/options.def"
};

const Row& row_of(Option option) { return kRows[static_cast<int>(option)]; }

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::string_view(text) : std::string_view();
}

std::string_view text_of(const Row& row) {
  return row.is_key ? debug_setting(row.name) : variable(row.name);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1)) {
    end = text.find(at);
    out.push_back(text.substr(0, end));
  }
  return out;
}

std::optional<std::uint64_t> number_in(std::string_view text, const Form& form) {
  std::uint64_t value = 0;
  if (!read_number(text, value) || value < form.least || value > form.most) return std::nullopt;
  return value;
}

bool is_right(std::string_view text, const Form& form) {
  if (form.is_number()) return number_in(text, form).has_value();
  if (form.words.empty()) return true;
  const auto known = split(form.words, ' ');
  const auto is_known = [&](std::string_view word) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  if (!form.several) return is_known(text);
  const auto given = split(text, ',');
  return std::all_of(given.begin(), given.end(), is_known);
}

std::string may_be(const Form& form) {
  if (form.is_number())
    return form.most == kAny ? "a whole number"
                             : fmt::format("a number from {} to {}", form.least, form.most);
  const auto known = split(form.words, ' ');
  std::string out(known[0]);
  for (std::size_t i = 1; i < known.size(); ++i)
    out += (i + 1 < known.size() ? ", " : " or ") + std::string(known[i]);
  return form.several ? out + ", several with commas between" : out;
}

/// A key that does not exist, or a variable in the place of a key, would have no effect.
std::string wrong_key() {
  std::string keys;
  for (const Row& row : kRows) {
    if (!row.is_key) continue;
    keys += (keys.empty() ? "" : ", ") + std::string(row.name);
    std::string alike = "PTX2SPV_" + std::string(row.name);
    for (char& c : alike)
      c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (const std::string_view text = variable(alike.c_str()); !text.empty())
      return fmt::format("{} has no effect: set PTX2SPV_DEBUG={}={:.100}", alike, row.name, text);
  }
  for (const std::string_view item : split(variable("PTX2SPV_DEBUG"), ',')) {
    const std::string_view key = item.substr(0, item.find('='));
    const auto is_it = [&](const Row& row) { return row.is_key && row.name == key; };
    if (!item.empty() && (key.size() == item.size() || std::ranges::none_of(kRows, is_it)))
      return fmt::format(
          "PTX2SPV_DEBUG has '{:.100}': it takes key=value, separated by commas, "
          "with the keys {}",
          item, keys);
  }
  return {};
}

}  // namespace

std::string_view option_text(Option option) { return text_of(row_of(option)); }

bool option_flag(Option option, bool fallback) {
  std::string_view text = option_text(option);
  if (text.empty()) return fallback;
  return text != "0" && text != "no" && text != "off" && text != "false";
}

std::uint64_t option_number(Option option, std::uint64_t fallback) {
  return number_in(option_text(option), row_of(option).form).value_or(fallback);
}

std::string wrong_option() {
  for (const Row& row : kRows) {
    const std::string_view text = text_of(row);
    if (!text.empty() && !is_right(text, row.form))
      return fmt::format("{}{} is '{:.100}': it may be {}", row.is_key ? "PTX2SPV_DEBUG: " : "",
                         row.name, text, may_be(row.form));
  }
  return wrong_key();
}

}  // namespace ptx2spv::runtime
