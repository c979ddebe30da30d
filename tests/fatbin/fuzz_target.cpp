// What libFuzzer asks for: link with -fsanitize=fuzzer and the translator to run it for hours.
// corrupt_test.cpp calls it with damaged files in every run.
#include <cstdlib>
#include <string>

#include "ptx2spv/fatbin.hpp"
#include "tests/fatbin/builder.hpp"

namespace ptx2spv::test {
namespace {

// Whatever was read lies within the input.
void within(std::span<const std::byte> all, const void* begin, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(begin);
  if (size != 0 && (first < all.data() || first + size > all.data() + all.size())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kLimit = 1 << 20;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  std::string error;
  const auto images = fatbin::read_file(bytes, error);
  if (!images) {
    if (error.empty()) std::abort();
    return 0;
  }
  for (const fatbin::Image& image : *images) {
    for (const fatbin::Entry& entry : image.entries) {
      within(bytes, entry.stored.data(), entry.stored.size());
      within(bytes, entry.name.data(), entry.name.size());
      within(bytes, entry.options.data(), entry.options.size());
      if (fatbin::kind_name(entry.kind).empty() || fatbin::arch_name(entry).empty()) std::abort();
      error.clear();
      const auto text = fatbin::unpack(entry, error, kLimit);
      if (!text && error.empty()) std::abort();
      if (text && (text->size() > kLimit || text->size() != entry.bytes)) std::abort();
    }
    for (const fatbin::Entry* entry : fatbin::ptx_for(image.entries, 90))
      if (!entry->is_ptx() || entry->arch > 90) std::abort();
  }
  return 0;
}

}  // namespace ptx2spv::test
