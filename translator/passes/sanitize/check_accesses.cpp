// Accesses that check themselves. Where an address comes from one variable or parameter, its bounds
// are known: of a variable to the translation, of a parameter to the launch. Any other address is
// looked up in the table of allocations, unless it lies where the last of its kind lay.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ptx2spv/abi_sanitizer.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/sanitize/copies.hpp"
#include "translator/passes/sanitize/global_races.hpp"
#include "translator/passes/sanitize/provenance.hpp"
#include "translator/passes/sanitize/sanitize.hpp"
#include "translator/passes/sanitize/shadow.hpp"
#include "translator/passes/sanitize/surface_shadow.hpp"
#include "translator/passes/surface/lower_surfaces.hpp"

namespace ptx2spv::passes {

namespace {

using Root = Provenance::Root;

bool is_checked(const Inst& inst) { return inst.mem.origin != Origin::none && is_access(inst.op); }

/// Of the access that PTX makes.
std::uint32_t checked_bytes(const Inst& inst) {
  return inst.mem.whole ? inst.mem.whole : inst.mem.bytes;
}

bool is_row(const Inst& inst) { return inst.mem.whole && inst.mem.part == inst.mem.whole; }

AccessKind kind_of(Op op) {
  if (op == Op::load) return AccessKind::load;
  return op == Op::store ? AccessKind::store : AccessKind::atomic;
}

MemorySpace space_of(Origin origin) {
  switch (origin) {
    case Origin::global: return MemorySpace::global;
    case Origin::shared: return MemorySpace::shared;
    case Origin::local: return MemorySpace::local;
    case Origin::constant: return MemorySpace::constant;
    case Origin::param: return MemorySpace::param;
    default: return MemorySpace::generic;
  }
}

MemorySpace space_of(Space space) {
  switch (space) {
    case Space::shared: return MemorySpace::shared;
    case Space::local: return MemorySpace::local;
    case Space::constant: return MemorySpace::constant;
    case Space::param: return MemorySpace::param;
    default: return MemorySpace::global;
  }
}

/// An address as register plus constant, for accesses that share a check.
struct AddressTerm {
  std::uint32_t var = 0;
  Value read = 0;  ///< the get_var
  std::uint64_t offset = 0;
};

std::optional<AddressTerm> term_of(const Function& f, Value address) {
  const Inst& inst = f.insts[address];
  if (inst.op == Op::get_var) return AddressTerm{static_cast<std::uint32_t>(inst.imm), address, 0};
  if (inst.op == Op::trunc || inst.op == Op::zext) return term_of(f, f.arg(address, 0));
  if (inst.op != Op::add) return std::nullopt;
  auto base = term_of(f, f.arg(address, 0));
  const auto more = constant_address(f, f.arg(address, 1));
  if (!base || !more) return std::nullopt;
  base->offset += *more;
  return base;
}

class AccessChecks {
 public:
  AccessChecks(Function& function, const Specialization& options, const CheckTarget& target,
               EntryInfo& entry, FaultLog& log)
      : f_(function),
        options_(options),
        target_(target),
        entry_(entry),
        log_(log),
        provenance_(function),
        copies_(function),
        prologue_(function),
        rw_(function),
        b_(rw_.builder()) {}

  void run() {
    const std::uint32_t sites = count_sites();
    if (sites == 0) return;
    measure();
    log_.sites = sites;
    log_.words = entry_.sanitizer.words;
    scratch_ = prologue_.new_block();
    prologue_.at(scratch_);
    const std::vector<bool> acquires = find_acquires(f_);
    const bool any_acquire = std::find(acquires.begin(), acquires.end(), true) != acquires.end();
    if (any_shared_ && (options_.checks & (check_init | check_race)))
      shadow_.emplace(f_, entry_, races(), any_acquire, prologue_, target_.atomics64);
    if (any_surface_) surfaces_.emplace(f_, entry_, prologue_);
    if ((any_global_ || any_surface_) && asks(check_race))
      global_.emplace(f_, entry_.sanitizer.words, any_acquire, prologue_, target_.atomics64);
    const auto blocks = static_cast<BlockId>(f_.blocks.size());
    std::vector<BlockId> first_of(f_.insts.size(), kNoBlock);
    for (BlockId block = 0; block < blocks; ++block)
      for (const Value v : f_.blocks[block].insts) first_of[v] = block;
    BlockId current = kNoBlock;
    rw_.run([&](Value value) {
      if (value < first_of.size() && first_of[value] != current) {
        current = first_of[value];
        known_.clear();
      }
      // A copy: checks add instructions, which moves the others.
      const Inst inst = f_.insts[value];
      const auto var = static_cast<std::uint32_t>(inst.imm);
      if (inst.op == Op::set_var) ++versions_[var];
      if (inst.op == Op::get_var) read_version_[value] = versions_[var];
      const bool barrier = inst.op == Op::bar_sync;
      if (is_checked(inst) && (!safe(value) || shadowed(inst))) {
        check(value);
      } else {
        if (shadowed_surface(inst)) check_surface(value);
        if (fetches(inst)) return check_fetch(value);
        if (other_kind(inst)) return check_kind(value);
        rw_.keep(value);
        if (asks(check_init)) copies_.follow(f_, b_, prologue_, value);
      }
      if (barrier && shadow_) shadow_->next_epoch(b_);
      if (barrier && global_) global_->next_epoch(b_);
      if (value < acquires.size() && acquires[value]) {
        if (shadow_) shadow_->acquire(b_);
        if (global_) global_->acquire(b_);
      }
    });
    std::vector<Value>& entry = f_.blocks[0].insts;
    const std::vector<Value> before = std::move(f_.blocks[scratch_].insts);
    entry.insert(entry.begin(), before.begin(), before.end());
    f_.blocks[scratch_].insts.clear();
    f_.blocks[scratch_].term = Term::unreachable;
    if (local_bit_bytes_) clear_local_bits();
  }

