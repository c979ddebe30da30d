// .entry and .func: header, parameters, performance directives.
#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {

SymbolId Parser::declare_function(std::string_view name, Span span) {
  const SymbolId existing = globals_.find(name);
  if (existing != kNoSymbol) {
    if (m_.symbol(existing).kind == SymbolKind::function) return existing;
    Diagnostic& d = sink_.error(span, "'" + std::string(name) + "' is declared twice");
    d.notes.push_back({m_.symbol(existing).span, "first declared here"});
    return kNoSymbol;
  }
  const SymbolId id = add_symbol(name, span, SymbolKind::function);
  m_.symbol(id).index = static_cast<std::uint32_t>(m_.functions.size());
  m_.symbol(id).function = kNoIndex;
  globals_.bind(name, id, 0);
  Function& f = m_.functions.emplace_back();
  f.name = name;
  f.symbol = id;
  f.span = span;
  return id;
}

bool Parser::same_parameters(const std::vector<SymbolId>& a, const std::vector<SymbolId>& b) const {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Symbol& s = m_.symbol(a[i]);
    const Symbol& t = m_.symbol(b[i]);
    if (s.kind != t.kind) return false;
    if (s.kind == SymbolKind::reg) {
      if (bits(s.type) != bits(t.type)) return false;
    } else if (m_.variable(a[i]).size != m_.variable(b[i]).size) {
      return false;
    }
  }
  return true;
}

void Parser::function(Linkage linkage, bool entry) {
  Function parsed;
  parsed.linkage = linkage;
  parsed.is_entry = entry;
  locals_.clear();
  range_names_.clear();
  ranges_.clear();
  pending_.clear();
  locals_.push();
  range_names_.push();

  DeclSpec attributes;
  while (lex_.peek().kind == TokenKind::dot_word && text(lex_.peek().span) == ".attribute") {
    const Span span = lex_.next().span;
    if (!attribute(attributes, span)) return recover_module();
    if (entry) error(span, "a kernel has no attributes");
    if (!entry && attributes.managed) error(span, ".managed is for .global variables");
  }
  f_ = &parsed;
  f_index_ = static_cast<std::uint32_t>(m_.functions.size());
  if (!entry && lex_.peek().is('(') && !parameter_list(parsed, parsed.returns, false, true)) {
    f_ = nullptr;
    return recover_module();
  }
  const Token name = lex_.next();
  if (name.kind != TokenKind::word) {
    f_ = nullptr;
    if (name.kind != TokenKind::bad) {
      error(name.span, std::string("expected the ") + (entry ? "kernel" : "function") +
                           "'s name, found " + shown(name));
    }
    return recover_module();
  }
  const std::string_view function_name = text(name.span);
  const SymbolId existing = globals_.find(function_name);
  if (existing != kNoSymbol && m_.symbol(existing).kind == SymbolKind::function) {
    f_index_ = m_.symbol(existing).index;
    for (const SymbolId id : parsed.returns) m_.symbol(id).function = f_index_;
  }
  const bool good = !lex_.peek().is('(') || parameter_list(parsed, parsed.params, entry, false);
  f_ = nullptr;
  if (!good) return recover_module();
  function_directives(parsed);

  const SymbolId id = declare_function(function_name, name.span);
  if (id == kNoSymbol) return recover_module();
  Function& f = m_.functions[m_.symbol(id).index];
  parsed.name = function_name;
  parsed.symbol = id;
  parsed.span = name.span;
  const bool has_body = lex_.peek().is('{');
  const bool redeclared = existing != kNoSymbol;
  if (redeclared) {
    if (f.is_entry != entry || !same_parameters(f.params, parsed.params) ||
        !same_parameters(f.returns, parsed.returns)) {
      Diagnostic& d = sink_.error(
          name.span, "'" + std::string(function_name) + "' differs from its earlier declaration");
      d.notes.push_back({f.span, "declared here"});
    }
    if (f.has_body && has_body) {
      Diagnostic& d =
          sink_.error(name.span, "'" + std::string(function_name) + "' is defined twice");
      d.notes.push_back({f.span, "first defined here"});
    }
  }
  if (has_body) {
    if (linkage == Linkage::extern_) {
      error(name.span, "an .extern function has no body");
    }
    // The definition's linkage may be stated at the declaration alone.
    if (redeclared && parsed.linkage == Linkage::none && f.linkage != Linkage::extern_) {
      parsed.linkage = f.linkage;
    }
    parsed.noreturn = parsed.noreturn || (redeclared && f.noreturn);
    f = std::move(parsed);
    m_.symbol(id).span = name.span;
    f.has_body = true;
    body(f);
    return;
  }
  if (!redeclared) f = std::move(parsed);
  if (!lex_.accept(';') &&
      !(lex_.peek().kind == TokenKind::dot_word || lex_.peek().kind == TokenKind::end)) {
    error_here("expected '{' or ';' after the function's header");
    recover_module();
  }
}

