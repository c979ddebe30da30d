// bench_pipelines: what drivers take to compile kernels of many long routines.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/main.hpp"
#include "ptx2spv/runtime.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum Id : int { opt_device = 1, opt_reads, opt_calls };

constexpr Option kOptions[] = {
    device_option(opt_device),
    {opt_reads, 0, "reads", "N", "texture reads of a kernel; 217 when not given"},
    {opt_calls, 0, "calls", "N", "float operations of a kernel; 880 when not given"},
};
constexpr Tool kTool = {
    "bench_pipelines",
    "[OPTION...]",
    "times the first launch of kernels with many texture reads or exact float operations",
    "A kernel's time to prepare is the translation and the driver's compilation; no cache is used. "
    "PTX2SPV_DEBUG=routine-budget=1000000000 gives every read a copy of its code.",
    kOptions,
    kMeasuredExits};

constexpr const char* kHead =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 volume, .param .u64 handles, .param .u64 out)\n{\n"
    ".reg .f32 %x, %y, %z, %sum, %v<4>;\n.reg .f64 %dx, %dy, %dsum;\n.reg .b32 %t;\n"
    ".reg .b64 %from, %to, %at;\nld.param.u64 %from, [volume];\nld.param.u64 %to, [out];\n"
    "mov.u32 %t, %tid.x;\ncvt.rn.f32.u32 %x, %t;\nmov.f32 %sum, 0f00000000;\n"
    "cvt.f64.f32 %dx, %x;\nmov.f64 %dsum, 0d3FF0000000000000;\n";
constexpr const char* kTail =
    "mul.wide.u32 %at, %t, 4;\nadd.u64 %to, %to, %at;\nst.global.f32 [%to], %sum;\nret;\n}\n";

std::string reads(unsigned count, bool known) {
  std::string text = kHead;
  if (!known) text += "ld.param.u64 %at, [handles];\nld.global.u64 %from, [%at];\n";
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format(
        "add.f32 %y, %x, 0f{0:08X};\nadd.f32 %z, %y, %sum;\n"
        "tex.3d.v4.f32.f32 {{%v0, %v1, %v2, %v3}}, [%from, {{%x, %y, %z, %z}}];\n"
        "fma.rn.f32 %sum, %v0, 0f{0:08X}, %sum;\n",
        0x3f800000u + (i << 12));
  return text + kTail;
}

std::string floats(unsigned count, bool wide) {
  std::string text = kHead;
  for (unsigned i = 0; i < count; ++i) {
    const char* const operation = i % 3 == 0   ? "fma.rn.{0} {1}, {1}, {2}, {3};\n"
                                  : i % 3 == 1 ? "add.rn.{0} {1}, {1}, {2};\n"
                                               : "mul.rn.{0} {1}, {1}, {3};\n";
    text += fmt::format("add.rn.f32 %y, %x, 0f{:08X};\n", 0x3f800000u + (i << 11));
    if (wide) text += "cvt.f64.f32 %dy, %y;\n";
    text += wide ? fmt::format(fmt::runtime(operation), "f64", "%dsum", "%dx", "%dy")
                 : fmt::format(fmt::runtime(operation), "f32", "%sum", "%x", "%y");
  }
  if (wide) text += "cvt.rn.f32.f64 %sum, %dsum;\n";
  return text + kTail;
}

int fail(const Error& error) {
  std::fprintf(stderr, "bench_pipelines: error: %s\n", error.text.c_str());
  return 2;
}

int measure(const Device& device, const Texture& texture, const std::string& name,
            const std::string& text) {
  const auto module = Module::load(device, text, "pipelines.ptx");
  if (!module) return fail(module.error());
  const auto kernel = module->kernel("k");
  if (!kernel) return fail(kernel.error());
  const std::uint64_t handle = texture.handle();
  auto handles = Buffer::create(device, sizeof(handle)), to = Buffer::create(device, 64 * 4);
  if (!handles) return fail(handles.error());
  if (!to) return fail(to.error());
  if (const auto put = handles->upload(0, std::as_bytes(std::span(&handle, 1))); !put)
    return fail(put.error());
  LaunchConfig config;
  config.block = {64, 1, 1};
  Args args;
  args.texture(texture).buffer(*handles).buffer(*to);
  const auto first = kernel->launch(config, args);
  if (!first) return fail(first.error());
  const auto second = kernel->launch(config, args);
  if (!second) return fail(second.error());
  std::printf("| %s | %lld | %.2f | %.2f |\n", name.c_str(),
              static_cast<long long>(std::count(text.begin(), text.end(), '\n')),
              first->prepare_ms / 1000, second->wall_ms);
  std::fflush(stdout);
  return 0;
}

int run(const ParsedCommand& command) {
  DeviceOptions options;
  options.select = "swiftshader";
  options.cache = false;
  unsigned count = 217, calls = 880;
  for (const ParsedOption& option : command.options) switch (option.id) {
      case opt_device: options.select = option.value; break;
      case opt_reads: count = positive(option.value); break;
      case opt_calls: calls = positive(option.value); break;
      default: break;
    }
  const auto device = Device::open(options);
  if (!device) return fail(device.error());
  ArrayDesc desc;
  desc.geometry = Geometry::d3;
  desc.format = abi::SurfaceFormat::f32;
  desc.width = desc.height = desc.depth = 16;
  const auto array = Array::create(*device, desc);
  if (!array) return fail(array.error());
  TextureDesc how;
  how.linear_filter = true;
  const auto texture = Texture::create(*array, how);
  if (!texture) return fail(texture.error());
  std::printf("%s\n\n| kernel | PTX lines | prepare, s | run, ms |\n|---|---|---|---|\n",
              device->info().name.c_str());
  const std::pair<std::string, std::string> kernels[] = {
      {fmt::format("{} tex.3d of a parameter", count), reads(count, true)},
      {fmt::format("{} tex.3d of a handle in memory", count), reads(count, false)},
      {fmt::format("{} operations of f32", calls), floats(calls, false)},
      {fmt::format("{} operations of f64", calls), floats(calls, true)}};
  for (const auto& [name, text] : kernels)
    if (const int bad = measure(*device, *texture, name, text)) return bad;
  return 0;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
