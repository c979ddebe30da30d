#include "tools/common/file_uses.hpp"

#include <sys/stat.h>

#include <fmt/format.h>

#include "tools/common/files.hpp"

namespace ptx2spv::tools {
namespace {

std::string numbers(const struct stat& info) {
  return fmt::format("{}:{}", info.st_dev, info.st_ino);
}

}  // namespace

std::string file_identity(const std::string& path) {
  if (path == "-" || path.empty()) return {};
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return S_ISREG(info.st_mode) ? numbers(info) : "";
  if (::stat(folder_of(path).c_str(), &info) != 0) return {};  // which cannot be written
  return numbers(info) + "/" + file_name_of(path);
}

void FileUses::read(const std::string& path, const std::string& what) {
  if (std::string id = file_identity(path); !id.empty()) read_.emplace(std::move(id), what);
}

std::string FileUses::write(const std::string& path, const std::string& what) {
  std::string id = file_identity(path);
  if (id.empty()) return {};
  if (const auto input = read_.find(id); input != read_.end())
    return path + " is " + input->second + ", which is read";
  const auto [other, fresh] = written_.emplace(std::move(id), what);
  return fresh ? "" : path + " is " + other->second + ", which is written too";
}

}  // namespace ptx2spv::tools
