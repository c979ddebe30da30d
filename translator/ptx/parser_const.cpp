// Constant expressions, with PTX's rules as ptxas folds them: integers are s64, or u64 after a U
// suffix or beyond s64; a remainder is one of u64; integers and floating-point constants do not
// mix; a 0f constant stands alone.
#include <bit>

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {
namespace {

/// A level takes a kilobyte of the stack, and some threads have 64.
constexpr unsigned kMaxDepth = 32;

bool is_integer(const Constant& c) { return c.kind == Constant::Kind::integer; }

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
    if (op.is('%')) {
      out.is_unsigned = true;
      out.value = a % b;
    } else if (u) {
      out.value = a / b;
    } else if (sb == -1) {
      out.value = 0 - a;  // the smallest s64 over -1 wraps
    } else {
      out.value = static_cast<std::uint64_t>(sa / sb);
    }
    return out;
  }
  if (op.is('<', '<') || op.is('>', '>')) {
    out.is_unsigned = x.is_unsigned;
    const auto amount = static_cast<unsigned>(b & 63);  // six bits of it count
    if (op.is('<', '<')) {
      out.value = a << amount;
    } else {
      out.value = x.is_unsigned ? a >> amount : static_cast<std::uint64_t>(sa >> amount);
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
    if (!operand_of_expression(*value)) return std::nullopt;
    const bool real = !is_integer(*value);
    if (real && (token.is('!') || token.is('~'))) {
      error(value->span, "'" + std::string(1, token.punct) + "' of a floating-point constant");
      return std::nullopt;
    }
    if (token.is('!')) {
      Constant result;
      result.span = value->span;
      result.value = value->value == 0 ? 1 : 0;
      return result;
    }
    if (token.is('-'))
      value->value = real ? value->value ^ std::uint64_t{1} << 63 : 0 - value->value;
    if (token.is('~')) value->value = ~value->value;
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
      if (!is_integer(*value)) {
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
    if (!operand_of_expression(*left) || !operand_of_expression(*right)) return std::nullopt;
    const Span span = join(left->span, right->span);
    const bool real = !is_integer(*left);
    if (real == is_integer(*right)) {
      error(op.span, "an integer and a floating-point constant do not mix");
      return std::nullopt;
    }
    const double a = std::bit_cast<double>(left->value), b = std::bit_cast<double>(right->value);
    const bool by_zero = op.is('/') && (real ? b == 0 : right->value == 0);
    auto value = by_zero ? std::nullopt
                 : real  ? real_binary(op, a, b)
                         : integer_binary(op, *left, *right);
    if (!value) {
      error(op.span, real && !by_zero ? "this operator takes no floating-point constants"
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
  const Constant* const parts[] = {&*condition, &*yes, &*no};
  for (const Constant* part : parts) {
    if (is_integer(*part)) continue;
    error(part->span, "a conditional expression is one of integers");
    return std::nullopt;
  }
  Constant out = condition->value != 0 ? *yes : *no;
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

/// Sizes, alignments and counts of threads: one number or WARP_SZ, no expression.
std::optional<std::uint64_t> Parser::number_constant(std::string_view what) {
  const Token token = lex_.peek();
  const bool warp = token.kind == TokenKind::word && text(token.span) == "WARP_SZ";
  if (token.kind != TokenKind::integer && !warp) {
    error_here(std::string(what) + " is a number");
    return std::nullopt;
  }
  lex_.next();
  return warp ? 32 : token.value;
}

bool Parser::operand_of_expression(const Constant& value) {
  return value.kind != Constant::Kind::real32 ||
         error(value.span, "a 0f constant stands alone, not in an expression");
}

}  // namespace ptx2spv::ptx
