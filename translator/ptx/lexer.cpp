#include "translator/ptx/lexer.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace ptx2spv::ptx {
namespace {

enum : std::uint8_t { kStart = 1, kWord = 2, kDigit = 4, kHex = 8, kBlank = 16 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> c{};
  for (int i = 'a'; i <= 'z'; ++i) c[i] = kStart | kWord;
  for (int i = 'A'; i <= 'Z'; ++i) c[i] = kStart | kWord;
  for (int i = '0'; i <= '9'; ++i) c[i] = kWord | kDigit | kHex;
  for (int i = 'a'; i <= 'f'; ++i) c[i] |= kHex;
  for (int i = 'A'; i <= 'F'; ++i) c[i] |= kHex;
  c['_'] = c['$'] = kStart | kWord;
  c['%'] = kStart;
  for (const char b : {' ', '\t', '\r', '\n', '\f', '\v'})
    c[static_cast<unsigned char>(b)] = kBlank;
  return c;
}
constexpr auto kClasses = make_classes();
constexpr bool is(char c, std::uint8_t cls) {
  return (kClasses[static_cast<unsigned char>(c)] & cls) != 0;
}
unsigned digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  return static_cast<unsigned>(c - 'A') + 10;
}

}  // namespace

void Lexer::skip_blank() {
  const auto size = static_cast<std::uint32_t>(text_.size());
  while (at_ < size) {
    const char c = text_[at_];
    if (is(c, kBlank)) {
      ++at_;
    } else if (c == '/' && at(at_ + 1) == '/') {
      at_ = line_end();
    } else if (c == '/' && at(at_ + 1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) {
        sink_.error({at_, 2}, "comment without an end");
        at_ = size;
      } else {
        at_ = static_cast<std::uint32_t>(end + 2);
      }
    } else if (c == '#' && preprocessed()) {
      at_ = line_end();
    } else {
      return;
    }
  }
}

std::uint32_t Lexer::line_end() const {
  return static_cast<std::uint32_t>(std::min(text_.find('\n', at_), text_.size()));
}

/// `# 12 "file"` or `#line 12 "file"`, by which a preprocessor says where text comes from.
bool Lexer::preprocessed() const {
  std::string_view line = text_.substr(at_ + 1, line_end() - at_ - 1);
  const auto skip = [&](std::uint8_t cls) {
    const std::size_t before = line.size();
    while (!line.empty() && is(line[0], cls)) line.remove_prefix(1);
    return line.size() != before;
  };
  skip(kBlank);
  if (line.starts_with("line")) line.remove_prefix(4);
  skip(kBlank);
  return skip(kDigit) && skip(kBlank) && line.starts_with('"');
}

Token Lexer::bad(std::uint32_t begin, std::uint32_t length, std::string text) {
  sink_.error({begin, length}, std::move(text));
  Token token;
  token.kind = TokenKind::bad;
  token.span = {begin, length};
  return token;
}

Token Lexer::scan() {
  last_end_ = scanned_end_;
  skip_blank();
  Token token;
  const std::uint32_t begin = at_;
  token.span = {begin, 0};
  if (begin >= text_.size()) return token;
  const char c = text_[begin];
  // A lone '%' is the remainder; before a letter or a digit it begins a name, as in ptxas. A lone
  // '$' is no name.
  if (is(c, kStart) && ((c != '%' && c != '$') || is(at(begin + 1), kWord))) {
    token.kind = TokenKind::word;
    ++at_;
    while (is(at(at_), kWord)) ++at_;
  } else if (is(c, kDigit) || (c == '.' && is(at(begin + 1), kDigit) &&
                               // .1d and .2dms are modifiers, .5 is a number
                               !is(at(begin + 2), kStart))) {
    token = number();
  } else if (c == '.' && is(at(begin + 1), kWord)) {
    token.kind = TokenKind::dot_word;
    ++at_;
    while (is(at(at_), kWord) || (at(at_) == ':' && at(at_ + 1) == ':' && is(at(at_ + 2), kWord))) {
      at_ += at(at_) == ':' ? 2 : 1;
    }
  } else if (c == '"') {
    token = quoted(c);
  } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
    // One message for a whole run of binary noise.
    while (at_ < text_.size() &&
           (static_cast<unsigned char>(text_[at_]) < 0x20 ||
            static_cast<unsigned char>(text_[at_]) >= 0x7f) &&
           !is(text_[at_], kBlank)) {
      ++at_;
    }
    static constexpr char kHexDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    token = bad(begin, at_ - begin,
                std::string("byte 0x") + kHexDigits[byte >> 4] + kHexDigits[byte & 15] +
                    " is not PTX text");
  } else {
    token.kind = TokenKind::punct;
    token.punct = c;
    ++at_;
    const char d = at(at_);
    if (((c == '<' || c == '>') && (d == c || d == '=')) || ((c == '=' || c == '!') && d == '=') ||
        ((c == '&' || c == '|') && d == c)) {
      token.punct2 = d;
      ++at_;
    }
  }
  token.span = span_from(begin);
  scanned_end_ = at_;
  return token;
}

