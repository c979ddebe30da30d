#include "tools/ptxexec/static_runtime.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "tools/common/files.hpp"

namespace ptx2spv::tools {
namespace {

/// Whether an ELF file's bytes are those of a program with that library in it. A stripped program
/// has no symbols of it, but its strings: an error's name, and the driver that it opens. The shared
/// library, NVIDIA's or ours, would be among the names of needed ones.
bool shows_static_runtime(std::string_view bytes) {
  const auto has = [&](std::string_view text) {
    return memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
  };
  using namespace std::string_view_literals;
  return bytes.starts_with("\177ELF"sv) && has("\0cudaErrorCudartUnloading\0"sv) &&
         has("\0libcuda.so.1\0"sv) && !has("\0libcudart.so."sv) && !has("\0libptx2spv-cuda."sv);
}

bool file_shows_it(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat state {};
  bool shows = false;
  if (file >= 0 && fstat(file, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 0) {
    const auto size = static_cast<std::size_t>(state.st_size);
    if (void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0); bytes != MAP_FAILED) {
      shows = shows_static_runtime({static_cast<const char*>(bytes), size});
      munmap(bytes, size);
    }
  }
  if (file >= 0) close(file);
  return shows;
}

}  // namespace

bool has_static_runtime(const std::string& name) {
  for (const std::string& file : files_of_program(name))
    if (access(file.c_str(), X_OK) == 0) return file_shows_it(file);
  return false;
}

}  // namespace ptx2spv::tools
