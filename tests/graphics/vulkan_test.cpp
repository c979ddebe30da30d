// An application's Vulkan memory, images and semaphores in CUDA, by file descriptors. The
// application has an instance and a VkDevice of its own.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "tests/graphics/graphics.hpp"
#include "tests/runtime/application.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv::test {
namespace {

constexpr CUstream kNoStream = nullptr;
constexpr int kOpaqueFd = 1, kTimelineFd = 9;

/// A test with the runtime on a device of its own beside CUDA's.
class External : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(driver("cuInit", 0U), eSuccess);
    CUcontext context = nullptr;
    ASSERT_EQ(driver("cuDevicePrimaryCtxRetain", &context, 0), eSuccess);
    ASSERT_EQ(driver("cuCtxSetCurrent", context), eSuccess);
  }
  static CUresult import(CUexternalMemory* made, int fd, std::uint64_t bytes, unsigned flags = 0,
                         int type = kOpaqueFd) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = type;
    desc.handle.fd = fd;
    desc.size = bytes;
    desc.flags = flags;
    return driver("cuImportExternalMemory", made,
                  static_cast<const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*>(&desc));
  }
  static CUresult map(CUexternalMemory memory, CUdeviceptr* address, std::uint64_t offset,
                      std::uint64_t bytes) {
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc{offset, bytes, 0};
    return driver("cuExternalMemoryGetMappedBuffer", address, memory, &desc);
  }
  static CUresult import(CUexternalSemaphore* made, int fd, int type) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
    desc.type = type;
    desc.handle.fd = fd;
    return driver("cuImportExternalSemaphore", made,
                  static_cast<const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC*>(&desc));
  }
  static bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }
  /// By a kernel, which is not waited for.
  static void flip(CUdeviceptr address, unsigned count, CUstream stream = nullptr) {
    unsigned pattern = 0x5a;
    void* params[] = {&address, &count, &pattern};
    EXPECT_EQ(launch(kernel("flip_memory"), count, 1, params, stream), eSuccess);
  }
};

std::vector<std::byte> flipped(std::vector<std::byte> bytes) {
  for (std::byte& each : bytes) each ^= std::byte{0x5a};
  return bytes;
}

TEST_F(External, BuffersAtAnOffset) {
  constexpr std::size_t kBytes = 262144, kOffset = 65536, kPart = 4100;
  auto bytes = random_bytes(kBytes, 1);
  Buffer here = must(vulkan::create_exportable(test_device(), kBytes));
  must(here.upload(0, bytes));
  const vulkan::MemoryDescriptor exported = must(vulkan::export_memory(here));
  CUexternalMemory memory = nullptr;
  ASSERT_EQ(import(&memory, exported.fd, exported.bytes), eSuccess);
  EXPECT_FALSE(is_open(exported.fd)) << "it is the library's";
  CUdeviceptr part = 0, whole = 0;
  ASSERT_EQ(map(memory, &part, kOffset, kPart), eSuccess);
  ASSERT_EQ(map(memory, &whole, 0, kBytes), eSuccess);
  flip(part, kPart);
  std::vector<std::byte> seen(kBytes);
  EXPECT_EQ(driver("cuMemcpyDtoH_v2", static_cast<void*>(seen.data()), whole, kBytes), eSuccess);
  for (std::size_t i = 0; i < kPart; ++i) bytes[kOffset + i] ^= std::byte{0x5a};
  EXPECT_EQ(seen == bytes, true) << "both mappings are the same memory";
  must(here.download(0, seen));
  EXPECT_EQ(seen == bytes, true) << "and the application's";
  CUdeviceptr none = 0;
  EXPECT_EQ(map(memory, &none, kBytes, 4), eInvalidValue);
  EXPECT_EQ(map(memory, &none, 0, kBytes + 4), eInvalidValue);
  EXPECT_EQ(driver("cuMemFree_v2", part), eSuccess);
  EXPECT_EQ(driver("cuDestroyExternalMemory", memory), eSuccess);
  EXPECT_EQ(driver("cuDestroyExternalMemory", memory), eInvalidResourceHandle);
  EXPECT_EQ(map(memory, &none, 0, 4), eInvalidResourceHandle);
  EXPECT_EQ(driver("cuMemFree_v2", whole), eSuccess) << "a mapping outlives its memory's handle";
}

