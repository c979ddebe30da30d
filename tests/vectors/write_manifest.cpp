#include "tests/vectors/write_manifest.hpp"

#include <fstream>

namespace ptx2spv::tests {
namespace {

bool write(const std::string& path, const void* bytes, std::size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  return bool(file.flush());
}

}  // namespace

bool write_manifest(const std::string& folder, const std::string& name, const Case& what) {
  const auto triple = [](const Dim3& d) {
    return "[" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) +
           "]";
  };
  const std::string surface = R"({"geometry": "2d", "format": "u32", "channels": 4, "width": )" +
                              std::to_string(what.width) +
                              ", \"height\": " + std::to_string(what.height) + ", \"init\": ";
  const std::string json =
      "{\"module\": \"" + name + ".ptx\",\n \"surfaces\": {\n  \"surf\": " + surface +
      "{\"raw\": \"texels.bin\"}},\n  \"spare\": " + surface +
      "{\"zero\": true}}},\n \"textures\": {\"tex\": {\"resource\": \"surf\"}},\n \"buffers\": {\n"
      "  \"in\": {\"bytes\": " +
      std::to_string(what.in.size()) +
      ", \"init\": {\"raw\": \"in.bin\"}},\n  \"out\": {\"bytes\": " +
      std::to_string(what.expected.size()) +
      ", \"init\": {\"u8\": 204}}},\n \"launches\": [{\"kernel\": \"k\", \"grid\": " +
      triple(what.grid) + ", \"block\": " + triple(what.block) +
      ",\n  \"args\": [{\"buffer\": \"in\"}, {\"buffer\": \"out\"}, {\"surface\": \"surf\"}, "
      "{\"surface\": \"spare\"},\n   {\"texture\": \"tex\"}, {\"bytes\": "
      "\"01010101020202020303030304040404\"}]}],\n \"outputs\": [{\"buffer\": \"out\", "
      "\"expect\": \"" +
      name + ".out\"}]}\n";
  const std::string at = folder + "/";
  return write(at + "in.bin", what.in.data(), what.in.size()) &&
         write(at + "texels.bin", what.texels.data(), what.texels.size()) &&
         write(at + name + ".ptx", what.text.data(), what.text.size()) &&
         write(at + name + ".out", what.expected.data(), what.expected.size()) &&
         write(at + name + ".json", json.data(), json.size());
}

}  // namespace ptx2spv::tests
