// Module level: directives, and what follows .extern .visible .weak .common.
#include "translator/ptx/parser.hpp"

#include <algorithm>
#include <utility>

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {

namespace {
constexpr std::uint64_t kMaxBytes = 0xfffffff0u;
}

namespace {

// What people take for PTX, told by its first bytes; empty for anything else.
std::string_view other_than_ptx(std::string_view text) {
  if (text.starts_with("\x7f"
                       "ELF"))
    return "this is an ELF object (a cubin), not PTX text; cuobjdump -ptx shows the PTX of one "
           "that "
           "holds it";
  if (text.starts_with("\x50\xed\x55\xba"))
    return "this is a fat binary, not PTX text; cuobjdump -xptx all takes the PTX out";
  const bool cuda = text.find("__global__") != text.npos || text.starts_with("#include");
  if (cuda && text.find(".version") == text.npos)
    return "this is CUDA source, not PTX; nvcc -ptx FILE.cu makes PTX of it";
  return {};
}

}  // namespace

std::unique_ptr<Module> parse_module(std::string_view text, std::string file_name,
                                     const ParseOptions& options, DiagnosticSink& sink) {
  auto module = std::make_unique<Module>();
  const bool too_long = text.size() > kMaxBytes;
  const std::string_view other = other_than_ptx(text.substr(0, 1u << 20));
  // Of what is no PTX no line is shown.
  module->source = SourceFile(std::move(file_name),
                              std::string(too_long || !other.empty() ? std::string_view{} : text));
  if (too_long) {
    sink.error({}, "file over 4 GiB");
    return module;
  }
  if (!other.empty()) {
    sink.error({}, std::string(other));
    return module;
  }
  Parser(*module, options, sink).parse();
  return module;
}

Parser::Parser(Module& module, const ParseOptions& options, DiagnosticSink& sink)
    : m_(module), options_(options), sink_(sink), lex_(module.source.text(), sink) {}

bool Parser::error(Span span, std::string text) {
  sink_.error(span, std::move(text));
  return false;
}

std::string Parser::shown(const Token& token) const {
  if (token.kind == TokenKind::end) return "the end of the file";
  std::string_view s = lex_.text(token.span);
  if (s.size() > 40) return "'" + std::string(s.substr(0, 40)) + "...'";
  return "'" + std::string(s) + "'";
}

bool Parser::error_here(std::string text) {
  const Token token = lex_.peek();
  if (token.kind == TokenKind::bad) return false;  // has its message
  return error(token.span, std::move(text) + ", found " + shown(token));
}

bool Parser::expect(char c, std::string_view where) {
  if (lex_.accept(c)) return true;
  return error_here(std::string("expected '") + c + "' " + std::string(where));
}

/// Goes behind the next ';', or stands before the '}' that comes first and ends no list.
void Parser::skip_statement() {
  unsigned depth = 0;
  for (;;) {
    const Token token = lex_.peek();
    if (token.kind == TokenKind::end) return;
    if (token.is('{')) ++depth;
    lex_.next();
    if (token.is('}')) {
      if (depth == 0) {
        if (!lex_.accept(';')) lex_.seek(token.span.begin);
        return;
      }
      --depth;
    }
    if (depth == 0 && token.is(';')) return;
  }
}

/// After an error between functions: behind ';' or '}', or before a directive that starts
/// something.
void Parser::recover_module() {
  unsigned depth = 0;
  for (;;) {
    const Token token = lex_.peek();
    if (token.kind == TokenKind::end) return;
    if (depth == 0 && token.kind == TokenKind::dot_word) {
      const std::string_view name = text(token.span);
      if (name == ".entry" || name == ".func" || name == ".visible" || name == ".extern" ||
          name == ".weak" || name == ".version" || name == ".target") {
        return;
      }
    }
    lex_.next();
    if (token.is('{')) ++depth;
    if (token.is('}')) {
      if (depth <= 1) {
        lex_.accept(';');
        return;
      }
      --depth;
    }
    if (depth == 0 && token.is(';')) return;
  }
}

void Parser::parse() {
  while (!sink_.full()) {
    const Token token = lex_.peek();
    if (token.kind == TokenKind::end) break;
    if (token.kind == TokenKind::dot_word) {
      directive();
    } else if (token.is(';')) {
      error_here("a ';' ends nothing here");
      lex_.next();
    } else if (token.is('@')) {
      // @@DWARF lines of PTX 1.x: debug data up to the end of the line.
      const LineColumn at = m_.source.position(token.span.begin);
      if (!text({token.span.begin, 7}).starts_with("@@DWARF"))
        error_here("expected a directive");
      else if (m_.version() >= 20 && !options_.relax_versions)
        error_here("@@DWARF lines are of PTX versions before 2.0");
      while (lex_.peek().kind != TokenKind::end &&
             m_.source.position(lex_.peek().span.begin).line == at.line) {
        lex_.next();
      }
    } else {
      if (token.kind != TokenKind::bad) error_here("expected a directive");
      lex_.next();
      recover_module();
    }
  }
  if (sink_.full()) return;
  check_constants();
  if (!has_version_) {
    error({}, "a module begins with .version");
  } else if (!has_target_) {
    error({lex_.offset(), 0}, "the module has no .target");
  }
}

void Parser::directive() {
  const Token token = lex_.next();
  const std::string_view name = text(token.span);
  if (name == ".version") return version_directive();
  if (!has_version_) {
    error(token.span, ".version comes before " + std::string(name));
    has_version_ = true;
    m_.version_major = 9;
  }
  if (name == ".target") return target_directive();
  if (name == ".address_size") return address_size_directive();
  if (name == ".file") return file_directive();
  if (name == ".loc") {
    error(token.span, ".loc stands in a function's body");
    return loc_directive();
  }
  if (name == ".section") return section_directive();
  if (name == ".pragma") {
    if (!pragma_directive(m_.pragmas)) recover_module();
    return;
  }
  if (name == ".alias") return alias_directive();
  if (!has_target_) {
    error(token.span, ".target comes before " + std::string(name));
    has_target_ = true;
    m_.sm = 90;
  }
  has_declaration_ = true;
  if (name == ".extern") return linked(Linkage::extern_, token.span);
  if (name == ".visible") return linked(Linkage::visible, token.span);
  if (name == ".weak") {
    feature(Feature::weak, token.span);
    return linked(Linkage::weak, token.span);
  }
  if (name == ".common") {
    feature(Feature::common, token.span);
    return linked(Linkage::common, token.span);
  }
  if (name == ".entry") return function(Linkage::none, true);
  if (name == ".func") return function(Linkage::none, false);
  if (name == ".global" || name == ".const" || name == ".shared" || name == ".local" ||
      name == ".param" || name == ".reg" || name == ".sreg" || name == ".tex" ||
      name == ".attribute" || name == ".align" || name == ".surfref" || name == ".texref" ||
      name == ".samplerref") {
    lex_.seek(token.span.begin);
    return variables(Linkage::none);
  }
  error(token.span, "unknown directive '" + std::string(name) + "'");
  recover_module();
}

/// Strings that nobody knows mean nothing (manual, .pragma); some speak of the statement behind.
bool Parser::check_pragma(std::string_view pragma, Span span) {
  const std::size_t end = std::min(pragma.find(' '), pragma.size());
  const std::string_view word = pragma.substr(0, end), rest = pragma.substr(end);
  const bool frequency = word == "frequency", mask = word == "used_bytes_mask";
  if (!frequency && !mask && word != "enable_smem_spilling") return true;
  if (!in_function()) return error(span, "this pragma stands in a function's body");
  if (mask || frequency)
    if (rest.find_first_of("0123456789") == rest.npos || (frequency && rest.find('-') != rest.npos))
      return error(span, "this pragma has a number");
  return true;
}

bool Parser::pragma_directive(std::vector<std::string_view>& out) {
  feature(Feature::pragma, lex_.peek().span);
  do {
    const Token value = lex_.next();
    if (value.kind == TokenKind::bad) return false;
    if (value.kind != TokenKind::string)
      return error(value.span, "expected a string after .pragma, found " + shown(value));
    out.push_back(text({value.span.begin + 1, value.span.length - 2}));
    check_pragma(out.back(), value.span);
  } while (lex_.accept(','));
  return expect(';', "after .pragma");
}

void Parser::linked(Linkage linkage, Span span) {
  const Token token = lex_.peek();
  if (token.kind == TokenKind::dot_word) {
    const std::string_view name = text(token.span);
    if (name == ".entry" || name == ".func") {
      lex_.next();
      if (linkage == Linkage::common) error(span, ".common is for .global variables");
      return function(linkage, name == ".entry");
    }
    return variables(linkage);
  }
  error_here("expected a declaration");
  recover_module();
}

void Parser::version_directive() {
  // Read from the text: 9.0 would lose its meaning as a number (8.10 is not 8.1).
  const Token token = lex_.next();
  std::string_view s = text(token.span);
  const std::size_t dot = s.find('.');
  unsigned parts[2] = {0, 0};
  bool good = dot != std::string_view::npos && dot > 0 && dot + 1 < s.size() && s.size() < 8;
  for (std::size_t i = 0; good && i < s.size(); ++i) {
    if (i == dot) continue;
    if (s[i] < '0' || s[i] > '9') good = false;
    unsigned& part = parts[i < dot ? 0 : 1];
    part = part * 10 + static_cast<unsigned>(s[i] - '0');
  }
  if (!good) {
    if (token.kind != TokenKind::bad) {
      error(token.span, "expected a version as in .version 8.0, found " + shown(token));
    }
    has_version_ = true;
    m_.version_major = 9;
    return recover_module();
  }
  if (has_version_) error(token.span, "second .version");
  has_version_ = true;
  m_.version_major = parts[0];
  m_.version_minor = parts[1];
  // The last one of each; of the newest, what is to come.
  constexpr std::uint8_t kLast[] = {5, 3, 2, 3, 1, 5, 8, 8, 255};
  const bool known =
      parts[0] >= 1 && parts[0] <= std::size(kLast) && parts[1] <= kLast[parts[0] - 1];
  if (!known && !(options_.relax_versions && parts[0] >= 1))
    error(token.span, "there is no PTX version " + std::string(s));
}

void Parser::target_directive() {
  has_target_ = true;
  bool independent = false, unified = false, first = true;
  for (;;) {
    const Token token = lex_.next();
    const std::string_view name = text(token.span);
    if (token.kind != TokenKind::word) {
      if (token.kind != TokenKind::bad) {
        error(token.span, "expected a target as in .target sm_75, found " + shown(token));
      }
      return recover_module();
    }
    if (name.starts_with("sm_") || name.starts_with("compute_")) {
      first = false;
      std::string_view digits = name.substr(name.find('_') + 1);
      if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
        m_.sm_suffix = digits.back();
        digits.remove_suffix(1);
      }
      unsigned sm = 0;
      bool known = true;
      for (const char c : digits) {
        if (c < '0' || c > '9' || sm > 9999) {
          sm = 0;
          break;
        }
        sm = sm * 10 + static_cast<unsigned>(c - '0');
      }
      if (sm < 10) {
        error(token.span, "unknown target '" + std::string(name) + "'");
        sm = 90;
        known = false;
      }
      m_.sm = sm;
      m_.target = name;
      if (known) check_target(token.span);
    } else if (std::exchange(first, false) &&
               (name == "debug" || name == "map_f64_to_f32" || name.starts_with("texmode_"))) {
      error(token.span, "a .target begins with its architecture");
    } else if (name == "texmode_independent" || name == "texmode_unified") {
      m_.texmode_independent = name == "texmode_independent";
      (m_.texmode_independent ? independent : unified) = true;
      if (independent && unified) error(token.span, "a module has one mode of textures");
    } else if (name == "debug") {
      m_.debug = true;
    } else if (name == "map_f64_to_f32") {
      m_.map_f64_to_f32 = true;
      if (m_.sm >= 13) error(token.span, "map_f64_to_f32 is for targets before sm_13");
    } else {
      error(token.span, "unknown target '" + std::string(name) + "'");
    }
    if (!lex_.accept(',')) return;
  }
}

