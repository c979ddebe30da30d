// Runs the groups of a record on a device and compares.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dev/replay/kernel.hpp"

namespace ptx2spv::tools {

struct ReplayOptions {
  ArrayBacking backing = ArrayBacking::linear;
  HandleSource source = HandleSource::param;
  bool bind_slots = true;
  std::optional<ThreadModel> threads;
};

struct Difference {
  std::uint32_t group = 0, line = 0;
  std::string got;
};

struct GroupResult {
  std::uint64_t checked = 0, skipped = 0;
  std::vector<Difference> differences;
  std::string error;  ///< why lines were skipped
};

/// The kernels of a run, made when first asked for; shared between workers.
class KernelCache {
 public:
  KernelCache(const Device& device, const Records& records, HandleSource source);
  /// Of `records.kernels`.
  Result<Kernel> get(std::uint32_t kernel);

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<Result<Module>> module;
  };
  const Device& device_;
  const Records& records_;
  HandleSource source_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

/// One worker: its own arrays and buffers.
class ReplaySession {
 public:
  ReplaySession(const Device& device, const Records& records, const ReplayOptions& options,
                KernelCache& kernels)
      : device_(device), records_(records), options_(options), kernels_(kernels) {}
  GroupResult run(std::uint32_t group);

 private:
  struct Slot {
    Array array;
    Surface surface;
  };
  using Pool = std::vector<Slot>;
  using Lines = std::vector<std::uint32_t>;

  bool prepare(std::size_t lines, std::size_t arrays);
  bool fill(std::size_t slot);
  /// Launches `lines`, line k on array where[k]. False after a failure; `trapped` when it was a
  /// trap.
  bool launch(const Lines& lines, const Lines& where, bool& trapped);
  void loads(const Lines& lines);
  void stores(const Lines& lines);
  void alone(std::uint32_t line);
  bool compare_load(std::uint32_t line, const LineOutput& output);
  bool fail(const Error& error);

  const Device& device_;
  const Records& records_;
  const ReplayOptions& options_;
  KernelCache& kernels_;
  std::map<std::string, Pool> pools_;
  std::optional<Buffer> input_, output_;
  // Of the group that runs:
  std::uint32_t number_ = 0;
  const RecordGroup* group_ = nullptr;
  const RecordSurface* surface_ = nullptr;
  const RecordInstruction* instruction_ = nullptr;
  std::optional<Kernel> kernel_;
  Pool* pool_ = nullptr;
  std::vector<std::byte> pattern_;
  GroupResult result_;
};

}  // namespace ptx2spv::tools
