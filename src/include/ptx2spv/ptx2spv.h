/* The C interface of the ptx2spv runtime, version 1. The rules on threads are those of runtime.hpp.
 * c-interface.md has the counterpart of each part of runtime.hpp and translator.hpp, and
 * ptx2spv/vulkan.h what is shared with an application's own Vulkan.
 *
 * Every function that can fail returns a ptx2spv_status. ptx2spv_last_error() is the text of the
 * calling thread's last failure. A struct starts with its size, which the caller sets (PTX2SPV_INIT
 * does), so that later versions can add fields. Arrays of structs (ptx2spv_argument,
 * ptx2spv_reference) keep their layout within a version of the interface.
 *
 * Release a handle with the matching _destroy, which allows null. A pointer to a destroyed object
 * must not be used again, as with free(). The number of a destroyed surface or texture traps; the
 * address of a destroyed buffer is not checked.
 *
 * In CMake, link ptx2spv::runtime with C++ enabled, since the library is C++. */
#ifndef PTX2SPV_PTX2SPV_H
#define PTX2SPV_PTX2SPV_H

#include <ptx2spv/version.h>
#include <stddef.h>
#include <stdint.h>

#define PTX2SPV_API_VERSION 1u
/* ptx2spv_array_desc desc; PTX2SPV_INIT(desc); */
#define PTX2SPV_INIT(object)                                        \
  do {                                                              \
    unsigned char* ptx2spv_bytes_ = (unsigned char*)&(object);      \
    size_t ptx2spv_i_;                                              \
    for (ptx2spv_i_ = 0; ptx2spv_i_ < sizeof(object); ++ptx2spv_i_) \
      ptx2spv_bytes_[ptx2spv_i_] = 0;                               \
    (object).size = (uint32_t)sizeof(object);                       \
  } while (0)

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ptx2spv_status {
  PTX2SPV_OK = 0,
  PTX2SPV_INVALID_ARGUMENT = 1,
  PTX2SPV_NOT_FOUND = 2,
  PTX2SPV_NO_DEVICE = 3,
  PTX2SPV_UNSUPPORTED = 4,
  PTX2SPV_TRANSLATION = 5,
  PTX2SPV_TRAP = 6,
  PTX2SPV_OUT_OF_MEMORY = 7,
  PTX2SPV_DEVICE_LOST = 8,
  PTX2SPV_IO = 9,
  PTX2SPV_INTERNAL = 10,
  PTX2SPV_TIMED_OUT = 11
} ptx2spv_status;

typedef struct ptx2spv_device ptx2spv_device;
typedef struct ptx2spv_buffer ptx2spv_buffer;
typedef struct ptx2spv_array ptx2spv_array;
typedef struct ptx2spv_surface ptx2spv_surface;
typedef struct ptx2spv_texture ptx2spv_texture;
typedef struct ptx2spv_sampler ptx2spv_sampler;
typedef struct ptx2spv_module ptx2spv_module;
typedef struct ptx2spv_kernel ptx2spv_kernel;
typedef struct ptx2spv_stream ptx2spv_stream;
typedef struct ptx2spv_event ptx2spv_event;
typedef struct ptx2spv_graph ptx2spv_graph;
typedef struct ptx2spv_ptx ptx2spv_ptx;
typedef struct ptx2spv_translation ptx2spv_translation;
typedef struct ptx2spv_profile ptx2spv_profile;

/* How exact float operations are: as NVIDIA's, or the device's own. */
typedef enum ptx2spv_fp {
  PTX2SPV_FP_DEFAULT = 0, /* of a launch: the module's; of a module or a translation: exact */
  PTX2SPV_FP_EXACT = 1,
  PTX2SPV_FP_FAST = 2
} ptx2spv_fp;

/* How threads map to invocations (docs/develop/design.md). */
typedef enum ptx2spv_threads {
  PTX2SPV_THREADS_DEFAULT = 0, /* chosen by the launch; of a translation: direct */
  PTX2SPV_THREADS_DIRECT = 1,
  PTX2SPV_THREADS_FLAT = 2,
  PTX2SPV_THREADS_REGIONS = 3
} ptx2spv_threads;

/* The version of this interface, and that of the library as "major.minor.patch". */
uint32_t ptx2spv_api_version(void);
const char* ptx2spv_version_text(void);
/* A digest of the translator's sources, for cache keys. */
const char* ptx2spv_build_id(void);
/* The name of a status: "trap". Never null. */
const char* ptx2spv_status_name(uint32_t status);
/* The text of the calling thread's last failed call. It is never null and valid until the thread's
 * next failure. The long form has the translator's messages with their lines, or the whole trap
 * report. */
const char* ptx2spv_last_error(void);
const char* ptx2spv_last_error_details(void);

/* ---- the translator alone, without a device ---- */

/* What a device can do, as the rows of docs/reference/profiles.md, by their names. */
ptx2spv_status ptx2spv_profile_create(const char* name, ptx2spv_profile** profile);
ptx2spv_status ptx2spv_profile_set(ptx2spv_profile* profile, const char* row, uint32_t value);
ptx2spv_status ptx2spv_profile_get(const ptx2spv_profile* profile, const char* row,
                                   uint32_t* value);
