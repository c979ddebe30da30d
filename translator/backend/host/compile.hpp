// A program as machine code.
#pragma once

#include <memory>
#include <string>

#include "ptx2spv/interpreter.hpp"
#include "translator/backend/host/frame.hpp"

namespace ptx2spv::interpreter::llvm {

/// What code takes for granted of a block's size.
struct BlockForm {
  /// What the x size is a multiple of, so that vectors of as many lanes differ in x alone.
  enum Row : std::uint8_t { any, half_warp, warp } row = any;
  bool whole = false;  ///< all warps have 32 threads
};

/// Machine code for blocks of one shape. It lives as long as this does.
class Code {
 public:
  Code() = default;
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  Compiled run = nullptr;
  unsigned lanes = 0;
  bool turns = false;             ///< a block's warps wait for one another
  std::uint32_t saved_bytes = 0;  ///< of a warp, between its turns
  bool yields = false;            ///< in loops, and perhaps for other blocks

 private:
  friend std::shared_ptr<const Code> compile(const Program&, BlockForm, CodeStore*, bool,
                                             std::string&);
  void* jit_ = nullptr;
};

/// Why a program is never compiled: LLVM is missing, or it has what is left to the interpreter.
/// Empty where compile() is worth a try. Linear in its size.
std::string refusal(const Program& program, BlockForm form);

/// Null where LLVM is missing or the program has what is left to the interpreter; `problem` says
/// which. Takes some ten milliseconds for a hundred operations, unless it is in the store, which
/// may be null. `stored`: null where it is not there.
std::shared_ptr<const Code> compile(const Program& program, BlockForm form, CodeStore* store,
                                    bool stored, std::string& problem);

/// For tests: what is compiled from now on is for the processor of that name among LLVM's, which
/// this machine's has to include; empty: for this machine's. With the triple of another machine it
/// is stored, and compile() gives no code.
void compile_for(std::string processor, std::string triple = {});

}  // namespace ptx2spv::interpreter::llvm
