#include "translator/backend/spirv/emit.hpp"

#include <spirv/unified1/NonSemanticShaderDebugInfo100.h>

#include <algorithm>
#include <bit>

#include "translator/backend/spirv/emitter.hpp"

namespace ptx2spv::spirv {

std::optional<EmitError> emit(const ir::Module& module, const ir::Function& function,
                              const EmitOptions& options, Builder& builder) {
  return Emitter(module, function, options, builder).run();
}

void Emitter::fail(std::string text) {
  if (!error_) error_ = EmitError{"internal error: emit: " + std::move(text), loc_};
}

void Emitter::unexpected(const Inst& inst) {
  fail("operation " + std::string(ir::info(inst.op).name) + " of type " +
       std::string(ir::name(inst.type)) + " must be gone after legalisation");
}

std::optional<EmitError> Emitter::run() {
  ids_.resize(f_.insts.size());
  uses_.resize(f_.insts.size());
  floats_.resize(f_.insts.size());
  signed_.resize(f_.insts.size());
  words_.resize(f_.insts.size());
  pointers_.resize(f_.insts.size());
  indices_.resize(f_.insts.size());
  labels_.resize(f_.blocks.size());
  const Features& has = p_.features;
  b_.use_fma((has.shader_fma16 ? 16u : 0u) | (has.shader_fma32 ? 32u : 0u) |
             (has.shader_fma64 ? 64u : 0u));
  scan();
  if (o_.debug_info) begin_debug();
  begin_function();
  if (f_.order.empty()) {
    for (ir::BlockId id = 0; id < f_.blocks.size(); ++id) block(id);
  } else {
    for (const ir::BlockId id : f_.order) block(id);
  }
  missing_blocks();
  op0(spv::Op::OpFunctionEnd);
  finish_entry();
  return error_;
}

// Notes what has to stand before the first block and which values are wanted only as floats.
void Emitter::scan() {
  unsigned local_sizes = 0, shared_sizes = 0;
  for (const ir::Block& block : f_.blocks) {
    for (const Value v : block.insts) {
      const Inst& inst = f_.insts[v];
      if (inst.op == Op::builtin) builtins_used_ |= 1u << static_cast<unsigned>(inst.builtin);
      const bool access = is_access(inst.op);
      if (access && inst.mem.is_volatile) volatile_ = true;
      if (inst.op == Op::image_store || inst.op == Op::image_atomic) writes_images_ = true;
      if (access && inst.mem.space == ir::Space::local) local_sizes |= inst.mem.bytes;
      if (access && inst.mem.space == ir::Space::shared) shared_sizes |= inst.mem.bytes;
      Use use = is_within(inst.op, Op::native_fadd, Op::native_fconvert) ? as_float : as_bits;
      switch (inst.op) {
        case Op::smin:
        case Op::smax:
        case Op::native_from_s: use = as_signed; break;
        case Op::native_from_u:
        case Op::native_widen16: use = as_bits; break;
        default: break;
      }
      const auto args = f_.args(v);
      const bool image =
          inst.op == Op::image_load || inst.op == Op::image_store || inst.op == Op::image_atomic;
      for (std::size_t i = 0; i < args.size(); ++i) {
        // An image takes the components of its coordinates, not the vector that holds them.
        if (image && i == 0 && f_.insts[args[0]].op == Op::compose) continue;
        // Nor does an access take its offset where the index that was shifted is at hand
        // (Emitter::index).
        if (access && i == 0 && inst.mem.space != ir::Space::global && inst.mem.bytes >= 4) {
          const Inst& by = f_.insts[args[0]];
          const unsigned shift =
              word_space(inst.mem.space) &&
                      !(inst.mem.space == ir::Space::shared && p_.features.shared_layout)
                  ? 2
                  : std::bit_width(inst.mem.bytes) - 1u;
          std::uint64_t amount = 0;
          if (by.op == Op::shl && is_constant(f_.arg(args[0], 1), amount) && amount >= shift &&
              amount < 32)
            continue;
        }
        uses_[args[i]] |= use;
      }
    }
    if (block.cond != 0) uses_[block.cond] |= as_bits;
  }
  uses_local_ = local_sizes != 0;
  const auto view_of = [&](unsigned sizes) {
    if (sizes == 1 && p_.features.storage8) return View::u8;
    if (sizes == 2 && p_.features.storage16) return View::u16;
    return View::u32;
  };
  local_view_ = view_of(local_sizes);
  shared_view_ = view_of(shared_sizes);
  shared_views_ =
      p_.features.shared_layout && shared_view_ == View::u32 && (shared_sizes & ~4u) != 0;
  // Another form than the one that an operation makes goes by way of the bits.
  for (std::size_t v = 1; v < uses_.size(); ++v) {
    const Op op = f_.insts[v].op;
    const std::uint8_t own = op == Op::smin || op == Op::smax ? as_signed : as_float;
    if (uses_[v] & ~own) uses_[v] |= as_bits;
  }
}

Emitter::DebugFile Emitter::ptx_file(std::uint32_t module) {
  Id& name = b_.shared(0x50c0000000000000u | module);
  Id& source = b_.shared(0x50c1000000000000u | module);
  if (name != 0) return {name, source};
  const PtxSource file = o_.ptx_source ? o_.ptx_source(module) : PtxSource{};
  name = b_.string(file.name.empty() ? std::string_view("kernel.ptx") : file.name);
  b_.source(name, file.text);
  if (file.text.empty()) {
    source = b_.global_ext(debug_set_, NonSemanticShaderDebugInfo100DebugSource, name);
    return {name, source};
  }
  const std::vector<Id> parts = b_.strings(file.text);
  source = b_.new_global_ext(debug_set_, NonSemanticShaderDebugInfo100DebugSource, name, parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i)
    b_.new_global_ext(debug_set_, NonSemanticShaderDebugInfo100DebugSourceContinued, parts[i]);
  return {name, source};
}

void Emitter::begin_debug() {
  const std::string_view name = o_.entry_name.empty() ? std::string_view(f_.name) : o_.entry_name;
  debug_set_ = b_.non_semantic_set("NonSemantic.Shader.DebugInfo.100");
  const auto number = [&](std::uint32_t n) { return b_.constant(n); };
  ir::Loc first;
  first.line = 1;
  for (const ir::Loc& loc : f_.locs) {
    if (loc.line == 0) continue;
    first = loc;
    break;
  }
  const DebugFile file = ptx_file(first.module);
  const Id unit = b_.global_ext(debug_set_, NonSemanticShaderDebugInfo100DebugCompilationUnit,
                                number(100), number(4), file.source, number(0));
  const Id type = b_.global_ext(debug_set_, NonSemanticShaderDebugInfo100DebugTypeFunction,
                                number(0), b_.type_void());
  const Id text = b_.string(name);
  debug_function_ =
      b_.global_ext(debug_set_, NonSemanticShaderDebugInfo100DebugFunction, text, type, file.source,
                    number(first.line), number(1), unit, text, number(0), number(first.line));
}

void Emitter::begin_function() {
  const Id type_void = b_.type_void();
  function_ = op(spv::Op::OpFunction, type_void, spv::FunctionControlMask::MaskNone,
                 b_.type_function(type_void));
  const ir::BlockId entry = f_.order.empty() ? 0 : f_.order[0];
  op0(spv::Op::OpLabel, label(entry));
  if (uses_local_) {
    // A function without local variables may still name the space, by a constant address say.
    const unsigned size = local_view_ == View::u8 ? 1 : local_view_ == View::u16 ? 2 : 4;
    const Id length = b_.constant(std::max<std::uint32_t>((f_.local_bytes + size - 1) / size, 4));
    const Id array = array_of(local_view_, length);
    local_ = op(spv::Op::OpVariable, b_.type_pointer(spv::StorageClass::Function, array),
                spv::StorageClass::Function);
    if (o_.debug_info) b_.name(local_, "local");
  }
  if (debug_function_ != 0) {
    debug(NonSemanticShaderDebugInfo100DebugFunctionDefinition, debug_function_, function_);
    debug(NonSemanticShaderDebugInfo100DebugScope, debug_function_);
  }
  for (unsigned i = 0; i < builtins_.size(); ++i) {
    if (builtins_used_ >> i & 1) builtins_[i] = builtin(static_cast<ir::Builtin>(i));
  }
}

// Without them a device may round, flush and fold as it likes. NVIDIA's keeps denormals, and
// divides as IEEE has it, where RoundingModeRTE is declared.
void Emitter::float_controls() {
  const Features& has = p_.features;
  const struct {
    unsigned width;
    bool used, denormals, even, specials;
  } widths[] = {
      {16, halves_, has.preserves_denormals16, has.rounds_even16, has.keeps_specials16},
      {32, b_.has_float(32), has.preserves_denormals32, has.rounds_even32, has.keeps_specials32},
      {64, b_.has_float(64), has.preserves_denormals64, has.rounds_even64, has.keeps_specials64}};
  const auto declare = [&](bool with, spv::Capability capability, spv::ExecutionMode mode,
                           unsigned width) {
    if (!with) return;
    b_.capability(capability);
    b_.execution_mode(function_, mode, width);
  };
  for (const auto& each : widths) {
    if (!each.used) continue;
    declare(each.denormals, spv::Capability::DenormPreserve, spv::ExecutionMode::DenormPreserve,
            each.width);
    declare(each.specials, spv::Capability::SignedZeroInfNanPreserve,
            spv::ExecutionMode::SignedZeroInfNanPreserve, each.width);
    declare(each.even, spv::Capability::RoundingModeRTE, spv::ExecutionMode::RoundingModeRTE,
            each.width);
  }
}

void Emitter::finish_entry() {
  const std::string_view name = o_.entry_name.empty() ? std::string_view(f_.name) : o_.entry_name;
  b_.name(function_, name);
  // The workgroup's size is the launch's, for all entries by the same three constants.
  Id& size = b_.shared(0x512e0000u);
  if (size == 0) {
    const Id parts[3] = {b_.spec_constant(abi::Spec::size_x, 1),
                         b_.spec_constant(abi::Spec::size_y, 1),
                         b_.spec_constant(abi::Spec::size_z, 1)};
    const Id composite = b_.global(spv::Op::OpSpecConstantComposite, b_.type_uvec(3), parts);
    b_.decorate(composite, spv::Decoration::BuiltIn, spv::BuiltIn::WorkgroupSize);
    b_.shared(0x512e0000u) = composite;
  }
  b_.entry_point(function_, name, inputs_, variables_);
  if (o_.float_controls) float_controls();
  if (!reconverges_) return;
  b_.extension("SPV_KHR_maximal_reconvergence");
  b_.execution_mode(function_, kMaximallyReconverges);
}

Id Emitter::uses(std::vector<Id>& known, Id variable) {
  if (std::ranges::find(known, variable) == known.end()) known.push_back(variable);
  return variable;
}

void Emitter::line(std::uint32_t loc) {
  loc_ = loc;
  if (!o_.debug_info) return;
  const ir::Loc& at = f_.locs[loc];
  if (at.line == 0) return;
  const bool cuda = at.source_line != 0 && o_.cuda_source;
  const DebugFile file = cuda ? cuda_file(at) : ptx_file(at.module);
  const std::uint32_t new_line = cuda ? at.source_line : at.line, new_column = cuda ? 0 : at.column;
  if (new_line == line_ && new_column == column_ && file.source == line_file_.source) return;
  line_ = new_line;
  column_ = new_column;
  line_file_ = file;
  op0(spv::Op::OpLine, file.name, line_, column_);
  const Id row = b_.constant(line_), column = b_.constant(column_);
  debug(NonSemanticShaderDebugInfo100DebugLine, file.source, row, row, column, column);
}

// The file is named only: its text is not the translator's to read.
const Emitter::DebugFile& Emitter::cuda_file(const ir::Loc& at) {
  DebugFile& file = cuda_files_[{at.module, at.source_file}];
  if (file.name == 0) {
    file.name = b_.string(o_.cuda_source(at));
    file.source = b_.global_ext(debug_set_, NonSemanticShaderDebugInfo100DebugSource, file.name);
  }
  return file;
}

void Emitter::block(ir::BlockId id) {
  const ir::Block& block = f_.blocks[id];
  ++serial_;
  matrices_.clear();
  line_ = 0;  // a line holds to the end of its block
  if (id != (f_.order.empty() ? 0 : f_.order[0])) op0(spv::Op::OpLabel, label(id));
  const std::vector<std::uint32_t> edges = distinct_edges(block);
  for (const Value v : block.insts) {
    if (f_.insts[v].op == Op::phi) phi(block, v, edges);
  }
  const bool is_entry = id == (f_.order.empty() ? 0 : f_.order[0]);
  if (debug_function_ != 0 && !is_entry)
    debug(NonSemanticShaderDebugInfo100DebugScope, debug_function_);
  for (const Value v : block.insts) {
    if (f_.insts[v].op == Op::phi) continue;
    line(f_.insts[v].loc);
    instruction(v);
  }
  line(block.loc);
  terminator(block);
}

// Indices of its predecessors; one that branches here twice counts once.
std::vector<std::uint32_t> Emitter::distinct_edges(const ir::Block& block) {
  std::vector<std::uint32_t> edges;
  if (std::ranges::none_of(block.insts, [&](Value v) { return f_.insts[v].op == Op::phi; }))
    return edges;
  came_from_.resize(f_.blocks.size());
  for (std::uint32_t i = 0; i < block.preds.size(); ++i) {
    if (came_from_[block.preds[i]] == serial_) continue;
    came_from_[block.preds[i]] = serial_;
    edges.push_back(i);
  }
  return edges;
}

void Emitter::phi(const ir::Block& block, Value v, const std::vector<std::uint32_t>& edges) {
  const auto args = f_.args(v);
  if (args.size() != block.preds.size())
    return fail("a phi has not as many operands as its block has predecessors");
  Words operands;
  for (const std::uint32_t i : edges) {
    Id& id_of = ids_[args[i]];
    const Op made_by = f_.insts[args[i]].op;
    const bool elsewhere =
        made_by != Op::constant && made_by != Op::undef && made_by != Op::builtin;
    if (elsewhere && id_of == 0) id_of = b_.id();
    operands.push_back(elsewhere ? id_of : value(args[i]));
    operands.push_back(label(block.preds[i]));
  }
  const Id result_type = type(f_.insts[v].type);
  if (ids_[v] == 0) ids_[v] = b_.id();
  put_list(code_, spv::Op::OpPhi, operands, result_type, ids_[v]);
}

void Emitter::terminator(const ir::Block& block) {
  const bool branches = block.term == ir::Term::cond_br || block.term == ir::Term::switch_;
  const auto& succs = block.succs;
  const bool same = branches && block.merge == ir::Merge::none &&
                    std::ranges::all_of(succs, [&](ir::BlockId s) { return s == succs[0]; });
  const Id cond = branches && !same ? value(block.cond) : 0;
  if (block.merge == ir::Merge::loop) {
    op0(spv::Op::OpLoopMerge, label(block.merge_block), label(block.continue_block),
        spv::LoopControlMask::MaskNone);
  } else if (block.merge == ir::Merge::selection && branches) {
    op0(spv::Op::OpSelectionMerge, label(block.merge_block), spv::SelectionControlMask::MaskNone);
  }
  if (same) return op0(spv::Op::OpBranch, label(succs[0]));
  switch (block.term) {
    case ir::Term::br: return op0(spv::Op::OpBranch, label(succs[0]));
    case ir::Term::cond_br:
      return op0(spv::Op::OpBranchConditional, cond, label(succs[0]), label(succs[1]));
    case ir::Term::switch_: {
      Words operands{cond, label(succs.back())};
      for (std::uint32_t i = 0; i + 1 < succs.size(); ++i) {
        operands.push_back(i);
        operands.push_back(label(succs[i]));
      }
      return put_list(code_, spv::Op::OpSwitch, operands);
    }
    case ir::Term::exit: return op0(spv::Op::OpReturn);
    case ir::Term::unreachable: return op0(spv::Op::OpUnreachable);
    case ir::Term::ret: return fail("a return is left after inlining");
    case ir::Term::none: return fail("a block has no terminator");
  }
}

// Merge blocks and continue targets that no thread reaches must exist all the same.
void Emitter::missing_blocks() {
  if (f_.order.empty()) return;
  std::vector<bool> written(f_.blocks.size(), false);
  for (const ir::BlockId id : f_.order) written[id] = true;
  for (const ir::BlockId id : f_.order) {
    const ir::Block& block = f_.blocks[id];
    if (block.merge == ir::Merge::none) continue;
    if (!written[block.merge_block]) {
      written[block.merge_block] = true;
      op0(spv::Op::OpLabel, label(block.merge_block));
      op0(spv::Op::OpUnreachable);
    }
    if (block.merge == ir::Merge::loop && !written[block.continue_block]) {
      written[block.continue_block] = true;
      op0(spv::Op::OpLabel, label(block.continue_block));
      op0(spv::Op::OpBranch, label(id));
    }
  }
  for (ir::BlockId id = 0; id < labels_.size(); ++id) {
    if (labels_[id] != 0 && !written[id])
      fail("a branch leads to a block that is not in the order");
  }
}

void Emitter::instruction(Value v) {
  const Inst& inst = f_.insts[v];
  if (is_within(inst.op, Op::native_fadd, Op::native_hfma2)) return native_float(v, inst);
  if (is_within(inst.op, Op::zext, Op::extract)) return convert(v, inst);
  switch (inst.op) {
    case Op::constant:
    case Op::undef:
    case Op::phi: return;
    case Op::builtin: return;  // loaded at the start
    case Op::read_clock: return set(v, clock(static_cast<ir::ClockScope>(inst.imm)));
    case Op::shl:
      if (uses_[v] == 0) return;
      [[fallthrough]];
    case Op::lshr:
    case Op::ashr: return shift(v, inst);
    case Op::udiv:
    case Op::sdiv:
    case Op::urem:
    case Op::srem: return divide(v, inst);
    case Op::library: return library_call(v, inst);
    case Op::load: return load(v, inst);
    case Op::store: return store(v, inst);
    case Op::atomic: return atomic(v, inst);
    case Op::atomic_cas: return atomic_cas(v, inst);
    case Op::image_load:
    case Op::image_store:
    case Op::image_atomic: return image(v, inst);
    case Op::texture_sample: return texture_sample(v, inst);
    case Op::control_barrier:
    case Op::memory_barrier: return synchronise(v, inst);
    case Op::subgroup_barrier:
    case Op::subgroup_shuffle:
    case Op::subgroup_partition:
    case Op::subgroup_reduce:
    case Op::subgroup_ballot: return subgroup(v, inst);
    case Op::warp_product: return product(v, inst);
    default: return is_within(inst.op, Op::add, Op::select) ? arith(v, inst) : unexpected(inst);
  }
}

}  // namespace ptx2spv::spirv
