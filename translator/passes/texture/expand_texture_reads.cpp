#include "translator/passes/texture/expand_texture_reads.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "translator/ir/cfg.hpp"
#include "translator/ir/loops.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/surface/surface_record.hpp"
#include "translator/passes/texture/sampled_reads.hpp"
#include "translator/passes/texture/texture_records.hpp"

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kUnknown = 0xffffffffu;
/// Reads past so many times the budget share across loops, whatever that costs.
constexpr std::uint64_t kFarPast = 8;

/// What reads have in common that can share: the routine and, of known textures, the parameters.
struct Kind {
  std::uint32_t routine = 0;
  std::vector<std::uint32_t> records;  ///< by record operand: the parameter's offset, or kUnknown
  auto operator<=>(const Kind&) const = default;
};

struct Site {
  Value read = 0;
  BlockId block = 0;
  Kind kind;
  std::uint32_t slot = kUnknown;     ///< of a read by the device's sampler
  const TableSpec* table = nullptr;  ///< samplers read what its handle, out of memory, names
  std::uint32_t group = kUnknown;    ///< index in groups_, of those that share
  std::uint32_t number = 0;          ///< in its group
};

struct Group {
  std::vector<std::uint32_t> sites;
  std::uint32_t depth = 0;  ///< of the loops around
  std::uint64_t cost = 0;   ///< of one copy
};

bool synchronises(Op op) { return is_barrier(op) || is_within(op, Op::warp_shfl, Op::yield); }

class Expansion {
 public:
  Expansion(Function& f, Module& module, const EntryInfo& entry,
            const std::vector<TextureSpec>& specs, const TableSpecs& table,
            const ReadOptions& options)
      : f_(f),
        module_(module),
        entry_(entry),
        specs_(specs),
        table_(table),
        options_(options),
        b_(f) {}

  void run() {
    find_sites();
    if (!sites_.empty()) {
      share();
      for (const Group& group : groups_) make_shared(group);
      const std::size_t count = f_.blocks.size();
      std::vector<std::vector<std::uint32_t>> of_block(count);
      for (std::uint32_t s = 0; s < sites_.size(); ++s) of_block[sites_[s].block].push_back(s);
      for (BlockId b = 0; b < count; ++b)
        if (!of_block[b].empty()) rebuild(b, of_block[b]);
      finish_shared();
      replace();
      f_.compute_preds();
    }
    fix_texture_records(f_, entry_, specs_);
    lower_texel_loads(f_, module_);
    // What stands before a read is not on every way to what follows the code that reads share.
    if (!groups_.empty()) demote_to_stack(f_);
  }

 private:
  struct Body {  ///< of a group: where it starts, and the variables that go in and out
    BlockId start = 0;
    std::vector<std::uint32_t> vars;  ///< by operand; kUnknown: known without
    std::uint32_t number = 0, result = 0;
    BlockId end = 0;
    std::vector<BlockId> behind;  ///< by site: where it goes on
  };

  std::uint32_t slot_of(std::uint32_t offset) const {
    const auto slot = std::ranges::find(entry_.textures.slots, offset);
    return static_cast<std::uint32_t>(slot - entry_.textures.slots.begin());
  }
  /// Of the texture whose handle is the parameter at `offset`.
  TextureSpec spec(std::uint32_t offset) const {
    const std::uint32_t at = slot_of(offset);
    return at < specs_.size() ? specs_[at] : TextureSpec{};
  }

