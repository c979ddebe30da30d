// The functions of the shader library that the processor runs, by name and types.
#include <string>
#include <unordered_map>

#include "shaders/library.hpp"
#include "translator/backend/host/handlers.hpp"

namespace ptx2spv {

namespace interpreter {

Routine find_routine(std::string_view name, std::span<const ir::Type> parameters) {
  static const auto& all = *new auto([] {
    std::unordered_map<std::string_view, Routine> map;
    for (const shaders::HostCall& each : shaders::library_host_calls())
      map.emplace(each.signature, each.call);
    return map;
  }());
  std::string signature(name);
  for (const ir::Type type : parameters) {
    switch (type) {
      case ir::Type::i1: signature += " bool"; break;
      case ir::Type::i32: signature += " uint"; break;
      case ir::Type::i64:
      case ir::Type::v2: signature += " uvec2"; break;
      case ir::Type::v4: signature += " uvec4"; break;
      case ir::Type::none: return nullptr;
    }
  }
  const auto found = all.find(signature);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace interpreter

}  // namespace ptx2spv
