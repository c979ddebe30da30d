// What libFuzzer asks for. PTX2SPV_FUZZ_TARGET names the target.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/target.hpp"

namespace {

const ptx2spv::fuzz::Target& target() {
  static const ptx2spv::fuzz::Target* chosen = [] {
    const char* name = std::getenv("PTX2SPV_FUZZ_TARGET");
    const auto* found = ptx2spv::fuzz::find_target(name ? name : "");
    if (!found) {
      std::fprintf(stderr, "PTX2SPV_FUZZ_TARGET names a target; dev/fuzz sets it\n");
      std::exit(2);
    }
    return found;
  }();
  return *chosen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // -1 keeps an input out of the corpus: the first ones that are not taken show the way, later ones
  // would fill it.
  static std::size_t refused = 0;
  if (target().run({data, size})) return 0;
  return ++refused < 20000 ? 0 : -1;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  ptx2spv::fuzz::Random random(seed);
  if (target().bytes && random.one_in(8)) return LLVMFuzzerMutate(data, size, most);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string made = target().mutate(text, text, random);
  size = made.size() < most ? made.size() : most;
  std::memcpy(data, made.data(), size);
  return size;
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t size,
                                                 const std::uint8_t* two, std::size_t size2,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned seed) {
  ptx2spv::fuzz::Random random(seed);
  const std::string made = target().mutate({reinterpret_cast<const char*>(one), size},
                                           {reinterpret_cast<const char*>(two), size2}, random);
  size = made.size() < most ? made.size() : most;
  std::memcpy(out, made.data(), size);
  return size;
}