void Parser::address_size_directive() {
  const Token token = lex_.next();
  if (!has_target_) error(token.span, ".target comes before .address_size");
  if (token.kind != TokenKind::integer || (token.value != 32 && token.value != 64)) {
    if (token.kind != TokenKind::bad) error(token.span, ".address_size is 32 or 64");
    return;
  }
  if (has_address_size_ || has_declaration_)
    error(token.span, ".address_size stands once, behind .target");
  has_address_size_ = true;
  m_.address_size = static_cast<unsigned>(token.value);
}

void Parser::file_directive() {
  const Token index = lex_.next();
  const Token name = lex_.next();
  if (index.kind != TokenKind::integer || name.kind != TokenKind::string) {
    error(index.span, "expected a number and a string after .file");
    return;
  }
  if (index.value >> 32) error(index.span, "a file's number has 32 bits");
  if (!m_.file_of.emplace(static_cast<std::uint32_t>(index.value), m_.files.size()).second)
    error(index.span, "the number of another .file");
  m_.files.push_back(
      {static_cast<std::uint32_t>(index.value), text({name.span.begin + 1, name.span.length - 2})});
  // Optional timestamp and size.
  for (int i = 0; i < 2 && lex_.accept(','); ++i) {
    if (i == 0) feature(Feature::file_size, index.span);
    if (lex_.next().kind != TokenKind::integer) {
      error(index.span, "expected .file number \"name\", timestamp, size");
      return;
    }
  }
}