TEST_F(External, MistakesOfMemory) {
  CUexternalMemory memory = nullptr;
  EXPECT_EQ(import(&memory, -1, 4096), eInvalidValue);
  const int file = open("/dev/null", O_RDONLY);
  EXPECT_EQ(import(&memory, file, 0), eInvalidValue);
  EXPECT_EQ(import(&memory, file, 4096, 2), eInvalidValue);
  EXPECT_EQ(import(&memory, file, 4096, 0, 5), eNotSupported) << "Direct3D's";
  EXPECT_TRUE(is_open(file)) << "a failed import leaves it to the program";
  close(file);
}

/// An image of the application's own, which need not be as the runtime makes them.
struct Kind {
  const char* name;
  VkFormat format;
  CUarray_format cuda;
  unsigned channels, texel;
  unsigned width, height, depth, layers, levels;
  bool cube, dedicated;
  VkDeviceSize offset;
};
constexpr Kind kKinds[] = {
    {"rgba8", VK_FORMAT_R8G8B8A8_UNORM, kUnsignedInt8, 4, 4, 61, 33, 1, 1, 1, false, false, 0},
    {"bgra8", VK_FORMAT_B8G8R8A8_UNORM, kUnsignedInt8, 4, 4, 64, 64, 1, 1, 1, false, true, 0},
    {"levels", VK_FORMAT_R8G8B8A8_UNORM, kUnsignedInt8, 4, 4, 64, 32, 1, 1, 7, false, true, 0},
    {"layers", VK_FORMAT_R16G16B16A16_SFLOAT, kHalf, 4, 8, 20, 12, 1, 5, 3, false, false, 0},
    {"six layers", VK_FORMAT_R32_UINT, kUnsignedInt32, 1, 4, 32, 32, 1, 6, 1, false, false, 0},
    {"cube", VK_FORMAT_R8G8B8A8_UINT, kUnsignedInt8, 4, 4, 32, 32, 1, 6, 4, true, false, 0},
    {"3D", VK_FORMAT_R32_SFLOAT, kFloat, 1, 4, 18, 10, 6, 1, 1, false, false, 0},
    {"float4", VK_FORMAT_R32G32B32A32_SFLOAT, kFloat, 4, 16, 31, 17, 1, 1, 2, false, true, 0},
    {"at 64K", VK_FORMAT_R32G32_UINT, kUnsignedInt32, 2, 8, 40, 24, 1, 1, 1, false, false, 65536},
    {"r8", VK_FORMAT_R8_UNORM, kUnsignedInt8, 1, 1, 50, 7, 1, 1, 1, false, false, 0},
};

