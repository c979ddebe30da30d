// What both libraries do, in the driver interface's terms. Every function returns CUDA's code.
#pragma once

#include <variant>

#include "src/array/peer_copy.hpp"
#include "src/cuda/core/objects.hpp"

namespace ptx2spv::cuda {

// ------------------------------------------------------------------------- devices and contexts

/// The version that both libraries report: CUDA 13.0.
inline constexpr int kVersion = 13000;

CUresult initialize();
/// Whether cuInit has run and the process is not about to end.
bool initialized();
/// Whether the devices are given up: the process ends, or is a child of the one that opened them.
bool ended();
/// The answer where initialized() is false: eCudartUnloading where the process ends.
CUresult why_not_initialized();
/// To be called when a device was given work: the process ends after it. Handlers that run when the
/// process ends run backwards, and a driver may add its own with any kernel, so that ours is added
/// again after 2, 4, 8 calls and so on.
void finish_at_exit();
int device_count();
/// Null for a number that no device has.
DeviceObject* device_at(int ordinal);
/// The same devices for who only asks about them: none is opened, and a child of fork may use them.
const std::vector<std::unique_ptr<DeviceObject>>& listed_devices();
/// Opens the device: eNoDevice with a message where that fails.
CUresult open_device(DeviceObject& device);
/// A CUdevice_attribute. Nothing: there is no such attribute.
std::optional<int> device_attribute(DeviceObject& device, int attribute);
/// Whether kernels of a device reach another one's memory by its addresses.
CUresult can_access_peer(int ordinal, int peer, int& can);
/// A CUdevice_P2PAttribute.
CUresult peer_attribute(int attribute, int ordinal, int peer, int& value);
CUresult enable_peer(ContextObject& context, int ordinal, unsigned flags);
CUresult disable_peer(ContextObject& context, int ordinal);
/// Copies from one device to another, complete when it returns: `fill` by what the first reaches,
/// `empty` by what the second does. Nothing: not by memory that both reach, or not now.
std::optional<Status> copy_to_peer(DeviceObject& from, DeviceObject& to, std::size_t pieces,
                                   const runtime::PeerStep& fill, const runtime::PeerStep& empty);
int compute_capability();     ///< 75
bool capability_is_chosen();  ///< by the user, and not what is reported anyway
/// What devices say they are (src/cuda/parts.def); null: what they are.
struct Part {
  const char* word;
  const char* name;
  int capability;
  std::uint64_t bytes;
  int nvml_mib;  ///< by NVML
  int processors, cache_kib, mhz, memory_mhz, bus;
};
const Part* part();
std::string device_name(const DeviceObject& device);
/// Those that a cooperative launch can have at once.
int resident_multiprocessors(const DeviceObject& device);
std::uint64_t total_memory(const DeviceObject& device);
/// By NVML, with what the driver keeps for itself.
std::uint64_t nvml_memory(const DeviceObject& device);
/// "0000:0A:00.0" with the ordinal as the bus: unique, as programs want it.
std::string pci_bus_id(const DeviceObject& device);
/// In either case, and with the domain in four digits, in eight, or without it.
bool has_bus_id(const DeviceObject& device, const std::string& text);

CUresult create_context(DeviceObject& device, unsigned flags, std::shared_ptr<ContextObject>& made);
CUresult retain_primary(DeviceObject& device, ContextObject*& context);
CUresult release_primary(DeviceObject& device, bool reset);
/// The calling thread keeps it as its current one.
CUresult destroy_context(ContextObject& context);
/// A CUlimit. The heap of kernels' malloc takes effect; the others are kept for who asks.
CUresult set_limit(ContextObject& context, int limit, std::size_t value);
/// Of the calling thread; the last is current.
std::vector<std::shared_ptr<ContextObject>>& context_stack();
/// The current context, which must be alive and without a sticky error. It may be null where none
/// is `needed`.
CUresult enter(ContextObject*& context, bool needed = true);
/// As enter(); where none is current, the primary context of device 0, which lives on.
CUresult enter_any(ContextObject*& context);
/// As enter(), after it made the thread's device's primary context current where there is none.
CUresult enter_runtime(ContextObject*& context);
int& runtime_device();  ///< of the calling thread: what cudaSetDevice set

// --------------------------------------------------------------------------------------- memory

/// `kept`: memory of a pool that the allocation gets. `own`: which memory of the device's own.
CUresult allocate(ContextObject& context, std::size_t bytes, MemoryUse use, unsigned flags,
                  std::shared_ptr<Allocation>& made, const Buffer* kept = nullptr,
                  BufferMemory own = BufferMemory::device);
CUresult release(CUdeviceptr address, MemoryUse use);
/// Whether it can be.
CUresult check_release(CUdeviceptr address, MemoryUse use);
CUresult release_host(const void* pointer);
CUresult register_host(ContextObject& context, void* pointer, std::size_t bytes, unsigned flags);
/// Whether the program has memory at all of these addresses.
bool is_mapped(std::uintptr_t address, std::size_t bytes);
CUresult unregister_host(const void* pointer);
/// What holds a device address (or one inside of it); null: nothing.
std::shared_ptr<Allocation> find_address(CUdeviceptr address);
/// The same for a copy in its stream's turn: also memory that was left to its pool after the call.
std::shared_ptr<Allocation> find_for_work(CUdeviceptr address);
/// Lets find_for_work find the memory as long as the result is there; null: there is none.
std::shared_ptr<const void> keep_for_work(CUdeviceptr address);
/// What holds an address of the host: pinned, registered or managed memory.
std::shared_ptr<Allocation> find_host(const void* pointer);
void add_variable(ContextObject& context, CUdeviceptr address, std::size_t bytes, bool managed);
void remove_variable(CUdeviceptr address);
void release_memory_of(ContextObject& context);
std::vector<std::shared_ptr<Allocation>> all_allocations();
/// Notes who makes an object, where leaks are looked for.
void trace(const ContextObject& context, Traced& object);
/// Prints every allocation, array, texture and surface object of the device that the program did
/// not free, and counts them.
std::size_t report_leaks(const DeviceObject& device);
/// Where kernels are checked, texture and surface objects over what is freed are dead from then on,
/// though they keep it alive, and the sanitizer says by whom. Elsewhere they read what is still
/// there, as on an H200.
void bury_objects_over(const ArrayObject& array, const std::string& why = "its array was freed");
void bury_objects_over(const MipmapObject& mipmap,
                       const std::string& why = "its mipmapped array was freed");
void bury_objects_over(const Allocation& memory);
bool kernels_are_checked(const ContextObject& context);
/// Takes an allocation out of the tables; its memory goes with its last user.
void forget(const Allocation& allocation);
// Addresses and memory apart from each other (cuMemMap and its kin).
CUresult mapping_granularity(std::size_t* bytes, const CUmemAllocationProp* props, int option);
CUresult reserve_addresses(ContextObject& context, CUdeviceptr* made, std::size_t bytes,
                           std::size_t alignment, unsigned long long flags);
CUresult free_addresses(CUdeviceptr address, std::size_t bytes);
CUresult create_memory(std::uint64_t* made, std::size_t bytes, const CUmemAllocationProp* props,
                       unsigned long long flags);
CUresult release_memory(std::uint64_t handle);
CUresult map_memory(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                    std::uint64_t handle, unsigned long long flags);
CUresult unmap_memory(ContextObject& context, CUdeviceptr address, std::size_t bytes);
CUresult set_mapping_access(ContextObject& context, CUdeviceptr address, std::size_t bytes,
                            const CUmemAccessDesc* list, std::size_t count);
CUresult mapping_access(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address);
CUresult retain_mapping(std::uint64_t* handle, const void* address);
CUresult memory_properties(CUmemAllocationProp* props, std::uint64_t handle);
/// Makes mapped memory known by its address; false: something else has it.
bool add_mapped(const std::shared_ptr<Allocation>& allocation);

/// Either may be null.
CUresult memory_info(ContextObject& context, std::size_t* free, std::size_t* total);
/// `width` bytes in CUDA's pitch, a multiple of 512, at which rows of textures start.
CUresult pitch_of(std::size_t width, std::size_t& pitch);
/// What holds an address of the device or of the host, and how far behind its start that is.
struct Place {
  std::shared_ptr<Allocation> allocation;  ///< null: CUDA does not know the address
  std::uint64_t offset = 0;
};
Place find_place(CUdeviceptr address);
/// The address that kernels have for page-locked memory of the host, and its flags.
CUresult device_pointer(const void* host, CUdeviceptr& address);
CUresult host_flags(const void* host, unsigned& flags);
/// eInvalidValue where the range is no managed memory.
CUresult check_managed(CUdeviceptr address, std::size_t bytes);

// Pools. Functions of a device's ordinal need initialize() before.
CUresult default_pool(int ordinal, CUmemoryPool* pool);
CUresult current_pool(int ordinal, CUmemoryPool* pool);
CUresult set_current_pool(int ordinal, CUmemoryPool pool);
CUresult create_pool(CUmemoryPool* made, const CUmemPoolProps* props);
CUresult destroy_pool(CUmemoryPool pool);
CUresult trim_pool(CUmemoryPool pool, std::size_t least);
CUresult set_pool_attribute(CUmemoryPool pool, int attribute, const void* value);
CUresult pool_attribute(CUmemoryPool pool, int attribute, void* value);
CUresult set_pool_access(CUmemoryPool pool, const CUmemAccessDesc* list, std::size_t count);
CUresult pool_access(int* flags, CUmemoryPool pool, const CUmemLocation* location);
/// cudaMallocAsync and cudaFreeAsync, in a capture or not. `pool` null: the device's current one.
CUresult allocate_in_stream(ContextObject& context, StreamObject& stream, CUmemoryPool pool,
                            std::size_t bytes, CUdeviceptr& address);
CUresult free_in_stream(StreamObject& stream, CUdeviceptr address);
/// Takes from pools, down to their thresholds, what they keep of the stream's frees or, where it is
/// null, of all the context's, as far as the work before is over.
void shrink_pools(ContextObject& context, const StreamObject* stream);
/// Takes from pools what they keep of the context's memory, after its work; false: there was none.
bool empty_pools(ContextObject& context);
/// What `create` makes, of the memory that pools keep if there is no other.
template <class F>
auto with_room(ContextObject& context, F&& create) {
  auto made = create();
  if (!made && made.error().code == ErrorCode::out_of_memory && empty_pools(context))
    made = create();
  return made;
}
CUresult make_graph_memory(ContextObject& context, std::size_t bytes,
                           std::shared_ptr<GraphMemory>& made);
/// Marks a node's memory as the program's, or as freed.
CUresult take_graph_memory(GraphMemory& memory, bool take);
/// A CUgraphMem_attribute of a device, asked for or set back.
CUresult graph_memory_attribute(int ordinal, int attribute, std::uint64_t* value, bool reset);
/// Counts what an instance needs that is uploaded.
void reserve_graph_memory(DeviceObject& device, std::uint64_t bytes);
CUresult trim_graph_memory(int ordinal);

// ------------------------------------------------------------------------------- operations

struct KernelOperation {
  FunctionObject* function = nullptr;
  std::shared_ptr<ModuleObject> module;
  LaunchConfig config;
  Args args;
  /// As given, for who asks a graph's node: packed at the parameters' offsets.
  std::vector<std::byte> packed;
  std::vector<void*> pointers;  ///< into `packed`, as param_pointers() gave them last
};
/// Whether its threads may wait for a clock, or for what the host or another stream does: it takes
/// a thread of the stream's own, where the host's processor may run it.
bool may_wait(const KernelOperation& kernel);
/// The arguments as cuLaunchKernel takes them; valid while the operation stays where it is.
void** param_pointers(KernelOperation& operation);
struct CopyOperation {
  CUDA_MEMCPY3D_PEER copy{};
};
struct MemsetOperation {
  CUDA_MEMSET_NODE_PARAMS set{};
};
struct HostOperation {
  CUDA_HOST_NODE_PARAMS host{};
};
struct RecordOperation {
  EventObject* event = nullptr;
};
struct WaitOperation {
  EventObject* event = nullptr;
};
struct EmptyOperation {};
struct ChildOperation {
  std::shared_ptr<GraphObject> graph;
};
struct AllocateOperation {
  std::shared_ptr<GraphMemory> memory;
};
struct FreeOperation {
  std::weak_ptr<GraphMemory> memory;
  CUdeviceptr address = 0;
};
CUresult make_graph_free(CUdeviceptr address, FreeOperation& made);
/// Writes to words of memory, and waits for their values.
struct BatchOperation {
  std::vector<CUstreamBatchMemOpParams> list;
  CUcontext context = nullptr;
  unsigned flags = 0;
};
/// Semaphores of another interface, signalled or waited for.
struct SemaphoreOperation {
  bool waits = false;
  std::vector<CUexternalSemaphore> list;
  std::vector<CUDA_EXTERNAL_SEMAPHORE_PARAMS> params;  ///< of each
  std::vector<std::shared_ptr<ExternalSemaphoreObject>> held;
};
struct Condition;
/// Graphs of which a word that kernels set chooses: the host looks at it when their turn comes.
struct ConditionalOperation {
  std::shared_ptr<Condition> condition;
  int type = 0;
  std::vector<std::shared_ptr<GraphObject>> bodies;
  std::vector<CUgraph> handles;  ///< of the bodies, for who made the node
};
/// In the order of no interface; node_type() gives CUgraphNodeType.
struct Operation {
  std::variant<KernelOperation, CopyOperation, MemsetOperation, HostOperation, RecordOperation,
               WaitOperation, EmptyOperation, ChildOperation, AllocateOperation, FreeOperation,
               BatchOperation, SemaphoreOperation, ConditionalOperation>
      what;
};
int node_type(const Operation& operation);

/// Runs it now, in the stream's order. What the host takes part in is over when it returns.
CUresult run(StreamObject& stream, const Operation& operation);
/// Runs it, or adds it to the graph that the stream is capturing.
CUresult enqueue(StreamObject& stream, Operation operation);

/// Copies between any two of host, device and array; see CUDA_MEMCPY3D.
CUresult copy(ContextObject& context, const CUDA_MEMCPY3D_PEER& copy);
CUresult check_copy(const CUDA_MEMCPY3D_PEER& copy);
/// Gives the copy to the stream's queue, whose turn is before all later work; not `given`: only the
/// calling thread can do it.
CUresult copy(StreamObject& stream, const CUDA_MEMCPY3D_PEER& copy, bool& given);
/// Whichever of the two does it.
CUresult copy_in_turn(StreamObject& stream, const CUDA_MEMCPY3D_PEER& copy);
/// Which sides of a copy are memory that a host function could see, and which of these are not
/// page-locked: they are read, or written, before the call returns.
struct HostSides {
  bool any = false, both = false, pageable_source = false, pageable_target = false;
};
CUresult host_sides(const CUDA_MEMCPY3D_PEER& copy, HostSides& sides);
/// The copy from a copy of its source, which `bytes` gets.
CUDA_MEMCPY3D_PEER hold_source(const CUDA_MEMCPY3D_PEER& copy, std::vector<std::byte>& bytes);
CUresult set_memory(ContextObject& context, const CUDA_MEMSET_NODE_PARAMS& set);
/// As with copies.
CUresult set_memory(StreamObject& stream, const CUDA_MEMSET_NODE_PARAMS& set, bool& given);
CUresult set_in_turn(StreamObject& stream, const CUDA_MEMSET_NODE_PARAMS& set);
CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& set);
CUDA_MEMCPY3D_PEER peer_copy(const CUDA_MEMCPY3D& copy);
CUDA_MEMCPY3D_PEER peer_copy(const CUDA_MEMCPY2D& copy);
/// Bytes in a row, each side by its kind (kMemoryHost ...).
CUDA_MEMCPY3D_PEER linear_copy(void* to, unsigned to_kind, const void* from, unsigned from_kind,
                               std::size_t bytes);

