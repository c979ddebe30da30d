// The objects behind CUDA's handles, and the tables that know which handles are alive.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "src/cuda/core/log.hpp"
#include "src/cuda/driver_types.hpp"

namespace ptx2spv::cuda {

/// Bytes, and the most that they were since somebody set that back.
/// Memory of graphs' nodes: what is taken now, and what graphs keep for their next launches, in
/// whole blocks of NVIDIA's driver.
struct GraphMemoryCount {
  std::mutex mutex;
  std::uint64_t taken = 0, kept = 0, most_used = 0, most_reserved = 0;
};

/// One device of CUDA's numbering. Opened when first used.
struct DeviceObject {
  int ordinal = 0;
  std::string select;                   ///< for DeviceOptions::select
  DeviceInfo info;                      ///< of the Vulkan device
  std::array<std::uint8_t, 16> uuid{};  ///< Vulkan's; of its second CUDA device on, another
  bool shared_addresses = false;        ///< kernels and the host reach memory by the same addresses
  bool managed = false;           ///< they do so for memory that the runtime allocates for both
  bool registers = false;         ///< kernels reach memory that the program registers
  bool maps_memory = false;       ///< memory is mapped to addresses
  std::atomic<bool> open{false};  ///< open_device() succeeded; what is above stays

  std::mutex mutex;  ///< what follows
  std::optional<Device> device;
  std::optional<Buffer> peer_pages;  ///< by which it copies to other devices
  std::shared_ptr<ContextObject> primary;
  unsigned primary_flags = 0, primary_users = 0;
  std::shared_ptr<PoolObject> builtin_pool, current_pool;  ///< null: not asked for, or the builtin

  GraphMemoryCount graph_memory;
};

enum class MemoryUse : std::uint8_t {
  device,
  host,
  managed,
  registered,
  variable,
  mapped,  ///< by cuMemMap
  shared,  ///< with a graphics interface
};

struct GraphMemory;

/// A range of memory that CUDA knows by address.
struct Allocation {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  MemoryUse use = MemoryUse::device;
  std::byte* host = nullptr;  ///< where the host reaches it; null: nowhere
  std::optional<Buffer>
      buffer;  ///< none: registered or mapped memory, which kernels reach at `address`
  ContextObject* context = nullptr;
  std::shared_ptr<PoolObject> pool;
  GraphMemory* graph = nullptr;  ///< of a graph's node
  unsigned flags = 0;
  std::uint64_t id = 0;
};

/// Memory that a graph's node allocates: there as long as the node or a clone of it, and the
/// program's between the launch of that node and whatever frees it.
struct GraphMemory : std::enable_shared_from_this<GraphMemory> {
  std::shared_ptr<Allocation> allocation;
  DeviceObject* device = nullptr;
  std::atomic<bool> live{false}, instantiated{false};
  std::atomic<std::uint64_t> graph{0};  ///< GraphObject::id of the graph whose node allocates
  GraphMemory() = default;
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();
};

/// An operation of a stream, as a graph keeps it and as streams run it.
struct Operation;

/// A capture in progress, shared by the streams that joined it.
struct Capture {
  std::shared_ptr<GraphObject> graph;
  StreamObject* origin = nullptr;
  std::uint64_t id = 0;
  int mode = 0;
  std::thread::id thread;             ///< that began it
  std::atomic<bool> blocking{false};  ///< a stream of it waits for the legacy one
  std::atomic<bool> invalid{false};
  std::mutex mutex;  ///< for what follows
  /// Nodes that a stream was to come after, before the program named others: nothing else need.
  std::vector<GraphNodeObject*> replaced;
};

struct Backlog;
/// A place in what a stream has kept behind host functions (backlog.hpp).
struct Ticket {
  std::shared_ptr<Backlog> backlog;
  std::uint64_t number = 0;
};

struct StreamObject : std::enable_shared_from_this<StreamObject> {
  ContextObject* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  bool builtin = false;              ///< legacy or per thread: nobody destroys it
  std::shared_ptr<Backlog> backlog;  ///< made when first needed, under a mutex of all backlogs

