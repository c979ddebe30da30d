#include "tests/programs/replay.hpp"

#include <fmt/format.h>

#include <cstring>
#include <sstream>

#include "tests/support/runtime.hpp"

namespace ptx2spv::tests {
namespace {

Result<Surface> surface_of(const Device& device, const programs::SurfaceChoice& s,
                           ArrayBacking backing, const std::vector<std::uint8_t>& bytes) {
  ArrayDesc desc;
  desc.geometry = *parse_geometry(s.geometry);
  desc.format = static_cast<abi::SurfaceFormat>(s.format);
  desc.channels = s.channels;
  desc.width = s.width;
  desc.height = s.height;
  if (s.layered())
    desc.layers = s.depth;
  else
    desc.depth = s.depth;
  desc.backing = backing;
  auto array = Array::create(device, desc);
  if (!array) return array.error();
  if (const auto done = array->upload(bytes_of(bytes)); !done) return done.error();
  return Surface::create(*array);
}

Result<Texture> texture_of(const Device& device, const recorder::TextureSetup& s,
                           ArrayBacking backing) {
  TextureDesc desc;
  for (unsigned k = 0; k < 3; ++k) desc.address[k] = static_cast<AddressMode>(s.address[k]);
  desc.linear_filter = s.linear;
  desc.normalized_coordinates = s.normalized;
  desc.read_as_integer = s.element;
  std::copy(s.border, s.border + 4, desc.border.begin());
  desc.linear_mipmap_filter = s.mip_linear;
  desc.mipmap_bias = s.bias, desc.min_level = s.min_level, desc.max_level = s.max_level;
  desc.srgb = s.srgb;
  desc.cube = s.cube();
  desc.seamless_cube = s.cube() && s.seamless;
  desc.full_trilinear = s.full_trilinear;
  desc.mipmapped = s.levels == 1;
  const auto format = static_cast<abi::SurfaceFormat>(s.format);
  if (s.resource != "array") {
    TextureMemory memory;
    memory.format = format;
    memory.channels = s.channels;
    memory.width = s.width;
    const auto bytes = recorder::texture_bytes(s, 0);
    const std::size_t row = bytes.size() / s.height;
    if (s.resource == "pitched") {
      memory.height = s.height;
      memory.pitch = (row + 31) / 16 * 16;
    }
    auto buffer = Buffer::create(device, std::max<std::size_t>(memory.pitch, row) * s.height);
    if (!buffer) return buffer.error();
    for (unsigned y = 0; y < s.height; ++y) {
      const auto part = bytes_of(bytes).subspan(y * row, row);
      if (const auto done = buffer->upload(y * memory.pitch, part); !done) return done.error();
    }
    return Texture::create(*buffer, memory, desc);
  }
  ArrayDesc memory;
  memory.backing = backing;
  memory.geometry = s.cube() ? Geometry::a2d : *parse_geometry(s.geometry);
  memory.format = format;
  memory.channels = s.channels;
  memory.width = s.level_width(0);
  memory.height = s.level_height(0);
  memory.depth = s.geometry == "3d" ? s.depth : 1;
  memory.layers = s.geometry == "3d" ? 1 : s.level_depth(0);
  memory.levels = std::max(s.levels, 1u);
  auto array = Array::create(device, memory);
  if (!array) return array.error();
  for (unsigned level = 0; level < memory.levels; ++level) {
    const auto bytes = recorder::texture_bytes(s, level);
    if (const auto done = array->upload(bytes_of(bytes), level); !done) return done.error();
  }
  return Texture::create(*array, desc);
}

}  // namespace

std::string Variant::text() const {
  const char* model = !threads                           ? "any"
                      : *threads == ThreadModel::direct  ? "direct"
                      : *threads == ThreadModel::regions ? "regions"
                                                         : "flat";
  return fmt::format("profile {}, thread model {}, {} backing{}",
                     profile.empty() ? "of the device" : profile, model,
                     backing == ArrayBacking::automatic ? "own"
                     : backing == ArrayBacking::image   ? "image"
                                                        : "linear",
                     bind_slots ? "" : ", by address");
}

Variant variant_of(std::uint64_t number) {
  static constexpr const char* kProfiles[] = {"",         "", "portable",   "",
                                              "no-int64", "", "no-8-16-bit"};
  Variant variant;
  variant.profile = kProfiles[number % std::size(kProfiles)];
  if (number % 4 == 1) variant.threads = ThreadModel::regions;
  variant.backing = number % 3 == 0   ? ArrayBacking::automatic
                    : number % 3 == 1 ? ArrayBacking::linear
                                      : ArrayBacking::image;
  variant.bind_slots = number % 5 != 2;
  return variant;
}

const Device* Replay::device(const std::string& profile, std::string& problem) {
  auto& device = devices_[profile];
  if (!device) {
    DeviceOptions options;
    options.select = select_;
    options.profile = profile;
    options.cache = false;
    auto opened = Device::open(options);
    if (!opened) {
      problem = text_of(opened.error());
      return nullptr;
    }
    device = std::move(*opened);
  }
  return &*device;
}

Outcome Replay::run(const programs::Program& program, const Variant& variant) {
  Outcome outcome;
  const Device* device = this->device(variant.profile, outcome.error);
  if (!device) return outcome;
  const auto failed = [&](const Error& error) {
    outcome.error = text_of(error);
    return outcome;
  };
  auto module = Module::load(*device, program.text, fmt::format("{}.ptx", program.number));
  if (!module) return failed(module.error());
  auto kernel = module->kernel("k");
  if (!kernel) return failed(kernel.error());
  auto in = Buffer::create(*device, program.input.size() * 4),
       out = Buffer::create(*device, program.output.size() * 4);
  if (!in) return failed(in.error());
  if (!out) return failed(out.error());
  if (auto done = in->upload(0, bytes_of(program.input)); !done) return failed(done.error());
  if (auto done = out->upload(0, bytes_of(program.output)); !done) return failed(done.error());
  Args args;
  args.buffer(*in).buffer(*out);
  const programs::Resources& resources = program.resources;
  std::optional<Surface> loads, stores;
  if (resources.use_surfaces) {
    auto a = surface_of(*device, resources.loads, variant.backing, program.loaded);
    if (!a) return failed(a.error());
    auto b = surface_of(*device, resources.stores, variant.backing, program.surface);
    if (!b) return failed(b.error());
    loads = *a, stores = *b;
    args.surface(*loads).surface(*stores);
  } else {
    args.value(std::uint64_t{0}).value(std::uint64_t{0});
  }
  std::vector<Texture> textures;
  for (const auto& setup : resources.texture) {
    if (!resources.use_textures) {
      args.value(std::uint64_t{0});
      continue;
    }
    auto texture = texture_of(*device, setup, variant.backing);
    if (!texture) return failed(texture.error());
    textures.push_back(*texture);
    args.texture(*texture);
  }
  args.bytes(bytes_of(program.structure)).value(program.count);
  LaunchConfig config;
  config.grid.x = program.shape.blocks;
  config.block = {program.shape.block[0], program.shape.block[1], program.shape.block[2]};
  config.threads = variant.threads;
  config.bind_slots = variant.bind_slots;
  if (auto done = kernel->launch(config, args); !done) return failed(done.error());
  outcome.output.resize(program.output.size());
  if (auto done = out->download(0, std::as_writable_bytes(std::span(outcome.output))); !done)
    return failed(done.error());
  outcome.surface = program.surface;
  if (stores) {
    if (auto done = stores->array().download(std::as_writable_bytes(std::span(outcome.surface)));
        !done)
      return failed(done.error());
  }
  return outcome;
}

std::string differences(const programs::Program& program, const Outcome& actual,
                        const std::vector<std::uint32_t>& output,
                        const std::vector<std::uint8_t>& surface) {
  std::string text;
  const std::size_t stride = program.cell_bytes / 4, total = program.shape.total();
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> cells;  // count, first thread
  unsigned others = 0;
  for (std::size_t k = 0; k < output.size() && k < actual.output.size(); ++k) {
    if (actual.output[k] == output[k]) continue;
    if (k < stride * total) {
      auto& [count, thread] = cells[k % stride];
      if (count++ == 0) thread = k / stride;
    } else if (++others <= 4) {
      text += fmt::format("  memory word {}: {:08x}, recorded {:08x}\n", k - stride * total,
                          actual.output[k], output[k]);
    }
  }
  for (const auto& [cell, where] : cells) {
    const std::size_t k = where.second * stride + cell;
    text += fmt::format("  {} threads, byte {}, thread {}: {:08x}, recorded {:08x}\n", where.first,
                        cell * 4, where.second, actual.output[k], output[k]);
    // The store of the cell, and what is before it.
    std::istringstream lines(program.text);
    std::string before[4];
    for (std::string line; std::getline(lines, line);) {
      const bool here = line.find(fmt::format("[%out+{}]", cell * 4)) != std::string::npos ||
                        (line.find(fmt::format("[%out+{}]", cell * 4 - 4)) != std::string::npos &&
                         line.find(".b64") != std::string::npos);
      if (here && line.find("st.global") != std::string::npos)
        for (const std::string& each : before) text += "      " + each + "\n";
      for (int i = 0; i < 3; ++i) before[i] = before[i + 1];
      before[3] = line;
    }
  }
  unsigned count = 0;
  for (std::size_t k = 0; k < surface.size() && k < actual.surface.size(); ++k)
    if (actual.surface[k] != surface[k] && ++count <= 6)
      text += fmt::format("  surface byte {}: {:02x}, recorded {:02x}\n", k, actual.surface[k],
                          surface[k]);
  return text;
}

}  // namespace ptx2spv::tests