 private:
  struct Range {
    Value first = 0, bytes = 0;  ///< i64 in global memory, else i32
  };
  struct Verdict {
    Value ok = 0;      ///< i1: the access may be made
    Value offset = 0;  ///< from the start of its allocation, or of shared memory; 0: not asked for
    Value shadow = 0;  ///< of global memory, i64: address of the bitmap or 0; 0: there is none
    Value races = 0;   ///< the same of the race records
  };

  bool asks(std::uint32_t check) const { return (options_.checks & check) != 0; }
  bool races() const {
    return asks(check_race) && entry_.sanitizer.may_race && entry_.sanitizer.shadow_granule;
  }
  /// Whether the bytes have a bit each. Parameters of functions lie in local memory too; their
  /// structures may have holes.
  bool has_bits(const Inst& inst) const {
    if (!asks(check_init)) return false;
    if (inst.mem.space == Space::local) return inst.mem.origin != Origin::param;
    return inst.mem.space == Space::shared || inst.mem.space == Space::global;
  }
  bool asks_init(const Inst& inst) const { return has_bits(inst) && inst.op != Op::store; }
  bool asks_race(const Inst& inst) const {
    return races() && inst.mem.space == Space::shared && !inst.mem.is_volatile;
  }
  bool asks_global_race(const Inst& inst) const {
    return asks(check_race) && inst.mem.space == Space::global && !inst.mem.is_volatile;
  }
  /// Whether an access changes or reads what the shadow has of its memory.
  bool shadowed(const Inst& inst) const {
    return has_bits(inst) || asks_race(inst) || asks_global_race(inst);
  }

  /// Of one access: bounds, bytes that were not written, races.
  std::uint32_t sites_of(Value value) const {
    const Inst& inst = f_.insts[value];
    return (safe(value) ? 0u : 1u) + (asks_init(inst) ? 1u : 0u) +
           (asks_race(inst) || asks_global_race(inst) ? 1u : 0u);
  }

  /// One whose mode allows what check_clamp looks for; lower-surfaces gives it its site.
  bool watched_surface(Value value) const {
    const Inst& inst = f_.insts[value];
    return asks(check_clamp) && is_surface_access(inst.op) &&
           f_.surface_ops[inst.imm].clamp != ClampMode::trap;
  }

  /// One whose surface may be of another geometry; lower-surfaces gives it its site, too.
  bool may_miss(Value value) const { return is_surface_access(f_.insts[value].op); }

  /// One whose width may not be the texel's; lower-surfaces gives it its site, too.
  bool has_width(Value value) const {
    const Op op = f_.insts[value].op;
    return asks(check_width) &&
           (op == Op::surf_load || op == Op::surf_store || op == Op::surf_reduce);
  }

  /// One whose texels have a shadow that is asked for.
  bool shadowed_surface(const Inst& inst) const {
    return (options_.checks & (check_init | check_race)) && is_surface_access(inst.op);
  }

  bool fetches(const Inst& inst) const {
    return inst.op == Op::set_var && f_.vars[inst.imm].name == kFetch;
  }

  /// Where mark_fetches has asked for the texture's kind.
  std::uint32_t other_kind(const Inst& inst) const {
    if (inst.op != Op::set_var || !f_.vars[inst.imm].name.starts_with(kOtherKind)) return 0;
    return static_cast<std::uint32_t>(
        std::stoul(f_.vars[inst.imm].name.substr(std::string_view(kOtherKind).size())));
  }