void ptx2spv_profile_destroy(ptx2spv_profile* profile);

/* What a statically known surface is bound to. */
typedef enum ptx2spv_slot_backing {
  PTX2SPV_SLOT_ADDRESS = 0,
  PTX2SPV_SLOT_BUFFER = 1,
  PTX2SPV_SLOT_IMAGE = 2
} ptx2spv_slot_backing;
typedef struct ptx2spv_slot {
  ptx2spv_slot_backing backing;
  uint32_t format;      /* of an image: ptx2spv_format */
  uint32_t channels;    /* of an image: 1, 2 or 4 */
  uint32_t geometry;    /* of an image: 1, 2, 3 dimensions, 4: 1D array, 5: 2D array */
  int32_t format_known; /* 1: format and channels also hold for memory */
} ptx2spv_slot;

typedef struct ptx2spv_translate_options {
  uint32_t size;
  const char* entry;   /* one kernel; null: all */
  const char* profile; /* the device to translate for, "portable" where null (profiles.md) */
  int32_t fast;        /* 1: the device's own float operations; 0: exact */
  int32_t debug_info, relax_versions;
  const ptx2spv_profile* custom_profile; /* instead of `profile`; may be null */
  ptx2spv_threads threads;
  int32_t no_optimize;           /* 1: only what validity needs */
  int32_t assume_live_handles;   /* 1: the host checks that static handles are live */
  int32_t assume_small_surfaces; /* 1: no surface exceeds 4 GiB */
  int32_t assume_small_grid;     /* 1: a launch is one dispatch of a small grid */
  int32_t shared_in_memory;      /* 1: shared memory lies in the slab of the push constants */
  uint32_t max_block_threads;    /* regions: of the largest block; 0: 1024 */
  uint32_t workgroup_threads;    /* regions: invocations of a workgroup; 0: the profile's limit */
  uint32_t block[3];             /* of every launch; zeros: not known */
  const ptx2spv_slot* slots;     /* by slot number; missing ones are buffers */
  uint32_t slot_count;
  uint32_t push_words;      /* of push constants that the device takes, for parameters; 0: none */
  uint32_t wait_iterations; /* of waiting loops before they trap; 0: 2^24, UINT32_MAX: no bound */
  const uint32_t* routine_budget; /* instead of the profile's; may be null */
  const char* sanitize;           /* the sanitizer's checks, as "all"; null: none */
  /* Called after each pass with the IR's text, and with its milliseconds; may be null. */
  void (*dump)(void* user, const char* pass, const char* text);
  void (*timing)(void* user, const char* pass, double milliseconds);
  void* user;
  int32_t local_in_memory; /* 1: local memory lies in front of the slab */
} ptx2spv_translate_options;

typedef struct ptx2spv_parse_options {
  uint32_t size;
  int32_t relax_versions;
  const uint64_t* inline_budget; /* instructions up to which calls are copied; null: 40000 */
  uint32_t error_limit;          /* of one file; 0: 20 */
} ptx2spv_parse_options;

/* Parses and links PTX texts; `bytes` and `files` have as many entries as `ptx`. It can be
 * translated any number of times, from several threads. */
ptx2spv_status ptx2spv_ptx_parse(const char* const* ptx, const size_t* bytes,
                                 const char* const* files, uint32_t count,
                                 const ptx2spv_parse_options* options, ptx2spv_ptx** parsed);
/* The number of kernels, and the name of one; null where there is none of that index. */
uint32_t ptx2spv_ptx_entry_count(const ptx2spv_ptx* ptx);
const char* ptx2spv_ptx_entry_name(const ptx2spv_ptx* ptx, uint32_t index);
/* The interface before any translation, as JSON, and the warnings. Valid as long as the PTX. */
const char* ptx2spv_ptx_interface(const ptx2spv_ptx* ptx);
const char* ptx2spv_ptx_warnings(const ptx2spv_ptx* ptx);
ptx2spv_status ptx2spv_ptx_translate(const ptx2spv_ptx* ptx,
                                     const ptx2spv_translate_options* options,
                                     ptx2spv_translation** translation);
void ptx2spv_ptx_destroy(ptx2spv_ptx* ptx);
/* The name of a pass, in their order; null where there is none of that index. */
const char* ptx2spv_pass_name(uint32_t index);

/* Translates `bytes` characters of PTX, which messages call `file`, to SPIR-V. */
ptx2spv_status ptx2spv_translate(const char* ptx, size_t bytes, const char* file,
                                 const ptx2spv_translate_options* options,
                                 ptx2spv_translation** translation);
