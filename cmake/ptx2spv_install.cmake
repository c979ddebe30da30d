# Install rules, the CMake package, pkg-config files and the Debian package.
#
# Two components, each with an export set of its own, so that a translator-only installation
# (PTX2SPV_BUILD_RUNTIME=OFF) is complete: ptx2spv::translator and ptx2spv::runtime.
include(CMakePackageConfigHelpers)

set(PTX2SPV_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/ptx2spv")

# ptx2spv_install_library(component target headers): one library, its headers and its export set.
function(ptx2spv_install_library component target headers)
  install(TARGETS ${target} EXPORT ptx2spv-${component}
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${headers}/ptx2spv" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT ptx2spv-${component} NAMESPACE ptx2spv:: DESTINATION "${PTX2SPV_CMAKE_DIR}")
endfunction()

# Static libraries hand their own dependencies on to whoever links them; shared ones do not.
if(BUILD_SHARED_LIBS)
  set(PTX2SPV_PC_REQUIRES "")
  set(PTX2SPV_PC_LIBS "")
else()
  set(PTX2SPV_PC_REQUIRES "fmt, liblz4, libzstd")
  set(PTX2SPV_PC_LIBS " -pthread -ldl -lstdc++ -lm")
endif()

# The files find their prefix from where they lie, so that an installation can be moved.
file(RELATIVE_PATH PTX2SPV_PC_UP "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")

function(ptx2spv_install_pkgconfig name)
  set(file "${PROJECT_BINARY_DIR}/${name}.pc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${file}" @ONLY)
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

ptx2spv_install_library(translator ptx2spv_translator
                        "${PROJECT_SOURCE_DIR}/translator/include")
ptx2spv_install_pkgconfig(ptx2spv)
if(TARGET ptx2spv_runtime)
  ptx2spv_install_library(runtime ptx2spv_runtime "${PROJECT_SOURCE_DIR}/src/include")
  ptx2spv_install_pkgconfig(ptx2spv-runtime)
endif()

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/ptx2spvConfig.cmake.in" "${PROJECT_BINARY_DIR}/ptx2spvConfig.cmake"
  INSTALL_DESTINATION "${PTX2SPV_CMAKE_DIR}")
# Before 1.0 a new minor version may break its callers.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ptx2spvConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ptx2spvConfig.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/ptx2spv_kernels.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/ptx2spv_cuda_toolchain.cmake"
              "${PROJECT_BINARY_DIR}/ptx2spvConfigVersion.cmake"
        DESTINATION "${PTX2SPV_CMAKE_DIR}")

# The tools write their own manual pages and completions, out of their option tables.
function(ptx2spv_install_tool name)
  set(target tool_${name})
  file(RELATIVE_PATH up "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${up}")
  install(TARGETS ${target} EXPORT ptx2spv-tools RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  set(share "${CMAKE_INSTALL_DATADIR}")
  set(files "")
  foreach(row IN ITEMS "man|${name}.1|${CMAKE_INSTALL_MANDIR}/man1"
                       "bash|${name}|${share}/bash-completion/completions")
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 kind)
    list(GET row 1 file)
    list(GET row 2 folder)
    set(output "${PROJECT_BINARY_DIR}/manual/${kind}/${file}")
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/manual/${kind}")
    add_custom_command(OUTPUT "${output}" COMMAND ${target} --generate ${kind} > "${output}"
                       DEPENDS ${target} VERBATIM)
    list(APPEND files "${output}")
    install(FILES "${output}" DESTINATION "${folder}")
  endforeach()
  add_custom_target(manual_${name} ALL DEPENDS ${files})
endfunction()

# Pages of the documentation that are made of tables, where a source tree has the other pages.
function(ptx2spv_install_page page)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;DEPENDS")
  get_filename_component(folder "${page}" DIRECTORY)
  get_filename_component(name "${page}" NAME_WE)
  set(file "${PROJECT_BINARY_DIR}/${page}")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
  add_custom_command(OUTPUT "${file}" COMMAND ${arg_COMMAND} > "${file}"
                     DEPENDS ${arg_DEPENDS} VERBATIM)
  add_custom_target(page_${name} ALL DEPENDS "${file}")
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}")
endfunction()

foreach(row IN ITEMS "ptx2spv|docs/reference/support" "ptx2spv|docs/reference/capabilities"
                     "ptx2spv|docs/develop/passes" "ptxexec|docs/reference/cuda-functions"
                     "ptxrun|docs/develop/known-devices")
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 tool)
  list(GET row 1 page)
  get_filename_component(kind "${page}" NAME)
  if(TARGET tool_${tool})
    ptx2spv_install_page(${page}.md COMMAND tool_${tool} --generate ${kind} DEPENDS tool_${tool})
  endif()
