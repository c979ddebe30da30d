// Pointers that kernels choose, compute, keep and pass on: whichever way a wrong one comes, the
// access by it is found, and a right one that comes the same way is no finding.
#include <fmt/format.h>

#include "tests/sanitize/checked_device.hpp"
#include "tests/sanitize/ways.hpp"

namespace ptx2spv {
namespace {

constexpr std::pair<const char*, const char*> kAccesses[] = {
    {"load", "ld.global.u32 %l, [%p];"},
    {"load of a byte", "ld.global.u8 %l, [%p];"},
    {"generic load", "ld.u32 %l, [%p];"},
    {"volatile load", "ld.volatile.global.u32 %l, [%p];"},
    {"load of a vector", "ld.global.v4.u32 {%l, %h, %m, %n}, [%p];"},
    {"store", "st.global.u32 [%p], %h;"},
    {"store of a vector", "st.global.v2.u64 [%p], {%t, %t};"},
    {"atomic", "atom.global.add.u32 %l, [%p], 1;"},
    {"reduction", "red.global.or.b32 [%p], 1;"},
    {"comparison", "atom.global.cas.b64 %t, [%p], 1, 2;"},
};

/// Two allocations, one that was freed, memory for the kernels' own tables, and what others have:
/// another device, and the host on its stack and its heap.
struct Memory {
  explicit Memory(const Device& device)
      : other(open_checked(check_memory)),
        foreign(must(Buffer::create(other, 64))),
        heap(64),
        a(must(Buffer::create(device, 64))),
        b(must(Buffer::create(device, 64))),
        cells(must(Buffer::create(device, 256))) {
    Buffer gone = must(Buffer::create(device, 64));
    freed = gone.address();
  }
  Device other;
  Buffer foreign;
  std::vector<std::uint64_t> heap;
  Buffer a, b, cells;
  std::uint64_t freed = 0;
};

struct Wrong {
  std::uint64_t address;
  std::optional<FindingKind> kind;
};

void expect_each(const Device& device, const Memory& memory, const std::string& text, bool null) {
  alignas(16) const std::uint64_t stack[8] = {};
  const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uint64_t a = memory.a.address();
  const Wrong all[] = {
      {a + 16, {}},
      {memory.b.address(), {}},
      {0, FindingKind::null_pointer},
      {16, FindingKind::null_pointer},
      {memory.freed, FindingKind::freed_memory},
      {a + 64, FindingKind::out_of_bounds},
      {a - 16, FindingKind::out_of_bounds},
      {memory.foreign.address(), FindingKind::out_of_bounds},
      {address(stack), FindingKind::out_of_bounds},
      {address(memory.heap.data()) & ~std::uint64_t{15}, FindingKind::out_of_bounds},
      {std::uint64_t{7} << 44, FindingKind::out_of_bounds}};
  for (const Wrong& wrong : all) {
    if (null && wrong.address) continue;
    SCOPED_TRACE(fmt::format("{:#x}", wrong.address));
    const SanitizerReport before = device.sanitizer_report();
    // A report has each place once: every launch has a file of its own.
    static unsigned files = 0;
    const Module module = must(Module::load(device, text, fmt::format("k{}.ptx", files++)));
    LaunchConfig config;
    config.block = {32, 1, 1};
    must(must(module.kernel("k"))
             .launch(config, Args().buffer(memory.a).address(wrong.address).buffer(memory.cells)));
    const SanitizerReport after = device.sanitizer_report();
    std::vector<Finding> found(after.findings.begin() + std::ptrdiff_t(before.findings.size()),
                               after.findings.end());
    if (!wrong.kind) {
      EXPECT_TRUE(found.empty()) << found[0].to_string();
      continue;
    }
    ASSERT_EQ(found.size(), 1u) << text;
    EXPECT_STREQ(to_string(found[0].kind), to_string(*wrong.kind)) << found[0].to_string();
    EXPECT_EQ(found[0].thread[0], 5u);
    EXPECT_EQ(found[0].threads, 1u);
    EXPECT_EQ(found[0].address, wrong.address);
  }
}

/// Each way with two accesses, in turns, and each access with the first way.
TEST(Pointers, WrongOnesAreFoundWhateverWayTheyCome) {
  const std::size_t ways = std::size(kWays), accesses = std::size(kAccesses);
  std::optional<Device> device;
  std::optional<Memory> memory;
  for (std::size_t i = 0; i < 2 * ways + accesses; i += share()) {
    const Way& way = kWays[i < 2 * ways ? i / 2 : 0];
    const auto& access = kAccesses[i < 2 * ways ? (i * 3 + i / 20) % accesses : i - 2 * ways];
    SCOPED_TRACE(fmt::format("{}, {}", way.name, access.first));
    // A device keeps a hundred places.
    if (!device || device->sanitizer_report().findings.size() > 90) {
      memory.reset();
      device = open_checked(check_memory);
      memory.emplace(*device);
    }
    expect_each(*device, *memory, kernel_of(way, access.second), way.null);
  }
}

// A choice of a pointer or null points into what that pointer points into: an index that reaches
// another allocation is found.
TEST(Pointers, AChoiceOfOneOrNoneStaysInItsAllocation) {
  const Device device = open_checked(check_memory);
  const Memory memory(device);
  const char* text =
      ".version 8.3\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 right, .param .u64 far)\n{\n"
      "  .reg .pred %q; .reg .b32 %i; .reg .b64 %a, %b, %c, %d, %e, %f;\n"
      "  ld.param.u64 %a, [right]; ld.param.u64 %d, [far]; mov.u32 %i, %tid.x;\n"
      "  setp.gt.u32 %q, %i, 99; selp.b64 %b, 0, %a, %q; shr.s64 %e, %d, 2; shl.b64 %f, %e, 2;\n"
      "  add.s64 %c, %b, %f; st.global.u32 [%c], 1; ret;\n}\n";
  const Module module = must(Module::load(device, text, "k.ptx"));
  for (const bool far : {false, true}) {
    const std::uint64_t distance = far ? memory.b.address() - memory.a.address() : 8;
    must(must(module.kernel("k")).launch({}, Args().buffer(memory.a).address(distance)));
    const auto found = device.sanitizer_report().findings;
    ASSERT_EQ(found.size(), far ? 1u : 0u);
    if (far) {
      EXPECT_EQ(found[0].address, memory.b.address());
    }
  }
}

}  // namespace
}  // namespace ptx2spv
