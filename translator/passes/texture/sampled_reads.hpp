// Reads by the device's sampler.
#pragma once

#include <span>

#include "ptx2spv/translator.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// A texture that the sampler reads: a slot, or one whose handle came out of memory.
struct SampledTexture {
  TextureSpec spec;
  std::uint32_t binding = 0;  ///< in the texture set
  std::uint32_t record = 0;   ///< of a slot: its record's copy in the parameters
  /// The handle came out of memory: the routine's record is the table's, and the texels are
  /// `texel`.
  bool indexed = false;
  TextureTexel texel = TextureTexel::real;
  bool fused_fma = false;  ///< the device's fma is fused
};

/// Appends the read; `args` are the routine's. Result: v4.
Value sampled_read(Builder& builder, Module& module, const TextureOp& op,
                   std::span<const Value> args, const SampledTexture& texture);

}  // namespace ptx2spv::passes
