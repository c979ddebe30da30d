// The manifest's sections into specs: manifest.cpp, and manifest_textures.cpp for textures.
#pragma once

#include <climits>

#include <fmt/format.h>

#include "tools/ptxrun/manifest.hpp"
#include "tools/ptxrun/reader.hpp"

namespace ptx2spv::tools {

inline constexpr std::uint64_t kMostBytes = std::uint64_t(1) << 38;

template <class Spec>
std::optional<std::uint32_t> index_of(const std::vector<Spec>& list, const std::string& name) {
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k].name == name) return std::uint32_t(k);
  return std::nullopt;
}

class Parser {
 public:
  Parser(const std::string& file, const std::string& output_folder, Manifest& manifest)
      : output_folder_(output_folder.empty() ? folder_of(file) : output_folder), out_(manifest) {
    out_.file = file;
    out_.folder = folder_of(file);
  }

  void run(const Reader& root);

 private:
  /// The path of a file as the working directory sees it, entered among the manifest's files.
  std::string input_path(const Reader& reader, const std::string& path) {
    return use(reader, path_from(out_.folder, path), false);
  }
  std::string output_path(const Reader& reader, const std::string& path) {
    return use(reader, path_from(output_folder_, path), true);
  }
  std::string use(const Reader& reader, std::string path, bool written) {
    if (path.size() >= PATH_MAX)
      reader.error(fmt::format("has {} bytes, more than a path may have", path.size()));
    out_.files.push_back({path, reader.where(), reader.place(), written});
    return path;
  }

  void modules(const Reader& reader);
  void surface(const std::string& name, const Reader& reader);
  void buffer(const std::string& name, const Reader& reader);
  void texture(const std::string& name, const Reader& reader);
  void sampler(const std::string& name, const Reader& reader);
  int choice(const Reader& field, std::initializer_list<const char*> names);
  void sampling(const Reader& reader, TextureDesc& desc);
  void texture_memory(const Reader& reader, const Reader& field, TextureSpec& spec);
  void launch(const Reader& reader);
  void output(const Reader& reader);
  void expectation(const Reader& reader, OutputSpec& spec);
  void init(const Reader& reader, Init& init, bool surface);
  bool arg(const Reader& reader, ArgSpec& arg);
  void dimensions(const Reader& reader, Dim3& dim, std::array<std::uint32_t, 3> limits);
  template <class Spec>
  std::optional<std::uint32_t> named(const std::vector<Spec>& list, const char* what,
                                     const Reader& reader) {
    const auto name = reader.string();
    if (!name) return std::nullopt;
    const auto index = index_of(list, *name);
    if (!index) reader.error(fmt::format("there is no {} \"{}\"", what, *name));
    return index;
  }
  /// Adds to a sum that this machine's memory has to hold.
  static void account(const Reader& reader, std::uint64_t& total, std::uint64_t bytes);

  template <class Visit>
  void each(const Reader& root, const char* section, Visit visit) {
    const auto reader = root.find(section);
    if (!reader || !reader->is_object()) return;
    for (const auto& [name, value] : reader->json().members) {
      const Reader entry = reader->member(name, value);
      if (name.empty() || name.find('\0') != name.npos) {
        entry.error("has no usable name");
      } else if (entry.is_object()) {
        visit(name, entry);
      }
    }
  }

  std::string output_folder_;
  std::vector<std::string> buffer_names_;
  Manifest& out_;
  std::uint64_t total_ = 0, total_outputs_ = 0;
};

}  // namespace ptx2spv::tools
