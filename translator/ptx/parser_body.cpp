// Function bodies: scopes, labels, target lists, instructions.
#include <algorithm>

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {
namespace {

constexpr std::uint32_t kMaxScopes = 500;
constexpr std::size_t kMaxOperands = 255;

/// Modifiers that belong to an instruction's name: whatever the order of the others, they stand
/// before them, those of each list before those of the next.
struct NameRow {
  Opcode op;
  std::array<std::vector<Mod>, 3> lists;
};
const NameRow kNames[] = {
    {Opcode::suld, {{{Mod::b}}}},
    {Opcode::sust, {{{Mod::b, Mod::p}}}},
    {Opcode::sured, {{{Mod::b, Mod::p}}}},
    {Opcode::tex, {{{Mod::base, Mod::level, Mod::grad}}}},
    {Opcode::txq, {{{Mod::level}}}},
    {Opcode::mul, {{{Mod::lo, Mod::hi, Mod::wide}}}},
    {Opcode::mad, {{{Mod::lo, Mod::hi, Mod::wide}}}},
    {Opcode::madc, {{{Mod::lo, Mod::hi}}}},
    {Opcode::mul24, {{{Mod::lo, Mod::hi}}}},
    {Opcode::mad24, {{{Mod::lo, Mod::hi}}}},
    {Opcode::dp2a, {{{Mod::lo, Mod::hi}}}},
    {Opcode::shf, {{{Mod::l, Mod::r}}}},
    {Opcode::div, {{{Mod::full}}}},
    {Opcode::cvt, {{{Mod::pack}}}},
    {Opcode::cvta, {{{Mod::to}}}},
    {Opcode::cp, {{{Mod::async}, {Mod::mbarrier}, {Mod::arrive}}}},
    {Opcode::bar, {{{Mod::cta, Mod::warp}, {Mod::red, Mod::arrive}}}},
    {Opcode::barrier, {{{Mod::cta, Mod::cluster}, {Mod::red, Mod::arrive, Mod::wait}}}},
    {Opcode::wmma, {{{Mod::load, Mod::store, Mod::mma}, {Mod::a, Mod::b, Mod::c, Mod::d}}}},
    {Opcode::mbarrier,
     {{{Mod::init, Mod::inval, Mod::complete_tx, Mod::arrive, Mod::arrive_drop, Mod::test_wait,
        Mod::try_wait, Mod::pending_count},
       {Mod::expect_tx, Mod::parity}}}},
};

/// The modifier that should stand at the name but does not, or none.
Mod misplaced_in(Opcode op, const std::vector<Mod>& mods) {
  const auto* row = std::ranges::find(kNames, op, [](const NameRow& each) { return each.op; });
  if (row == std::end(kNames)) return Mod::none;
  const auto list_of = [&](Mod mod) {
    return std::ranges::find_if(
        row->lists, [&](const auto& list) { return std::ranges::find(list, mod) != list.end(); });
  };
  const auto* last = row->lists.begin();
  for (std::size_t i = 0, named = 0; i < mods.size(); ++i) {
    const auto* list = list_of(mods[i]);
    if (list == row->lists.end()) continue;
    if (named++ != i || list < last) return mods[i];
    last = list + 1;
  }
  return Mod::none;
}

}  // namespace

void Parser::enter_scope(Span span) {
  locals_.push();
  range_names_.push();
  numbered_.push();
  if (locals_.depth() == kMaxScopes) error(span, "scopes nested too deeply");
}

void Parser::leave_scope() {
  resolve_pending(locals_.depth() - 1);
  locals_.pop();
  range_names_.pop();
  numbered_.pop();
}

/// Binds the labels that were used before they stood, for the scope that ends.
void Parser::resolve_pending(std::uint32_t depth) {
  std::size_t kept = pending_.size();
  while (kept > 0 && pending_[kept - 1].depth >= depth) --kept;
  std::size_t out = kept;
  for (std::size_t i = kept; i < pending_.size(); ++i) {
    PendingLabel p = pending_[i];
    SymbolId id = locals_.find(p.name);
    if (id == kNoSymbol && depth == 1) id = globals_.find(p.name);
    if (id == kNoSymbol) {
      if (depth > 1) {
        p.depth = depth - 1;
        pending_[out++] = p;
      } else {
        error(p.span, "label " + quoted(p.name) + " is not defined in this function");
      }
      continue;
    }
    const SymbolKind kind = m_.symbol(id).kind;
    if (kind == SymbolKind::label && resolve_register(p.name) != kNoSymbol)
      error(p.span, quoted(p.name) + " is a register, by number");
    if (p.where == PendingLabel::Where::target_list) {
      if (kind != SymbolKind::label) error(p.span, quoted(p.name) + " is no label");
      f_->target_lists[p.index].targets[p.sub] = id;
      continue;
    }
    Operand& operand = f_->operands[p.index];
    const bool wants_label = operand.kind == OperandKind::label;
    const bool list = kind == SymbolKind::branch_targets || kind == SymbolKind::prototype;
    if (!wants_label && list && m_.symbol(id).span.begin > p.span.begin) {
      error(p.span, quoted(p.name) + " stands behind its use");
      continue;
    }
    if (wants_label != (kind == SymbolKind::label) ||
        (!wants_label && !list && kind != SymbolKind::function)) {
      error(p.span, quoted(p.name) +
                        (wants_label ? " is no label" : " is no list of targets and no prototype"));
    }
    operand.symbol = id;
  }
  pending_.resize(out);
}

void Parser::body(Function& f) {
  f_ = &f;
  f_index_ = m_.symbol(f.symbol).index;
  loc_ = 0;
  const Token open = lex_.next();  // {
  std::uint32_t depth = 0;
  for (;;) {
    if (sink_.full()) break;
    const Token token = lex_.peek();
    if (token.kind == TokenKind::end) {
      Diagnostic& d = sink_.error(token.span, "the body of " + quoted(f.name) + " has no end");
      d.notes.push_back({open.span, "it begins here"});
      break;
    }
    if (token.is('{')) {
      lex_.next();
      if (depth < kMaxScopes) enter_scope(token.span);
      ++depth;
    } else if (token.is('}')) {
      lex_.next();
      if (depth == 0) {
        f.body_end = token.span;
        break;
      }
      if (depth <= kMaxScopes) leave_scope();
      --depth;
    } else {
      statement();
    }
  }
  while (locals_.depth() > 2) leave_scope();
  resolve_pending(1);
  if (options_.check && !sink_.full()) check_function(m_, f, options_, sink_);
  f_ = nullptr;
}

void Parser::statement() {
  const Token token = lex_.next();
  switch (token.kind) {
    case TokenKind::word: {
      // An opcode's modifiers follow without a break, a label's colon may not.
      const std::uint32_t after = token.span.end();
      const std::string_view rest = m_.source.text();
      std::size_t p = after;
      while (p < rest.size() && (rest[p] == ' ' || rest[p] == '\t')) ++p;
      if (p < rest.size() && rest[p] == ':' && (p + 1 >= rest.size() || rest[p + 1] != ':')) {
        return label(token);
      }
      lex_.seek(token.span.begin);
      return instruction(kNoSymbol, false);
    }
    case TokenKind::dot_word:
      lex_.seek(token.span.begin);
      if (!body_directive()) skip_statement();
      return;
    case TokenKind::punct:
      if (token.is('@')) {
        SymbolId pred = kNoSymbol;
        bool negated = false;
        if (!guard(pred, negated)) return skip_statement();
        return instruction(pred, negated);
      }
      break;
    case TokenKind::bad: return skip_statement();
    default: break;
  }
  error(token.span, "expected an instruction, found " + shown(token));
  skip_statement();
}

bool Parser::guard(SymbolId& pred, bool& negated) {
  negated = lex_.accept('!');
  const Token name = lex_.next();
  if (name.kind != TokenKind::word) {
    if (name.kind == TokenKind::bad) return false;
    return error(name.span, "expected a predicate after '@', found " + shown(name));
  }
  pred = resolve(text(name.span));
  if (pred == kNoSymbol) {
    return error(name.span, quoted(text(name.span)) + " is not declared");
  }
  const Symbol& s = m_.symbol(pred);
  if (s.kind != SymbolKind::reg || s.type != Type::pred) {
    Diagnostic& d =
        sink_.error(name.span, "the guard " + quoted(s.name) + " is no predicate register");
    d.notes.push_back({s.span, "declared here"});
    return false;
  }
  return true;
}

void Parser::label(const Token& name) {
  lex_.next();  // :
  const std::string_view id = text(name.span);
  check_name(name.span);
  const Token next = lex_.peek();
  if (next.kind == TokenKind::dot_word) {
    const std::string_view directive = text(next.span);
    if (directive == ".branchtargets" || directive == ".calltargets") {
      lex_.next();
      return branch_targets(name, directive == ".calltargets");
    }
    if (directive == ".callprototype") {
      lex_.next();
      return call_prototype(name);
    }
  }
  const SymbolId symbol = add_symbol(id, name.span, SymbolKind::label);
  if (!bind(id, symbol)) return;
  m_.symbol(symbol).index = static_cast<std::uint32_t>(f_->statements.size());
  f_->statements.push_back({StatementKind::label, symbol});
}

void Parser::branch_targets(const Token& label, bool calls) {
  const SymbolId symbol = add_symbol(text(label.span), label.span, SymbolKind::branch_targets);
  const auto index = static_cast<std::uint32_t>(f_->target_lists.size());
  m_.symbol(symbol).index = index;
  f_->target_lists.emplace_back();
  f_->target_lists.back().symbol = symbol;
  f_->target_lists.back().calls = calls;
  f_->target_lists.back().span = label.span;
  bind(text(label.span), symbol);
  do {
    const Token name = lex_.next();
    if (name.kind != TokenKind::word) {
      if (name.kind != TokenKind::bad)
        error(name.span, "expected a target's name, found " + shown(name));
      return skip_statement();
    }
    std::vector<SymbolId>& targets = f_->target_lists[index].targets;
    if (calls) {
      const SymbolId id = globals_.find(text(name.span));
      if (id == kNoSymbol || m_.symbol(id).kind != SymbolKind::function) {
        error(name.span, quoted(text(name.span)) + " is no function");
      }
      targets.push_back(id);
    } else {
      const auto add = [&](std::string_view label_name) {
        pending_.push_back({PendingLabel::Where::target_list, index,
                            static_cast<std::uint32_t>(targets.size()), locals_.depth() - 1,
                            label_name, name.span});
        targets.push_back(kNoSymbol);
      };
      // L<3> stands for L0, L1, L2.
      if (!lex_.accept('<')) {
        add(text(name.span));
        continue;
      }
      const Span span = lex_.peek().span;
      const auto count = number_constant("the number of targets");
      if (!count || !expect('>', "after the number of targets")) return skip_statement();
      if (*count == 0 || *count > kMaxVariables || (numbered_targets_ += *count) > kMaxVariables) {
        error(span, "the targets by number of a module are 1 to 65536");
        return skip_statement();
      }
      for (std::uint64_t i = 0; i < *count; ++i)
        add(m_.strings.emplace_back(fmt::format("{}{}", text(name.span), i)));
    }
  } while (lex_.accept(','));
  if (!expect(';', "after the targets")) skip_statement();
}

bool Parser::prototype_params(std::vector<PrototypeParam>& out, bool returns) {
  const Span open = lex_.next().span;
  if (lex_.accept(')')) return true;
  do {
    DeclSpec spec;
    if (!decl_spec(spec) || !check_vector(spec)) return false;
    const Token name = lex_.next();
    if (name.kind != TokenKind::word)
      return error(name.span, "expected '_' in the prototype, found " + shown(name));
    if (spec.space != Space::param && spec.space != Space::reg)
      return error(name.span, "a function's parameter is in .param or .reg");
    PrototypeParam param;
    param.type = spec.type;
    param.space = spec.space;
    Dimensions dims;
    if (!dimensions(dims)) return false;
    if (dims.dims.size() + (dims.unsized ? 1 : 0) > 1)
      return error(name.span, "a parameter has one dimension at most");
    if (dims.unsized && !feature(Feature::unsized_parameter, name.span)) return false;
    param.is_array = dims.is_array || dims.unsized;
    param.size = std::uint64_t{bytes(spec.type)} * spec.vec;
    param.align =
        spec.align != 0 ? spec.align : static_cast<std::uint32_t>(param.size != 0 ? param.size : 1);
    for (const std::uint64_t d : dims.dims) param.size *= d;
    out.push_back(param);
  } while (lex_.accept(','));
  const bool memory =
      std::ranges::any_of(out, [](const auto& each) { return each.space != Space::reg; });
  if (returns && out.size() > 1 && memory) error(open, "several return parameters are in .reg");
  return expect(')', "after the parameters");
}

void Parser::call_prototype(const Token& label) {
  const SymbolId symbol = add_symbol(text(label.span), label.span, SymbolKind::prototype);
  m_.symbol(symbol).index = static_cast<std::uint32_t>(f_->prototypes.size());
  Prototype prototype;
  prototype.symbol = symbol;
  prototype.span = label.span;
  bind(text(label.span), symbol);
  feature(Feature::call_prototype, label.span);
  bool good = !lex_.peek().is('(') || prototype_params(prototype.returns, true);
  if (good) {
    const Token name = lex_.next();
    if (name.kind != TokenKind::word || text(name.span) != "_")
      good = error(name.span, "expected '_' in the prototype, found " + shown(name));
  }
  good = good && (!lex_.peek().is('(') || prototype_params(prototype.params, false));
  if (good) {
    Function directives;
    function_directives(directives, true);
    prototype.noreturn = directives.noreturn;
    if (prototype.noreturn && !prototype.returns.empty())
      error(label.span, "what does not return has no return parameters");
  }
  f_->prototypes.push_back(std::move(prototype));
  if (!good || !expect(';', "after the prototype")) skip_statement();
}

bool Parser::body_directive() {
  const Token token = lex_.peek();
  const std::string_view name = text(token.span);
  if (name == ".loc") {
    lex_.next();
    loc_directive();
    return true;
  }
  if (name == ".pragma") {
    lex_.next();
    return pragma_directive(f_->pragmas);
  }
  if (name == ".entry" || name == ".func" || name == ".version" || name == ".target" ||
      name == ".file" || name == ".section" || name == ".alias" || name == ".address_size") {
    return error(token.span, quoted(name) + " inside a function's body");
  }
  if (name == ".extern" || name == ".visible" || name == ".weak" || name == ".common") {
    return error(token.span, quoted(name) + " stands at module scope, not in a function's body");
  }
  if (name != ".reg" && name != ".local" && name != ".shared" && name != ".param" &&
      name != ".global" && name != ".const" && name != ".sreg" && name != ".align" &&
      name != ".attribute" && name != ".tex" && name != ".surfref" && name != ".texref" &&
      name != ".samplerref") {
    return error(token.span, "unknown directive " + quoted(name));
  }
  variables(Linkage::none);
  return true;
}

Parser::OpcodeEntry Parser::make_entry(std::string_view text) {
  OpcodeEntry entry;
  const std::size_t dot = std::min(text.find('.'), text.size());
  entry.op = find_opcode(text.substr(0, dot));
  if (entry.op == Opcode::none) {
    entry.error = "unknown instruction " + quoted(text.substr(0, dot));
    return entry;
  }
  std::vector<Mod> mods;
  std::string_view rest = text.substr(dot);
  std::string_view unknown;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view word = rest.substr(0, end);
    const Mod mod = find_mod(word);
    if (mod == Mod::none) {
      if (unknown.empty()) unknown = word;
    } else {
      mods.push_back(mod);
    }
    rest.remove_prefix(end);
  }
  const std::vector<Match> matches = match_forms(entry.op, mods);
  const bool refused = !matches.empty() && form_info(matches.front().form).refused;
  if (!unknown.empty() && !refused) {
    entry.error = "unknown modifier '." + std::string(unknown) + "'";
    return entry;
  }
  if (matches.empty()) {
    entry.error = explain_mismatch(entry.op, text);
    return entry;
  }
  if (const Mod late = misplaced_in(entry.op, mods); late != Mod::none) {
    entry.error = "'." + std::string(ptx::text(late)) +
                  "' belongs to the name, before the others: " +
                  quoted(std::string(text.substr(0, dot)) + "." + std::string(ptx::text(late)));
    return entry;
  }
  for (const Match& match : matches) {
    m_.modifier_sets.push_back(std::make_unique<Modifiers>(match.mods));
    entry.candidates.push_back({match.form, m_.modifier_sets.back().get()});
  }
  return entry;
}

