#include "tests/binding/module.hpp"

#include <algorithm>
#include <cstring>

#include "tests/support/process.hpp"

namespace binding {
namespace {

using nlohmann::json;
constexpr std::uint32_t kSurfaces = 64, kRecordWords = 20;

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

}  // namespace

Module::Module(Host& host, const std::string& ptx, const std::vector<std::string>& options,
               std::string& problem)
    : host_(host) {
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
  if (json_["version"] != 1 || json_["push_constant_words"] != 28 ||
      json_["surface_record_words"] != kRecordWords) {
    problem = "the description is of a version that this host does not know";
    return;
  }
  table_ = host.buffer(kSurfaces * kRecordWords * 4);
  locks_ = host.buffer(4096 * 4);
  textures_ = host.buffer(24 * 4);
  sink_ = host.buffer(64);
  lay_out_variables();
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
    if (kind == "global") value += globals_.address;
    if (kind == "const") value += constants_.address;
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
  std::uint32_t* record = out.record;
  address(record + 0, out.memory.address);
  record[2] = width * 4;       // s_row_bytes
  record[3] = height;          // s_rows
  record[4] = 1;               // s_slices
  record[5] = pitch;           // s_row_pitch
  record[6] = pitch * height;  // s_slice_pitch_lo
  record[8] = 4;               // s_texel_bytes
  record[9] = 2;               // s_format: u32
  record[10] = generation_;    // s_generation
  record[11] = width;
  record[12] = height;
  record[14] = 0x10dc;         // s_channel_data_type: unsigned 32-bit
  record[15] = 0x10b0;         // s_channel_order: r
  record[18] = 1;              // s_channels
  record[19] = image ? 1 : 0;  // s_flags
  out.handle = std::uint64_t{generation_} << 32 | records_;
  generation_ += 1000;
  std::memcpy(table_.words() + std::size_t{records_} * kRecordWords, record, kRecordWords * 4);
  ++records_;
  return out;
}

void Module::destroy(Surface& surface) {
  std::memset(table_.words() + (surface.handle & 0xffffffff) * kRecordWords, 0, kRecordWords * 4);
  surface.handle = 0;
}

void Module::put(Surface& surface, const std::vector<std::uint32_t>& texels) {
  if (surface.image) {
    const Buffer staging = host_.buffer(texels.size() * 4);
    std::memcpy(staging.bytes, texels.data(), texels.size() * 4);
    return host_.copy(*surface.image, staging, true);
  }
  for (std::uint32_t y = 0; y < surface.height; ++y)
    std::memcpy(surface.memory.bytes + std::size_t{y} * surface.record[5],
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
                surface.memory.bytes + std::size_t{y} * surface.record[5],
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

  const Buffer trap = host_.buffer(64 * 4);
  Dispatch dispatch;
  dispatch.spirv = spirv_;
  dispatch.entry = name;
  dispatch.sets = {
      {{0, params}, {1, table_}, {2, trap}, {3, constants_}, {4, locks_}, {5, textures_}}, {}};
  std::uint32_t slot = 0;
  for (const json& each : entry["slots"]) {
    std::uint64_t handle = 0;
    std::memcpy(&handle, params.bytes + each["offset"].get<std::size_t>(), 8);
    const Surface* surface = find(handle);
    // The record goes behind the parameters, also of a surface that is reached by address.
    if (surface)
      std::memcpy(params.bytes + entry["slot_records"].get<std::size_t>() + 80 * slot,
                  surface->record, 80);
    ++slot;
    const std::string backing = each["backing"];
    if (backing == "address") continue;
    Binding binding{each["binding"], surface ? surface->memory : sink_, {}};
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

  dispatch.push.assign(28, 0);
  std::copy(launch.grid, launch.grid + 3, dispatch.push.begin());
  std::copy(launch.block, launch.block + 3, dispatch.push.begin() + 3);
  dispatch.push[11] = launch.dynamic_shared;
  address(&dispatch.push[12], globals_.address);
  address(&dispatch.push[14], constants_.address);
  address(&dispatch.push[16], params.address);
  address(&dispatch.push[22], sink_.address);
  dispatch.push[24] = records_;
  dispatch.push[25] = 1;

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
    dispatch.push[9] = threads;
    dispatch.specialisation[0] = 32;
    dispatch.specialisation[1] = dispatch.specialisation[2] = 1;
    dispatch.groups[0] = (threads + 31) / 32;
    dispatch.groups[1] = dispatch.groups[2] = 1;
  }
  host_.run(dispatch);

  Trap out;
  const std::uint32_t* words = trap.words();
  out.count = words[0];
  out.claimed = words[1];
  if (!out.claimed) return out;
  out.site = entry["trap_sites"][words[2]];
  out.kind = words[3];
  std::copy(words + 4, words + 7, out.cta);
  std::copy(words + 7, words + 10, out.thread);
  for (int i = 0; i < 3; ++i) out.coordinates[i] = static_cast<std::int32_t>(words[10 + i]);
  out.handle = words[13] | std::uint64_t{words[14]} << 32;
  return out;
}

}  // namespace binding
