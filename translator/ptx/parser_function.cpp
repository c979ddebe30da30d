// .entry and .func: header, parameters, performance directives.
#include <algorithm>

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

/// In what two lists of parameters differ; empty where they agree.
std::string Parser::parameter_difference(const std::vector<SymbolId>& a,
                                         const std::vector<SymbolId>& b) const {
  if (a.size() != b.size()) return "number";
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Symbol& s = m_.symbol(a[i]);
    const Symbol& t = m_.symbol(b[i]);
    if (s.kind != t.kind) return "state space";
    if (s.type != t.type || s.vec != t.vec) return "type";
    if (s.kind == SymbolKind::reg) continue;
    const Variable& v = m_.variable(a[i]);
    const Variable& w = m_.variable(b[i]);
    if (v.is_array != w.is_array || v.unsized != w.unsized || v.count != w.count) return "size";
    if (v.align != w.align) return "alignment";
  }
  return {};
}

/// In what a function's header differs from its earlier declaration; empty where they agree.
std::string Parser::header_difference(const Function& old, const Function& now) const {
  if (old.is_entry != now.is_entry) return old.is_entry ? "a kernel there" : "a function there";
  // What is declared .visible or .weak may be defined without saying so again.
  if (now.linkage != old.linkage &&
      (now.linkage != Linkage::none || old.linkage == Linkage::extern_))
    return "in its linkage";
  if (now.noreturn != old.noreturn) return "in '.noreturn'";
  if (old.has_unified && now.has_unified &&
      (old.unified[0] != now.unified[0] || old.unified[1] != now.unified[1]))
    return "in its '.unified' identifier";
  if (const std::string in = parameter_difference(old.params, now.params); !in.empty())
    return "in the " + in + " of its parameters";
  if (const std::string in = parameter_difference(old.returns, now.returns); !in.empty())
    return "in the " + in + " of its return parameters";
  return {};
}

void Parser::redeclaration(const Function& old, const Function& now, bool has_body) {
  const std::string name = "'" + std::string(now.name) + "'";
  if (const std::string how = header_difference(old, now); !how.empty()) {
    Diagnostic& d = sink_.error(now.span, name + " differs from its earlier declaration, " + how);
    d.notes.push_back({old.span, "declared here"});
  }
  if (old.has_body) {
    Diagnostic& d = sink_.error(
        now.span, name + (has_body ? " is defined twice" : " is declared behind its definition"));
    d.notes.push_back({old.span, has_body ? "first defined here" : "defined here"});
  }
}

