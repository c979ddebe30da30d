// Which line of PTX machine code is of, for debuggers, and names of it, for profilers.
#pragma once

#include "translator/backend/host/emit.hpp"

namespace ptx2spv::interpreter::llvm {

/// Describes the function that is being built. It is finished before the module is verified.
class DebugLines {
 public:
  DebugLines(Build& build, const Program& program, std::uint32_t first_line);
  ~DebugLines() { b_.l.DisposeDIBuilder(builder_); }
  DebugLines(const DebugLines&) = delete;
  DebugLines& operator=(const DebugLines&) = delete;

  /// What is built from now on is of that place in the PTX.
  void at(const ir::Loc& loc);
  void finish() { b_.l.DIBuilderFinalize(builder_); }

 private:
  Build& b_;
  LLVMDIBuilderRef builder_;
  LLVMMetadataRef function_ = nullptr;
  std::uint32_t line_ = 0;
};

/// The name that a kernel's machine code has in debuggers and profilers.
std::string code_name(const Program& program);
/// Adds the function of that name to the list that perf reads of this process. `object`: its ELF
/// file, which says how long it is.
void list_for_perf(const std::string& name, std::uint64_t address,
                   std::span<const std::byte> object);

}  // namespace ptx2spv::interpreter::llvm
