#include "translator/ir/thread_stack.hpp"

namespace ptx2spv::ir {

std::uint32_t stack_pointer(Function& function) {
  constexpr const char* kName = "stack.pointer";
  for (std::uint32_t v = 0; v < function.vars.size(); ++v)
    if (function.vars[v].per_thread && function.vars[v].name == kName) return v;
  function.vars.push_back({Type::i32, kName, true});
  return static_cast<std::uint32_t>(function.vars.size() - 1);
}

}  // namespace ptx2spv::ir
