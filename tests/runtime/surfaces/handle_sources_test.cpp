// Every source of a surface's handle, in both backings: stores land where they should,
// and a handle that is null, stale or made up traps with its record and touches nothing.
#include <cstring>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kThreads = 40;

/// Where the host puts the handle.
enum class Place { variable, reference, scalar, box, pointer, list, pair };

struct HandleSource {
  const char* name;
  Place place;
  const char* globals;  ///< before the kernel
  const char* params;
  const char* body;  ///< leaves the handle in %h, or is the whole access where `access` is empty
  const char* access = "sust.b.1d.b32.trap [%h, {%at}], %value;";
};

const HandleSource kSources[] = {
    {"surfref_variable", Place::variable, ".global .surfref canvas;", "", "",
     "sust.b.1d.b32.trap [canvas, {%at}], %value;"},
    {"surfref_parameter", Place::reference, "", ".param .surfref target", "",
     "sust.b.1d.b32.trap [target, {%at}], %value;"},
    {"scalar_parameter", Place::scalar, "", ".param .u64 target", "ld.param.u64 %h, [target];"},
    {"struct_by_value", Place::box, "", ".param .align 8 .b8 target[40]",
     "ld.param.u64 %h, [target+24];"},
    {"struct_by_value_at_an_offset_of_the_threads", Place::box, "",
     ".param .align 8 .b8 target[40]",
     // Threads agree on the offset, but only at run time.
     "shr.u32 %r1, %thread, 31;\n cvt.u64.u32 %a, %r1;\n mov.b64 %b, target;\n add.u64 %a, %a, "
     "%b;\n"
     " ld.param.u64 %h, [%a+24];"},
    {"memory_by_thread", Place::list, "", ".param .u64 target",
     "ld.param.u64 %a, [target];\n mul.wide.u32 %b, %thread, 8;\n add.u64 %a, %a, %b;\n"
     " ld.global.u64 %h, [%a];"},
    {"variable_that_holds_a_pointer", Place::pointer, ".global .align 8 .u64 where;",
     ".param .u64 target",
     "ld.param.u64 %a, [target];\n st.global.u64 [where], %a;\n ld.global.u64 %a, [where];\n"
     " ld.global.u64 %h, [%a];"},
    {"address_of_a_surfref_stored_and_reloaded", Place::variable,
     ".global .surfref canvas;\n.global .align 8 .u64 kept;", "",
     "mov.u64 %a, canvas;\n st.global.u64 [kept], %a;\n ld.global.u64 %h, [kept];"},
    {"selected_by_thread", Place::pair, "", ".param .u64 target, .param .u64 second",
     "ld.param.u64 %a, [target];\n ld.param.u64 %b, [second];\n and.b32 %r1, %thread, 1;\n"
     " setp.eq.u32 %odd, %r1, 1;\n selp.u64 %h, %a, %b, %odd;"},
    {"function_parameter", Place::scalar,
     ".func put(.param .u64 handle, .param .u32 at, .param .u32 value) {\n"
     " .reg .u64 %h; .reg .u32 %at, %value;\n ld.param.u64 %h, [handle];\n"
     " ld.param.u32 %at, [at];\n ld.param.u32 %value, [value];\n"
     " sust.b.1d.b32.trap [%h, {%at}], %value;\n ret;\n}",
     ".param .u64 target",
     "ld.param.u64 %h, [target];\n {\n .param .u64 p0; .param .u32 p1; .param .u32 p2;\n"
     " st.param.u64 [p0], %h;\n st.param.u32 [p1], %at;\n st.param.u32 [p2], %value;\n"
     " call.uni put, (p0, p1, p2);\n }",
     ""},
    {"function_result", Place::list,
     ".func (.param .u64 result) find(.param .u64 list, .param .u32 thread) {\n"
     " .reg .u64 %l, %o; .reg .u32 %t;\n ld.param.u64 %l, [list];\n ld.param.u32 %t, [thread];\n"
     " mul.wide.u32 %o, %t, 8;\n add.u64 %l, %l, %o;\n ld.global.u64 %o, [%l];\n"
     " st.param.u64 [result], %o;\n ret;\n}",
     ".param .u64 target",
     "ld.param.u64 %a, [target];\n {\n .param .u64 p0; .param .u32 p1; .param .u64 r0;\n"
     " st.param.u64 [p0], %a;\n st.param.u32 [p1], %thread;\n call (r0), find, (p0, p1);\n"
     " ld.param.u64 %h, [r0];\n }"},
    // Registers stand for .param parameters and results, and the other way round.
    {"function_of_params_called_with_registers", Place::scalar,
     ".func (.param .u64 result) pass(.param .u64 handle, .param .u64 more) {\n"
     " .reg .u64 %h, %m; ld.param.u64 %h, [handle];\n ld.param.u64 %m, [more];\n"
     " add.u64 %h, %h, %m;\n sub.u64 %h, %h, 9;\n st.param.u64 [result], %h;\n ret;\n}\n"
     ".func (.reg .u64 result) again(.reg .u64 handle, .reg .u64 more) {\n"
     " sub.u64 result, handle, more;\n ret;\n}",
     ".param .u64 target",
     "ld.param.u64 %a, [target];\n call (%b), pass, (%a, 9);\n {\n .param .u64 p0; .param .u64 "
     "r0;\n"
     " add.u64 %b, %b, 0x100000005;\n st.param.u64 [p0], %b;\n"
     " call (r0), again, (p0, 0x100000005);\n ld.param.u64 %h, [r0];\n }"},
    {"shared_memory", Place::scalar, ".shared .align 8 .u64 box;", ".param .u64 target",
     "setp.eq.u32 %odd, %thread, 0;\n ld.param.u64 %a, [target];\n @%odd st.shared.u64 [box], %a;\n"
     " bar.sync 0;\n ld.shared.u64 %h, [box];"},
    {"local_memory", Place::scalar, "", ".param .u64 target",
     ".local .align 8 .b8 depot[64];\n ld.param.u64 %a, [target];\n mov.u64 %b, depot;\n"
     " and.b32 %r1, %thread, 7;\n mul.wide.u32 %h, %r1, 8;\n add.u64 %b, %b, %h;\n"
     " st.local.u64 [%b], %a;\n ld.local.u64 %h, [%b];"},
};