  std::uint32_t count_sites() {
    std::uint32_t sites = 0;
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts) {
        sites +=
            (watched_surface(v) ? 1u : 0u) + (may_miss(v) ? 1u : 0u) + (has_width(v) ? 1u : 0u);
        sites += fetches(f_.insts[v]) || other_kind(f_.insts[v]) ? 1u : 0u;
        if (shadowed_surface(f_.insts[v])) {
          any_surface_ = true;
          sites += (asks(check_init) ? 1u : 0u) + (asks(check_race) ? 1u : 0u);
        }
        if (!is_checked(f_.insts[v])) continue;
        sites += sites_of(v);
        any_shared_ = any_shared_ || f_.insts[v].mem.space == Space::shared;
        any_global_ = any_global_ || f_.insts[v].mem.space == Space::global;
      }
    return sites;
  }

  const MemoryObject* object_of(const Root& root) const {
    return root.kind == Root::Kind::object ? &entry_.sanitizer.objects[root.index] : nullptr;
  }

  /// Whether the translation sees that an access is within its variable and aligned.
  bool safe(Value value) const {
    const Inst& inst = f_.insts[value];
    if (inst.mem.space == Space::global || is_row(inst)) return false;
    const Value address = f_.arg(value, 0);
    const auto at = constant_address(f_, address);
    const MemoryObject* object = object_of(provenance_.root(address));
    if (!at || !object || object->space != space_of(inst.mem.space) || object->bytes == 0)
      return false;
    const std::uint64_t start = *at - inst.mem.part, bytes = checked_bytes(inst);
    return start % bytes == 0 && start >= object->offset &&
           start - object->offset + bytes <= object->bytes;
  }

  /// The ends of the memories that only one launch or block has, and a place in local memory that
  /// stores may go to.
  void measure() {
    for (const MemoryObject& object : entry_.sanitizer.objects) {
      const std::uint64_t end = object.offset + object.bytes;
      if (object.space == MemorySpace::constant)
        constant_bytes_ = std::max(constant_bytes_, static_cast<std::uint32_t>(end));
    }
    shared_bytes_ = entry_.sanitizer.shadow_shared;
    local_bytes_ = f_.local_bytes;
    bool stores = false;
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        stores = stores || (is_checked(inst) && inst.mem.space == Space::local);
        const bool bits = is_checked(inst) && has_bits(inst) && inst.mem.space == Space::local;
        local_bit_bytes_ = bits ? abi::shadow_init_bytes(f_.local_bytes) : local_bit_bytes_;
        generic_params_ = generic_params_ ||
                          (inst.op == Op::load && inst.mem.space == Space::push &&
                           constant_address(f_, f_.arg(v, 0)) == abi::Push::params_address * 4);
      }
    if (!stores) return;
    local_discard_ = (f_.local_bytes + 15) & ~15u;
    f_.local_bytes = local_discard_ + 16;
    local_bits_ = f_.local_bytes;
    f_.local_bytes += static_cast<std::uint32_t>(local_bit_bytes_ + 15) / 16 * 16;
  }

  /// A loop before everything else.
  void clear_local_bits() {
    Builder b(f_);
    const BlockId start = b.new_block();
    std::swap(f_.blocks[start], f_.blocks[0]);
    f_.vars.push_back({Type::i32, "local.clear", true});
    const auto at = static_cast<std::uint32_t>(f_.vars.size() - 1);
    const BlockId header = b.new_block(), body = b.new_block();
    b.at(0);
    b.set(at, b.i32(local_bits_));
    b.br(header);
    b.at(header);
    f_.blocks[header].bounded = true;
    b.cond_br(b.cmp(Op::ult, b.get(at), b.i32(f_.local_bytes)), body, start);
    b.at(body);
    b.store(b.get(at), b.i32(0), {.space = Space::local, .bytes = 4});
    b.set(at, b.op2(Op::add, b.get(at), b.i32(4)));
    b.br(header);
  }

  Value word(Builder& b, std::uint32_t which) {
    return b.load(Type::i64, b.i32(entry_.sanitizer.words + which * 4),
                  {.space = Space::param, .bytes = 8, .readonly = true});
  }

  /// Bytes of dynamic shared memory as a launch has them.
  Value dynamic_end(Builder& b, std::uint32_t from) {
    return b.op2(Op::add, b.i32(from), push_word(b, abi::Push::dynamic_shared, Type::i32));
  }

