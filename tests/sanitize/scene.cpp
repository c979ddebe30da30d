#include "tests/sanitize/scene.hpp"

#include <regex>
#include <set>

namespace ptx2spv {

std::string kept(const std::string& body, const char* to) {
  static const std::regex loads(
      R"((?:ld|suld|atom|shfl|vote|match|redux|bar\.red|activemask)\.[\w.:]*\s+(\{[^}]*\}|%\w+))");
  static const std::regex registers(R"(%([a-z])\d+)");
  std::set<std::string> seen;
  std::string text = "{ .reg .pred %hit; .reg .b32 %all, %one; mov.u32 %all, 0;\n";
  for (std::sregex_iterator load(body.begin(), body.end(), loads), end; load != end; ++load) {
    const std::string targets = (*load)[1];
    for (std::sregex_iterator each(targets.begin(), targets.end(), registers); each != end;
         ++each) {
      const std::string name = each->str();
      if (!seen.insert(name).second) continue;
      switch ((*each)[1].str()[0]) {
        case 'p': text += "selp.u32 %one, 1, 0, " + name + ";"; break;
        case 'h': text += "cvt.u32.u16 %one, " + name + ";"; break;
        case 'd': text += "cvt.u32.u64 %one, " + name + ";"; break;
        default: text += "mov.u32 %one, " + name + ";"; break;
      }
      text += " xor.b32 %all, %all, %one;\n";
    }
  }
  if (seen.empty()) return "";
  return text + "setp.eq.u32 %hit, %all, 0x5bd1e995;\n@%hit st.global.u32 [" + to + "], %all; }\n";
}

std::uint32_t checks_of(const std::string& check) {
  std::string unknown;
  const auto checks = parse_checks(check, unknown);
  EXPECT_TRUE(checks) << unknown;
  return checks.value_or(no_checks);
}

namespace {

ArrayDesc array_desc(const Scene::Texels& texels) {
  ArrayDesc desc;
  desc.geometry = texels.geometry;
  desc.format = abi::SurfaceFormat::u32;
  desc.width = kTexelWidth;
  desc.height = kTexelHeight;
  if (texels.geometry == Geometry::a2d) desc.layers = kTexelLayers;
  if (texels.geometry == Geometry::d3) desc.depth = kTexelLayers;
  desc.backing = texels.backing;
  return desc;
}

}  // namespace

Staged::Staged(const Device& device, const Scene& scene) : device_(device), scene_(scene) {
  for (const Scene::Texels& texels : scene.arrays) {
    Array& array = arrays_.emplace_back(must(Array::create(device, array_desc(texels))));
    if (texels.written) must(array.upload(std::vector<std::byte>(array.bytes())));
    surfaces_.push_back(must(Surface::create(array)));
    again_.push_back(must(Surface::create(array)));
  }
  for (const Scene::Memory& memory : scene.memory) {
    Buffer& buffer = *memory_.emplace_back(must(Buffer::create(device, memory.bytes)));
    buffer.set_name(memory.name);
    addresses_.push_back(buffer.address());
  }
  textures_.resize(memory_.size());
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Scene::Memory& memory = scene.memory[i];
    Buffer& buffer = *memory_[i];
    if (memory.word)
      must(buffer.upload(0, bytes_of(std::vector<std::uint32_t>(memory.bytes / 4, *memory.word))));
    if (memory.address)
      must(buffer.upload(0, bytes_of(std::vector<std::uint64_t>{addresses_[*memory.address]})));
    if (memory.handle)
      must(buffer.upload(0, bytes_of(std::vector<std::uint64_t>{again_[*memory.handle].handle()})));
    if (memory.texture) {
      TextureMemory view;
      view.width = static_cast<std::uint32_t>(*memory.texture);
      textures_[i] = must(Texture::create(buffer, view, {}));
    }
  }
  for (std::size_t i = 0; i < memory_.size(); ++i)
    if (scene.memory[i].freed) memory_[i].reset();
}

Module Staged::load(const std::string& file) const {
  return must(Module::load(device_, scene_.ptx, file));
}

Result<LaunchTiming> Staged::launch(const Module& module, std::optional<ThreadModel> threads) {
  LaunchConfig config;
  config.grid = {scene_.grid, 1, 1};
  config.block = {scene_.block[0], scene_.block[1], 1};
  config.dynamic_shared = scene_.shared;
  config.threads = threads;
  Args args;
  for (const Scene::Argument& argument : scene_.arguments) {
    const auto index = static_cast<std::size_t>(argument.number);
    std::vector<std::byte> bytes(argument.bytes);
    switch (argument.kind) {
      case Scene::Kind::memory:
        memory_[index] ? args.buffer(*memory_[index]) : args.address(addresses_[index]);
        break;
      case Scene::Kind::surface: args.surface(surfaces_[index]); break;
      case Scene::Kind::texture: args.texture(*textures_[index]); break;
      case Scene::Kind::value:
        std::memcpy(bytes.data(), &argument.number, std::min<std::size_t>(8, bytes.size()));
        args.bytes(bytes);
        break;
    }
  }
  return must(module.kernel(scene_.kernel)).launch(config, args);
}

SanitizerReport Staged::report(const std::string& file) const {
  SanitizerReport report = device_.sanitizer_report();
  std::erase_if(report.findings, [&](const Finding& finding) { return finding.file != file; });
  return report;
}

void run_scenes(const std::vector<Scene>& scenes) {
  for (const Scene& scene : scenes) {
    SCOPED_TRACE(scene.name);
    const Device device = open_checked(checks_of(scene.check));
    Staged staged(device, scene);
    must(staged.launch(staged.load("scene.ptx")));
    const std::vector<Finding> found = device.sanitizer_report().findings;
    EXPECT_EQ(found.size(), scene.faulty ? 1u : 0u);
    compare_with_record(scene, found);
  }
}

std::vector<Scene> all_scenes() {
  std::vector<Scene> all;
  for (const auto part : {planted_scenes, memory_scenes, fetch_scenes, shadow_scenes,
                          global_race_scenes, texel_scenes, sync_scenes})
    for (Scene& scene : part()) all.push_back(std::move(scene));
  return all;
}

}  // namespace ptx2spv
