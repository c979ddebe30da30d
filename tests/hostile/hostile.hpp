// Inputs that are wrong on purpose, made by a generator so that nothing large lies in the
// repository.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2spv::test {

struct Hostile {
  std::string name, text;
};

/// PTX modules that are no PTX modules: cut off, damaged, absurd, deep, long.
std::vector<Hostile> hostile_modules();
/// Manifests for a module `k.ptx` with the kernel `k(.param .u64 s, .param .u64 b)`.
std::vector<Hostile> hostile_manifests();
/// What the manifests are about, and the good one that they are made of.
std::string good_module();
std::string good_manifest();

inline std::string times(std::size_t count, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace ptx2spv::test