  /// Where an access of shared, local, parameter or constant memory has to lie.
  Range own_range(Builder& b, Space space, const MemoryObject* object) {
    const auto fixed = [&](std::uint64_t first, std::uint64_t bytes) {
      return Range{b.i32(static_cast<std::uint32_t>(first)),
                   b.i32(static_cast<std::uint32_t>(bytes))};
    };
    if (object && object->bytes) return fixed(object->offset, object->bytes);
    if (object)
      return {b.i32(static_cast<std::uint32_t>(object->offset)),
              push_word(b, abi::Push::dynamic_shared, Type::i32)};
    switch (space) {
      case Space::shared:
        return f_.uses_dynamic_shared ? Range{b.i32(0), dynamic_end(b, shared_bytes_)}
                                      : fixed(0, shared_bytes_);
      case Space::local: return fixed(0, local_bytes_);
      case Space::param: return fixed(0, entry_.param_bytes);
      default: return fixed(0, constant_bytes_);
    }
  }

  /// `value` lies in the range with `bytes` more bytes behind it.
  Value inside(Builder& b, Value value, const Range& range, unsigned bytes) {
    return b.cmp(Op::ult, b.op2(Op::sub, value, range.first), starts(b, range.bytes, bytes));
  }

  /// How many bytes of a range an access of `bytes` may start at.
  Value starts(Builder& b, Value size, unsigned bytes) {
    if (bytes == 1) return size;
    const bool wide = f_.insts[size].type == Type::i64;
    const Value less = wide ? b.i64(bytes - 1) : b.i32(bytes - 1);
    const Value zero = wide ? b.i64(0) : b.i32(0);
    return b.select(b.cmp(Op::ult, less, size), b.op2(Op::sub, size, less), zero);
  }

  Value aligned(Value address, unsigned bytes) {
    const bool wide = f_.insts[address].type == Type::i64;
    const Value low = wide ? b_.inst(Op::trunc, Type::i32, {address}) : address;
    return b_.cmp(Op::eq, b_.op2(Op::and_, low, b_.i32(bytes - 1)), b_.i32(0));
  }

  /// Where the access starts that PTX makes. Of a row of a matrix (`part` is all of it) every
  /// thread has another part, which is added to the start.
  Value start_of(Value address, const Inst& inst) {
    if (!inst.mem.part) return address;
    if (!is_row(inst)) return b_.op2(Op::sub, address, part_of(address, inst));
    return f_.insts[address].op == Op::add ? f_.arg(address, 0) : address;
  }

  /// How far an access of an address's type stands from the start of what it is a part of.
  Value part_of(Value address, const Inst& inst) {
    return f_.insts[address].type == Type::i64 ? b_.i64(inst.mem.part) : b_.i32(inst.mem.part);
  }

  /// A range that the prologue reads once for the thread.
  Range pointer_range(std::uint32_t pointer, unsigned bytes) {
    const auto [it, is_new] = pointers_.try_emplace({pointer, bytes});
    if (is_new) {
      const std::uint32_t at = abi::z_pointers + pointer * abi::kPointerWords;
      it->second = {word(prologue_, at), starts(prologue_, word(prologue_, at + 2), bytes)};
    }
    return it->second;
  }

  Verdict in_global(Value address, const Inst& inst, const Root& root) {
    const unsigned bytes = checked_bytes(inst);
    const bool writes = inst.op != Op::load;
    if (const MemoryObject* object = object_of(root)) {
      const Value ok = in_object(address, *object, bytes, writes);
      if (!asks_global_race(inst) || object->space != MemorySpace::global) return {ok};
      const Verdict listed = in_table(address, inst);
      return {b_.op2(Op::and_, ok, listed.ok), listed.offset, 0, listed.races};
    }
    if (root.kind == Root::Kind::param) {
      const auto& params = entry_.sanitizer.pointer_params;
      const auto pointer = static_cast<std::uint32_t>(
          std::find(params.begin(), params.end(), root.index) - params.begin());
      if (pointer < params.size() && (options_.known_pointers >> pointer & 1)) {
        const Range range = pointer_range(pointer, bytes);
        const Value offset = b_.op2(Op::sub, address, range.first);
        const std::uint32_t at = abi::z_pointers + pointer * abi::kPointerWords;
        const bool bits = asks(check_init) && !(options_.whole_pointers >> pointer & 1);
        const bool records = asks_global_race(inst) && !(options_.unraced_pointers >> pointer & 1);
        return {b_.cmp(Op::ult, offset, range.bytes), offset, bits ? word(b_, at + 4) : 0,
                records ? word(b_, at + 6) : 0};
      }
    }
    return in_table(address, inst);
  }

