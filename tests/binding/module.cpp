#include "tests/binding/module.hpp"

#include <algorithm>
#include <cstring>

#include "tests/binding/abi_page.hpp"
#include "tests/support/process.hpp"

namespace binding {
namespace {

using nlohmann::json;
constexpr std::uint32_t kSurfaces = 64;

std::uint32_t record_words() {
  static const std::uint32_t kWords =
      abi_between("An array of records of ", " words. Record 0 is never a surface");
  return kWords;
}
std::uint32_t push_words() {
  static const std::uint32_t kWords = abi_between("## Push constants\n\n", " words");
  return kWords;
}

std::vector<std::uint8_t> unhex(const std::string& text) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  return out;
}

void address(std::uint32_t* words, std::uint64_t value) {
  words[0] = static_cast<std::uint32_t>(value);
  words[1] = static_cast<std::uint32_t>(value >> 32);
}

Trap read_trap(const std::uint32_t* words, const json& sites) {
  Trap out;
  out.count = words[abi("t_count")];
  out.claimed = words[abi("t_claimed")];
  if (!out.claimed) return out;
  out.site = sites[words[abi("t_site")]];
  out.kind = words[abi("t_kind")];
  const auto three = [&](const char* first, auto* to) {
    for (std::uint32_t i = 0; i < 3; ++i)
      to[i] = static_cast<std::remove_reference_t<decltype(*to)>>(words[abi(first) + i]);
  };
  three("t_ctaid_x", out.cta);
  three("t_tid_x", out.thread);
  three("t_coord", out.coordinates);
  const std::uint32_t* handle = words + abi("t_handle_lo");
  out.handle = handle[0] | std::uint64_t{handle[1]} << 32;
  return out;
}

}  // namespace

Module::Module(Host& host, const std::string& ptx, const std::vector<std::string>& options,
               std::string& problem)
    : host_(host), bound_(std::ranges::find(options, "device_addresses") != options.end()) {
  host_.enter();
  stay_ = std::shared_ptr<void>(nullptr, [&host](void*) { host.leave(); });
  const ptx2spv::test::TemporaryFolder folder;
  std::vector<std::string> command = {ptx2spv::test::tool_path("ptx2spv"),
                                      folder.write("module.ptx", ptx),
                                      "-o",
                                      folder.file("module.spv"),
                                      "--reflect",
                                      folder.file("module.json")};
  command.insert(command.end(), options.begin(), options.end());
  const auto result = ptx2spv::test::run_process(command);
  problem = result.error;
  if (result.exit_code != 0) return;
  problem.clear();
  const std::string words = ptx2spv::test::read_whole(folder.file("module.spv"));
  spirv_.resize(words.size() / 4);
  std::memcpy(spirv_.data(), words.data(), spirv_.size() * 4);
  json_ = json::parse(ptx2spv::test::read_whole(folder.file("module.json")));
  if (json_["version"] != 3 || json_["push_constant_words"] != push_words() ||
      json_["surface_record_words"] != record_words()) {
    problem = "the description is of a version that this host does not know";
    return;
  }
  table_ = host.buffer(kSurfaces * record_words() * 4);
  locks_ = host.buffer(abi_between("\\| write \\| ", " words of locks") * 4);
  textures_ = host.buffer(abi_between("An array of 65,536 records of ", " words") * 4);
  discard_ = host.buffer(64);
  lay_out_variables();
}

// Where the profile lacks device addresses the low word is an offset, and the high one the host's
// own.
std::uint64_t Module::address_of(const Buffer& buffer) const {
  return bound_ ? std::uint64_t{7} << 32 | buffer.offset : buffer.address;
}

const json& Module::entry(const std::string& name) const {
  for (const json& each : json_["entries"])
    if (each["name"] == name) return each;
  std::fprintf(stderr, "the description has no entry %s\n", name.c_str());
  std::abort();
}

void Module::lay_out_variables() {
  std::vector<std::uint8_t> images[2] = {unhex(json_["globals_image"]),
                                         unhex(json_["constants_image"])};
  for (const json& each : json_["variables"]) {
    auto& image = images[each["space"] == "const"];
    image.resize(std::max<std::size_t>(
        image.size(), each["offset"].get<std::size_t>() + each["bytes"].get<std::size_t>()));
  }
  for (auto& image : images) image.resize(std::max<std::size_t>(image.size(), 16));
  globals_ = host_.buffer(images[0].size());
  constants_ = host_.buffer(images[1].size());
  for (const json& each : json_["relocations"]) {
    const std::string kind = each["kind"];
    std::uint64_t value = each["addend"];
    if (kind == "global") value += address_of(globals_);
    if (kind == "const") value += address_of(constants_);
    value >>= each["shift"].get<unsigned>();
    auto& image = images[each["image"] == "const"];
    std::memcpy(image.data() + each["at"].get<std::size_t>(), &value,
                each["bytes"].get<std::size_t>());
  }
  std::memcpy(globals_.bytes, images[0].data(), images[0].size());
  std::memcpy(constants_.bytes, images[1].data(), images[1].size());
}

