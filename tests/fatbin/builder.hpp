// Fat binaries, ELF files and archives made byte by byte after fat-binaries.md, without the
// library's own code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptx2spv::test {

enum class Packing { plain, lz4, zstd };

struct EntrySpec {
  std::uint16_t kind = 1;
  std::uint32_t arch = 75;
  std::uint64_t extra_flags = 0;
  Packing packing = Packing::plain;
  std::string contents;
  std::string name, options;
};

/// One entry: header and contents, padded to eight bytes.
std::string make_entry(const EntrySpec& spec);
/// A fat binary of these entries.
std::string make_fatbin(const std::vector<EntrySpec>& entries);

struct SectionSpec {
  std::string name, contents;
  std::uint64_t address = 0;
};
/// An ELF file of 64 bits with these sections, the string table last, and one PT_LOAD over the
/// whole file at `base`.
std::string make_elf(const std::vector<SectionSpec>& sections, std::uint64_t base = 0x400000);
/// The offset in make_elf()'s file of a section's contents.
std::uint64_t offset_in_elf(const std::vector<SectionSpec>& sections, std::size_t index);

/// An archive of these members: name and contents.
std::string make_archive(const std::vector<std::pair<std::string, std::string>>& members);

void put(std::string& out, std::uint64_t value, unsigned bytes);
inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace ptx2spv::test
