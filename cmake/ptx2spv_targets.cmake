# ptx2spv_setup(target): the language level, warnings, sanitizers and include root of every target.
function(ptx2spv_setup target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${PTX2SPV_COMPILE_OPTIONS})
  target_link_options(${target} PUBLIC ${PTX2SPV_LINK_OPTIONS})
  # Internal headers are named from the repository's root: "translator/ir/ir.hpp".
  target_include_directories(${target} PRIVATE "${ptx2spv_SOURCE_DIR}")
endfunction()

# ptx2spv_name_library(target name file): what the installed library is called in CMake and on disk.
function(ptx2spv_name_library target name file)
  add_library(ptx2spv::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name} OUTPUT_NAME ${file} VERSION ${ptx2spv_VERSION}
    SOVERSION ${ptx2spv_VERSION_MAJOR}.${ptx2spv_VERSION_MINOR}
    # Static and shared builds compile the same objects, so that the compiler cache serves both.
    DEFINE_SYMBOL "")
endfunction()
