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

}  // namespace ptx2spv
