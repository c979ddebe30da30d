// Initialisers: nested and incomplete lists, addresses, generic() and masks, opaque members.
#include <bit>
#include <span>

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {
namespace {

constexpr std::uint64_t kMaxInitBytes = std::uint64_t{1} << 30;
constexpr unsigned kMaxNesting = 70;

struct FieldRow {
  std::string_view name;
  bool texref, samplerref, surfref;
};
constexpr FieldRow kFields[] = {
    {"width", true, false, true},
    {"height", true, false, true},
    {"depth", true, false, true},
    {"channel_data_type", true, false, true},
    {"channel_order", true, false, true},
    {"array_size", true, false, true},
    {"num_mipmap_levels", true, false, false},
    {"num_samples", true, false, false},
    {"memory_layout", false, false, true},
    {"normalized_coords", true, false, false},
    {"force_unnormalized_coords", false, true, false},
    {"filter_mode", true, true, false},
    {"addr_mode_0", true, true, false},
    {"addr_mode_1", true, true, false},
    {"addr_mode_2", true, true, false},
};
struct ValueRow {
  std::string_view name;
  std::uint64_t value;
};
constexpr ValueRow kFilters[] = {{"nearest", 0}, {"linear", 1}};
constexpr ValueRow kAddressModes[] = {
    {"wrap", 0}, {"mirror", 1}, {"clamp_ogl", 2}, {"clamp_to_edge", 3}, {"clamp_to_border", 4}};
constexpr ValueRow kLayouts[] = {{"linear", 1}};

/// The words that a member takes; none takes words of another.
std::span<const ValueRow> values_of(std::string_view member) {
  if (member == "filter_mode") return kFilters;
  if (member.starts_with("addr_mode_")) return kAddressModes;
  if (member == "memory_layout") return kLayouts;
  return {};
}

}  // namespace

bool Parser::initializer(Variable& v) {
  v.init.present = true;
  if (is_opaque(v.type)) return opaque_initializer(v);
  std::vector<std::uint64_t> dims = v.dims;
  if (v.vec > 1) dims.push_back(v.vec);
  const bool list = lex_.peek().is('{');
  if (!list) {
    if (v.is_array || v.vec > 1)
      return error_here("an array or a vector is initialised by a list in braces");
    return init_element(v, 0);
  }
  if (!v.is_array && v.vec == 1) return error_here("a scalar is initialised without braces");
  std::uint64_t inner = 1;
  for (const std::uint64_t d : dims) inner *= d;
  const std::uint64_t count = v.unsized ? kMaxInitBytes : inner;
  std::vector<std::uint64_t> all;
  if (v.unsized) all.push_back(inner == 0 ? 0 : kMaxInitBytes / inner);
  all.insert(all.end(), dims.begin(), dims.end());
  std::uint64_t highest = 0;
  if (!init_list(v, 0, 0, count, all, highest, 0)) return false;
  if (v.unsized) {
    const std::uint64_t outer = inner == 0 ? 0 : (highest + inner - 1) / inner;
    v.dims.insert(v.dims.begin(), outer);
    v.unsized = false;
    v.count = 1;
    for (const std::uint64_t d : v.dims) v.count *= d;
    v.size = v.count * v.vec * bytes(v.type);
  }
  return true;
}

/// One { ... } over elements [base, base + count); `level` is its place in `dims`.
bool Parser::init_list(Variable& v, std::size_t level, std::uint64_t base, std::uint64_t count,
                       const std::vector<std::uint64_t>& dims, std::uint64_t& highest,
                       unsigned depth) {
  if (depth > kMaxNesting) return error_here("initialiser nested too deeply");
  const Token open = lex_.next();
  std::uint64_t stride = 1;
  for (std::size_t i = level + 1; i < dims.size(); ++i) stride *= dims[i];
  std::uint64_t at = 0;
  bool told = false;
  if (!(v.vec > 1 && level + 1 == dims.size()) && lex_.accept('}')) return true;
  do {
    const Span span = lex_.peek().span;
    if (lex_.peek().is('{')) {
      if (level + 1 >= dims.size()) return error_here("too many braces in the initialiser");
      if (stride != 0) at = (at + stride - 1) / stride * stride;
      if (at + stride > count && !told) {
        error(span, "more initialisers than elements");
        told = true;
      }
      if (!init_list(v, level + 1, told ? base : base + at, stride, dims, highest, depth + 1))
        return false;
      at += stride;
    } else {
      if (level + 1 < dims.size())
        return error_here("expected '{' for each row or vector of the variable");
      if (at >= count && !told) {
        error(span, "more initialisers than elements");
        told = true;
      }
      if (!init_element(v, told ? 0 : base + at)) return false;
      ++at;
    }
    if (!told && base + at > highest) highest = base + at;
  } while (lex_.accept(','));
  if (v.vec > 1 && level + 1 == dims.size() && at != v.vec && !told) {
    error(open.span, fmt::format("a vector's initialiser has {} elements", v.vec));
  }
  if (!lex_.accept('}')) {
    Diagnostic& d = sink_.error(lex_.peek().span, "expected ',' or '}' in the initialiser");
    d.notes.push_back({open.span, "the list begins here"});
    return false;
  }
  return true;
}

bool Parser::init_element(Variable& v, std::uint64_t index) {
  const std::uint64_t size = bytes(v.type);
  const Token token = lex_.peek();
  if (token.kind == TokenKind::word && text(token.span) != "WARP_SZ") {
    return init_address(v, index, std::nullopt, {});
  }
  if (token.kind == TokenKind::integer) {
    lex_.next();
    const bool masks = lex_.peek().is('(');
    lex_.seek(token.span.begin);
    if (masks) return init_masked(v, index);
  }
  const auto value = constant();
  if (!value) return false;
  std::uint64_t out = value->value;
  if (is_float(v.type)) {
    if (value->kind == Constant::Kind::integer) {
      return error(value->span, "an integer initialises a floating-point variable");
    }
    Operand operand;
    operand.kind =
        value->kind == Constant::Kind::real32 ? OperandKind::imm_f32 : OperandKind::imm_f64;
    operand.value = value->value;
    // ptxas takes the bits of a 0f constant as they are, for .f64 too.
    if (value->kind != Constant::Kind::real32) out = immediate_bits(operand, v.type);
  } else if (value->kind != Constant::Kind::integer && !is_bits(v.type)) {
    return error(value->span, "a floating-point constant initialises an integer variable");
  } else if (value->kind == Constant::Kind::real64 && size == 4) {
    Operand operand;
    operand.kind = OperandKind::imm_f64;
    operand.value = value->value;
    out = immediate_bits(operand, Type::f32);
  }
  const std::uint64_t at = index * size;
  if (at + size > kMaxInitBytes) return error(value->span, "initialiser over 1 GiB");
  put_bytes(v, at, size, out);
  return true;
}

void Parser::put_bytes(Variable& v, std::uint64_t at, std::uint64_t size, std::uint64_t value) {
  if (v.init.bytes.size() < at + size) v.init.bytes.resize(at + size);
  for (std::uint64_t i = 0; i < size && i < 8; ++i) {
    v.init.bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

bool Parser::mask_shift(std::uint64_t mask, Span span, std::uint8_t& shift) {
  const auto low = static_cast<unsigned>(std::countr_zero(mask));
  if (mask == 0 || low % 8 != 0 || low > 56 || mask >> low != 0xff)
    return error(span, "a mask is 0xFF, 0xFF00, ... with one byte set");
  shift = static_cast<std::uint8_t>(low);
  return true;
}

/// 0xFF00(what): one byte of an address, or of a constant expression.
bool Parser::init_masked(Variable& v, std::uint64_t index) {
  const Token mask = lex_.next();
  lex_.next();  // (
  if (!feature(Feature::init_mask, mask.span)) return false;
  std::uint8_t shift = 0;
  if (!mask_shift(mask.value, mask.span, shift)) return false;
  const Token inner = lex_.peek();
  if (inner.kind == TokenKind::word && text(inner.span) != "WARP_SZ") {
    return init_address(v, index, mask.value, mask.span) && expect(')', "after the masked address");
  }
  if (!feature(Feature::init_mask_constant, mask.span)) return false;
  const auto value = integer_constant("a masked constant");
  if (!value || !expect(')', "after the masked constant")) return false;
  if (!is_integer(v.type) && !is_bits(v.type))
    return error(mask.span, "a mask does not initialise a variable of type ." +
                                std::string(ptx::text(v.type)));
  const std::uint64_t size = bytes(v.type);
  if ((index + 1) * size > kMaxInitBytes) return error(mask.span, "initialiser over 1 GiB");
  put_bytes(v, index * size, size, *value >> shift & 0xff);
  return true;
}

bool Parser::init_address(Variable& v, std::uint64_t index, std::optional<std::uint64_t> mask,
                          Span mask_span) {
  InitAddress out;
  const std::uint64_t size = bytes(v.type);
  out.at = index * size;
  out.bytes = static_cast<std::uint8_t>(size);
  const Token begin = lex_.peek();
  bool generic = false;
  Token name = lex_.next();
  if (name.kind == TokenKind::word && text(name.span) == "generic" && lex_.peek().is('(')) {
    lex_.next();
    generic = true;
    name = lex_.next();
  }
  if (name.kind != TokenKind::word)
    return error(name.span, "expected a variable's or a function's name, found " + shown(name));
  const std::string_view id = text(name.span);
  out.symbol = resolve(id);
  // A variable is known behind its initialiser, or by an .extern declaration.
  const bool itself = out.symbol == v.symbol && m_.symbol(v.symbol).span.begin == v.span.begin;
  if (out.symbol == kNoSymbol || itself) {
    return error(name.span, "'" + std::string(id) + "' is not declared");
  }
  const Symbol& s = m_.symbol(out.symbol);
  if (s.kind == SymbolKind::label)
    return error(name.span, "a label does not initialise a variable");
  if (s.kind == SymbolKind::variable && s.space != Space::global && s.space != Space::const_) {
    return error(name.span, "the address of '" + std::string(id) + "' in ." +
                                std::string(ptx::text(s.space)) +
                                " is not known before the launch; .global and .const are");
  }
  if (is_opaque(s.type)) {
    // ptxas takes it, and the word in memory is no handle.
    return error(name.span, "'" + std::string(id) + "' of type ." + std::string(ptx::text(s.type)) +
                                " does not initialise a variable; mov.u64 takes its handle");
  }
  if (s.kind != SymbolKind::variable && s.kind != SymbolKind::function) {
    return error(name.span,
                 "'" + std::string(id) + "' has no address that is known before the launch");
  }
  out.span = name.span;
  if (generic && !expect(')', "after generic(name")) return false;
  const bool plus = lex_.peek().is('+');
  if (!offset_suffix(out.addend)) return false;
  out.generic = generic;
  const bool function = s.kind == SymbolKind::function;
  if (function && plus) return error(name.span, "a function's address takes no offset");
  if (function && generic) return error(begin.span, "generic() is for variables");
  const bool kernel = function && m_.functions[s.index].is_entry;
  if (!feature(generic  ? Feature::init_generic
               : kernel ? Feature::init_kernel
                        : Feature::init_address,
               begin.span))
    return false;
  const bool word = v.type == Type::u32 || v.type == Type::u64;
  if (mask) {
    out.masked = true;
    if (!mask_shift(*mask, mask_span, out.shift)) return false;
    if (!word && v.type != Type::u8)
      return error(mask_span, "a byte of an address initialises .u8, .u32 and .u64, not ." +
                                  std::string(ptx::text(v.type)));
  } else if (!word) {
    return error(begin.span, size < 4 && (is_integer(v.type) || is_bits(v.type))
                                 ? "an address needs 32 or 64 bits, or a mask"
                                 : "an address initialises .u32 and .u64, not ." +
                                       std::string(ptx::text(v.type)));
  }
  if ((index + 1) * size > kMaxInitBytes) return error(begin.span, "initialiser over 1 GiB");
  if (v.init.bytes.size() < (index + 1) * size) v.init.bytes.resize((index + 1) * size);
  v.init.addresses.push_back(out);
  return true;
}

bool Parser::field_value(Variable& v, std::string_view member, OpaqueField& field) {
  const Token value = lex_.peek();
  if (value.kind != TokenKind::word || text(value.span) == "WARP_SZ") {
    const auto number = integer_constant("a member's value");
    if (number) field.value = *number;
    return number.has_value();
  }
  lex_.next();
  for (const ValueRow& candidate : values_of(member)) {
    if (candidate.name != text(value.span)) continue;
    field.value = candidate.value;
    return true;
  }
  return error(value.span, "'" + std::string(text(value.span)) + "' is no value of " +
                               std::string(member) + " of ." + std::string(ptx::text(v.type)));
}

/// { members }, or for an array { { members }, { members } } and, as ptxas has it, the first
/// element's without the second braces.
bool Parser::opaque_initializer(Variable& v) {
  const Token open = lex_.peek();
  if (!expect('{', "before the members' values")) return false;
  if (!lex_.peek().is('{')) {
    if (v.unsized && lex_.peek().is('}'))
      return error(open.span, "an empty list says nothing of the array's size");
    if (!opaque_fields(v)) return false;
    size_opaque_array(v, 1);
    return true;
  }
  if (!v.is_array)
    return error_here("one variable of an opaque type has its members in one pair of braces");
  std::uint64_t elements = 0;
  do {
    const Span span = lex_.peek().span;
    if (!expect('{', "before the members' values")) return false;
    if (++elements > v.count && !v.unsized) return error(span, "more initialisers than elements");
    if (!opaque_fields(v)) return false;
  } while (lex_.accept(','));
  // No instruction names an element of the array, so that its members are checked and no more.
  v.init.fields.clear();
  size_opaque_array(v, elements);
  return expect('}', "after the elements of the array");
}

void Parser::size_opaque_array(Variable& v, std::uint64_t elements) {
  if (!v.unsized) return;
  v.dims.insert(v.dims.begin(), elements);
  v.unsized = false;
  v.count = elements;
  v.size = v.count * bytes(v.type);
}

/// Behind the opening brace.
bool Parser::opaque_fields(Variable& v) {
  if (lex_.accept('}')) return true;
  do {
    const Token name = lex_.next();
    if (name.kind != TokenKind::word) {
      if (name.kind == TokenKind::bad) return false;
      return error(name.span,
                   "an opaque variable is initialised by named members, as in { width = 8 }");
    }
    const std::string_view id = text(name.span);
    const FieldRow* row = nullptr;
    for (const FieldRow& field : kFields) {
      if (field.name == id) row = &field;
    }
    const bool known = row != nullptr && (v.type == Type::texref       ? row->texref
                                          : v.type == Type::samplerref ? row->samplerref
                                                                       : row->surfref);
    if (!known) {
      error(name.span,
            "'" + std::string(id) + "' is no member of ." + std::string(ptx::text(v.type)));
    }
    if (!expect('=', "after the member's name")) return false;
    OpaqueField field;
    field.name = id;
    field.span = name.span;
    if (!field_value(v, id, field)) return false;
    v.init.fields.push_back(field);
  } while (lex_.accept(','));
  return expect('}', "after the members' values");
}

}  // namespace ptx2spv::ptx
