// Constant expressions, with PTX's rules: integers are s64, or u64 after a U suffix or beyond s64.
#include <bit>

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {
namespace {

constexpr unsigned kMaxDepth = 100;

double to_double(const Constant& c) {
  if (c.kind == Constant::Kind::real64) return std::bit_cast<double>(c.value);
  if (c.kind == Constant::Kind::real32) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(c.value)));
  }
  return c.is_unsigned ? static_cast<double>(c.value)
                       : static_cast<double>(static_cast<std::int64_t>(c.value));
}

int precedence(const Token& t) {
  if (t.kind != TokenKind::punct) return -1;
  if (t.is('|', '|')) return 1;
  if (t.is('&', '&')) return 2;
  if (t.is('|')) return 3;
  if (t.is('^')) return 4;
  if (t.is('&')) return 5;
  if (t.is('=', '=') || t.is('!', '=')) return 6;
  if (t.is('<') || t.is('>') || t.is('<', '=') || t.is('>', '=')) return 7;
  if (t.is('<', '<') || t.is('>', '>')) return 8;
  if (t.is('+') || t.is('-')) return 9;
  if (t.is('*') || t.is('/') || t.is('%')) return 10;
  return -1;
}

std::optional<Constant> real_binary(const Token& op, double a, double b) {
  Constant out;
  const auto real = [&](double v) {
    out.kind = Constant::Kind::real64;
    out.value = std::bit_cast<std::uint64_t>(v);
    return out;
  };
  const auto truth = [&](bool v) {
    out.value = v ? 1 : 0;
    return out;
  };
  if (op.is('+')) return real(a + b);
  if (op.is('-')) return real(a - b);
  if (op.is('*')) return real(a * b);
  if (op.is('/')) return real(a / b);
  if (op.is('<')) return truth(a < b);
  if (op.is('>')) return truth(a > b);
  if (op.is('<', '=')) return truth(a <= b);
  if (op.is('>', '=')) return truth(a >= b);
  if (op.is('=', '=')) return truth(a == b);
  if (op.is('!', '=')) return truth(a != b);
  if (op.is('&', '&')) return truth(a != 0 && b != 0);
  if (op.is('|', '|')) return truth(a != 0 || b != 0);
  return std::nullopt;
}

std::optional<Constant> integer_binary(const Token& op, const Constant& x, const Constant& y) {
  const bool u = x.is_unsigned || y.is_unsigned;
  const std::uint64_t a = x.value, b = y.value;
  const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
  Constant out;
  out.is_unsigned = u;
  const auto truth = [&](bool v) {
    out.is_unsigned = false;
    out.value = v ? 1 : 0;
    return out;
  };
  if (op.is('/') || op.is('%')) {
    if (b == 0) return std::nullopt;
    const bool divide = op.is('/');
    if (u) {
      out.value = divide ? a / b : a % b;
    } else if (sb == -1) {
      out.value = divide ? 0 - a : 0;  // the smallest s64 over -1 wraps
    } else {
      out.value = static_cast<std::uint64_t>(divide ? sa / sb : sa % sb);
    }
    return out;
  }
  if (op.is('<', '<') || op.is('>', '>')) {
    out.is_unsigned = x.is_unsigned;
    if (op.is('<', '<')) {
      out.value = b < 64 ? a << b : 0;
    } else if (x.is_unsigned) {
      out.value = b < 64 ? a >> b : 0;
    } else {
      out.value = static_cast<std::uint64_t>(sa >> (b < 64 ? b : 63));
    }
    return out;
  }
  if (op.is('<')) return truth(u ? a < b : sa < sb);
  if (op.is('>')) return truth(u ? a > b : sa > sb);
  if (op.is('<', '=')) return truth(u ? a <= b : sa <= sb);
  if (op.is('>', '=')) return truth(u ? a >= b : sa >= sb);
  if (op.is('=', '=')) return truth(a == b);
  if (op.is('!', '=')) return truth(a != b);
  if (op.is('&', '&')) return truth(a != 0 && b != 0);
  if (op.is('|', '|')) return truth(a != 0 || b != 0);
  if (op.is('+')) out.value = a + b;
  if (op.is('-')) out.value = a - b;
  if (op.is('*')) out.value = a * b;
  if (op.is('&')) out.value = a & b;
  if (op.is('|')) out.value = a | b;
  if (op.is('^')) out.value = a ^ b;
  return out;
}

}  // namespace

