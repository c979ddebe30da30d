// Kernels that hold several surfaces: the same array twice, more of them than there are slots, and
// a handle of another format in each thread.
#include <cstring>

#include "tests/runtime/fixture.hpp"
#include "tests/support/surface_model.hpp"

namespace ptx2spv {
namespace {

class Several : public testing::TestWithParam<ArrayBacking> {
 protected:
  Array make(std::uint32_t width, abi::SurfaceFormat format, std::uint32_t channels,
             std::uint32_t levels = 1) {
    ArrayDesc desc;
    desc.geometry = Geometry::d1;
    desc.width = width;
    desc.format = format;
    desc.channels = channels;
    desc.levels = levels;
    desc.backing = GetParam();
    Array array = must(Array::create(test_device(), desc));
    for (std::uint32_t level = 0; level < levels; ++level) must(array.fill(0, 4, level));
    return array;
  }
  static LaunchConfig threads(std::uint32_t count) {
    LaunchConfig config;
    config.block.x = count;
    return config;
  }
};

// What one name of a surface stores, the other one loads, in the same thread.
TEST_P(Several, OneArrayUnderTwoNames) {
  const std::string body = R"( {
  .reg .b64 %a, %b, %m; .reg .b32 %t, %x, %v, %w; .reg .b16 %s;
  ld.param.u64 %a, [first];
  ld.param.u64 %b, [second];
  %LOAD%
  mov.u32 %t, %tid.x;
  shl.b32 %x, %t, 2;
  mul.lo.u32 %v, %t, 0x01010101;
  sust.b.1d.b32.trap [%a, {%x}], %v;
  add.u32 %w, %x, 2;
  mov.u16 %s, 0x77;
  sust.b.1d.b8.trap [%b, {%w}], %s;
  suld.b.1d.b32.trap %v, [%a, {%x}];
  add.u32 %v, %v, 0x1000000;
  sust.b.1d.b32.trap [%b, {%x}], %v;
  sured.b.add.1d.u32.trap [%a, {%x}], 1;
  ret;
}
)";
  for (const bool from_memory : {false, true}) {
    std::string text = ".visible .entry go(.param .u64 first, .param .u64 second)" + body;
    const std::string mark = "%LOAD%";
    text.replace(text.find(mark), mark.size(), from_memory ? "ld.global.u64 %b, [%b];" : "");
    Module module = load(text);
    Array array = make(64, abi::SurfaceFormat::u32, 1);
    const Surface one = must(Surface::create(array)), two = must(Surface::create(array));
    Buffer kept = must(Buffer::create(test_device(), 8));
    const std::uint64_t handle = two.handle();
    must(kept.upload(0, std::as_bytes(std::span(&handle, 1))));
    Args args;
    args.surface(one);
    if (from_memory)
      args.buffer(kept);
    else
      args.surface(two);
    must(must(module.kernel("go")).launch(threads(64), args));
    const auto got = read_array<std::uint32_t>(array);
    for (std::uint32_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(got[i], ((i * 0x01010101u & 0xff00ffffu) | 0x770000u) + 0x1000001u)
          << i << (from_memory ? " from memory" : "");
  }
}

// Twenty parameters: the first ones are slots, the others are reached by address.
TEST_P(Several, MoreThanThereAreSlots) {
  constexpr std::uint32_t kCount = 20;
  std::string text = ".visible .entry go(", body;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const std::string n = std::to_string(i);
    text += (i ? ", .param .u64 s" : ".param .u64 s") + n;
    body += "  ld.param.u64 %h, [s" + n + "];\n  suld.b.1d.b32.trap %v, [%h, {%x}];\n" +
            "  add.u32 %sum, %sum, %v;\n  sured.b.max.1d.s32.zero [%h, {%x}], %sum;\n";
  }
  Module module = load(text + R"() {
  .reg .b64 %h; .reg .b32 %x, %v, %sum;
  mov.u32 %x, %tid.x;
  shl.b32 %x, %x, 2;
  mov.u32 %sum, 0;
)" + body + "  ret;\n}\n");
  std::vector<Array> arrays;
  std::vector<Surface> surfaces;
  Args args;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    arrays.push_back(make(8, abi::SurfaceFormat::u32, 1));
    const std::vector<std::uint32_t> first(8, i);
    must(arrays[i].upload(bytes_of(first)));
    surfaces.push_back(must(Surface::create(arrays[i])));
    args.surface(surfaces[i]);
  }
  must(must(module.kernel("go")).launch(threads(8), args));
  for (std::uint32_t i = 0; i < kCount; ++i)
    EXPECT_EQ(read_array<std::uint32_t>(arrays[i]), std::vector<std::uint32_t>(8, i * (i + 1) / 2));
}

