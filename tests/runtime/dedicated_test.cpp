// Memory of a device of its own: dedicated where one buffer or image has all of it, and written
// without a wait where the bytes are few.
#include <algorithm>
#include <utility>

#include "src/array/array.hpp"
#include "src/array/buffer.hpp"
#include "src/device/device.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

PFN_vkAllocateMemory g_allocate = nullptr;
VkMemoryDedicatedAllocateInfo g_last{};  ///< of the last allocation; null handles: none
int g_allocations = 0;

VKAPI_ATTR VkResult VKAPI_CALL allocate_noted(VkDevice handle, const VkMemoryAllocateInfo* info,
                                              const VkAllocationCallbacks* callbacks,
                                              VkDeviceMemory* memory) {
  g_last = {};
  ++g_allocations;
  for (auto* each = static_cast<const VkBaseInStructure*>(info->pNext); each; each = each->pNext)
    if (each->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO)
      g_last = *reinterpret_cast<const VkMemoryDedicatedAllocateInfo*>(each);
  return g_allocate(handle, info, callbacks, memory);
}

class Dedicated : public testing::Test {
 protected:
  void SetUp() override {
    if (device_.state()->heap.unified()) GTEST_SKIP() << "the device's memory is the host's";
    auto& vk = const_cast<runtime::DeviceFunctions&>(device_.state()->vk);
    g_allocate = vk.AllocateMemory;
    vk.AllocateMemory = allocate_noted;
  }
  Array image(std::uint32_t width) {
    ArrayDesc desc;
    desc.geometry = Geometry::d2;
    desc.format = abi::SurfaceFormat::u32;
    desc.width = desc.height = width;
    desc.backing = ArrayBacking::image;
    return must(Array::create(device_, desc));
  }
  Device device_ = must(Device::open({}));
};

TEST_F(Dedicated, OfBuffersButForThoseOfRows) {
  constexpr std::uint64_t kBytes = 40 * kMiB;
  const Buffer own = must(Buffer::create(device_, kBytes));
  EXPECT_EQ(g_last.buffer, own.state()->buffer);
  const Buffer rows = must(Buffer::create(device_, kBytes, BufferMemory::rows));
  EXPECT_EQ(g_last.buffer, VkBuffer{});
  EXPECT_NE(rows.state()->buffer, own.state()->buffer);
  for (Buffer each : {own, rows}) {
    const std::vector<std::uint32_t> words(1024, 7);
    must(each.upload(kBytes - kMiB, bytes_of(words)));
    EXPECT_EQ(read_buffer<std::uint32_t>(each, 1024, kBytes - kMiB), words);
  }
}

TEST_F(Dedicated, OfLargeImages) {
  const auto used = [&] { return device_.statistics().memory_used; };
  const std::uint64_t before = used();
  const Array small = image(64);
  EXPECT_EQ(g_last.image, VkImage{});
  const std::uint64_t beside = device_.statistics().memory_bytes;
  {
    // The second has a usual block's bytes, which would be kept for others.
    for (const std::uint32_t width : {1024u, 2048u, 4096u}) {
      Array large = image(width);
      EXPECT_EQ(g_last.image, large.state()->image);
      const std::vector<std::uint32_t> words(std::size_t{width} * width, width);
      must(large.upload(bytes_of(words)));
      EXPECT_EQ(read_array<std::uint32_t>(large), words);
    }
  }
  must(device_.state()->queue.wait(device_.state()->queue.submitted()));
  const Array other = image(64);
  EXPECT_LE(device_.statistics().memory_bytes, beside + 64 * kMiB) << "images' memory goes back";
  EXPECT_LT(used(), before + 4 * kMiB);
}

TEST_F(Dedicated, OfNoImageThatIsLargerThanAllMemory) {
  g_allocations = 0;
  const VkMemoryRequirements needs{1ull << 50, 1 << 16, ~0u};
  const auto memory = device_.state()->heap.allocate_image(needs, VkImage{});
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(g_allocations, 0);
}

PFN_vkWaitSemaphores g_wait = nullptr;
bool g_waited = false;

VKAPI_ATTR VkResult VKAPI_CALL wait_noted(VkDevice handle, const VkSemaphoreWaitInfo* info,
                                          std::uint64_t timeout) {
  g_waited = true;
  return g_wait(handle, info, timeout);
}
class SmallUploads : public testing::Test {
 protected:
  void SetUp() override {
    if (device_.state()->heap.unified()) GTEST_SKIP() << "the device's memory is the host's";
    auto& vk = const_cast<runtime::DeviceFunctions&>(device_.state()->vk);
    g_wait = std::exchange(vk.WaitSemaphores, wait_noted);
    // Waits are calls.
    device_.state()->queue.set_polls(false);
  }
  /// Whether the host waited for an upload, which arrives in any case.
  bool waits(std::size_t words, std::uint32_t value) {
    const std::vector<std::uint32_t> given(words, value);
    g_waited = false;
    must(buffer_.upload(0, bytes_of(given)));
    const bool waited = g_waited;
    EXPECT_EQ(read_buffer<std::uint32_t>(buffer_, words), given);
    return waited;
  }
  Device device_ = must(Device::open({}));
  Buffer buffer_ = must(Buffer::create(device_, kMiB));
};

TEST_F(SmallUploads, TheHostDoesNotWait) {
  EXPECT_FALSE(waits(4, 1));
  EXPECT_FALSE(waits(16 << 10, 2));
  EXPECT_TRUE(waits((16 << 10) + 1, 3));
}

TEST_F(SmallUploads, ComeInOrderAndBeforeWhatFollows) {
  std::vector<std::uint32_t> last(1024);
  for (std::uint32_t i = 0; i < 500; ++i) {
    std::ranges::fill(last, i);
    must(buffer_.upload(i % 3 * 4096, bytes_of(last)));
    // The staging memory is others' meanwhile, and a buffer may go before its bytes arrive.
    must(must(Buffer::create(device_, 4096)).upload(0, bytes_of(last)));
    if (i % 50 < 47) continue;
    EXPECT_EQ(read_buffer<std::uint32_t>(buffer_, 1024, i % 3 * 4096), last);
  }
}

TEST_F(SmallUploads, ThatTheApplicationsCommandsReadAreWaitedFor) {
  (void)device_.state()->queue.share();
  EXPECT_TRUE(waits(4, 1));
}

}  // namespace
}  // namespace ptx2spv