  void find_sites() {
    std::optional<HandleTracer> tracer;
    for (BlockId b = 0; b < f_.blocks.size(); ++b)
      for (const Value v : f_.blocks[b].insts) {
        if (f_.insts[v].op != Op::texture_read) continue;
        if (!tracer) tracer.emplace(f_);
        Site site{.read = v, .block = b};
        site.kind.routine = static_cast<std::uint32_t>(f_.insts[v].imm);
        // The second operand is the sampler's record, or a coordinate, which is none.
        for (std::uint32_t i = 0; i < 2 && i < f_.insts[v].count; ++i) {
          const auto offset = record_parameter(*tracer, f_, f_.arg(v, i));
          site.kind.records.push_back(offset && spec(*offset).known ? *offset : kUnknown);
          if (i == 0 && offset && spec(*offset).unit == TextureUnit::sampler)
            site.slot = slot_of(*offset);
          if (i == 0 && !offset) find_in_table(site);
        }
        sites_.push_back(std::move(site));
      }
  }

  void find_in_table(Site& site) const {
    if (std::ranges::all_of(table_, [](const TableSpec& each) { return each.texels == 0; })) return;
    const TextureUse& use = module_.texture_ops[site.kind.routine].use;
    if (use.integer || use.offset || use.sampler_apart) return;
    const auto geometry = static_cast<std::size_t>(use.geometry);
    if (geometry >= table_.size() || table_[geometry].texels == 0) return;
    site.table = &table_[geometry];
  }

  /// Whether no shader's code reads there.
  static bool sampled(const Site& site) {
    return site.slot != kUnknown || (site.table && !site.table->mixed);
  }

  // --- which reads share ---

  /// What a read comes to, made for its texture. Alike textures are measured once.
  std::uint64_t cost(const Kind& kind) {
    std::pair<std::uint32_t, std::vector<TextureSpec>> alike{kind.routine, {}};
    for (const std::uint32_t record : kind.records)
      alike.second.push_back(record == kUnknown ? TextureSpec{} : spec(record));
    for (const auto& [known, cost] : costs_)
      if (known == alike) return cost;
    Function alone = sample(kind);
    fix_texture_records(alone, entry_, specs_);
    lower_texel_loads(alone, module_);
    costs_.emplace_back(std::move(alike), options_.measure(alone));
    return costs_.back().second;
  }

  /// A function with nothing but such a read, of operands that nobody knows.
  Function sample(const Kind& kind) const {
    const Function& routine = module_.routines[kind.routine];
    Function alone;
    Builder b(alone);
    b.at(b.new_block());
    std::vector<Value> operands;
    for (std::uint32_t i = 0; i < routine.param_vars.size(); ++i) {
      const bool record = i < kind.records.size() && kind.records[i] != kUnknown;
      const std::uint32_t offset = record ? kind.records[i] : i * 4;
      const MemAttr from{.space = record ? Space::param : Space::local,
                         .bytes = static_cast<std::uint8_t>(record ? 8 : 4),
                         .readonly = record};
      const Value loaded = b.load(record ? Type::i64 : Type::i32, b.i32(offset), from);
      operands.push_back(
          record ? record_place(b, b.inst(Op::trunc, Type::i32, {loaded}), b.i1(true)) : loaded);
    }
    alone.local_bytes = 256;
    std::vector<std::uint32_t> vars;
    const Value result = copy_in(alone, b, routine, operands, vars);
    b.store(b.i32(0), result, {.space = Space::local, .bytes = 16});
    b.exit();
    alone.compute_preds();
    return alone;
  }