/* The module's words; *count is their number. Valid as long as the translation. */
const uint32_t* ptx2spv_translation_words(const ptx2spv_translation* translation, size_t* count);
/* The interface as JSON (docs/reference/interface.md), and the warnings, whole lines. */
const char* ptx2spv_translation_interface(const ptx2spv_translation* translation);
const char* ptx2spv_translation_warnings(const ptx2spv_translation* translation);
void ptx2spv_translation_destroy(ptx2spv_translation* translation);

/* ---- devices ---- */

/* Who runs launches: the device, the host, or `auto`: the host what the device cannot run soon. */
typedef enum ptx2spv_executor {
  PTX2SPV_EXECUTOR_DEFAULT = 0, /* as the environment variable PTX2SPV_EXECUTOR says, else auto */
  PTX2SPV_EXECUTOR_AUTOMATIC = 1,
  PTX2SPV_EXECUTOR_DEVICE = 2,
  PTX2SPV_EXECUTOR_HOST = 3
} ptx2spv_executor;

typedef struct ptx2spv_device_options {
  uint32_t size;
  const char* select;         /* as in DeviceOptions::select; null: by policy */
  const char* const* disable; /* capabilities by name */
  uint32_t disable_count;
  const char* profile;
  int32_t validation; /* 1 on, -1 off, 0: PTX2SPV_VALIDATION */
  int32_t cache;      /* 1 on, -1 off, 0: PTX2SPV_CACHE */
  const char* cache_directory;
  void (*print)(void* user, const char* text, size_t bytes); /* printf; null: standard output */
  void* print_user;
  const char* sanitize; /* the sanitizer's checks, as "all"; null: PTX2SPV_SANITIZE */
  double timeout;       /* seconds that a launch may take; 0: PTX2SPV_TIMEOUT, negative: no limit */
  const char* const* enable; /* workarounds by name */
  uint32_t enable_count;
  const char* const* require; /* capabilities without which the device is refused */
  uint32_t require_count;
  const ptx2spv_profile* within;                              /* as `profile`; may be null */
  void (*report)(void* user, const char* text, size_t bytes); /* findings; null: standard error */
  void* report_user;
  const char* suppressions; /* a list of findings; null: the file PTX2SPV_SUPPRESSIONS names */
  ptx2spv_executor executor;
} ptx2spv_device_options;

typedef struct ptx2spv_device_info {
  uint32_t size;
  uint32_t index;
  char name[256], driver[256], uuid[40];
  char rejection[256]; /* why it was passed over; empty for the chosen one */
  uint32_t kind;       /* 0 discrete, 1 integrated, 2 virtual, 3 CPU, 4 other */
  uint32_t vendor, device, api_version, driver_version;
  uint64_t memory_bytes;
  int32_t usable;
  /* And the threads that each holds, where a GPU's driver tells; 0: unknown. */
  uint32_t multiprocessors, multiprocessor_threads;
} ptx2spv_device_info;

/* Fills up to *count infos (none where infos is null) and sets *count to the number of devices. */
ptx2spv_status ptx2spv_list_devices(const ptx2spv_device_options* options,
                                    ptx2spv_device_info* infos, uint32_t* count);
ptx2spv_status ptx2spv_device_open(const ptx2spv_device_options* options, ptx2spv_device** device);
ptx2spv_status ptx2spv_device_get_info(const ptx2spv_device* device, ptx2spv_device_info* info);
/* A row of the profile in force (docs/reference/profiles.md). */
ptx2spv_status ptx2spv_device_capability(const ptx2spv_device* device, const char* row,
                                         uint32_t* value);
ptx2spv_status ptx2spv_device_synchronize(ptx2spv_device* device);
uint64_t ptx2spv_device_malloc_heap_bytes(const ptx2spv_device* device);
/* Bytes of the heap of kernels' malloc, before the first launch of a kernel that has one. */
ptx2spv_status ptx2spv_device_set_malloc_heap_bytes(ptx2spv_device* device, uint64_t bytes);

/* Counters since the device was opened. */
typedef struct ptx2spv_device_statistics {
  uint32_t size;
  uint64_t translations, translation_cache_hits, pipelines, launches;
  double translation_ms, pipeline_ms;
  uint64_t memory_blocks, memory_bytes, memory_used;
  uint64_t validation_messages;  /* of the Vulkan validation layer, where it is on */
  uint64_t array_copies;         /* of arrays, between memory and images, by launches */
  uint64_t interpreted_launches; /* of the launches, by the interpreter, wholly or in part */
} ptx2spv_device_statistics;
ptx2spv_status ptx2spv_device_get_statistics(const ptx2spv_device* device,
                                             ptx2spv_device_statistics* statistics);
/* What the sanitizer has found, as the JSON of sanitizer.md; valid until the next such call
 * for the device. */
const char* ptx2spv_device_sanitizer_report(ptx2spv_device* device);
void ptx2spv_device_destroy(ptx2spv_device* device);

/* ---- memory ---- */

ptx2spv_status ptx2spv_buffer_create(ptx2spv_device* device, uint64_t bytes,
                                     ptx2spv_buffer** buffer);