// ------------------------------------------------------------------------------------ streams

CUresult create_stream(ContextObject& context, unsigned flags, int priority, CUstream& made);
/// 0 (legacy, or per thread within PerThread), 1 (legacy), 2 (per thread) or a handle.
CUresult find_stream(ContextObject* context, CUstream handle, std::shared_ptr<StreamObject>& found);
/// Whether the handle is of a stream that each context has.
bool is_builtin(CUstream handle);
/// A scope in which stream 0 is the calling thread's: _ptsz and _ptds functions.
class PerThread {
 public:
  PerThread();
  ~PerThread();
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;
};
/// The runtime's stream; made when first asked for.
CUresult open_stream(StreamObject& stream, Stream*& opened);
/// Notes that the stream has a launch whose end is to be looked at.
void mark_dirty(const std::shared_ptr<StreamObject>& stream);
/// Waits for the stream's work, host functions too; of the legacy stream for the device's.
CUresult synchronize(StreamObject& stream);
/// Waits for all of the device's work, host functions too.
CUresult synchronize(ContextObject& context);
/// Waits for what the device was given. What streams keep behind host functions is not begun.
CUresult settle(ContextObject& context);
/// The same for a stream, whose trap becomes the context's sticky error.
CUresult settle(StreamObject& stream);
CUresult query(StreamObject& stream);
/// Whether the device has launches of the context that are not over.
bool is_running(ContextObject& context);
/// Looks at launches that are over without waiting for others: after a copy that waited.
CUresult collect(ContextObject& context);
/// Remembers a launch's end as the context's sticky error.
CUresult stick(ContextObject& context, const Error& error);

