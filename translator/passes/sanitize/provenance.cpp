#include "translator/passes/sanitize/provenance.hpp"

#include <algorithm>

#include "ptx2spv/abi_sanitizer.hpp"
namespace ptx2spv::passes {

std::optional<std::uint64_t> constant_address(const Function& function, Value address) {
  const Inst& inst = function.insts[address];
  if (inst.op == Op::constant) return inst.imm;
  if (inst.op == Op::trunc) {
    const auto whole = constant_address(function, function.arg(address, 0));
    return whole ? std::optional(*whole & 0xffffffffu) : std::nullopt;
  }
  if (inst.op != Op::add) return std::nullopt;
  const auto a = constant_address(function, function.arg(address, 0)),
             b = constant_address(function, function.arg(address, 1));
  if (!a || !b) return std::nullopt;
  return inst.type == Type::i32 ? (*a + *b) & 0xffffffffu : *a + *b;
}

Provenance::State Provenance::root_state(Root root) {
  const auto found = std::find(roots_.begin(), roots_.end(), root);
  if (found == roots_.end()) {
    roots_.push_back(root);
    return kFirstRoot + static_cast<State>(roots_.size() - 1);
  }
  return kFirstRoot + static_cast<State>(found - roots_.begin());
}

Provenance::State Provenance::join(State a, State b) {
  if (a > b) std::swap(a, b);
  if (a <= kNull || a == b) return b;
  return a == kInteger && b < kUnknown ? b : kUnknown;
}

Provenance::State Provenance::sum(State a, State b) {
  if (a > b) std::swap(a, b);
  if (a == kNone) return kNone;
  if (a <= kInteger) return std::max(b, kInteger);
  return a == kDistance && b == kDistance ? kDistance : kUnknown;
}

Provenance::State Provenance::difference(State a, State b) const {
  if (a == kNone || b == kNone) return kNone;
  if (b <= kInteger) return std::max(a, kInteger);
  if (a >= kFirstRoot && b >= kFirstRoot) return a == b ? kInteger : kDistance;
  return a <= kDistance && a != kLoaded ? kDistance : kUnknown;
}

/// What other arithmetic makes. Indices are parameters or loaded from memory too, and scaled.
Provenance::State Provenance::made_of(Value value) const {
  if (f_.insts[value].type == Type::i1) return kInteger;
  for (const Value arg : f_.args(value))
    if (values_[arg] == kDistance || values_[arg] == kUnknown) return kDistance;
  return kInteger;
}

/// Pointers lie in parameters, as words of 64 bits. Other memory holds any.
Provenance::State Provenance::of_load(Value value) {
  const Inst& inst = f_.insts[value];
  if (inst.type != Type::i64 || inst.mem.space == Space::push) return kInteger;
  if (inst.mem.space != Space::param) return kLoaded;
  const auto offset = constant_address(f_, f_.arg(value, 0));
  if (!offset) return kLoaded;
  return root_state({Root::Kind::param, static_cast<std::uint32_t>(*offset)});
}

Provenance::State Provenance::transfer(Value value) {
  const Inst& inst = f_.insts[value];
  const auto arg = [&](unsigned i) { return values_[f_.arg(value, i)]; };
  switch (inst.op) {
    case Op::constant:
      if (inst.object) return root_state({Root::Kind::object, inst.object - 1u});
      return inst.imm == 0 ? kNull : kInteger;
    case Op::get_var: return vars_[inst.imm];
    case Op::load: return of_load(value);
    case Op::add:
    case Op::or_:   // an addition, where no bit is in both
    case Op::and_:  // a mask aligns a pointer
      return sum(arg(0), arg(1));
    case Op::sub: return difference(arg(0), arg(1));
    case Op::xor_: {
      const bool pointers = arg(0) >= kFirstRoot && arg(1) >= kFirstRoot;
      return pointers && inst.type != Type::i1 ? kDistance : made_of(value);
    }
    case Op::zext:
    case Op::sext:
    case Op::trunc: return arg(0);
    case Op::shl: {
      // A scaled index is shifted by a constant, a bit field by any number.
      const Inst& by = f_.insts[f_.arg(value, 1)];
      if (by.op == Op::constant) return by.imm == 0 ? arg(0) : made_of(value);
      return arg(0) >= kFirstRoot ? kDistance : made_of(value);
    }
    case Op::pack: {
      // The high word of a generic address of shared or local memory is a constant.
      if (arg(0) == kNone) return kNone;
      if (arg(0) >= kFirstRoot) return arg(0);
      const Op high = f_.insts[f_.arg(value, 1)].op;
      // A product of twice the width, as of mul.wide. Other pairs of words may be a pointer.
      if (high == Op::mulhi_u || high == Op::mulhi_s) return kInteger;
      return high == Op::constant ? arg(0) : kUnknown;
    }
    case Op::select: return join(arg(1), arg(2));
    case Op::umin:
    case Op::umax:
    case Op::smin:
    case Op::smax: return join(arg(0), arg(1));
    case Op::atomic:
    case Op::atomic_cas: return inst.type == Type::i64 ? kLoaded : kInteger;
    case Op::library:
    case Op::image_load:
    case Op::image_atomic:
    case Op::surf_load:
    case Op::surf_reduce: return kUnknown;
    default: return made_of(value);
  }
}

Provenance::Provenance(const Function& function)
    : f_(function), values_(function.insts.size()), vars_(function.vars.size()) {
  // Who reads a value or a variable looks again when that changes.
  std::vector<std::vector<Value>> users(f_.insts.size()), readers(f_.vars.size());
  std::vector<Value> work;
  for (const Block& block : f_.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = f_.insts[v];
      if (inst.op == Op::get_var) readers[inst.imm].push_back(v);
      for (const Value a : f_.args(v)) users[a].push_back(v);
      work.push_back(v);
    }
  std::reverse(work.begin(), work.end());
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    const Inst& inst = f_.insts[v];
    if (inst.op == Op::set_var) {
      State& var = vars_[inst.imm];
      const State now = join(var, values_[f_.arg(v, 0)]);
      if (now == var) continue;
      var = now;
      work.insert(work.end(), readers[inst.imm].begin(), readers[inst.imm].end());
      continue;
    }
    if (inst.type == Type::none) continue;
    const State now = join(values_[v], transfer(v));
    if (now == values_[v]) continue;
    values_[v] = now;
    work.insert(work.end(), users[v].begin(), users[v].end());
  }
}

