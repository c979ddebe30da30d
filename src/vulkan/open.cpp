// Two ways to a VkInstance: the Vulkan loader, and SwiftShader's library by itself.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "src/options.hpp"
#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLibrary = "libvk_swiftshader.so";
constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
constexpr const char* kLimitsLayer = "VK_LAYER_PTX2SPV_limits";
constexpr const char* kSemaphoresLayer = "VK_LAYER_PTX2SPV_semaphores";

/// Whether PTX2SPV_VALIDATION has `word` among those that are separated by commas.
bool validation_requested(std::string_view word) {
  std::string_view rest = option_text(Option::validation);
  while (!rest.empty()) {
    std::size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == word) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* user) {
  auto* instance = static_cast<Instance*>(user);
  // What the layer itself will do without, on devices that lack what its checks in shaders need.
  if (data->pMessageIdName &&
      std::string_view(data->pMessageIdName) == "UNASSIGNED-GPU-Assisted Validation Warning")
    return VK_FALSE;
  instance->validation_messages.fetch_add(1);
  bool error = severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  std::fprintf(stderr, "vulkan validation %s: %s\n", error ? "error" : "warning", data->pMessage);
  if (validation_requested("fatal")) {
    std::fflush(nullptr);
    std::abort();
  }
  return VK_FALSE;
}

Error failure(ErrorCode code, std::string text) {
  return Error{code, std::move(text), {}, nullptr};
}

Result<std::shared_ptr<Instance>> make_instance(PFN_vkGetInstanceProcAddr get, std::string origin,
                                                bool validation) {
  GlobalFunctions global;
#define PTX2SPV_VK_GLOBAL(name) \
  global.name = reinterpret_cast<PFN_vk##name>(get(nullptr, "vk" #name));
#include "src/vulkan/functions.def"
  if (!global.CreateInstance)
    return failure(ErrorCode::no_device, origin + " has no vkCreateInstance");

  auto instance = std::make_shared<Instance>();
  instance->get_proc = get;
  instance->origin = std::move(origin);
  instance->validated = validation;

  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "ptx2spv";
  application.pEngineName = "ptx2spv";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  create.pApplicationInfo = &application;
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  VkDebugUtilsMessengerCreateInfoEXT messenger{
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
  // No performance hints: images stay in the general layout, which kernels need between any two
  // copies.
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  messenger.pUserData = instance.get();
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  const VkValidationFeatureEnableEXT enables[] = {
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
      VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT,
      VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT};
  features.enabledValidationFeatureCount = validation_requested("gpu") ? 3 : 1;
  features.pEnabledValidationFeatures = enables;
  // The layer that limits stands below the one that validates, which then knows the smaller device.
  std::vector<const char*> layers;
  if (validation) layers.push_back(kValidationLayer);
  if (limits_requested()) layers.push_back(kLimitsLayer);
  create.enabledLayerCount = static_cast<std::uint32_t>(layers.size());
  create.ppEnabledLayerNames = layers.data();
  if (validation) {
    create.enabledExtensionCount = 1;
    create.ppEnabledExtensionNames = extensions;
    create.pNext = &features;
  }
  VkResult result = global.CreateInstance(&create, nullptr, &instance->handle);
  if (result != VK_SUCCESS) {
    instance->handle = VK_NULL_HANDLE;
    return failure(ErrorCode::no_device,
                   fmt::format("{} gave no instance: {}", instance->origin, to_text(result)));
  }
  if (const char* missing = instance->vk.load(get, instance->handle)) {
    instance->handle = VK_NULL_HANDLE;  // cannot be destroyed without the functions
    return failure(ErrorCode::no_device, fmt::format("{} has no {}", instance->origin, missing));
  }
  if (validation && instance->vk.CreateDebugUtilsMessengerEXT)
    instance->vk.CreateDebugUtilsMessengerEXT(instance->handle, &messenger, nullptr,
                                              &instance->messenger);
  return instance;
}

/// Adds SwiftShader to the drivers that the loader reads. The loader only takes manifests, so one
/// is written beside no file of the user's: in the temporary folder, under a name of this process.
void add_swiftshader_to_loader() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::string library = find_swiftshader();
    if (library.empty()) return;
    fs::path beside = fs::path(library).parent_path() / "vk_swiftshader_icd.json";
    std::error_code error;
    std::string manifest = beside.string();
    if (!fs::exists(beside, error)) {
      fs::path folder = fs::temp_directory_path(error);
      if (error) return;
      manifest = (folder / fmt::format("ptx2spv-icd-{}.json", ::getpid())).string();
      std::ofstream(manifest) << R"({"file_format_version":"1.0.0","ICD":{"library_path":")"
                              << library << R"(","api_version":"1.3.0"}})";
      static std::string remove_at_exit = manifest;
      std::atexit([] { ::unlink(remove_at_exit.c_str()); });
    }
    const char* only = std::getenv("VK_DRIVER_FILES");
    const char* variable = only && *only ? "VK_DRIVER_FILES" : "VK_ADD_DRIVER_FILES";
    const char* old = std::getenv(variable);
    std::string value = old && *old ? std::string(old) + ":" + manifest : manifest;
    ::setenv(variable, value.c_str(), 1);
  });
}

