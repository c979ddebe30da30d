// Texture reads become code. A read of a texture that the host does not know is several thousand
// instructions, and drivers take time to compile each copy. Up to a budget every read gets a copy
// of its own, made for its texture where that is known. Beyond it, reads of one kind share a copy:
// they jump to it with a number that says where it continues.
#pragma once

#include <functional>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

struct ReadOptions {
  std::uint64_t budget = 0;  ///< instructions of all reads together
  /// The driver limits iterations, and a shared read takes one, so reads in loops get copies.
  bool few_iterations = false;
  bool fused_fma = false;  ///< the device's fma is fused
  /// Instructions of a function as it stands, library routines copied in.
  std::function<std::uint64_t(const Function&)> count;
  /// The same of one that ends in an exit once it is simplified. The function may be taken apart.
  std::function<std::uint64_t(Function&)> measure;
};

/// Needs variables and no calls; find_texture_slots has been here. No Op::texture_read remains, and
/// fix_texture_records is done.
void expand_texture_reads(Function& function, Module& module, const EntryInfo& entry,
                          const std::vector<TextureSpec>& specs, const TableSpecs& table,
                          const ReadOptions& options);

}  // namespace ptx2spv::passes
