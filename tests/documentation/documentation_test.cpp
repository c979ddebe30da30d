// The documentation against the tables that it describes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "src/device/answers.hpp"
#include "tests/documentation/page.hpp"
#include "translator/pipeline.hpp"

namespace ptx2spv {
namespace {

void expect_row(const std::string& page, std::string_view name, std::uint32_t number) {
  const std::string row = "| `" + std::string(name) + "` | " + std::to_string(number) + " |";
  EXPECT_NE(page.find(row), std::string::npos) << "docs/reference/abi.md lacks " << row;
}

TEST(Documentation, workarounds_name_a_pass_and_a_test) {
  const auto rows = pass_rows();
  for (const Capability& each : capabilities()) {
    if (each.group != Capability::Group::workaround) continue;
    EXPECT_TRUE(
        std::ranges::any_of(rows, [&](const PassRow& row) { return row.name == each.pass; }))
        << each.name << " names no pass: " << each.pass;
    std::ifstream test(std::string(PTX2SPV_SOURCE_DIR) + "/" + std::string(each.test));
    EXPECT_TRUE(test.good()) << each.name << " names no test: " << each.test;
  }
}

TEST(Documentation, pages_list_every_setting_of_the_environment) {
  std::string variables = "| variable | default | meaning |\n|---|---|---|\n";
  std::string keys = "| key | default | meaning |\n|---|---|---|\n";
#define PTX2SPV_OPTION(name, variable, form, fallback, help) \
  variables += "| `" variable "` | " fallback " | " help " |\n";
#define PTX2SPV_DEBUG_KEY(name, key, form, fallback, help) \
  keys += "| `" key "` | " fallback " | " help " |\n";
#include "src/options.def"
  documentation::expect_part("docs/user/troubleshooting.md", "environment", variables);
  documentation::expect_part("HACKING.md", "debug", keys);
}

TEST(Documentation, sanitizer_lists_every_check) {
  std::string text = "| check | in `all` | finds |\n|---|---|---|\n";
  for (const CheckRow& row : check_rows())
    text += "| `" + std::string(row.name) + "` | " + (row.in_all ? "yes" : "no") + " | " +
            std::string(row.help) + " |\n";
  documentation::expect_part("docs/user/sanitizer.md", "checks", text);
}

TEST(Documentation, abi_lists_every_binding) {
  std::string text = "| name | binding | access | content |\n|---|---|---|---|\n";
  std::uint32_t count = 0;
  const auto add = [&](const char* name, std::uint32_t number, bool readonly, const char* holds) {
    text += "| `" + std::string(name) + "` | " + std::to_string(number) + " | " +
            (readonly ? "read" : "write") + " | " + holds + " |\n";
    EXPECT_EQ(number, count++) << name << " leaves a gap";
  };
#define PTX2SPV_BINDING(name, number, space, readonly, moves, holds) \
  add(#name, abi::name, readonly, holds);
#include "ptx2spv/bindings.def"
  EXPECT_EQ(count, abi::kBindings);
  documentation::expect_part("docs/reference/abi.md", "bindings", text);
}

/// A row for each of tests/limits/devices: what the runtime makes of it.
std::string class_table() {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const auto& each :
       fs::directory_iterator(std::string(PTX2SPV_SOURCE_DIR) + "/tests/limits/devices"))
    files.push_back(each.path());
  std::sort(files.begin(), files.end());
  std::string text =
      "| class | Vulkan | runs | memory by | emulated | float32 keeps | slots |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const fs::path& file : files) {
    const nlohmann::json json = nlohmann::json::parse(std::ifstream(file));
    const nlohmann::json& profile = *json["profiles"].begin();
    const nlohmann::json& device = json["capabilities"]["device"];
    const auto has = [&](const char* member) {
      for (const auto& [name, members] : device["features"].items())
        if (members.value(member, false)) return true;
      return false;
    };
    const std::string version = profile["api-version"];
    const bool runs = version >= "1.1" && has("timelineSemaphore");
    std::string emulated;
    const auto lacks = [&](bool lack, const char* what) {
      if (lack) emulated += (emulated.empty() ? "" : ", ") + std::string(what);
    };
    lacks(!has("shaderInt64"), "64-bit integers");
    lacks(!has("shaderFloat64"), "float64");
    lacks(!has("storageBuffer8BitAccess") || !has("shaderInt8"), "bytes");
    lacks(!has("storageBuffer16BitAccess") || !has("shaderInt16"), "halves");
    lacks(!has("shaderBufferInt64Atomics"), "64-bit atomics");
    std::string keeps;
    const auto controls = device["properties"].value("VkPhysicalDeviceFloatControlsProperties",
                                                     nlohmann::json::object());
    const auto keep = [&](const char* member, const char* what) {
      if (controls.value(member, false)) keeps += (keeps.empty() ? "" : ", ") + std::string(what);
    };
    keep("shaderDenormPreserveFloat32", "denormals");
    keep("shaderRoundingModeRTEFloat32", "rounding");
    keep("shaderSignedZeroInfNanPreserveFloat32", "special values");
    const auto& limits = device["properties"]["VkPhysicalDeviceProperties"]["limits"];
    const auto buffers = limits.value("maxPerStageDescriptorStorageBuffers", 1u << 30);
    const unsigned common = has("bufferDeviceAddress") ? abi::kBindings - 1 : abi::kBindings;
    const unsigned slots = std::min(buffers > common ? buffers - common : 0, 8u);
    text += "| " + profile["label"].get<std::string>() + " | " +
            version.substr(0, version.find('.', 2)) + " | " +
            (runs ? "yes" : "no: Vulkan 1.1 is needed") + " | " +
            (has("bufferDeviceAddress") ? "address" : "one buffer") + " | " +
            (emulated.empty() ? "-" : emulated) + " | " + (keeps.empty() ? "-" : keeps) + " | " +
            std::to_string(slots) + " |\n";
  }
  return text;
}

TEST(Documentation, devices_lists_every_class) {
  documentation::expect_part("docs/develop/devices.md", "classes", class_table());
}

TEST(Documentation, devices_lists_the_figures_of_null_hardware) {
  std::ifstream stream(std::string(PTX2SPV_SOURCE_DIR) + "/tests/null_hardware/figures.txt");
  std::vector<std::string> families;
  std::map<std::string, std::map<std::string, std::string>> values;
  std::string driver;
  for (std::string line; std::getline(stream, line);) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find('|', at), line.size());
      parts.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    ASSERT_EQ(parts.size(), 4u) << line;
    driver = parts[0];
    if (!values.contains(parts[1])) families.push_back(parts[1]);
    values[parts[1]][parts[2]] = parts[3];
  }
  std::string text =
      "| " + driver + " | `exact` / `fast` | `exact` / GLSL | `fast` / GLSL |\n|---|---|---|---|\n";
  for (const std::string& family : families)
    text += "| " + family + " | " + values[family]["exact / fast"] + " | " +
            values[family]["exact / GLSL"] + " | " + values[family]["fast / GLSL"] + " |\n";
  documentation::expect_part("docs/develop/devices.md", "amd", text);
}