/// The image in memory that is exported, and what the application sees of it.
class Picture {
 public:
  Picture(Application& application, const Device& device, const Kind& kind)
      : vk_(application.vk), handles_(application.handles()) {
    VkExternalMemoryImageCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO};
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkImageCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    create.pNext = &external;
    create.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT;
    if (kind.cube) create.flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
    create.imageType = kind.depth > 1 ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D;
    create.format = kind.format;
    create.extent = {kind.width, kind.height, kind.depth};
    create.mipLevels = kind.levels;
    create.arrayLayers = kind.layers;
    create.samples = VK_SAMPLE_COUNT_1_BIT;
    create.usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                   VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    ok(vk_.CreateImage(handles_.device, &create, nullptr, &image_));
    VkMemoryRequirements needs{};
    vk_.GetImageMemoryRequirements(handles_.device, image_, &needs);
    bytes = needs.size + kind.offset;
    VkMemoryDedicatedAllocateInfo dedicated{VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
    dedicated.image = image_;
    VkExportMemoryAllocateInfo exported{VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO};
    exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    if (kind.dedicated) exported.pNext = &dedicated;
    VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.pNext = &exported;
    allocate.allocationSize = bytes;
    while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1)) ++allocate.memoryTypeIndex;
    ok(vk_.AllocateMemory(handles_.device, &allocate, nullptr, &memory_));
    ok(vk_.BindImageMemory(handles_.device, image_, memory_, kind.offset));
    enter_general(application);
    VkMemoryGetFdInfoKHR get{VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR};
    get.memory = memory_;
    get.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    ok(find<PFN_vkGetMemoryFdKHR>("vkGetMemoryFdKHR")(handles_.device, &get, &fd));

    ArrayDesc desc;
    desc.geometry = kind.depth > 1 ? Geometry::d3 : kind.layers > 1 ? Geometry::a2d : Geometry::d2;
    desc.format = kind.texel / kind.channels == 1   ? abi::SurfaceFormat::u8
                  : kind.texel / kind.channels == 2 ? abi::SurfaceFormat::u16
                                                    : abi::SurfaceFormat::u32;
    desc.channels = kind.channels;
    desc.width = kind.width;
    desc.height = kind.height;
    desc.depth = kind.depth;
    desc.layers = kind.layers;
    desc.levels = kind.levels;
    array.emplace(must(vulkan::import(device, vulkan::ImageHandle{image_, kind.format}, desc)));
  }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  ~Picture() {
    array.reset();
    vk_.DeviceWaitIdle(handles_.device);
    vk_.DestroyImage(handles_.device, image_, nullptr);
    vk_.FreeMemory(handles_.device, memory_, nullptr);
  }
  std::optional<Array> array;  ///< what the application sees
  std::uint64_t bytes = 0;
  int fd = -1;

 private:
  static void ok(VkResult result) { ASSERT_EQ(result, VK_SUCCESS); }
  template <class F>
  F find(const char* name) const {
    const auto get = reinterpret_cast<PFN_vkGetDeviceProcAddr>(
        handles_.get_instance_proc_addr(handles_.instance, "vkGetDeviceProcAddr"));
    return reinterpret_cast<F>(get(handles_.device, name));
  }
  void enter_general(Application& application) {
    VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image_;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                                VK_REMAINING_ARRAY_LAYERS};
    VkCommandBuffer commands = application.begin();
    vk_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                           VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1,
                           &barrier);
    application.end(commands);
    application.run(commands);
  }
  decltype(Application::vk)& vk_;
  vulkan::AdoptedDevice handles_;
  VkImage image_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
};

