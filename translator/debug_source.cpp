#include "translator/debug_source.hpp"

#include <string>
#include <utility>
#include <vector>

namespace ptx2spv {

spirv::PtxSource debug_source(const lower::Program& program, std::uint32_t module,
                              const ir::Function& kernel, bool alone) {
  constexpr std::size_t kFree = 32768, kOfPlace = 256;
  const SourceFile& source = program.module(module).source;
  if (!alone || program.interface().entries.size() == 1)
    return {source.name(), std::string(source.text())};
  std::vector<std::uint32_t> lines;
  for (const ir::Loc& loc : kernel.locs)
    if (loc.line != 0 && loc.module == module) lines.push_back(loc.line);
  const std::size_t most = kFree + kOfPlace * kernel.locs.size();
  return {source.name(), source.excerpt(std::move(lines), most)};
}

}  // namespace ptx2spv
