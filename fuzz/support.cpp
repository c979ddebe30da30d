#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/target.hpp"
#include "src/cache/fnv.hpp"

namespace ptx2spv::fuzz {

void found(std::string_view why) {
  std::fprintf(stderr, "found: %.*s\n", static_cast<int>(why.size()), why.data());
  std::abort();
}

std::vector<std::string> files_below(const std::string& folder, std::string_view ending,
                                     std::size_t most) {
  std::vector<std::filesystem::path> paths;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, none))
    if (entry.is_regular_file() && entry.path().string().ends_with(ending) &&
        entry.file_size() <= most)
      paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return out;
}

std::uint64_t hash(Input input) { return fnv(input); }

}  // namespace ptx2spv::fuzz
