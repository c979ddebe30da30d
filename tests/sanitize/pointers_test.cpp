// Pointers that kernels choose, compute, keep and pass on: whichever way a wrong one comes, the
// access by it is found, and a right one that comes the same way is no finding.
#include <fmt/format.h>

#include <array>

#include "tests/sanitize/checked_device.hpp"

namespace ptx2spv {
namespace {

/// Leaves in %p what thread 5 has in %x, and the others in %a. %wrong: it is thread 5.
struct Way {
  const char* name;
  const char* text;
  const char* declarations = "";  ///< at module scope
  bool null = false;              ///< for null pointers alone
};

constexpr Way kWays[] = {
    {"a select", "selp.b64 %p, %x, %a, %wrong;"},
    {"a select of zero", "selp.b64 %p, 0, %a, %wrong;", "", true},
    {"a predicated move", "mov.b64 %p, %a; @%wrong mov.b64 %p, %x;"},
    {"a predicated zero", "mov.b64 %p, %a; @%wrong mov.b64 %p, 0;", "", true},
    {"a branch", "@%wrong bra LEFT; mov.b64 %p, %a; bra JOIN; LEFT: mov.b64 %p, %x; JOIN:"},
    {"a loop",
     "mov.b64 %p, %x; mov.u32 %i, 0; @%wrong bra DONE; mov.b64 %p, %a;\n"
     "LOOP: add.u64 %p, %p, 16; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 3; @%q bra LOOP;\n"
     "sub.u64 %p, %p, 48; DONE:"},
    {"a minimum", "selp.b64 %t, %x, -1, %wrong; min.u64 %p, %a, %t;", "", true},
    {"a maximum of zero", "selp.b64 %t, 0, %a, %wrong; max.u64 %p, %t, 0;", "", true},
    {"a mask", "selp.b64 %t, 0, -1, %wrong; and.b64 %p, %a, %t;", "", true},
    {"exclusive or", "xor.b64 %t, %a, %x; selp.b64 %t, %t, 0, %wrong; xor.b64 %p, %a, %t;"},
    {"a distance", "sub.u64 %t, %x, %a; selp.b64 %t, %t, 0, %wrong; add.u64 %p, %a, %t;"},
    {"a scaled distance",
     "sub.s64 %t, %x, %a; shr.s64 %t, %t, 4; selp.b64 %t, %t, 0, %wrong; shl.b64 %t, %t, 4;\n"
     "add.s64 %p, %a, %t;"},
    {"a distance in a multiplication",
     "sub.s64 %t, %x, %a; shr.s64 %t, %t, 4; selp.b64 %t, %t, 0, %wrong;\n"
     "mad.lo.s64 %p, %t, 16, %a;"},
    {"halves",
     "mov.b64 {%l, %h}, %a; mov.b64 {%m, %n}, %x; selp.b32 %l, %m, %l, %wrong;\n"
     "selp.b32 %h, %n, %h, %wrong; mov.b64 %p, {%l, %h};"},
    {"a double", "selp.b64 %p, %x, %a, %wrong; mov.b64 %f, %p; mov.b64 %p, %f;"},
    {"a table in memory",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane; st.global.u64 [%t], %p;\n"
     "ld.global.u64 %p, [%t];"},
    {"a volatile table",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane; st.volatile.global.u64 [%t], %p;\n"
     "ld.volatile.global.u64 %p, [%t];"},
    {"a table of words",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane; st.global.u64 [%t], %p;\n"
     "ld.global.v2.u32 {%l, %h}, [%t]; mov.b64 %p, {%l, %h};"},
    {"an exchange",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane;\n"
     "atom.global.exch.b64 %u, [%t], %p; atom.global.exch.b64 %p, [%t], %u;"},
    {"shared memory",
     "selp.b64 %p, %x, %a, %wrong; mov.u64 %t, shared_cells; add.u64 %t, %t, %lane;\n"
     "st.shared.u64 [%t], %p; bar.sync 0; ld.shared.u64 %p, [%t];",
     ".shared .align 8 .b8 shared_cells[256];"},
    {"local memory",
     "mov.u64 %t, two; st.local.v2.u64 [%t], {%a, %x}; selp.b64 %u, 8, 0, %wrong;\n"
     "add.u64 %t, %t, %u; ld.local.u64 %p, [%t];"},
    {"a generic address of local memory",
     "mov.u64 %t, two; st.local.v2.u64 [%t], {%a, %x}; cvta.local.u64 %t, %t;\n"
     "selp.b64 %u, 8, 0, %wrong; add.u64 %t, %t, %u; ld.u64 %p, [%t];"},
    {"a function's result", "call (%p), choose, (%a, %x, %lane);",
     ".func (.reg .b64 %r) choose(.reg .b64 %a, .reg .b64 %x, .reg .b64 %n) {\n"
     "  .reg .pred %q; setp.eq.u64 %q, %n, 40; selp.b64 %r, %x, %a, %q; ret;\n}"},
    {"a structure by value",
     "{ .param .align 8 .b8 both[16]; .param .b64 one;\n"
     "selp.b64 %t, %x, %a, %wrong; st.param.b64 [both], %a; st.param.b64 [both+8], %t;\n"
     "call (one), member, (both); ld.param.b64 %p, [one]; }",
     ".func (.param .b64 one) member(.param .align 8 .b8 both[16]) {\n"
     "  .reg .b64 %v; ld.param.b64 %v, [both+8]; st.param.b64 [one], %v; ret;\n}"},
    {"a shuffle",
     "selp.b64 %p, %x, %a, %wrong; mov.b64 {%l, %h}, %p;\n"
     "shfl.sync.idx.b32 %l, %l, %i, 31, -1; shfl.sync.idx.b32 %h, %h, %i, 31, -1;\n"
     "mov.b64 %p, {%l, %h};"},
    {"a generic address and back",
     "selp.b64 %p, %x, %a, %wrong; cvta.global.u64 %p, %p; cvta.to.global.u64 %p, %p;"},
};

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

std::string kernel_of(const Way& way, const char* access) {
  return fmt::format(
      ".version 8.3\n.target sm_80\n.address_size 64\n{}\n"
      ".visible .entry k(.param .u64 right, .param .u64 other, .param .u64 cells)\n{{\n"
      "  .reg .pred %wrong, %q; .reg .f64 %f; .reg .b32 %i, %l, %h, %m, %n;\n"
      "  .reg .b64 %a, %x, %p, %t, %u, %table, %lane; .local .align 16 .b8 two[16];\n"
      "  ld.param.u64 %a, [right]; ld.param.u64 %x, [other]; ld.param.u64 %table, [cells];\n"
      "  mov.u32 %i, %tid.x; setp.eq.u32 %wrong, %i, 5; mul.wide.u32 %lane, %i, 8;\n"
      "  mov.u32 %h, 0; mov.u64 %t, 0;\n"
      "  {}\n"
      "  {}\n"
      "  xor.b32 %l, %l, %h; setp.eq.u32 %q, %l, 0x5bd1e995; @%q st.global.u32 [%table], %l;\n"
      "  ret;\n}}\n",
      way.declarations, way.text, access);
}

/// Two allocations, one that was freed, and memory for the kernels' own tables.
struct Memory {
  explicit Memory(const Device& device)
      : a(must(Buffer::create(device, 64))),
        b(must(Buffer::create(device, 64))),
        cells(must(Buffer::create(device, 256))) {
    Buffer gone = must(Buffer::create(device, 64));
    freed = gone.address();
  }
  Buffer a, b, cells;
  std::uint64_t freed = 0;
};

struct Wrong {
  std::uint64_t address;
  std::optional<FindingKind> kind;
};

void expect_each(const Device& device, const Memory& memory, const std::string& text, bool null) {
  const std::array<Wrong, 6> all = {{{memory.a.address() + 16, {}},
                                     {memory.b.address(), {}},
                                     {0, FindingKind::null_pointer},
                                     {memory.freed, FindingKind::freed_memory},
                                     {memory.a.address() + 64, FindingKind::out_of_bounds},
                                     {std::uint64_t{7} << 44, FindingKind::out_of_bounds}}};
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
void expect_all(const char* interpreter) {
  DeviceOptions options;
  options.cache = false;
  options.checks = check_memory;
  options.report = [](std::string_view) {};
  const std::size_t ways = std::size(kWays), accesses = std::size(kAccesses);
  std::optional<Device> device;
  std::optional<Memory> memory;
  for (std::size_t i = 0; i < 2 * ways + accesses; ++i) {
    const Way& way = kWays[i < 2 * ways ? i / 2 : 0];
    const auto& access = kAccesses[i < 2 * ways ? (i * 3 + i / 20) % accesses : i - 2 * ways];
    SCOPED_TRACE(fmt::format("{}, {}, interpreter {}", way.name, access.first, interpreter));
    // A device keeps a hundred places.
    if (!device || device->sanitizer_report().findings.size() > 90) {
      memory.reset();
      device = device_with_interpreter(interpreter, options);
      memory.emplace(*device);
    }
    expect_each(*device, *memory, kernel_of(way, access.second), way.null);
  }
}

TEST(Pointers, WrongOnesAreFoundWhateverWayTheyCome) { expect_all("off"); }
TEST(Pointers, WrongOnesAreFoundByTheInterpreterToo) { expect_all("always"); }

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