// Each thread of a warp has its own surface: formats decide what sust.p writes and how sured.p
// compares.
TEST_P(Several, EachThreadHasAnotherFormat) {
  Module module = load(R"(
.visible .entry go(.param .u64 handles) {
  .reg .b64 %a, %h; .reg .b32 %t, %x, %v<4>;
  ld.param.u64 %a, [handles];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %h, %t, 8;
  add.u64 %a, %a, %h;
  ld.global.u64 %h, [%a];
  mov.u32 %v0, 0x3f400000;
  mov.u32 %v1, 0xbf200000;
  mov.u32 %v2, 300;
  mov.u32 %v3, -2;
  sust.p.1d.v4.b32.trap [%h, {1}], {%v0, %v1, %v2, %v3};
  sured.p.min.1d.b32.trap [%h, {4}], 0x80000001;
  sured.p.max.1d.b64.trap [%h, {3}], 0x8000000000000001;
  ret;
}
)");
  constexpr std::uint32_t kChannels[] = {1, 2, 4};
  std::vector<Array> arrays;
  std::vector<Surface> surfaces;
  std::vector<std::uint64_t> handles;
  std::vector<std::vector<std::uint8_t>> expected;
  for (std::uint32_t f = 0; f < 12; ++f)
    for (const std::uint32_t channels : kChannels) {
      const auto format = static_cast<abi::SurfaceFormat>(f);
      const std::uint32_t texel = format_bytes(format) * channels;
      // 48 bytes: texel 1, word 4 and double word 3 are apart, but for the largest texels.
      const std::uint32_t width = 64 / texel;
      Array array = make(width, format, channels);
      std::vector<std::uint32_t> before(16, 0x40000000u);
      must(array.upload(bytes_of(before)));
      const std::uint32_t words[4] = {0x3f400000u, 0xbf200000u, 300u, 0xfffffffeu};
      std::vector<std::uint8_t> bytes(64);
      std::memcpy(bytes.data(), before.data(), 64);
      for (std::uint32_t c = 0; c < channels; ++c) {
        const std::uint32_t value = test::model_convert(to_string(format), words[c]);
        std::memcpy(&bytes[texel + c * format_bytes(format)], &value, format_bytes(format));
      }
      const bool is_signed = to_string(format)[0] == 's';
      std::uint32_t word = 0;
      std::memcpy(&word, &bytes[16], 4);
      const std::uint32_t least = 0x80000001u;
      if (is_signed ? static_cast<std::int32_t>(word) > static_cast<std::int32_t>(least)
                    : word > least)
        std::memcpy(&bytes[16], &least, 4);
      std::uint64_t wide = 0;
      std::memcpy(&wide, &bytes[24], 8);
      const std::uint64_t most = 0x8000000000000001u;
      if (is_signed ? static_cast<std::int64_t>(wide) < static_cast<std::int64_t>(most)
                    : wide < most)
        std::memcpy(&bytes[24], &most, 8);
      surfaces.push_back(must(Surface::create(array)));
      handles.push_back(surfaces.back().handle());
      arrays.push_back(std::move(array));
      expected.push_back(std::move(bytes));
    }
  Buffer list = must(Buffer::create(test_device(), handles.size() * 8));
  must(list.upload(0, bytes_of(handles)));
  must(must(module.kernel("go"))
           .launch(threads(static_cast<std::uint32_t>(handles.size())), Args().buffer(list)));
  for (std::size_t i = 0; i < arrays.size(); ++i)
    EXPECT_EQ(read_array<std::uint8_t>(arrays[i]), expected[i])
        << to_string(arrays[i].desc().format) << arrays[i].desc().channels;
}

// 64-bit reductions, loads and stores of 8-byte texels, on two levels of one array at a time.
TEST_P(Several, TwoLevelsOfOneArray) {
  Module module = load(R"(
.visible .entry go(.param .u64 large, .param .u64 small) {
  .reg .b64 %a, %b, %v, %w; .reg .b32 %t, %x, %y;
  ld.param.u64 %a, [large];
  ld.param.u64 %b, [small];
  mov.u32 %t, %tid.x;
  shl.b32 %x, %t, 3;
  shr.u32 %y, %t, 1;
  shl.b32 %y, %y, 3;
  cvt.u64.u32 %v, %t;
  mul.lo.u64 %v, %v, 0x100000001;
  sust.b.1d.b64.trap [%a, {%x}], %v;
  suld.b.1d.b64.trap %w, [%a, {%x}];
  sured.b.add.1d.u64.trap [%a, {%x}], %w;
  sured.b.add.1d.u64.trap [%b, {%y}], %w;
  sured.b.max.1d.u64.zero [%b, {512}], %w;
  ret;
}
)");
  Array array = make(64, abi::SurfaceFormat::f16, 4, 2);
  const Surface large = must(Surface::create(array)), small = must(Surface::create(array, 1));
  must(must(module.kernel("go")).launch(threads(64), Args().surface(large).surface(small)));
  std::vector<std::uint64_t> whole(64), half(32);
  must(array.download(std::as_writable_bytes(std::span(whole))));
  must(array.download(std::as_writable_bytes(std::span(half)), 1));
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(whole[i], 2 * i * 0x100000001u) << i;
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(half[i], (4 * i + 1) * 0x100000001u) << i;
}

INSTANTIATE_TEST_SUITE_P(Surfaces, Several,
                         testing::Values(ArrayBacking::linear, ArrayBacking::image),
                         [](const auto& each) {
                           return each.param == ArrayBacking::image ? "image" : "linear";
                         });

}  // namespace
}  // namespace ptx2spv
