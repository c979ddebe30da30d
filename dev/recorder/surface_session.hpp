// Runs lines of the surface records on the GPU: a surface object from a setup, the lines of one
// instruction on it.
#pragma once

#include "dev/recorder/surface_lines.hpp"

namespace ptx2spv::recorder {

/// A surface object and its array.
class SurfaceObject {
 public:
  explicit SurfaceObject(const SurfaceSetup& setup);
  ~SurfaceObject();
  SurfaceObject(const SurfaceObject&) = delete;
  SurfaceObject& operator=(const SurfaceObject&) = delete;

  std::uint64_t handle() const { return handle_; }
  void* array() const { return level_ ? level_ : array_; }
  /// The driver's error number where it refused the array or the surface.
  int error() const { return error_; }
  /// Between the array and dense rows in device memory; does not wait.
  int copy(DevicePointer memory, bool to_array) const;

 private:
  const SurfaceSetup& setup_;
  void* array_ = nullptr;
  void* mipmapped_ = nullptr;
  void* level_ = nullptr;  ///< belongs to the mipmapped array
  std::uint64_t handle_ = 0;
  int error_ = 0;
};

/// A record's line up to its results.
std::string surface_operands(const SurfaceInstruction& instruction, const SurfaceLine& line);

/// Runs lines of one instruction on one surface; empty where the driver reports an error.
class SurfaceRun {
 public:
  SurfaceRun(const SurfaceSetup& setup, const SurfaceObject& object)
      : object_(object), pattern_(surface_bytes(setup)), first_(pattern_.size()) {
    first_.upload(pattern_.data(), pattern_.size());
  }

  /// The record's lines.
  std::vector<std::string> run(const SurfaceInstruction& i, const Kernel& kernel,
                               const std::vector<SurfaceLine>& lines);

 private:
  std::vector<std::string> loads(const SurfaceInstruction& i, const Kernel& kernel,
                                 const std::vector<SurfaceLine>& lines, const DeviceMemory& in);
  std::vector<std::string> stores(const SurfaceInstruction& i, const Kernel& kernel,
                                  const std::vector<SurfaceLine>& lines, const DeviceMemory& in);

  const SurfaceObject& object_;
  std::vector<std::uint8_t> pattern_;
  DeviceMemory first_;
};

}  // namespace ptx2spv::recorder