/// The number in brackets behind .const, which PTX 1.5 to 2.1 have.
std::uint8_t Parser::constant_bank() {
  const Token open = lex_.next();
  const Token number = lex_.next();
  if (number.kind != TokenKind::integer) {
    error(number.span, "expected the number of a constant bank, found " + shown(number));
    return 0;
  }
  if (!expect(']', "after the constant bank")) return 0;
  if (m_.version() < 15 || m_.version() >= 22)
    error(join(open.span, number.span),
          fmt::format("constant banks are of PTX versions 1.5 to 2.1, the module has {}.{}",
                      m_.version_major, m_.version_minor));
  else if (number.value > 10)
    error(number.span, fmt::format("there is no constant bank {}", number.value));
  return static_cast<std::uint8_t>(std::min<std::uint64_t>(number.value, 10));
}

/// Reads an opcode with its modifiers and finds what the table has for it.
Parser::OpcodeEntry& Parser::opcode_entry(const Token& word, Span& span) {
  const Span mods = lex_.modifiers();
  span = {word.span.begin, word.span.length + mods.length};
  std::string_view full = text(span);
  if (full.ends_with(".const") && lex_.peek().is('[')) constant_bank();
  if (lex_.peek().kind == TokenKind::dot_word) {
    // Modifiers set apart by blanks: joined, so that the cache knows them.
    std::string joined(full);
    while (lex_.peek().kind == TokenKind::dot_word) {
      const Token more = lex_.next();
      joined += text(more.span);
      span = join(span, more.span);
    }
    const auto it = opcodes_.find(joined);
    if (it != opcodes_.end()) return it->second;
    full = m_.strings.emplace_back(std::move(joined));
  } else {
    const auto it = opcodes_.find(full);
    if (it != opcodes_.end()) return it->second;
  }
  return opcodes_.emplace(full, make_entry(full)).first->second;
}

