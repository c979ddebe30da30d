# ptx2spv_setup(target): the language level, warnings, sanitizers and include root of every target.
function(ptx2spv_setup target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${PTX2SPV_COMPILE_OPTIONS})
  target_link_options(${target} PUBLIC ${PTX2SPV_LINK_OPTIONS})
  # Internal headers are named from the repository's root: "translator/ir/ir.hpp".
  target_include_directories(${target} PRIVATE "${ptx2spv_SOURCE_DIR}")
endfunction()

# ptx2spv_precompile(target kind): has the target read the standard library's headers, fmt's and in
# tests GoogleTest's precompiled, which halves the time of most files here. The kinds are library,
# program and test: each has compiler flags of its own, and precompiled headers must have the same.
# With -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON a file that lacks an include does not compile.
function(ptx2spv_precompile target kind)
  set(holder ptx2spv_precompiled_${kind})
  if(NOT TARGET ${holder})
    set(source "${ptx2spv_BINARY_DIR}/precompiled_${kind}.cpp")
    if(kind STREQUAL "library")
      file(CONFIGURE OUTPUT "${source}" CONTENT "extern const int precompiled = 0;\n")
      add_library(${holder} OBJECT "${source}")
    else()
      file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n")
      add_executable(${holder} "${source}")
    endif()
    ptx2spv_setup(${holder})
    target_link_libraries(${holder} PRIVATE fmt::fmt)
    target_precompile_headers(${holder} PRIVATE
      <algorithm> <array> <bit> <cstdint> <cstring> <functional> <map> <memory> <optional> <set>
      <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)
    if(kind STREQUAL "test")
      target_compile_options(${holder} PRIVATE ${PTX2SPV_TEST_OPTIONS})
      target_link_libraries(${holder} PRIVATE GTest::gtest)
      target_precompile_headers(${holder} PRIVATE <gtest/gtest.h>)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()

# ptx2spv_unity(target): compiles the files of one folder together, twelve at a time. A file alone
# costs a second, most of it for the same templates again. Adding a file moves the limits of its own
# folder's groups, never another's. Files with options of their own are compiled alone.
# With -DPTX2SPV_UNITY=OFF, as in the debug preset, every file is.
function(ptx2spv_unity target)
  if(NOT PTX2SPV_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(SORT sources)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    # Objects have this name, and must not differ where the tree stands elsewhere.
    file(RELATIVE_PATH group "${ptx2spv_SOURCE_DIR}" "${folder}")
    string(MD5 group "${group}")
    if(NOT DEFINED count_${group})
      set(count_${group} 0)
    endif()
    math(EXPR part "${count_${group}} / 12")
    math(EXPR count_${group} "${count_${group}} + 1")
    get_filename_component(name "${folder}" NAME)
    string(SUBSTRING "${group}" 0 6 group_name)
    set_source_files_properties("${source}" PROPERTIES
                                UNITY_GROUP "${name}_${group_name}_${part}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
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