CUresult create_event(ContextObject& context, unsigned flags, CUevent& made);
CUresult record_event(StreamObject& stream, EventObject& event);
CUresult wait_event(StreamObject& stream, EventObject& event);
/// Lets the stream's later work come after what the device has of another stream of the context.
CUresult come_after(StreamObject& stream, StreamObject& other);
CUresult query_event(EventObject& event);
CUresult synchronize_event(EventObject& event);
/// The same, as programs ask for them.
CUresult wait_for(StreamObject& stream);
CUresult wait_for(ContextObject& context);
CUresult wait_for_event(EventObject& event);
CUresult elapsed(EventObject& start, EventObject& end, float& milliseconds);

// ------------------------------------------------------------------------- arrays and textures

CUresult create_array(ContextObject& context, const CUDA_ARRAY3D_DESCRIPTOR& desc, CUarray& made);
CUresult create_mipmap(ContextObject& context, const CUDA_ARRAY3D_DESCRIPTOR& desc, unsigned levels,
                       CUmipmappedArray& made);
/// What CUDA answers for an array that there is not: one that is destroyed counts as its context's.
CUresult no_array(const void* handle);
CUresult destroy_array(CUarray array);
CUresult destroy_mipmap(CUmipmappedArray array);
/// The same of an array that `maker` makes.
CUresult create_mipmap(ContextObject& context, const CUDA_ARRAY3D_DESCRIPTOR& desc, unsigned levels,
                       const std::function<Result<Array>(const ArrayDesc&)>& maker,
                       CUmipmappedArray& made);
