#include "tools/ptxrun/draft.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "tools/common/entry_name.hpp"
#include "tools/common/json.hpp"

namespace ptx2spv::tools {
namespace {

constexpr std::uint32_t kExtent = 256, kBufferBytes = 1 << 20;

/// What the first access through a surface's slot says of its texels: "sust.b.2d.v4.b8.trap".
struct SurfaceForm {
  std::string geometry = "2d", format = "u32";
  unsigned channels = 1;
};

SurfaceForm form_of(const EntryInfo& entry, const SlotInfo& slot) {
  SurfaceForm form;
  for (const TrapSite& site : entry.trap_sites) {
    if (site.surface != slot.name) continue;
    std::string_view text = site.text;
    text = text.substr(0, text.find_first_of(" \t"));
    while (!text.empty()) {
      const std::string part(text.substr(0, text.find('.')));
      text.remove_prefix(std::min(part.size() + 1, text.size()));
      if (part == "1d" || part == "2d" || part == "3d" || part == "a1d" || part == "a2d")
        form.geometry = part;
      if (part == "v2") form.channels = 2;
      if (part == "v4") form.channels = 4;
      if (part == "b8" || part == "b16" || part == "b32") form.format = "u" + part.substr(1);
    }
    return form;
  }
  // Without traps nothing but the sizes of accesses is known.
  const auto& sizes = slot.stores ? slot.store_bytes : slot.load_bytes;
  const unsigned bytes = sizes.empty() ? 4 : sizes.front();
  form.channels = bytes > 8 ? 4 : bytes > 4 ? 2 : 1;
  form.format = bytes == 1 ? "u8" : bytes == 2 ? "u16" : "u32";
  return form;
}

const char* geometry_name(TextureGeometry geometry) {
  switch (geometry) {
    case TextureGeometry::d1: return "1d";
    case TextureGeometry::d3: return "3d";
    case TextureGeometry::a1d: return "a1d";
    case TextureGeometry::a2d:
    case TextureGeometry::cube:
    case TextureGeometry::acube: return "a2d";
    default: return "2d";
  }
}

std::string extents(const std::string& geometry, bool cube) {
  std::string text = fmt::format("\"width\": {}", kExtent);
  if (geometry == "2d" || geometry == "3d" || geometry == "a2d")
    text += fmt::format(", \"height\": {}", kExtent);
  if (geometry == "3d") text += ", \"depth\": 16";
  if (geometry[0] == 'a') text += fmt::format(", \"layers\": {}", cube ? 6 : 4);
  return text;
}

class Draft {
 public:
  explicit Draft(const Interface& interface) : interface_(interface) {}
  std::string text(const std::string& file, const std::string& schema);

 private:
  void entry(const EntryInfo& entry);
  std::string argument(const EntryInfo& entry, const ParamInfo& param);
  /// A name that no resource has yet.
  std::string fresh(const std::string& wanted);
  std::string add_surface(const EntryInfo& entry, const SlotInfo& slot);
  std::string add_texture(const std::string& wanted, const std::vector<TextureUse>& uses);
  std::string references(const EntryInfo& entry);

