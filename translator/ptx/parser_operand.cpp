// Operands, with their names resolved.

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {
namespace {

Part component(char c) {
  switch (c) {
    case 'x':
    case 'r': return Part::x;
    case 'y':
    case 'g': return Part::y;
    case 'z':
    case 'b': return Part::z;
    case 'w':
    case 'a': return Part::w;
    default: return Part::none;
  }
}

}  // namespace

SymbolId Parser::resolve(std::string_view name) {
  if (in_function()) {
    const SymbolId local = locals_.find(name);
    if (local != kNoSymbol) return local;
    const SymbolId made = resolve_register(name);
    if (made != kNoSymbol) return made;
  }
  return globals_.find(name);
}

void Parser::add_list(Operand& out, const std::vector<Operand>& items, Span span) {
  out.list = {static_cast<std::uint32_t>(f_->operands.size()),
              static_cast<std::uint32_t>(items.size())};
  out.span = span;
  f_->operands.insert(f_->operands.end(), items.begin(), items.end());
}

bool Parser::operands(Opcode op, std::vector<Operand>& out) {
  if (op == Opcode::call) return call_operands(out);
  if (op == Opcode::bra) return label_operand(out, OperandKind::label);
  if (lex_.peek().is(';')) return true;
  for (;;) {
    if (op == Opcode::brx && out.size() == 1) {
      if (!label_operand(out, OperandKind::targets)) return false;
    } else {
      Operand& o = out.emplace_back();
      if (!operand_or_pair(o) || !sum_operand(o)) return false;
    }
    if (!lex_.accept(',')) return true;
    if (out.size() > 1000) return error_here("too many operands");
  }
}

bool Parser::label_operand(std::vector<Operand>& out, OperandKind kind) {
  const Token name = lex_.next();
  if (name.kind != TokenKind::word) {
    if (name.kind == TokenKind::bad) return false;
    return error(name.span, "expected a label, found " + shown(name));
  }
  Operand o;
  o.kind = kind;
  o.span = name.span;
  pending_operands_.push_back({static_cast<std::uint32_t>(out.size()), name.span});
  out.push_back(o);
  return true;
}

bool Parser::list_operand(Operand& out) {
  const Token open = lex_.next();  // (
  std::vector<Operand> items;
  if (!lex_.peek().is(')')) {
    do {
      Operand item;
      if (!operand(item)) return false;
      items.push_back(item);
    } while (lex_.accept(','));
  }
  const Token close = lex_.peek();
  if (!expect(')', "after the parameters")) return false;
  out.kind = OperandKind::list;
  add_list(out, items, join(open.span, close.span));
  return true;
}

/// {(returns),} callee {, (arguments)} {, prototype or targets}
bool Parser::call_operands(std::vector<Operand>& out) {
  out.assign(4, Operand{});
  if (lex_.peek().is('(')) {
    if (!list_operand(out[kCallReturns]) || !expect(',', "after the return parameters"))
      return false;
  }
  const Token name = lex_.next();
  if (name.kind != TokenKind::word) {
    if (name.kind == TokenKind::bad) return false;
    return error(name.span, "expected a function or a register to call, found " + shown(name));
  }
  Operand& callee = out[kCallCallee];
  callee.span = name.span;
  callee.symbol = resolve(text(name.span));
  if (callee.symbol == kNoSymbol) {
    return error(name.span, quoted(text(name.span)) + " is not declared");
  }
  const SymbolKind kind = m_.symbol(callee.symbol).kind;
  if (kind == SymbolKind::function) {
    callee.kind = OperandKind::function;
  } else if (kind == SymbolKind::reg) {
    callee.kind = OperandKind::reg;
  } else {
    return error(name.span, quoted(text(name.span)) + " is neither a function nor a register");
  }
  if (!lex_.accept(',')) return true;
  if (lex_.peek().is('(')) {
    if (!list_operand(out[kCallArguments])) return false;
    if (!lex_.accept(',')) return true;
  }
  const Token proto = lex_.next();
  if (proto.kind != TokenKind::word) {
    if (proto.kind == TokenKind::bad) return false;
    return error(proto.span, "expected a prototype, found " + shown(proto));
  }
  out[kCallPrototype].kind = OperandKind::targets;
  out[kCallPrototype].span = proto.span;
  // A module-scope function may serve as a prototype; labels are found when their scope ends.
  pending_operands_.push_back({kCallPrototype, proto.span});
  return true;
}

bool Parser::operand_or_pair(Operand& out) {
  if (!operand(out)) return false;
  if (!lex_.peek().is('|')) return true;
  lex_.next();
  Operand second;
  if (!operand(second)) return false;
  const std::vector<Operand> items{out, second};
  const Span span = join(out.span, second.span);
  out = Operand{};
  out.kind = OperandKind::pair;
  add_list(out, items, span);
  return true;
}

bool Parser::operand(Operand& out) {
  const Token token = lex_.peek();
  switch (token.kind) {
    case TokenKind::word: lex_.next(); return name_operand(token, out);
    case TokenKind::integer:
    case TokenKind::real32:
    case TokenKind::real64: return constant_operand(out);
    case TokenKind::punct: break;
    case TokenKind::bad: lex_.next(); return false;
    default: return error_here("expected an operand");
  }
  if (token.is('[')) return memory_operand(out);
  if (token.is('{')) return vector_operand(out);
  if (token.is('!') || token.is('-')) {
    lex_.next();
    const Token name = lex_.peek();
    if (name.kind == TokenKind::word && text(name.span) != "WARP_SZ") {
      lex_.next();
      if (!name_operand(name, out)) return false;
      if (out.kind != OperandKind::reg && out.kind != OperandKind::special) {
        return error(name.span, "only a register can be negated here");
      }
      out.negated = true;
      out.span = join(token.span, out.span);
      return true;
    }
    lex_.seek(token.span.begin);
    return constant_operand(out);
  }
  if (token.is('(') || token.is('~') || token.is('+')) return constant_operand(out);
  return error_here("expected an operand");
}

bool Parser::constant_operand(Operand& out) {
  const auto value = constant();
  if (!value) return false;
  out.kind = value->kind == Constant::Kind::integer  ? OperandKind::imm_int
             : value->kind == Constant::Kind::real32 ? OperandKind::imm_f32
                                                     : OperandKind::imm_f64;
  out.value = value->value;
  out.is_unsigned = value->is_unsigned;
  out.span = value->span;
  return true;
}

bool Parser::part_suffix(Operand& out) {
  const Token suffix = lex_.next();
  std::string_view s = text(suffix.span).substr(1);
  out.span = join(out.span, suffix.span);
  if (s.size() == 1 && component(s[0]) != Part::none) {
    out.part = component(s[0]);
    return true;
  }
  const bool is_bytes = s[0] == 'b', is_halves = s[0] == 'h';
  s.remove_prefix(1);
  if ((!is_bytes && !is_halves) || s.empty() || s.size() > 4) {
    return error(suffix.span, quoted(text(suffix.span)) + " selects nothing");
  }
  out.part = is_bytes ? Part::bytes : Part::halves;
  for (const char c : s) {
    if (c < '0' || c > (is_bytes ? '7' : '3'))
      return error(suffix.span, quoted(text(suffix.span)) + " selects nothing");
    out.selector = static_cast<std::uint16_t>(out.selector << 4 | (c - '0'));
    ++out.selectors;
  }
  return true;
}

/// name + constant expression: all of it, as in name + 7 << 1, which is name + 14.
bool Parser::offset_suffix(std::int64_t& offset) {
  if (lex_.peek().is('-'))
    return error_here("an offset stands behind '+', a negative one as in '+ -4'");
  if (!lex_.accept('+')) return true;
  const auto value = integer_constant("an offset");
  if (value) offset = static_cast<std::int64_t>(*value);
  return value.has_value();
}

/// register + constant: a value, and the sum of both, of the register's width.
bool Parser::sum_operand(Operand& out) {
  if (out.kind != OperandKind::reg || !lex_.peek().is('+')) return true;
  if (!offset_suffix(out.offset)) return false;
  out.kind = OperandKind::sum;
  out.span.length = lex_.last_end() - out.span.begin;
  return true;
}

/// [address].unified
bool Parser::unified_suffix(Operand& out) {
  const Token token = lex_.peek();
  if (token.kind != TokenKind::dot_word || text(token.span) != ".unified") return true;
  lex_.next();
  out.unified = true;
  out.span = join(out.span, token.span);
  return true;
}

bool Parser::name_operand(const Token& token, Operand& out) {
  const std::string_view name = text(token.span);
  out.span = token.span;
  if (name == "_") {
    out.kind = OperandKind::sink;
    return true;
  }
  const SymbolId id = resolve(name);
  if (id == kNoSymbol) {
    if (name[0] == '%') {
      if (const SpecialInfo* special = find_special(name)) {
        out.kind = OperandKind::special;
        out.special = special->reg;
        out.index = special->index;
        if (lex_.peek().kind == TokenKind::dot_word) {
          if (!part_suffix(out)) return false;
          if (!special->vector || out.part > Part::w) {
            return error(out.span, quoted(text(out.span)) + " is no special register");
          }
        }
        return true;
      }
    }
    if (name == "WARP_SZ") {
      lex_.seek(token.span.begin);
      return constant_operand(out);
    }
    return error(token.span, quoted(name) + " is not declared");
  }
  const Symbol& s = m_.symbol(id);
  out.symbol = id;
  switch (s.kind) {
    case SymbolKind::reg:
      out.kind = OperandKind::reg;
      if (lex_.peek().kind == TokenKind::dot_word && !part_suffix(out)) return false;
      if (s.vec == 1 && out.part >= Part::x && out.part <= Part::w) {
        Diagnostic& d = sink_.error(
            out.span, quoted(name) + " is no vector; " + quoted(text(out.span)) + " is no element");
        d.notes.push_back({s.span, "declared here"});
        return false;
      }
      if (out.part > Part::x && out.part <= Part::w &&
          static_cast<unsigned>(out.part) > static_cast<unsigned>(s.vec)) {
        Diagnostic& d = sink_.error(out.span, fmt::format("{} is past the vector's {} elements",
                                                          quoted(text(out.span)), s.vec));
        d.notes.push_back({s.span, "declared here"});
        return false;
      }
      return true;
    case SymbolKind::variable:
    case SymbolKind::param: {
      out.kind = OperandKind::address;
      if (lex_.peek().is('[')) {
        // a[2] is the address of an element: an offset by its size.
        const Variable& v = m_.variables[s.index];
        std::int64_t offset = 0;
        for (std::size_t level = 0; lex_.peek().is('['); ++level) {
          lex_.next();
          const auto index = integer_constant("an index");
          if (!index || !expect(']', "after the index")) return false;
          std::uint64_t stride = std::uint64_t{bytes(v.type)} * v.vec;
          if (is_opaque(v.type)) stride = 8;            // a handle
          const std::size_t outer = v.unsized ? 1 : 0;  // dims leaves an omitted dimension out
          for (std::size_t d = level + 1; d < v.dims.size() + outer; ++d)
            stride *= v.dims[d - outer];
          offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) + *index * stride);
        }
        out.offset = offset;
        out.indexed = true;
      } else {
        out.plus = lex_.peek().is('+');
        if (!offset_suffix(out.offset)) return false;
      }
      out.span.length =
          lex_.last_end() > out.span.begin ? lex_.last_end() - out.span.begin : out.span.length;
      return true;
    }
    case SymbolKind::function: out.kind = OperandKind::function; return true;
    case SymbolKind::label: out.kind = OperandKind::label; return true;
    case SymbolKind::branch_targets:
    case SymbolKind::prototype: out.kind = OperandKind::targets; return true;
    case SymbolKind::none: break;
  }
  return error(token.span, quoted(name) + " is no operand");
}