CUresult mipmap_level(CUmipmappedArray mipmap, unsigned level, CUarray& array);
/// The runtime's format of `format` and its channels; false: there is none.
bool format_of(CUarray_format format, unsigned channels, abi::SurfaceFormat& made,
               std::uint32_t& made_channels);
CUresult create_texture(ContextObject& context, const CUDA_RESOURCE_DESC& resource,
                        const CUDA_TEXTURE_DESC& desc, const CUDA_RESOURCE_VIEW_DESC* view,
                        CUtexObject& made);
CUresult destroy_texture(ContextObject& context, CUtexObject handle);
/// CUresourceViewFormat 1 to 24: eight formats of one, two and four channels. Block-compressed
/// formats follow, which are nothing here.
struct ViewFormat {
  CUarray_format format;
  unsigned channels;
};
std::optional<ViewFormat> view_format(unsigned number);
/// Null where the handle is of no texture of the context; likewise of surfaces.
std::shared_ptr<TextureObject> find_texture(const ContextObject& context, CUtexObject handle);
CUresult create_surface(ContextObject& context, const CUDA_RESOURCE_DESC& resource,
                        CUsurfObject& made);
CUresult destroy_surface(ContextObject& context, CUsurfObject handle);
std::shared_ptr<SurfaceObject> find_surface(const ContextObject& context, CUsurfObject handle);
/// Binds the changed .texref variables of a module.
CUresult bind_textures(ModuleObject& module);
CUresult bind_surface(SurfaceRefObject& reference, CUarray array);
/// Where the next launch reads a texture reference from. Memory starts at a multiple of 512 bytes:
/// `offset` gets the bytes between that and `address`, and may be null where there are none.
CUresult point_at(TextureRefObject& reference, CUarray array);
CUresult point_at(TextureRefObject& reference, CUmipmappedArray mipmap);
CUresult point_at_memory(TextureRefObject& reference, CUdeviceptr address, std::size_t bytes,
                         std::size_t* offset);