  /// A variable of the module, or a parameter or constant by its generic address.
  Value in_object(Value address, const MemoryObject& object, unsigned bytes, bool writes) {
    std::uint32_t base = abi::Push::globals;
    if (object.space == MemorySpace::constant) base = abi::Push::constants_address;
    if (object.space == MemorySpace::param) base = abi::Push::params_address;
    const bool reachable =
        object.space == MemorySpace::global || (!writes && base != abi::Push::globals);
    // Shared and local memory have windows of their own.
    if (!reachable) return b_.i1(false);
    const Value first = b_.op2(Op::add, push_word(b_, base, Type::i64), b_.i64(object.offset));
    return inside(b_, address, {first, b_.i64(object.bytes)}, bytes);
  }

  /// The allocation that an address was found in last: a pair of registers for each kind of access
  /// and for a few of the registers that addresses come from.
  struct Found {
    std::uint32_t first = 0, bytes = 0, shadow = 0, races = 0;
  };

  const Found& last_found(Value address, bool writes) {
    const std::size_t kMost = target_.several ? 1 : 4;
    const auto term = term_of(f_, address);
    std::uint32_t key = term ? term->var + 1 : 0;
    auto& known = found_key_[writes];
    auto it = std::find(known.begin(), known.end(), key);
    if (it == known.end() && known.size() < kMost) it = known.insert(known.end(), key);
    const std::size_t at =
        it == known.end() ? key % kMost : static_cast<std::size_t>(it - known.begin());
    auto& list = found_[writes];
    while (list.size() <= at) {
      const auto var = [&](const char* name) {
        f_.vars.push_back({Type::i64, name, true});
        prologue_.set(static_cast<std::uint32_t>(f_.vars.size() - 1), prologue_.i64(0));
        return static_cast<std::uint32_t>(f_.vars.size() - 1);
      };
      list.push_back({var("allocation.first"), var("allocation.bytes"), var("allocation.shadow"),
                      var("allocation.races")});
    }
    return list[at];
  }

  Verdict in_table(Value address, const Inst& inst) {
    const unsigned bytes = checked_bytes(inst);
    const bool writes = inst.op != Op::load;
    const Found last = last_found(address, writes);
    const auto held = [&] {
      return inside(b_, address, {b_.get(last.first), b_.get(last.bytes)}, bytes);
    };
    const Value missing = b_.inst(Op::xor_, Type::i1, {held(), b_.i1(true)});
    rw_.when(missing, [&] {
      const Value table = word(b_, abi::z_table);
      const auto entry_at = [&](Value number, std::uint32_t which) {
        const Value offset = b_.op2(
            Op::add, b_.op2(Op::mul, number, b_.i32(abi::kAllocationWords * 4)), b_.i32(which * 4));
        return b_.load(Type::i64, b_.op2(Op::add, table, b_.inst(Op::zext, Type::i64, {offset})),
                       {.space = Space::global, .bytes = 8, .readonly = true});
      };
      // The last entry that begins at the address or before.
      Value number = b_.i32(0);
      for (std::uint32_t step = options_.table_steps; step-- > 0;) {
        const Value further = b_.op2(Op::add, number, b_.i32(1u << step));
        const Value past = b_.cmp(Op::ult, address, entry_at(further, abi::a_first));
        number = b_.select(past, number, further);
      }
      Value first = entry_at(number, abi::a_first);
      Value size = entry_at(number, writes ? abi::a_writable : abi::a_bytes);
      if (generic_params_) {
        // Parameters have an address too, which is the launch's own and not in the table.
        const Value params = push_word(b_, abi::Push::params_address, Type::i64);
        const Value length = b_.i64(writes ? 0 : entry_.param_bytes);
        const Value among = b_.cmp(Op::ult, b_.op2(Op::sub, address, params), length);
        first = b_.select(among, params, first);
        size = b_.select(among, length, size);
      }
      b_.set(last.first, first);
      b_.set(last.bytes, size);
      if (asks(check_init)) b_.set(last.shadow, entry_at(number, abi::a_shadow));
      if (global_) b_.set(last.races, entry_at(number, abi::a_races));
    });
    const Value ok = held();
    if (!shadowed(inst)) return {ok};
    return {ok, b_.op2(Op::sub, address, b_.get(last.first)), b_.get(last.shadow),
            b_.get(last.races)};
  }

  /// Sets what is not set: most bytes are written more than once.
  void set_missing_bits(Value bitmap, const ShadowAccess& access) {
    if (target_.several || b_.function().insts[bitmap].type == Type::i32)
      return set_bits(b_, bitmap, access);
    const Value missing =
        b_.op2(Op::and_, access.ok,
               b_.inst(Op::xor_, Type::i1, {bits_set(b_, bitmap, access), b_.i1(true)}));
    rw_.when(missing, [&] { set_bits(b_, bitmap, access); });
  }