  const Interface& interface_;
  std::set<std::string> names_;
  std::vector<std::string> surfaces_, textures_, buffers_, launches_, outputs_;
};

std::string Draft::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (unsigned number = 2; !names_.insert(name).second; ++number)
    name = fmt::format("{}_{}", wanted, number);
  return name;
}

std::string Draft::add_surface(const EntryInfo& entry, const SlotInfo& slot) {
  const SurfaceForm form = form_of(entry, slot);
  const std::string name = fresh(slot.name);
  surfaces_.push_back(fmt::format(
      "{}: {{\"geometry\": \"{}\", \"format\": \"{}\", \"channels\": {}, {}, \"init\": "
      "{{\"zero\": true}}}}",
      json_quote(name), form.geometry, form.format, form.channels, extents(form.geometry, false)));
  if (slot.stores || slot.reduces)
    outputs_.push_back(fmt::format("{{\"surface\": {}, {}: {}}}", json_quote(name),
                                   form.geometry == "2d" ? "\"png\"" : "\"npy\"",
                                   json_quote(name + (form.geometry == "2d" ? ".png" : ".npy"))));
  return name;
}

std::string Draft::add_texture(const std::string& wanted, const std::vector<TextureUse>& uses) {
  const TextureUse use = uses.empty() ? TextureUse{} : uses.front();
  const bool cube = use.geometry == TextureGeometry::cube || use.geometry == TextureGeometry::acube;
  const std::string geometry = geometry_name(use.geometry);
  const std::string array = fresh(wanted + "_array"), name = fresh(wanted);
  surfaces_.push_back(fmt::format(
      "{}: {{\"geometry\": \"{}\", \"format\": \"f32\", \"channels\": 4, {}, \"init\": {{\"zero\": "
      "true}}}}",
      json_quote(array), geometry, extents(geometry, cube)));
  textures_.push_back(
      fmt::format("{}: {{\"resource\": {}, \"read\": \"element\", \"address\": "
                  "\"clamp\", \"filter\": \"point\", \"normalized\": false{}}}",
                  json_quote(name), json_quote(array), cube ? ", \"cube\": true" : ""));
  return name;
}

std::string Draft::argument(const EntryInfo& entry, const ParamInfo& param) {
  for (const SlotInfo& slot : entry.slots)
    if (!slot.is_variable && slot.offset == param.offset)
      return fmt::format("{{\"surface\": {}}}", json_quote(add_surface(entry, slot)));
  for (std::size_t k = 0; k < entry.textures.slots.size(); ++k)
    if (entry.textures.slots[k] == param.offset)
      return fmt::format("{{\"texture\": {}}}",
                         json_quote(add_texture(param.name, k < entry.textures.uses.size()
                                                                ? entry.textures.uses[k]
                                                                : std::vector<TextureUse>{})));
  // Pointers and handles out of memory are numbers of 64 bits too: pointers are what is common.
  if (param.kind == ParamKind::scalar && param.bytes == 8 && param.type != "f64" &&
      param.type != "s64") {
    const std::string name = fresh(param.name);
    buffers_.push_back(fmt::format("{}: {{\"bytes\": {}, \"init\": {{\"zero\": true}}}}",
                                   json_quote(name), kBufferBytes));
    outputs_.push_back(fmt::format("{{\"buffer\": {}, \"npy\": {}, \"dtype\": \"u32\"}}",
                                   json_quote(name), json_quote(name + ".npy")));
    return fmt::format("{{\"buffer\": {}}}", json_quote(name));
  }
  if (param.kind == ParamKind::bytes || param.type[0] == 'b')
    return fmt::format("{{\"bytes\": \"{}\"}}", std::string(2 * std::size_t(param.bytes), '0'));
  return fmt::format("{{\"{}\": 0}}", param.type);
}

std::string Draft::references(const EntryInfo& entry) {
  std::string surfrefs, texrefs;
  for (const RefInfo& ref : entry.surfrefs) {
    SlotInfo slot;
    slot.name = ref.name;
    for (const SlotInfo& known : entry.slots)
      if (known.is_variable && known.name == ref.name) slot = known;
    surfrefs += fmt::format("{}{}: {}", surfrefs.empty() ? "" : ", ", json_quote(ref.name),
                            json_quote(add_surface(entry, slot)));
  }
  for (const RefInfo& ref : entry.texrefs)
    texrefs += fmt::format("{}{}: {}", texrefs.empty() ? "" : ", ", json_quote(ref.name),
                           json_quote(add_texture(ref.name, {})));
  std::string text;
  if (!surfrefs.empty()) text += ",\n     \"surfrefs\": {" + surfrefs + "}";
  if (!texrefs.empty()) text += ",\n     \"texrefs\": {" + texrefs + "}";
  return text;
}

void Draft::entry(const EntryInfo& entry) {
  std::string args;
  for (const ParamInfo& param : entry.params)
    args += (args.empty() ? "" : ", ") + argument(entry, param);
  const bool fixed = entry.reqntid[0] != 0;
  const std::uint32_t block[3] = {fixed ? entry.reqntid[0] : 16, fixed ? entry.reqntid[1] : 16,
                                  fixed ? entry.reqntid[2] : 1};
  launches_.push_back(fmt::format(
      "{{\"kernel\": {}, \"grid\": [{}, {}, 1], \"block\": [{}, {}, {}],\n     \"args\": [{}]{}}}",
      json_quote(entry.name), (kExtent + block[0] - 1) / block[0],
      (kExtent + block[1] - 1) / block[1], block[0], block[1], block[2], args, references(entry)));
}

std::string Draft::text(const std::string& file, const std::string& schema) {
  std::string kernels;
  for (const EntryInfo& info : interface_.entries) {
    entry(info);
    kernels += (kernels.empty() ? "" : "; ") + demangled(info.name);
  }
  const auto section = [](const char* name, const std::vector<std::string>& rows, bool list) {
    std::string out = fmt::format(",\n  \"{}\": {}", name, list ? "[" : "{");
    for (std::size_t k = 0; k < rows.size(); ++k) out += (k ? ",\n    " : "\n    ") + rows[k];
    return out + (rows.empty() ? "" : "\n  ") + (list ? "]" : "}");
  };
  std::string out = "{\n";
  if (!schema.empty()) out += "  \"$schema\": " + json_quote(schema) + ",\n";
  out +=
      "  \"description\": " +
      json_quote("A draft: fill in the sizes, formats, contents, arguments and grids. Kernels: " +
                 kernels) +
      ",\n  \"module\": " + json_quote(file);
  out += section("surfaces", surfaces_, false);
  if (!textures_.empty()) out += section("textures", textures_, false);
  if (!buffers_.empty()) out += section("buffers", buffers_, false);
  out += section("launches", launches_, true);
  out += section("outputs", outputs_, true);
  return out + "\n}\n";
}

}  // namespace

std::string draft_manifest(const Interface& interface, const std::string& file,
                           const std::string& schema) {
  return Draft(interface).text(file, schema);
}

}  // namespace ptx2spv::tools