CUresult point_at_rows(TextureRefObject& reference, const CUDA_ARRAY_DESCRIPTOR& desc,
                       CUdeviceptr address, std::size_t pitch);
/// What a texture reference stands for now, as a runtime texture.
CUresult make_texture(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& desc,
                      const CUDA_RESOURCE_VIEW_DESC* view, std::optional<Texture>& made);

// ------------------------------------------------------------------------- modules and launches

/// Reads PTX text, a fat binary, its wrapper or an ELF file that holds one. `bytes` 0: as far as
/// the data says itself.
CUresult read_image(const void* data, std::size_t bytes, const std::string& file, Image& image);
/// The same, and what join_texts() made.
CUresult read_module(const void* data, std::size_t bytes, const std::string& file, Image& image);
CUresult read_module_file(const char* path, Image& image);
CUresult read_code(const char* path, std::string& bytes);
/// What cuLinkComplete gives.
std::string join_texts(const std::vector<Image::Text>& inputs);
CUresult load_module(ContextObject& context, const Image& image,
                     std::shared_ptr<ModuleObject>& made, std::string* log);
/// Whether texts link into a module; `errors` says why they do not.
bool check_link(const std::vector<Image::Text>& texts, std::string& errors);
CUresult unload_module(CUmodule module);
CUresult find_function(ModuleObject& module, std::string_view name, CUfunction& found);
CUresult find_global(ModuleObject& module, std::string_view name, CUdeviceptr& address,
                     std::size_t& bytes);