std::optional<Constant> Parser::constant_unary(unsigned depth) {
  if (depth > kMaxDepth) {
    error_here("expression nested too deeply");
    return std::nullopt;
  }
  const Token token = lex_.next();
  Constant out;
  out.span = token.span;
  switch (token.kind) {
    case TokenKind::integer:
      out.value = token.value;
      out.is_unsigned = token.is_unsigned;
      return out;
    case TokenKind::real32:
      out.kind = Constant::Kind::real32;
      out.value = token.value;
      return out;
    case TokenKind::real64:
      out.kind = Constant::Kind::real64;
      out.value = token.value;
      return out;
    case TokenKind::word:
      if (text(token.span) == "WARP_SZ") {
        out.value = 32;
        return out;
      }
      error(token.span, "'" + std::string(text(token.span)) + "' in a constant expression");
      return std::nullopt;
    case TokenKind::bad: return std::nullopt;
    default: break;
  }
  if (token.is('-') || token.is('+') || token.is('~') || token.is('!')) {
    auto value = constant_unary(depth + 1);
    if (!value) return value;
    value->span = join(token.span, value->span);
    const bool real = value->kind != Constant::Kind::integer;
    if (token.is('!')) {
      const bool zero = real ? to_double(*value) == 0 : value->value == 0;
      Constant result;
      result.span = value->span;
      result.value = zero ? 1 : 0;
      return result;
    }
    if (token.is('-')) {
      if (value->kind == Constant::Kind::real64) {
        value->value ^= std::uint64_t{1} << 63;
      } else if (value->kind == Constant::Kind::real32) {
        value->value ^= std::uint64_t{1} << 31;
      } else {
        value->value = 0 - value->value;
      }
    } else if (token.is('~')) {
      if (real) {
        error(value->span, "'~' of a floating-point constant");
        return std::nullopt;
      }
      value->value = ~value->value;
    }
    return value;
  }
  if (token.is('(')) {
    if (lex_.peek().kind == TokenKind::dot_word) {
      const Token type = lex_.next();
      const std::string_view name = text(type.span);
      if (name != ".s64" && name != ".u64") {
        error(type.span, "a cast in a constant expression is to .s64 or .u64");
        return std::nullopt;
      }
      if (!expect(')', "after the cast's type")) return std::nullopt;
      auto value = constant_unary(depth + 1);
      if (!value) return value;
      if (value->kind != Constant::Kind::integer) {
        error(value->span, "cast of a floating-point constant");
        return std::nullopt;
      }
      value->is_unsigned = name == ".u64";
      return value;
    }
    auto value = constant(depth + 1);
    if (!value || !expect(')', "to close the expression")) return std::nullopt;
    return value;
  }
  if (token.kind == TokenKind::end) {
    error(token.span, "expected a constant, found the end of the file");
  } else {
    error(token.span, "expected a constant, found " + shown(token));
  }
  return std::nullopt;
}

std::optional<Constant> Parser::constant_binary(int min_precedence, unsigned depth) {
  auto left = constant_unary(depth);
  while (left) {
    const Token op = lex_.peek();
    const int p = precedence(op);
    if (p < min_precedence) return left;
    lex_.next();
    const auto right = constant_binary(p + 1, depth + 1);
    if (!right) return std::nullopt;
    const Span span = join(left->span, right->span);
    const bool real =
        left->kind != Constant::Kind::integer || right->kind != Constant::Kind::integer;
    auto value = real ? real_binary(op, to_double(*left), to_double(*right))
                      : integer_binary(op, *left, *right);
    if (!value) {
      error(op.span, real ? "this operator takes no floating-point constants"
                          : "division by zero in a constant expression");
      return std::nullopt;
    }
    value->span = span;
    left = value;
  }
  return left;
}

std::optional<Constant> Parser::constant(unsigned depth) {
  auto condition = constant_binary(1, depth);
  if (!condition || !lex_.peek().is('?')) return condition;
  lex_.next();
  const auto yes = constant(depth + 1);
  if (!yes || !expect(':', "in the conditional expression")) return std::nullopt;
  const auto no = constant(depth + 1);
  if (!no) return std::nullopt;
  const bool truth = condition->kind == Constant::Kind::integer ? condition->value != 0
                                                                : to_double(*condition) != 0;
  Constant out = truth ? *yes : *no;
  out.span = join(condition->span, no->span);
  return out;
}

std::optional<std::uint64_t> Parser::integer_constant(std::string_view what) {
  const auto value = constant();
  if (!value) return std::nullopt;
  if (value->kind != Constant::Kind::integer) {
    error(value->span, std::string(what) + " is an integer");
    return std::nullopt;
  }
  return value->value;
}

/// The N of name<N>: no comparisons, or the closing '>' would be one.
std::optional<std::uint64_t> Parser::angle_count(std::string_view what) {
  const auto value = constant_binary(9, 0);
  if (!value) return std::nullopt;
  if (value->kind != Constant::Kind::integer) {
    error(value->span, std::string(what) + " is an integer");
    return std::nullopt;
  }
  return value->value;
}

}  // namespace ptx2spv::ptx
