// A translated kernel as bytes, for the cache on disk. The form is the cache's own: the key holds
// the version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::runtime {

std::vector<std::byte> serialize(const std::vector<std::uint32_t>& spirv, const EntryInfo& info);
/// False when the bytes are not such a kernel.
bool deserialize(const std::vector<std::byte>& bytes, std::vector<std::uint32_t>& spirv,
                 EntryInfo& info);

}  // namespace ptx2spv::runtime