  std::mutex mutex;              ///< what follows
  std::optional<Stream> stream;  ///< made when first needed
  std::shared_ptr<Capture> capture;
  std::vector<GraphNodeObject*> tail;  ///< nodes that the next captured one comes after
  std::map<int, CUlaunchAttribute> attributes;
};

struct EventObject {
  ContextObject* context = nullptr;
  unsigned flags = 0;
  std::mutex mutex;  ///< what follows
  std::optional<Event> event;
  Ticket kept;                          ///< of a recording behind host functions
  std::shared_ptr<Capture> capture;     ///< recorded in a capture
  std::vector<GraphNodeObject*> nodes;  ///< of that capture
};

/// What the sanitizer lists where it is never destroyed.
struct Traced {
  std::string made;  ///< the calls that made it, a line each; empty where nobody asks
};

/// A CUDA array, or a level of a mipmapped one.
struct ArrayObject : Traced {
  ContextObject* context = nullptr;
  Array array;
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  std::uint32_t level = 0;
  MipmapObject* owner = nullptr;  ///< of a level
  explicit ArrayObject(Array value) : array(std::move(value)) {}
};

struct MipmapObject : Traced {
  ContextObject* context = nullptr;
  Array array;
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  bool shared = false;  ///< with a graphics interface: the program does not free it
  std::vector<std::shared_ptr<ArrayObject>> levels;  ///< made when asked for
  explicit MipmapObject(Array value) : array(std::move(value)) {}
};

struct TextureObject : Traced {
  ContextObject* context = nullptr;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC desc{};
  std::optional<CUDA_RESOURCE_VIEW_DESC> view;
  std::optional<Texture> texture;
};

struct SurfaceObject : Traced {
  ContextObject* context = nullptr;
  CUDA_RESOURCE_DESC resource{};
  std::optional<Surface> surface;
};

/// A .texref of a module, or one made by cuTexRefCreate.
struct TextureRefObject {
  ModuleObject* module = nullptr;
  std::string name;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC desc{};
  CUarray_format format = kFloat;
  int channels = 1;
  bool bound = false, changed = false;
  std::size_t offset = 0;  ///< of linear memory's start behind a multiple of 512 bytes
  /// Takes over what the program's variable says of reads: asked before each launch.
  std::function<CUresult(CUDA_TEXTURE_DESC&)> describe;
};

struct SurfaceRefObject {
  ModuleObject* module = nullptr;
  std::string name;
  CUarray array = nullptr;
};

struct FunctionObject {
  ModuleObject* module = nullptr;
  Kernel kernel;
  std::string name;
  int max_dynamic_shared = 0;  ///< 0: as much as goes without asking
  int carveout = -1;
  std::uint32_t cluster[3] = {0, 0, 0};
  // Of cuFuncSetBlockShape, cuParamSet* and their kind.
  Dim3 block;
  unsigned shared = 0;
  std::vector<std::byte> params;
  explicit FunctionObject(Kernel value) : kernel(std::move(value)) {}
};

struct ModuleObject {
  ContextObject* context = nullptr;
  Module module;
  LibraryObject* library = nullptr;
  std::mutex mutex;  ///< what follows
  std::map<std::string, std::shared_ptr<FunctionObject>, std::less<>> functions;
  std::map<std::string, std::shared_ptr<TextureRefObject>, std::less<>> texture_refs;
  std::atomic<bool> has_texture_refs{false};
  std::map<std::string, std::shared_ptr<SurfaceRefObject>, std::less<>> surface_refs;
  std::vector<CUdeviceptr> variables;  ///< entries of the table of allocations
  std::span<std::byte> guarded;        ///< the variables' pages, where they are the host's too
  int target = 0;                      ///< of the PTX: 75, 86 ...
  explicit ModuleObject(Module value) : module(std::move(value)) {}
};

/// PTX texts of which one is chosen for a device, or which are linked.
struct Image {
  struct Text {
    std::string file, text;
    int arch = 0;  ///< 75, 86 ...; 0: not known
  };
  /// Each element is an alternative for a device; the texts in it belong together.
  std::vector<std::vector<Text>> alternatives;
  bool machine_code = false;  ///< code for NVIDIA's devices was in it, too
  /// Of the PTX that the reported compute capability does not run: the least one that does (90
  /// ...), 0 where there is none, and its architecture's name.
  int other = 0;
  std::string other_name;
};

/// Code that is loaded into each context when that first uses it.
struct LibraryObject {
  std::function<CUresult(Image&)> reader;  ///< fills `image` at the first use; empty: it is full
  Image image;
  std::string file;
  std::mutex mutex;  ///< what follows
  std::map<ContextObject*, std::shared_ptr<ModuleObject>> modules;
  std::map<ContextObject*, CUresult> failures;
  std::map<std::string, std::shared_ptr<KernelObject>, std::less<>> kernels;
};

struct KernelObject {
  LibraryObject* library = nullptr;
  std::string name;
  std::mutex mutex;
  /// The function of the context that asked last.
  std::atomic<ContextObject*> last_context{nullptr};
  std::atomic<FunctionObject*> last_function{nullptr};
  std::map<int, int> attributes;  ///< set before a context loaded it
};

struct ContextObject {
  DeviceObject* device = nullptr;
  unsigned flags = 0;
  bool primary = false;
  std::uint64_t id = 0;
  std::atomic<bool> alive{true};
  std::atomic<int> sticky{0};  ///< a CUresult: every later call fails with it
  std::array<std::size_t, 8> limits{1024, 1u << 20, 8u << 20, 2, 2048, 0, 0, 0};
  int cache_config = 0, shared_config = 0;

