// Fat binaries, ELF files and archives: entries that lie in the input, or an error.
#include "ptx2spv/fatbin.hpp"
#include "fuzz/target.hpp"
#include "tests/fatbin/builder.hpp"

namespace ptx2spv::fuzz {
namespace {

// Whatever was read lies within the input.
void within(std::span<const std::byte> all, const void* begin, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(begin);
  if (size != 0 && (first < all.data() || first + size > all.data() + all.size()))
    found("an entry outside the input");
}

}  // namespace

bool run_fatbin(Input input) {
  constexpr std::uint64_t kLimit = 1 << 20;
  const std::span<const std::byte> bytes = std::as_bytes(input);
  std::string error;
  const auto images = fatbin::read_file(bytes, error);
  if (!images) {
    if (error.empty()) found("a refusal without a reason");
    return false;
  }
  for (const fatbin::Image& image : *images) {
    for (const fatbin::Entry& entry : image.entries) {
      within(bytes, entry.stored.data(), entry.stored.size());
      within(bytes, entry.name.data(), entry.name.size());
      within(bytes, entry.options.data(), entry.options.size());
      if (fatbin::kind_name(entry.kind).empty() || fatbin::arch_name(entry).empty())
        found("an entry without a name");
      error.clear();
      const auto text = fatbin::unpack(entry, error, kLimit);
      if (!text && error.empty()) found("no text and no reason");
      if (text && (text->size() > kLimit || text->size() != entry.bytes))
        found("another size than the entry says");
    }
    for (const fatbin::Entry* entry : fatbin::ptx_for(image.entries, 90))
      if (!entry->is_ptx() || entry->arch > 90) found("PTX for another device");
  }
  return true;
}

std::vector<std::string> fatbin_seeds(const std::string&) {
  using test::Packing;
  std::string text = ".version 8.0\n.target sm_75\n";
  for (int k = 0; k < 20; ++k) text += "// line " + std::to_string(k * 7919 % 101) + "\n";
  const std::string blob = test::make_fatbin({{1, 75, 0, Packing::plain, text, "file.cu", "-O1 "},
                                              {1, 80, 0, Packing::lz4, text, "file.cu", "-O1 "},
                                              {1, 90, 0x100000, Packing::zstd, text, "", ""}});
  const std::string elf = test::make_elf({{".nv_fatbin", blob}, {"__nv_relfatbin", blob}});
  return {blob, elf, test::make_archive({{"a.o", elf}, {"a_name_of_more_than_fifteen.o", elf}})};
}

}  // namespace ptx2spv::fuzz