Span Lexer::modifiers() {
  const std::uint32_t begin = at_;
  while (at(at_) == '.' && is(at(at_ + 1), kWord)) {
    ++at_;
    while (is(at(at_), kWord) || (at(at_) == ':' && at(at_ + 1) == ':' && is(at(at_ + 2), kWord))) {
      at_ += at(at_) == ':' ? 2 : 1;
    }
  }
  scanned_end_ = at_;
  return span_from(begin);
}

Token Lexer::quoted(char quote) {
  const std::uint32_t begin = at_++;
  while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
    at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 2u : 1u;
  }
  if (at_ >= text_.size() || text_[at_] != quote) {
    if (at_ > text_.size()) at_ = static_cast<std::uint32_t>(text_.size());
    return bad(begin, at_ - begin, "string without an end");
  }
  ++at_;
  Token token;
  token.kind = TokenKind::string;
  return token;
}

Token Lexer::number() {
  const std::uint32_t begin = at_;
  Token token;
  token.kind = TokenKind::integer;
  const char second = at(begin + 1);
  if (text_[begin] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    const bool wide = second == 'd' || second == 'D';
    const unsigned want = wide ? 16 : 8;
    unsigned count = 0;
    at_ += 2;
    while (is(at(at_), kHex)) {
      if (count < 16) token.value = token.value << 4 | digit(text_[at_]);
      ++at_;
      ++count;
    }
    if (count != want || is(at(at_), kWord)) {
      while (is(at(at_), kWord)) ++at_;
      return bad(begin, at_ - begin,
                 fmt::format("a {} constant has {} hexadecimal digits", wide ? "0d" : "0f", want));
    }
    token.kind = wide ? TokenKind::real64 : TokenKind::real32;
    return token;
  }
  unsigned base = 10;
  if (text_[begin] == '0' && (second == 'x' || second == 'X')) {
    base = 16;
    at_ += 2;
  } else if (text_[begin] == '0' && (second == 'b' || second == 'B')) {
    base = 2;
    at_ += 2;
  } else {
    // A decimal point or an exponent makes it a double.
    std::uint32_t p = begin;
    while (is(at(p), kDigit)) ++p;
    bool real = false;
    // 1.e3 is a number too.
    const char after = at(p + 1), sign = at(p + 2);
    const bool exponent =
        (after == 'e' || after == 'E') &&
        (is(sign, kDigit) || ((sign == '+' || sign == '-') && is(at(p + 3), kDigit)));
    if (at(p) == '.' && (exponent || !is(after, kStart))) {
      real = true;
      ++p;
      while (is(at(p), kDigit)) ++p;
    }
    if (at(p) == 'e' || at(p) == 'E') {
      std::uint32_t q = p + 1;
      if (at(q) == '+' || at(q) == '-') ++q;
      if (is(at(q), kDigit)) {
        real = true;
        while (is(at(q), kDigit)) ++q;
        p = q;
      }
    }
    if (real) {
      if (is(at(p), kWord)) {
        while (is(at(p), kWord)) ++p;
        at_ = p;
        return bad(begin, at_ - begin, "malformed number");
      }
      const std::string copy(text_.substr(begin, p - begin));
      const double value = std::strtod(copy.c_str(), nullptr);
      const bool zero = copy.find_first_of("123456789") >= copy.find_first_of("eE");
      if (std::isinf(value) || (value == 0 && !zero))
        return at_ = p, bad(begin, p - begin, "floating-point constant does not fit 64 bits");
      token.kind = TokenKind::real64;
      token.value = std::bit_cast<std::uint64_t>(value);
      at_ = p;
      return token;
    }
    if (text_[begin] == '0' && is(second, kDigit)) base = 8;
  }
  bool overflow = false, malformed = false;
  const std::uint32_t digits = at_;
  while (is(at(at_), kHex)) {
    const unsigned d = digit(text_[at_]);
    if (d >= base) {
      malformed = true;
    } else {
      if (token.value > (~std::uint64_t{0} - d) / base) overflow = true;
      token.value = token.value * base + d;
    }
    ++at_;
  }
  if (at_ == digits) malformed = true;
  if (at(at_) == 'U') {
    token.is_unsigned = true;
    ++at_;
  }
  if (is(at(at_), kWord)) {
    malformed = true;
    while (is(at(at_), kWord)) ++at_;
  }
  if (malformed) return bad(begin, at_ - begin, "malformed number");
  if (overflow) return bad(begin, at_ - begin, "integer constant does not fit 64 bits");
  if (token.value > 0x7fffffffffffffffu) token.is_unsigned = true;
  return token;
}

}  // namespace ptx2spv::ptx
