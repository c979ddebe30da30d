// Binds a translated module by its interface description and abi.md, as a host would that has
// nothing else. The numbers come out of the page (abi_page.hpp).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/binding/host.hpp"

namespace binding {

/// A surface of 4-byte texels in the host's hands: its record, and memory or an image.
struct Surface {
  std::vector<std::uint32_t> record;
  std::uint64_t handle = 0;
  Buffer memory;
  std::optional<Image> image;
  std::uint32_t width = 0, height = 0;
};

struct Trap {
  std::uint32_t count = 0, claimed = 0, kind = 0;
  std::uint32_t cta[3] = {}, thread[3] = {};
  std::int32_t coordinates[3] = {};
  std::uint64_t handle = 0;
  nlohmann::json site;
};

class Module {
 public:
  /// Runs ptx2spv on `ptx` with `options`; `problem` holds its messages when it fails.
  Module(Host& host, const std::string& ptx, const std::vector<std::string>& options,
         std::string& problem);

  const nlohmann::json& description() const { return json_; }
  const nlohmann::json& entry(const std::string& name) const;
  /// An `r32ui` surface of two dimensions under a new handle; with `image` an image of the view
  /// that slots of that kind want.
  Surface& surface(std::uint32_t width, std::uint32_t height, bool image);
  /// Takes the surface's handle back: its record is empty from now on.
  void destroy(Surface& surface);
  void put(Surface& surface, const std::vector<std::uint32_t>& texels);
  std::vector<std::uint32_t> texels(const Surface& surface);
  /// The word of a `.global` variable.
  std::uint32_t& variable(const std::string& name, std::uint32_t word = 0);

  struct Launch {
    std::map<std::string, std::uint64_t> arguments;  ///< by the parameter's name
    std::map<std::string, std::uint64_t> surfrefs;   ///< handles by the variable's name
    std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    std::uint32_t dynamic_shared = 0;
  };
  Trap run(const std::string& entry, const Launch& launch);

 private:
  void lay_out_variables();
  std::uint64_t address_of(const Buffer& buffer) const;
  const Surface* find(std::uint64_t handle) const;

  Host& host_;
  bool bound_;                  ///< the profile lacks device addresses
  std::shared_ptr<void> stay_;  ///< at the host
  nlohmann::json json_;
  std::vector<std::uint32_t> spirv_;
  Buffer table_, globals_, constants_, locks_, textures_, discard_;
  std::vector<std::unique_ptr<Surface>> surfaces_;
  std::uint32_t records_ = 1, generation_ = 77;
};

}  // namespace binding