TEST(Documentation, abi_numbers_are_those_of_the_header) {
  const std::string page = documentation::read_page("docs/reference/abi.md");
#define EXPECT_NAME(name) expect_row(page, #name, abi::name)
  EXPECT_NAME(params);
  EXPECT_NAME(surfaces);
  EXPECT_NAME(trap);
  EXPECT_NAME(constants);
  EXPECT_NAME(locks);
  EXPECT_NAME(textures);
  EXPECT_NAME(grid_x);
  EXPECT_NAME(block_x);
  EXPECT_NAME(base_x);
  EXPECT_NAME(threads);
  EXPECT_NAME(dynamic_shared);
  EXPECT_NAME(globals);
  EXPECT_NAME(constants_address);
  EXPECT_NAME(params_address);
  EXPECT_NAME(printf_buffer);
  EXPECT_NAME(shared_slab);
  EXPECT_NAME(discard);
  EXPECT_NAME(surface_count);
  EXPECT_NAME(texture_count);
  EXPECT_NAME(s_base_lo);
  EXPECT_NAME(s_row_bytes);
  EXPECT_NAME(s_rows);
  EXPECT_NAME(s_slices);
  EXPECT_NAME(s_row_pitch);
  EXPECT_NAME(s_slice_pitch_lo);
  EXPECT_NAME(s_texel_bytes);
  EXPECT_NAME(s_format);
  EXPECT_NAME(s_generation);
  EXPECT_NAME(s_width);
  EXPECT_NAME(s_height);
  EXPECT_NAME(s_depth);
  EXPECT_NAME(s_channel_data_type);
  EXPECT_NAME(s_channel_order);
  EXPECT_NAME(s_array_size);
  EXPECT_NAME(s_memory_layout);
  EXPECT_NAME(s_channels);
  EXPECT_NAME(s_flags);
  EXPECT_NAME(s_row_bytes_1d);
  EXPECT_NAME(s_row_bytes_2d);
  EXPECT_NAME(s_row_bytes_3d);
  EXPECT_NAME(s_layer_pitch_lo);
  EXPECT_NAME(x_base_lo);
  EXPECT_NAME(x_row_pitch);
  EXPECT_NAME(x_width);
  EXPECT_NAME(x_generation);
  EXPECT_NAME(x_format);
  EXPECT_NAME(x_sampler);
  EXPECT_NAME(x_border);
  EXPECT_NAME(x_query_width);
  EXPECT_NAME(x_levels);
  EXPECT_NAME(x_lod_bias);
  EXPECT_NAME(x_lod_min);
  EXPECT_NAME(x_level_offset);
  EXPECT_NAME(t_count);
  EXPECT_NAME(t_claimed);
  EXPECT_NAME(t_site);
  EXPECT_NAME(t_kind);
  EXPECT_NAME(t_ctaid_x);
  EXPECT_NAME(t_tid_x);
  EXPECT_NAME(t_coord);
  EXPECT_NAME(t_handle_lo);
  EXPECT_NAME(t_cut_off);
#undef EXPECT_NAME
#define EXPECT_KIND(name) expect_row(page, #name, static_cast<std::uint32_t>(abi::TrapKind::name))
  EXPECT_KIND(out_of_bounds);
  EXPECT_KIND(misaligned);
  EXPECT_KIND(dead_handle);
  EXPECT_KIND(trap_instruction);
  EXPECT_KIND(assertion);
  EXPECT_KIND(loop_limit);
  EXPECT_KIND(bad_call);
  EXPECT_KIND(no_progress);
#undef EXPECT_KIND
  EXPECT_NE(page.find("version " + std::to_string(abi::kVersion)), std::string::npos);
  EXPECT_NE(page.find("\n" + std::to_string(abi::kPushWords) + " words."), std::string::npos);
  EXPECT_NE(page.find("records of " + std::to_string(abi::kSurfaceWords) + " words"),
            std::string::npos);
  EXPECT_NE(page.find("\n" + std::to_string(abi::kTrapWords) + " words, zeroed"),
            std::string::npos);
}

