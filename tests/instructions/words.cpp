#include "tests/instructions/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {

Words run_words(const WordsKernel& kernel, const Words& in) {
  static const Result<Device> device = Device::open();
  EXPECT_TRUE(device) << device.error().to_string();
  if (!device) return {};
  const auto module = Module::load(*device, words_module(kernel), "words.ptx");
  EXPECT_TRUE(module) << module.error().to_string();
  if (!module) return {};
  const auto entry = module->kernel("k");
  Words out(std::size_t{kernel.threads} * kernel.results);
  auto from = Buffer::create(*device, std::max<std::size_t>(in.size(), 1) * 4),
       to = Buffer::create(*device, out.size() * 4);
  EXPECT_TRUE(entry && from && to);
  if (!entry || !from || !to) return {};
  EXPECT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
  EXPECT_TRUE(to->upload(0, std::as_bytes(std::span(out))));
  LaunchConfig config;
  config.block = {64, 1, 1};
  config.grid = {kernel.threads / 64, 1, 1};
  Args args;
  args.buffer(*from).buffer(*to);
  const auto done = entry->launch(config, args);
  EXPECT_TRUE(done) << done.error().to_string();
  if (!done || !to->download(0, std::as_writable_bytes(std::span(out)))) return {};
  return out;
}

Words run_words(const std::string& text, unsigned threads, const Words& in, unsigned results) {
  WordsKernel kernel;
  kernel.text = text;
  kernel.threads = threads;
  kernel.operands = static_cast<unsigned>(in.size() / threads);
  kernel.results = results;
  return run_words(kernel, in);
}

}  // namespace ptx2spv::tests