/* For rows that the device's samplers read, as from cudaMallocPitch. */
ptx2spv_status ptx2spv_buffer_create_rows(ptx2spv_device* device, uint64_t bytes,
                                          ptx2spv_buffer** buffer);
/* The host's memory, mapped, which kernels read by its address. */
ptx2spv_status ptx2spv_buffer_create_host(ptx2spv_device* device, uint64_t bytes,
                                          ptx2spv_buffer** buffer);
/* The memory at an address of the device; it owns nothing. */
ptx2spv_status ptx2spv_buffer_view(ptx2spv_device* device, uint64_t address, uint64_t bytes,
                                   ptx2spv_buffer** buffer);
/* The name in the sanitizer's reports. */
ptx2spv_status ptx2spv_buffer_set_name(ptx2spv_buffer* buffer, const char* name);
uint64_t ptx2spv_buffer_address(const ptx2spv_buffer* buffer);
uint64_t ptx2spv_buffer_size(const ptx2spv_buffer* buffer);
/* Where the host reads and writes the buffer's bytes, as long as the buffer exists; null where the
 * device's memory is not the host's. Synchronise before and after the device uses them. */
void* ptx2spv_buffer_mapped(const ptx2spv_buffer* buffer);
ptx2spv_status ptx2spv_buffer_upload(ptx2spv_buffer* buffer, uint64_t offset, const void* data,
                                     uint64_t bytes);
ptx2spv_status ptx2spv_buffer_download(const ptx2spv_buffer* buffer, uint64_t offset, void* data,
                                       uint64_t bytes);
ptx2spv_status ptx2spv_buffer_fill(ptx2spv_buffer* buffer, uint64_t offset, uint64_t bytes,
                                   uint32_t pattern, uint32_t pattern_bytes);
ptx2spv_status ptx2spv_buffer_copy(const ptx2spv_buffer* from, uint64_t from_offset,
                                   ptx2spv_buffer* to, uint64_t to_offset, uint64_t bytes);
/* Rows and slices of a rectangular copy, in bytes. A pitch of 0 means dense; 0 rows or slices count
 * as 1. */
typedef struct ptx2spv_region {
  uint32_t size;
  uint32_t rows, slices;
  uint64_t offset; /* of the first byte in the buffer */
  uint64_t row_bytes;
  uint64_t row_pitch, slice_pitch;           /* in the buffer */
  uint64_t host_row_pitch, host_slice_pitch; /* on the host */
} ptx2spv_region;
/* `bytes` is the size of `data`, which the region has to fit into. */
ptx2spv_status ptx2spv_buffer_upload_region(ptx2spv_buffer* buffer, const ptx2spv_region* region,
                                            const void* data, uint64_t bytes);
ptx2spv_status ptx2spv_buffer_download_region(const ptx2spv_buffer* buffer,
                                              const ptx2spv_region* region, void* data,
                                              uint64_t bytes);
/* Rows and slices of another buffer from `from_offset` on, which the region's host pitches
 * describe. */
ptx2spv_status ptx2spv_buffer_copy_region(const ptx2spv_buffer* from, uint64_t from_offset,
                                          ptx2spv_buffer* to, const ptx2spv_region* region);
void ptx2spv_buffer_destroy(ptx2spv_buffer* buffer);

typedef enum ptx2spv_geometry {
  PTX2SPV_1D = 0,
  PTX2SPV_2D = 1,
  PTX2SPV_3D = 2,
  PTX2SPV_A1D = 3,
  PTX2SPV_A2D = 4
} ptx2spv_geometry;
typedef enum ptx2spv_format {
  PTX2SPV_U8 = 0,
  PTX2SPV_U16 = 1,
  PTX2SPV_U32 = 2,
  PTX2SPV_S8 = 3,
  PTX2SPV_S16 = 4,
  PTX2SPV_S32 = 5,
  PTX2SPV_F16 = 6,
  PTX2SPV_F32 = 7,
  PTX2SPV_UNORM8 = 8,
  PTX2SPV_UNORM16 = 9,
  PTX2SPV_SNORM8 = 10,
  PTX2SPV_SNORM16 = 11
} ptx2spv_format;
/* "2d" and "f32", and the enumerators of such names. A name that there is not is not found. */
const char* ptx2spv_geometry_name(uint32_t geometry);
const char* ptx2spv_format_name(uint32_t format);
ptx2spv_status ptx2spv_parse_geometry(const char* name, ptx2spv_geometry* geometry);
ptx2spv_status ptx2spv_parse_format(const char* name, ptx2spv_format* format);
/* Bytes of one component; 0 where there is no such format. */
uint32_t ptx2spv_format_bytes(uint32_t format);
typedef enum ptx2spv_backing {
  PTX2SPV_AUTOMATIC = 0,
  PTX2SPV_LINEAR = 1,
  PTX2SPV_IMAGE = 2
} ptx2spv_backing;

typedef struct ptx2spv_array_desc {
  uint32_t size;
  ptx2spv_geometry geometry;
  ptx2spv_format format;
  uint32_t channels;                             /* 1, 2 or 4 */
  uint32_t width, height, depth, layers, levels; /* 0 counts as 1 */
  ptx2spv_backing backing;
  const char* name; /* for trap reports; may be null */
} ptx2spv_array_desc;