/// Without code: in fences, indented by seven columns (below the item of a list), in spans.
std::string prose_of(const std::string& page) {
  std::istringstream lines(page);
  std::string prose;
  bool fenced = false;
  for (std::string line; std::getline(lines, line); prose += '\n') {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool fence = std::string_view(line).substr(begin).starts_with("```");
    if (!fence && !fenced && begin < 7) prose += line;
    fenced ^= fence;
  }
  return std::regex_replace(prose, std::regex("`([^`\n]|\n(?!\n))*`"), "``");
}

/// [text](target) of every page: the file is there, beside the page.
TEST(Documentation, links_lead_somewhere) {
  namespace fs = std::filesystem;
  const fs::path root = PTX2SPV_SOURCE_DIR;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  for (const char* folder : {"docs", "examples", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md") files.push_back(entry.path());
    }
  }
  int links = 0;
  for (const fs::path& file : files) {
    const std::string page = prose_of(documentation::read_page(fs::relative(file, root).string()));
    for (std::size_t at = page.find("]("); at != std::string::npos; at = page.find("](", at + 1)) {
      const std::string target = page.substr(at + 2, page.find_first_of(")#", at) - at - 2);
      if (target.empty() || target.find("://") != std::string::npos) continue;
      EXPECT_TRUE(fs::exists(file.parent_path() / target)) << file << " links to " << target;
      ++links;
    }
  }
  EXPECT_GT(links, 40);
}

/// The version has a dated section, so that a tag needs no commit. HACKING.md says how one is made.
TEST(Documentation, changelog_has_the_version) {
  const std::string version(ptx2spv::version());
  const std::string changes = documentation::read_page("CHANGELOG.md");
  const std::size_t unreleased = changes.find("\n## [Unreleased]\n"),
                    section = changes.find("\n## [" + version + "] - 20");
  ASSERT_NE(unreleased, changes.npos);
  ASSERT_NE(section, changes.npos) << "CHANGELOG.md has no section of version " << version;
  EXPECT_EQ(changes.find("\n## [", unreleased + 1), section)
      << "the newest section is of another version";
  const std::string page = documentation::read_page("docs/user/cmake.md");
  EXPECT_NE(page.find("find_package(ptx2spv " + version.substr(0, version.rfind('.')) + ")"),
            page.npos);
}

/// Every key that the description can have stands in docs/reference/interface.md as `key`.
TEST(Documentation, interface_names_every_field) {
  Interface interface;
  EntryInfo entry;
  entry.params.emplace_back();
  entry.slots.emplace_back();
  entry.slots.back().load_bytes = {4};
  entry.surfrefs.emplace_back();
  TrapSite site;
  site.source_file = site.surface = site.message = "x";
  entry.trap_sites.push_back(site);
  interface.entries.push_back(entry);
  interface.variables.emplace_back();
  interface.relocations.emplace_back();
  StaticSurfref surfref;
  surfref.width = surfref.height = surfref.depth = surfref.channel_data_type = 1;
  surfref.channel_order = surfref.array_size = surfref.memory_layout = 1;
  interface.surfrefs.push_back(surfref);

  const std::string page = documentation::read_page("docs/reference/interface.md");
  const std::string json = to_json(interface);
  int keys = 0;
  for (std::size_t at = json.find("\": "); at != std::string::npos;
       at = json.find("\": ", at + 1)) {
    const std::size_t begin = json.rfind('"', at - 1) + 1;
    const std::string key = json.substr(begin, at - begin);
    EXPECT_NE(page.find("`" + key + "`"), std::string::npos)
        << "docs/reference/interface.md lacks " << key;
    ++keys;
  }
  EXPECT_GT(keys, 60);
  const auto expect_number = [&](const std::string& key, std::uint32_t number) {
    EXPECT_NE(page.find("| `" + key + "` | number | " + std::to_string(number)), std::string::npos)
        << "docs/reference/interface.md has another " << key << " than " << number;
  };
  expect_number("push_constant_words", abi::kPushWords);
  expect_number("surface_record_words", abi::kSurfaceWords);
  expect_number("texture_record_words", abi::kTextureWords);
}

}  // namespace
}  // namespace ptx2spv