  std::mutex mutex;  ///< what follows
  std::shared_ptr<StreamObject> legacy;
  std::vector<std::shared_ptr<StreamObject>> dirty;  ///< with launches that nobody looked at
  std::vector<int> peers;                            ///< ordinals of devices with access enabled
  Device& gpu() const { return *device->device; }
};

struct LinkObject {
  std::vector<Image::Text> inputs;
  std::string image;  ///< what cuLinkComplete gives: the texts, joined
  char* error_log = nullptr;
  std::size_t error_bytes = 0;
};

/// Freed memory that a pool keeps: free behind the work that its stream has by then.
struct KeptMemory {
  Buffer buffer;
  std::shared_ptr<StreamObject> stream;
};

struct PoolObject {
  int device = 0;
  bool builtin = false;
  std::uint64_t most = 0;  ///< bytes; 0: as many as the device has
  std::mutex mutex;        ///< what follows
  bool destroyed = false;
  std::vector<KeptMemory> kept;  ///< the oldest first
  std::vector<int> peers;        ///< ordinals of other devices that have access
  /// `reserved` has what is kept, too.
  std::uint64_t release_threshold = 0, used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  int reuse[3] = {1, 1, 1};
};

/// Handles that are alive, with their objects. Thread-safe.
template <class T, class Key = const T*>
class Table {
 public:
  T* add(std::shared_ptr<T> object) {
    T* raw = object.get();
    std::unique_lock lock(mutex_);
    objects_.emplace(raw, std::move(object));
    return raw;
  }
  void add(Key handle, std::shared_ptr<T> object) {
    std::unique_lock lock(mutex_);
    objects_[handle] = std::move(object);
  }
  std::shared_ptr<T> find(Key handle) const {
    std::shared_lock lock(mutex_);
    auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  bool has(Key handle) const {
    std::shared_lock lock(mutex_);
    return objects_.count(handle) != 0;
  }
  std::shared_ptr<T> take(Key handle) {
    std::unique_lock lock(mutex_);
    auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  /// Takes out what `matches`.
  template <class F>
  std::vector<std::shared_ptr<T>> take_if(F&& matches) {
    std::vector<std::shared_ptr<T>> taken;
    std::unique_lock lock(mutex_);
    for (auto it = objects_.begin(); it != objects_.end();) {
      if (matches(*it->second)) {
        taken.push_back(std::move(it->second));
        it = objects_.erase(it);
      } else {
        ++it;
      }
    }
    return taken;
  }
  std::vector<std::shared_ptr<T>> all() const {
    std::vector<std::shared_ptr<T>> list;
    std::shared_lock lock(mutex_);
    for (const auto& [handle, object] : objects_) list.push_back(object);
    return list;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<T>> objects_;
};

/// Objects by number: what texture and surface objects are.
template <class T>
using NumberTable = Table<T, std::uint64_t>;

/// Everything that the process has made. Never destroyed: programs call CUDA from their last
/// destructors.
struct Tables {
  Table<ContextObject> contexts;
  Table<StreamObject> streams;
  Table<EventObject> events;
  Table<ArrayObject> arrays;
  Table<MipmapObject> mipmaps;
  Table<ModuleObject> modules;
  Table<FunctionObject> functions;
  Table<LibraryObject> libraries;
  Table<KernelObject> kernels;
  Table<TextureRefObject> texture_refs;
  Table<SurfaceRefObject> surface_refs;
  Table<GraphObject> graphs;
  Table<GraphExecObject> graph_execs;
  Table<LinkObject> links;
  Table<PoolObject> pools;
  Table<UserObject> user_objects;
  NumberTable<TextureObject> textures;
  NumberTable<SurfaceObject> surfaces;
};
Tables& tables();
std::uint64_t next_id();

}  // namespace ptx2spv::cuda