void Parser::instruction(SymbolId pred, bool negated) {
  const Token word = lex_.next();
  if (word.kind != TokenKind::word) {
    if (word.kind != TokenKind::bad)
      error(word.span, "expected an instruction, found " + shown(word));
    return skip_statement();
  }
  Instruction inst;
  inst.pred = pred;
  inst.pred_negated = negated;
  inst.loc = loc_;
  OpcodeEntry& entry = opcode_entry(word, inst.opcode_span);
  if (!entry.error.empty()) {
    error(inst.opcode_span, entry.error);
    return skip_statement();
  }
  inst.op = entry.op;
  inst.form = entry.candidates.front().form;
  inst.mods = entry.candidates.front().mods;
  if (form_info(inst.form).refused) {
    // Only recognised: its operands follow rules of their own.
    std::uint32_t end = inst.opcode_span.end();
    unsigned depth = 0;
    for (;;) {
      const Token token = lex_.peek();
      if (token.kind == TokenKind::end) break;
      if (token.is('{')) ++depth;
      if (token.is('}')) {
        if (depth == 0) break;
        --depth;
      }
      if (token.is(';')) break;
      end = token.span.end();
      lex_.next();
    }
    lex_.accept(';');
    inst.span = {word.span.begin, end - word.span.begin};
  } else {
    std::vector<Operand>& ops = operand_buffer_;
    ops.clear();
    pending_operands_.clear();
    const std::size_t lists = f_->operands.size();
    if (!operands(inst.op, ops)) {
      f_->operands.resize(lists);
      return skip_statement();
    }
    inst.span = {word.span.begin, lex_.last_end() - word.span.begin};
    if (!lex_.peek().is(';')) {
      error_here("expected ';' after the instruction");
      f_->operands.resize(lists);
      return skip_statement();
    }
    inst.span.length = lex_.peek().span.begin - word.span.begin;
    const std::string_view source = m_.source.text();
    while (inst.span.length > 0 && static_cast<unsigned char>(source[inst.span.end() - 1]) <= ' ')
      --inst.span.length;
    lex_.next();
    if (ops.size() > kMaxOperands) {
      error(inst.opcode_span, "too many operands");
      return;
    }
    for (const OpcodeEntry::Candidate& candidate : entry.candidates) {
      const FormInfo& form = form_info(candidate.form);
      if (ops.size() >= form.min_operands && ops.size() <= form.max_operands) {
        inst.form = candidate.form;
        inst.mods = candidate.mods;
        break;
      }
    }
    // name[index] is the element's address in mov, and the element itself in ld and st.
    const FormInfo& chosen = form_info(inst.form);
    for (std::size_t i = 0; i < chosen.operands.size() && i < ops.size(); ++i) {
      if (chosen.operands[i].role == OperandRole::memory && ops[i].kind == OperandKind::address &&
          ops[i].indexed) {
        ops[i].kind = OperandKind::memory;
      }
    }
    follow_ptxas(inst, ops);
    inst.first_operand = static_cast<std::uint32_t>(f_->operands.size());
    inst.operand_count = static_cast<std::uint8_t>(ops.size());
    f_->operands.insert(f_->operands.end(), ops.begin(), ops.end());
    for (const PendingOperand& p : pending_operands_) {
      pending_.push_back({PendingLabel::Where::operand, inst.first_operand + p.index, 0,
                          locals_.depth() - 1, text(p.span), p.span});
    }
  }
  f_->statements.push_back(
      {StatementKind::instruction, static_cast<std::uint32_t>(f_->instructions.size())});
  f_->instructions.push_back(inst);
}

