#include "ptx2spv/text.hpp"

#include <cstdio>

namespace ptx2spv {

namespace {

bool is_utf8(std::string_view text) {
  for (std::size_t k = 0; k < text.size(); ++k) {
    const auto byte = static_cast<unsigned char>(text[k]);
    if (byte < 0x80) continue;
    const int more = byte >= 0xc2 && byte < 0xe0   ? 1
                     : byte >= 0xe0 && byte < 0xf0 ? 2
                     : byte >= 0xf0 && byte < 0xf5 ? 3
                                                   : 0;
    if (!more) return false;
    for (int j = 0; j < more; ++j)
      if (++k >= text.size() || (static_cast<unsigned char>(text[k]) & 0xc0) != 0x80) return false;
  }
  return true;
}

}  // namespace

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 800, kEnd = 200;
  if (text.size() <= kLongest) return text;
  const auto inside = [&](std::size_t at) {  // of a character of UTF-8
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t first = kLongest - kEnd, second = text.size() - kEnd;
  for (int k = 0; k < 3 && inside(first); ++k) --first;
  for (int k = 0; k < 3 && inside(second); ++k) ++second;
  return text.substr(0, first) + " ... " + text.substr(second);
}

std::string json_quote(std::string_view text) {
  const bool utf8 = is_utf8(text);
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", unsigned(byte));
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace ptx2spv
