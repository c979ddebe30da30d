// The registers that hold a thread's faults, and how they get to memory.
//
// An access only sets a bit and keeps its address, by selects: CPU drivers run cold code for every
// thread, masked. Where the thread ends, one loop goes through the bits.
#include <cassert>
#include <string>

#include "ptx2spv/abi_sanitizer.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/sanitize/sanitize.hpp"

namespace ptx2spv::passes {

namespace {

/// Each cut of a kernel saves the masks that are registers.
constexpr std::uint32_t kMostMasks = 4;
constexpr MemAttr kMask{.space = Space::local, .bytes = 4};
constexpr std::uint32_t kWords = abi::f_tid + 3;  ///< that a faulting thread writes
static_assert(abi::f_other == kWords);

std::uint32_t new_var(Function& function, Type type, std::string name) {
  function.vars.push_back({type, std::move(name), true});
  return static_cast<std::uint32_t>(function.vars.size() - 1);
}

}  // namespace

Value pick(Builder& b, Value index, std::vector<Value> values) {
  for (std::uint32_t bit = 1; values.size() > 1; bit *= 2) {
    const Value odd = b.cmp(Op::ne, b.op2(Op::and_, index, b.i32(bit)), b.i32(0));
    std::vector<Value> half;
    for (std::size_t i = 0; i < values.size(); i += 2)
      half.push_back(i + 1 < values.size() ? b.select(odd, values[i + 1], values[i]) : values[i]);
    values = std::move(half);
  }
  return values[0];
}

void note_fault(Builder& b, std::uint32_t site, Value ok, Value address, Value other) {
  if (other)
    b.inst(Op::note_fault, Type::none, {ok, address, other}, site);
  else
    b.inst(Op::note_fault, Type::none, {ok, address}, site);
}

namespace {

/// The registers of a thread's log, and its memory; `start` gets what sets them to 0.
void add_registers(Function& function, FaultLog& log, std::uint32_t most_groups, bool others,
                   std::vector<Value>& start) {
  Builder b(function);
  const BlockId scratch = b.new_block();
  b.at(scratch);
  const auto add = [&](Type type, const char* name) {
    const std::uint32_t var = new_var(function, type, name);
    b.set(var, type == Type::i64 ? b.i64(0) : b.i32(0));
    return var;
  };
  const std::uint32_t masks = (log.sites + 31) / 32;
  if (masks <= kMostMasks) {
    for (std::uint32_t i = 0; i < masks; ++i) log.masks.push_back(add(Type::i32, "faults"));
  } else {
    // And a word that is read behind the last one.
    log.any = add(Type::i32, "faults");
    log.masks_at = (function.local_bytes + 3) & ~3u;
    function.local_bytes = *log.masks_at + 4 * (masks + 1);
    for (std::uint32_t i = 0; i <= masks; ++i)
      b.store(b.i32(*log.masks_at + 4 * i), b.i32(0), kMask);
  }
  std::uint32_t groups = 1;
  while (groups < log.sites && groups < most_groups) groups *= 2;
  for (std::uint32_t i = 0; i < groups; ++i) {
    const std::uint32_t site = add(Type::i32, "fault.site");
    log.groups.push_back({site, add(Type::i64, "fault.address")});
  }
  for (std::uint32_t i = 0; i < groups && others; ++i)
    log.others.push_back(add(Type::i64, "race.other"));
  start = std::move(function.blocks[scratch].insts);
  function.blocks[scratch].insts.clear();
  function.blocks[scratch].term = Term::unreachable;
}

}  // namespace

void lower_fault_notes(Function& function, FaultLog& log, bool several) {
  bool others = false;
  for (const Inst& inst : function.insts)
    others = others || (inst.op == Op::note_fault && inst.count > 2);
  std::vector<Value> start;
  add_registers(function, log, several && !others ? 2 : 8, others, start);

  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value value) {
    const Inst inst = function.insts[value];
    if (inst.op != Op::note_fault) return rewriter.keep(value);
    const auto site = static_cast<std::uint32_t>(inst.imm);
    assert(site < log.sites);
    const std::vector<Value> args(function.args(value).begin(), function.args(value).end());
    const Value ok = args[0];
    const FaultLog::Group group = log.groups[site % log.groups.size()];
    const Value place = log.masks_at ? b.i32(*log.masks_at + site / 32 * 4) : 0;
    const Value before = place ? b.load(Type::i32, place, kMask) : b.get(log.masks[site / 32]);
    const Value with = b.select(ok, before, b.op2(Op::or_, before, b.i32(1u << site % 32)));
    if (place) {
      b.store(place, with, kMask);
      b.set(*log.any, b.select(ok, b.get(*log.any), b.i32(1)));
    } else {
      b.set(log.masks[site / 32], with);
    }
    b.set(group.site, b.select(ok, b.get(group.site), b.i32(site)));
    b.set(group.address, b.select(ok, b.get(group.address), wide(b, args[1])));
    if (args.size() < 3) return;
    const std::uint32_t other = log.others[site % log.others.size()];
    b.set(other, b.select(ok, b.get(other), args[2]));
  });
  std::vector<Value>& entry = function.blocks[0].insts;
  entry.insert(entry.begin(), start.begin(), start.end());
}

