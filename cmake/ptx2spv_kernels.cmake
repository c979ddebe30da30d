# Kernels at build time, and manifests as tests. find_package(ptx2spv) and add_subdirectory include
# this; docs/user/cmake.md shows both.

# ptx2spv_add_kernels(TARGET
#   SOURCES file...            PTX, or CUDA C++ that nvcc compiles to PTX first
#   [EMIT kind]                c-header (when not given), cpp-header, spirv, asm or json
#   [OPTIONS option...]        for ptx2spv: --profile, --fp, --entry ...
#   [ARCHITECTURE name]        for nvcc: compute_75 when not given
#   [NVCC_OPTIONS option...])  for nvcc: -I, -D ...
#
# One output for each source, NAME.h, .hpp, .spv, .spvasm or .json, made again when its source or
# ptx2spv changes. TARGET is an interface library: what links it has the outputs' folder among its
# include directories, and waits for them. Its property PTX2SPV_OUTPUTS lists them.
function(ptx2spv_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EMIT;ARCHITECTURE" "SOURCES;OPTIONS;NVCC_OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "ptx2spv_add_kernels(${target}): it takes SOURCES, and EMIT, OPTIONS, "
                        "ARCHITECTURE, NVCC_OPTIONS; not '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT TARGET ptx2spv::ptx2spv)
    message(FATAL_ERROR "ptx2spv_add_kernels(${target}): there is no tool ptx2spv: this is built "
                        "or installed without PTX2SPV_BUILD_TOOLS")
  endif()
  set(kinds c-header cpp-header spirv asm json)
  set(endings h hpp spv spvasm json)
  if(NOT arg_EMIT)
    set(arg_EMIT c-header)
  endif()
  list(FIND kinds "${arg_EMIT}" kind)
  if(kind LESS 0)
    list(JOIN kinds ", " known)
    message(FATAL_ERROR "ptx2spv_add_kernels(${target}): EMIT is ${known}; not '${arg_EMIT}'")
  endif()
  list(GET endings ${kind} ending)
  if(NOT arg_ARCHITECTURE)
    set(arg_ARCHITECTURE compute_75)
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.kernels")
  file(MAKE_DIRECTORY "${folder}")
  set(outputs "")
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(GET source FILENAME name)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    string(REGEX REPLACE "\\.(ptx|cu|gz)" "" stem "${name}")
    if(extension STREQUAL ".cu")
      find_program(PTX2SPV_NVCC nvcc HINTS ENV CUDA_PATH PATH_SUFFIXES bin)
      if(NOT PTX2SPV_NVCC)
        message(FATAL_ERROR "ptx2spv_add_kernels(${target}): ${name} is CUDA C++, and nvcc is not "
                            "found; PTX2SPV_NVCC names it, and PTX can be committed instead")
      endif()
      set(ptx "${folder}/${stem}.ptx")
      add_custom_command(
        OUTPUT "${ptx}"
        COMMAND "${PTX2SPV_NVCC}" -ptx -lineinfo "-arch=${arg_ARCHITECTURE}" ${arg_NVCC_OPTIONS}
                -MD -MF "${ptx}.d" -o "${ptx}" "${source}"
        DEPENDS "${source}" DEPFILE "${ptx}.d"
        COMMENT "Compiling ${name} to PTX" VERBATIM)
      set(source "${ptx}")
    endif()
    set(output "${folder}/${stem}.${ending}")
    if(output IN_LIST outputs)
      message(FATAL_ERROR "ptx2spv_add_kernels(${target}): two sources are called ${stem}")
    endif()
    add_custom_command(
      OUTPUT "${output}"
      COMMAND ptx2spv::ptx2spv --emit ${arg_EMIT} ${arg_OPTIONS} -o "${output}" "${source}"
      DEPENDS "${source}" ptx2spv::ptx2spv
      COMMENT "Translating ${stem}" VERBATIM)
    list(APPEND outputs "${output}")
  endforeach()
  add_custom_target(${target}_kernels DEPENDS ${outputs})
  add_library(${target} INTERFACE)
  target_include_directories(${target} INTERFACE "${folder}")
  add_dependencies(${target} ${target}_kernels)
  set_target_properties(${target} PROPERTIES PTX2SPV_OUTPUTS "${outputs}")
endfunction()

# ptx2spv_add_manifest_test(NAME manifest.json
#   [DEVICE name]         as PTX2SPV_DEVICE; the machine's choice when not given
#   [OPTIONS option...])  for ptxrun
#
# A test of CTest that passes when ptxrun says that every output of the manifest matches. What the
# manifest writes lands below the build folder.
function(ptx2spv_add_manifest_test name manifest)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "DEVICE" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ptx2spv_add_manifest_test(${name}): it takes DEVICE and OPTIONS; not "
                        "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  cmake_path(ABSOLUTE_PATH manifest BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  add_test(NAME ${name} COMMAND ptx2spv::ptxrun ${arg_OPTIONS}
           --output-folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.outputs" "${manifest}")
  if(arg_DEVICE)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "PTX2SPV_DEVICE=${arg_DEVICE}")
  endif()
endfunction()
