// `ptxexec build`: compilers and linkers of a project make programs that ptxexec can run, without
// a change of the project. A preloaded library (src/cuda/build_hook) calls build_step() for them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ptx2spv::tools {

using Words = std::vector<std::string>;

/// What decides besides a command's own words.
struct BuildSettings {
  int capability = 0;  ///< the user's: PTX for it, or for an older one, has to be in programs
  std::string prepend, append;  ///< NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS
};

/// A command to use instead; the variables that were taken into it are to be unset.
struct ChangedCommand {
  Words words;
  Words as_named = {};  ///< if not empty, for when `words` fail: PTX for what the command names
  bool took_variables = false;
};

/// `command` with other options, or nothing where it will do as it is. Response files are read.
/// `libraries`: the folder with libcuda.so.1.
std::optional<ChangedCommand> changed_command(const Words& command, const BuildSettings& settings,
                                              const std::filesystem::path& libraries);

/// Becomes the program `file` with these words, argv[0] first, or with what they are changed to.
int build_step(const std::string& file, Words words, const std::filesystem::path& libraries);

/// Sets the variables by which programs started from here are part of a build.
void enter_build(const std::filesystem::path& libraries);
/// Does what enter_build() does, and says once what is changed. Empty, or why it cannot.
std::string begin_build(const std::filesystem::path& libraries, bool dry_run);

/// Puts `path` before what a variable of the dynamic linker or Vulkan's loader has.
void put_first(const char* variable, std::string path);

}  // namespace ptx2spv::tools
