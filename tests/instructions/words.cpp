#include "tests/instructions/words.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {

std::vector<std::uint32_t> run_words(const std::string& text, unsigned threads,
                                     const std::vector<std::uint32_t>& in, unsigned results) {
  static const Result<Device> device = Device::open();
  EXPECT_TRUE(device) << device.error().to_string();
  if (!device) return {};
  const std::string whole =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      ".reg .b32 %t<8>;\n.reg .b64 %in, %out, %d<8>;\n.reg .f32 %f<8>;\n.reg .f64 %g<8>;\n"
      ".reg .b16 %h<8>;\n.reg .pred %q, %p<4>;\n"
      "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
      "mov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %tid.x;\nmad.lo.u32 %t0, %t0, 64, %t1;\n" +
      fmt::format("mad.wide.u32 %in, %t0, {}, %in;\nmad.wide.u32 %out, %t0, {}, %out;\n",
                  in.size() / threads * 4, results * 4) +
      text + "\nret;\n}\n";
  const auto module = Module::load(*device, whole, "words.ptx");
  EXPECT_TRUE(module) << module.error().to_string();
  if (!module) return {};
  const auto kernel = module->kernel("k");
  std::vector<std::uint32_t> out(std::size_t{threads} * results);
  auto from = Buffer::create(*device, in.size() * 4), to = Buffer::create(*device, out.size() * 4);
  EXPECT_TRUE(kernel && from && to);
  if (!kernel || !from || !to) return {};
  EXPECT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
  LaunchConfig config;
  config.block = {64, 1, 1};
  config.grid = {threads / 64, 1, 1};
  Args args;
  args.buffer(*from).buffer(*to);
  const auto done = kernel->launch(config, args);
  EXPECT_TRUE(done) << done.error().to_string();
  if (!done || !to->download(0, std::as_writable_bytes(std::span(out)))) return {};
  return out;
}

}  // namespace ptx2spv::tests
