// The sanitizer (sanitizer.md): accesses that check themselves, and the log of their faults.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/passes/fault_log.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Takes the marks away that lowering made for the sanitizer, so that a module without checks is
/// what it would be if there were none. `keep_sync`: not those of barriers and warp operations.
void forget_origins(Function& function, bool keep_sync = false);
/// A variable that is set where the thread does something that others may see (FaultLog::worked).
std::uint32_t mark_work(Function& function);

/// What accesses that check themselves are made for.
struct CheckTarget {
  bool several = false;     ///< an invocation may run several threads: each has all registers
  bool atomics64 = false;   ///< Features::buffer_atomics64
  bool stores_end = false;  ///< stores past the end of shared memory do nothing, atomics give 0
};

/// Makes every access that PTX makes check its bounds and alignment, and with check_init and
/// check_race what its shadow says. One out of bounds reads 0, or changes nothing; each is noted.
/// Registers are still variables; surfaces and atomics have not been lowered, whose own accesses
/// are right. Fills EntryInfo::sanitizer.sites.
void check_accesses(Function& function, const Specialization& options, const CheckTarget& target,
                    EntryInfo& entry, FaultLog& log);

/// Beside each read of a texture that may be of linear memory, sets a variable of this name for
/// check_accesses: i64, the texel's number, and in the high word whether there is such a texel.
/// `textures`: Module::texture_ops.
void mark_fetches(Function& function, const std::vector<TextureOp>& textures);
inline constexpr const char* kFetch = "checked.fetch";
/// The same beside every read, with AccessSite::geometry at the end of the name: i64, the texture's
/// handle where the instruction finds nothing in a texture of its kind, else 0.
inline constexpr const char* kOtherKind = "checked.kind.";
/// Geometry and whether coordinates are integers, never 0.
constexpr std::uint32_t texture_kind(const TextureUse& use) {
  return 2 + 2 * static_cast<std::uint32_t>(use.geometry) + (use.integer ? 1 : 0);
}
inline constexpr std::uint32_t kTextureKinds =
    4 + 2 * static_cast<std::uint32_t>(TextureGeometry::a2dms);

/// Makes registers of each thread out of notes of faults, and sets them to 0 at its start. A thread
/// keeps the addresses of its faults at up to 8 sites; of 2 where an invocation runs `several`
/// threads in turns, which have these registers each, and no race has a second side to tell of.
/// Registers are still variables.
void lower_fault_notes(Function& function, FaultLog& log, bool several);

/// One of `values` by the bits of `index`; the last one where there is none.
Value pick(Builder& builder, Value index, std::vector<Value> values);

/// The value as i64, zero-extended.
inline Value wide(Builder& b, Value value) {
  return b.function().insts[value].type == Type::i64 ? value : b.inst(Op::zext, Type::i64, {value});
}

}  // namespace ptx2spv::passes
