// Modules for SPIRV-Tools that are older than SPV_KHR_maximal_reconvergence, as Debian 12's are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <vector>

namespace ptx2spv::tools {

/// The module without the execution mode MaximallyReconvergesKHR.
inline std::vector<std::uint32_t> without_reconvergence(std::span<const std::uint32_t> words) {
  constexpr std::uint32_t kMaximallyReconverges = 6023;
  constexpr std::size_t kHeader = 5;
  std::vector<std::uint32_t> kept(words.begin(), words.begin() + std::min(words.size(), kHeader));
  std::size_t length = 0;
  for (std::size_t at = kept.size(); at < words.size(); at += length) {
    const auto op = static_cast<spv::Op>(words[at] & spv::OpCodeMask);
    length = words[at] >> spv::WordCountShift;
    // What is no instruction is the validator's to tell.
    if (length == 0 || length > words.size() - at) length = words.size() - at;
    const bool mode = op == spv::Op::OpExecutionMode && length == 3;
    if (mode && words[at + 2] == kMaximallyReconverges) continue;
    kept.insert(kept.end(), words.begin() + at, words.begin() + at + length);
  }
  return kept;
}

}  // namespace ptx2spv::tools