void Parser::function(Linkage linkage, bool entry) {
  Function parsed;
  parsed.linkage = linkage;
  parsed.is_entry = entry;
  locals_.clear();
  range_names_.clear();
  numbered_.clear();
  ranges_.clear();
  pending_.clear();
  locals_.push();
  range_names_.push();
  numbered_.push();

  DeclSpec attributes;
  while (lex_.peek().kind == TokenKind::dot_word && text(lex_.peek().span) == ".attribute") {
    const Span span = lex_.next().span;
    if (!attribute(attributes, span)) return recover_module();
    if (entry) error(span, "a kernel has no attributes");
    if (!entry && attributes.managed) error(span, ".managed is for .global variables");
    parsed.has_unified = attributes.has_unified;
    std::copy_n(attributes.unified, 2, parsed.unified);
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
  check_special(name.span);
  check_name(name.span);
  const SymbolId existing = globals_.find(function_name);
  if (existing != kNoSymbol && m_.symbol(existing).kind == SymbolKind::function) {
    f_index_ = m_.symbol(existing).index;
    for (const SymbolId id : parsed.returns) m_.symbol(id).function = f_index_;
  }
  const bool good = !lex_.peek().is('(') || parameter_list(parsed, parsed.params, entry, false);
  f_ = nullptr;
  if (!good) return recover_module();
  if (entry) check_parameter_space(parsed, name.span);
  function_directives(parsed, false);

  const SymbolId id = declare_function(function_name, name.span);
  if (id == kNoSymbol) return recover_module();
  Function& f = m_.functions[m_.symbol(id).index];
  parsed.name = function_name;
  parsed.symbol = id;
  parsed.span = name.span;
  const bool has_body = lex_.peek().is('{');
  check_directives(parsed, name.span, has_body);
  if (parsed.is_entry && !has_body) feature(Feature::kernel_prototype, name.span);
  const bool redeclared = existing != kNoSymbol;
  if (redeclared) redeclaration(f, parsed, has_body);
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
    if (spec.is_ptr) feature(Feature::pointer, spec.ptr_span);
    if (!entry && spec.space == Space::param) feature(Feature::function_param, spec.space_span);
    if (spec.is_ptr && !entry) error(spec.ptr_span, ".ptr is for parameters of kernels");
    if (entry && spec.type == Type::samplerref && !m_.texmode_independent)
      error(spec.type_span, ".samplerref needs .target texmode_independent");
    const Token name = lex_.next();
    if (name.kind != TokenKind::word) {
      if (name.kind == TokenKind::bad) return false;
      return error(name.span, "expected a parameter's name, found " + shown(name));
    }
    const std::string_view id_text = text(name.span);
    if (id_text != "_") check_name(name.span);
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
    check_vector(spec);
    if (spec.space == Space::param && spec.type == Type::f16x2)
      error(spec.type_span, "a .param variable is no .f16x2; .b32 has its bits");
    if (!entry && id_text == "_") error(name.span, "'_' is no name of a function's parameter");
    if (!entry && is_opaque(spec.type)) {
      error(spec.type_span,
            "an opaque type is for .global variables and kernel parameters, not for .func "
            "parameters");
    }
    Dimensions dims;
    if (!dimensions(dims)) return false;
    if (dims.dims.size() + (dims.unsized ? 1 : 0) > 1)
      error(name.span, "a parameter has one dimension at most");
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
      const bool sized = !v.unsized && v.count != 0;
      if (!sized && returns) error(name.span, "a return parameter has a size");
      if (!sized && feature(Feature::unsized_parameter, name.span) && entry)
        error(name.span, "a kernel's parameter has a size");
      if (id_text != "_") bind(id_text, id);
      out.push_back(id);
    }
    if (lex_.accept(',')) continue;
    const auto in_memory = [&](SymbolId id) { return m_.symbol(id).kind == SymbolKind::param; };
    if (returns && out.size() > 1 && std::ranges::any_of(out, in_memory))
      error(name.span, "several return parameters are in .reg");
    return expect(')', "after the parameters");
  }
}

/// A kernel's parameters have a list since PTX 1.4, and a largest size.
void Parser::check_parameter_space(const Function& kernel, Span span) {
  if (!kernel.params.empty()) feature(Feature::kernel_parameters, span);
  constexpr std::uint64_t kFirstBytes = 256, kOldBytes = 4352, kBytes = 32764;
  std::uint64_t end = 0;
  for (const SymbolId id : kernel.params) {
    const Variable& v = m_.variable(id);
    const std::uint64_t align = std::max<std::uint64_t>(v.align, 1);
    end = (end + align - 1) / align * align + (is_opaque(v.type) ? 8 : v.size);
  }
  const bool first = m_.version() < 15 && !options_.relax_versions;
  if (const std::uint64_t most = first ? kFirstBytes : kBytes; end > most)
    error(span, fmt::format("a kernel's parameters have {} bytes at most, not {}", most, end));
  else if (end > kOldBytes)
    feature(Feature::large_parameters, span);
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
    if (!lex_.accept(',')) break;
  }
  return true;
}

namespace {

/// The directives of a header, and where they are: kernels, functions, and their declarations.
struct DirectiveRow {
  std::string_view name;
  bool kernel, function;
  bool declared;  ///< where there is no body, too
  std::uint8_t version = 0, target = 0;
  std::uint32_t most = 0;  ///< of the number of one that stands once; 0: as often as it likes
};
constexpr DirectiveRow kDirectives[] = {
    {".maxntid", true, false, false, 13},
    {".reqntid", true, false, false, 21},
    {".minnctapersm", true, false, false, 20},
    {".maxnctapersm", true, false, false, 13},
    {".maxnreg", true, false, false, 13},
    {".maxclusterrank", true, false, false, 78, 90},
    {".reqnctapercluster", true, false, false, 78, 90},
    {".explicitcluster", true, false, false, 78, 90},
    {".blocksareclusters", true, false, false, 90, 90},
    {".pragma", true, false, false},
    {".local_maxnreg", true, true, false, 88},
    {".noreturn", false, true, true, 64, 30, 1},
    {".abi_preserve", false, true, true, 90, 80, 255},
    {".abi_preserve_control", false, true, true, 90, 80, 11},
};

}  // namespace

