// translate FILE.ptx: prints the entries and the size of their SPIR-V.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <ptx2spv/translator.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});

  std::vector<ptx2spv::Message> messages;
  const auto module = ptx2spv::PtxModule::parse({{text, argv[1]}}, messages);
  ptx2spv::TranslateOptions options;
  if (const auto profile = ptx2spv::find_profile("swiftshader")) options.profile = *profile;
  const auto translation =
      module ? module->translate(options, messages) : std::optional<ptx2spv::Translation>();
  for (const auto& message : messages) std::fputs(message.rendered.c_str(), stderr);
  if (!translation) return 1;
  for (const auto& entry : translation->interface.entries) std::puts(entry.name.c_str());
  std::printf("%zu words\n", translation->spirv.size());
  return 0;
}
