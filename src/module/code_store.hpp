// Machine code of the host, in the cache on disk.
#pragma once

#include <memory>

#include "ptx2spv/interpreter.hpp"

namespace ptx2spv::runtime {

class DiskCache;

/// Null without a cache.
std::shared_ptr<CodeStore> code_store(std::shared_ptr<DiskCache> disk);

}  // namespace ptx2spv::runtime
