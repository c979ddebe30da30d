// Runs kernels with planted faults, as the sanitizer's tests describe them, so that
// compute-sanitizer can look at them.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "dev/recorder/cuda_driver.hpp"
#include "dev/recorder/record.hpp"
#include "tools/common/files.hpp"
#include "tools/common/json.hpp"

namespace ptx2spv::recorder {
namespace {

using tools::Json;
constexpr std::chrono::seconds kPatience{5};

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "recorder: %s\n", text.c_str());
  std::exit(2);
}

const Json& member(const Json& object, const char* name) {
  const Json* found = object.find(name);
  if (!found) fail(std::string("a scene lacks '") + name + "'");
  return *found;
}
std::uint64_t number(const Json& object, const char* name) { return member(object, name).integer; }

struct Objects {
  std::vector<void*> arrays;
  std::vector<std::uint64_t> surfaces, again, textures;
  std::vector<DevicePointer> memory;
};

ResourceDescription resource_of(void* array) {
  ResourceDescription resource;
  resource.array = array;
  return resource;
}

void make_arrays(Driver& d, const Json& scene, Objects& made) {
  for (const Json& each : member(scene, "arrays").items) {
    ArrayDescription form;
    form.width = number(each, "width");
    form.height = number(each, "height");
    form.depth = number(each, "depth");
    form.format = ArrayFormat::u32;
    form.flags = array_flag::surface | (member(each, "layered").boolean ? array_flag::layered : 0);
    void*& array = made.arrays.emplace_back(nullptr);
    d.check(d.array_create(&array, &form), "cuArray3DCreate");
    if (member(each, "written").boolean) {
      Copy3D copy;
      copy.width_bytes = 4 * form.width;
      copy.height = form.height;
      copy.depth = std::max<std::size_t>(form.depth, 1);
      const std::vector<std::byte> zeros(copy.width_bytes * copy.height * copy.depth);
      copy.source.memory = 1;
      copy.source.host = const_cast<std::byte*>(zeros.data());
      copy.source.pitch = copy.width_bytes;
      copy.source.height = copy.height;
      copy.target.memory = 3;
      copy.target.array = array;
      d.check(d.copy_3d(&copy), "cuMemcpy3D");
    }
    const ResourceDescription resource = resource_of(array);
    for (auto* objects : {&made.surfaces, &made.again})
      d.check(d.surface_create(&objects->emplace_back(0), &resource), "cuSurfObjectCreate");
  }
}

void make_memory(Driver& d, const Json& scene, Objects& made) {
  const std::vector<Json>& all = member(scene, "memory").items;
  for (const Json& each : all)
    d.check(d.allocate(&made.memory.emplace_back(0), number(each, "bytes")), "cuMemAlloc");
  made.textures.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t bytes = number(all[i], "bytes");
    const auto upload = [&](const void* from, std::size_t size) {
      d.check(d.upload(made.memory[i], from, size), "cuMemcpyHtoD");
    };
    if (const Json* word = all[i].find("word"))
      upload(std::vector<std::uint32_t>(bytes / 4, std::uint32_t(word->integer)).data(), bytes);
    if (const Json* address = all[i].find("address"))
      upload(&made.memory.at(address->integer), sizeof(DevicePointer));
    if (const Json* handle = all[i].find("handle"))
      upload(&made.again.at(handle->integer), sizeof(std::uint64_t));
    if (const Json* texels = all[i].find("texture")) {
      ResourceDescription resource;
      resource.type = ResourceType::linear;
      resource.linear = {made.memory[i], ArrayFormat::u32, 1, 4 * texels->integer};
      TextureDescription form;
      form.flags = texture_flag::element;
      d.check(d.texture_create(&made.textures[i], &resource, &form, nullptr), "cuTexObjectCreate");
    }
    if (member(all[i], "freed").boolean) d.check(d.release(made.memory[i]), "cuMemFree");
  }
}