TEST_F(External, ImagesOfEveryKindBothWays) {
  Application application(test_device());
  const Device device = application.adopt();
  for (const Kind& kind : kKinds) {
    Picture picture(application, device, kind);
    std::vector<std::vector<std::byte>> levels;
    for (unsigned level = 0; level < kind.levels; ++level) {
      levels.push_back(random_bytes(picture.array->bytes(level), level + 1));
      must(picture.array->upload(levels.back(), level));
    }
    CUexternalMemory memory = nullptr;
    ASSERT_EQ(import(&memory, picture.fd, picture.bytes, kind.dedicated), eSuccess) << kind.name;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc{};
    desc.offset = kind.offset;
    desc.numLevels = kind.levels;
    desc.arrayDesc.Width = kind.width;
    desc.arrayDesc.Height = kind.height;
    desc.arrayDesc.Depth = kind.depth > 1 ? kind.depth : kind.layers > 1 ? kind.layers : 0;
    desc.arrayDesc.Format = kind.cuda;
    desc.arrayDesc.NumChannels = kind.channels;
    desc.arrayDesc.Flags = kArraySurface | kArrayColour;
    if (kind.cube)
      desc.arrayDesc.Flags |= kArrayCubemap;
    else if (kind.layers > 1)
      desc.arrayDesc.Flags |= kArrayLayered;
    CUmipmappedArray mipmap = nullptr;
    ASSERT_EQ(driver("cuExternalMemoryGetMappedMipmappedArray", &mipmap, memory,
                     static_cast<const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC*>(&desc)),
              eSuccess)
        << kind.name;
    for (unsigned level = 0; level < kind.levels; ++level) {
      CUarray array = nullptr;
      ASSERT_EQ(driver("cuMipmappedArrayGetLevel", &array, mipmap, level), eSuccess);
      std::vector<std::byte> seen;
      ASSERT_EQ(download(array, seen), eSuccess);
      EXPECT_EQ(seen == levels[level], true) << kind.name << " level " << level << " read";
      ASSERT_EQ(upload(array, flipped(seen)), eSuccess);
      must(picture.array->download(seen, level));
      EXPECT_EQ(seen == flipped(levels[level]), true)
          << kind.name << " level " << level << " written";
    }
    EXPECT_EQ(driver("cuMipmappedArrayDestroy", mipmap), eSuccess);
    EXPECT_EQ(driver("cuDestroyExternalMemory", memory), eSuccess);
  }
}

TEST_F(External, ImagesThatDoNotFit) {
  Application application(test_device());
  const Device device = application.adopt();
  Picture picture(application, device, kKinds[0]);
  CUexternalMemory memory = nullptr;
  ASSERT_EQ(import(&memory, picture.fd, picture.bytes), eSuccess);
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc{};
  desc.numLevels = 1;
  desc.arrayDesc.Width = desc.arrayDesc.Height = 512;
  desc.arrayDesc.Format = kFloat;
  desc.arrayDesc.NumChannels = 4;
  CUmipmappedArray mipmap = nullptr;
  const auto map_it = [&] {
    return driver("cuExternalMemoryGetMappedMipmappedArray", &mipmap, memory,
                  static_cast<const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC*>(&desc));
  };
  EXPECT_EQ(map_it(), eInvalidValue);
  desc.arrayDesc.Width = desc.arrayDesc.Height = 8;
  desc.offset = 3;
  EXPECT_EQ(map_it(), eInvalidValue);
  desc.offset = 0;
  desc.numLevels = 0;
  EXPECT_EQ(map_it(), eInvalidValue);
  EXPECT_EQ(driver("cuDestroyExternalMemory", memory), eSuccess);
}

/// A semaphore of the application's in CUDA; false: the device has none, which both sides say.
bool share(vulkan::ExternalSemaphore& made, CUexternalSemaphore& there) {
  auto created = vulkan::ExternalSemaphore::create(test_device(), false);
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
  desc.type = kOpaqueFd;
  desc.handle.fd = created ? must(created->export_descriptor()) : open("/dev/null", O_RDONLY);
  const CUresult code = driver("cuImportExternalSemaphore", &there,
                               static_cast<const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC*>(&desc));
  if (!created) {
    EXPECT_EQ(code, eNotSupported);
    close(desc.handle.fd);
    return false;
  }
  EXPECT_EQ(code, eSuccess);
  made = std::move(*created);
  return true;
}