  /// By site: where its read stands among loops and barriers. Reads that share lie in one loop and
  /// have no barrier on a way from one to another, so that no barrier comes into a loop.
  std::vector<std::pair<BlockId, std::uint32_t>> places(const Loops& loops) const {
    std::vector<std::uint32_t> passed(f_.blocks.size(), 0), inside(f_.blocks.size(), 0);
    bool any = false;
    for (BlockId b = 0; b < f_.blocks.size(); ++b) {
      inside[b] = static_cast<std::uint32_t>(std::ranges::count_if(
          f_.blocks[b].insts, [&](Value v) { return synchronises(f_.insts[v].op); }));
      any = any || inside[b] != 0;
    }
    if (any) {
      const std::vector<BlockId> order = reverse_postorder(f_, false);
      std::vector<std::uint32_t> at(f_.blocks.size(), 0);
      for (std::uint32_t i = 0; i < order.size(); ++i) at[order[i]] = i;
      for (const BlockId b : order) {
        const std::uint32_t so_far =
            passed[b] + inside[b] + static_cast<std::uint32_t>(loops.innermost[b] == b);
        for (const BlockId s : f_.blocks[b].succs)
          if (at[s] > at[b]) passed[s] = std::max(passed[s], so_far);
      }
    }
    std::vector<std::pair<BlockId, std::uint32_t>> found;
    for (auto site = sites_.begin(); site != sites_.end();) {
      const BlockId b = site->block;
      std::uint32_t barriers = passed[b];
      for (const Value v : f_.blocks[b].insts) {
        barriers += static_cast<std::uint32_t>(synchronises(f_.insts[v].op));
        if (site == sites_.end() || site->read != v) continue;
        found.emplace_back(loops.innermost[b], barriers);
        ++site;
      }
    }
    return found;
  }

  void share() {
    // Simplifying takes away what is known; without, it is the most that they come to.
    if (sites_.size() < 2 || most() <= options_.budget) return;
    std::uint64_t total = sum_of_costs();
    if (total <= options_.budget) return;
    f_.compute_preds();
    const Loops loops(f_);
    const auto place = places(loops);
    const std::uint64_t much = kFarPast * options_.budget;
    const bool far_past = total > much;
    form_groups(loops, place, far_past, false);
    if (total_of(total) > much) {
      // Reads of several textures share too, as if none were known.
      for (Site& site : sites_) std::ranges::fill(site.kind.records, kUnknown);
      total = sum_of_costs();
      form_groups(loops, place, far_past, false);
    }
    const bool spread = std::ranges::all_of(place, [](const auto& p) { return p.second == 0; });
    if (spread && total_of(total) > much) form_groups(loops, place, far_past, true);
    // What is left of the budget goes to the innermost loops.
    std::ranges::stable_sort(groups_, [](const Group& a, const Group& b) {
      return a.depth != b.depth ? a.depth > b.depth
                                : a.cost * (a.sites.size() - 1) < b.cost * (b.sites.size() - 1);
    });
    std::uint64_t sum = total_of(total);
    std::erase_if(groups_, [&](const Group& group) {
      const std::uint64_t more = group.cost * (group.sites.size() - 1);
      if (sum + more > options_.budget) return false;
      sum += more;
      return true;
    });
    for (std::uint32_t g = 0; g < groups_.size(); ++g)
      for (std::uint32_t k = 0; k < groups_[g].sites.size(); ++k) {
        sites_[groups_[g].sites[k]].group = g;
        sites_[groups_[g].sites[k]].number = k;
      }
  }

  std::uint64_t most() const {
    std::map<std::uint32_t, std::uint64_t> of_routine;
    std::uint64_t sum = 0;
    for (const Site& site : sites_) {
      if (sampled(site)) continue;
      const auto [at, fresh] = of_routine.emplace(site.kind.routine, 0);
      if (fresh) at->second = options_.count(module_.routines[site.kind.routine]);
      sum += at->second;
    }
    return sum;
  }

  std::uint64_t sum_of_costs() {
    std::map<Kind, std::uint64_t> of_kind;
    std::uint64_t sum = 0;
    for (const Site& site : sites_) {
      if (sampled(site)) continue;
      const auto [at, fresh] = of_kind.emplace(site.kind, 0);
      if (fresh) at->second = cost(site.kind);
      sum += at->second;
    }
    return sum;
  }

  std::uint64_t total_of(std::uint64_t total) const {
    for (const Group& group : groups_) total -= group.cost * (group.sites.size() - 1);
    return total;
  }

