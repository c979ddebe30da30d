"""Made by python/declare.py of src/include/ptx2spv/ptx2spv.h."""

import ctypes


# ptx2spv_status
PTX2SPV_OK = 0
PTX2SPV_INVALID_ARGUMENT = 1
PTX2SPV_NOT_FOUND = 2
PTX2SPV_NO_DEVICE = 3
PTX2SPV_UNSUPPORTED = 4
PTX2SPV_TRANSLATION = 5
PTX2SPV_TRAP = 6
PTX2SPV_OUT_OF_MEMORY = 7
PTX2SPV_DEVICE_LOST = 8
PTX2SPV_IO = 9
PTX2SPV_INTERNAL = 10
PTX2SPV_TIMED_OUT = 11

# ptx2spv_fp
PTX2SPV_FP_DEFAULT = 0
PTX2SPV_FP_EXACT = 1
PTX2SPV_FP_FAST = 2

# ptx2spv_threads
PTX2SPV_THREADS_DEFAULT = 0
PTX2SPV_THREADS_DIRECT = 1
PTX2SPV_THREADS_FLAT = 2
PTX2SPV_THREADS_REGIONS = 3

# ptx2spv_slot_backing
PTX2SPV_SLOT_ADDRESS = 0
PTX2SPV_SLOT_BUFFER = 1
PTX2SPV_SLOT_IMAGE = 2

# ptx2spv_executor
PTX2SPV_EXECUTOR_DEFAULT = 0
PTX2SPV_EXECUTOR_AUTOMATIC = 1
PTX2SPV_EXECUTOR_DEVICE = 2
PTX2SPV_EXECUTOR_HOST = 3

# ptx2spv_geometry
PTX2SPV_1D = 0
PTX2SPV_2D = 1
PTX2SPV_3D = 2
PTX2SPV_A1D = 3
PTX2SPV_A2D = 4

# ptx2spv_format
PTX2SPV_U8 = 0
PTX2SPV_U16 = 1
PTX2SPV_U32 = 2
PTX2SPV_S8 = 3
PTX2SPV_S16 = 4
PTX2SPV_S32 = 5
PTX2SPV_F16 = 6
PTX2SPV_F32 = 7
PTX2SPV_UNORM8 = 8
PTX2SPV_UNORM16 = 9
PTX2SPV_SNORM8 = 10
PTX2SPV_SNORM16 = 11

# ptx2spv_backing
PTX2SPV_AUTOMATIC = 0
PTX2SPV_LINEAR = 1
PTX2SPV_IMAGE = 2

# ptx2spv_address_mode
PTX2SPV_WRAP = 0
PTX2SPV_CLAMP = 1
PTX2SPV_MIRROR = 2
PTX2SPV_BORDER = 3

# ptx2spv_filter
PTX2SPV_FILTER_DEFAULT = 0
PTX2SPV_FILTER_EXACT = 1
PTX2SPV_FILTER_DEVICE = 2

# ptx2spv_trap_kind
PTX2SPV_TRAP_OUT_OF_BOUNDS = 1
PTX2SPV_TRAP_MISALIGNED = 2
PTX2SPV_TRAP_DEAD_HANDLE = 3
PTX2SPV_TRAP_INSTRUCTION = 4
PTX2SPV_TRAP_ASSERTION = 5
PTX2SPV_TRAP_LOOP_LIMIT = 6
PTX2SPV_TRAP_BAD_CALL = 7
PTX2SPV_TRAP_NO_PROGRESS = 8


