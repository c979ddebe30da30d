// Declarations of variables and registers, with the rules that the manual has for them.
#include <algorithm>

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {
namespace {

constexpr std::uint32_t kMaxRange = 0x1000000;  // registers of one %r<N>
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 40;

std::optional<Space> space_of(std::string_view name) {
  if (name == ".reg") return Space::reg;
  if (name == ".sreg") return Space::sreg;
  if (name == ".const") return Space::const_;
  if (name == ".global") return Space::global;
  if (name == ".local") return Space::local;
  if (name == ".param") return Space::param;
  if (name == ".shared" || name == ".shared::cta") return Space::shared;
  if (name == ".tex") return Space::tex;
  return std::nullopt;
}

std::string_view before_number(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  return name.substr(0, end);
}

/// The number that a name has behind `prefix`.
std::uint64_t number_behind(std::string_view name, std::string_view prefix) {
  std::uint64_t number = 0;
  for (const char c : name.substr(prefix.size()))
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  return number;
}

}  // namespace

SymbolId Parser::add_symbol(std::string_view name, Span span, SymbolKind kind) {
  const auto id = static_cast<SymbolId>(m_.symbols.size());
  Symbol& s = m_.symbols.emplace_back();
  s.name = name;
  s.span = span;
  s.kind = kind;
  s.function = in_function() ? f_index_ : kNoIndex;
  return id;
}

/// Binds a name in the innermost scope. A second declaration there is an error.
bool Parser::bind(std::string_view name, SymbolId id) {
  NameMap& map = in_function() ? locals_ : globals_;
  const std::uint32_t scope = in_function() ? locals_.depth() - 1 : 0;
  const SymbolId existing = map.find(name);
  if (existing != kNoSymbol && map.scope_of(name) == scope) {
    const Symbol& old = m_.symbol(existing);
    // A variable may be declared .extern before it is defined, and afterwards.
    if (!in_function() && old.kind == SymbolKind::variable &&
        m_.symbol(id).kind == SymbolKind::variable &&
        (m_.variable(existing).linkage == Linkage::extern_ ||
         m_.variable(id).linkage == Linkage::extern_)) {
      map.bind(name, id, scope);
      return true;
    }
    Diagnostic& d = sink_.error(m_.symbol(id).span, quoted(name) + " is declared twice");
    d.notes.push_back({old.span, "first declared here"});
    return false;
  }
  map.bind(name, id, scope);
  return !in_function() || check_numbered(name, id);
}

/// A name like x2 and registers x<4> of one scope exclude each other, whichever comes first. As in
/// ptxas, a name's number is all of its digits: x12 goes with x1<3>.
bool Parser::check_numbered(std::string_view name, SymbolId id) {
  const SymbolKind kind = m_.symbol(id).kind;
  const std::string_view prefix = before_number(name);
  if ((kind != SymbolKind::reg && kind != SymbolKind::param && kind != SymbolKind::variable) ||
      prefix.size() == name.size() || name.size() - prefix.size() > 9)
    return true;
  const std::uint32_t scope = locals_.depth() - 1;
  const std::uint64_t number = number_behind(name, prefix);
  const std::uint32_t index = range_names_.find(prefix);
  if (index != 0 && ranges_[index - 1].scope == scope && number < ranges_[index - 1].count) {
    Diagnostic& d = sink_.error(m_.symbol(id).span, quoted(name) + " is declared twice");
    d.notes.push_back({ranges_[index - 1].span, "first declared here, by number"});
    return false;
  }
  // ptxas takes x02 before x<4>, though not behind it.
  if (prefix.size() + 1 < name.size() && name[prefix.size()] == '0') return true;
  const SymbolId least = numbered_.find(prefix);
  if (least == kNoSymbol || numbered_.scope_of(prefix) != scope ||
      number_behind(m_.symbol(least).name, prefix) > number)
    numbered_.bind(prefix, id, scope);
  return true;
}

SymbolId Parser::add_register(std::string_view name, Span span, Type type, std::uint8_t vec,
                              std::uint32_t scope) {
  const SymbolId id = add_symbol(name, span, SymbolKind::reg);
  Symbol& s = m_.symbol(id);
  s.type = type;
  s.vec = vec;
  s.space = Space::reg;
  s.index = static_cast<std::uint32_t>(f_->registers.size());
  f_->registers.push_back(id);
  if (scope + 1 == locals_.depth()) {
    bind(name, id);
  } else {
    locals_.bind(name, id, scope);
  }
  return id;
}

/// .attribute(.managed, .unified(n, m)): what may have it is checked where the declaration ends.
bool Parser::attribute(DeclSpec& spec, Span span) {
  spec.attribute_span = span;
  if (!expect('(', "after .attribute")) return false;
  do {
    const Token token = lex_.next();
    const std::string_view name = text(token.span);
    if (name == ".managed") {
      spec.managed = true;
      if (feature(Feature::attribute, span)) feature(Feature::managed, token.span);
    } else if (name == ".unified") {
      spec.has_unified = true;
      if (feature(Feature::attribute, span)) feature(Feature::unified, token.span);
      if (!expect('(', "after .unified")) return false;
      for (unsigned i = 0; i < 2; ++i) {
        const auto value = number_constant("a .unified identifier");
        if (!value) return false;
        spec.unified[i] = *value;
        if (i == 0 && !expect(',', "between .unified's two numbers")) return false;
      }
      if (!expect(')', "after .unified's two numbers")) return false;
    } else if (token.kind == TokenKind::dot_word) {
      return error(token.span, "unknown attribute " + quoted(name));
    } else {
      if (token.kind == TokenKind::bad) return false;
      return error(token.span, "expected an attribute, found " + shown(token));
    }
  } while (lex_.accept(','));
  return expect(')', "after the attributes");
}

/// Alignment, attributes and the vector's size stand before the type.
bool Parser::misplaced(const DeclSpec& spec) {
  if (spec.misplaced.empty()) return false;
  error(spec.misplaced_span, quoted(spec.misplaced) + " stands before the type");
  return true;
}

bool Parser::decl_word(DeclSpec& spec, const Token& token, bool& done) {
  const std::string_view name = text(token.span);
  if (const auto space = space_of(name)) {
    if (spec.is_ptr) {
      if (spec.ptr_align != 0 || spec.ptr_opaque != Type::none || *space == Space::param)
        return error(token.span, "a .ptr has no " + std::string(name) + " here");
      spec.ptr_space = *space;
      return true;
    }
    if (spec.space != Space::none) return error(token.span, "second state space " + quoted(name));
    spec.space = *space;
    spec.space_span = token.span;
    if (*space == Space::const_ && lex_.peek().is('[')) spec.bank = constant_bank();
    return true;
  }
  const bool belongs_before = name == ".align" || name == ".attribute" || name.starts_with(".v");
  const bool behind = spec.type != Type::none || (spec.vec != 1 && !name.starts_with(".v"));
  if (belongs_before && behind && !spec.is_ptr && spec.misplaced.empty()) {
    spec.misplaced = name;
    spec.misplaced_span = token.span;
  }
  if (name == ".align") {
    Token value = lex_.next();
    if (value.kind == TokenKind::word && text(value.span) == "WARP_SZ") {
      value.kind = TokenKind::integer;
      value.value = 32;
    }
    if (value.kind != TokenKind::integer)
      return error(value.span, "expected a number after .align, found " + shown(value));
    if (value.value == 0 || (value.value & (value.value - 1)) != 0 || value.value > 0x80000000u) {
      error(value.span, "an alignment is a power of two");
    } else {
      (spec.is_ptr ? spec.ptr_align : spec.align) = static_cast<std::uint32_t>(value.value);
    }
    spec.align_span = value.span;
    return true;
  }
  if (name == ".attribute") return attribute(spec, token.span);
  if (name == ".ptr") {
    spec.is_ptr = true;
    spec.ptr_span = token.span;
    return true;
  }
  if (name == ".v2" || name == ".v4" || name == ".v8") {
    if (spec.vec != 1) return error(token.span, "second vector size " + quoted(name));
    if (name == ".v8") return error(token.span, "vectors have 2 or 4 elements");
    spec.vec = static_cast<std::uint8_t>(name[2] - '0');
    spec.vec_span = token.span;
    return true;
  }
  const Type type = to_type(find_mod(name.substr(1)));
  if (type != Type::none) {
    const bool declares = type <= Type::f64 || type == Type::f16x2 || type >= Type::pred;
    if (!declares) {
      error(token.span, fmt::format("{} is an instruction's type; declare .b{} instead",
                                    quoted(name), bits(type)));
    }
    if (type == Type::f16x2 && !feature(Feature::type_f16x2, token.span)) return false;
    if (type == Type::b128 && !feature(Feature::type_b128, token.span)) return false;
    if (spec.is_ptr && is_opaque(type)) {
      if (!feature(Feature::opaque_pointer, token.span)) return false;
      if (spec.ptr_space != Space::none || spec.ptr_align != 0)
        return error(token.span, "a .ptr has no " + std::string(name) + " here");
      spec.ptr_opaque = type;
      return true;
    }
    if (spec.type != Type::none) return error(token.span, "second type " + quoted(name));
    spec.type = type;
    spec.type_span = token.span;
    return true;
  }
  done = true;
  return error(token.span, quoted(name) + " is no state space, alignment or type");
}

bool Parser::decl_spec(DeclSpec& spec) {
  while (lex_.peek().kind == TokenKind::dot_word) {
    const Token token = lex_.next();
    bool done = false;
    if (!decl_word(spec, token, done)) return false;
  }
  return true;
}

bool Parser::dimensions(Dimensions& dims) {
  while (lex_.peek().is('[')) {
    const Token open = lex_.next();
    dims.is_array = true;
    if (lex_.accept(']')) {
      if (!dims.dims.empty() || dims.unsized)
        error(open.span, "only the outermost dimension may be omitted");
      dims.unsized = true;
      continue;
    }
    const Span span = lex_.peek().span;
    const auto value = number_constant("a dimension");
    if (!value) return false;
    if (!expect(']', "after the dimension")) return false;
    if (static_cast<std::int64_t>(*value) < 0 || *value > kMaxSize) {
      error(span, "dimension out of range");
      dims.dims.push_back(1);
    } else {
      dims.dims.push_back(*value);
    }
    if (dims.dims.size() > 64) return error(span, "too many dimensions");
  }
  return true;
}

void Parser::variables(Linkage linkage) {
  DeclSpec spec;
  spec.linkage = linkage;
  const Span begin = lex_.peek().span;
  if (!decl_spec(spec)) return in_function() ? skip_statement() : recover_module();
  misplaced(spec);
  if (spec.is_ptr) error(spec.ptr_span, ".ptr is for parameters of kernels");
  if (spec.space == Space::reg) {
    if (!in_function()) {
      error(spec.space_span, "a .reg declaration stands in a function");
      return recover_module();
    }
    return declare_registers(spec);
  }
  if (spec.space == Space::none) {
    error(begin, "a variable's declaration names its state space");
    return in_function() ? skip_statement() : recover_module();
  }
  if (spec.space == Space::sreg) {
    error(spec.space_span, ".sreg is for the predefined special registers");
    return in_function() ? skip_statement() : recover_module();
  }
  if (spec.space == Space::tex && spec.type != Type::none) {
    if (spec.type != Type::u32 && spec.type != Type::u64)
      error(spec.type_span, "a .tex variable is of type .u32 or .u64");
    // .tex .u32 name is the spelling of .global .texref name before PTX 1.5.
    if (m_.version() >= 15 && !options_.relax_versions)
      error(spec.space_span, ".tex is of PTX versions before 1.5; .global .texref took its place");
    spec.old_texture = true;
    spec.space = Space::global;
    spec.type = Type::texref;
  }
  do {
    if (!declare_variable(spec)) return in_function() ? skip_statement() : recover_module();
  } while (lex_.accept(','));
  if (!expect(';', "after the declaration")) {
    in_function() ? skip_statement() : recover_module();
  }
}

void Parser::declare_registers(const DeclSpec& spec) {
  if (spec.managed || spec.has_unified) error(spec.attribute_span, "a register has no attributes");
  if (spec.type == Type::none) {
    error(spec.space_span, "a register has a type");
    return skip_statement();
  }
  if (is_opaque(spec.type)) {
    error(spec.type_span,
          "an opaque type is for .global variables and kernel parameters, not for registers");
    return skip_statement();
  }
  check_vector(spec);
  do {
    const Token name = lex_.next();
    if (name.kind != TokenKind::word || text(name.span) == "WARP_SZ") {
      if (name.kind != TokenKind::bad)
        error(name.span, "expected a register's name, found " + shown(name));
      return skip_statement();
    }
    const std::string_view id = text(name.span);
    if (lex_.accept('<')) {
      const Span span = lex_.peek().span;
      const auto count = number_constant("the number of registers");
      if (!count || !expect('>', "after the number of registers")) return skip_statement();
      if (*count > kMaxRange) {
        error(span, fmt::format("more than {} registers in one declaration", kMaxRange));
        continue;
      }
      RegisterRange range;
      range.prefix = id;
      range.span = name.span;
      range.type = spec.type;
      range.vec = spec.vec;
      range.count = static_cast<std::uint32_t>(*count);
      range.scope = locals_.depth() - 1;
      declare_range(std::move(range));
      continue;
    }
    if (id == "_") {
      error(name.span, "'_' is no name");
      continue;
    }
    if (lex_.peek().is('[')) {
      error_here("a register is no array");
      return skip_statement();
    }
    add_register(id, name.span, spec.type, spec.vec, locals_.depth() - 1);
  } while (lex_.accept(','));
  if (!expect(';', "after the declaration")) skip_statement();
}

/// A register of a parameterised declaration: made a symbol at its first use. As in ptxas, all
/// digits at the end of the name are its number, and x02 is x2.
SymbolId Parser::resolve_register(std::string_view name) {
  const std::string_view prefix = before_number(name), digits = name.substr(prefix.size());
  const std::uint32_t index = digits.empty() ? 0 : range_names_.find(prefix);
  if (index == 0) return kNoSymbol;
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  if (zeros != 0) {
    const std::string& same =
        m_.strings.emplace_back(std::string(prefix) + std::string(digits.substr(zeros)));
    const SymbolId id = locals_.find(same);
    return id != kNoSymbol ? id : resolve_register(same);
  }
  RegisterRange& range = ranges_[index - 1];
  if (digits.size() > 9 || number_behind(name, prefix) >= range.count) return kNoSymbol;
  const SymbolId id = add_symbol(name, range.span, SymbolKind::reg);
  Symbol& s = m_.symbol(id);
  s.type = range.type;
  s.vec = range.vec;
  s.space = Space::reg;
  s.index = static_cast<std::uint32_t>(f_->registers.size());
  f_->registers.push_back(id);
  locals_.bind(name, id, range.scope);
  range.made.push_back(id);
  return id;
}

void Parser::declare_range(RegisterRange range) {
  const SymbolId least = numbered_.find(range.prefix);
  if (least != kNoSymbol && numbered_.scope_of(range.prefix) == range.scope &&
      number_behind(m_.symbol(least).name, range.prefix) < range.count) {
    const std::string_view name = m_.symbol(least).name;
    Diagnostic& d = sink_.error(range.span, quoted(name) + " is declared twice, here by number");
    d.notes.push_back({m_.symbol(least).span, "first declared here"});
    return;
  }
  const std::uint32_t outer = range_names_.find(range.prefix);
  if (outer != 0) {
    RegisterRange& old = ranges_[outer - 1];
    if (old.scope == range.scope) {
      Diagnostic& d = sink_.error(range.span, quoted(range.prefix) + " is declared twice");
      d.notes.push_back({old.span, "first declared here"});
      return;
    }
    // Registers of the outer range that are in use already must not be found under the inner one.
    for (const SymbolId id : old.made) {
      if (locals_.find(m_.symbol(id).name) == id)
        locals_.bind(m_.symbol(id).name, kNoSymbol, range.scope);
    }
  }
  ranges_.push_back(std::move(range));
  range_names_.bind(ranges_.back().prefix, static_cast<std::uint32_t>(ranges_.size()),
                    ranges_.back().scope);
}

/// What a vector is made of, and how large it is, in every state space.
bool Parser::check_vector(const DeclSpec& spec) {
  if (spec.vec == 1) return true;
  if (is_opaque(spec.type)) return error(spec.vec_span, "there are no vectors of an opaque type");
  if (spec.type == Type::pred) return error(spec.vec_span, "there are no vectors of predicates");
  if (spec.vec * bits(spec.type) > 128) return error(spec.vec_span, "vectors are at most 128 bits");
  return true;
}

bool Parser::check_variable(const DeclSpec& spec, std::string_view name, Span span) {
  const bool opaque = is_opaque(spec.type);
  if (spec.type == Type::none) return error(span, quoted(name) + " has no type");
  if (spec.type == Type::pred) {
    return error(spec.type_span, "a predicate lives in .reg only");
  }
  if (opaque) {
    if (!spec.old_texture && !feature(Feature::opaque_type, spec.type_span)) return false;
    if (spec.space != Space::global) {
      return error(spec.space_span,
                   "an opaque type is for .global variables and kernel parameters");
    }
    if (in_function()) return error(span, "a variable of an opaque type stands at module scope");
    if (spec.type == Type::samplerref && !m_.texmode_independent) {
      return error(spec.type_span, ".samplerref needs .target texmode_independent");
    }
  }
  if (!check_vector(spec)) return false;
  if (spec.space == Space::param && spec.type == Type::f16x2)
    return error(spec.type_span, "a .param variable is no .f16x2; .b32 has its bits");
  if (spec.linkage == Linkage::common && spec.space != Space::global) {
    return error(spec.space_span, ".common is for .global variables");
  }
  if (opaque && spec.linkage == Linkage::common)
    return error(spec.type_span, "a .common variable has no opaque type");
  if (spec.managed && spec.space != Space::global) {
    return error(spec.attribute_span, ".managed is for .global variables");
  }
  if (spec.has_unified && spec.space != Space::global) {
    return error(spec.attribute_span, ".unified is for .global variables and functions");
  }
  if (!in_function() && spec.space == Space::param) {
    return error(spec.space_span, ".param at module scope");
  }
  if (spec.space == Space::param && !feature(Feature::body_param, spec.space_span)) return false;
  if (!in_function() && spec.space == Space::local && m_.version() >= 30) {
    return error(spec.space_span, ".local at module scope");
  }
  return true;
}

/// Fills in what the declaration says. False only when nothing sensible can be made of it.
bool Parser::finish_variable(Variable& v, const DeclSpec& spec, const Dimensions& dims, Span span) {
  if (v.space == Space::param && spec.vec != 1 && !dims.is_array)
    error(spec.vec_span, "a .param variable is no vector");
  v.span = span;
  v.type = spec.type;
  v.vec = spec.vec;
  v.linkage = spec.linkage;
  v.is_array = dims.is_array;
  v.unsized = dims.unsized;
  v.dims = dims.dims;
  v.bank = spec.bank;
  if (v.bank && (v.linkage != Linkage::extern_ || !v.unsized))
    error(span, "constant banks 1 to 10 are for external arrays without a size");
  v.managed = spec.managed;
  v.has_unified = spec.has_unified;
  v.unified[0] = spec.unified[0];
  v.unified[1] = spec.unified[1];
  v.is_ptr = spec.is_ptr;
  v.ptr_space = spec.ptr_space;
  v.ptr_align = spec.ptr_align;
  v.ptr_opaque = spec.ptr_opaque;
  const std::uint64_t element = std::uint64_t{bytes(spec.type)} * spec.vec;
  v.align = spec.align != 0 ? spec.align
                            : static_cast<std::uint32_t>(std::max<std::uint64_t>(element, 1));
  if (is_opaque(spec.type) && spec.align == 0) v.align = 8;
  v.count = 1;
  for (const std::uint64_t d : dims.dims) {
    if (d != 0 && v.count > kMaxSize / d) {
      error(span, "variable over 1 TiB");
      v.count = 1;
      break;
    }
    v.count *= d;
  }
  v.size = dims.unsized ? 0 : v.count * element;
  Symbol& s = m_.symbol(v.symbol);
  s.type = v.type;
  s.vec = v.vec;
  s.space = v.space;
  return true;
}

/// Both declarations of a variable have one type and size; a dimension may be left out in either.
void Parser::check_redeclared(const Variable& old, const Variable& now) {
  const auto inner = [](const Variable& v) {
    return std::vector<std::uint64_t>(v.dims.begin() + (v.unsized || v.dims.empty() ? 0 : 1),
                                      v.dims.end());
  };
  const bool sizes = old.unsized || now.unsized || old.dims == now.dims;
  if (old.type == now.type && old.vec == now.vec && old.is_array == now.is_array &&
      inner(old) == inner(now) && sizes)
    return;
  Diagnostic& d = sink_.error(now.span, quoted(m_.symbol(now.symbol).name) +
                                            " differs from its earlier declaration in its " +
                                            (old.type == now.type ? "size" : "type"));
  d.notes.push_back({old.span, "declared here"});
}

/// Names of module scope hide no special register.
/// A name of functions, labels and parameters.
bool Parser::check_name(Span name) {
  const std::string_view id = text(name);
  return (id != "_" && id != "WARP_SZ") || error(name, quoted(id) + " is no name");
}

bool Parser::check_special(Span name) {
  const std::string_view id = text(name);
  return id[0] != '%' || !find_special(id) || error(name, quoted(id) + " is a special register");
}

bool Parser::declare_variable(const DeclSpec& spec) {
  const Token name = lex_.next();
  if (name.kind != TokenKind::word || text(name.span) == "_" || text(name.span) == "WARP_SZ") {
    if (name.kind == TokenKind::bad) return false;
    return error(name.span, "expected a variable's name, found " + shown(name));
  }
  const std::string_view id_text = text(name.span);
  if (!in_function() && !check_special(name.span)) return false;
  if (!check_variable(spec, id_text, name.span)) return false;
  std::uint64_t copies = 0;
  if (lex_.accept('<')) {
    const Span span = lex_.peek().span;
    const auto count = number_constant("the number of variables");
    if (!count || !expect('>', "after the number of variables")) return false;
    if (*count > kMaxVariables) return error(span, "more than 65536 variables in one declaration");
    copies = *count;
    if (lex_.peek().is('[')) return error_here("a variable declared by number is no array");
  }
  Dimensions dims;
  if (!dimensions(dims)) return false;
  const bool parameterised = copies != 0;
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(copies, 1); ++i) {
    std::string_view full = id_text;
    if (parameterised) {
      full = m_.strings.emplace_back(fmt::format("{}{}", id_text, i));
    }
    const SymbolId id = add_symbol(full, name.span, SymbolKind::variable);
    m_.symbol(id).index = static_cast<std::uint32_t>(m_.variables.size());
    Variable& v = m_.variables.emplace_back();
    v.symbol = id;
    v.space = spec.space;
    finish_variable(v, spec, dims, name.span);
    const SymbolId previous = in_function() ? kNoSymbol : globals_.find(full);
    const bool taken = bind(full, id);
    const Variable* earlier = nullptr;
    if (in_function()) {
      f_->variables.push_back(id);
    } else {
      if (taken && previous != kNoSymbol) {
        earlier = &m_.variable(previous);
        // The earlier .extern declaration becomes this variable, so that uses before and after
        // agree.
        Variable& old = m_.variables[m_.symbol(previous).index];
        if (spec.linkage == Linkage::extern_) {
          globals_.bind(full, previous, 0);
          check_redeclared(*earlier, v);
          continue;
        }
        if (spec.linkage == Linkage::none)
          error(name.span, quoted(full) +
                               " is declared .extern and defined without .visible, .weak "
                               "or .common");
        std::erase(m_.globals, previous);
        m_.symbol(previous).index = m_.symbol(id).index;
        v.symbol = previous;
        old.linkage = Linkage::none;
        globals_.bind(full, previous, 0);
        m_.symbol(previous).space = v.space;
        m_.globals.push_back(previous);
      } else {
        m_.globals.push_back(id);
      }
    }
    if (lex_.peek().is('=') && !parameterised) {
      const Token equals = lex_.next();
      if (spec.linkage == Linkage::extern_)
        error(equals.span, "an .extern variable has no initialiser");
      if (spec.space != Space::global && spec.space != Space::const_) {
        error(equals.span, "only .global and .const variables have initialisers");
      }
      if (spec.type == Type::f16 || spec.type == Type::bf16 || spec.type == Type::f16x2 ||
          spec.type == Type::bf16x2) {
        error(equals.span,
              "a variable of type ." + std::string(ptx::text(spec.type)) + " has no initialiser");
      }
      if (!initializer(v)) return false;
    }
    if (earlier != nullptr) check_redeclared(*earlier, v);
    if (!v.unsized && v.count == 0 && spec.linkage != Linkage::extern_)
      error(name.span, "an array of no elements");
    if (v.unsized && !v.init.present && spec.linkage != Linkage::extern_)
      error(name.span, "a dimension is omitted only with an initialiser or with .extern");
  }
  return true;
}

}  // namespace ptx2spv::ptx