namespace {

/// Adds word `at` of the record of `site` (i32 both), one of `words`. i1: there is no more to write
/// there, since that was the last word or another thread has filled the record.
Value add_record_word(Builder& b, const FaultLog& log, Value site, Value at,
                      const std::vector<Value>& words) {
  const Value base = b.load(Type::i64, b.i32(log.words + abi::z_log * 4),
                            {.space = Space::param, .bytes = 8, .readonly = true});
  const Value offset = b.op2(Op::add, b.op2(Op::mul, site, b.i32(abi::kFaultWords * 4)),
                             b.op2(Op::shl, at, b.i32(2)));
  const Value place = b.op2(Op::add, base, b.inst(Op::zext, Type::i64, {offset}));
  const Value before = b.inst(Op::atomic, Type::i32, {place, pick(b, at, words)});
  b.last(before).mem = {.space = Space::global, .bytes = 4, .atomic = AtomicOp::add};
  // The first word counts threads.
  const Value late = b.op2(Op::and_, b.cmp(Op::eq, at, b.i32(0)), b.cmp(Op::ne, before, b.i32(0)));
  const auto last = static_cast<std::uint32_t>(words.size() - 1);
  return b.op2(Op::or_, late, b.cmp(Op::eq, at, b.i32(last)));
}

}  // namespace

void write_fault_log(Builder& b, const FaultLog& log,
                     const std::function<std::vector<Value>()>& ids) {
  if (log.groups.empty()) return;
  Function& function = b.function();
  const std::uint32_t words = (log.sites + 31) / 32;
  const auto mask_of = [&](Value index) {
    if (log.masks_at) {
      Value at = b.op2(Op::add, b.op2(Op::shl, index, b.i32(2)), b.i32(*log.masks_at));
      if (log.base) at = b.op2(Op::add, at, b.get(*log.base));
      return b.load(Type::i32, at, kMask);
    }
    std::vector<Value> masks;
    for (const std::uint32_t var : log.masks) masks.push_back(b.get(var));
    return pick(b, index, masks);
  };
  const std::uint32_t mask = new_var(function, Type::i32, "log.mask"),
                      bits = new_var(function, Type::i32, "log.bits"),
                      word = new_var(function, Type::i32, "log.word");
  const BlockId loop = b.new_block(), look = b.new_block(), next = b.new_block(),
                one = b.new_block(), last = b.new_block();
  Value any = log.any ? b.get(*log.any) : b.get(log.masks[0]);
  for (std::size_t i = 1; i < log.masks.size(); ++i) any = b.op2(Op::or_, any, b.get(log.masks[i]));
  // Most threads have nothing to say.
  b.set(mask, b.select(b.cmp(Op::ne, any, b.i32(0)), b.i32(0), b.i32(words)));
  b.set(bits, log.masks_at ? mask_of(b.i32(0)) : b.get(log.masks[0]));
  b.set(word, b.i32(0));
  b.br(loop);

  b.at(loop);
  function.blocks[loop].bounded = true;
  b.cond_br(b.cmp(Op::ult, b.get(mask), b.i32(words)), look, last);
  b.at(look);
  b.cond_br(b.cmp(Op::eq, b.get(bits), b.i32(0)), next, one);

  b.at(next);
  const Value following = b.op2(Op::add, b.get(mask), b.i32(1));
  b.set(mask, following);
  b.set(bits, mask_of(following));
  b.br(loop);

  b.at(one);
  const Value rest = b.get(bits), at = b.get(word);
  const Value lowest = b.op2(Op::and_, rest, b.inst(Op::neg, Type::i32, {rest}));
  const Value bit = b.inst(Op::find_msb, Type::i32, {lowest});
  const Value site = b.op2(Op::add, b.op2(Op::shl, b.get(mask), b.i32(5)), bit);
  std::vector<Value> sites, addresses;
  for (const FaultLog::Group& group : log.groups) {
    sites.push_back(b.get(group.site));
    addresses.push_back(b.get(group.address));
  }
  const Value known = b.cmp(Op::eq, pick(b, site, sites), site);
  const Value address = pick(b, site, addresses);
  using enum Builtin;
  static_assert(abi::f_threads == 0 && abi::f_known == 1 && abi::f_address == 2 &&
                abi::f_ctaid == 4 && abi::f_tid == 7);
  std::vector<Value> all = {b.i32(1), b.inst(Op::zext, Type::i32, {known}),
                            b.inst(Op::trunc, Type::i32, {address}),
                            b.inst(Op::high, Type::i32, {address})};
  if (ids) {
    for (const Value id : ids()) all.push_back(id);
  } else {
    for (const Builtin id :
         {workgroup_id_x, workgroup_id_y, workgroup_id_z, local_id_x, local_id_y, local_id_z})
      all.push_back(b.builtin(id));
  }
  std::vector<Value> others;
  for (const std::uint32_t var : log.others) others.push_back(b.get(var));
  if (!others.empty()) {
    const Value both = pick(b, site, others);
    all.push_back(b.inst(Op::trunc, Type::i32, {both}));
    all.push_back(b.inst(Op::high, Type::i32, {both}));
  }
  const Value done = add_record_word(b, log, site, at, all);
  b.set(word, b.select(done, b.i32(0), b.op2(Op::add, at, b.i32(1))));
  b.set(bits, b.select(done, b.op2(Op::xor_, rest, lowest), rest));
  b.br(loop);
  b.at(last);
}

}  // namespace ptx2spv::passes