std::string kernel_text(const HandleSource& source) {
  return std::string(source.globals) + "\n.visible .entry go(" + source.params + R"() {
  .reg .pred %odd;
  .reg .b32 %r<4>, %thread, %at, %value;
  .reg .b64 %a, %b, %h;
  mov.u32 %thread, %tid.x;
  shl.b32 %at, %thread, 2;
  add.u32 %value, %thread, 500;
  )" + source.body +
         "\n  " + source.access + "\n  ret;\n}\n";
}

class HandleSources : public testing::TestWithParam<std::tuple<HandleSource, ArrayBacking>> {
 protected:
  Array make() {
    ArrayDesc desc;
    desc.geometry = Geometry::d1;
    desc.width = kThreads;
    desc.format = abi::SurfaceFormat::u32;
    desc.channels = 1;
    desc.backing = std::get<1>(GetParam());
    desc.name = "canvas array";
    Array array = must(Array::create(test_device(), desc));
    must(array.fill(0));
    return array;
  }
  /// Launches with `handle`; where the source takes only what is bound, 0 leaves it unbound.
  Result<LaunchTiming> go(Kernel& kernel, const Surface* surface, std::uint64_t handle) {
    const Place place = std::get<0>(GetParam()).place;
    Args args;
    Buffer list = must(Buffer::create(test_device(), kThreads * 8));
    const std::vector<std::uint64_t> handles(kThreads, handle);
    must(list.upload(0, bytes_of(handles)));
    switch (place) {
      case Place::variable:
        if (surface) args.surfref("canvas", *surface);
        break;
      case Place::box: {
        std::vector<std::uint64_t> box(5, 0x1111111111111111u);
        box[3] = handle;
        args.bytes(bytes_of(box));
        break;
      }
      case Place::pointer:
      case Place::list: args.buffer(list); break;
      case Place::pair: args.value(handle).value(handle); break;
      case Place::reference:
      case Place::scalar: args.value(handle); break;
    }
    LaunchConfig config;
    config.block.x = kThreads;
    return kernel.launch(config, args);
  }
};

TEST_P(HandleSources, ReachTheSurface) {
  const HandleSource& source = std::get<0>(GetParam());
  Module module = load(kernel_text(source));
  Kernel kernel = must(module.kernel("go"));
  Array array = make(), other = make();
  Surface surface = must(Surface::create(array)), bystander = must(Surface::create(other));
  // Per-launch bindings do not rewrite variables that hold a handle; a bound one does.
  if (source.place == Place::variable) must(module.bind_surface("canvas", surface));
  const auto ran = go(kernel, &surface, surface.handle());
  ASSERT_TRUE(ran) << ran.error().text;
  const auto texels = read_array<std::uint32_t>(array);
  for (std::uint32_t i = 0; i < kThreads; ++i) ASSERT_EQ(texels[i], i + 500);
  EXPECT_EQ(read_array<std::uint32_t>(other), std::vector<std::uint32_t>(kThreads));
}