  std::uint32_t add_site(std::uint32_t check, const Inst& inst, const Root& root) {
    AccessSite site;
    site.check = check;
    site.place.line = f_.locs[inst.loc].line;
    site.loc = inst.loc;
    site.kind = kind_of(inst.op);
    site.space = space_of(inst.mem.origin);
    site.memory = space_of(inst.mem.space);
    site.bytes = checked_bytes(inst);
    if (root.kind == Root::Kind::object) site.object = root.index + 1;
    if (root.kind == Root::Kind::param)
      for (const ParamInfo& param : entry_.params)
        if (root.index >= param.offset && root.index < param.offset + param.bytes)
          site.pointer = param.name;
    entry_.sanitizer.sites.push_back(std::move(site));
    return static_cast<std::uint32_t>(entry_.sanitizer.sites.size() - 1);
  }

  /// Whether an access may be made; the fault is noted.
  Verdict verdict(Value value, const Root& root) {
    const Inst inst = f_.insts[value];
    const Value first = f_.arg(value, 0);
    const unsigned bytes = checked_bytes(inst);
    const bool shared = inst.mem.space == Space::shared;
    const bool own = shared || inst.mem.space == Space::local;
    if (safe(value)) return {b_.i1(true), own ? first : 0, 0};
    const Value address = start_of(first, inst);
    const std::uint32_t site = add_site(check_memory, inst, root);
    // What the block has checked already holds as long as the register keeps its value.
    const auto term = term_of(f_, address);
    const auto key = std::tuple(inst.mem.space, term ? term->var : 0u, term ? term->offset : 0u,
                                term ? read_version_[term->read] : 0u, bytes, inst.op != Op::load);
    if (term)
      if (const auto known = known_.find(key); known != known_.end()) {
        note_fault(b_, site, known->second.ok, address);
        return known->second;
      }
    Verdict verdict;
    if (inst.mem.space == Space::global) {
      verdict = in_global(address, inst, root);
      if (inst.mem.part && verdict.offset)
        verdict.offset = b_.op2(Op::add, verdict.offset, part_of(verdict.offset, inst));
    } else {
      const MemoryObject* object = object_of(root);
      if (object && object->space != space_of(inst.mem.space)) object = nullptr;
      verdict.ok = inside(b_, address, own_range(b_, inst.mem.space, object), bytes);
      if (own) verdict.offset = first;
    }
    if (bytes > 1) verdict.ok = b_.op2(Op::and_, verdict.ok, aligned(address, bytes));
    if (term) known_.emplace(key, verdict);
    note_fault(b_, site, verdict.ok, address);
    return verdict;
  }

  /// Bytes that nobody wrote, and races; the access takes its place in the shadow.
  void look_at_shadow(Value value, const Verdict& verdict, const Root& root) {
    const Inst inst = f_.insts[value];
    const Value address = f_.arg(value, 0);
    const bool shared = inst.mem.space == Space::shared, local = inst.mem.space == Space::local;
    ShadowAccess access{verdict.ok, verdict.offset, inst.mem.bytes, kind_of(inst.op)};
    Value bitmap = shared && shadow_ ? shadow_->base() : verdict.shadow;
    if (local) bitmap = b_.i32(local_bits_), access.spare = local_discard_;
    if (!shared && !local && bitmap)
      access.ok = b_.op2(Op::and_, access.ok, b_.cmp(Op::ne, bitmap, b_.i64(0)));
    if (!has_bits(inst)) bitmap = 0;
    if (asks_init(inst) && bitmap) {
      const std::uint32_t site = add_site(check_init, inst, root);
      note_fault(b_, site, written(value, inst, bitmap, access), address);
    }
    if (bitmap && inst.op != Op::load) set_missing_bits(bitmap, access);
    if (bitmap && inst.op == Op::store)
      if (const Value missing = copies_.missing(f_.arg(value, 1)))
        rw_.when(b_.cmp(Op::ne, missing, b_.i32(0)),
                 [&] { clear_bits(b_, bitmap, access, missing); });
    if (asks_race(inst)) {
      const std::uint32_t site = add_site(check_race, inst, root);
      const RaceRecords::Race race = shadow_->race(b_, access, site);
      const Value other = SharedShadow::other(b_, race);
      note_fault(b_, site, race.ok, b_.inst(Op::pack, Type::i64, {address, other}));
    }
    access.ok = verdict.ok;
    if (asks_global_race(inst)) look_at_global_records(access, verdict, inst, root, address);
  }

  /// A generic store is one of each space, of which a pointer to a variable takes one.
  bool is_local(Value store) const {
    const MemoryObject* object = object_of(provenance_.root(f_.arg(store, 0)));
    return object ? object->space == MemorySpace::local
                  : f_.insts[store].mem.space == Space::local &&
                        f_.insts[store].mem.origin == Origin::local;
  }