std::vector<std::vector<std::byte>> arguments_of(const Json& scene, const Objects& made) {
  std::vector<std::vector<std::byte>> arguments;
  for (const Json& each : member(scene, "arguments").items) {
    const std::string& kind = member(each, "kind").text;
    const std::uint64_t value = number(each, "number");
    const std::uint64_t word = kind == "memory"    ? made.memory.at(value)
                               : kind == "surface" ? made.surfaces.at(value)
                               : kind == "texture" ? made.textures.at(value)
                                                   : value;
    std::vector<std::byte>& bytes = arguments.emplace_back(number(each, "bytes"));
    std::memcpy(bytes.data(), &word, std::min(bytes.size(), sizeof word));
  }
  return arguments;
}

/// What became of the kernel: "ended", the driver's error, or "endless" where it did not end.
std::string launch(Driver& d, const Json& scene, void* function, const Objects& made) {
  std::vector<std::vector<std::byte>> arguments = arguments_of(scene, made);
  std::vector<void*> pointers;
  for (auto& each : arguments) pointers.push_back(each.data());
  const auto size = [&](const char* name) { return static_cast<unsigned>(number(scene, name)); };
  int result = d.launch(function, size("grid"), 1, 1, size("width"), size("height"), 1,
                        size("shared"), nullptr, pointers.data(), nullptr);
  constexpr int kNotReady = 600;
  const auto start = std::chrono::steady_clock::now();
  while (result == 0 && (result = d.stream_query(nullptr)) == kNotReady) {
    if (std::chrono::steady_clock::now() - start > kPatience) return "endless";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    result = 0;
    continue;
  }
  if (result == 0) return "ended";
  const char* text = "unknown error";
  d.error_name(result, &text);
  return text;
}

std::string run(Driver& d, const Json& scene) {
  // Unoptimised: no access is moved, merged or taken for dead.
  constexpr int kOptimisationLevel = 7, kErrorLog = 5, kErrorLogBytes = 6;
  char log[4096] = "";
  int options[] = {kOptimisationLevel, kErrorLog, kErrorLogBytes};
  void* values[] = {nullptr, log, reinterpret_cast<void*>(sizeof log)};
  void *module = nullptr, *function = nullptr;
  if (d.module_load(&module, member(scene, "ptx").text.c_str(), 3, options, values) != 0)
    return std::string("refused: ") + log;
  d.check(d.module_function(&function, module, member(scene, "kernel").text.c_str()),
          "cuModuleGetFunction");
  Objects made;
  make_arrays(d, scene, made);
  make_memory(d, scene, made);
  const std::string result = launch(d, scene, function, made);
  if (result == "endless") return result;
  for (std::size_t i = 0; i < made.memory.size(); ++i)
    if (!member(member(scene, "memory").items[i], "freed").boolean) d.release(made.memory[i]);
  for (const auto* objects : {&made.surfaces, &made.again})
    for (const std::uint64_t each : *objects) d.surface_destroy(each);
  for (const std::uint64_t each : made.textures)
    if (each) d.texture_destroy(each);
  for (void* array : made.arrays) d.array_destroy(array);
  d.module_unload(module);
  return result;
}

}  // namespace

int run_scenes(const std::string& path, const std::string& check, std::uint64_t first,
               std::uint64_t count) {
  std::string text, error;
  Json scenes;
  if (error = tools::read_text(path, text); !error.empty()) fail(error);
  if (!tools::parse_json(text, scenes, error)) fail(path + ":" + error);
  Driver& d = Driver::get();
  std::uint64_t index = 0;
  for (const Json& scene : scenes.items) {
    if (!check.empty() && member(scene, "check").text != check) continue;
    const std::uint64_t at = index++;
    if (at < first || at - first >= count) continue;
    const auto note = [&](const char* what, const std::string& result) {
      std::printf("%s\t%llu\t%s\t%s\t%s\n", what, static_cast<unsigned long long>(at),
                  member(scene, "kernel").text.c_str(), member(scene, "name").text.c_str(),
                  result.c_str());
      std::fflush(stdout);
    };
    note("begin", "");
    const std::string result = run(d, scene);
    note("end", result);
    // The context may be gone, and a kernel that does not end keeps the device from the next one.
    DevicePointer probe = 0;
    if (result == "endless" || d.allocate(&probe, 4) != 0) _exit(3);
    d.release(probe);
  }
  return 0;
}

}  // namespace ptx2spv::recorder
