// The CUDA programs of these tests: how they are compiled, and run under ptxexec.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/process.hpp"

// Libraries in front of a program's own would bring a second runtime of the sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PTX2SPV_NEEDS_PRELOADS GTEST_SKIP() << "a sanitizer's build has no libraries to preload"
#else
#define PTX2SPV_NEEDS_PRELOADS
#endif

// Tests name CPU drivers where they need several devices, or one that is not the test's.
#define PTX2SPV_NEEDS_DEVICE(name) \
  if (!has_device(name)) GTEST_SKIP() << "there is no " << (name)

namespace ptx2spv::test {

/// Whether the machine has a device that this selects.
bool has_device(const std::string& select);
/// Whether the test's device is the processor, which then runs kernels without the driver, too.
bool on_processor();
/// Whether `/usr/bin/env` finds the program and it says its version.
bool has_program(const std::string& name, const std::vector<std::string>& environment = {});

extern const std::string kHere;       ///< this folder, with a slash behind it
extern const std::string kLibraries;  ///< where the libraries for CUDA programs were built

/// Where the programs' executables are kept between runs.
std::string executables();
/// Compiles with `command` and the output's name behind it, unless that is done. Two devices' tests
/// may compile at once: each writes a file of its own and puts it in place.
::testing::AssertionResult compile(const std::string& name, std::vector<std::string> command,
                                   const std::vector<std::string>& sources, std::string& made);
/// nvcc of the toolkit that PTX2SPV_NVCC names, or of an installed one; empty: there is none.
std::string nvcc();
/// "13.0": the toolkit's version; programs of each have a name of their own.
const std::string& toolkit();
int toolkit_major();
/// Under ptxexec, whose options may stand before the program.
ProcessResult execute(const std::vector<std::string>& program,
                      const std::vector<std::string>& environment = {});
::testing::AssertionResult compile_c(const std::string& name, std::string& made);
/// The newest libraries, and nvcc's PTX for the oldest architecture that it has.
::testing::AssertionResult compile_cuda(const std::string& name,
                                        const std::vector<std::string>& files,
                                        const std::vector<std::string>& options, std::string& made);

}  // namespace ptx2spv::test
