// The translator: PTX text in, a Vulkan compute module and its interface out. Knows nothing of
// Vulkan handles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "ptx2spv/profile.hpp"
#include "ptx2spv/sanitize.hpp"
#include "ptx2spv/texture_use.hpp"

namespace ptx2spv {

enum class Severity : std::uint8_t { note, warning, error };

/// One message about the input. `rendered` is file:line:col: severity: text, the line and a caret.
struct Message {
  Severity severity = Severity::error;
  std::string file, text, rendered;
  std::uint32_t line = 0, column = 0;
  std::string source_file;        ///< of the CUDA source that .loc names for the line; may be empty
  std::uint32_t source_line = 0;  ///< there; 0 where nothing is known
};

/// exact: results equal NVIDIA's. fast: the device's own float operations are used.
enum class FpPolicy : std::uint8_t { exact, fast };

/// How threads map to invocations; see docs/develop/design.md.
enum class ThreadModel : std::uint8_t {
  direct,  ///< a workgroup is a block, an invocation a thread
  flat,    ///< without barriers, shared memory, warp operations: threads are numbered consecutively
  regions,  ///< an invocation runs several threads, from one synchronisation point to the next
};

/// What a statically known surface is bound to.
enum class Backing : std::uint8_t { address, buffer, image };
struct SlotSpec {
  Backing backing = Backing::buffer;
  abi::SurfaceFormat format = abi::SurfaceFormat::u32;  ///< image only
  std::uint8_t channels = 1;                            ///< image only: 1, 2 or 4
  std::uint8_t geometry = 2;  ///< image only: 1, 2, 3 dimensions, 4: 1D array, 5: 2D array
  bool format_known = false;  ///< format and channels also hold for a linear surface
  bool operator==(const SlotSpec&) const = default;
};

/// How exact texture reads are. exact: their results are NVIDIA's; a device's sampler reads where
/// it gives them. device: the device's sampler reads wherever it can.
enum class FilterPolicy : std::uint8_t { exact, device };

/// What the host knows of a texture slot: the record's copy lies in the parameter buffer
/// (EntryInfo::textures.records), and these of its words are as here.
struct TextureSpec {
  bool known = false;         ///< else the slot is looked up in the table like any handle
  std::uint32_t sampler = 0;  ///< abi::x_sampler
  abi::SurfaceFormat format = abi::SurfaceFormat::u32;
  std::uint8_t channels = 1;
  bool one_level = false;
  /// sampler: a combined image sampler is bound at abi::kTextureSet, whose view is that of the
  /// slot's reads (EntryInfo::textures.uses). It takes normalised coordinates for all but 1D and 2D
  /// textures.
  TextureUnit unit = TextureUnit::shader;
  bool faces = false;        ///< a cube map's view is an array of its faces
  bool divides = false;      ///< the sampler takes normalised coordinates, and the texture others
  bool biased = false;       ///< the sampler adds a bias, which reads of the base level go without
  bool approximate = false;  ///< coordinates go to the sampler as they are: what it makes of
                             ///< directions and quotients need not be NVIDIA's
  bool operator==(const TextureSpec&) const = default;
};

/// How textures are read whose handles come out of memory, by instructions of one geometry.
struct TableSpec {
  /// Bits by TextureTexel. Each stands for an array of combined image samplers at abi::kTextureSet,
  /// whose binding is EntryInfo::textures.slots.size() + 3 geometry + texel. An array is indexed by
  /// the handle's low word, and all elements below abi::Push::texture_count are valid. The views
  /// show 0 for channels that there are not. 0: the shader reads.
  std::uint8_t texels = 0;
  std::uint8_t bound = 0;    ///< the bit of abi::x_sampled that such textures have
  bool mixed = false;        ///< some textures have not, which the shader reads
  bool divides = false;      ///< the samplers take normalised coordinates, and some textures others
  bool biased = false;       ///< some samplers add a bias
  bool approximate = false;  ///< as in TextureSpec
  bool operator==(const TableSpec&) const = default;
};
using TableSpecs = std::array<TableSpec, 7>;  ///< by TextureGeometry, multi-sample ones excepted
inline constexpr std::uint32_t kTexelKinds = 3;

/// What specialises a translation. Launches that differ in it need translations of their own.
struct Specialization {
  FpPolicy fp = FpPolicy::exact;
  ThreadModel threads = ThreadModel::direct;
  bool assume_live_handles = false;  ///< the host has checked that every static handle is live,
                                     ///< that a row holds each access of its slot, and that the
                                     ///< slot's accesses are of the array's geometry
  bool wide_surfaces = true;         ///< surfaces may exceed 4 GiB
  bool assume_small_grid = false;    ///< direct, regions: a launch is one dispatch (the base
                                     ///< words are 0) with at most abi::kSmallGrid threads along
                                     ///< each axis
  std::uint32_t max_block_threads = 1024;  ///< regions: threads of the largest block to be launched
  std::uint32_t workgroup_threads =
      0;  ///< regions: invocations per workgroup; 0: the profile's limit
  std::uint32_t block[3] = {0, 0, 0};  ///< direct, regions: the size of every block to be launched;
                                       ///< zeros: not known
  bool shared_in_memory = false;       ///< shared memory lives in abi::Push::shared_slab
  bool local_in_memory = false;        ///< local memory lives in front of it
  std::uint32_t texture_features =
      abi::kAllTextureFeatures;  ///< abi::TextureFeature: what textures may have
  std::vector<SlotSpec>
      slots;  ///< by slot number; missing ones are buffers (or addresses, by profile)
  std::vector<TextureSpec> textures;  ///< by texture slot; missing ones are not known
  std::uint32_t checks = no_checks;   ///< Check: what the sanitizer looks for
  std::uint64_t known_pointers = 0;   ///< bit k: EntryInfo::sanitizer.pointer_params[k] points into
                                      ///< an allocation, whose bounds the host gives
  std::uint64_t whole_pointers = 0;   ///< of those: the host has written all of the allocation
  std::uint64_t unraced_pointers = 0;     ///< of those: the launch writes nothing in the allocation
  std::uint64_t whole_slots = 0;          ///< bit k: the host has written all of slot k's level
  std::uint64_t unraced_slots = 0;        ///< bit k: the launch writes nothing in slot k's array
  std::uint32_t table_steps = 0;          ///< the table of allocations has 2^this entries
  TableSpecs table;                       ///< handles out of memory
  std::uint32_t table_size = 0;           ///< elements of each array that `table` names; the host's
  std::uint32_t together[3] = {0, 0, 0};  ///< with a known block and shared_in_memory: the grid,
                                          ///< all of whose blocks one workgroup runs; zeros: a
                                          ///< workgroup runs one block
  bool operator==(const Specialization&) const = default;
};

/// Calls `visit` with every field of a Specialization. A new field does not compile until it is
/// listed here, so that no user of all fields, a digest for one, misses it.
template <typename Visit>
void for_each_field(const Specialization& specialization, Visit&& visit) {
  const auto& [fp, threads, live_handles, wide, small_grid, block_threads, workgroup_threads, block,
               shared_in_memory, local_in_memory, features, slots, textures, checks, known_pointers,
               whole_pointers, unraced_pointers, whole_slots, unraced_slots, table_steps, table,
               table_size, together] = specialization;
  visit(fp), visit(threads), visit(live_handles), visit(wide), visit(small_grid);
  visit(block_threads), visit(workgroup_threads), visit(block);
  visit(shared_in_memory), visit(local_in_memory), visit(features), visit(slots), visit(textures);
  visit(checks), visit(known_pointers), visit(whole_pointers), visit(unraced_pointers);
  visit(whole_slots), visit(unraced_slots), visit(table_steps), visit(table), visit(table_size);
  visit(together);
}

struct TranslateOptions : Specialization {
  Profile profile;
  int optimize = 1;  ///< 0: only what validity needs; 1
  bool debug_info = false;
  bool relax_versions = false;
  std::uint32_t push_words = 0;  ///< words of push constants that the device takes: parameters go
                                 ///< into those that the launch does not use
                                 ///< (EntryInfo::push_params); 0: none
  std::string entry;             ///< empty: every entry
  std::uint32_t wait_iterations =
      1u << 24;  ///< without independent_threads: iterations of a loop that waits for another
                 ///< thread's store or atomic before it traps; 0: no bound
  std::optional<std::uint32_t> routine_budget;  ///< instead of the profile's
  std::function<void(std::string_view pass, std::string_view text)>
      dump;  ///< called after every pass
  std::function<void(std::string_view pass, double milliseconds)> timing;
};

enum class ParamKind : std::uint8_t { scalar, bytes, surfref, texref, samplerref };
struct ParamInfo {
  std::string name, type;
  ParamKind kind = ParamKind::scalar;
  std::uint32_t offset = 0, bytes = 0, align = 0;
};
/// A surface (or texture) whose handle is known before the kernel runs.
struct SlotInfo {
  std::string name;          ///< of the .surfref variable or parameter
  bool is_variable = false;  ///< .surfref variable; else a parameter
  std::uint32_t offset = 0;  ///< of the u64 handle in the parameter buffer
  bool loads = false, stores = false, reduces = false, sub_texel_possible = false;
  std::vector<std::uint8_t> load_bytes, store_bytes, reduce_bytes;  ///< access sizes that occur
  bool formatted_stores = false;  ///< sust.p, or sured.p whose order the format decides
  std::uint8_t geometries = 0;    ///< bit k: accesses of geometry k (1d, 2d, 3d, a1d, a2d)
  SlotSpec bound;  ///< what the translation binds it to: as asked, where the profile allows that
  std::string image_format,
      image_view;  ///< of an image, as docs/reference/interface.md names them; else empty
};
struct RefInfo {
  std::string name;
  std::uint32_t offset = 0;  ///< of its handle in the parameter buffer
};
struct SourcePlace {
  std::string file;  ///< as .file names it
  std::uint32_t line = 0;
};
struct TrapSite {
  std::uint32_t line = 0, column = 0, source_line = 0;
  std::string source_file, text, surface, function, message;
  std::vector<SourcePlace> inlined_at;   ///< where the source line was inlined, the nearest first
  std::vector<std::string> coordinates;  ///< names of the recorded coordinates: x, y, z, layer
};
/// An access that the sanitizer checks; its number is its place in EntryInfo::sanitizer.sites.
struct AccessSite {
  TrapSite place;                      ///< where it stands
  std::uint32_t check = check_memory;  ///< Check: what is looked for here
  AccessKind kind = AccessKind::load;
  SyncFault sync = SyncFault::endless_wait;  ///< of check_sync
  std::uint32_t first_point = 0;             ///< of check_sync: site of synchronisation point 0
  MemorySpace space = MemorySpace::global;   ///< as PTX writes it
  MemorySpace memory = MemorySpace::global;  ///< that it reaches: not generic
  std::uint8_t bytes = 4;                    ///< and its alignment
  std::uint8_t geometry = 0;                 ///< of surfaces; 2 + 2 * TextureGeometry + integer
  std::uint32_t object = 0;  ///< number plus 1 in EntryInfo::sanitizer.objects; 0: any
  std::string pointer;       ///< the parameter that its address comes from, or empty
  std::uint32_t loc = 0;  ///< number of the IR's location: all accesses of one instruction have the
                          ///< same one, copies of it by inlining have others
};
struct VariableInfo {
  std::string name;
  bool constant = false;
  std::uint64_t offset = 0, bytes = 0;
  bool managed = false;  ///< the host reaches it by the same address
};
struct Relocation {
  enum class Kind : std::uint8_t { global, constant, function } kind = Kind::global;
  bool in_constants = false;
  std::uint64_t at = 0;  ///< byte offset of the field in the image
  std::uint64_t addend = 0;
  std::uint8_t bytes = 8, shift = 0;  ///< mask() forms keep `bytes` bytes of address >> shift
  std::string symbol;
};
/// A word of the push constants that holds a word of the parameter buffer, shifted right.
struct PushParam {
  std::uint32_t word = 0, offset = 0, shift = 0;
};
/// What host and kernel agree on of textures.
struct EntryTextures {
  std::uint32_t records = 0;         ///< offset in the parameter buffer where the host may copy the
                                     ///< texture slots' records
  std::vector<std::uint32_t> slots;  ///< offsets of the handles of textures and samplers known
                                     ///< before the launch
  std::vector<std::vector<TextureUse>> uses;  ///< by texture slot: how it is read
  bool dynamic = false;                       ///< a handle that is not static reaches a read
  std::vector<TextureUse> table_uses;         ///< how those are read
};
/// How threads meet, and the memory for it.
struct EntrySync {
  bool barriers = false, warp_operations = false, divergent_barriers = false,
       divergent_warp_operations = false;  ///< some threads of a warp may miss one
  bool partial_warp_operations = false;    ///< one may name some lanes of a warp only
  bool warp_subgroups = false;  ///< the module's subgroups have to be warps: 32 threads, full ones
  bool uses_grid_workspace = false;
  std::uint32_t grid_workspace = 0;  ///< of those that use it: offset in the parameter buffer of
                                     ///< its address, 0 where the launch is not cooperative
  std::uint32_t control_bytes = 0;   ///< of the slab behind the shared memory of all blocks: what
                                     ///< a workgroup that runs them all needs for their threads to
                                     ///< meet
};
/// What the kernel waits for beside barriers.
struct EntryWaits {
  bool spins = false;  ///< loops in which a thread does nothing but wait for another's store
  bool reads_clock = false;
  bool for_clock = false;             ///< a loop ends by what a clock says
  std::uint32_t clock_rates = 0;      ///< of those that read one: offset in the parameter buffer of
                                      ///< abi::ClockWord
  std::vector<std::uint32_t> params;  ///< internal: offsets of parameters by which loops that wait
                                      ///< look at memory
  bool for_others = false;            ///< internal: at some that no other instruction writes
};
/// What a host with the sanitizer knows of the kernel's memory.
struct EntrySanitizer {
  std::vector<MemoryObject> objects;          ///< variables that the kernel addresses
  std::vector<std::uint32_t> pointer_params;  ///< offsets of parameters that addresses come from,
                                              ///< the first 64 of them
  std::uint64_t written_pointers = 0;         ///< bit k: the kernel writes by pointer_params[k]
  bool writes_anywhere = false;               ///< it writes by addresses of other origin
  std::uint32_t words = 0;           ///< offset in the parameter buffer of abi::SanitizerWord
  std::uint32_t shadow_shared = 0;   ///< bytes of static shared memory, alignment in front of the
                                     ///< dynamic part included
  std::uint32_t shadow_granule = 0;  ///< bytes of shared memory that races are told apart by, the
                                     ///< least that an access takes; 0: none is accessed
  bool may_race = false;             ///< the order of shared accesses follows from barriers alone
  std::vector<AccessSite> sites;     ///< of a translation with Specialization::checks
};
struct EntryInfo {
  std::string name;
  std::vector<ParamInfo> params;
  std::uint32_t param_bytes = 0;         ///< of the PTX parameters
  std::uint32_t param_buffer_bytes = 0;  ///< with the handles of .surfref and .texref variables and
                                         ///< the records
  std::uint32_t slot_records =
      0;  ///< offset in the parameter buffer of the slots' records (abi.hpp)
  std::vector<SlotInfo> slots;
  std::uint32_t bindings = 0;  ///< of set 0 that the module declares: bit b is binding b
  std::uint32_t push_words = abi::kPushWords;  ///< length of the push constants
  std::vector<PushParam> push_params;          ///< words of them that hold parameters
  /// Loads and stores of local memory in the module. 0 where all are at constant offsets: then a
  /// driver keeps the variables in registers.
  std::uint32_t local_accesses = 0;
  std::vector<RefInfo> surfrefs, texrefs, samplerrefs;  ///< module variables that the kernel uses
  std::vector<TrapSite> trap_sites;           ///< indexed by the record's site number; 0 is no site
  std::vector<std::uint32_t> trap_site_locs;  ///< internal: the IR location of each site
  std::uint32_t shared_bytes = 0, local_bytes = 0;
  std::uint32_t local_slab_bytes = 0;  ///< of an invocation in front of the slab
                                       ///< (Specialization::local_in_memory)
  bool dynamic_shared = false;
  bool dynamic_handles = false;  ///< a handle that is not static reaches a surface instruction
  bool uses_printf = false, uses_textures = false;
  bool guards_loops = false;    ///< a loop that the driver ends too early is a trap
  bool uses_heap = false;       ///< malloc or free: abi::Push::heap has to be there
  bool system_atomics = false;  ///< atomic operations with .sys: the host's may be at the same word
  std::uint32_t reqntid[3] = {0, 0, 0}, maxntid[3] = {0, 0, 0};
  ThreadModel threads = ThreadModel::direct;
  std::uint32_t workgroup_threads = 0, threads_per_invocation = 1;
  EntryTextures textures;
  EntrySync sync;
  EntryWaits waits;
  EntrySanitizer sanitizer;
};
struct StaticSurfref {  ///< static initialisers of a .surfref, by suq's query names; absent: -1
  std::string name;
  std::int64_t width = -1, height = -1, depth = -1, channel_data_type = -1, channel_order = -1,
               array_size = -1, memory_layout = -1;
};
struct StaticTexref {  ///< static initialisers of a .texref or .samplerref, by the manual's names;
                       ///< absent: -1
  std::string name;
  bool sampler = false;
  std::int64_t width = -1, height = -1, depth = -1, channel_data_type = -1, channel_order = -1,
               array_size = -1, num_mipmap_levels = -1, num_samples = -1, normalized_coords = -1,
               force_unnormalized_coords = -1, filter_mode = -1;
  std::int64_t addr_mode[3] = {-1, -1, -1};
};
struct Interface {
  std::uint32_t version = abi::kVersion;
  std::vector<EntryInfo> entries;
  std::vector<VariableInfo> variables;
  std::vector<std::uint8_t> globals_image, constants_image;  ///< initial contents
  std::uint64_t globals_bytes = 0;  ///< of all .global variables; those past globals_image are 0
  std::vector<Relocation> relocations;
  std::vector<StaticSurfref> surfrefs;
  std::vector<StaticTexref> texrefs;    ///< .texref and .samplerref variables
  std::vector<std::string> unresolved;  ///< extern names that no module defines
};
/// The interface as JSON (schema in docs/reference/interface.md).
std::string to_json(const Interface& interface);

struct Translation {
  std::vector<std::uint32_t> spirv;
  Interface interface;
};

/// One kernel of a module.
struct KernelTranslation {
  std::vector<std::uint32_t> spirv;
  EntryInfo entry;
};

/// Instructions of a kernel, with all that it calls, up to which each call gets a copy of its own.
/// Beyond that, functions stand once in the kernel and their calls share them.
inline constexpr std::size_t kInlineBudget = 40000;

/// Errors of a file that PtxModule::parse() reports.
inline constexpr unsigned kErrorLimit = 20;

/// A parsed and checked PTX module (several, linked). Immutable and safe to share between threads.
class PtxModule {
 public:
  PtxModule();
  ~PtxModule();
  PtxModule(PtxModule&&) noexcept;
  PtxModule& operator=(PtxModule&&) noexcept;

