// PTX out of files: of text as it is, of CUDA programs out of the fat binaries inside.
#pragma once

#include <string>
#include <vector>

#include "tools/ptx2spv/settings.hpp"

namespace ptx2spv::tools {

struct PtxSource {
  std::string name;  ///< for messages: the file, or program[3] for row 3 of --list
  std::string text;
};

/// What becomes one module.
struct PtxUnit {
  std::size_t row = 0;             ///< of --list; 0 where the file is text
  std::vector<PtxSource> sources;  ///< linked
  std::vector<PtxSource> older;    ///< of a program's module: to be tried next, newest first
};

/// The units of one file: text is one unit of one source. Nothing and an error text when it cannot
/// be read or holds no PTX for the settings' capability; `exit` is then what the tool ends with.
/// What linked programs hold without PTX is told in `notes`.
bool read_units(const Settings& settings, const std::string& file, std::vector<PtxUnit>& units,
                std::vector<std::string>& notes, std::string& error, int& exit);

/// read_units() with notes and error on standard error; the exit code, 0 for success.
int read_or_tell(const Settings& settings, const std::string& file, std::vector<PtxUnit>& units);

/// --list: prints what the files hold to standard output. The exit code.
int list_files(const Settings& settings, const std::vector<std::string>& files);

}  // namespace ptx2spv::tools
