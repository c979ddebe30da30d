#include "tests/fatbin/builder.hpp"

#include <lz4.h>
#include <zstd.h>

namespace ptx2spv::test {
namespace {

std::string packed(Packing packing, const std::string& text) {
  std::string out;
  if (packing == Packing::lz4) {
    out.resize(std::size_t(LZ4_compressBound(int(text.size()))));
    out.resize(std::size_t(
        LZ4_compress_default(text.data(), out.data(), int(text.size()), int(out.size()))));
  } else if (packing == Packing::zstd) {
    out.resize(ZSTD_compressBound(text.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  } else {
    out = text;
  }
  return out;
}

void pad(std::string& out, std::size_t to) { out.resize((out.size() + to - 1) / to * to); }

constexpr std::size_t kElfHeader = 64, kProgramHeader = 56;

}  // namespace

void put(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned k = 0; k < bytes; ++k) out += char(value >> (8 * k));
}

std::string make_entry(const EntrySpec& spec) {
  std::string contents = packed(spec.packing, spec.contents);
  const std::size_t stored = contents.size();
  pad(contents, 8);
  std::string tail;  // of the header: what the first 64 bytes point to
  const std::size_t options_at = spec.options.empty() ? 0 : 64;
  if (!spec.options.empty()) {
    put(tail, 72, 4);
    put(tail, spec.options.size(), 4);
    tail += spec.options;
  }
  const std::size_t name_at = spec.name.empty() ? 0 : 64 + tail.size();
  tail += spec.name;
  pad(tail, 8);
  const bool pack = spec.packing != Packing::plain;
  const std::uint64_t method = spec.packing == Packing::lz4    ? 0x2000
                               : spec.packing == Packing::zstd ? 0x8000
                                                               : 0;
  std::string out;
  put(out, spec.kind, 2);
  put(out, 0x0101, 2);
  put(out, 64 + tail.size(), 4);
  put(out, contents.size(), 8);
  put(out, pack ? stored : 0, 4);
  put(out, options_at, 4);
  put(out, 0x90000, 4);
  put(out, spec.arch, 4);
  put(out, name_at, 4);
  put(out, spec.name.size(), 4);
  put(out, 0x11 | method | spec.extra_flags, 8);
  put(out, 0, 8);
  put(out, pack ? spec.contents.size() : 0, 8);
  return out + tail + contents;
}

std::string make_fatbin(const std::vector<EntrySpec>& entries) {
  std::string contents;
  for (const EntrySpec& entry : entries) contents += make_entry(entry);
  std::string out;
  put(out, 0xBA55ED50, 4);
  put(out, 1, 2);
  put(out, 16, 2);
  put(out, contents.size(), 8);
  return out + contents;
}

std::uint64_t offset_in_elf(const std::vector<SectionSpec>& sections, std::size_t index) {
  std::size_t at = kElfHeader + kProgramHeader;
  for (std::size_t k = 0; k < index; ++k) at += (sections[k].contents.size() + 7) / 8 * 8;
  return at;
}

std::string make_elf(const std::vector<SectionSpec>& sections, std::uint64_t base) {
  std::string names(1, '\0'), contents, headers(64, '\0');
  for (std::size_t k = 0; k < sections.size(); ++k) {
    put(headers, names.size(), 4);
    put(headers, 1, 4);  // SHT_PROGBITS
    put(headers, 2, 8);
    put(headers, base + offset_in_elf(sections, k), 8);
    put(headers, offset_in_elf(sections, k), 8);
    put(headers, sections[k].contents.size(), 8);
    put(headers, 0, 8);
    put(headers, 8, 8);
    put(headers, 0, 8);
    names += sections[k].name + '\0';
    contents += sections[k].contents;
    pad(contents, 8);
  }
  const std::size_t names_at = kElfHeader + kProgramHeader + contents.size();
  put(headers, names.size(), 4);
  names += std::string(".shstrtab") + '\0';
  put(headers, 3, 4);  // SHT_STRTAB
  put(headers, 0, 16);
  put(headers, names_at, 8);
  put(headers, names.size(), 8);
  put(headers, 0, 24);
  pad(names, 8);
  const std::size_t headers_at = names_at + names.size();
  const std::size_t whole = headers_at + headers.size();

  std::string out(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  out.resize(16);
  put(out, 2, 2);   // ET_EXEC
  put(out, 62, 2);  // x86-64
  put(out, 1, 4);
  put(out, 0, 8);
  put(out, kElfHeader, 8);
  put(out, headers_at, 8);
  put(out, 0, 4);
  put(out, kElfHeader, 2);
  put(out, kProgramHeader, 2);
  put(out, 1, 2);
  put(out, 64, 2);
  put(out, sections.size() + 2, 2);
  put(out, sections.size() + 1, 2);
  put(out, 1, 4);  // PT_LOAD
  put(out, 4, 4);
  put(out, 0, 8);
  put(out, base, 8);
  put(out, base, 8);
  put(out, whole, 8);
  put(out, whole, 8);
  put(out, 0x1000, 8);
  return out + contents + names + headers;
}

std::string make_archive(const std::vector<std::pair<std::string, std::string>>& members) {
  const auto header = [](std::string name, std::size_t size) {
    name.resize(16, ' ');
    std::string out = name + std::string(32, ' ');  // time, owner, group, mode
    std::string digits = std::to_string(size);
    digits.resize(10, ' ');
    return out + digits + "`\n";
  };
  std::string long_names, out = "!<arch>\n", body;
  for (const auto& [name, contents] : members) {
    std::string field = name + "/";
    if (field.size() > 16) {
      field = "/" + std::to_string(long_names.size());
      long_names += name + "/\n";
    }
    body += header(field, contents.size()) + contents;
    if (body.size() % 2) body += '\n';
  }
  if (!long_names.empty()) {
    out += header("//", long_names.size()) + long_names;
    if (out.size() % 2) out += '\n';
  }
  return out + body;
}

}  // namespace ptx2spv::test