  struct Input {
    std::string_view text;
    std::string file;
  };
  /// Parses, checks and links `inputs`. Returns nothing when there are errors, all of which are in
  /// `messages`. `inline_budget` replaces kInlineBudget; with 0 a function that is called more than
  /// once stands once.
  static std::optional<PtxModule> parse(const std::vector<Input>& inputs,
                                        std::vector<Message>& messages, bool relax_versions = false,
                                        std::size_t inline_budget = kInlineBudget,
                                        unsigned error_limit = kErrorLimit);
  std::vector<std::string> entry_names() const;
  /// Variables, images and the entries' parameters and uses, before any translation.
  const Interface& interface() const;
  /// Translates one entry or all. Returns nothing when there are errors. Thread-safe.
  std::optional<Translation> translate(const TranslateOptions& options,
                                       std::vector<Message>& messages) const;
  /// Translates the entry that the options name, and describes it alone: what that takes does not
  /// grow with what else the module has. interface() has the module's part. Thread-safe.
  std::optional<KernelTranslation> translate_kernel(const TranslateOptions& options,
                                                    std::vector<Message>& messages) const;

 private:
  friend class InterpretedKernel;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The thread model that a translation takes where `asked` is requested: synchronisation and shared
/// memory may need another one. With native warps (native_warps()) warp operations do not.
ThreadModel thread_model(const EntryInfo& info, ThreadModel asked, bool native_warps = false);
/// Whether a device's subgroups may serve as the kernel's warps in blocks of this size, which are
/// whole warps. Whether they do, EntryInfo::threads of the translation says.
bool native_warps(const EntryInfo& info, const Profile& profile, const std::uint32_t (&block)[3],
                  std::uint32_t checks = no_checks);

/// The passes' names, which TranslateOptions::dump gets, in their order.
std::vector<std::string_view> pass_names();

std::string_view version();
/// A digest of the translator's sources, for cache keys: builds with the same digest make the same
/// translations.
std::string_view build_id();

}  // namespace ptx2spv