void Parser::loc_directive() {
  SourceLoc loc;
  const auto read = [&](std::uint32_t& out) {
    const Token token = lex_.next();
    if (token.kind != TokenKind::integer) {
      return error(token.span, "expected a number in .loc, found " + shown(token));
    }
    out = static_cast<std::uint32_t>(token.value);
    return true;
  };
  const auto word = [&](std::string_view wanted) {
    const Token token = lex_.next();
    return text(token.span) == wanted ||
           error(token.span, "expected " + std::string(wanted) + ", found " + shown(token));
  };
  if (!read(loc.file) || !read(loc.line) || !read(loc.column)) return;
  const Span span = lex_.peek().span;
  if (lex_.accept(',')) {
    if (!word("function_name")) return;
    lex_.next();
    if (lex_.accept('+')) lex_.next();
    lex_.accept(',');
    loc.inlined = true;
    if (!word("inlined_at") || !read(loc.inlined_file) || !read(loc.inlined_line) ||
        !read(loc.inlined_column))
      return;
  }
  loc_ = static_cast<std::uint32_t>(m_.locs.size());
  // A place inlined at is one that a .loc named before (manual, .loc).
  if (loc.inlined) {
    const auto caller = loc_places_.find({loc.inlined_file, loc.inlined_line, loc.inlined_column});
    if (caller == loc_places_.end())
      error(span, "no .loc before names the place inlined at");
    else
      loc.caller = caller->second;
  }
  loc_places_[{loc.file, loc.line, loc.column}] = loc_;
  m_.locs.push_back(loc);
}

