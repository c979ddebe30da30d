// The runtime library: devices, memory, surfaces, modules and launches. Every object keeps its
// device alive, so objects may be destroyed in any order. Functions return results and never throw.
//
// Threads: a Device, Module and Kernel may be used from several threads at once, and so may
// different Buffers, Arrays and Surfaces. A Stream, Event or Graph locks itself: calls on one
// stream from several threads run one after the other, in some order. The caller makes sure that no
// object is destroyed while another thread uses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptx2spv/result.hpp"
#include "ptx2spv/sanitizer.hpp"
#include "ptx2spv/translator.hpp"

namespace ptx2spv {

namespace runtime {
struct DeviceState;
struct BufferState;
struct ArrayState;
struct SurfaceState;
struct TextureState;
struct ModuleState;
struct KernelState;
struct StreamState;
struct EventState;
struct GraphState;
}  // namespace runtime

// ---------------------------------------------------------------------------------------- devices

enum class DeviceKind : std::uint8_t { discrete, integrated, virtual_gpu, cpu, other };
const char* to_string(DeviceKind kind);

struct DeviceInfo {
  std::uint32_t index = 0;   ///< position in the list, for selection
  std::string name, driver;  ///< "Tesla ...", "SwiftShader driver"
  DeviceKind kind = DeviceKind::other;
  std::array<std::uint8_t, 16> uuid{};
  std::uint32_t vendor = 0, device = 0, api_version = 0, driver_version = 0;
  std::uint64_t memory_bytes = 0;
  /// And the threads that each holds, where a GPU's driver tells; 0: unknown.
  std::uint32_t multiprocessors = 0, multiprocessor_threads = 0;
  bool usable = false;
  std::string rejection;  ///< why it is not usable, or why the selection passed it over
  Profile profile;        ///< before DeviceOptions::disable
  std::string uuid_text() const;
};

/// Who runs launches (docs/develop/interpreter.md).
enum class ExecutorPolicy : std::uint8_t {
  automatic,  ///< the device; the host what the device cannot run, or not soon
  device,     ///< the device alone
  host,       ///< the host all that it can run; devices whose memory it does not reach are refused
};

struct DeviceOptions {
  /// Empty: PTX2SPV_DEVICE, then the policy (discrete GPU, integrated, virtual, SwiftShader, other
  /// CPU). Else "gpu", "cpu", "swiftshader", "lavapipe", an index ("2" or "index:2"), "uuid:..." or
  /// part of the name.
  std::string select;
  std::vector<std::string> disable;  ///< capabilities by name
  std::vector<std::string> enable;   ///< workarounds by name (docs/reference/capabilities.md)
  std::vector<std::string> require;  ///< capabilities without which the device is refused
  std::string profile;               ///< named profile, of which the device keeps what it has
  std::optional<Profile> within;     ///< as `profile`, of a profile that has no name
  std::optional<bool> validation;    ///< not given: PTX2SPV_VALIDATION
  std::optional<bool> cache;  ///< of translations and pipelines, on disk; not given: PTX2SPV_CACHE
  std::string cache_directory;  ///< empty: PTX2SPV_CACHE_DIR, then the user's cache directory
  std::function<void(std::string_view)> print;  ///< where printf goes; empty: standard output
  /// Check: what launches that do not say are checked for; not given: PTX2SPV_SANITIZE. Memory that
  /// is allocated on such a device has bytes behind it that belong to nobody, and freed memory is
  /// kept back, so that more is found than by LaunchConfig::checks alone.
  std::optional<std::uint32_t> checks;
  /// Findings that are not reported, as sanitizer.md says; not given: the list in the file
  /// that PTX2SPV_SUPPRESSIONS names.
  std::optional<std::string> suppressions;
  /// Seconds that a launch may take before waits for it end with an error; not given:
  /// PTX2SPV_TIMEOUT; 0: as long as it takes.
  std::optional<double> timeout;
  std::function<void(std::string_view)>
      report;  ///< where the sanitizer's findings go; empty: standard error
  std::optional<ExecutorPolicy> executor;  ///< not given: PTX2SPV_EXECUTOR, else automatic
};

/// Every device, usable or not, each with the reason why it was passed over.
Result<std::vector<DeviceInfo>> list_devices(const DeviceOptions& options = {});

/// Counters since the device was opened.
struct DeviceStatistics {
  std::uint64_t translations = 0, translation_cache_hits = 0, pipelines = 0, launches = 0;
  double translation_ms = 0, pipeline_ms = 0;
  std::uint64_t memory_blocks = 0, memory_bytes = 0, memory_used = 0;
  std::uint64_t validation_messages = 0;
  std::uint64_t array_copies = 0;  ///< of whole arrays between memory and images, by launches
  std::uint64_t interpreted_launches =
      0;  ///< of the launches, by the interpreter, wholly or in part (docs/develop/interpreter.md)
};

class Device {
 public:
  static Result<Device> open(const DeviceOptions& options = {});
  const DeviceInfo& info() const;
  const Profile& profile() const;  ///< in force: after DeviceOptions::disable and ::profile
  DeviceStatistics statistics() const;
  /// Errors and warnings of the validation layer so far (0 without it).
  std::uint64_t validation_messages() const;
  Status synchronize();  ///< waits for every stream
  /// What the sanitizer has found in launches that are over.
  SanitizerReport sanitizer_report() const;
  /// Bytes that malloc in kernels gives out of, 8 MiB unless set (cudaLimitMallocHeapSize). Blocks
  /// are powers of two of 32 bytes and more, and outlive the launch.
  std::uint64_t malloc_heap_bytes() const;
  /// At most 4 GiB, rounded up to 32 bytes; an error once a kernel with malloc was launched.
  Status set_malloc_heap_bytes(std::uint64_t bytes);
  const std::shared_ptr<runtime::DeviceState>& state() const { return state_; }
  explicit Device(std::shared_ptr<runtime::DeviceState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::DeviceState> state_;
};

// ----------------------------------------------------------------------------------------- memory

/// Rows and slices of a rectangular copy, in bytes on the buffer's side. Pitch 0: dense.
struct Region {
  std::uint64_t offset = 0;  ///< of the first byte in the buffer
  std::uint64_t row_bytes = 0;
  std::uint32_t rows = 1, slices = 1;
  std::uint64_t row_pitch = 0, slice_pitch = 0;            ///< in the buffer
  std::uint64_t host_row_pitch = 0, host_slice_pitch = 0;  ///< on the host (or in the other buffer)
};

enum class BufferMemory : std::uint8_t {
  device,  ///< the device's own
  rows,    ///< the same, for rows that the device's samplers read, as from cudaMallocPitch
  host,    ///< the host's, mapped and read by kernels by its address, as from cudaHostAlloc
};

/// Device memory with an address, as from cudaMalloc. Transfers are complete when the call returns.
class Buffer {
 public:
  static Result<Buffer> create(const Device& device, std::uint64_t bytes,
                               BufferMemory memory = BufferMemory::device);
  /// The memory at a device address: of another buffer, or of a variable of a module. It owns
  /// nothing, so what it shows must outlive its last use. invalid_argument where the `bytes` from
  /// `address` do not lie in memory of this device.
  static Result<Buffer> view(const Device& device, std::uint64_t address, std::uint64_t bytes);
  std::uint64_t size() const;
  std::uint64_t address() const;
  void set_name(std::string name);  ///< for the sanitizer's reports
  Status upload(std::uint64_t offset, std::span<const std::byte> bytes);
  Status download(std::uint64_t offset, std::span<std::byte> bytes) const;
  Status upload(const Region& region, std::span<const std::byte> bytes);
  Status download(const Region& region, std::span<std::byte> bytes) const;
  /// Fills with a pattern of 1, 2 or 4 bytes.
  Status fill(std::uint64_t offset, std::uint64_t bytes, std::uint32_t pattern,
              int pattern_bytes = 1);
  Status copy_from(const Buffer& from, std::uint64_t from_offset, std::uint64_t offset,
                   std::uint64_t bytes);
  /// Rows and slices: `region` says where they lie in this buffer, and its host pitches how they
  /// lie in `from`, whose first byte is at `from_offset`. invalid_argument where the buffers are of
  /// different devices or the ranges overlap.
  Status copy_from(const Buffer& from, std::uint64_t from_offset, const Region& region);
  /// The memory itself where the host can access it, otherwise null.
  std::byte* mapped() const;
  const std::shared_ptr<runtime::BufferState>& state() const { return state_; }
  explicit Buffer(std::shared_ptr<runtime::BufferState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::BufferState> state_;
};

const char* to_string(Geometry geometry);  ///< "1d" ... "a2d"
std::optional<Geometry> parse_geometry(std::string_view text);
const char* to_string(abi::SurfaceFormat format);  ///< "u8" ... "snorm16"
std::optional<abi::SurfaceFormat> parse_format(std::string_view text);
std::uint32_t format_bytes(abi::SurfaceFormat format);  ///< of one component

enum class ArrayBacking : std::uint8_t {
  linear,     ///< memory
  image,      ///< a Vulkan storage image
  automatic,  ///< where its kernels want it, unless the debug setting backing says; it moves when
              ///< that changes
};

struct ArrayDesc {
  Geometry geometry = Geometry::d2;
  abi::SurfaceFormat format = abi::SurfaceFormat::u32;
  std::uint32_t channels = 1;  ///< 1, 2 or 4
  std::uint32_t width = 1, height = 1,
                depth = 1;   ///< elements; height and depth where the geometry has them
  std::uint32_t layers = 1;  ///< a1d, a2d
  std::uint32_t levels = 1;  ///< mipmaps
  ArrayBacking backing = ArrayBacking::automatic;
  std::string name;  ///< for trap reports
  std::uint32_t texel_bytes() const { return format_bytes(format) * channels; }
};

/// A box of one level of an array, and where its rows lie on the host or in a buffer.
struct ArrayRegion {
  std::uint32_t level = 0;
  std::uint32_t x = 0, y = 0, z = 0;  ///< the first texel; z: slice or layer
  std::uint32_t width = 0, height = 0,
                depth = 0;  ///< texels, rows, slices or layers; 0: to the level's end
  std::uint64_t row_pitch = 0, slice_pitch = 0;  ///< bytes, on the other side; 0: dense
};

/// Surface storage, as from cudaMalloc3DArray. Whole levels are dense on the host: rows without
/// padding, slices and layers one after the other. Transfers are complete when the call returns.
class Array {
 public:
  static Result<Array> create(const Device& device, const ArrayDesc& desc);
  const ArrayDesc& desc() const;
  bool image_backed() const;
  std::uint64_t bytes(std::uint32_t level = 0) const;  ///< of the dense host copy
  Status upload(std::span<const std::byte> bytes, std::uint32_t level = 0);
  Status download(std::span<std::byte> bytes, std::uint32_t level = 0) const;
  /// A box of a level; `bytes` has to hold every row of it.
  Status upload(const ArrayRegion& region, std::span<const std::byte> bytes);
  Status download(const ArrayRegion& region, std::span<std::byte> bytes) const;
  /// Copies a box from or to a buffer, on the device. The rows start at `offset`. For an array in
  /// an image, offset and pitches are multiples of the texel's size.
  Status copy_from(const Buffer& from, std::uint64_t offset, const ArrayRegion& region = {});
  Status copy_to(const Buffer& to, std::uint64_t offset, const ArrayRegion& region = {}) const;
  Status fill(std::uint32_t pattern, int pattern_bytes = 1, std::uint32_t level = 0);
  Status copy_from(const Array& from);  ///< of the same extent and texel size
  /// A box of `from` to a box of this array of as many texels, rows and slices. Both have texels of
  /// one size and belong to one device; pitches are not looked at. The boxes may overlap.
  Status copy_from(const Array& from, const ArrayRegion& source, const ArrayRegion& region);
  const std::shared_ptr<runtime::ArrayState>& state() const { return state_; }
  explicit Array(std::shared_ptr<runtime::ArrayState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::ArrayState> state_;
};

/// A live entry of the surface table. When the last copy of this object goes, the handle traps.
class Surface {
 public:
  static Result<Surface> create(const Array& array, std::uint32_t level = 0);
  std::uint64_t handle() const;     ///< what a .u64 parameter or a cell in memory holds
  void set_name(std::string name);  ///< for trap reports
  Array array() const;
  const std::shared_ptr<runtime::SurfaceState>& state() const { return state_; }
  explicit Surface(std::shared_ptr<runtime::SurfaceState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::SurfaceState> state_;
};

enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };
struct TextureDesc {
  std::array<AddressMode, 3> address{AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  bool linear_filter = false, linear_mipmap_filter = false;
  bool normalized_coordinates = false;
  bool read_as_integer = true;  ///< false: 8- and 16-bit integers are read as normalised floats
  bool srgb = false;            ///< 8-bit colours are sRGB; needs read_as_integer = false
  bool cube = false;  ///< the layers of an a2d array are the faces of cubes: cube and acube read
                      ///< it, and nothing else
  bool seamless_cube = false;   ///< linear filters of a cube reach across the edges of its faces
  bool mipmapped = false;       ///< an array of one level is read as a mipmapped array
  bool full_trilinear = false;  ///< cudaTextureDesc's disableTrilinearOptimization, of anisotropic
                                ///< reads
  std::array<float, 4> border{};
  float mipmap_bias = 0, min_level = 0,
        max_level = 0;               ///< as CUDA's: with max_level 0 only level 0 is read
  std::uint32_t max_anisotropy = 1;  ///< 1 to 16, for reads by gradients (hardware.md)
};

/// Memory as a texture: cudaResourceTypeLinear and cudaResourceTypePitch2D.
struct TextureMemory {
  abi::SurfaceFormat format = abi::SurfaceFormat::u32;
  std::uint32_t channels = 1;  ///< 1, 2 or 4
  std::uint64_t offset = 0;    ///< of the first texel in the buffer, a multiple of 16
  std::uint32_t width = 1;     ///< texels in all, or in a row
  std::uint32_t height = 0;    ///< rows; 0: linear memory, read at integer coordinates
  std::uint64_t pitch = 0;     ///< bytes from row to row, a multiple of 16
};

/// A part of an array, or its texels in another format: CUDA's cudaResourceViewDesc.
struct TextureView {
  abi::SurfaceFormat format = abi::SurfaceFormat::u32;
  std::uint32_t channels = 1;  ///< 1, 2 or 4: as many bytes a texel as the array has
  std::uint32_t first_level = 0, levels = 1;
  std::uint32_t first_layer = 0, layers = 1;  ///< of arrays with layers; else 0 and 1
};

class Texture {
 public:
  /// Over every level of the array.
  static Result<Texture> create(const Array& array, const TextureDesc& desc);
  /// Over one level, which is read as an array of its own (cudaGetMipmappedArrayLevel).
  static Result<Texture> create_level(const Array& array, std::uint32_t level,
                                      const TextureDesc& desc);
  /// Over a part of an array, or by another format. No sampler of the device reads it.
  static Result<Texture> create_view(const Array& array, const TextureView& view,
                                     const TextureDesc& desc);
  /// Over memory, which must outlive the texture's last use.
  static Result<Texture> create(const Buffer& buffer, const TextureMemory& memory,
                                const TextureDesc& desc);
  std::uint64_t handle() const;
  const std::shared_ptr<runtime::TextureState>& state() const { return state_; }
  explicit Texture(std::shared_ptr<runtime::TextureState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::TextureState> state_;
};

/// A sampler of its own, for `.samplerref` (modules with `.target texmode_independent`). It takes
/// address modes, filters, levels of detail and normalized_coordinates (false forces coordinates in
/// texels) from the description. The rest is the texture's.
class Sampler {
 public:
  static Result<Sampler> create(const Device& device, const TextureDesc& desc);
  std::uint64_t handle() const;
  const std::shared_ptr<runtime::TextureState>& state() const { return state_; }
  explicit Sampler(std::shared_ptr<runtime::TextureState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::TextureState> state_;
};

// ---------------------------------------------------------------------------- modules and kernels

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// The arguments of a launch, in the kernel's order. A launch refuses objects of another device,
/// buffers and textures where the kernel uses a surface, and arguments that differ from the
/// kernel's parameters in number or size. Bytes and addresses are not checked.
class Args {
 public:
  enum class Kind : std::uint8_t { value, address, surface, texture, sampler };
  struct Item {
    Kind kind = Kind::value;
    std::size_t offset = 0, size = 0;              ///< of its bytes, in `data`
    std::shared_ptr<const void> keep;              ///< must live until the launch is over
    const runtime::DeviceState* device = nullptr;  ///< that the object belongs to; null: none
  };
  Args& surface(const Surface& surface);
  Args& texture(const Texture& texture);
  Args& sampler(const Sampler& sampler);
  Args& buffer(const Buffer& buffer, std::uint64_t offset = 0);
  Args& address(std::uint64_t address);
  Args& bytes(std::span<const std::byte> bytes);
  template <class T>
  Args& value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "arguments are passed as their bytes");
    return bytes(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }
  /// Binds a module-scope .surfref (or .texref) for this launch alone.
  Args& surfref(std::string name, const Surface& surface);
  Args& texref(std::string name, const Texture& texture);
  Args& samplerref(std::string name, const Sampler& sampler);

