#include "tests/support/translations.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ptx2spv::test {

namespace {

std::optional<PtxModule> parse(const std::string& file, std::vector<Message>& messages) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return PtxModule::parse({{text, file}}, messages);
}

}  // namespace

std::vector<KernelFile> kernels_below(const std::string& root,
                                      std::initializer_list<const char*> folders) {
  std::vector<KernelFile> all;
  for (const char* folder : folders)
    for (const auto& each : std::filesystem::recursive_directory_iterator(root + "/" + folder)) {
      if (each.path().extension() != ".ptx") continue;
      std::vector<Message> messages;
      const auto module = parse(each.path(), messages);
      if (!module) continue;
      for (const EntryInfo& entry : module->interface().entries)
        all.push_back({each.path(), entry.name, entry.uses_textures});
    }
  std::sort(all.begin(), all.end(), [](const KernelFile& a, const KernelFile& b) {
    return std::pair(a.file, a.name) < std::pair(b.file, b.name);
  });
  return all;
}

std::vector<std::uint32_t> translate_launch(const std::string& file, const std::string& entry,
                                            const Profile& profile, FpPolicy fp, EntryInfo* info,
                                            std::span<const std::uint32_t> block,
                                            std::string* refusal, const TextureSpec* texture) {
  std::vector<Message> messages;
  const auto module = parse(file, messages);
  if (!module) return {};
  TranslateOptions options;
  options.profile = profile;
  options.entry = entry;
  options.fp = fp;
  options.push_words = 64;
  if (!block.empty()) std::ranges::copy(block, options.block);
  const Interface& interface = module->interface();
  for (const EntryInfo& each : interface.entries)
    if (each.name == entry) {
      options.threads = thread_model(each, ThreadModel::direct);
      options.assume_live_handles = options.assume_small_grid = true;
      options.wide_surfaces = false;
      if (!texture) continue;
      options.textures.assign(each.textures.slots.size(), *texture);
      options.texture_features = texture->one_level ? 0u : std::uint32_t{abi::feature_levels};
    }
  const auto made = module->translate(options, messages);
  if (!made) {
    if (refusal && !messages.empty()) *refusal = messages.front().text;
    return {};
  }
  if (info)
    for (const EntryInfo& each : made->interface.entries)
      if (each.name == entry) *info = each;
  return made->spirv;
}

}  // namespace ptx2spv::test