TEST_P(HandleSources, DeadHandlesTrapWithTheirRecord) {
  const HandleSource& source = std::get<0>(GetParam());
  Module module = load(kernel_text(source));
  Kernel kernel = must(module.kernel("go"));
  Array array = make();
  Surface live = must(Surface::create(array));
  std::uint64_t stale = 0;
  {
    const Surface gone = must(Surface::create(array));
    stale = gone.handle();
  }
  std::vector<std::uint64_t> dead = {0};
  // A variable holds what was bound to it, which the runtime keeps alive: only none is dead.
  if (source.place != Place::variable)
    dead.insert(dead.end(), {stale, live.handle() ^ std::uint64_t{1} << 33, 0x1234567,
                             live.handle() + 1000, ~std::uint64_t{0}});
  for (const std::uint64_t handle : dead) {
    const auto ran = go(kernel, nullptr, handle);
    ASSERT_FALSE(ran) << std::hex << handle;
    ASSERT_EQ(ran.error().code, ErrorCode::trap) << ran.error().text;
    const TrapReport& report = *ran.error().trap;
    EXPECT_EQ(report.kind, abi::TrapKind::dead_handle) << std::hex << handle;
    EXPECT_EQ(report.handle, handle) << "not as the kernel held it";
    const std::string why =
        handle == 0       ? "it is 0"
        : handle == stale ? "its surface"
        : static_cast<std::uint32_t>(handle) == static_cast<std::uint32_t>(live.handle())
            ? "is that of another surface"
            : "no surface has had its number";
    EXPECT_NE(report.message.find(why), std::string::npos) << report.message;
    EXPECT_EQ(report.trapped_threads, kThreads) << std::hex << handle;
    EXPECT_EQ(report.kernel, "go");
    EXPECT_NE(report.instruction.find("sust.b.1d.b32.trap"), std::string::npos);
    EXPECT_LT(report.thread[0], kThreads);
    ASSERT_EQ(report.coordinates.size(), 1u);
    EXPECT_EQ(report.coordinates[0].second, static_cast<std::int32_t>(4 * report.thread[0]));
    EXPECT_EQ(read_array<std::uint32_t>(array), std::vector<std::uint32_t>(kThreads));
  }
  // The device is usable at once.
  if (source.place == Place::variable) must(module.bind_surface("canvas", live));
  must(go(kernel, &live, live.handle()));
  EXPECT_EQ(read_array<std::uint32_t>(array)[7], 507u);
}

INSTANTIATE_TEST_SUITE_P(Surfaces, HandleSources,
                         testing::Combine(testing::ValuesIn(kSources),
                                          testing::Values(ArrayBacking::linear,
                                                          ArrayBacking::image)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) +
                                  (std::get<1>(each.param) == ArrayBacking::image ? "_image"
                                                                                  : "_linear");
                         });

// Some handles of a list are dead: their threads trap, the others' stores stand.
TEST(HandleSources, OneDeadHandleOfManyIsItsThreadsAlone) {
  Module module = load(kernel_text(kSources[5]));
  Kernel kernel = must(module.kernel("go"));
  ArrayDesc desc;
  desc.geometry = Geometry::d1;
  desc.width = kThreads;
  desc.format = abi::SurfaceFormat::u32;
  desc.channels = 1;
  std::vector<Array> arrays;
  std::vector<Surface> surfaces;
  std::vector<std::uint64_t> handles;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    desc.backing = i % 2 ? ArrayBacking::image : ArrayBacking::linear;
    arrays.push_back(must(Array::create(test_device(), desc)));
    must(arrays.back().fill(0));
    surfaces.push_back(must(Surface::create(arrays.back())));
    handles.push_back(i % 9 == 4 ? surfaces.back().handle() ^ std::uint64_t{5} << 40
                                 : surfaces.back().handle());
  }
  Buffer list = must(Buffer::create(test_device(), kThreads * 8));
  must(list.upload(0, bytes_of(handles)));
  LaunchConfig config;
  config.block.x = kThreads;
  const auto ran = kernel.launch(config, Args().buffer(list));
  ASSERT_FALSE(ran);
  ASSERT_TRUE(ran.error().trap) << ran.error().text;
  EXPECT_EQ(ran.error().trap->trapped_threads, 4u);
  EXPECT_EQ(ran.error().trap->thread[0] % 9, 4u);
  for (std::uint32_t i = 0; i < kThreads; ++i)
    EXPECT_EQ(read_array<std::uint32_t>(arrays[i])[i], i % 9 == 4 ? 0 : i + 500) << i;
}

}  // namespace
}  // namespace ptx2spv
