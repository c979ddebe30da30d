// Translations and pipelines on disk, one file per key. Written to a temporary name and renamed, so
// that no process ever reads half a file; every file carries its own checksum and is ignored when
// it does not fit.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::runtime {

/// Thread-safe, and safe between processes. Failures to write are not errors: the cache stays cold.
class DiskCache {
 public:
  /// Null when no folder can be made.
  static std::unique_ptr<DiskCache> open(const std::string& directory);

  std::optional<std::vector<std::byte>> load(std::string_view key);
  void store(std::string_view key, const std::vector<std::byte>& bytes);

  /// For who has not found `key`: returns when no other process makes it, or after a minute, and
  /// calls `waiting` meanwhile. While the result lives, others wait: of many processes one
  /// translates and the others load. Null where nobody can be made to wait.
  std::shared_ptr<void> turn(
      std::string_view key, void (*waiting)() = [] {});

 private:
  explicit DiskCache(std::string directory) : directory_(std::move(directory)) {}
  void trim();

  std::string directory_;
  std::mutex mutex_;
  std::uint64_t written_ = 0;
};

}  // namespace ptx2spv::runtime
