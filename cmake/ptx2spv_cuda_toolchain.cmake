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
get_property(ptx2spv_within_check GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT ptx2spv_within_check)
  message(STATUS "ptx2spv: CUDA code becomes PTX as well and takes the shared runtime")
endif()
