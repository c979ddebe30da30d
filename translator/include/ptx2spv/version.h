/* The version that a program is compiled with; ptx2spv_version_text() and ptx2spv::version() tell
 * the library's. CMakeLists.txt reads the project's version here. */
#ifndef PTX2SPV_VERSION_H
#define PTX2SPV_VERSION_H

#define PTX2SPV_VERSION_MAJOR 0
#define PTX2SPV_VERSION_MINOR 2
#define PTX2SPV_VERSION_PATCH 0

#endif
