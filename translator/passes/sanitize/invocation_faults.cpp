#include "translator/passes/sanitize/invocation_faults.hpp"

#include "translator/passes/sanitize/sanitize.hpp"

namespace ptx2spv::passes {

using ir::BlockId;
using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

namespace {

constexpr std::uint32_t kThreadShift = 16;
constexpr ir::MemAttr kWord{.space = Space::local, .bytes = 4};

std::uint32_t new_var(ir::Function& function, Type type, const char* name) {
  function.vars.push_back({type, name, false});
  return static_cast<std::uint32_t>(function.vars.size() - 1);
}

}  // namespace

InvocationFaults::InvocationFaults(ir::Function& function, const ir::FaultLog& log, bool others)
    : log_(log), others_(others) {
  constexpr std::uint32_t kMostMasks = 32, kMostGroups = 8;
  if (log_.sites == 0) return;
  if (log_.sites <= kMostMasks) {
    for (std::uint32_t i = 0; i < log_.sites; ++i)
      masks_.push_back(new_var(function, Type::i32, "faults"));
  } else {
    masks_at_ = (function.local_bytes + 3) & ~3u;
    function.local_bytes = masks_at_ + 4 * log_.sites;
  }
  std::uint32_t groups = 1;
  while (groups < log_.sites && groups < kMostGroups) groups *= 2;
  for (std::uint32_t i = 0; i < groups; ++i) {
    Group group;
    group.last = new_var(function, Type::i32, "fault.last");
    group.address = new_var(function, Type::i64, "fault.address");
    if (others_) group.other = new_var(function, Type::i64, kOtherOfRace);
    groups_.push_back(group);
  }
}

void InvocationFaults::start(ir::Builder& b) const {
  if (log_.sites == 0) return;
  for (const std::uint32_t mask : masks_) b.set(mask, b.i32(0));
  for (const Group& group : groups_) {
    b.set(group.last, b.i32(0));
    b.set(group.address, b.i64(0));
    if (others_) b.set(group.other, b.i64(0));
  }
  if (!masks_.empty()) return;
  const std::uint32_t at = new_var(b.function(), Type::i32, "clear");
  const BlockId loop = b.new_block(), body = b.new_block(), last = b.new_block();
  b.set(at, b.i32(0));
  b.br(loop);
  b.at(loop);
  b.function().blocks[loop].loop_trip_count = true;
  b.cond_br(b.cmp(Op::ult, b.get(at), b.i32(4 * log_.sites)), body, last);
  b.at(body);
  b.store(b.op2(Op::add, b.get(at), b.i32(masks_at_)), b.i32(0), kWord);
  b.set(at, b.op2(Op::add, b.get(at), b.i32(4)));
  b.br(loop);
  b.at(last);
}

void InvocationFaults::note(ir::Builder& b, std::uint32_t site, const std::vector<Value>& args,
                            Value number) const {
  const Value ok = args[0], place = b.i32(masks_at_ + 4 * site);
  const Value before = masks_.empty() ? b.load(Type::i32, place, kWord) : b.get(masks_[site]);
  const Value bit =
      b.op2(Op::shl, b.inst(Op::zext, Type::i32, {b.inst(Op::not_, Type::i1, {ok})}), number);
  const Value mask = b.op2(Op::or_, before, bit);
  if (masks_.empty())
    b.store(place, mask, kWord);
  else
    b.set(masks_[site], mask);
  const Group& group = group_of(site);
  const Value here = b.op2(Op::or_, b.op2(Op::shl, number, b.i32(kThreadShift)), b.i32(site));
  const Value address = b.function().insts[args[1]].type == Type::i64
                            ? args[1]
                            : b.inst(Op::zext, Type::i64, {args[1]});
  b.set(group.last, b.select(ok, b.get(group.last), here));
  b.set(group.address, b.select(ok, b.get(group.address), address));
  if (args.size() > 2) b.set(group.other, b.select(ok, b.get(group.other), args[2]));
}

/// A bit for each thread that has faulted at `site`.
Value InvocationFaults::mask_at(ir::Builder& b, Value site) const {
  if (masks_.empty())
    return b.load(Type::i32, b.op2(Op::add, b.op2(Op::shl, site, b.i32(2)), b.i32(masks_at_)),
                  kWord);
  std::vector<Value> masks;
  for (const std::uint32_t mask : masks_) masks.push_back(b.get(mask));
  return pick(b, site, masks);
}

void InvocationFaults::write(ir::Builder& b,
                             const std::function<std::vector<Value>(Value)>& ids) const {
  if (log_.sites == 0) return;
  ir::Function& function = b.function();
  const std::uint32_t at_site = new_var(function, Type::i32, "log.site"),
                      at_word = new_var(function, Type::i32, "log.word");
  const BlockId loop = b.new_block(), look = b.new_block(), next = b.new_block(),
                one = b.new_block(), last = b.new_block();
  b.set(at_site, b.i32(0));
  if (!masks_.empty()) {
    // Most invocations have nothing to say.
    Value any = b.get(masks_[0]);
    for (std::size_t i = 1; i < masks_.size(); ++i) any = b.op2(Op::or_, any, b.get(masks_[i]));
    const Value none = b.cmp(Op::eq, any, b.i32(0));
    b.set(at_site, b.select(none, b.i32(log_.sites), b.i32(0)));
  }
  b.set(at_word, b.i32(0));
  b.br(loop);

  b.at(loop);
  function.blocks[loop].loop_trip_count = true;
  b.cond_br(b.cmp(Op::ult, b.get(at_site), b.i32(log_.sites)), look, last);
  b.at(look);
  b.cond_br(b.cmp(Op::eq, mask_at(b, b.get(at_site)), b.i32(0)), next, one);

  b.at(next);
  b.set(at_site, b.op2(Op::add, b.get(at_site), b.i32(1)));
  b.br(loop);

  b.at(one);
  const Value site = b.get(at_site), at = b.get(at_word), mask = mask_at(b, site);
  std::vector<Value> lasts, addresses, others;
  for (const Group& group : groups_) {
    lasts.push_back(b.get(group.last));
    addresses.push_back(b.get(group.address));
    if (others_) others.push_back(b.get(group.other));
  }
  const Value latest = pick(b, site, lasts), address = pick(b, site, addresses);
  const Value known = b.cmp(Op::eq, b.op2(Op::and_, latest, b.i32(kMostSites - 1)), site);
  // One of the threads, where the address is another site's.
  const Value lowest = b.op2(Op::and_, mask, b.inst(Op::neg, Type::i32, {mask}));
  const Value number = b.select(known, b.op2(Op::lshr, latest, b.i32(kThreadShift)),
                                b.inst(Op::find_msb, Type::i32, {lowest}));
  std::vector<Value> words = {
      b.inst(Op::popcount, Type::i32, {mask}), b.inst(Op::zext, Type::i32, {known}),
      b.inst(Op::trunc, Type::i32, {address}), b.inst(Op::high, Type::i32, {address})};
  for (const Value id : ids(number)) words.push_back(id);
  if (others_) {
    const Value other = pick(b, site, others);
    words.push_back(b.inst(Op::trunc, Type::i32, {other}));
    words.push_back(b.inst(Op::high, Type::i32, {other}));
  }
  const Value done = add_record_word(b, log_, site, at, words);
  b.set(at_word, b.select(done, b.i32(0), b.op2(Op::add, at, b.i32(1))));
  b.set(at_site, b.op2(Op::add, site, b.inst(Op::zext, Type::i32, {done})));
  b.br(loop);
  b.at(last);
}

}  // namespace ptx2spv::passes
