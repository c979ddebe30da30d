// Warp operations in divergent code on a device: random programs against a model of their own.
// PTX2SPV_SEED repeats a run, PTX2SPV_PROGRAMS sets the number. PTX2SPV_FOLDER writes
// manifests with the model's results instead, for other machines and for CUDA.
#include <cstdlib>
#include <fstream>

#include "tests/runtime/fixture.hpp"
#include "tests/runtime/warp_programs.hpp"
#include "tests/support/environment.hpp"

namespace ptx2spv {
namespace {

using test::environment_number;
using test::WarpProgram;
using Thread = WarpProgram::Thread;

constexpr std::uint32_t kBlocks = 2;

std::vector<Thread> inputs(const WarpProgram& program, std::mt19937& random) {
  std::vector<Thread> in(std::size_t{kBlocks} * program.threads());
  for (Thread& each : in)
    for (std::uint32_t& word : each) {
      word = random();
      // Small numbers now and then, so that threads agree.
      if (random() % 2) word &= 15;
    }
  return in;
}

std::vector<Thread> expected(const WarpProgram& program, const std::vector<Thread>& in) {
  std::vector<Thread> out;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    const auto first = in.begin() + block * program.threads();
    const auto threads = program.run({first, first + program.threads()});
    out.insert(out.end(), threads.begin(), threads.end());
  }
  return out;
}

void write_manifest(const std::string& name, const WarpProgram& program,
                    const std::vector<Thread>& in, const std::vector<Thread>& out) {
  const auto words = [&](const std::string& suffix, const std::vector<Thread>& data) {
    std::ofstream file(name + suffix, std::ios::binary);
    file.write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size() * sizeof(Thread)));
  };
  const std::string stem = name.substr(name.rfind('/') + 1);
  words(".in", in);
  words(".out", out);
  std::ofstream(name + ".ptx") << program.text();
  std::ofstream(name + ".json")
      << "{\"module\": \"" << stem
      << ".ptx\", \"buffers\": {\"in\": {\"bytes\": " << in.size() * sizeof(Thread)
      << ", \"init\": {\"raw\": \"" << stem
      << ".in\"}}, \"out\": {\"bytes\": " << in.size() * sizeof(Thread)
      << "}}, \"launches\": [{\"kernel\": \"warps\", \"grid\": " << kBlocks << ", \"block\": ["
      << program.block[0] << ", " << program.block[1]
      << "], \"args\": [{\"buffer\": \"in\"}, {\"buffer\": \"out\"}]}], \"outputs\": [{\"buffer\": "
         "\"out\", \"expect\": \""
      << stem << ".out\"}]}\n";
}

TEST(Warps, DivergentThreadsExchangeWhatTheManualSays) {
  const std::uint32_t seed = environment_number("PTX2SPV_SEED", 20);
  const std::uint32_t programs = environment_number("PTX2SPV_PROGRAMS", 8);
  const char* folder = std::getenv("PTX2SPV_FOLDER");
  for (std::uint32_t i = 0; i < programs; ++i) {
    std::mt19937 random(seed + i);
    const WarpProgram program = test::make_warp_program(random);
    const std::vector<Thread> in = inputs(program, random), out = expected(program, in);
    if (folder) {
      write_manifest(std::string(folder) + "/warps" + std::to_string(i), program, in, out);
      continue;
    }
    SCOPED_TRACE("PTX2SPV_PROGRAMS=1 PTX2SPV_SEED=" + std::to_string(seed + i));
    Module module = must(Module::load(test_device(), program.text(), "warps.ptx"));
    Buffer from = must(Buffer::create(test_device(), in.size() * sizeof(Thread)));
    Buffer to = must(Buffer::create(test_device(), in.size() * sizeof(Thread)));
    must(from.upload(0, std::as_bytes(std::span(in))));
    LaunchConfig config;
    config.grid = {kBlocks, 1, 1};
    config.block = {program.block[0], program.block[1], 1};
    Args args;
    args.buffer(from).buffer(to);
    const Kernel kernel = must(module.kernel("warps"));
    must(kernel.launch(config, args));
    const auto got = read_buffer<Thread>(to, in.size());
    for (std::size_t t = 0; t < got.size(); ++t)
      ASSERT_EQ(got[t], out[t]) << "thread " << t % program.threads() << " of block "
                                << t / program.threads() << "\n"
                                << program.text();
  }
  if (folder) GTEST_SKIP() << "PTX2SPV_FOLDER asks for manifests";
}

}  // namespace
}  // namespace ptx2spv
