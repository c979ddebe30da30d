# -DCMAKE_TOOLCHAIN_FILE=.../ptx2spv_cuda_toolchain.cmake: a project's CUDA programs are compiled
# and linked as under `ptxexec build`, without it before each command.
include_guard(GLOBAL)
find_program(PTX2SPV_PTXEXEC ptxexec REQUIRED
             HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin"
                   "${CMAKE_CURRENT_LIST_DIR}/../../../../bin")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PTX2SPV_PTXEXEC)
# ptxexec takes the variable to mean that it has said what it changes.
set(CMAKE_CUDA_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env PTX2SPV_BUILD=1 "${PTX2SPV_PTXEXEC}" build)
list(JOIN CMAKE_CUDA_COMPILER_LAUNCHER "\" \"" ptx2spv_launcher)
set_property(GLOBAL PROPERTY RULE_LAUNCH_LINK "\"${ptx2spv_launcher}\"")
# What runs while the project is configured, as CMake's search for GPUs does, or in custom commands,
# as other projects' builds do, is part of the build and sees ptx2spv's devices.
execute_process(COMMAND ${CMAKE_CUDA_COMPILER_LAUNCHER} "${CMAKE_COMMAND}" -E environment
                OUTPUT_VARIABLE ptx2spv_variables COMMAND_ERROR_IS_FATAL ANY)
set(ptx2spv_export "export")
foreach(variable LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PTX2SPV_BUILD CCACHE_NAMESPACE)
  if("\n${ptx2spv_variables}" MATCHES "\n${variable}=([^\n]*)")
    set(ENV{${variable}} "${CMAKE_MATCH_1}")
    string(APPEND ptx2spv_export " ${variable}=\"${CMAKE_MATCH_1}\"")
  endif()
endforeach()
# No program in front of a custom command, which may be `cd`.
set_property(GLOBAL PROPERTY RULE_LAUNCH_CUSTOM "${ptx2spv_export} &&")
get_property(ptx2spv_within_check GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT ptx2spv_within_check)
  message(STATUS "ptx2spv: CUDA code becomes PTX as well and takes the shared runtime")
endif()