ptx2spv_status ptx2spv_array_create(ptx2spv_device* device, const ptx2spv_array_desc* desc,
                                    ptx2spv_array** array);
/* As it was created; the name is valid as long as the array. */
ptx2spv_status ptx2spv_array_get_desc(const ptx2spv_array* array, ptx2spv_array_desc* desc);
/* 1: it is in an image now. */
int32_t ptx2spv_array_image_backed(const ptx2spv_array* array);
uint64_t ptx2spv_array_bytes(const ptx2spv_array* array, uint32_t level);
/* Host data is dense. `bytes` is the size of the whole level. */
ptx2spv_status ptx2spv_array_upload(ptx2spv_array* array, uint32_t level, const void* data,
                                    uint64_t bytes);
ptx2spv_status ptx2spv_array_download(const ptx2spv_array* array, uint32_t level, void* data,
                                      uint64_t bytes);
/* A box of a level, in texels, and the pitches of its rows and slices on the host or in a buffer,
 * in bytes. An extent of 0 reaches to the level's end; a pitch of 0 means dense. */
typedef struct ptx2spv_array_region {
  uint32_t size;
  uint32_t level;
  uint32_t x, y, z; /* z: slice or layer */
  uint32_t width, height, depth;
  uint64_t row_pitch, slice_pitch;
} ptx2spv_array_region;
ptx2spv_status ptx2spv_array_upload_region(ptx2spv_array* array, const ptx2spv_array_region* region,
                                           const void* data, uint64_t bytes);
ptx2spv_status ptx2spv_array_download_region(const ptx2spv_array* array,
                                             const ptx2spv_array_region* region, void* data,
                                             uint64_t bytes);
/* Copies on the device. The rows start at `offset` of the buffer. */
ptx2spv_status ptx2spv_array_copy_from_buffer(ptx2spv_array* array,
                                              const ptx2spv_array_region* region,
                                              const ptx2spv_buffer* buffer, uint64_t offset);
ptx2spv_status ptx2spv_array_copy_to_buffer(const ptx2spv_array* array,
                                            const ptx2spv_array_region* region,
                                            ptx2spv_buffer* buffer, uint64_t offset);
ptx2spv_status ptx2spv_array_fill(ptx2spv_array* array, uint32_t level, uint32_t pattern,
                                  uint32_t pattern_bytes);
/* Copies every level. Both arrays have the same extent and texel size. */
ptx2spv_status ptx2spv_array_copy(const ptx2spv_array* from, ptx2spv_array* to);
/* A box of one array to one of another, of as many texels; pitches are not looked at. */
ptx2spv_status ptx2spv_array_copy_region(const ptx2spv_array* from,
                                         const ptx2spv_array_region* source, ptx2spv_array* to,
                                         const ptx2spv_array_region* region);
void ptx2spv_array_destroy(ptx2spv_array* array);

ptx2spv_status ptx2spv_surface_create(ptx2spv_array* array, uint32_t level,
                                      ptx2spv_surface** surface);
/* A new handle of its array. */
ptx2spv_status ptx2spv_surface_array(const ptx2spv_surface* surface, ptx2spv_array** array);
uint64_t ptx2spv_surface_handle(const ptx2spv_surface* surface);
/* The name in trap reports. Without one it is the array's. */
ptx2spv_status ptx2spv_surface_set_name(ptx2spv_surface* surface, const char* name);
void ptx2spv_surface_destroy(ptx2spv_surface* surface);

typedef enum ptx2spv_address_mode {
  PTX2SPV_WRAP = 0,
  PTX2SPV_CLAMP = 1,
  PTX2SPV_MIRROR = 2,
  PTX2SPV_BORDER = 3
} ptx2spv_address_mode;

typedef struct ptx2spv_texture_desc {
  uint32_t size;
  ptx2spv_address_mode address[3];
  int32_t linear_filter; /* 1: linear, 0: nearest */
  int32_t normalized_coordinates;
  int32_t read_as_float; /* 1: 8- and 16-bit integers as normalised floats */
  float border[4];
  int32_t linear_mipmap_filter;
  int32_t srgb;                            /* 1: 8-bit colours are sRGB; needs read_as_float */
  float mipmap_bias, min_level, max_level; /* max_level 0: only level 0 is read */
  uint32_t max_anisotropy;                 /* 0 counts as 1 */
  int32_t cube;                            /* 1: the array's layers are faces of cubes */
  int32_t seamless_cube;                   /* 1: linear filters reach across the faces' edges */
  int32_t full_trilinear;                  /* 1: no trilinear optimisation, where anisotropic */
  int32_t mipmapped;                       /* 1: an array of one level counts as mipmapped */
} ptx2spv_texture_desc;

/* Memory that is read as a texture. Where height is 0 it has no rows and can be read at integer
 * coordinates only. */