void Parser::section_directive() {
  const Token name = lex_.next();
  feature(Feature::section, name.span);
  if (name.kind != TokenKind::dot_word) {
    error(name.span, "expected a section's name, found " + shown(name));
    return recover_module();
  }
  if (!lex_.peek().is('{')) {
    error_here("expected '{' after the section's name");
    return recover_module();
  }
  const Token open = lex_.next();
  for (;;) {
    const Token token = lex_.next();
    if (token.is('}')) return;
    if (token.kind == TokenKind::end) {
      error(open.span, "section without an end");
      return;
    }
    if (token.is('+')) feature(Feature::section_offset, token.span);
    if (token.is(':')) feature(Feature::section_label, token.span);
    if (token.is('-')) feature(Feature::section_difference, token.span);
    if (token.is(';') || token.is('{') || token.kind == TokenKind::real32 ||
        token.kind == TokenKind::real64)
      error(token.span, "a section has labels, types and integers");
  }
}

/// Why one function is no alias of the other; empty where it is.
std::string Parser::alias_refusal(SymbolId alias, SymbolId target) const {
  const Function& name = m_.functions[m_.symbol(alias).index];
  const Function& function = m_.functions[m_.symbol(target).index];
  if (alias == target) return "a function is no alias of itself";
  if (function.is_entry || name.is_entry) return "a kernel has no alias and is none";
  if (name.has_body) return quoted(name.name) + " has a body and is no alias";
  if (function.linkage == Linkage::weak)
    return quoted(function.name) + " is .weak and has no alias";
  for (const Alias& each : m_.aliases)
    if (each.alias == alias) return quoted(name.name) + " is an alias already";
  std::string in = parameter_difference(name.params, function.params);
  if (in.empty()) in = parameter_difference(name.returns, function.returns);
  return in.empty() ? in : "the functions differ in the " + in + " of their parameters";
}

void Parser::alias_directive() {
  const Token alias = lex_.next();
  const bool comma = lex_.accept(',');
  const Token target = comma ? lex_.next() : Token{};
  if (alias.kind != TokenKind::word || target.kind != TokenKind::word) {
    error(alias.span, "expected .alias name, name");
    return recover_module();
  }
  feature(Feature::alias, alias.span);
  Alias out;
  for (const auto& [token, id] : {std::pair{&alias, &out.alias}, std::pair{&target, &out.target}}) {
    *id = globals_.find(text(token->span));
    if (*id == kNoSymbol || m_.symbol(*id).kind != SymbolKind::function) {
      error(token->span,
            ".alias of '" + std::string(text(token->span)) + "', which is no function");
      return recover_module();
    }
  }
  if (std::string why = alias_refusal(out.alias, out.target); !why.empty())
    error(alias.span, std::move(why));
  m_.aliases.push_back(out);
  if (!expect(';', "after .alias")) recover_module();
}

}  // namespace ptx2spv::ptx
