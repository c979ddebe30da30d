// An application's Vulkan memory and images in CUDA, by file descriptors. The
// application has an instance and a VkDevice of its own.
#include "tests/graphics/external.hpp"
#include "tests/runtime/application.hpp"

namespace ptx2spv::test {
namespace {

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

}  // namespace
}  // namespace ptx2spv::test