Surface& Module::surface(std::uint32_t width, std::uint32_t height, bool image) {
  Surface& out = *surfaces_.emplace_back(std::make_unique<Surface>());
  out.width = width;
  out.height = height;
  const std::uint32_t pitch = (width * 4 + 15) / 16 * 16;
  out.memory = host_.buffer(std::uint64_t{pitch} * height + 64);
  if (image)
    out.image = host_.image(VK_IMAGE_VIEW_TYPE_2D, VK_FORMAT_R32_UINT, {width, height, 1}, 1);
  std::vector<std::uint32_t>& record = out.record;
  record.resize(record_words());
  address(&record[abi("s_base_lo")], address_of(out.memory));
  record[abi("s_row_bytes")] = width * 4;
  record[abi("s_rows")] = height;
  record[abi("s_slices")] = 1;
  record[abi("s_row_pitch")] = pitch;
  record[abi("s_slice_pitch_lo")] = pitch * height;
  record[abi("s_texel_bytes")] = 4;
  record[abi("s_format")] = 2;  // u32
  record[abi("s_generation")] = generation_;
  record[abi("s_width")] = width;
  record[abi("s_height")] = height;
  record[abi("s_channel_data_type")] = 0x10dc;  // unsigned 32-bit
  record[abi("s_channel_order")] = 0x10b0;      // r
  record[abi("s_channels")] = 1;
  record[abi("s_flags")] = image ? 1 : 0;
  record[abi("s_row_bytes_2d")] = width * 4;
  record[abi("s_layer_pitch_lo")] = pitch * height;
  out.handle = std::uint64_t{generation_} << 32 | records_;
  generation_ += 1000;
  std::memcpy(table_.words() + std::size_t{records_} * record_words(), record.data(),
              record_words() * 4);
  ++records_;
  return out;
}

void Module::destroy(Surface& surface) {
  std::memset(table_.words() + (surface.handle & 0xffffffff) * record_words(), 0,
              record_words() * 4);
  surface.handle = 0;
}

void Module::put(Surface& surface, const std::vector<std::uint32_t>& texels) {
  if (surface.image) {
    const Buffer staging = host_.buffer(texels.size() * 4);
    std::memcpy(staging.bytes, texels.data(), texels.size() * 4);
    return host_.copy(*surface.image, staging, true);
  }
  for (std::uint32_t y = 0; y < surface.height; ++y)
    std::memcpy(surface.memory.bytes + std::size_t{y} * surface.record[abi("s_row_pitch")],
                texels.data() + std::size_t{y} * surface.width, std::size_t{surface.width} * 4);
}

std::vector<std::uint32_t> Module::texels(const Surface& surface) {
  std::vector<std::uint32_t> out(std::size_t{surface.width} * surface.height);
  if (surface.image) {
    const Buffer staging = host_.buffer(out.size() * 4);
    host_.copy(*surface.image, staging, false);
    std::memcpy(out.data(), staging.bytes, out.size() * 4);
    return out;
  }
  for (std::uint32_t y = 0; y < surface.height; ++y)
    std::memcpy(out.data() + std::size_t{y} * surface.width,
                surface.memory.bytes + std::size_t{y} * surface.record[abi("s_row_pitch")],
                std::size_t{surface.width} * 4);
  return out;
}

std::uint32_t& Module::variable(const std::string& name, std::uint32_t word) {
  for (const json& each : json_["variables"])
    if (each["name"] == name && each["space"] == "global")
      return globals_.words()[each["offset"].get<std::uint32_t>() / 4 + word];
  std::fprintf(stderr, "the description has no variable %s\n", name.c_str());
  std::abort();
}

const Surface* Module::find(std::uint64_t handle) const {
  for (const auto& each : surfaces_)
    if (each->handle == handle && handle) return each.get();
  return nullptr;
}

