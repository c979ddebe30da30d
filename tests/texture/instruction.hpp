// The texture instructions of the records, and what of them a build replays.
#pragma once

#include <string>

#include "dev/recorder/texture_kernels.hpp"
#include "tests/texture/record.hpp"

namespace ptx2spv::tests {

/// What is not replayed: integers mixed between levels, and an anisotropy over CUDA's 16; the
/// runtime refuses both.
inline bool replayed(const recorder::TextureSetup& s) {
  if (s.anisotropy > 16) return false;
  const bool integers =
      s.element || s.format == recorder::TexelFormat::u32 || s.format == recorder::TexelFormat::s32;
  const bool real = s.format == recorder::TexelFormat::f16 ||
                    s.format == recorder::TexelFormat::f32 ||
                    s.format >= recorder::TexelFormat::unorm8;
  return real || !integers || !(s.linear || (s.levels && s.mip_linear));
}

/// The instruction of a record's I line.
inline recorder::TextureInstruction instruction_of(const std::string& text) {
  const auto parts = split(split(text, ' ')[0], '.');
  if (parts[0] == "txq") {
    const bool level = parts[1] == "level";
    return recorder::texture_query(parts[level ? 2 : 1], level);
  }
  const bool mode =
      parts[0] == "tld4" || parts[1] == "base" || parts[1] == "level" || parts[1] == "grad";
  const std::size_t at = mode ? 2 : 1;
  const std::string op = at == 2 ? parts[0] + "." + parts[1] : parts[0];
  return recorder::texture_instruction(op, parts[at], parts[at + 2] + "." + parts[at + 3],
                                       text.ends_with(" offset"), text.ends_with(" depth"));
}

}  // namespace ptx2spv::tests