/// One directive, behind its name. False after an error that ends the header.
bool Parser::function_directive(Function& f, std::string_view name, std::uint32_t most) {
  const Span span = lex_.peek().span;
  const auto over_0 = [&](std::uint32_t value, std::string_view what) {
    return value != 0 || error(span, std::string(what) + " is over 0");
  };
  std::uint32_t unused = 0;
  if (name == ".maxntid") return counts(f.maxntid);
  if (name == ".reqntid") return counts(f.reqntid);
  if (name == ".reqnctapercluster") return counts(f.reqnctapercluster);
  if (name == ".minnctapersm") return number(f.minnctapersm, name) && over_0(f.minnctapersm, name);
  if (name == ".maxnctapersm") return number(f.maxnctapersm, name);
  if (name == ".maxnreg") return number(f.maxnreg, name) && over_0(f.maxnreg, name);
  if (name == ".explicitcluster") return f.explicit_cluster = true;
  if (name == ".blocksareclusters") return f.blocks_are_clusters = true;
  if (name == ".noreturn") return f.noreturn = true;
  has_cluster_rank_ |= name == ".maxclusterrank";
  if (name == ".pragma") return pragma_directive(f.pragmas);
  if (!number(unused, name)) return false;
  return most == 0 || unused <= most || error(span, fmt::format("{} is at most {}", name, most));
}

void Parser::function_directives(Function& f, bool prototype) {
  has_cluster_rank_ = false;
  std::vector<const DirectiveRow*> once;
  while (lex_.peek().kind == TokenKind::dot_word) {
    const Token token = lex_.peek();
    const std::string_view name = text(token.span);
    const DirectiveRow* row = nullptr;
    for (const DirectiveRow& candidate : kDirectives) {
      if (candidate.name == name) row = &candidate;
    }
    if (row == nullptr) return;
    lex_.next();
    if (!(f.is_entry ? row->kernel : row->function))
      error(token.span,
            "'" + std::string(name) + "' is for " +
                (f.is_entry ? "functions, not for kernels" : "kernels, not for functions"));
    if (!prototype && !row->declared) f.body_directive = token.span;
    if (std::string older = m_.older_than(row->version, row->target, quoted(name));
        !older.empty() && !options_.relax_versions)
      error(token.span, std::move(older));
    if (row->most != 0 && std::ranges::find(once, row) != once.end())
      error(token.span, "second " + quoted(name));
    once.push_back(row);
    if (!function_directive(f, name, row->most)) return;
  }
}

/// Directives that exclude or need others.
void Parser::check_directives(const Function& f, Span name, bool has_body) {
  if (!has_body && f.body_directive.length != 0)
    error(f.body_directive, "'" + std::string(text(f.body_directive)) +
                                "' is for a definition, not for a declaration");
  if (f.noreturn && !f.returns.empty())
    error(name, "what does not return has no return parameters");
  if (has_cluster_rank_ && f.reqnctapercluster[0] != 0)
    error(name, ".maxclusterrank and .reqnctapercluster exclude each other");
  if (f.maxntid[0] != 0 && f.reqntid[0] != 0)
    error(name, ".maxntid and .reqntid exclude each other");
  if (f.blocks_are_clusters && (f.reqntid[0] == 0 || f.reqnctapercluster[0] == 0))
    error(name, ".blocksareclusters needs .reqntid and .reqnctapercluster");
  if (f.maxnctapersm != 0 && m_.version() >= 21 && !options_.relax_versions)
    error(name, ".maxnctapersm is gone from PTX version 2.1 on; .minnctapersm takes its place");
}

}  // namespace ptx2spv::ptx