  /// Whether what is read and used has been written. Of structures that are copied the padding has
  /// not, which a copy is no use of. A copy of what nobody wrote at all is a finding,
  /// unless it stays in local memory.
  Value written(Value value, const Inst& inst, Value bitmap, ShadowAccess access) {
    const std::uint32_t bytes = (1u << access.bytes) - 1,
                        used = inst.op == Op::load ? copies_.used_bytes(value) & bytes : bytes;
    const bool stays = inst.op == Op::load && inst.mem.space == Space::local &&
                       copies_.stays_local(f_, value, [&](Value store) { return is_local(store); });
    if (used == bytes) return stays ? b_.i1(true) : bits_set(b_, bitmap, access);
    const Value missing = missing_bits(b_, bitmap, access);
    copies_.set_missing(value, b_.op2(Op::and_, missing, b_.i32(bytes & ~used)));
    if (stays) return b_.i1(true);
    if (used) return b_.cmp(Op::eq, b_.op2(Op::and_, missing, b_.i32(used)), b_.i32(0));
    access.bytes = std::min(checked_bytes(inst), 16u);
    const bool far = f_.insts[access.offset].type == Type::i64;
    const std::uint64_t down = ~std::uint64_t{access.bytes - 1};
    access.offset = b_.op2(Op::and_, access.offset,
                           far ? b_.i64(down) : b_.i32(static_cast<std::uint32_t>(down)));
    return any_bit_set(b_, bitmap, access);
  }

  void look_at_global_records(const ShadowAccess& access, const Verdict& verdict, const Inst& inst,
                              const Root& root, Value address) {
    // Parameters and constants have no records, which have so many bits for a site.
    if (!verdict.races || entry_.sanitizer.sites.size() > abi::g_site) return;
    note_global_race(access, verdict.races, add_site(check_race, inst, root), address);
  }

  void note_global_race(const ShadowAccess& access, Value records, std::uint32_t site,
                        Value address) {
    const RaceRecords::Race race = global_->race(b_, access, records, site);
    const Value mark =
        b_.op2(Op::or_, b_.op2(Op::and_, race.mark, b_.i32(abi::g_site)), b_.i32(site << 16));
    note_fault(b_, site, race.ok, address, b_.inst(Op::pack, Type::i64, {race.who, mark}));
  }

  std::uint32_t texture_site(Value value, std::uint32_t kind) {
    AccessSite site;
    site.place.line = f_.locs[f_.insts[value].loc].line;
    if (!kind) site.place.coordinates = {"x"};
    site.loc = f_.insts[value].loc;
    site.space = site.memory = MemorySpace::texture;
    site.geometry = static_cast<std::uint8_t>(kind);
    entry_.sanitizer.sites.push_back(std::move(site));
    return static_cast<std::uint32_t>(entry_.sanitizer.sites.size() - 1);
  }

  /// What mark_fetches has found: whether a texture of linear memory has the texel, and its number.
  void check_fetch(Value value) {
    const Value mark = f_.arg(value, 0);
    const Value ok = b_.cmp(Op::ne, b_.inst(Op::high, Type::i32, {mark}), b_.i32(0));
    note_fault(b_, texture_site(value, 0), ok, b_.inst(Op::trunc, Type::i32, {mark}));
  }

  /// And whether the texture has anything for the instruction.
  void check_kind(Value value) {
    const Value handle = f_.arg(value, 0);
    const std::uint32_t site = texture_site(value, other_kind(f_.insts[value]));
    note_fault(b_, site, b_.cmp(Op::eq, handle, b_.i64(0)), handle);
  }

  /// Texels that nobody wrote, and races for them. The access itself is made as ever.
  void check_surface(Value value) {
    const auto has = [slot = surfaces_->slot(value)](std::uint64_t slots) {
      return slot && *slot < 64 && (slots >> *slot & 1) != 0;
    };
    const bool init = asks(check_init) && !has(options_.whole_slots),
               race = asks(check_race) && !has(options_.unraced_slots);
    if (!init && !race) return;
    const SurfaceShadow::Access access = surfaces_->locate(b_, value);
    const auto new_site = [&](std::uint32_t check) {
      entry_.sanitizer.sites.push_back(surface_site(f_, value, check, access.surface));
      return static_cast<std::uint32_t>(entry_.sanitizer.sites.size() - 1);
    };
    if (init) {
      ShadowAccess bits = access.bytes;
      bits.ok = b_.op2(Op::and_, bits.ok, b_.cmp(Op::ne, access.bitmap, b_.i64(0)));
      if (bits.kind != AccessKind::store) {
        const std::uint32_t site = new_site(check_init);
        note_fault(b_, site, bits_set(b_, access.bitmap, bits), access.place);
      }
      if (bits.kind != AccessKind::load) set_missing_bits(access.bitmap, bits);
    }
    if (race && entry_.sanitizer.sites.size() <= abi::g_site)
      note_global_race(access.bytes, access.records, new_site(check_race), access.place);
  }

