// Turns PTX text into tokens, one at a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "translator/support/diagnostic.hpp"
#include "translator/support/span.hpp"

namespace ptx2spv::ptx {

enum class TokenKind : std::uint8_t {
  end,
  word,      ///< identifier, register, opcode without modifiers
  dot_word,  ///< .name, with :: parts
  integer,   ///< value
  real32,    ///< 0f: value holds the bits
  real64,    ///< 0d and decimal: value holds the bits
  string,    ///< span includes the quotes
  punct,     ///< `punct` holds the character, or two of them for << >> <= >= == != && ||
  bad,       ///< reported already
};

struct Token {
  TokenKind kind = TokenKind::end;
  bool is_unsigned = false;  ///< integer with U, or over the largest s64
  char punct = 0, punct2 = 0;
  Span span;
  std::uint64_t value = 0;
  bool is(char c) const { return kind == TokenKind::punct && punct == c && punct2 == 0; }
  bool is(char a, char b) const { return kind == TokenKind::punct && punct == a && punct2 == b; }
};

class Lexer {
 public:
  Lexer(std::string_view text, DiagnosticSink& sink) : text_(text), sink_(sink) {}

  const Token& peek() {
    if (!has_peek_) {
      peek_ = scan();
      has_peek_ = true;
    }
    return peek_;
  }
  Token next() {
    if (has_peek_) {
      has_peek_ = false;
      return peek_;
    }
    return scan();
  }
  bool accept(char c) {
    if (!peek().is(c)) return false;
    has_peek_ = false;
    return true;
  }
  /// The modifiers that follow an opcode without a break (".ftz.f32"); empty when there are none.
  /// Only valid right after next() gave the opcode.
  Span modifiers();
  /// Goes on from byte `offset`.
  void seek(std::uint32_t offset) {
    at_ = offset;
    has_peek_ = false;
  }
  std::uint32_t offset() { return peek().span.begin; }
  std::string_view text(Span span) const { return text_.substr(span.begin, span.length); }
  std::uint32_t last_end() const { return last_end_; }  ///< end of the token before peek()

 private:
  Token scan();
  void skip_blank();
  std::uint32_t line_end() const;
  bool preprocessed() const;
  Token number();
  Token quoted(char quote);
  Token bad(std::uint32_t begin, std::uint32_t length, std::string text);
  Span span_from(std::uint32_t begin) const { return {begin, at_ - begin}; }
  char at(std::uint32_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::string_view text_;
  DiagnosticSink& sink_;
  std::uint32_t at_ = 0, last_end_ = 0, scanned_end_ = 0;
  Token peek_;
  bool has_peek_ = false;
};

}  // namespace ptx2spv::ptx