class ptx2spv_slot(ctypes.Structure):
    _fields_ = [
        ("backing", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("channels", ctypes.c_uint32),
        ("geometry", ctypes.c_uint32),
        ("format_known", ctypes.c_int32),
    ]


class ptx2spv_translate_options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("entry", ctypes.c_char_p),
        ("profile", ctypes.c_char_p),
        ("fast", ctypes.c_int32),
        ("debug_info", ctypes.c_int32),
        ("relax_versions", ctypes.c_int32),
        ("custom_profile", ctypes.c_void_p),
        ("threads", ctypes.c_uint32),
        ("no_optimize", ctypes.c_int32),
        ("assume_live_handles", ctypes.c_int32),
        ("assume_small_surfaces", ctypes.c_int32),
        ("assume_small_grid", ctypes.c_int32),
        ("assume_trip_counts", ctypes.c_int32),
        ("shared_in_memory", ctypes.c_int32),
        ("max_block_threads", ctypes.c_uint32),
        ("workgroup_threads", ctypes.c_uint32),
        ("block", ctypes.c_uint32 * 3),
        ("slots", ctypes.POINTER(ptx2spv_slot)),
        ("slot_count", ctypes.c_uint32),
        ("push_words", ctypes.c_uint32),
        ("wait_iterations", ctypes.c_uint32),
        ("routine_budget", ctypes.POINTER(ctypes.c_uint32)),
        ("sanitize", ctypes.c_char_p),
        ("dump", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
        ("timing", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double)),
        ("user", ctypes.c_void_p),
    ]


class ptx2spv_parse_options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("relax_versions", ctypes.c_int32),
        ("inline_budget", ctypes.POINTER(ctypes.c_uint64)),
        ("error_limit", ctypes.c_uint32),
    ]