TEST_F(External, SemaphoresOrderStreamsAndGraphs) {
  constexpr std::size_t kBytes = 4096;
  auto first = vulkan::ExternalSemaphore::create(test_device(), false);
  CUexternalSemaphore ready = nullptr, done = nullptr;
  if (!first) {
    const int file = open("/dev/null", O_RDONLY);
    EXPECT_EQ(import(&ready, file, kOpaqueFd), eNotSupported);
    EXPECT_TRUE(is_open(file));
    close(file);
    GTEST_SKIP() << first.error().text << ", which CUDA's import says, too";
  }
  vulkan::ExternalSemaphore here_ready = *first, here_done = *first;
  ASSERT_TRUE(share(here_ready, ready) && share(here_done, done));
  Buffer here = must(vulkan::create_exportable(test_device(), kBytes));
  const vulkan::MemoryDescriptor exported = must(vulkan::export_memory(here));
  CUexternalMemory memory = nullptr;
  ASSERT_EQ(import(&memory, exported.fd, exported.bytes), eSuccess);
  CUdeviceptr address = 0;
  ASSERT_EQ(map(memory, &address, 0, kBytes), eSuccess);
  Stream stream = must(Stream::create(test_device()));
  CUstream other = nullptr;
  ASSERT_EQ(driver("cuStreamCreate", &other, 0U), eSuccess);
  const CUDA_EXTERNAL_SEMAPHORE_PARAMS params{};

  // The same work captured, and as nodes made one by one.
  CUgraph captured = nullptr, made = nullptr;
  constexpr int kRelaxed = 2;
  ASSERT_EQ(driver("cuStreamBeginCapture_v2", other, kRelaxed), eSuccess);
  const CUexternalSemaphore ready_list[] = {ready}, done_list[] = {done};
  EXPECT_EQ(driver("cuWaitExternalSemaphoresAsync", &ready_list[0], &params, 1U, other), eSuccess);
  flip(address, kBytes, other);
  EXPECT_EQ(driver("cuSignalExternalSemaphoresAsync", &done_list[0], &params, 1U, other), eSuccess);
  ASSERT_EQ(driver("cuStreamEndCapture", other, &captured), eSuccess);

  ASSERT_EQ(driver("cuGraphCreate", &made, 0U), eSuccess);
  CUgraphNode wait = nullptr, copy = nullptr, signal = nullptr;
  CUexternalSemaphore wrong_first[] = {done}, right[] = {ready};
  CUDA_EXT_SEM_NODE_PARAMS node{wrong_first, &params, 1};
  const CUgraphNode* none = nullptr;
  const auto* given = static_cast<const CUDA_EXT_SEM_NODE_PARAMS*>(&node);
  ASSERT_EQ(
      driver("cuGraphAddExternalSemaphoresWaitNode", &wait, made, none, std::size_t{0}, given),
      eSuccess);
  node.extSemArray = right;
  ASSERT_EQ(driver("cuGraphExternalSemaphoresWaitNodeSetParams", wait, given), eSuccess);
  CUDA_EXT_SEM_NODE_PARAMS seen{};
  ASSERT_EQ(driver("cuGraphExternalSemaphoresWaitNodeGetParams", wait, &seen), eSuccess);
  EXPECT_EQ(seen.numExtSems, 1U);
  EXPECT_EQ(seen.extSemArray[0], ready);
  EXPECT_EQ(driver("cuGraphExternalSemaphoresSignalNodeGetParams", wait, &seen), eInvalidValue);
  int type = 0;
  EXPECT_EQ(driver("cuGraphNodeGetType", wait, &type), eSuccess);
  EXPECT_EQ(type, 9);
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = address;
  fill.elementSize = 1;
  fill.value = 0x77;
  fill.width = kBytes;
  fill.height = 1;
  CUcontext context = nullptr;
  ASSERT_EQ(driver("cuCtxGetCurrent", &context), eSuccess);
  ASSERT_EQ(driver("cuGraphAddMemsetNode", &copy, made, static_cast<const CUgraphNode*>(&wait),
                   std::size_t{1}, static_cast<const CUDA_MEMSET_NODE_PARAMS*>(&fill), context),
            eSuccess);
  node.extSemArray = wrong_first;
  ASSERT_EQ(driver("cuGraphAddExternalSemaphoresSignalNode", &signal, made,
                   static_cast<const CUgraphNode*>(&copy), std::size_t{1}, given),
            eSuccess);
  EXPECT_EQ(driver("cuGraphExternalSemaphoresSignalNodeSetParams", signal, given), eSuccess);
  CUgraphExec execs[2] = {};
  ASSERT_EQ(driver("cuGraphInstantiateWithFlags", &execs[0], captured, 0ULL), eSuccess);
  ASSERT_EQ(driver("cuGraphInstantiateWithFlags", &execs[1], made, 0ULL), eSuccess);
  EXPECT_EQ(driver("cuGraphExecExternalSemaphoresSignalNodeSetParams", execs[1], signal, given),
            eSuccess);
  node.extSemArray = right;
  EXPECT_EQ(driver("cuGraphExecExternalSemaphoresWaitNodeSetParams", execs[1], wait, given),
            eSuccess);

  auto bytes = random_bytes(kBytes, 8);
  for (int way = 0; way < 3; ++way) {
    must(here.upload(0, bytes));
    must(vulkan::signal(stream, std::vector{here_ready.at()}));
    if (way == 0) {
      EXPECT_EQ(runtime("cudaWaitExternalSemaphoresAsync", &ready_list[0], &params, 1U, other),
                eSuccess);
      flip(address, kBytes, other);
      EXPECT_EQ(runtime("cudaSignalExternalSemaphoresAsync", &done_list[0], &params, 1U, other),
                eSuccess);
    } else {
      EXPECT_EQ(driver("cuGraphLaunch", execs[way - 1], other), eSuccess);
    }
    must(vulkan::wait(stream, std::vector{here_done.at()}));
    must(stream.synchronize());
    std::vector<std::byte> now(kBytes);
    must(here.download(0, now));
    const auto expected =
        way == 2 ? std::vector<std::byte>(kBytes, std::byte{0x77}) : flipped(bytes);
    EXPECT_EQ(now == expected, true) << "way " << way;
    EXPECT_EQ(driver("cuStreamSynchronize", other), eSuccess);
  }
  CUDA_EXTERNAL_SEMAPHORE_PARAMS flags{};
  flags.flags = 1;
  EXPECT_EQ(driver("cuSignalExternalSemaphoresAsync", &done_list[0],
                   static_cast<const CUDA_EXTERNAL_SEMAPHORE_PARAMS*>(&flags), 1U, other),
            eInvalidValue);
  EXPECT_EQ(driver("cuDestroyExternalSemaphore", ready), eSuccess);
  EXPECT_EQ(driver("cuDestroyExternalSemaphore", done), eSuccess);
  EXPECT_EQ(driver("cuSignalExternalSemaphoresAsync", &done_list[0], &params, 1U, other),
            eInvalidResourceHandle);
}