  /// `across`: reads of different loops share too.
  void form_groups(const Loops& loops, const std::vector<std::pair<BlockId, std::uint32_t>>& place,
                   bool far_past, bool across) {
    std::map<std::tuple<Kind, BlockId, std::uint32_t>, Group> found;
    for (std::uint32_t s = 0; s < sites_.size(); ++s) {
      if (sampled(sites_[s])) continue;
      const std::uint32_t depth = loops.depth[sites_[s].block];
      if (depth && options_.few_iterations && !far_past) continue;
      Group& group = found[{sites_[s].kind, across ? kNoBlock : place[s].first, place[s].second}];
      group.sites.push_back(s);
      group.depth = std::max(group.depth, depth);
      if (group.cost == 0) group.cost = cost(sites_[s].kind);
    }
    groups_.clear();
    for (auto& [key, group] : found)
      if (group.sites.size() > 1) groups_.push_back(std::move(group));
  }

  // --- the code ---

  /// Copies `routine` to where `b` stands, which goes on behind it; the routine's own variables
  /// become `vars` of `f`, made at the first copy. Result: the read's.
  static Value copy_in(Function& f, Builder& b, const Function& routine,
                       const std::vector<Value>& operands, std::vector<std::uint32_t>& vars) {
    constexpr std::uint32_t kNone = kUnknown - 1;
    if (vars.empty()) {
      vars.assign(routine.vars.size(), kNone);
      for (const std::uint32_t p : routine.param_vars) vars[p] = kUnknown;
      for (const std::uint32_t r : routine.result_vars) vars[r] = kUnknown;
      for (std::uint32_t v = 0; v < vars.size(); ++v) {
        if (vars[v] != kNone) continue;
        vars[v] = static_cast<std::uint32_t>(f.vars.size());
        f.vars.push_back(routine.vars[v]);
      }
    }
    std::vector<std::uint32_t> operand_of(routine.vars.size(), 0);
    for (std::uint32_t i = 0; i < routine.param_vars.size(); ++i)
      operand_of[routine.param_vars[i]] = i;
    std::vector<Value> values(routine.insts.size(), 0);
    const auto value = [&](Value v) {
      if (!values[v]) {
        f.insts.emplace_back();
        values[v] = static_cast<Value>(f.insts.size() - 1);
      }
      return values[v];
    };
    // The parameters are read first, at the start.
    for (const Value v : routine.blocks[0].insts)
      if (const Inst& inst = routine.insts[v]; inst.op == Op::get_var && vars[inst.imm] == kUnknown)
        values[v] = operands[operand_of[inst.imm]];
    std::vector<BlockId> blocks{b.block()};
    for (std::size_t i = 1; i < routine.blocks.size(); ++i) blocks.push_back(b.new_block());
    const BlockId rest = routine.blocks.size() > 1 ? b.new_block() : b.block();
    Value result = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& source = routine.blocks[i];
      for (const Value v : source.insts) {
        Inst inst = routine.insts[v];
        if (inst.op == Op::get_var && vars[inst.imm] == kUnknown) continue;
        if (inst.op == Op::set_var && vars[inst.imm] == kUnknown) {
          result = value(routine.arg(v, 0));
          continue;
        }
        inst.first = static_cast<std::uint32_t>(f.operands.size());
        for (const Value a : routine.args(v)) {
          const Value copied = value(a);
          f.operands.push_back(copied);
        }
        if (inst.op == Op::get_var || inst.op == Op::set_var) inst.imm = vars[inst.imm];
        inst.loc = b.loc();
        const Value copy = value(v);
        f.insts[copy] = inst;
        f.blocks[blocks[i]].insts.push_back(copy);
      }
      if (routine.blocks.size() == 1) break;
      Block& block = f.blocks[blocks[i]];
      block.loc = b.loc();
      if (source.term == Term::ret) {
        block.term = Term::br;
        block.succs = {rest};
        continue;
      }
      block.term = source.term;
      block.cond = source.cond ? value(source.cond) : 0;
      for (const BlockId s : source.succs) block.succs.push_back(blocks[s]);
    }
    b.at(rest);
    return result;
  }

  std::uint32_t new_var(Type type, const char* name) {
    f_.vars.push_back({type, name});
    return static_cast<std::uint32_t>(f_.vars.size() - 1);
  }

  void make_shared(const Group& group) {
    const Site& first = sites_[group.sites[0]];
    Body body;
    body.number = new_var(Type::i32, "texture.return");
    body.result = new_var(Type::v4, "texture.result");
    body.start = b_.new_block();
    body.behind.resize(group.sites.size());
    b_.at(body.start);
    b_.set_loc(f_.insts[first.read].loc);
    // Every iteration of this loop is one read.
    f_.blocks[body.start].bounded = group.depth == 0;
    std::vector<Value> operands;
    const std::vector<Value> args(f_.args(first.read).begin(), f_.args(first.read).end());
    for (std::size_t i = 0; i < args.size(); ++i) {
      // A known texture's record is found by way of its handle, and not read where that stands.
      const bool is_known = i < first.kind.records.size() && first.kind.records[i] != kUnknown;
      body.vars.push_back(is_known ? kUnknown : new_var(Type::i32, "texture.operand"));
      operands.push_back(is_known ? args[i] : b_.get(body.vars.back()));
    }
    const Function& routine = module_.routines[first.kind.routine];
    const Value result = copy_in(f_, b_, routine, operands, routine_vars_[first.kind.routine]);
    b_.set(body.result, result);
    body.end = b_.block();
    bodies_.push_back(std::move(body));
  }

  void finish_shared() {
    for (const Body& body : bodies_) {
      b_.at(body.end);
      const Value number = b_.get(body.number);
      Block& block = f_.blocks[body.end];
      block.term = Term::switch_;
      block.cond = number;
      block.succs = body.behind;
      block.loc = b_.loc();
    }
  }

  /// The block again, with its reads done. What ended it ends its last part.
  void rebuild(BlockId b, const std::vector<std::uint32_t>& sites) {
    const std::vector<Value> insts = std::exchange(f_.blocks[b].insts, {});
    const Term term = std::exchange(f_.blocks[b].term, Term::none);
    const Value cond = std::exchange(f_.blocks[b].cond, 0);
    const std::vector<BlockId> succs = std::exchange(f_.blocks[b].succs, {});
    const std::uint32_t loc = f_.blocks[b].loc;
    b_.at(b);
    auto next = sites.begin();
    for (const Value v : insts) {
      if (next == sites.end() || sites_[*next].read != v) {
        f_.blocks[b_.block()].insts.push_back(v);
        continue;
      }
      const Site& site = sites_[*next++];
      b_.set_loc(f_.insts[v].loc);
      const std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
      replaced_[v] = site.table              ? table_read(site, args)
                     : site.slot != kUnknown ? sampled_slot(site, args)
                                             : shader_read(site, args);
    }
    Block& last = f_.blocks[b_.block()];
    last.term = term;
    last.cond = cond;
    last.succs = succs;
    last.loc = loc;
  }

  Value sampled_slot(const Site& site, const std::vector<Value>& args) {
    SampledTexture texture;
    texture.spec = specs_[site.slot];
    texture.binding = site.slot;
    texture.record = entry_.textures.records + site.slot * abi::kTextureWords * 4;
    texture.fused_fma = options_.fused_fma;
    return sampled_read(b_, module_, module_.texture_ops[site.kind.routine], args, texture);
  }

  /// By the array of textures with such texels.
  Value sampled_element(const Site& site, const std::vector<Value>& args, TextureTexel texel) {
    const TextureOp& op = module_.texture_ops[site.kind.routine];
    SampledTexture texture;
    texture.binding = static_cast<std::uint32_t>(entry_.textures.slots.size()) +
                      static_cast<std::uint32_t>(op.use.geometry) * kTexelKinds +
                      static_cast<std::uint32_t>(texel);
    texture.indexed = true;
    texture.texel = texel;
    texture.spec.channels = 4;
    texture.spec.divides = site.table->divides;
    texture.spec.biased = site.table->biased;
    texture.spec.approximate = site.table->approximate;
    texture.fused_fma = options_.fused_fma;
    return sampled_read(b_, module_, op, args, texture);
  }

  /// A texture of any kind: the record tells which of those that there are.
  Value table_read(const Site& site, const std::vector<Value>& args) {
    std::vector<TextureTexel> kinds;
    for (std::uint32_t k = 0; k < kTexelKinds; ++k)
      if (site.table->texels >> k & 1) kinds.push_back(static_cast<TextureTexel>(k));
    if (kinds.size() == 1 && !site.table->mixed) return sampled_element(site, args, kinds[0]);
    constexpr std::uint32_t kOfTexel[] = {0, abi::sampled_uint, abi::sampled_sint};
    const std::uint32_t bound = 1u << site.table->bound;
    const std::uint32_t result = new_var(Type::v4, "texture.either");
    const Value at = b_.op2(Op::add, args[0], b_.i32(abi::x_sampled * 4));
    const Value word =
        b_.load(Type::i32, at, {.space = Space::textures, .bytes = 4, .readonly = true});
    const Value bits =
        b_.op2(Op::and_, word, b_.i32(bound | abi::sampled_uint | abi::sampled_sint));
    const BlockId rest = b_.new_block();
    const auto give = [&](Value value) {
      b_.set(result, value);
      b_.br(rest);
    };
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const bool last = !site.table->mixed && k + 1 == kinds.size();
      const BlockId this_one = last ? b_.block() : b_.new_block();
      const BlockId others = last ? 0 : b_.new_block();
      if (!last) {
        const std::uint32_t wanted = bound | kOfTexel[static_cast<std::size_t>(kinds[k])];
        b_.cond_br(b_.cmp(Op::eq, bits, b_.i32(wanted)), this_one, others);
        b_.at(this_one);
      }
      give(sampled_element(site, args, kinds[k]));
      if (!last) b_.at(others);
    }
    if (site.table->mixed) give(shader_read(site, args));
    b_.at(rest);
    return b_.get(result);
  }

  Value shader_read(const Site& site, const std::vector<Value>& args) {
    if (site.group == kUnknown)
      return copy_in(f_, b_, module_.routines[site.kind.routine], args,
                     routine_vars_[site.kind.routine]);
    Body& body = bodies_[site.group];
    for (std::size_t i = 0; i < args.size(); ++i)
      if (body.vars[i] != kUnknown) b_.set(body.vars[i], args[i]);
    b_.set(body.number, b_.i32(site.number));
    b_.br(body.start);
    b_.at(body.behind[site.number] = b_.new_block());
    return b_.get(body.result);
  }

  // A read's operands are words, never another read's four.
  void replace() {
    for (Value& v : f_.operands)
      if (const auto it = replaced_.find(v); it != replaced_.end()) v = it->second;
  }

  Function& f_;
  Module& module_;
  const EntryInfo& entry_;
  const std::vector<TextureSpec>& specs_;
  const TableSpecs& table_;
  const ReadOptions& options_;
  Builder b_;
  std::vector<Site> sites_;
  std::vector<Group> groups_;
  std::vector<Body> bodies_;
  /// By routine and textures
  std::vector<std::pair<std::pair<std::uint32_t, std::vector<TextureSpec>>, std::uint64_t>> costs_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> routine_vars_;
  std::unordered_map<Value, Value> replaced_;
};

}  // namespace

void expand_texture_reads(Function& function, Module& module, const EntryInfo& entry,
                          const std::vector<TextureSpec>& specs, const TableSpecs& table,
                          const ReadOptions& options) {
  Expansion(function, module, entry, specs, table, options).run();
  module.routines.clear();
  module.texture_ops.clear();
}

}  // namespace ptx2spv::passes