  std::vector<Item> items;
  std::vector<std::byte> data;  ///< of all items
  std::vector<std::pair<std::string, std::shared_ptr<runtime::SurfaceState>>> surfrefs;
  std::vector<std::pair<std::string, std::shared_ptr<runtime::TextureState>>> texrefs, samplerrefs;
};

struct LaunchConfig {
  Dim3 grid, block;
  std::uint32_t dynamic_shared = 0;     ///< bytes; with static shared memory at most 232,448
  std::uint32_t repeat = 1;             ///< how often the launch runs, one after the other
  std::optional<FpPolicy> fp;           ///< not given: the module's
  std::optional<ThreadModel> threads;   ///< not given: chosen by the launch
  std::optional<FilterPolicy> filter;   ///< not given: PTX2SPV_FILTER, else exact
  std::optional<std::uint32_t> checks;  ///< Check: of the sanitizer; not given: the device's
  std::string suppressions;             ///< more than the device's, of this launch
  bool cooperative = false;  ///< all blocks are there at once and may wait for each other. Where
                             ///< the device does not promise that, one workgroup runs them all,
                             ///< and the sanitizer looks for neither races nor synchronisation
  bool bind_slots = true;    ///< false: every linear surface is reached by address
  bool time = false;         ///< fill LaunchTiming::device_ms
};

struct LaunchTiming {
  double device_ms = -1;  ///< all repeats, by timestamps; -1: not requested or not available
  double wall_ms = 0;     ///< submission to completion
  double prepare_ms = 0;  ///< translation and pipeline, when this launch needed one
  ThreadModel threads = ThreadModel::direct;
  /// Parameters that the device's samplers read, and textures that they read for handles that the
  /// kernel takes from memory.
  std::uint32_t sampled_textures = 0;
};

struct ModuleOptions {
  FpPolicy fp = FpPolicy::exact;
  int optimize = 1;
  bool debug_info = false;
  bool relax_versions = false;
  /// Of PtxModule::parse. Not given: the debug setting inline-budget, else
  /// kInlineBudget.
  std::optional<std::size_t> inline_budget = std::nullopt;
};

class Kernel;

class Module {
 public:
  static Result<Module> load(const Device& device, std::string_view ptx, std::string file,
                             const ModuleOptions& options = {});
  /// Several PTX texts, linked.
  static Result<Module> load(const Device& device, const std::vector<PtxModule::Input>& inputs,
                             const ModuleOptions& options = {});
  static Result<Module> load_file(const Device& device, const std::string& path,
                                  const ModuleOptions& options = {});
  const std::vector<Message>& warnings() const;
  const Interface& interface() const;
  Result<Kernel> kernel(std::string_view name) const;
  /// Module-scope variables (.global and .const), by name.
  Result<std::uint64_t> global_address(std::string_view name) const;
  Result<std::uint64_t> global_size(std::string_view name) const;
  Status set_global(std::string_view name, std::span<const std::byte> bytes,
                    std::uint64_t offset = 0);
  Status get_global(std::string_view name, std::span<std::byte> bytes,
                    std::uint64_t offset = 0) const;
  /// Binds a .surfref or .texref for every later launch.
  Status bind_surface(std::string_view surfref, const Surface& surface);
  Status bind_texture(std::string_view texref, const Texture& texture);
  Status bind_sampler(std::string_view samplerref, const Sampler& sampler);
  const std::shared_ptr<runtime::ModuleState>& state() const { return state_; }
  explicit Module(std::shared_ptr<runtime::ModuleState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::ModuleState> state_;
};

class Kernel {
 public:
  const EntryInfo& info() const;
  const std::string& name() const;
  /// Runs and waits. A trap is Error::trap.
  Result<LaunchTiming> launch(const LaunchConfig& config, const Args& args) const;
  /// Translates and builds the pipeline for such a launch without running it.
  Status prepare(const LaunchConfig& config, const Args& args) const;
  const std::shared_ptr<runtime::KernelState>& state() const { return state_; }
  explicit Kernel(std::shared_ptr<runtime::KernelState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::KernelState> state_;
};

// -------------------------------------------------------------------------- streams, events,
// graphs

/// A point in a stream. Reusable.
class Event {
 public:
  static Result<Event> create(const Device& device);
  bool recorded() const;
  bool done() const;
  Status wait() const;  ///< blocks the host
  /// Device milliseconds from `start` to this; both must be done.
  Result<double> since(const Event& start) const;
  const std::shared_ptr<runtime::EventState>& state() const { return state_; }
  explicit Event(std::shared_ptr<runtime::EventState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::EventState> state_;
};

/// Launches recorded once, replayed as one submission.
class Graph {
 public:
  static Result<Graph> create(const Device& device);
  Status add(const Kernel& kernel, const LaunchConfig& config, const Args& args);
  Status add_copy(const Buffer& from, std::uint64_t from_offset, const Buffer& to,
                  std::uint64_t to_offset, std::uint64_t bytes);
  std::size_t size() const;
  const std::shared_ptr<runtime::GraphState>& state() const { return state_; }
  explicit Graph(std::shared_ptr<runtime::GraphState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::GraphState> state_;
};

/// A queue of work that runs in order, and may run beside other streams' work: events tell what
/// comes first. Functions of other objects come after all that streams were given. The next
/// synchronize returns an error or trap of a launch.
class Stream {
 public:
  static Result<Stream> create(const Device& device);
  Status launch(const Kernel& kernel, const LaunchConfig& config, const Args& args);
  Status replay(const Graph& graph);
  Status upload(const Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes);
  Status download(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> bytes);
  Status copy(const Buffer& from, std::uint64_t from_offset, const Buffer& to,
              std::uint64_t to_offset, std::uint64_t bytes);
  /// For arrays, as the functions of Array. An upload copies `bytes` before it returns. The `bytes`
  /// of a download must live until the copy is over.
  Status upload(const Array& array, const ArrayRegion& region, std::span<const std::byte> bytes);
  Status download(const Array& array, const ArrayRegion& region, std::span<std::byte> bytes);
  Status copy(const Buffer& from, std::uint64_t offset, const Array& to,
              const ArrayRegion& region = {});
  Status copy(const Array& from, const Buffer& to, std::uint64_t offset,
              const ArrayRegion& region = {});
  Status fill(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word);
  Status record(const Event& event);
  Status wait(const Event& event);  ///< later work of this stream comes after the event
  bool idle() const;
  Status synchronize();
  const std::shared_ptr<runtime::StreamState>& state() const { return state_; }
  explicit Stream(std::shared_ptr<runtime::StreamState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::StreamState> state_;
};

}  // namespace ptx2spv
