// What the host back end makes of an instruction: with and without the optimiser, at times in
// machine code, and on numbers that the input's digest chooses, the same words. The kernel is that
// of the sensitivity target.
#include <array>
#include <cstring>
#include <optional>

#include "fuzz/target.hpp"
#include "ptx2spv/interpreter.hpp"

namespace ptx2spv::fuzz {

namespace {

using Tier = InterpretedKernel::Tier;

/// One of so many inputs is compiled, which takes as long as some hundred others.
constexpr unsigned kSeldom = 32;
constexpr std::size_t kMostBytes = 200, kInputWords = 200, kWords = 400;

using Words = std::array<std::uint32_t, kWords>;

/// Any number, and often one at which operations have a case of their own.
std::uint32_t any_word(Random& random) {
  constexpr std::uint32_t kSpecial[] = {0,          1,          31,         32,         0xffffffff,
                                        0x80000000, 0x7fffffff, 0x3f800000, 0x7f800000, 0xff800000,
                                        0x7fc00000, 0x00000001, 0x00400000, 0x3c003c00, 0x7c00fc00};
  if (random.one_in(2)) return kSpecial[random.below(std::size(kSpecial))];
  return static_cast<std::uint32_t>(random.next());
}

/// Nothing: the interpreter does not take the kernel. A problem ends with words of its own.
std::optional<Words> run(const PtxModule& module, int optimize, Tier tier, Words words) {
  TranslateOptions options;
  options.entry = "k";
  options.optimize = optimize;
  std::vector<Message> messages;
  const auto kernel = InterpretedKernel::make(module, options, messages);
  if (!kernel) return std::nullopt;
  std::vector<std::uint32_t> params((kernel->entry().param_buffer_bytes + 3) / 4 + 6);
  const auto address = reinterpret_cast<std::uint64_t>(words.data());
  std::memcpy(params.data(), &address, sizeof address);
  std::vector<std::uint32_t> trap(abi::kTrapWords), locks(abi::kLockWords), none(64);
  std::vector<std::uint32_t> push(abi::kPushWords);
  for (const auto word :
       {abi::grid_x, abi::grid_y, abi::grid_z, abi::block_x, abi::block_y, abi::block_z})
    push[word] = 1;
  const auto memory = [](std::vector<std::uint32_t>& of) {
    return InterpretedKernel::Memory{reinterpret_cast<std::byte*>(of.data()), of.size() * 4};
  };
  InterpretedKernel::Launch launch;
  for (auto& each : launch.bindings) each = memory(none);
  launch.bindings[abi::params] = memory(params);
  launch.bindings[abi::trap] = memory(trap);
  launch.bindings[abi::locks] = memory(locks);
  launch.push = push;
  launch.threads = 1;
  launch.tier = tier;
  launch.timeout = 5;
  const auto ending = kernel->run(launch);
  if (ending.timed_out) found("a kernel without a loop does not end");
  if (!ending.problem.empty() || trap[0]) words.fill(0);
  return words;
}

void expect_same(std::string_view text, const Words& plain, const Words& other, const char* which) {
  for (std::size_t i = 0; i < kWords; ++i)
    if (plain[i] != other[i])
      found(std::string(text) + ": word " + std::to_string(i) + " is " + std::to_string(plain[i]) +
            ", and " + which + " " + std::to_string(other[i]));
}

/// Whose result is the kernel's own: no memory at addresses that are numbers, no clock.
bool is_pure(std::string_view text) {
  for (const std::string_view word : {"[", "%clock", "%globaltimer", "nanosleep", "%warpid",
                                      "%smid", "%gridid", "alloca", "stack", "setmaxnreg", "call"})
    if (text.find(word) != text.npos) return false;
  return true;
}

}  // namespace

bool run_interpret(Input input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  if (text.size() > kMostBytes || text.find_first_of("@/:\n") != text.npos || !is_pure(text))
    return false;
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{kernel_around(text), "fuzz.ptx"}}, messages);
  if (!module) return false;
  Random random(hash(input));
  const bool compiles = random.one_in(kSeldom);
  for (int round = 0; round < 2; ++round) {
    Words words{};
    for (std::size_t i = 0; i < kInputWords; ++i) words[i] = any_word(random);
    const auto plain = run(*module, 0, Tier::interpreted, words),
               optimised = run(*module, 1, Tier::interpreted, words);
    if (plain.has_value() != optimised.has_value()) found("the optimiser decides what is taken");
    if (!plain) return false;
    expect_same(text, *plain, *optimised, "optimised");
    if (compiles)
      expect_same(text, *plain, *run(*module, 1, Tier::compiled, words), "in machine code");
  }
  return true;
}

}  // namespace ptx2spv::fuzz
