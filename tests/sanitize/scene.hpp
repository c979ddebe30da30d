// A kernel, the memory that it sees and its launch, as data: the same scene runs on a device of the
// tests, and by dev/recorder under NVIDIA's compute-sanitizer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sanitize/checked_device.hpp"

namespace ptx2spv {

struct Scene {
  /// An allocation of its own.
  struct Memory {
    std::string name;
    std::uint32_t bytes = 0;
    std::optional<std::uint32_t> word = {};   ///< in all of it; not given: nobody writes it
    std::optional<std::size_t> address = {};  ///< it holds the address of this memory
    std::optional<std::size_t> handle = {};   ///< it holds a second surface object of this array
    bool freed = false;                       ///< before the launch
    std::optional<std::size_t> texture = {};  ///< texels of 4 bytes of it, as a texture
  };
  /// Of 32-bit texels, 32 by 4, of 3 layers or slices.
  struct Texels {
    Geometry geometry = Geometry::d2;
    bool written = false;
    ArrayBacking backing = ArrayBacking::automatic;  ///< here; CUDA has one
  };
  enum class Kind : std::uint8_t {
    memory,   ///< the address of memory[number]
    surface,  ///< a surface object of arrays[number]
    texture,  ///< a texture object of memory[number]
    value,    ///< `number` in `bytes` bytes
  };
  struct Argument {
    Kind kind = Kind::memory;
    std::int64_t number = 0;
    std::uint32_t bytes = 8;
  };

  std::string name;   ///< distinct among all scenes
  std::string check;  ///< of --sanitize
  bool faulty = false;
  std::string ptx, kernel;
  std::uint32_t grid = 1, shared = 0;  ///< blocks; bytes of dynamic shared memory
  std::array<std::uint32_t, 2> block{1, 1};
  std::vector<Memory> memory;
  std::vector<Texels> arrays;
  std::vector<Argument> arguments;
};

inline constexpr std::uint32_t kTexelWidth = 32, kTexelHeight = 4, kTexelLayers = 3;

/// Instructions that use what those of `body` load, so that no compiler takes them for dead. They
/// store to the address in the register `to` where all of it together is one number.
std::string kept(const std::string& body, const char* to);

/// The bits of a check's name.
std::uint32_t checks_of(const std::string& check);

/// A scene's memory on a device.
class Staged {
 public:
  Staged(const Device& device, const Scene& scene);
  /// Loads the scene's PTX as `file`.
  Module load(const std::string& file) const;
  /// Launches the kernel and waits.
  Result<LaunchTiming> launch(const Module& module, std::optional<ThreadModel> threads = {});
  /// What the sanitizer has found in `file` on the device.
  SanitizerReport report(const std::string& file) const;
  Buffer& memory(std::size_t index) { return *memory_[index]; }

 private:
  const Device& device_;
  const Scene& scene_;
  std::vector<std::optional<Buffer>> memory_;
  std::vector<std::uint64_t> addresses_;
  std::vector<std::optional<Texture>> textures_;
  std::vector<Array> arrays_;
  std::vector<Surface> surfaces_, again_;
};

/// Runs each with its check, on a device of its own: one finding where it is faulty, else none.
void run_scenes(const std::vector<Scene>& scenes);

/// What the tests plant, a function for each file of tests.
std::vector<Scene> planted_scenes();
std::vector<Scene> memory_scenes();
std::vector<Scene> fetch_scenes();
std::vector<Scene> shadow_scenes();
std::vector<Scene> global_race_scenes();
std::vector<Scene> texel_scenes();
std::vector<Scene> sync_scenes();
/// All of them.
std::vector<Scene> all_scenes();

/// Holds what was found in a scene against what compute-sanitizer said of it on an H200
/// (tests/data/sanitizer): the same verdict, or a disagreement that the list there explains.
void compare_with_record(const Scene& scene, const std::vector<Finding>& findings);

}  // namespace ptx2spv
