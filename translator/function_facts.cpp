#include "translator/function_facts.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ptx2spv {

using ir::Op;

bool knows_rows(const ir::Function& function) {
  return std::ranges::any_of(function.blocks, [&](const ir::Block& block) {
    return std::ranges::any_of(block.insts, [&](ir::Value v) {
      const ir::Inst& inst = function.insts[v];
      return inst.op == Op::builtin &&
             (inst.builtin == ir::Builtin::local_id_y || inst.builtin == ir::Builtin::local_id_z);
    });
  });
}

bool has_op(const ir::Function& function, Op first, Op last) {
  for (const ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts)
      if (is_within(function.insts[v].op, first, last)) return true;
  return false;
}

bool barriers_are_plain(const ir::Function& function) {
  for (const ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts) {
      const ir::Inst& inst = function.insts[v];
      if (inst.op != Op::bar_sync) continue;
      const bool counted =
          inst.count > 1 && (function.insts[function.arg(v, 1)].op != Op::constant ||
                             function.insts[function.arg(v, 1)].imm != 0);
      if (counted || inst.imm == static_cast<std::uint64_t>(ir::BarKind::arrive)) return false;
    }
  return true;
}

bool yields_for(const ir::Function& function, std::uint64_t reason) {
  return std::ranges::any_of(function.blocks, [&](const ir::Block& block) {
    return std::ranges::any_of(block.insts, [&](ir::Value v) {
      return function.insts[v].op == Op::yield && function.insts[v].imm == reason;
    });
  });
}

std::uint32_t bindings(const ir::Function& function, const Profile& profile) {
  std::uint32_t found = 0;
  for (const ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts) {
      const ir::Inst& inst = function.insts[v];
      if (!is_access(inst.op)) continue;
      if (inst.mem.space == ir::Space::global && profile.features.device_addresses) continue;
      switch (inst.mem.space) {
#define PTX2SPV_BINDING(name, number, space, readonly, moves, holds) \
  case ir::Space::space:                                             \
    found |= 1u << number;                                           \
    break;
#include "ptx2spv/bindings.def"
        default: break;
      }
    }
  return found;
}

std::uint32_t threads_of_workgroup(const TranslateOptions& options) {
  const std::uint32_t *size = options.block, *grid = options.together;
  if (!size[0]) return std::max<std::uint32_t>(options.max_block_threads, 1);
  const std::uint32_t threads = size[0] * size[1] * size[2];
  return grid[0] ? grid[0] * grid[1] * grid[2] * ((threads + 31) & ~31u) : threads;
}

std::string refuses_grid(const TranslateOptions& options) {
  const std::uint32_t* grid = options.together;
  if (!grid[0]) return {};
  constexpr std::uint64_t kMostThreads = 1u << 20;
  std::uint64_t threads = 1;
  for (unsigned axis = 0; axis < 3; ++axis)
    threads = std::min(threads * grid[axis], kMostThreads + 1);
  for (unsigned axis = 0; axis < 3; ++axis)
    threads = std::min(threads * options.block[axis], kMostThreads + 1);
  if (threads > kMostThreads)
    return fmt::format("one workgroup runs {} threads at most", kMostThreads);
  if (!grid[1] || !grid[2] || !options.block[0] || !options.shared_in_memory)
    return "one workgroup runs all blocks only of known size, with shared memory in a buffer";
  if (options.checks & (check_race | check_sync))
    return "where one workgroup runs all blocks, races and synchronisation are not checked";
  return {};
}

}  // namespace ptx2spv