bool Parser::parameter_list(Function& f, std::vector<SymbolId>& out, bool entry, bool returns) {
  (void)f;
  lex_.next();  // (
  if (lex_.accept(')')) return true;
  for (;;) {
    DeclSpec spec;
    if (!decl_spec(spec)) return false;
    // A kernel's parameter may have its alignment behind the type.
    if (!entry || spec.misplaced != ".align") misplaced(spec);
    if (spec.managed) error(spec.attribute_span, ".managed is for .global variables");
    if (spec.has_unified && entry)
      error(spec.attribute_span, ".unified is for .global variables and functions");
    if (is_opaque(spec.type) && !feature(Feature::opaque_type, spec.type_span)) return false;
    const Token name = lex_.next();
    if (name.kind != TokenKind::word) {
      if (name.kind == TokenKind::bad) return false;
      return error(name.span, "expected a parameter's name, found " + shown(name));
    }
    const std::string_view id_text = text(name.span);
    if (spec.space == Space::none && is_opaque(spec.type)) spec.space = Space::param;
    if (spec.space != Space::param && spec.space != Space::reg) {
      error(spec.space == Space::none ? name.span : spec.space_span,
            entry ? "a kernel's parameter is in .param"
                  : "a function's parameter is in .param or .reg");
      spec.space = Space::param;
    }
    if (entry && spec.space == Space::reg)
      error(spec.space_span, "a kernel's parameter is in .param");
    if (spec.type == Type::none) {
      error(name.span, "parameter '" + std::string(id_text) + "' has no type");
      spec.type = Type::b32;
    }
    if (!entry && is_opaque(spec.type)) {
      error(spec.type_span,
            "an opaque type is for .global variables and kernel parameters, not for .func "
            "parameters");
    }
    Dimensions dims;
    if (!dimensions(dims)) return false;
    if (spec.space == Space::reg) {
      if (dims.is_array) error(name.span, "a register is no array");
      out.push_back(id_text == "_" ? add_symbol(id_text, name.span, SymbolKind::reg)
                                   : add_register(id_text, name.span, spec.type, spec.vec, 1));
      if (id_text == "_") {
        Symbol& s = m_.symbol(out.back());
        s.type = spec.type;
        s.vec = spec.vec;
        s.space = Space::reg;
        s.index = static_cast<std::uint32_t>(f_->registers.size());
        f_->registers.push_back(out.back());
      }
    } else {
      if (spec.type == Type::pred) error(spec.type_span, "a predicate lives in .reg only");
      const SymbolId id = add_symbol(id_text, name.span, SymbolKind::param);
      m_.symbol(id).index = static_cast<std::uint32_t>(m_.variables.size());
      Variable& v = m_.variables.emplace_back();
      v.symbol = id;
      v.space = Space::param;
      finish_variable(v, spec, dims, name.span);
      if (v.unsized && returns) error(name.span, "a return parameter has a size");
      if (id_text != "_") bind(id_text, id);
      out.push_back(id);
    }
    if (lex_.accept(',')) continue;
    return expect(')', "after the parameters");
  }
}

bool Parser::number(std::uint32_t& out, std::string_view what) {
  const Span span = lex_.peek().span;
  const auto value = number_constant(what);
  if (!value) return false;
  if (static_cast<std::uint64_t>(*value) > 0xffffffffu)
    return error(span, std::string(what) + " is a number of 32 bits without a sign");
  out = static_cast<std::uint32_t>(*value);
  return true;
}

bool Parser::counts(std::uint32_t (&out)[3]) {
  out[0] = out[1] = out[2] = 1;
  for (unsigned i = 0; i < 3; ++i) {
    const Span span = lex_.peek().span;
    if (!number(out[i], "a count")) return false;
    if (out[i] == 0) error(span, "a count of 0");
    lex_.accept(',');
    if (lex_.peek().kind != TokenKind::integer && text(lex_.peek().span) != "WARP_SZ") break;
  }
  return true;
}

void Parser::function_directives(Function& f) {
  while (lex_.peek().kind == TokenKind::dot_word) {
    const Token token = lex_.peek();
    const std::string_view name = text(token.span);
    std::uint32_t unused = 0;
    bool good = true;
    if (name == ".maxntid" || name == ".reqntid" || name == ".reqnctapercluster") {
      lex_.next();
      good = counts(name == ".maxntid"   ? f.maxntid
                    : name == ".reqntid" ? f.reqntid
                                         : f.reqnctapercluster);
    } else if (name == ".minnctapersm") {
      lex_.next();
      good = number(f.minnctapersm, ".minnctapersm");
    } else if (name == ".maxnctapersm") {
      lex_.next();
      good = number(f.maxnctapersm, ".maxnctapersm");
    } else if (name == ".maxnreg") {
      lex_.next();
      good = number(f.maxnreg, ".maxnreg");
    } else if (name == ".maxclusterrank" || name == ".local_maxnreg" || name == ".abi_preserve" ||
               name == ".abi_preserve_control") {
      lex_.next();
      good = number(unused, name);
    } else if (name == ".noreturn") {
      lex_.next();
      f.noreturn = true;
    } else if (name == ".explicitcluster") {
      lex_.next();
      f.explicit_cluster = true;
    } else if (name == ".blocksareclusters") {
      lex_.next();
      f.blocks_are_clusters = true;
    } else if (name == ".unique") {
      lex_.next();
    } else if (name == ".pragma") {
      lex_.next();
      const Token value = lex_.next();
      if (value.kind != TokenKind::string) {
        error(value.span, "expected a string after .pragma, found " + shown(value));
        good = false;
      } else {
        f.pragmas.push_back(text({value.span.begin + 1, value.span.length - 2}));
        lex_.accept(';');
      }
    } else {
      return;
    }
    if (!good) return;
  }
}

}  // namespace ptx2spv::ptx