/// What ptxas makes code of otherwise than the manual says, in every case: hardware gives that, and
/// so does the translation, with a warning (docs/reference/hardware.md).
void Parser::follow_ptxas(Instruction& inst, std::span<const Operand> operands) {
  const std::string name = quoted(ptx::text(inst.op));
  if (inst.op == Opcode::testp && inst.pred != kNoSymbol) {
    sink_.warning(inst.opcode_span, "the guard of " + name + " has no effect, as in ptxas's code");
    inst.pred = kNoSymbol;
    inst.pred_negated = false;
  }
  if (!inst.mods->sat || operands.empty()) return;
  bool dropped = inst.op == Opcode::madc;
  if (operands[0].kind == OperandKind::reg && operands[0].part != Part::none) {
    switch (inst.op) {
      case Opcode::add:
      case Opcode::sub:
      case Opcode::mul:
      case Opcode::mad:
      case Opcode::fma: dropped = true; break;
      case Opcode::cvt: dropped = is_float(inst.mods->type()); break;
      default: break;
    }
  }
  if (!dropped) return;
  sink_.warning(inst.opcode_span,
                "'.sat' of " + name +
                    (inst.op == Opcode::madc ? "" : " into an element of a vector register") +
                    " has no effect, as in ptxas's code");
  m_.modifier_sets.push_back(std::make_unique<Modifiers>(*inst.mods));
  m_.modifier_sets.back()->sat = false;
  inst.mods = m_.modifier_sets.back().get();
}

}  // namespace ptx2spv::ptx
