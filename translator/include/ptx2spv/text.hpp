// Text of other people: cut to a length for messages, quoted for JSON, read as a number.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace ptx2spv {

/// A text of at most 800 bytes as it is; of a longer one the beginning and the end, cut between
/// characters of UTF-8.
std::string shortened(std::string text);

/// A JSON string with its quotes. Where the text is not UTF-8, each of its bytes from 0x80 on
/// becomes the character of that number.
std::string json_quote(std::string_view text);

/// Reads a text that is a number from its first character to its last.
template <typename Number, typename... Base>
bool read_number(std::string_view text, Number& value, Base... base) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
  return error == std::errc() && stop == end;
}

}  // namespace ptx2spv
