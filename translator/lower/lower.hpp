// PTX functions to IR: one entry with everything that it calls becomes an ir::Module whose function
// 0 is the entry. Registers are variables; surfaces, textures, warps and barriers stay operations
// of their own.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/ir/ir.hpp"
#include "translator/ir/thread_stack.hpp"
#include "translator/lower/memory.hpp"
#include "translator/lower/program.hpp"

namespace ptx2spv::lower {

/// Shared memory that CUDA keeps for its headers: %reserved_smem_offset_cap bytes, of which those
/// before %reserved_smem_offset_end are in use, as on an H200 (driver 580). Both numbered parts
/// begin where it begins there.
inline constexpr std::uint32_t kReservedShared = 1024, kReservedEnd = 288;

/// An entry, lowered but not yet inlined.
struct LoweredEntry {
  ir::Module module;
  EntryInfo info;
  std::vector<Message> messages;
  bool ok = true;  ///< no message is an error
};

/// `recursive`, by number, as recursive_functions() says: their local variables lie on a stack.
LoweredEntry lower_entry(Program& program, FunctionRef entry,
                         const std::vector<bool>& recursive = {});

/// `function`, which is empty, as malloc or free.
void lower_heap_function(HeapCall which, ir::Function& function);

/// Fills in the CUDA source line of a .loc of `module`, and the calls it was inlined through.
void set_source(TrapSite& site, const ptx::Module& module, std::uint32_t loc);

/// Functions that the indirect calls of an entry may lead to, a function counted for each call: a
/// few lines of text could name millions.
inline constexpr std::size_t kIndirectTargets = 50000;

/// Bytes of the .param variables of a function, its parameters and results among them: each word is
/// a variable of the IR.
inline constexpr std::uint64_t kParamBytes = 65536;
/// Words that the calls of an entry pass and return, counted where the calls stand.
inline constexpr std::size_t kArgumentWords = 1000000;

/// What the functions of one entry share.
struct EntryContext {
  Program& program;
  LoweredEntry& out;
  std::vector<FunctionRef> functions;  ///< by number in out.module.functions
  std::unordered_map<std::uint64_t, std::uint32_t>
      function_of;  ///< module << 32 | function to that number
  std::unordered_map<std::uint64_t, std::uint32_t> shared_offset, local_offset, ref_offset;
  std::unordered_map<std::string, std::uint32_t> routine_of;  ///< by name, in out.module.routines
  std::uint32_t shared_bytes = 0, local_bytes = 0;
  std::uint32_t dynamic_shared_offset = 0;
  std::unordered_map<std::uint64_t, std::uint16_t> object_of;  ///< by symbol: number plus 1
  std::uint32_t ptx_block = 0;  ///< number of the PTX basic block that is being lowered
  bool windows = false;         ///< shared or local addresses become generic ones
  bool stack = false;           ///< alloca or recursion is there
  std::uint32_t stack_bytes = ir::kStackBytes;
  std::uint32_t stack_at = 0;  ///< where it begins in local memory
  std::map<CallShape, std::vector<FunctionRef>> address_taken;
  std::size_t indirect_targets = 0;        ///< so far, of kIndirectTargets
  std::size_t argument_words = 0;          ///< so far, of kArgumentWords
  std::vector<bool> recursive;             ///< by number
  std::vector<std::uint32_t> frame_bytes;  ///< by number: local variables of recursive functions
  std::unordered_set<std::uint64_t>
      in_frame;  ///< these; their local_offset is from the frame's start

  /// By HeapCall: number in out.module.functions, behind those of the text, if it is called.
  std::array<std::uint32_t, 2> heap_function{};

  bool uses_reserved_shared = false;
  std::uint32_t reserved_shared = 0;  ///< offset of the region that CUDA's own headers keep in
                                      ///< shared memory, where a kernel asks for it

  Windows generic_windows() const {
    return {.shared = windows && (shared_bytes > 0 || out.info.dynamic_shared),
            .local = windows && local_bytes > 0};
  }
  bool is_recursive(std::uint32_t function) const {
    return function < recursive.size() && recursive[function];
  }
  std::uint32_t number(FunctionRef ref) const {
    const auto it = function_of.find(std::uint64_t{ref.module} << 32 | ref.function);
    return it == function_of.end() ? 0xffffffffu : it->second;
  }
};

}  // namespace ptx2spv::lower