/// The same of a __managed__ variable, which the host reaches by the same address.
CUresult find_managed(ModuleObject& module, std::string_view name, CUdeviceptr& address,
                      std::size_t& bytes);
CUresult texture_ref(ModuleObject& module, std::string_view name, CUtexref& found);
CUresult surface_ref(ModuleObject& module, std::string_view name, CUsurfref& found);
/// The library's module in a context, loaded when it is not yet.
CUresult module_of(LibraryObject& library, ContextObject& context, ModuleObject*& found);
CUresult load_library(const void* data, CUlibrary* made);
CUresult load_library_file(const char* path, CUlibrary* made);
CUresult library_module(ContextObject& context, CUlibrary library, CUmodule& found);
CUresult library_kernel(ContextObject& context, CUlibrary library, const char* name,
                        CUkernel* kernel);
CUresult count_kernels(ContextObject& context, CUlibrary library, unsigned* count);
/// The first `count` of them; of others there is no place.
CUresult list_kernels(ContextObject& context, CUlibrary library, CUkernel* kernels, unsigned count);
/// `address` and `bytes` may be null.
CUresult library_global(ContextObject& context, CUlibrary library, const char* name,
                        CUdeviceptr* address, std::size_t* bytes);
CUresult library_managed(ContextObject& context, CUlibrary library, const char* name,
                         CUdeviceptr* address, std::size_t* bytes);
CUresult kernel_of(LibraryObject& library, std::string_view name, CUkernel& found);
CUresult function_of(KernelObject& kernel, ContextObject& context, FunctionObject*& found);
CUresult unload_library(CUlibrary library);
/// A CUfunction, or a CUkernel in its place.
CUresult resolve_function(ContextObject& context, CUfunction handle, FunctionObject*& found);
void forget_context(const ContextObject& context);

std::optional<int> function_attribute(FunctionObject& function, int attribute);
CUresult set_function_attribute(FunctionObject& function, int attribute, int value);
/// Blocks of `threads` threads that one multiprocessor holds.
int occupancy(FunctionObject& function, int threads, std::size_t dynamic_shared);
/// Dynamic shared memory that each of so many blocks on one multiprocessor can have.
CUresult available_shared(FunctionObject& function, int threads, int blocks, std::size_t& bytes);

/// The arguments by pointer or as one buffer (`extra`), checked against the kernel's parameters.
CUresult make_launch(FunctionObject& function, const LaunchConfig& config, void** params,
                     void** extra, KernelOperation& made);
/// Launches now, or where the stream's turn comes: captured, or behind functions of the host.
CUresult enqueue_kernel(const std::shared_ptr<StreamObject>& stream, FunctionObject& function,
                        const LaunchConfig& config, void** params, void** extra, bool cooperative);
/// What the attributes of a launch ask for. Hints are taken as such; what would be ignored is
/// refused.
struct LaunchAttributes {
  bool cooperative = false;
  CUevent after = nullptr;  ///< recorded behind the launch
};
CUresult read_attributes(const CUlaunchAttribute* list, unsigned count, LaunchAttributes& read);
CUresult run_kernel(StreamObject& stream, FunctionObject& function, const LaunchConfig& config,
                    const Args& args);
CUresult run_graph(StreamObject& stream, const GraphObject& graph);
/// In the stream's own thread: the host takes part in them.
CUresult run_batch(StreamObject& stream, const BatchOperation& operation);
CUresult run_semaphores(StreamObject& stream, const SemaphoreOperation& operation);
CUresult run_conditional(StreamObject& stream, const ConditionalOperation& operation);
CUresult capture(StreamObject& stream, Operation operation);

}  // namespace ptx2spv::cuda
