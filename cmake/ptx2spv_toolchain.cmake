# Settings that hold for every target here. A project that takes this one in by add_subdirectory or
# FetchContent keeps its own build type, cache and output folders.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
  endif()
  find_program(PTX2SPV_CCACHE ccache)
  mark_as_advanced(PTX2SPV_CCACHE)
  if(PTX2SPV_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER "${PTX2SPV_CCACHE}")
    # What ccache asks for where headers are precompiled; with fewer it compiles every time.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        env CCACHE_SLOPPINESS=pch_defines,time_macros "${PTX2SPV_CCACHE}")
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

# -Wconversion and -Wsign-conversion stay off: a translator of bit patterns narrows on purpose on
# every second line. -Wmissing-field-initializers calls designated initialisers incomplete.
set(PTX2SPV_COMPILE_OPTIONS
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wimplicit-fallthrough -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # ccache needs the first to keep what was compiled with precompiled headers. GCC 12 to 14 give the
  # others inside std::string, with no fault there: such warnings of headers are silent, but not of
  # precompiled ones.
  list(APPEND PTX2SPV_COMPILE_OPTIONS
       -fpch-preprocess -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
       -Wno-stringop-overread)
endif()
option(PTX2SPV_UNITY "the files of a folder are compiled together" ON)
option(PTX2SPV_WERROR "warnings are errors" ${PROJECT_IS_TOP_LEVEL})
if(PTX2SPV_WERROR)
  list(APPEND PTX2SPV_COMPILE_OPTIONS -Werror)
endif()

# The tests spend their time in the libraries and in drivers: half the compile time is worth more.
set(PTX2SPV_TEST_OPTIONS "")
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" OR CMAKE_BUILD_TYPE STREQUAL "Release")
  set(PTX2SPV_TEST_OPTIONS -O1)
endif()

set(PTX2SPV_LINK_OPTIONS "")
if(PTX2SPV_SANITIZE)
  set(flags "-fsanitize=${PTX2SPV_SANITIZE}" -fno-omit-frame-pointer)
  if(PTX2SPV_SANITIZE MATCHES "undefined")
    list(APPEND flags -fno-sanitize-recover=undefined)
  endif()
  # Under its sanitizers GCC doubts members of std::function.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags -Wno-maybe-uninitialized)
    # It warns that it does not follow fences, which the interpreter makes for kernels.
    if(PTX2SPV_SANITIZE MATCHES "thread")
      list(APPEND flags -Wno-tsan)
    endif()
  endif()
  # Tests ask for the names that GCC defines; clang has none.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    foreach(sanitizer address thread)
      string(TOUPPER "${sanitizer}" upper)
      if(PTX2SPV_SANITIZE MATCHES "${sanitizer}")
        list(APPEND flags "-D__SANITIZE_${upper}__")
      endif()
    endforeach()
  endif()
  list(APPEND PTX2SPV_COMPILE_OPTIONS ${flags})
  list(APPEND PTX2SPV_LINK_OPTIONS ${flags})
endif()