  Value zero(Type type) {
    if (type != Type::v4) return type == Type::i64 ? b_.i64(0) : b_.i32(0);
    const Value none = b_.i32(0);
    return b_.inst(Op::compose, Type::v4, {none, none, none, none});
  }

  /// A copy of the access at `address`, as a value of its own.
  Value copy(Value value, Value address) {
    std::vector<Value> args(f_.args(value).begin(), f_.args(value).end());
    args[0] = address;
    const Inst inst = f_.insts[value];
    const Value made = b_.inst(inst.op, inst.type, args, inst.imm);
    b_.last(made).mem = inst.mem;
    b_.last(made).mem.origin = Origin::none;
    return made;
  }

  void check(Value value) {
    const Inst inst = f_.insts[value];
    const Root root = provenance_.root(f_.arg(value, 0));
    const Verdict checked = verdict(value, root);
    if (shadowed(inst)) look_at_shadow(value, checked, root);
    const Value ok = checked.ok;
    const Value address = f_.arg(value, 0);
    const bool writes = inst.op != Op::load;
    const bool writes_shared = writes && inst.mem.space == Space::shared;
    if (writes_shared && !target_.stores_end) return check_shared_store(value, ok);
    Value elsewhere = b_.i32(writes_shared ? ~0u : 0);
    if (inst.mem.space == Space::global)
      elsewhere = push_word(b_, abi::Push::discard, Type::i64);
    else if (writes)
      elsewhere = b_.i32(local_discard_);
    const Value made = copy(value, b_.select(ok, address, elsewhere));
    if (inst.type != Type::none)
      rw_.replace(value, Op::select, inst.type, {ok, made, zero(inst.type)});
  }

  /// Shared memory has no place that nobody reads: its size is the launch's. Devices do not say
  /// what stores past its end do.
  void check_shared_store(Value value, Value ok) {
    const Inst inst = f_.insts[value];
    const Value address = f_.arg(value, 0);
    std::uint32_t result = 0;
    if (inst.type != Type::none) {
      f_.vars.push_back({inst.type, "checked"});
      result = static_cast<std::uint32_t>(f_.vars.size() - 1);
      b_.set(result, zero(inst.type));
    }
    rw_.when(ok, [&] {
      const Value made = copy(value, address);
      if (inst.type != Type::none) b_.set(result, made);
    });
    if (inst.type != Type::none) rw_.replace(value, Op::get_var, inst.type, {}, result);
  }

  Function& f_;
  const Specialization& options_;
  const CheckTarget& target_;
  EntryInfo& entry_;
  FaultLog& log_;
  const Provenance provenance_;
  Copies copies_;
  Builder prologue_;
  CfgRewriter rw_;
  Builder& b_;
  BlockId scratch_ = kNoBlock;
  std::optional<SharedShadow> shadow_;
  std::optional<GlobalRaces> global_;
  std::optional<SurfaceShadow> surfaces_;
  bool any_shared_ = false, any_global_ = false, any_surface_ = false;
  std::uint32_t shared_bytes_ = 0, constant_bytes_ = 0, local_bytes_ = 0, local_discard_ = 0;
  std::uint32_t local_bits_ = 0;       ///< where the bits of local memory lie, behind it
  std::uint64_t local_bit_bytes_ = 0;  ///< 0: nobody looks at them
  bool generic_params_ = false;        ///< the kernel takes the address of its parameters
  std::map<std::pair<std::uint32_t, unsigned>, Range> pointers_;
  std::unordered_map<std::uint32_t, std::uint32_t> versions_;  ///< of registers: how often set
  std::unordered_map<Value, std::uint32_t> read_version_;      ///< that a get_var reads
  std::map<std::tuple<Space, std::uint32_t, std::uint64_t, std::uint32_t, unsigned, bool>, Verdict>
      known_;  ///< of the block
  std::array<std::vector<std::uint32_t>, 2> found_key_;
  std::array<std::vector<Found>, 2> found_;
};

}  // namespace

void check_accesses(Function& function, const Specialization& options, const CheckTarget& target,
                    EntryInfo& entry, FaultLog& log) {
  entry.sanitizer.sites.clear();
  AccessChecks(function, options, target, entry, log).run();
  const bool sync = (options.checks & check_sync) != 0;
  // What synchronisation promises is looked at where threads are cut up.
  forget_origins(function, sync);
  if (sync && (entry.sync.barriers || entry.sync.warp_operations)) log.worked = mark_work(function);
}

}  // namespace ptx2spv::passes
