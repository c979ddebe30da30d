// The Vulkan layer for semaphores, between VkDevices of one process. tests/graphics/run switches it
// on; without it these are tests of the driver's own semaphores, if it has some.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "ptx2spv/vulkan.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv::test {
namespace {

constexpr VkExternalSemaphoreHandleTypeFlagBits kOpaque =
    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;

/// An application has the loader before CUDA starts.
[[maybe_unused]] void* const loader = dlopen("libvulkan.so.1", RTLD_NOW);

/// A VkDevice with one queue, of synchronization2 alone or, of Vulkan 1.0, without any feature.
class Peer {
 public:
  explicit Peer(const vulkan::AdoptedDevice& beside = vulkan::handles(test_device()),
                std::uint32_t version = VK_API_VERSION_1_3)
      : beside_(beside) {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = beside_.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    const char* extensions[] = {VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
    VkPhysicalDeviceVulkan13Features features{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    features.synchronization2 = VK_TRUE;
    VkDeviceCreateInfo create{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    if (version >= VK_API_VERSION_1_3) create.pNext = &features;
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue;
    create.enabledExtensionCount = 1;
    create.ppEnabledExtensionNames = extensions;
    const auto make = of_instance<PFN_vkCreateDevice>("vkCreateDevice");
    made = make(beside_.physical_device, &create, nullptr, &device_);
    if (made != VK_SUCCESS) return;
    call<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device_, beside_.queue_family, 0, &queue_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    if (made != VK_SUCCESS) return;
    call<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(device_);
    for (VkSemaphore each : semaphores_)
      call<PFN_vkDestroySemaphore>("vkDestroySemaphore")(device_, each, nullptr);
    for (VkFence each : fences_) call<PFN_vkDestroyFence>("vkDestroyFence")(device_, each, nullptr);
    call<PFN_vkDestroyDevice>("vkDestroyDevice")(device_, nullptr);
  }

  VkResult made = VK_SUCCESS;

  VkSemaphore semaphore(bool timeline, bool exported, std::uint64_t initial = 0) {
    VkExportSemaphoreCreateInfo share{VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO};
    share.handleTypes = kOpaque;
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    if (exported) type.pNext = &share;
    type.semaphoreType = timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY;
    type.initialValue = initial;
    VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
    VkSemaphore out = VK_NULL_HANDLE;
    EXPECT_EQ(call<PFN_vkCreateSemaphore>("vkCreateSemaphore")(device_, &create, nullptr, &out),
              VK_SUCCESS);
    semaphores_.push_back(out);
    return out;
  }
  int describe(VkSemaphore semaphore) const {
    const VkSemaphoreGetFdInfoKHR info{VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, nullptr,
                                       semaphore, kOpaque};
    int fd = -1;
    EXPECT_EQ(call<PFN_vkGetSemaphoreFdKHR>("vkGetSemaphoreFdKHR")(device_, &info, &fd),
              VK_SUCCESS);
    return fd;
  }
  VkResult import(VkSemaphore semaphore, int fd) const {
    const VkImportSemaphoreFdInfoKHR info{
        VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR, nullptr, semaphore, 0, kOpaque, fd};
    return call<PFN_vkImportSemaphoreFdKHR>("vkImportSemaphoreFdKHR")(device_, &info);
  }
  VkSemaphore imported(bool timeline, int fd) {
    VkSemaphore out = semaphore(timeline, false);
    EXPECT_EQ(import(out, fd), VK_SUCCESS);
    return out;
  }
  /// Waits for one, signals the other; either may be null. The fence is signalled then.
  VkFence submit(bool second, VkSemaphore wait, std::uint64_t wait_value, VkSemaphore signal,
                 std::uint64_t signal_value) {
    VkFenceCreateInfo create{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    EXPECT_EQ(call<PFN_vkCreateFence>("vkCreateFence")(device_, &create, nullptr, &fence),
              VK_SUCCESS);
    fences_.push_back(fence);
    EXPECT_EQ(second ? submit2(fence, wait, wait_value, signal, signal_value)
                     : submit1(fence, wait, wait_value, signal, signal_value),
              VK_SUCCESS);
    return fence;
  }
  bool done(VkFence fence, std::uint64_t milliseconds) const {
    return call<PFN_vkWaitForFences>("vkWaitForFences")(device_, 1, &fence, VK_TRUE,
                                                        milliseconds * 1'000'000) == VK_SUCCESS;
  }
  std::uint64_t value(VkSemaphore semaphore) const {
    std::uint64_t out = ~0ULL;
    EXPECT_EQ(call<PFN_vkGetSemaphoreCounterValue>("vkGetSemaphoreCounterValue")(device_, semaphore,
                                                                                 &out),
              VK_SUCCESS);
    return out;
  }
  void signal(VkSemaphore semaphore, std::uint64_t value) const {
    const VkSemaphoreSignalInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, semaphore,
                                     value};
    EXPECT_EQ(call<PFN_vkSignalSemaphore>("vkSignalSemaphore")(device_, &info), VK_SUCCESS);
  }
  bool reaches(VkSemaphore semaphore, std::uint64_t value, std::uint64_t milliseconds) const {
    VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &value;
    return call<PFN_vkWaitSemaphores>("vkWaitSemaphores")(device_, &info,
                                                          milliseconds * 1'000'000) == VK_SUCCESS;
  }

  /// Why there is no such device; empty: there is one.
  static std::string missing(bool timeline) {
    const vulkan::AdoptedDevice device = vulkan::handles(test_device());
    const auto query = reinterpret_cast<PFN_vkGetPhysicalDeviceExternalSemaphoreProperties>(
        device.get_instance_proc_addr(device.instance,
                                      "vkGetPhysicalDeviceExternalSemaphoreProperties"));
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY;
    const VkPhysicalDeviceExternalSemaphoreInfo info{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO, &type, kOpaque};
    VkExternalSemaphoreProperties has{VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    query(device.physical_device, &info, &has);
    return has.externalSemaphoreFeatures
               ? ""
               : "the device shares no such semaphores, and the layer is off";
  }

 private:
  template <typename F>
  F of_instance(const char* name) const {
    return reinterpret_cast<F>(beside_.get_instance_proc_addr(beside_.instance, name));
  }
  template <typename F>
  F call(const char* name) const {
    return reinterpret_cast<F>(
        of_instance<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")(device_, name));
  }
  VkResult submit1(VkFence fence, VkSemaphore wait, std::uint64_t wait_value, VkSemaphore signal,
                   std::uint64_t signal_value) const {
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    values.waitSemaphoreValueCount = wait ? 1 : 0;
    values.pWaitSemaphoreValues = &wait_value;
    values.signalSemaphoreValueCount = signal ? 1 : 0;
    values.pSignalSemaphoreValues = &signal_value;
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
    info.waitSemaphoreCount = values.waitSemaphoreValueCount;
    info.pWaitSemaphores = &wait;
    info.pWaitDstStageMask = &stage;
    info.signalSemaphoreCount = values.signalSemaphoreValueCount;
    info.pSignalSemaphores = &signal;
    return call<PFN_vkQueueSubmit>("vkQueueSubmit")(queue_, 1, &info, fence);
  }
  VkResult submit2(VkFence fence, VkSemaphore wait, std::uint64_t wait_value, VkSemaphore signal,
                   std::uint64_t signal_value) const {
    const auto info_of = [](VkSemaphore semaphore, std::uint64_t value) {
      VkSemaphoreSubmitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, nullptr, semaphore,
                                 value};
      info.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
      return info;
    };
    const VkSemaphoreSubmitInfo waits = info_of(wait, wait_value);
    const VkSemaphoreSubmitInfo signals = info_of(signal, signal_value);
    VkSubmitInfo2 info{VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
    info.waitSemaphoreInfoCount = wait ? 1 : 0;
    info.pWaitSemaphoreInfos = &waits;
    info.signalSemaphoreInfoCount = signal ? 1 : 0;
    info.pSignalSemaphoreInfos = &signals;
    return call<PFN_vkQueueSubmit2>("vkQueueSubmit2")(queue_, 1, &info, fence);
  }

  const vulkan::AdoptedDevice beside_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::vector<VkSemaphore> semaphores_;
  std::vector<VkFence> fences_;
};

constexpr std::uint64_t kShort = 60, kLong = 20'000;

bool layered() {
  const char* layers = std::getenv("VK_INSTANCE_LAYERS");
  return layers && std::strstr(layers, "VK_LAYER_PTX2SPV_semaphores");
}

/// Of binary or timeline semaphores, by vkQueueSubmit or vkQueueSubmit2.
class SemaphoreLayer : public testing::TestWithParam<std::array<bool, 2>> {
 protected:
  void SetUp() override {
    if (const std::string why = Peer::missing(timeline); !why.empty()) GTEST_SKIP() << why;
  }
  const bool timeline = GetParam()[0], second = GetParam()[1];
};

TEST_P(SemaphoreLayer, WorkWaitsForTheOtherDevice) {
  Peer one, other;
  ASSERT_TRUE(one.made == VK_SUCCESS && other.made == VK_SUCCESS);
  const VkSemaphore here = one.semaphore(timeline, true);
  const VkSemaphore there = other.imported(timeline, one.describe(here));
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    // A wait may be submitted first where the semaphore is a timeline.
    VkFence waits = VK_NULL_HANDLE;
    if (timeline) {
      waits = other.submit(second, there, turn, VK_NULL_HANDLE, 0);
      EXPECT_FALSE(other.done(waits, kShort)) << "nobody signalled";
    }
    const VkFence signals = one.submit(second, VK_NULL_HANDLE, 0, here, turn);
    if (!timeline) waits = other.submit(second, there, 0, VK_NULL_HANDLE, 0);
    EXPECT_TRUE(one.done(signals, kLong) && other.done(waits, kLong));
    if (timeline) {
      EXPECT_EQ(other.value(there), turn);
    }
  }
}

TEST_P(SemaphoreLayer, ChainsAcrossThreeDevices) {
  Peer peers[3];
  VkSemaphore own[3], before[3];
  for (int i = 0; i < 3; ++i) own[i] = peers[i].semaphore(timeline, true);
  for (int i = 0; i < 3; ++i)
    before[i] = peers[i].imported(timeline, peers[(i + 2) % 3].describe(own[(i + 2) % 3]));
  constexpr std::uint64_t kTurns = 200;
  std::vector<VkFence> last;
  for (std::uint64_t turn = 1; turn <= kTurns; ++turn)
    for (int i = 0; i < 3; ++i) {
      const bool first = turn == 1 && i == 0;
      last.push_back(peers[i].submit(second, first ? VK_NULL_HANDLE : before[i],
                                     i ? turn : turn - 1, own[i], turn));
    }
  EXPECT_TRUE(peers[2].done(last.back(), kLong));
  if (timeline)
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(peers[i].reaches(own[i], kTurns, kLong));
    }
}

TEST_P(SemaphoreLayer, MistakesAndEnds) {
  Peer one, other;
  const VkSemaphore here = one.semaphore(timeline, true), there = other.semaphore(timeline, false);
  // A failed import leaves the layer's as they were. NVIDIA's take none after it.
  const VkSemaphore spoilt = layered() ? there : other.semaphore(timeline, false);
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_NE(other.import(spoilt, ends[0]), VK_SUCCESS) << "a pipe is no semaphore";
  close(ends[0]);
  close(ends[1]);
  const int twice = one.describe(here), again = dup(twice);
  EXPECT_EQ(other.import(there, twice), VK_SUCCESS);
  EXPECT_EQ(other.import(there, again), VK_SUCCESS) << "over what was imported";
  // Devices go while a thread still expects a signal.
  one.submit(second, VK_NULL_HANDLE, 0, here, 1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SemaphoreLayer,
                         testing::Values(std::array{false, false}, std::array{false, true},
                                         std::array{true, false}, std::array{true, true}),
                         [](const auto& kind) {
                           return std::string(kind.param[0] ? "Timeline" : "Binary") +
                                  (kind.param[1] ? "Submit2" : "Submit");
                         });

TEST(SemaphoreLayerValues, TheHostSignalsAndWaits) {
  if (const std::string why = Peer::missing(true); !why.empty()) GTEST_SKIP() << why;
  Peer one, other;
  const VkSemaphore here = one.semaphore(true, true, 40);
  const VkSemaphore there = other.imported(true, one.describe(here));
  EXPECT_EQ(other.value(there), 40U);
  EXPECT_FALSE(other.reaches(there, 41, kShort));
  one.signal(here, 41);
  EXPECT_EQ(other.value(there), 41U);
  other.signal(there, 50);
  EXPECT_TRUE(one.reaches(here, 50, 0));
  const VkFence waits = one.submit(false, here, 60, VK_NULL_HANDLE, 0);
  EXPECT_FALSE(one.done(waits, kShort));
  other.submit(true, VK_NULL_HANDLE, 0, there, 60);
  EXPECT_TRUE(one.done(waits, kLong));
}

TEST(SemaphoreLayerValues, ApplicationsOfVulkan10) {
  if (const std::string why = Peer::missing(false); !why.empty()) GTEST_SKIP() << why;
  if (!loader) GTEST_SKIP() << "there is no Vulkan loader";
  vulkan::AdoptedDevice old;
  old.get_instance_proc_addr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
  const auto get = [&](const char* name) { return old.get_instance_proc_addr(old.instance, name); };
  const char* extensions[] = {VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME,
                              VK_KHR_EXTERNAL_SEMAPHORE_CAPABILITIES_EXTENSION_NAME};
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_0;
  VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  create.pApplicationInfo = &application;
  create.enabledExtensionCount = 2;
  create.ppEnabledExtensionNames = extensions;
  ASSERT_EQ(reinterpret_cast<PFN_vkCreateInstance>(get("vkCreateInstance"))(&create, nullptr,
                                                                            &old.instance),
            VK_SUCCESS);
  VkPhysicalDevice list[8];
  std::uint32_t count = 8;
  reinterpret_cast<PFN_vkEnumeratePhysicalDevices>(get("vkEnumeratePhysicalDevices"))(old.instance,
                                                                                      &count, list);
  for (std::uint32_t i = 0; i < count; ++i) {
    VkPhysicalDeviceProperties properties{};
    reinterpret_cast<PFN_vkGetPhysicalDeviceProperties>(get("vkGetPhysicalDeviceProperties"))(
        list[i], &properties);
    if (test_device().info().name == properties.deviceName) old.physical_device = list[i];
  }
  if (old.physical_device) {
    Peer one(old, VK_API_VERSION_1_0), other(old, VK_API_VERSION_1_0);
    ASSERT_TRUE(one.made == VK_SUCCESS && other.made == VK_SUCCESS);
    const VkSemaphore here = one.semaphore(false, true);
    const VkSemaphore there = other.imported(false, one.describe(here));
    const VkFence signals = one.submit(false, VK_NULL_HANDLE, 0, here, 0);
    const VkFence waits = other.submit(false, there, 0, VK_NULL_HANDLE, 0);
    EXPECT_TRUE(one.done(signals, kLong) && other.done(waits, kLong));
  }
  reinterpret_cast<PFN_vkDestroyInstance>(get("vkDestroyInstance"))(old.instance, nullptr);
  if (!old.physical_device) GTEST_SKIP() << "the loader does not list the device";
}

/// The kinds of devices, as an instance of the engine is told them by both functions.
std::vector<VkPhysicalDeviceType> kinds_told_to(const char* engine) {
  const auto get =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_1;
  application.pEngineName = engine;
  VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  create.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  const auto of = [&](const char* name) { return get(instance, name); };
  EXPECT_EQ(
      reinterpret_cast<PFN_vkCreateInstance>(of("vkCreateInstance"))(&create, nullptr, &instance),
      VK_SUCCESS);
  VkPhysicalDevice list[16];
  std::uint32_t count = 16;
  reinterpret_cast<PFN_vkEnumeratePhysicalDevices>(of("vkEnumeratePhysicalDevices"))(instance,
                                                                                     &count, list);
  std::vector<VkPhysicalDeviceType> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    VkPhysicalDeviceProperties properties{};
    reinterpret_cast<PFN_vkGetPhysicalDeviceProperties>(of("vkGetPhysicalDeviceProperties"))(
        list[i], &properties);
    VkPhysicalDeviceProperties2 more{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(of("vkGetPhysicalDeviceProperties2"))(
        list[i], &more);
    EXPECT_EQ(more.properties.deviceType, properties.deviceType) << properties.deviceName;
    out.push_back(properties.deviceType);
  }
  reinterpret_cast<PFN_vkDestroyInstance>(of("vkDestroyInstance"))(instance, nullptr);
  return out;
}

// Programs for NVIDIA's GPUs look for a discrete one.
TEST(SemaphoreLayerDevices, CpusAloneAreDiscreteGpusToApplications) {
  if (!loader) GTEST_SKIP() << "there is no Vulkan loader";
  const char* layers = std::getenv("VK_INSTANCE_LAYERS");
  if (!layers || !std::strstr(layers, "VK_LAYER_PTX2SPV_semaphores"))
    GTEST_SKIP() << "the layer is off";
  const std::vector<VkPhysicalDeviceType> truth = kinds_told_to("ptx2spv");
  const std::vector<VkPhysicalDeviceType> cpus(truth.size(), VK_PHYSICAL_DEVICE_TYPE_CPU);
  const std::vector<VkPhysicalDeviceType> gpus(truth.size(), VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
  EXPECT_FALSE(truth.empty());
  EXPECT_EQ(kinds_told_to("an engine"), truth == cpus ? gpus : truth);
  EXPECT_EQ(kinds_told_to(nullptr), truth == cpus ? gpus : truth);
  ASSERT_EQ(setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1), 0);
  EXPECT_EQ(kinds_told_to("an engine"), truth);
  ASSERT_EQ(unsetenv("LIBGL_ALWAYS_SOFTWARE"), 0);
}

}  // namespace
}  // namespace ptx2spv::test