typedef struct ptx2spv_texture_memory {
  uint32_t size;
  ptx2spv_format format;
  uint32_t channels;      /* 1, 2 or 4 */
  uint32_t width, height; /* texels */
  uint64_t offset, pitch; /* bytes, multiples of 16 */
} ptx2spv_texture_memory;

ptx2spv_status ptx2spv_texture_create(ptx2spv_array* array, const ptx2spv_texture_desc* desc,
                                      ptx2spv_texture** texture);
/* One level of the array, as an array of its own. */
ptx2spv_status ptx2spv_texture_create_level(ptx2spv_array* array, uint32_t level,
                                            const ptx2spv_texture_desc* desc,
                                            ptx2spv_texture** texture);
/* A part of an array, or its texels in another format (cudaResourceViewDesc). */
typedef struct ptx2spv_texture_view {
  uint32_t size;
  ptx2spv_format format;
  uint32_t channels; /* as many bytes a texel as the array has */
  uint32_t first_level, levels;
  uint32_t first_layer, layers; /* levels and layers: 0 counts as 1 */
} ptx2spv_texture_view;
ptx2spv_status ptx2spv_texture_create_view(ptx2spv_array* array, const ptx2spv_texture_view* view,
                                           const ptx2spv_texture_desc* desc,
                                           ptx2spv_texture** texture);
ptx2spv_status ptx2spv_texture_create_memory(ptx2spv_buffer* buffer,
                                             const ptx2spv_texture_memory* memory,
                                             const ptx2spv_texture_desc* desc,
                                             ptx2spv_texture** texture);
uint64_t ptx2spv_texture_handle(const ptx2spv_texture* texture);
void ptx2spv_texture_destroy(ptx2spv_texture* texture);
/* A sampler of its own, for .samplerref. */
ptx2spv_status ptx2spv_sampler_create(ptx2spv_device* device, const ptx2spv_texture_desc* desc,
                                      ptx2spv_sampler** sampler);
uint64_t ptx2spv_sampler_handle(const ptx2spv_sampler* sampler);
void ptx2spv_sampler_destroy(ptx2spv_sampler* sampler);

/* ---- modules and kernels ---- */

typedef struct ptx2spv_module_options {
  uint32_t size;
  int32_t fast; /* 1: the device's own float operations; 0: exact */
  int32_t debug_info, relax_versions;
  int32_t no_optimize;           /* 1: only what validity needs */
  const uint64_t* inline_budget; /* instructions up to which calls are copied; may be null */
} ptx2spv_module_options;

/* `ptx` has `bytes` characters. Messages call it `file`. */
ptx2spv_status ptx2spv_module_load(ptx2spv_device* device, const char* ptx, size_t bytes,
                                   const char* file, const ptx2spv_module_options* options,
                                   ptx2spv_module** module);
ptx2spv_status ptx2spv_module_load_file(ptx2spv_device* device, const char* path,
                                        const ptx2spv_module_options* options,
                                        ptx2spv_module** module);
/* Several PTX texts, linked; `bytes` and `files` have as many entries as `ptx`. */
ptx2spv_status ptx2spv_module_load_linked(ptx2spv_device* device, const char* const* ptx,
                                          const size_t* bytes, const char* const* files,
                                          uint32_t count, const ptx2spv_module_options* options,
                                          ptx2spv_module** module);
/* The translator's warnings, whole lines; empty where there are none. Valid as long as the module.
 */
const char* ptx2spv_module_warnings(const ptx2spv_module* module);
/* The interface as JSON; valid as long as the module. */
const char* ptx2spv_module_interface(const ptx2spv_module* module);
ptx2spv_status ptx2spv_module_global(const ptx2spv_module* module, const char* name,
                                     uint64_t* address, uint64_t* bytes);
ptx2spv_status ptx2spv_module_set_global(ptx2spv_module* module, const char* name, uint64_t offset,
                                         const void* data, uint64_t bytes);
ptx2spv_status ptx2spv_module_get_global(const ptx2spv_module* module, const char* name,
                                         uint64_t offset, void* data, uint64_t bytes);
ptx2spv_status ptx2spv_module_bind_surface(ptx2spv_module* module, const char* surfref,
                                           const ptx2spv_surface* surface);
ptx2spv_status ptx2spv_module_bind_texture(ptx2spv_module* module, const char* texref,
                                           const ptx2spv_texture* texture);
ptx2spv_status ptx2spv_module_bind_sampler(ptx2spv_module* module, const char* samplerref,
                                           const ptx2spv_sampler* sampler);
void ptx2spv_module_destroy(ptx2spv_module* module);

ptx2spv_status ptx2spv_kernel_get(const ptx2spv_module* module, const char* name,
                                  ptx2spv_kernel** kernel);
/* Valid as long as the kernel. */
const char* ptx2spv_kernel_name(const ptx2spv_kernel* kernel);
uint32_t ptx2spv_kernel_parameter_count(const ptx2spv_kernel* kernel);
ptx2spv_status ptx2spv_kernel_parameter(const ptx2spv_kernel* kernel, uint32_t index,
                                        const char** name, uint32_t* offset, uint32_t* bytes);
