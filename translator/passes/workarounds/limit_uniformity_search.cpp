// Uniform offsets. To find whether an access goes to the same place in all threads, Mesa up to 22.3
// examines an offset's operands, then theirs and so on, without remembering what it has examined.
// Where each value is used twice, the time doubles with every step. lavapipe then hangs in the
// first launch of a kernel whose offsets come from long computations on constants and parameters,
// as those of textures do. This pass cuts such computations: a value that takes too many steps is
// merged with a word that is always 0 and known not to be uniform.
#include <cstdint>

#include "translator/passes/passes.hpp"
#include "translator/passes/workarounds/opaque_zero.hpp"

namespace ptx2spv::passes {

namespace {

/// Questions that one value may take. The driver makes several instructions of some of ours.
constexpr std::uint32_t kQuestions = 256;

struct Search {
  std::uint64_t questions = 1;
  bool uniform = false;
  bool cut = false;
};

bool can_be_cut(Type type) { return type == Type::i1 || type == Type::i32 || type == Type::i64; }

/// What asking for each value takes once the values above the limit are cut. Operands stand before
/// what takes them.
std::vector<Search> search(const Function& f) {
  std::vector<Search> values(f.insts.size());
  const auto operands = [&](Value v) {
    Search result{.uniform = true};
    for (const Value a : f.args(v)) {
      result.uniform = values[a].uniform && !values[a].cut;
      result.questions += values[a].cut ? 1 : values[a].questions;
      if (!result.uniform) break;
    }
    return result;
  };
  for (const BlockId b : f.order)
    for (const Value v : f.blocks[b].insts) {
      const Inst& inst = f.insts[v];
      Search& value = values[v];
      const bool parameter =
          inst.op == Op::load && (inst.mem.space == Space::param || inst.mem.space == Space::push);
      const bool pure = (info(inst.op).flags & flag::P) && inst.op != Op::phi;
      if (inst.op == Op::constant || inst.op == Op::undef)
        value.uniform = true;
      else if (inst.count > 0 && (parameter || pure || inst.op == Op::library))
        value = operands(v);
      // A routine's body asks for its operands an unknown number of times.
      value.cut = value.uniform && can_be_cut(inst.type) &&
                  (value.questions > kQuestions || inst.op == Op::library);
    }
  return values;
}

}  // namespace

bool limit_uniformity_search(Function& f) {
  const std::vector<Search> values = search(f);
  const auto asks = [&](Value v) { return f.insts[v].op != Op::phi; };
  const auto hides = [&](Value v) { return v < values.size() && values[v].cut; };
  return make_operands_opaque(f, 0, asks, hides, OpaqueZero::Source::workgroup);
}

}  // namespace ptx2spv::passes
