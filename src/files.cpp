#include "src/files.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "src/input_file.hpp"

namespace ptx2spv::runtime {

std::string read_file(const std::string& path, std::uint64_t most, std::string& bytes) {
  InputFile file(path);
  if (!file.error().empty()) return file.error();
  const std::string too_large = fmt::format("it is larger than {} bytes", most);
  if (file.bytes() > most) return too_large;
  bytes.clear();
  std::size_t used = 0;
  while (true) {
    // One byte more than is known shows the end.
    if (used == bytes.size())
      bytes.resize(std::max<std::size_t>({file.bytes() + 1, used * 2, 1 << 16}));
    const std::size_t count = file.read(bytes.data() + used, bytes.size() - used);
    used += count;
    if (used > most) return too_large;
    if (count == 0) break;
  }
  bytes.resize(used);
  return file.error();
}

}  // namespace ptx2spv::runtime