Provenance::Root Provenance::root(Value address) const {
  const State state = values_[address];
  return state >= kFirstRoot ? roots_[state - kFirstRoot] : Root{};
}

namespace {

/// What the shadow of shared memory has to have.
void find_shadow(const Function& function, EntryInfo& entry) {
  for (const MemoryObject& object : entry.sanitizer.objects) {
    if (object.space != MemorySpace::shared) continue;
    const auto end = static_cast<std::uint32_t>(object.offset + object.bytes);
    entry.sanitizer.shadow_shared = std::max(entry.sanitizer.shadow_shared, end);
  }
  constexpr std::uint32_t kMostGranule = 4;
  entry.sanitizer.may_race = true;
  for (const Block& block : function.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = function.insts[v];
      // Threads that wait at mbarrier objects are ordered by those.
      entry.sanitizer.may_race = entry.sanitizer.may_race && inst.op != Op::yield;
      if (inst.mem.origin == Origin::none || inst.mem.space != Space::shared) continue;
      const std::uint32_t bytes = std::min<std::uint32_t>(inst.mem.bytes, kMostGranule);
      entry.sanitizer.shadow_granule =
          entry.sanitizer.shadow_granule ? std::min(entry.sanitizer.shadow_granule, bytes) : bytes;
    }
}

}  // namespace

void find_pointer_params(const Function& function, EntryInfo& entry) {
  const Provenance provenance(function);
  std::vector<std::uint32_t>& params = entry.sanitizer.pointer_params;
  for (const Block& block : function.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = function.insts[v];
      if (inst.mem.origin == Origin::none || inst.mem.space != Space::global) continue;
      const Provenance::Root root = provenance.root(function.arg(v, 0));
      const bool writes = inst.op != Op::load;
      // Of a variable an access does not leave its bounds.
      if (root.kind != Provenance::Root::Kind::param) {
        const bool elsewhere = writes && root.kind == Provenance::Root::Kind::unknown;
        entry.sanitizer.writes_anywhere = entry.sanitizer.writes_anywhere || elsewhere;
        continue;
      }
      auto known = std::find(params.begin(), params.end(), root.index);
      if (known == params.end() && params.size() < abi::kMostPointers)
        known = params.insert(params.end(), root.index);
      if (!writes) continue;
      if (known == params.end())
        entry.sanitizer.writes_anywhere = true;
      else
        entry.sanitizer.written_pointers |= std::uint64_t{1} << (known - params.begin());
    }
  find_shadow(function, entry);
  const auto textures = static_cast<std::uint32_t>(entry.textures.slots.size());
  const std::uint32_t end =
      std::max(entry.param_buffer_bytes,
               textures ? entry.textures.records + textures * abi::kTextureWords * 4 : 0);
  entry.sanitizer.words = (end + 15) / 16 * 16;
}

}  // namespace ptx2spv::passes