class ptx2spv_device_options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("select", ctypes.c_char_p),
        ("disable", ctypes.POINTER(ctypes.c_char_p)),
        ("disable_count", ctypes.c_uint32),
        ("profile", ctypes.c_char_p),
        ("validation", ctypes.c_int32),
        ("cache", ctypes.c_int32),
        ("cache_directory", ctypes.c_char_p),
        ("print", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
        ("print_user", ctypes.c_void_p),
        ("sanitize", ctypes.c_char_p),
        ("timeout", ctypes.c_double),
        ("enable", ctypes.POINTER(ctypes.c_char_p)),
        ("enable_count", ctypes.c_uint32),
        ("require", ctypes.POINTER(ctypes.c_char_p)),
        ("require_count", ctypes.c_uint32),
        ("within", ctypes.c_void_p),
        ("report", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
        ("report_user", ctypes.c_void_p),
        ("suppressions", ctypes.c_char_p),
        ("executor", ctypes.c_uint32),
    ]


class ptx2spv_device_info(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("index", ctypes.c_uint32),
        ("name", ctypes.c_char * 256),
        ("driver", ctypes.c_char * 256),
        ("uuid", ctypes.c_char * 40),
        ("rejection", ctypes.c_char * 256),
        ("kind", ctypes.c_uint32),
        ("vendor", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        ("api_version", ctypes.c_uint32),
        ("driver_version", ctypes.c_uint32),
        ("memory_bytes", ctypes.c_uint64),
        ("usable", ctypes.c_int32),
    ]


class ptx2spv_vulkan_device(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("get_instance_proc_addr", ctypes.c_void_p),
        ("instance", ctypes.c_void_p),
        ("physical_device", ctypes.c_void_p),
        ("device", ctypes.c_void_p),
        ("queue", ctypes.c_void_p),
        ("queue_family", ctypes.c_uint32),
        ("lock_queue", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("unlock_queue", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("lock_user", ctypes.c_void_p),
    ]


class ptx2spv_device_statistics(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("translations", ctypes.c_uint64),
        ("translation_cache_hits", ctypes.c_uint64),
        ("pipelines", ctypes.c_uint64),
        ("launches", ctypes.c_uint64),
        ("translation_ms", ctypes.c_double),
        ("pipeline_ms", ctypes.c_double),
        ("memory_blocks", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
        ("memory_used", ctypes.c_uint64),
        ("validation_messages", ctypes.c_uint64),
        ("array_copies", ctypes.c_uint64),
        ("interpreted_launches", ctypes.c_uint64),
    ]


class ptx2spv_region(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("rows", ctypes.c_uint32),
        ("slices", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("row_bytes", ctypes.c_uint64),
        ("row_pitch", ctypes.c_uint64),
        ("slice_pitch", ctypes.c_uint64),
        ("host_row_pitch", ctypes.c_uint64),
        ("host_slice_pitch", ctypes.c_uint64),
    ]


class ptx2spv_array_desc(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("geometry", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("channels", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("depth", ctypes.c_uint32),
        ("layers", ctypes.c_uint32),
        ("levels", ctypes.c_uint32),
        ("backing", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
    ]


class ptx2spv_array_region(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("level", ctypes.c_uint32),
        ("x", ctypes.c_uint32),
        ("y", ctypes.c_uint32),
        ("z", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("depth", ctypes.c_uint32),
        ("row_pitch", ctypes.c_uint64),
        ("slice_pitch", ctypes.c_uint64),
    ]


class ptx2spv_texture_desc(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("address", ctypes.c_uint32 * 3),
        ("linear_filter", ctypes.c_int32),
        ("normalized_coordinates", ctypes.c_int32),
        ("read_as_float", ctypes.c_int32),
        ("border", ctypes.c_float * 4),
        ("linear_mipmap_filter", ctypes.c_int32),
        ("srgb", ctypes.c_int32),
        ("mipmap_bias", ctypes.c_float),
        ("min_level", ctypes.c_float),
        ("max_level", ctypes.c_float),
        ("max_anisotropy", ctypes.c_uint32),
        ("cube", ctypes.c_int32),
        ("seamless_cube", ctypes.c_int32),
        ("full_trilinear", ctypes.c_int32),
        ("mipmapped", ctypes.c_int32),
    ]


class ptx2spv_texture_memory(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("channels", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("pitch", ctypes.c_uint64),
    ]


class ptx2spv_texture_view(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("channels", ctypes.c_uint32),
        ("first_level", ctypes.c_uint32),
        ("levels", ctypes.c_uint32),
        ("first_layer", ctypes.c_uint32),
        ("layers", ctypes.c_uint32),
    ]


class ptx2spv_module_options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("fast", ctypes.c_int32),
        ("debug_info", ctypes.c_int32),
        ("relax_versions", ctypes.c_int32),
        ("no_optimize", ctypes.c_int32),
        ("inline_budget", ctypes.POINTER(ctypes.c_uint64)),
    ]


class ptx2spv_argument(ctypes.Structure):
    _fields_ = [
        ("surface", ctypes.c_void_p),
        ("texture", ctypes.c_void_p),
        ("buffer", ctypes.c_void_p),
        ("buffer_offset", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint32),
        ("sampler", ctypes.c_void_p),
    ]


class ptx2spv_reference(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("surface", ctypes.c_void_p),
        ("texture", ctypes.c_void_p),
        ("sampler", ctypes.c_void_p),
    ]


class ptx2spv_launch(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("dynamic_shared", ctypes.c_uint32),
        ("repeat", ctypes.c_uint32),
        ("arguments", ctypes.POINTER(ptx2spv_argument)),
        ("argument_count", ctypes.c_uint32),
        ("references", ctypes.POINTER(ptx2spv_reference)),
        ("reference_count", ctypes.c_uint32),
        ("sanitize", ctypes.c_char_p),
        ("filter", ctypes.c_uint32),
        ("fp", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("no_slots", ctypes.c_int32),
        ("suppressions", ctypes.c_char_p),
        ("cooperative", ctypes.c_int32),
    ]


class ptx2spv_launch_timing(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("sampled_textures", ctypes.c_uint32),
        ("device_ms", ctypes.c_double),
        ("wall_ms", ctypes.c_double),
        ("prepare_ms", ctypes.c_double),
        ("threads", ctypes.c_uint32),
    ]


class ptx2spv_trap_report(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("trapped_threads", ctypes.c_uint32),
        ("kernel", ctypes.c_char_p),
        ("function", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("instruction", ctypes.c_char_p),
        ("source_file", ctypes.c_char_p),
        ("surface", ctypes.c_char_p),
        ("message", ctypes.c_char_p),
        ("line", ctypes.c_uint32),
        ("source_line", ctypes.c_uint32),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
        ("handle", ctypes.c_uint64),
        ("coordinates", ctypes.c_int32 * 3),
        ("coordinate_count", ctypes.c_uint32),
        ("extent", ctypes.c_uint64 * 3),
        ("column", ctypes.c_uint32),
        ("texel_bytes", ctypes.c_uint32),
        ("thread_known", ctypes.c_int32),
        ("assertion", ctypes.c_char_p),
        ("coordinate_names", ctypes.c_char_p * 3),
        ("inlined_count", ctypes.c_uint32),
    ]


#: name: (result, parameters)
FUNCTIONS = {
    "ptx2spv_api_version": (ctypes.c_uint32, []),
    "ptx2spv_version_text": (ctypes.c_char_p, []),
    "ptx2spv_build_id": (ctypes.c_char_p, []),
    "ptx2spv_status_name": (ctypes.c_char_p, [ctypes.c_uint32]),
    "ptx2spv_last_error": (ctypes.c_char_p, []),
    "ptx2spv_last_error_details": (ctypes.c_char_p, []),
    "ptx2spv_profile_create": (ctypes.c_uint32, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_profile_set": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32]),
    "ptx2spv_profile_get": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32)]),
    "ptx2spv_profile_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_ptx_parse": (ctypes.c_uint32, [ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_char_p), ctypes.c_uint32, ctypes.POINTER(ptx2spv_parse_options), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_ptx_entry_count": (ctypes.c_uint32, [ctypes.c_void_p]),
    "ptx2spv_ptx_entry_name": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_uint32]),
    "ptx2spv_ptx_interface": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ptx2spv_ptx_warnings": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ptx2spv_ptx_translate": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_translate_options), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_ptx_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_pass_name": (ctypes.c_char_p, [ctypes.c_uint32]),
    "ptx2spv_translate": (ctypes.c_uint32, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(ptx2spv_translate_options), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_translation_words": (ctypes.POINTER(ctypes.c_uint32), [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]),
    "ptx2spv_translation_interface": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ptx2spv_translation_warnings": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ptx2spv_translation_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_list_devices": (ctypes.c_uint32, [ctypes.POINTER(ptx2spv_device_options), ctypes.POINTER(ptx2spv_device_info), ctypes.POINTER(ctypes.c_uint32)]),
    "ptx2spv_device_open": (ctypes.c_uint32, [ctypes.POINTER(ptx2spv_device_options), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_device_adopt": (ctypes.c_uint32, [ctypes.POINTER(ptx2spv_vulkan_device), ctypes.POINTER(ptx2spv_device_options), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_device_get_info": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_device_info)]),
    "ptx2spv_device_handles": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_vulkan_device)]),
    "ptx2spv_device_capability": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32)]),
    "ptx2spv_device_synchronize": (ctypes.c_uint32, [ctypes.c_void_p]),
    "ptx2spv_device_malloc_heap_bytes": (ctypes.c_uint64, [ctypes.c_void_p]),
    "ptx2spv_device_set_malloc_heap_bytes": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_device_get_statistics": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_device_statistics)]),
    "ptx2spv_device_sanitizer_report": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ptx2spv_device_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_buffer_create": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_buffer_create_host": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_buffer_view": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_buffer_set_name": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p]),
    "ptx2spv_buffer_address": (ctypes.c_uint64, [ctypes.c_void_p]),
    "ptx2spv_buffer_size": (ctypes.c_uint64, [ctypes.c_void_p]),
    "ptx2spv_buffer_mapped": (ctypes.c_void_p, [ctypes.c_void_p]),
    "ptx2spv_buffer_upload": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_buffer_download": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_buffer_fill": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32]),
    "ptx2spv_buffer_copy": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]),
    "ptx2spv_buffer_upload_region": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_buffer_download_region": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_buffer_copy_region": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.POINTER(ptx2spv_region)]),
    "ptx2spv_buffer_export": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64)]),
    "ptx2spv_buffer_import": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_buffer_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_geometry_name": (ctypes.c_char_p, [ctypes.c_uint32]),
    "ptx2spv_format_name": (ctypes.c_char_p, [ctypes.c_uint32]),
    "ptx2spv_parse_geometry": (ctypes.c_uint32, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32)]),
    "ptx2spv_parse_format": (ctypes.c_uint32, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32)]),
    "ptx2spv_format_bytes": (ctypes.c_uint32, [ctypes.c_uint32]),
    "ptx2spv_array_create": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_desc), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_array_get_desc": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_desc)]),
    "ptx2spv_array_image_backed": (ctypes.c_int32, [ctypes.c_void_p]),
    "ptx2spv_array_bytes": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_uint32]),
    "ptx2spv_array_upload": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_array_download": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_array_upload_region": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_array_download_region": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_array_copy_from_buffer": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_array_copy_to_buffer": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_array_fill": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32]),
    "ptx2spv_array_copy": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p]),
    "ptx2spv_array_copy_region": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region), ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region)]),
    "ptx2spv_array_export": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint32)]),
    "ptx2spv_array_import": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ptx2spv_array_desc), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_array_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_surface_create": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_surface_array": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_surface_handle": (ctypes.c_uint64, [ctypes.c_void_p]),
    "ptx2spv_surface_set_name": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p]),
    "ptx2spv_surface_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_texture_create": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_texture_desc), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_texture_create_level": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ptx2spv_texture_desc), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_texture_create_view": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_texture_view), ctypes.POINTER(ptx2spv_texture_desc), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_texture_create_memory": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_texture_memory), ctypes.POINTER(ptx2spv_texture_desc), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_texture_handle": (ctypes.c_uint64, [ctypes.c_void_p]),
    "ptx2spv_texture_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_sampler_create": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_texture_desc), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_sampler_handle": (ctypes.c_uint64, [ctypes.c_void_p]),
    "ptx2spv_sampler_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_module_load": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(ptx2spv_module_options), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_module_load_file": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ptx2spv_module_options), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_module_load_linked": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_char_p), ctypes.c_uint32, ctypes.POINTER(ptx2spv_module_options), ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_module_warnings": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ptx2spv_module_interface": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ptx2spv_module_global": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64)]),
    "ptx2spv_module_set_global": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_module_get_global": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_module_bind_surface": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]),
    "ptx2spv_module_bind_texture": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]),
    "ptx2spv_module_bind_sampler": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]),
    "ptx2spv_module_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_kernel_get": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_kernel_name": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ptx2spv_kernel_parameter_count": (ctypes.c_uint32, [ctypes.c_void_p]),
    "ptx2spv_kernel_parameter": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_uint32)]),
    "ptx2spv_kernel_parameter_type": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_uint32]),
    "ptx2spv_kernel_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_kernel_launch": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_launch), ctypes.POINTER(ctypes.c_double)]),
    "ptx2spv_kernel_launch_timed": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_launch), ctypes.POINTER(ptx2spv_launch_timing)]),
    "ptx2spv_kernel_prepare": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ptx2spv_launch)]),
    "ptx2spv_stream_create": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_stream_launch": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ptx2spv_launch)]),
    "ptx2spv_stream_upload": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_stream_download": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_stream_copy": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]),
    "ptx2spv_stream_upload_array": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_stream_download_array": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_stream_copy_to_array": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region)]),
    "ptx2spv_stream_copy_from_array": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ptx2spv_array_region), ctypes.c_void_p, ctypes.c_uint64]),
    "ptx2spv_stream_fill": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32]),
    "ptx2spv_stream_idle": (ctypes.c_int32, [ctypes.c_void_p]),
    "ptx2spv_stream_record": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p]),
    "ptx2spv_stream_wait": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p]),
    "ptx2spv_stream_replay": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p]),
    "ptx2spv_stream_synchronize": (ctypes.c_uint32, [ctypes.c_void_p]),
    "ptx2spv_stream_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_event_create": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_event_recorded": (ctypes.c_int32, [ctypes.c_void_p]),
    "ptx2spv_event_done": (ctypes.c_int32, [ctypes.c_void_p]),
    "ptx2spv_event_wait": (ctypes.c_uint32, [ctypes.c_void_p]),
    "ptx2spv_event_elapsed": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_double)]),
    "ptx2spv_event_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_graph_create": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]),
    "ptx2spv_graph_add_launch": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ptx2spv_launch)]),
    "ptx2spv_graph_add_copy": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]),
    "ptx2spv_graph_size": (ctypes.c_uint32, [ctypes.c_void_p]),
    "ptx2spv_graph_destroy": (None, [ctypes.c_void_p]),
    "ptx2spv_last_inlined": (ctypes.c_uint32, [ctypes.c_uint32, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_uint32)]),
    "ptx2spv_trap_kind_name": (ctypes.c_char_p, [ctypes.c_uint32]),
    "ptx2spv_last_trap": (ctypes.c_uint32, [ctypes.POINTER(ptx2spv_trap_report)]),
}
