// Reads by the device's sampler.
#pragma once

#include <span>

#include "ptx2spv/translator.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

struct SampledSlot {
  const TextureSpec& spec;
  std::uint32_t slot = 0;
  std::uint32_t records = 0;  ///< EntryInfo::texture_records
};

/// Appends the read of a texture slot whose TextureSpec::unit is the sampler; `args` are the
/// routine's. Result: v4.
ir::Value sampled_read(ir::Builder& builder, ir::Module& module, const ir::TextureOp& op,
                       std::span<const ir::Value> args, const SampledSlot& slot);

}  // namespace ptx2spv::passes
