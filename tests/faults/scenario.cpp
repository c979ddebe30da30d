#include "tests/faults/scenario.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <numeric>
#include <type_traits>

namespace ptx2spv::faults {

const char* const kModule = R"(.version 8.3
.target sm_80
.address_size 64
.global .u32 counter = 5;
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u64 picture, .param .u64 cell) {
  .reg .b64 %rd<5>;
  .reg .b32 %r<4>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  ld.param.u64 %rd3, [picture];
  ld.param.u64 %rd4, [cell];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  suld.b.1d.b32.trap %r3, [%rd1, {%r2}];
  sust.b.1d.b32.trap [%rd2, {%r2}], %r3;
  cvt.rn.f32.u32 %f0, %r1;
  tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd3, {%f0}];
  cvt.rzi.u32.f32 %r2, %f0;
  add.u32 %r3, %r3, %r2;
  red.global.add.u32 [%rd4], %r3;
  ret;
}
.visible .entry trap(.param .u64 from) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [from];
  .shared .b32 word;
  suld.b.1d.b32.trap %r1, [%rd1, {-4}];
  st.shared.b32 [word], %r1;
  ret;
}
)";

namespace {

std::string swiftshader() {
  // A process that such a test started has both; the driver of the tests is not the real one.
  for (const char* name : {"PTX2SPV_FAULT_DRIVER", "PTX2SPV_SWIFTSHADER"})
    if (const char* given = std::getenv(name); given && *given) return given;
  for (const char* place : {PTX2SPV_SOURCE_DIR "/build/swiftshader", "/usr/lib/chromium"}) {
    const std::string file = std::string(place) + "/libvk_swiftshader.so";
    if (std::filesystem::exists(file)) return file;
  }
  return {};
}

}  // namespace

const Driver* driver() {
  static const Driver* opened = []() -> const Driver* {
    const std::string real = swiftshader();
    const char* file = PTX2SPV_BINARY_DIR "/tests/libptx2spv_fault_driver.so";
    void* library = real.empty() ? nullptr : ::dlopen(file, RTLD_NOW);
    if (!library) return nullptr;
    ::setenv("PTX2SPV_FAULT_DRIVER", real.c_str(), 1);
    ::setenv("PTX2SPV_SWIFTSHADER", file, 1);
    static Driver it;
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    const bool all = find(it.set, "fault_set") && find(it.calls, "fault_calls") &&
                     find(it.live, "fault_live") && find(it.name, "fault_name");
    return all ? &it : nullptr;
  }();
  return opened;
}

DeviceOptions options() {
  DeviceOptions it;
  it.select = "swiftshader";
  it.cache = false;
  it.validation = false;
  return it;
}

Result<Objects> Objects::make(const Device& device, std::uint32_t width, bool image) {
  ArrayDesc desc;
  desc.geometry = Geometry::d1;
  desc.format = abi::SurfaceFormat::u32;
  desc.width = width;
  desc.backing = ArrayBacking::linear;
  auto from = Array::create(device, desc);
  if (!from) return from.error();
  if (image) desc.backing = ArrayBacking::image;
  auto to = Array::create(device, desc);
  if (!to) return to.error();
  desc.format = abi::SurfaceFormat::f32;
  desc.backing = ArrayBacking::linear;
  auto picture = Array::create(device, desc);
  if (!picture) return picture.error();
  std::vector<std::uint32_t> numbers(width);
  std::iota(numbers.begin(), numbers.end(), 0u);
  const std::vector<float> floats(width, 2.0f);
  if (Status status = from->upload(bytes_of(numbers)); !status) return status.error();
  if (Status status = picture->upload(bytes_of(floats)); !status) return status.error();
  auto from_surface = Surface::create(*from), to_surface = Surface::create(*to);
  if (!from_surface) return from_surface.error();
  if (!to_surface) return to_surface.error();
  auto texture = Texture::create(*picture, {});
  if (!texture) return texture.error();
  auto cell = Buffer::create(device, 64);
  if (!cell) return cell.error();
  return Objects{std::move(*from),         std::move(*to),         std::move(*picture),
                 std::move(*from_surface), std::move(*to_surface), std::move(*texture),
                 std::move(*cell)};
}

Args Objects::args() const {
  Args it;
  it.surface(from_surface).surface(to_surface).texture(texture).buffer(cell);
  return it;
}

Result<std::uint32_t> Objects::launch(const Device& device, const Kernel& kernel) const {
  Buffer word = cell;
  if (Status status = word.fill(0, 64, 0); !status) return status.error();
  LaunchConfig config;
  config.block = {32, 1, 1};
  auto timing = kernel.launch(config, args());
  if (!timing) return timing.error();
  auto stream = Stream::create(device);
  if (!stream) return stream.error();
  if (Status status = stream->launch(kernel, config, args()); !status) return status.error();
  if (Status status = stream->synchronize(); !status) return status.error();
  std::vector<std::uint32_t> out(to.bytes() / 4), sum(1);
  if (Status status = to.download(writable(out)); !status) return status.error();
  if (Status status = cell.download(0, writable(sum)); !status) return status.error();
  for (std::uint32_t i = 0; i < 32; ++i)
    if (out[i] != i) return std::uint32_t{0};
  return sum[0];
}

Result<std::uint32_t> Objects::replay(const Device& device, const Kernel& kernel) const {
  // What a stream downloads to lives until the stream is gone.
  std::vector<std::uint32_t> sum(1);
  auto one = Stream::create(device), two = Stream::create(device);
  auto begin = Event::create(device), end = Event::create(device);
  auto graph = Graph::create(device);
  auto scratch = Buffer::create(device, 4096);
  if (!one) return one.error();
  if (!two) return two.error();
  if (!begin) return begin.error();
  if (!end) return end.error();
  if (!graph) return graph.error();
  if (!scratch) return scratch.error();
  LaunchConfig config;
  config.block = {32, 1, 1};
  if (Status status = graph->add(kernel, config, args()); !status) return status.error();
  if (Status status = graph->add_copy(cell, 0, *scratch, 0, 4); !status) return status.error();
  const std::vector<std::uint32_t> zero(16);
  const auto steps = [&]() -> Status {
    if (Status status = one->record(*begin); !status) return status;
    if (Status status = one->upload(cell, 0, bytes_of(zero)); !status) return status;
    if (Status status = one->replay(*graph); !status) return status;
    if (Status status = one->replay(*graph); !status) return status;
    if (Status status = one->record(*end); !status) return status;
    if (Status status = two->wait(*end); !status) return status;
    if (Status status = two->copy(*scratch, 0, *scratch, 2048, 4); !status) return status;
    if (Status status = two->download(*scratch, 2048, writable(sum)); !status) return status;
    if (Status status = two->synchronize(); !status) return status;
    if (Status status = end->wait(); !status) return status;
    if (auto time = end->since(*begin); !time) return time.error();
    return one->synchronize();
  };
  if (Status status = steps(); !status) return status.error();
  return sum[0];
}

}  // namespace ptx2spv::faults
