// Addresses and memory apart from each other, as cuMemMap has them on a GPU.
#include <numeric>

#include "src/device/device.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

using runtime::Heap;
using runtime::Memory;

constexpr std::uint64_t kPart = 2ull << 20;

/// Kernels run on the device, which alone knows the addresses.
class Ranges : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!heap().binds())
      GTEST_SKIP() << device.info().name << " binds no memory to parts of buffers";
  }
  Heap& heap() { return device.state()->heap; }
  Memory reserve(std::uint64_t parts, std::uint64_t alignment = kPart) {
    return must(heap().reserve(parts * kPart, alignment));
  }
  Memory pages(std::uint64_t parts) { return must(heap().allocate_pages(parts * kPart, kPart)); }
  void bind(const Memory& range, std::uint64_t part, const Memory* to, std::uint64_t from = 0,
            std::uint64_t parts = 1) {
    must(heap().bind(range, part * kPart, parts * kPart, to, from * kPart));
  }
  Buffer view(const Memory& range, std::uint64_t part, std::uint64_t parts = 1) {
    return must(Buffer::view(device, range.address() + part * kPart, parts * kPart));
  }
  /// Each word of the parts is `first` and its number from a kernel.
  void number(const Memory& range, std::uint64_t part, std::uint64_t parts, std::uint32_t first) {
    constexpr const char* kText = R"(
      .visible .entry k(.param .u64 to, .param .u32 first) {
        .reg .b64 %rd<4>; .reg .b32 %r<8>;
        ld.param.u64 %rd0, [to]; ld.param.u32 %r0, [first];
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
        mad.lo.u32 %r4, %r1, %r2, %r3;
        mad.wide.u32 %rd1, %r4, 4, %rd0;
        add.u32 %r5, %r4, %r0;
        st.global.u32 [%rd1], %r5;
        ret;
      })";
    static const Kernel kernel = must(load_on(device, kText).kernel("k"));
    LaunchConfig config;
    config.block = {256, 1, 1};
    config.grid = {static_cast<std::uint32_t>(parts * kPart / 1024), 1, 1};
    Args args;
    args.value(range.address() + part * kPart).value(first);
    const auto timing = kernel.launch(config, args);
    ASSERT_TRUE(timing) << timing.error().text;
  }
  std::vector<std::uint32_t> words(const Memory& range, std::uint64_t part,
                                   std::uint64_t parts = 1) {
    return read_buffer<std::uint32_t>(view(range, part, parts), parts * kPart / 4);
  }
  static std::vector<std::uint32_t> numbered(std::uint64_t parts, std::uint32_t first) {
    std::vector<std::uint32_t> all(parts * kPart / 4);
    std::iota(all.begin(), all.end(), first);
    return all;
  }

  Device device = device_by(ExecutorPolicy::device);
};

TEST_F(Ranges, AKernelGoesOnInTheNextPages) {
  const Memory range = reserve(4), one = pages(1), two = pages(1);
  bind(range, 1, &one);
  bind(range, 2, &two);
  number(range, 1, 2, 77);
  EXPECT_EQ(words(range, 1, 2), numbered(2, 77));
  bind(range, 1, nullptr, 0, 2);
}

TEST_F(Ranges, PagesUnderTwoAddressesAreTheSameMemory) {
  const Memory range = reserve(4), other = reserve(1), both = pages(2);
  bind(range, 0, &both, 0, 2);
  bind(range, 3, &both, 1);
  bind(other, 0, &both, 1);
  number(range, 0, 2, 5);
  const auto last = numbered(1, 5 + kPart / 4);
  EXPECT_EQ(words(range, 3), last);
  EXPECT_EQ(words(other, 0), last);
  must(view(other, 0).fill(0, 16, 9));
  EXPECT_EQ(words(range, 1)[3], 0x09090909u);
  EXPECT_EQ(words(range, 1)[4], last[4]);
}

TEST_F(Ranges, PagesKeepTheirBytesWhileNothingIsBoundToThem) {
  const Memory one = pages(1), two = pages(1);
  {
    const Memory range = reserve(2);
    bind(range, 0, &one);
    bind(range, 1, &two);
    number(range, 0, 2, 1);
    bind(range, 0, nullptr, 0, 2);
    bind(range, 0, &two);
    EXPECT_EQ(words(range, 0), numbered(1, 1 + kPart / 4));
  }
  const Memory later = reserve(1);
  bind(later, 0, &one);
  EXPECT_EQ(words(later, 0), numbered(1, 1));
}

TEST_F(Ranges, AddressesAreAlignedAsAskedAndNoMemory) {
  const auto before = device.statistics().memory_bytes;
  const Memory range = reserve(3, 16 * kPart);
  EXPECT_EQ(range.address() % (16 * kPart), 0u);
  EXPECT_EQ(device.statistics().memory_bytes, before);
}

TEST_F(Ranges, MoreAddressesThanThereAreIsAnError) {
  EXPECT_FALSE(heap().reserve(~0ull / kPart * kPart, 2 * kPart));
}

}  // namespace
}  // namespace ptx2spv
