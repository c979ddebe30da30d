// Which files a run reads and which it writes, so that none is both.
#pragma once

#include <map>
#include <string>

namespace ptx2spv::tools {

/// What tells one file from another, by whatever name or link it is reached: device and inode. Of
/// one that is not there yet, those of its folder and its name. Empty for "-", and for pipes and
/// devices, which are written in place.
std::string file_identity(const std::string& path);

/// The files of a run. Reading is told before writing; both take time logarithmic in their number.
class FileUses {
 public:
  /// `path` is read. `what` names the place that says so: "the module" makes "is the module".
  void read(const std::string& path, const std::string& what);
  /// `path` will be written. Empty, or why it must not be: it is read, or written already.
  std::string write(const std::string& path, const std::string& what);

 private:
  std::map<std::string, std::string> read_, written_;  // by identity
};

}  // namespace ptx2spv::tools
