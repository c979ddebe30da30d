// What tests that launch kernels write again and again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <class T>
std::span<std::byte> writable(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

/// The error with the translator's messages.
inline std::string text_of(const Error& error) {
  std::string text = error.text;
  for (const Message& each : error.messages) text += "\n" + each.rendered;
  return text;
}

/// Launches a kernel that takes pointers to `inputs` and to `count` words, which are 0xdead before,
/// and gives those words after it.
inline Result<std::vector<std::uint32_t>> words_of_launch(const Device& device,
                                                          const Kernel& kernel,
                                                          const LaunchConfig& config,
                                                          std::span<const std::byte> inputs,
                                                          std::size_t count) {
  std::vector<std::uint32_t> words(count, 0xdead);
  auto from = Buffer::create(device, inputs.size()), to = Buffer::create(device, words.size() * 4);
  if (!from) return from.error();
  if (!to) return to.error();
  if (const auto done = from->upload(0, inputs); !done) return done.error();
  if (const auto done = to->upload(0, bytes_of(words)); !done) return done.error();
  Args args;
  args.buffer(*from).buffer(*to);
  if (const auto done = kernel.launch(config, args); !done) return done.error();
  if (const auto done = to->download(0, writable(words)); !done) return done.error();
  return words;
}

}  // namespace ptx2spv