fs::path executable_folder() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

/// Lets the loader find the layer that limits devices. False: it is not there.
bool add_limits_layer() {
  static const bool found = [] {
    std::error_code error;
    const auto has_layer = [&](const fs::path& place) {
      return fs::exists(place / "VkLayer_ptx2spv_limits.json", error);
    };
    // Of a build tree; the CUDA programs of tests lie deeper.
    fs::path place = executable_folder() / "../dev/layers";
    if (!has_layer(place)) place = executable_folder() / "../../dev/layers";
    if (!has_layer(place)) return false;
    const char* old = std::getenv("VK_ADD_LAYER_PATH");
    const std::string all = (old && *old ? std::string(old) + ":" : "") + place.string();
    ::setenv("VK_ADD_LAYER_PATH", all.c_str(), 1);
    return true;
  }();
  return found;
}

}  // namespace

bool limits_requested() { return !option_text(Option::limits).empty(); }

bool semaphores_layered() {
  const char* layers = std::getenv("VK_INSTANCE_LAYERS");
  void* loader = ::dlopen("libvulkan.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (loader) ::dlclose(loader);
  return loader && layers && std::strstr(layers, kSemaphoresLayer);
}

std::string find_swiftshader(std::string* searched) {
  std::vector<fs::path> places;
  if (std::string_view text = option_text(Option::swiftshader); !text.empty())
    places.emplace_back(text);
  // What was named is not replaced by another copy.
  if (places.empty()) {
    if (fs::path self = executable_folder(); !self.empty()) {
      places.push_back(self / "swiftshader");
      places.push_back(self / "../swiftshader");
      places.push_back(self / "../../swiftshader");
      places.push_back(self / "../lib/ptx2spv");
    }
    places.emplace_back(PTX2SPV_INSTALL_LIBDIR);
    if (std::string_view source = PTX2SPV_SOURCE_DIR; !source.empty())  // none in a package
      places.push_back(fs::path(source) / "build/swiftshader");
    places.emplace_back("/usr/lib/chromium");
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
      places.push_back(fs::path(cache) / "ptx2spv/swiftshader");
    else if (const char* home = std::getenv("HOME"); home && *home)
      places.push_back(fs::path(home) / ".cache/ptx2spv/swiftshader");
  }
  for (const fs::path& place : places) {
    std::error_code error;
    fs::path file = fs::is_directory(place, error) ? place / kLibrary : place;
    if (searched) *searched += (searched->empty() ? "" : ", ") + file.string();
    if (fs::is_regular_file(file, error)) return fs::weakly_canonical(file, error).string();
  }
  return {};
}

/// Holds the first instance of the loader until the process ends, because the loader unloads a
/// driver with its last instance, and NVIDIA's (580.159) gives VK_ERROR_INCOMPATIBLE_DRIVER after
/// it was loaded again several times. Validated instances are not held: their end reports what
/// leaked.
void keep_drivers_loaded(const std::shared_ptr<Instance>& instance) {
  static const auto* kept = new std::shared_ptr<Instance>(instance);
  static_cast<void>(kept);
}

Result<std::shared_ptr<Instance>> open_loader(bool validation) {
  if (validation || limits_requested()) add_swiftshader_to_loader();
  if (limits_requested() && !add_limits_layer())
    return failure(ErrorCode::no_device,
                   "PTX2SPV_DEBUG has limits, which need a program in a build tree with "
                   "dev/layers/VkLayer_ptx2spv_limits.json");
  void* library = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = ::dlopen("libvulkan.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* text = ::dlerror();
    return failure(ErrorCode::no_device, fmt::format("no Vulkan loader: {}", text ? text : "?"));
  }
  auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
  if (!get) return failure(ErrorCode::no_device, "libvulkan.so.1 has no vkGetInstanceProcAddr");
  auto instance = make_instance(get, "the Vulkan loader", validation);
  if (instance && !validation) keep_drivers_loaded(*instance);
  return instance;
}

Result<std::shared_ptr<Instance>> open_swiftshader() {
  std::string searched;
  std::string file = find_swiftshader(&searched);
  if (file.empty() && !option_text(Option::swiftshader).empty())
    return failure(ErrorCode::no_device, fmt::format("PTX2SPV_SWIFTSHADER is '{}': there is no {}",
                                                     option_text(Option::swiftshader), searched));
  if (file.empty())
    return failure(ErrorCode::no_device, "SwiftShader was not found; looked for " + searched);
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* text = ::dlerror();
    return failure(ErrorCode::no_device,
                   fmt::format("{} cannot be loaded: {}", file, text ? text : "?"));
  }
  // The driver's own entry points, as the loader would use them.
  using Negotiate = VkResult(VKAPI_PTR*)(std::uint32_t*);
  std::uint32_t version = 5;
  if (auto negotiate =
          reinterpret_cast<Negotiate>(::dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion")))
    if (negotiate(&version) != VK_SUCCESS)
      return failure(ErrorCode::no_device, file + " refuses the driver interface");
  auto get =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vk_icdGetInstanceProcAddr"));
  if (!get) return failure(ErrorCode::no_device, file + " is no Vulkan driver");
  return make_instance(get, file, false);
}

}  // namespace ptx2spv::runtime