Trap Module::run(const std::string& name, const Launch& launch) {
  const json& entry = this->entry(name);
  const Buffer params =
      host_.buffer(std::max<std::uint32_t>(entry["param_buffer_bytes"].get<std::uint32_t>(), 16));
  for (const json& param : entry["params"]) {
    const std::uint64_t value = launch.arguments.at(param["name"]);
    // An opaque parameter takes a handle.
    const bool scalar = param["kind"] == "scalar";
    std::memcpy(params.bytes + param["offset"].get<std::size_t>(), &value,
                scalar ? param["bytes"].get<std::size_t>() : 8);
  }
  for (const json& ref : entry["surfrefs"]) {
    const auto given = launch.surfrefs.find(ref["name"]);
    const std::uint64_t handle = given == launch.surfrefs.end() ? 0 : given->second;
    std::memcpy(params.bytes + ref["offset"].get<std::size_t>(), &handle, 8);
  }

  const Buffer trap = host_.buffer(abi_between("## Trap record\n\n", " words") * 4);
  Dispatch dispatch;
  dispatch.spirv = spirv_;
  dispatch.entry = name;
  dispatch.sets = {{{abi("params"), params},
                    {abi("surfaces"), table_},
                    {abi("trap"), trap},
                    {abi("constants"), constants_},
                    {abi("locks"), locks_},
                    {abi("textures"), textures_},
                    {abi("memory"), host_.everything()}},
                   {}};
  if (dispatch.sets[0].size() != abi_bindings()) {
    std::fputs("docs/reference/abi.md has another set 0 than this host\n", stderr);
    std::abort();
  }
  std::uint32_t slot = 0;
  for (const json& each : entry["slots"]) {
    std::uint64_t handle = 0;
    std::memcpy(&handle, params.bytes + each["offset"].get<std::size_t>(), 8);
    const Surface* surface = find(handle);
    // The record goes behind the parameters, also of a surface that is reached by address.
    if (surface)
      std::memcpy(params.bytes + entry["slot_records"].get<std::size_t>() +
                      std::size_t{4} * record_words() * slot,
                  surface->record.data(), record_words() * 4);
    ++slot;
    const std::string backing = each["backing"];
    if (backing == "address") continue;
    Binding binding{each["binding"], surface ? surface->memory : discard_, {}};
    if (backing == "image") {
      if (each["image_format"] != "r32ui" || each["image_view"] != "2d" || !surface ||
          !surface->image) {
        std::fputs("the slot wants another image than this host has\n", stderr);
        std::abort();
      }
      binding.view = surface->image->view;
    }
    dispatch.sets[each["set"].get<std::size_t>()].push_back(binding);
  }

  auto& push = dispatch.push;
  push.assign(push_words(), 0);
  std::copy(launch.grid, launch.grid + 3, &push[abi("grid_x")]);
  std::copy(launch.block, launch.block + 3, &push[abi("block_x")]);
  push[abi("dynamic_shared")] = launch.dynamic_shared;
  address(&push[abi("globals")], address_of(globals_));
  address(&push[abi("constants_address")], address_of(constants_));
  address(&push[abi("params_address")], address_of(params));
  address(&push[abi("discard")], address_of(discard_));
  push[abi("surface_count")] = records_;
  push[abi("texture_count")] = 1;

  // Words that the launch has no use for hold parameters.
  dispatch.push.resize(entry["push_words"].get<std::size_t>());
  for (const json& each : entry["push_params"]) {
    std::uint32_t word = 0;
    std::memcpy(&word, params.bytes + each["offset"].get<std::size_t>(), 4);
    dispatch.push[each["word"].get<std::size_t>()] = word >> each["shift"].get<std::uint32_t>();
  }

  const std::string model = entry["threads"];
  std::copy(launch.grid, launch.grid + 3, dispatch.groups);
  dispatch.specialisation = {launch.block[0], launch.block[1], launch.block[2],
                             (launch.dynamic_shared + 3) / 4};
  if (model == "regions") {
    dispatch.specialisation[0] = entry["workgroup_threads"];
    dispatch.specialisation[1] = dispatch.specialisation[2] = 1;
  } else if (model == "flat") {
    const std::uint32_t threads = launch.grid[0] * launch.grid[1] * launch.grid[2] *
                                  launch.block[0] * launch.block[1] * launch.block[2];
    push[abi("threads")] = threads;
    dispatch.specialisation[0] = 32;
    dispatch.specialisation[1] = dispatch.specialisation[2] = 1;
    dispatch.groups[0] = (threads + 31) / 32;
    dispatch.groups[1] = dispatch.groups[2] = 1;
  }
  host_.run(dispatch);

  return read_trap(trap.words(), entry["trap_sites"]);
}

}  // namespace binding
