// The part of the CUDA driver interface that the recorder calls, declared here so that it builds on
// machines without CUDA's headers. The library is loaded when the recorder runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptx2spv::recorder {

using DevicePointer = std::uint64_t;

enum class ArrayFormat : std::uint32_t {
  u8 = 0x01,
  u16 = 0x02,
  u32 = 0x03,
  s8 = 0x08,
  s16 = 0x09,
  s32 = 0x0a,
  f16 = 0x10,
  f32 = 0x20,
  // Of one channel; those of two and four are the next two numbers.
  unorm8 = 0xc0,
  unorm16 = 0xc3,
  snorm8 = 0xc6,
  snorm16 = 0xc9
};

struct ArrayDescription {
  std::size_t width = 0, height = 0, depth = 0;
  ArrayFormat format = ArrayFormat::u8;
  std::uint32_t channels = 1;
  std::uint32_t flags = 0;
};
namespace array_flag {
inline constexpr std::uint32_t layered = 1, surface = 2, cubemap = 4, gather = 8;
}

enum class ResourceType : std::uint32_t { array = 0, mipmapped = 1, linear = 2, pitched = 3 };
struct ResourceDescription {
  struct Linear {
    DevicePointer pointer;
    ArrayFormat format;
    std::uint32_t channels;
    std::size_t bytes;
  };
  struct Pitched {
    DevicePointer pointer;
    ArrayFormat format;
    std::uint32_t channels;
    std::size_t width, height, pitch;
  };
  ResourceType type = ResourceType::array;
  union {
    void* array;
    Linear linear;
    Pitched pitched;
    std::int32_t reserved[32];
  };
  std::uint32_t flags = 0;
  ResourceDescription() : reserved{} {}
};

enum class AddressMode : std::uint32_t { wrap, clamp, mirror, border };
enum class Filter : std::uint32_t { point, linear };
namespace texture_flag {
inline constexpr std::uint32_t element = 1, normalized = 2, srgb = 0x10, full_trilinear = 0x20,
                               seamless = 0x40;
}
struct TextureDescription {
  AddressMode address[3] = {AddressMode::wrap, AddressMode::wrap, AddressMode::wrap};
  Filter filter = Filter::point;
  std::uint32_t flags = 0;
  std::uint32_t anisotropy = 0;
  Filter mip_filter = Filter::point;
  float bias = 0, min_level = 0, max_level = 0;
  float border[4] = {0, 0, 0, 0};
  std::int32_t reserved[12] = {};
};

struct Copy3D {
  struct Side {
    std::size_t x_bytes = 0, y = 0, z = 0, lod = 0;
    std::uint32_t memory = 0;  ///< 1 host, 2 device, 3 array
    void* host = nullptr;
    DevicePointer device = 0;
    void* array = nullptr;
    void* reserved = nullptr;
    std::size_t pitch = 0, height = 0;
  } source, target;
  std::size_t width_bytes = 0, height = 0, depth = 0;
};

/// The entry points. A call returns 0 or the driver's error number.
struct Driver {
#define PTX2SPV_CUDA(member, symbol, ...) int (*member)(__VA_ARGS__) = nullptr;
#include "dev/recorder/cuda_driver.def"
#undef PTX2SPV_CUDA
  void* context = nullptr;
  std::string device_name;
  int version = 0;

  /// Loads the driver and takes device 0; exits with a message where that fails.
  static Driver& get();
  /// Ends the program when `result` is an error. `what` says what was tried.
  void check(int result, const char* what) const;
};

/// Device memory of a fixed size.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DevicePointer address() const { return address_; }
  void upload(const void* from, std::size_t bytes);
  void download(void* to, std::size_t bytes, std::size_t offset = 0) const;

 private:
  DevicePointer address_ = 0;
};

/// A loaded module with one entry named `k`, or nothing where the driver refuses the text.
class Kernel {
 public:
  static std::unique_ptr<Kernel> load(const std::string& ptx, std::string* log = nullptr);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  /// Runs blocks of 128 threads with 64-bit parameters; waits. Returns the driver's error number.
  int run(std::uint32_t blocks, std::vector<std::uint64_t> parameters) const;
  /// The same without waiting.
  int start(std::uint32_t blocks, std::vector<std::uint64_t> parameters) const;

 private:
  Kernel() = default;
  void* module_ = nullptr;
  void* function_ = nullptr;
};

}  // namespace ptx2spv::recorder