/* The PTX type, "u32"; "" for an index that no parameter has. Valid as long as the kernel. */
const char* ptx2spv_kernel_parameter_type(const ptx2spv_kernel* kernel, uint32_t index);
void ptx2spv_kernel_destroy(ptx2spv_kernel* kernel);

/* One argument, in the kernel's order. A surface, texture, sampler or buffer stands for its handle
 * or address; for a value, `data` and `bytes` are the parameter's bytes. Exactly one of the five is
 * set. */
typedef struct ptx2spv_argument {
  const ptx2spv_surface* surface;
  const ptx2spv_texture* texture;
  const ptx2spv_buffer* buffer;
  uint64_t buffer_offset;
  const void* data;
  uint32_t bytes;
  const ptx2spv_sampler* sampler;
} ptx2spv_argument;

/* What a module-scope .surfref, .texref or .samplerref is bound to for one launch. Exactly one of
 * the three is set. */
typedef struct ptx2spv_reference {
  const char* name;
  const ptx2spv_surface* surface;
  const ptx2spv_texture* texture;
  const ptx2spv_sampler* sampler;
} ptx2spv_reference;

/* Who filters textures: `exact` gives NVIDIA's results, `device` reads by the device's samplers
 * wherever they can. */
typedef enum ptx2spv_filter {
  PTX2SPV_FILTER_DEFAULT = 0, /* as PTX2SPV_FILTER says, else exact */
  PTX2SPV_FILTER_EXACT = 1,
  PTX2SPV_FILTER_DEVICE = 2
} ptx2spv_filter;

typedef struct ptx2spv_launch {
  uint32_t size;
  uint32_t grid[3], block[3]; /* 0 counts as 1 */
  uint32_t dynamic_shared;
  uint32_t repeat; /* 0 counts as 1 */
  const ptx2spv_argument* arguments;
  uint32_t argument_count;
  const ptx2spv_reference* references;
  uint32_t reference_count;
  const char* sanitize; /* the sanitizer's checks, as "all" or "none"; null: the device's */
  ptx2spv_filter filter;
  ptx2spv_fp fp;
  ptx2spv_threads threads;
  int32_t no_slots;         /* 1: every surface in memory is reached by its address */
  const char* suppressions; /* a list of findings, more than the device's; may be null */
  int32_t cooperative;      /* 1: all blocks are there at once and may wait for each other */
} ptx2spv_launch;

/* Runs and waits. `device_ms` may be null; -1 where the device has no timestamps. */
ptx2spv_status ptx2spv_kernel_launch(const ptx2spv_kernel* kernel, const ptx2spv_launch* launch,
                                     double* device_ms);

typedef struct ptx2spv_launch_timing {
  uint32_t size;
  uint32_t sampled_textures; /* textures that samplers of the device read */
  double device_ms;          /* all repeats, by timestamps; -1: the device has none */
  double wall_ms;            /* submission to completion */
  double prepare_ms;         /* translation and pipeline, where this launch needed one */
  ptx2spv_threads threads;
} ptx2spv_launch_timing;
/* As ptx2spv_kernel_launch, with all that is measured. */
ptx2spv_status ptx2spv_kernel_launch_timed(const ptx2spv_kernel* kernel,
                                           const ptx2spv_launch* launch,
                                           ptx2spv_launch_timing* timing);

/* Translates and builds the pipeline for such a launch without running it. */
ptx2spv_status ptx2spv_kernel_prepare(const ptx2spv_kernel* kernel, const ptx2spv_launch* launch);

/* ---- streams, events, graphs ---- */

ptx2spv_status ptx2spv_stream_create(ptx2spv_device* device, ptx2spv_stream** stream);
ptx2spv_status ptx2spv_stream_launch(ptx2spv_stream* stream, const ptx2spv_kernel* kernel,
                                     const ptx2spv_launch* launch);
/* An upload copies `data` before it returns. A download has filled `data` after the next
 * synchronize. */
ptx2spv_status ptx2spv_stream_upload(ptx2spv_stream* stream, ptx2spv_buffer* buffer,
                                     uint64_t offset, const void* data, uint64_t bytes);
ptx2spv_status ptx2spv_stream_download(ptx2spv_stream* stream, const ptx2spv_buffer* buffer,
                                       uint64_t offset, void* data, uint64_t bytes);
ptx2spv_status ptx2spv_stream_copy(ptx2spv_stream* stream, const ptx2spv_buffer* from,
                                   uint64_t from_offset, ptx2spv_buffer* to, uint64_t to_offset,
                                   uint64_t bytes);
ptx2spv_status ptx2spv_stream_upload_array(ptx2spv_stream* stream, ptx2spv_array* array,
                                           const ptx2spv_array_region* region, const void* data,
                                           uint64_t bytes);
