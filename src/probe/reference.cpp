#include "src/probe/reference.hpp"

#include <cstring>

#include "ptx2spv/interpreter.hpp"

namespace ptx2spv::runtime {

namespace {

std::uint64_t address_of(std::vector<std::uint32_t>& words) {
  return reinterpret_cast<std::uint64_t>(words.data());
}

InterpretedKernel::Memory memory_of(std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<std::byte*>(words.data()), words.size() * 4};
}

std::string first_of(const std::vector<Message>& messages) {
  return messages.empty() ? std::string("no translation") : messages.front().text;
}

}  // namespace

Reference reference(const std::string& text, std::uint32_t blocks, std::uint32_t block,
                    std::vector<std::uint32_t> input, std::size_t words) {
  Reference out;
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "probe.ptx"}}, messages);
  if (!module) return {{}, first_of(messages)};
  TranslateOptions options;
  options.entry = "k";
  const auto kernel = InterpretedKernel::make(*module, options, messages);
  if (!kernel) return {{}, first_of(messages)};
  out.words.resize(words);
  std::vector<std::uint32_t> params((kernel->entry().param_buffer_bytes + 3) / 4 + 6);
  const std::uint64_t addresses[] = {address_of(input), address_of(out.words)};
  std::memcpy(params.data(), addresses, sizeof addresses);
  std::vector<std::uint32_t> trap(abi::kTrapWords), locks(abi::kLockWords), none(64);
  std::vector<std::uint32_t> push(abi::kPushWords);
  push[abi::grid_x] = blocks;
  push[abi::block_x] = block;
  push[abi::grid_y] = push[abi::grid_z] = push[abi::block_y] = push[abi::block_z] = 1;
  InterpretedKernel::Launch launch;
  launch.grid[0] = blocks;
  launch.block[0] = block;
  for (auto& each : launch.bindings) each = memory_of(none);
  launch.bindings[abi::params] = memory_of(params);
  launch.bindings[abi::trap] = memory_of(trap);
  launch.bindings[abi::locks] = memory_of(locks);
  launch.push = push;
  out.error = kernel->run(launch).problem;
  if (out.error.empty() && trap[0]) out.error = "a trap";
  return out;
}

}  // namespace ptx2spv::runtime