endforeach()
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(parity "${PROJECT_SOURCE_DIR}/tests/parity")
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/include/ptx2spv/*"
                                      "${PROJECT_SOURCE_DIR}/translator/include/ptx2spv/*")
  ptx2spv_install_page(docs/reference/c-interface.md
    COMMAND "${Python3_EXECUTABLE}" "${parity}/parity.py" page "${PROJECT_SOURCE_DIR}"
    DEPENDS "${parity}/parity.py" "${parity}/counterparts.txt" ${headers})
else()
  message(STATUS "docs/reference/c-interface.md is left out: Python is not installed")
endif()

# The libraries that CUDA programs ask for by name: in a folder that only ptxexec names, since they
# would stand in for NVIDIA's own.
if(TARGET ptx2spv_cuda)
  install(TARGETS ptx2spv_cuda ptx2spv_cudart11 ptx2spv_cudart12 ptx2spv_cudart13 ptx2spv_libcuda
                  ptx2spv_cudart_archive
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/ptx2spv/cuda"
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/ptx2spv/cuda")
  install(TARGETS ptx2spv_smi RUNTIME DESTINATION "${CMAKE_INSTALL_LIBDIR}/ptx2spv/cuda/bin")
  install(TARGETS ptx2spv_semaphore_layer ptx2spv_nvml
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/ptx2spv/cuda")
  install(FILES "${PROJECT_BINARY_DIR}/cuda/VkLayer_ptx2spv_semaphores.json"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/ptx2spv/cuda")
  if(TARGET ptx2spv_cuda_audit)
    install(TARGETS ptx2spv_cuda_audit ptx2spv_cuda_build ptx2spv_nvrtc
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/ptx2spv/cuda")
  endif()
endif()

foreach(tool IN ITEMS ptx2spv ptxrun ptxexec)
  if(TARGET tool_${tool})
    ptx2spv_install_tool(${tool})
  endif()
endforeach()
if(TARGET tool_ptx2spv-probe)
  file(RELATIVE_PATH up "${CMAKE_INSTALL_FULL_LIBEXECDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(tool_ptx2spv-probe PROPERTIES INSTALL_RPATH "$ORIGIN/${up}")
  install(TARGETS tool_ptx2spv-probe RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}")
endif()
if(TARGET tool_ptx2spv)
  install(EXPORT ptx2spv-tools NAMESPACE ptx2spv:: DESTINATION "${PTX2SPV_CMAKE_DIR}")
endif()
# A script, which an installation tells its version.
set(fetch "${PROJECT_SOURCE_DIR}/tools/fetch_swiftshader")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${fetch}")
file(READ "${fetch}" text)
string(REPLACE "version=source" "version=${PROJECT_VERSION}" text "${text}")
set(fetch "${PROJECT_BINARY_DIR}/manual/ptx2spv-fetch-swiftshader")
file(WRITE "${fetch}" "${text}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/ptx2spv-fetch-swiftshader.1.in" "${fetch}.1" @ONLY)
install(PROGRAMS "${fetch}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES "${fetch}.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${PROJECT_SOURCE_DIR}/tools/ptxrun/manifest.schema.json"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/ptx2spv")
# Where Debian's python3 finds packages of other Debian packages; PTX2SPV_PYTHON_DIR says otherwise.
if(TARGET ptx2spv_python)
  set(PTX2SPV_PYTHON_DIR "lib/python3/dist-packages" CACHE STRING
      "where the Python package is installed, below the prefix")
  install(TARGETS ptx2spv_python LIBRARY DESTINATION "${PTX2SPV_PYTHON_DIR}/ptx2spv")
  install(DIRECTORY "${PROJECT_BINARY_DIR}/python/ptx2spv" DESTINATION "${PTX2SPV_PYTHON_DIR}"
          FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN __pycache__ EXCLUDE)
endif()
# HACKING.md too, since the others link to it.
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
              "${PROJECT_SOURCE_DIR}/HACKING.md" "${PROJECT_SOURCE_DIR}/LICENSE"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/examples"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" PATTERN make_ptx EXCLUDE)

# cpack -G DEB in the build folder.
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME ptx2spv)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
    "Translates NVIDIA PTX kernels that use surfaces into Vulkan compute shaders,
and runs them on any Vulkan device, or on the CPU where there is none.")
# As Debian's own tools take them.
set(CPACK_PACKAGE_CONTACT "the ptx2spv developers <ptx2spv@localhost>")
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/debian_package.cmake")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libvulkan1, mesa-vulkan-drivers")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "vulkan-validationlayers")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libfmt-dev, liblz4-dev, libzstd-dev, python3")
# Without dpkg-dev and file the package names what Debian 12's libraries are known to be.
find_program(PTX2SPV_SHLIBDEPS dpkg-shlibdeps)
find_program(PTX2SPV_FILE file)
mark_as_advanced(PTX2SPV_SHLIBDEPS PTX2SPV_FILE)
if(PTX2SPV_SHLIBDEPS AND PTX2SPV_FILE)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS
         ", libc6, libstdc++6, libfmt9, zlib1g, liblz4-1, libzstd1, libpng16-16")
endif()
include(CPack)