TEST_F(External, TimelinesWhereTheDeviceHasThem) {
  auto created = vulkan::ExternalSemaphore::create(test_device(), true);
  CUexternalSemaphore there = nullptr;
  const int fd = created ? must(created->export_descriptor()) : open("/dev/null", O_RDONLY);
  const CUresult code = import(&there, fd, kTimelineFd);
  EXPECT_EQ(import(&there, fd, 4), eNotSupported) << "a fence of Direct3D";
  if (!created) {
    EXPECT_EQ(code, eNotSupported);
    close(fd);
    GTEST_SKIP() << created.error().text << ", which CUDA's import says, too";
  }
  ASSERT_EQ(code, eSuccess);
  CUDA_EXTERNAL_SEMAPHORE_PARAMS params{};
  params.value = 7;
  const CUexternalSemaphore list[] = {there};
  EXPECT_EQ(driver("cuSignalExternalSemaphoresAsync", &list[0],
                   static_cast<const CUDA_EXTERNAL_SEMAPHORE_PARAMS*>(&params), 1U, kNoStream),
            eSuccess);
  Stream stream = must(Stream::create(test_device()));
  must(vulkan::wait(stream, std::vector{created->at(7)}));
  must(stream.synchronize());
}

}  // namespace
}  // namespace ptx2spv::test