bool Parser::vector_operand(Operand& out) {
  const Token open = lex_.next();  // {
  std::vector<Operand> items;
  do {
    // No recursion: the text decides how deep it would go.
    if (lex_.peek().is('{') || lex_.peek().is('['))
      return error_here("expected an element of the vector");
    Operand item;
    if (!operand(item)) return false;
    if (item.plus || item.indexed)
      return error(item.span, "an element is a register or a constant");
    items.push_back(item);
    if (items.size() > 1000) return error(open.span, "vector too long");
  } while (lex_.accept(','));
  const Token close = lex_.peek();
  if (!expect('}', "after the vector's elements")) return false;
  out.kind = OperandKind::vector;
  add_list(out, items, join(open.span, close.span));
  return true;
}

/// [base + offset], [address], [surface, coordinates] and [texture, sampler, coordinates].
bool Parser::memory_operand(Operand& out) {
  const Token open = lex_.next();  // [
  Operand base;
  const Token first = lex_.peek();
  if (first.kind == TokenKind::word && text(first.span) != "WARP_SZ") {
    lex_.next();
    if (!name_operand(first, base)) return false;
    if (base.kind != OperandKind::reg && base.kind != OperandKind::address) {
      return error(base.span, quoted(text(base.span)) + " is no address");
    }
    if (base.kind == OperandKind::reg) {
      base.plus = lex_.peek().is('+');
      if (base.part != Part::none)
        return error(base.span, quoted(text(base.span)) +
                                    " is a part of a register; an address is a whole one");
      if (!offset_suffix(base.offset)) return false;
    }
    if (base.indexed) return error(base.span, "an element is named without brackets around it");
  } else if (first.is('{')) {
    return error_here("expected an address");
  } else {
    const auto value = constant();
    if (!value) return false;
    if (value->kind != Constant::Kind::integer)
      return error(value->span, "an address is an integer");
    base.kind = OperandKind::imm_int;
    base.value = value->value;
    base.span = value->span;
  }
  if (!lex_.peek().is(',')) {
    const Token close = lex_.peek();
    if (!expect(']', "after the address")) return false;
    out = base;
    out.kind = OperandKind::memory;
    out.span = join(open.span, close.span);
    return unified_suffix(out);
  }
  std::vector<Operand> items{base};
  while (lex_.accept(',')) {
    if (lex_.peek().is('[')) return error_here("expected coordinates");
    Operand item;
    if (!operand(item)) return false;
    items.push_back(item);
    if (items.size() > 8) return error(open.span, "too many coordinates");
  }
  const Token close = lex_.peek();
  if (!expect(']', "after the coordinates")) return false;
  out.kind = OperandKind::surface;
  add_list(out, items, join(open.span, close.span));
  return true;
}

}  // namespace ptx2spv::ptx