/* `data` has to live until the copy is over. */
ptx2spv_status ptx2spv_stream_download_array(ptx2spv_stream* stream, const ptx2spv_array* array,
                                             const ptx2spv_array_region* region, void* data,
                                             uint64_t bytes);
ptx2spv_status ptx2spv_stream_copy_to_array(ptx2spv_stream* stream, const ptx2spv_buffer* from,
                                            uint64_t offset, ptx2spv_array* to,
                                            const ptx2spv_array_region* region);
ptx2spv_status ptx2spv_stream_copy_from_array(ptx2spv_stream* stream, const ptx2spv_array* from,
                                              const ptx2spv_array_region* region,
                                              ptx2spv_buffer* to, uint64_t offset);
/* `offset` and `bytes` are multiples of 4. */
ptx2spv_status ptx2spv_stream_fill(ptx2spv_stream* stream, ptx2spv_buffer* buffer, uint64_t offset,
                                   uint64_t bytes, uint32_t word);
/* 1: all work is done. */
int32_t ptx2spv_stream_idle(const ptx2spv_stream* stream);
ptx2spv_status ptx2spv_stream_record(ptx2spv_stream* stream, ptx2spv_event* event);
ptx2spv_status ptx2spv_stream_wait(ptx2spv_stream* stream, const ptx2spv_event* event);
ptx2spv_status ptx2spv_stream_replay(ptx2spv_stream* stream, const ptx2spv_graph* graph);
/* Returns the first error or trap of the stream's work since the last call. */
ptx2spv_status ptx2spv_stream_synchronize(ptx2spv_stream* stream);
void ptx2spv_stream_destroy(ptx2spv_stream* stream);

ptx2spv_status ptx2spv_event_create(ptx2spv_device* device, ptx2spv_event** event);
int32_t ptx2spv_event_recorded(const ptx2spv_event* event);
int32_t ptx2spv_event_done(const ptx2spv_event* event);
ptx2spv_status ptx2spv_event_wait(const ptx2spv_event* event);
ptx2spv_status ptx2spv_event_elapsed(const ptx2spv_event* start, const ptx2spv_event* end,
                                     double* milliseconds);
void ptx2spv_event_destroy(ptx2spv_event* event);

ptx2spv_status ptx2spv_graph_create(ptx2spv_device* device, ptx2spv_graph** graph);
ptx2spv_status ptx2spv_graph_add_launch(ptx2spv_graph* graph, const ptx2spv_kernel* kernel,
                                        const ptx2spv_launch* launch);
ptx2spv_status ptx2spv_graph_add_copy(ptx2spv_graph* graph, const ptx2spv_buffer* from,
                                      uint64_t from_offset, ptx2spv_buffer* to, uint64_t to_offset,
                                      uint64_t bytes);
/* The number of launches and copies in the graph. */
uint32_t ptx2spv_graph_size(const ptx2spv_graph* graph);
void ptx2spv_graph_destroy(ptx2spv_graph* graph);

/* ---- traps ---- */

typedef enum ptx2spv_trap_kind {
  PTX2SPV_TRAP_OUT_OF_BOUNDS = 1,
  PTX2SPV_TRAP_MISALIGNED = 2,
  PTX2SPV_TRAP_DEAD_HANDLE = 3,
  PTX2SPV_TRAP_INSTRUCTION = 4,
  PTX2SPV_TRAP_ASSERTION = 5,
  PTX2SPV_TRAP_LOOP_LIMIT = 6,
  PTX2SPV_TRAP_BAD_CALL = 7,
  PTX2SPV_TRAP_NO_PROGRESS = 8
} ptx2spv_trap_kind;

/* The trap behind the calling thread's last PTX2SPV_TRAP. Texts are valid until the thread's next
 * failure. */
typedef struct ptx2spv_trap_report {
  uint32_t size;
  uint32_t kind; /* ptx2spv_trap_kind */
  uint32_t trapped_threads;
  const char *kernel, *function, *file, *instruction, *source_file, *surface, *message;
  uint32_t line, source_line;
  uint32_t block[3], thread[3];
  uint64_t handle;
  int32_t coordinates[3];
  uint32_t coordinate_count;
  uint64_t extent[3]; /* row bytes, rows, slices or layers */
  uint32_t column;    /* of the instruction in its line */
  uint32_t texel_bytes;
  int32_t thread_known;            /* 0, with block and thread 0, where the driver cut a loop off */
  const char* assertion;           /* the line that CUDA prints for an assertion */
  const char* coordinate_names[3]; /* "x", "y", "z" or "layer" */
  uint32_t inlined_count; /* places where the source line was inlined, for ptx2spv_last_inlined */
} ptx2spv_trap_report;
/* A place where the trap's source line was inlined, the nearest call first. */
ptx2spv_status ptx2spv_last_inlined(uint32_t index, const char** file, uint32_t* line);
/* "out of bounds"; never null. */
const char* ptx2spv_trap_kind_name(uint32_t kind);
ptx2spv_status ptx2spv_last_trap(ptx2spv_trap_report* report);

#ifdef __cplusplus
}
#endif
#endif
