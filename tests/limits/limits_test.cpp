// Devices that nobody here has: the layer of dev/limits_layer makes the test's device look like
// each of tests/limits/devices. It runs kernels with the results of the whole device, or says what
// is missing. `tools/test --limits` runs every test of devices that way.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/device/device.hpp"
#include "src/device/features.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::runtime {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kTests = std::string(PTX2SPV_SOURCE_DIR) + "/tests/";

std::vector<std::string> classes() {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(kTests + "limits/devices"))
    names.push_back(each.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}
std::string file_of(const std::string& name) { return kTests + "limits/devices/" + name + ".json"; }
json profile_of(const std::string& name) { return json::parse(test::read_whole(file_of(name))); }

std::string device() {
  const char* name = std::getenv("PTX2SPV_DEVICE");
  return name ? name : "swiftshader";
}

/// ptxrun under a class's limits, with every message of the validation layer fatal.
test::ProcessResult run_limited(const std::string& limits, std::vector<std::string> arguments) {
  std::vector<std::string> command = {"/usr/bin/env",
                                      test::debug_variable("limits=" + limits),
                                      "PTX2SPV_VALIDATION=fatal",
                                      test::tool_path("ptxrun"),
                                      "--device",
                                      device()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return test::run_process(command);
}

class DeviceClass : public testing::TestWithParam<std::string> {};

// Kernels that between them have buffers, atomics, narrow and wide types, barriers, layers, warps,
// handles from memory and textures; their manifests hold what an H200 gave.
TEST_P(DeviceClass, RunsKernelsOrSaysWhatIsMissing) {
  const json profile = profile_of(GetParam());
  const std::string version = profile["profiles"].front()["api-version"];
  for (const std::string manifest :
       {"kernels/atomics", "kernels/narrow", "kernels/wide", "kernels/layers", "kernels/warps",
        "kernels/indirect", "texture_kernels/shift"}) {
    const auto result = run_limited(file_of(GetParam()), {kTests + manifest + ".json"});
    if (version < "1.1") {
      EXPECT_NE(result.exit_code, 0) << manifest;
      EXPECT_NE(result.error.find("it has Vulkan 1.0, and 1.1 is needed"), std::string::npos)
          << result.error;
      continue;
    }
    EXPECT_EQ(result.exit_code, 0) << manifest << "\n" << result.out << result.error;
  }
}

// With and without addresses of buffers: a kernel that stays in its buffer, and one that does not.
TEST_P(DeviceClass, ChecksKernels) {
  const json profile = profile_of(GetParam());
  const std::string version = profile["profiles"].front()["api-version"];
  if (version < "1.1") GTEST_SKIP() << "devices of Vulkan 1.0 are refused";
  const test::TemporaryFolder folder;
  (void)folder.write("store.ptx",
                     ".version 7.0\n.target sm_75\n.address_size 64\n"
                     ".visible .entry store(.param .u64 to, .param .u32 step) {\n"
                     "  .reg .u64 %rd<4>; .reg .u32 %r<4>;\n"
                     "  ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [step]; mov.u32 %r2, %tid.x;\n"
                     "  mul.lo.u32 %r3, %r1, %r2; mul.wide.u32 %rd2, %r3, 4;\n"
                     "  add.u64 %rd3, %rd1, %rd2;\n  st.global.u32 [%rd3], %r2;\n  ret;\n}\n");
  for (const int step : {1, 2}) {
    const json manifest = {{"module", "store.ptx"},
                           {"buffers", {{"to", {{"bytes", 128}}}}},
                           {"launches",
                            {{{"kernel", "store"},
                              {"grid", 1},
                              {"block", 32},
                              {"args", {{{"buffer", "to"}}, {{"u32", step}}}}}}}};
    const auto result = run_limited(
        file_of(GetParam()), {"--sanitize=all", folder.write("store.json", manifest.dump())});
    EXPECT_EQ(result.exit_code, step == 1 ? 0 : 4) << result.error;
    EXPECT_EQ(result.error.find("error: out-of-bounds store of 4 bytes in global memory") !=
                  std::string::npos,
              step == 2)
        << result.error;
    if (step == 2) {
      EXPECT_NE(result.error.find("threads: 16"), std::string::npos) << result.error;
    }
  }
}

/// The test's device as the runtime sees it; nothing where it cannot be used.
std::optional<Candidate> the_device(bool validation = false) {
  std::string notes;
  auto candidates = enumerate_candidates({.validation = validation}, notes, false);
  const int chosen = select_candidate(candidates, device());
  if (chosen < 0) return std::nullopt;
  return candidates[static_cast<std::size_t>(chosen)];
}

// A process has the limits of one file, so this runs in one of its own for each.
TEST(Child, PrintsTheProfile) {
  if (debug_setting("limits").empty()) GTEST_SKIP() << "ShowsNoMoreThanItsFileStates starts this";
  const auto found = the_device();
  json seen = {{"usable", found.has_value()}};
  if (found) {
    for (const Capability& each : capabilities())
      seen[std::string(each.name)] = each.value(found->info.profile);
    seen["shared"] = found->info.profile.max_shared_bytes;
    seen["invocations"] = found->info.profile.max_workgroup_invocations;
    seen["slots"] = found->info.profile.max_slots;
  }
  std::printf("seen: %s\n", seen.dump().c_str());
}

// The runtime's profile of the class: no feature that the file lacks, no limit above the file's.
TEST_P(DeviceClass, ShowsNoMoreThanItsFileStates) {
  const json profile = profile_of(GetParam());
  const json& device = profile["capabilities"]["device"];
  const auto result =
      test::run_process({"/usr/bin/env", test::debug_variable("limits=" + file_of(GetParam())),
                         std::string(PTX2SPV_BINARY_DIR) + "/tests/test_limits",
                         "--gtest_filter=Child.*", "--gtest_output="});
  const std::size_t at = result.out.find("seen: ");
  ASSERT_NE(at, std::string::npos) << result.out << result.error;
  const json seen = json::parse(result.out.substr(at + 6, result.out.find('\n', at) - at - 6));
  const std::string version = profile["profiles"].front()["api-version"];
  ASSERT_EQ(seen["usable"].get<bool>(), version >= "1.1");
  if (!seen["usable"].get<bool>()) return;
  const auto states = [&](const std::string& structure, const std::string& member) {
    return device["features"].value(structure, json::object()).value(member, false);
  };
  const struct {
    const char *row, *structure, *member;
  } rows[] = {
      {"device_addresses", "VkPhysicalDeviceBufferDeviceAddressFeatures", "bufferDeviceAddress"},
      {"int64", "VkPhysicalDeviceFeatures", "shaderInt64"},
      {"float64", "VkPhysicalDeviceFeatures", "shaderFloat64"},
      {"storage8", "VkPhysicalDeviceShaderFloat16Int8Features", "shaderInt8"},
      {"storage16", "VkPhysicalDevice16BitStorageFeatures", "storageBuffer16BitAccess"},
      {"buffer_atomics64", "VkPhysicalDeviceShaderAtomicInt64Features", "shaderBufferInt64Atomics"},
      {"shared_layout", "VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR",
       "workgroupMemoryExplicitLayout"},
  };
  for (const auto& each : rows) {
    ASSERT_TRUE(seen.contains(each.row)) << each.row;
    EXPECT_LE(seen[each.row].get<bool>(), states(each.structure, each.member)) << each.row;
  }
  const json& limits = device["properties"]["VkPhysicalDeviceProperties"]["limits"];
  EXPECT_LE(seen["shared"].get<unsigned>(), limits["maxComputeSharedMemorySize"].get<unsigned>());
  EXPECT_LE(seen["invocations"].get<unsigned>(),
            limits["maxComputeWorkGroupInvocations"].get<unsigned>());
  EXPECT_LE(seen["slots"].get<unsigned>(),
            limits.value("maxPerStageDescriptorStorageBuffers", 1000000u));
}

INSTANTIATE_TEST_SUITE_P(Classes, DeviceClass, testing::ValuesIn(classes()),
                         [](const testing::TestParamInfo<std::string>& each) {
                           std::string name = each.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

/// The test's device through the layer, with the limits of the smallest class.
Candidate open_limited(bool validation) {
  const test::DebugSettings limits("limits=" + file_of("vulkan-1.1"));
  const auto found = the_device(validation);
  EXPECT_TRUE(found) << "the limited device cannot be used";
  return found.value_or(Candidate());
}

VkResult create(const Candidate& limited, VkPhysicalDeviceFeatures2& features,
                std::vector<const char*> extensions, VkDevice& made) {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  return limited.instance->vk.CreateDevice(limited.physical, &info, nullptr, &made);
}

TEST(LimitsLayer, ADeviceIsNotCreatedWithMore) {
  const Candidate limited = open_limited(false);
  ASSERT_TRUE(limited.instance);
  const auto& vk = limited.instance->vk;
  VkPhysicalDeviceProperties properties{};
  vk.GetPhysicalDeviceProperties(limited.physical, &properties);
  EXPECT_EQ(properties.apiVersion, VK_API_VERSION_1_1);
  EXPECT_EQ(properties.limits.maxPerStageDescriptorStorageBuffers, 4u);
  EXPECT_EQ(properties.limits.maxComputeWorkGroupSize[2], 64u);
  EXPECT_GE(properties.limits.minStorageBufferOffsetAlignment, 256u);
  VkPhysicalDeviceBufferDeviceAddressFeatures addresses{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  features.pNext = &addresses;
  vk.GetPhysicalDeviceFeatures2(limited.physical, &features);
  EXPECT_FALSE(addresses.bufferDeviceAddress);
  EXPECT_FALSE(features.features.shaderInt16);
  EXPECT_FALSE(has_extension(device_extensions(*limited.instance, limited.physical),
                             VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME));

  VkDevice made = VK_NULL_HANDLE;
  addresses.bufferDeviceAddress = VK_TRUE;
  VkPhysicalDeviceFeatures2 asked{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  asked.pNext = &addresses;
  EXPECT_EQ(create(limited, asked, {}, made), VK_ERROR_FEATURE_NOT_PRESENT);
  asked.pNext = nullptr;
  asked.features.imageCubeArray = VK_TRUE;
  EXPECT_EQ(create(limited, asked, {}, made), VK_ERROR_FEATURE_NOT_PRESENT);
  asked.features = {};
  EXPECT_EQ(create(limited, asked, {VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME}, made),
            VK_ERROR_EXTENSION_NOT_PRESENT);
  ASSERT_EQ(create(limited, asked, {VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME}, made), VK_SUCCESS);
  // Vulkan 1.1 has the extension's name of it alone.
  EXPECT_FALSE(vk.GetDeviceProcAddr(made, "vkWaitSemaphores"));
  EXPECT_TRUE(vk.GetDeviceProcAddr(made, "vkWaitSemaphoresKHR"));
  reinterpret_cast<PFN_vkDestroyDevice>(vk.GetDeviceProcAddr(made, "vkDestroyDevice"))(made,
                                                                                       nullptr);
}

// The validation layer stands above the one that limits, so it knows the smaller device.
TEST(LimitsLayer, ValidationRefusesAModuleThatExceedsIt) {
  const Candidate limited = open_limited(true);
  ASSERT_TRUE(limited.instance);
  VkPhysicalDeviceFeatures2 none{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkDevice made = VK_NULL_HANDLE;
  ASSERT_EQ(create(limited, none, {}, made), VK_SUCCESS);
  VulkanDevice owner;
  owner.instance = limited.instance;
  owner.handle = made;
  const auto get = limited.instance->vk.GetDeviceProcAddr;
  ASSERT_EQ(owner.vk.load(get, made), nullptr);
  const auto messages = [&] { return limited.instance->validation_messages.load(); };

  VkDescriptorSetLayoutBinding bindings[5] = {};
  for (std::uint32_t i = 0; i < 5; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  for (const std::uint32_t count : {4u, 5u}) {
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = count;
    set.pBindings = bindings;
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    ASSERT_EQ(owner.vk.CreateDescriptorSetLayout(made, &set, nullptr, &layout), VK_SUCCESS);
    VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    info.setLayoutCount = 1;
    info.pSetLayouts = &layout;
    const std::uint64_t before = messages();
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
    owner.vk.CreatePipelineLayout(made, &info, nullptr, &pipeline);
    EXPECT_EQ(messages() > before, count == 5) << count << " storage buffers";
    if (pipeline) owner.vk.DestroyPipelineLayout(made, pipeline, nullptr);
    owner.vk.DestroyDescriptorSetLayout(made, layout, nullptr);
  }
}

TEST(LimitsLayer, AFileThatIsNoProfileIsNamed) {
  const test::TemporaryFolder folder;
  const std::string none = folder.file("none.json");
  const auto missing = run_limited(none, {"--list-devices"});
  EXPECT_NE(missing.exit_code, 0) << missing.out;
  EXPECT_NE(missing.error.find("No such file"), std::string::npos) << missing.error;
  const auto directory = run_limited(folder.path(), {"--list-devices"});
  EXPECT_EQ(directory.exit_code, missing.exit_code) << directory.error;
  EXPECT_NE(directory.error.find("Is a directory"), std::string::npos) << directory.error;
  for (const std::string& text :
       {std::string("[]"), std::string("{"), std::string(R"({"profiles":{},"capabilities":{}})"),
        std::string(R"({"profiles":{"a":{"api-version":"1"}},"capabilities":{}})"),
        std::string(R"({"profiles":{"a":{"api-version":"1.1.0"}},"capabilities":{"d":)"
                    R"({"properties":{"VkPhysicalDeviceProperties":{"limits":)"
                    R"({"maxPushConstantsSize":-1}}}}}})")}) {
    const auto bad = run_limited(folder.write("bad.json", text), {"--list-devices"});
    EXPECT_NE(bad.exit_code, 0) << text;
    EXPECT_NE(bad.error.find("bad.json"), std::string::npos) << text << bad.error;
  }
}

}  // namespace
}  // namespace ptx2spv::runtime
