// Files that hold fat binaries: ELF executables, libraries and objects, and archives of objects.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx2spv/fatbin.hpp"
#include "translator/fatbin/bytes.hpp"

namespace ptx2spv::fatbin {
namespace {

constexpr std::string_view kArchive = "!<arch>\n";

// A wrapper in a file: magic, version, address of the data, address of the list.
constexpr std::size_t kWrapperBytes = 24, kWrapperData = 8;

bool begins_with(ByteSpan bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

bool is_elf(ByteSpan bytes) { return begins_with(bytes, std::string_view(ELFMAG, SELFMAG)); }

class ElfFile {
 public:
  ElfFile(ByteSpan bytes, std::vector<Image>& images, std::string& error)
      : bytes_(bytes), images_(images), error_(error) {}

  bool run() {
    if (!read_header()) return false;
    bool found = false;
    for (const Elf64_Shdr& section : sections_) {
      const std::string_view name = name_of(section);
      const bool relocatable = name == "__nv_relfatbin";
      if (name != ".nv_fatbin" && !relocatable) continue;
      ByteSpan contents;
      if (!contents_of(section, name, contents) || !scan(contents, section, name, relocatable))
        return false;
      found = true;
    }
    return found || follow_wrappers();
  }

 private:
  bool refuse(std::string text) {
    error_ = std::move(text);
    return false;
  }

  template <class T>
  bool read_struct(std::uint64_t offset, T& out) const {
    if (!holds(bytes_, offset, sizeof(T))) return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return true;
  }

  bool read_header() {
    Elf64_Ehdr header;
    if (!read_struct(0, header)) return refuse("the ELF file ends within its header");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
      return refuse("the ELF file is not one of 64 bits, little-endian");
    program_offset_ = header.e_phoff;
    programs_ = header.e_phentsize == sizeof(Elf64_Phdr) ? header.e_phnum : 0;
    if (header.e_shoff == 0) return true;
    if (header.e_shentsize != sizeof(Elf64_Shdr))
      return refuse(fmt::format("the ELF file has section headers of {} bytes instead of {}",
                                header.e_shentsize, sizeof(Elf64_Shdr)));
    Elf64_Shdr first;
    if (!read_struct(header.e_shoff, first))
      return refuse("the ELF file ends before its section headers");
    // Counts that do not fit into the header's 16 bits stand in the first section's.
    const std::uint64_t count = header.e_shnum ? header.e_shnum : first.sh_size;
    const std::uint64_t names = header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
    if (count > bytes_.size() / sizeof(Elf64_Shdr) ||
        !holds(bytes_, header.e_shoff, count * sizeof(Elf64_Shdr)))
      return refuse(fmt::format("the ELF file ends within its {} section headers", count));
    sections_.resize(std::size_t(count));
    if (count)
      std::memcpy(sections_.data(), bytes_.data() + header.e_shoff, count * sizeof(Elf64_Shdr));
    if (names < count && sections_[names].sh_type != SHT_NOBITS &&
        holds(bytes_, sections_[names].sh_offset, sections_[names].sh_size))
      names_ = bytes_.subspan(std::size_t(sections_[names].sh_offset),
                              std::size_t(sections_[names].sh_size));
    return true;
  }

  std::string_view name_of(const Elf64_Shdr& section) const {
    if (section.sh_name >= names_.size()) return {};
    // No name that matters is longer, and a table of one endless name costs nothing then.
    constexpr std::size_t kLongest = 32;
    return text_at(names_, section.sh_name,
                   std::min<std::size_t>(names_.size() - section.sh_name, kLongest));
  }

  bool contents_of(const Elf64_Shdr& section, std::string_view name, ByteSpan& contents) {
    if (section.sh_type == SHT_NOBITS)
      return refuse(fmt::format("section {} has no contents: the file holds symbols only", name));
    if (section.sh_flags & SHF_COMPRESSED)
      return refuse(fmt::format("section {} is compressed as a whole, which is not read", name));
    if (!holds(bytes_, section.sh_offset, section.sh_size))
      return refuse(fmt::format("section {} ends after the file", name));
    contents = bytes_.subspan(std::size_t(section.sh_offset), std::size_t(section.sh_size));
    return true;
  }

  // Fat binaries one after another, with zeros between them for alignment.
  bool scan(ByteSpan contents, const Elf64_Shdr& section, std::string_view name, bool relocatable) {
    std::size_t at = 0;
    while (at < contents.size()) {
      if (contents[at] == std::byte{0}) {
        ++at;
        continue;
      }
      const auto size = add(contents.subspan(at), section.sh_offset + at, name, relocatable);
      if (!size) {
        error_ = fmt::format("section {}, byte {}: {}", name, at, error_);
        return false;
      }
      at += *size;
    }
    return true;
  }

  std::optional<std::size_t> add(ByteSpan bytes, std::uint64_t offset, std::string_view name,
                                 bool relocatable) {
    const auto size = size_of(bytes, error_);
    if (!size) return std::nullopt;
    auto entries = read(bytes, error_);
    if (!entries) return std::nullopt;
    Image image;
    image.section = name;
    image.offset = offset;
    image.relocatable = relocatable;
    image.entries = std::move(*entries);
    images_.push_back(std::move(image));
    return size;
  }

  // Where a linker script has renamed the sections, the wrappers still lead to the fat binaries.
  bool follow_wrappers() {
    for (const Elf64_Shdr& section : sections_) {
      constexpr std::string_view name = ".nvFatBinSegment";
      if (name_of(section) != name) continue;
      ByteSpan contents;
      if (!contents_of(section, name, contents)) return false;
      for (std::size_t at = 0; holds(contents, at, kWrapperBytes); at += kWrapperBytes)
        if (!follow(contents.subspan(at, kWrapperBytes), at)) return false;
    }
    return true;
  }

  bool follow(ByteSpan wrapper, std::size_t at) {
    const auto fail = [&](std::string_view text) {
      return refuse(fmt::format("section .nvFatBinSegment, byte {}: {}", at, text));
    };
    if (number_at<std::uint32_t>(wrapper, 0) != kWrapperMagic)
      return fail("it is no wrapper of a fat binary: the magic number is not there");
    const auto version = number_at<std::uint32_t>(wrapper, 4);
    if (version != 1 && version != 2)
      return fail(
          fmt::format("the wrapper has version {}, which is not known; 1 and 2 are", version));
    const auto address = number_at<std::uint64_t>(wrapper, kWrapperData);
    for (unsigned k = 0; k < programs_; ++k) {
      Elf64_Phdr program;
      if (!read_struct(program_offset_ + k * sizeof(Elf64_Phdr), program)) break;
      if (program.p_type != PT_LOAD || address < program.p_vaddr ||
          address - program.p_vaddr >= program.p_filesz ||
          !holds(bytes_, program.p_offset, program.p_filesz))
        continue;
      const std::uint64_t inside = address - program.p_vaddr;
      const ByteSpan loaded =
          bytes_.subspan(std::size_t(program.p_offset), std::size_t(program.p_filesz));
      if (add(loaded.subspan(std::size_t(inside)), program.p_offset + inside, ".nvFatBinSegment",
              false))
        return true;
      return fail(std::string(error_));
    }
    return fail(fmt::format(
        "the wrapper's address {:#x} is not in the file, and there is no section .nv_fatbin",
        address));
  }

  ByteSpan bytes_, names_;
  std::vector<Image>& images_;
  std::string& error_;
  std::vector<Elf64_Shdr> sections_;
  std::uint64_t program_offset_ = 0;
  unsigned programs_ = 0;
};

bool read_single(ByteSpan bytes, std::vector<Image>& images, std::string& error) {
  if (is_elf(bytes)) return ElfFile(bytes, images, error).run();
  auto entries = read(bytes, error);
  if (!entries) return false;
  images.push_back({{}, {}, 0, false, std::move(*entries)});
  return true;
}

std::string_view trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// Members follow each other, each after a header of 60 characters. Names of more than 15 stand in a
// member of their own, called "//".
bool read_archive(ByteSpan bytes, std::vector<Image>& images, std::string& error) {
  constexpr std::size_t kHeader = 60, kName = 16, kSize = 48, kSizeDigits = 10;
  std::string_view long_names;
  std::size_t at = kArchive.size();
  while (at < bytes.size()) {
    const auto fail = [&](std::string_view text) {
      error = fmt::format("the archive's member at byte {}: {}", at, text);
      return false;
    };
    if (!holds(bytes, at, kHeader)) return fail("the header ends early");
    const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + at, kHeader);
    std::uint64_t size = 0;
    for (char c : trimmed(header.substr(kSize, kSizeDigits))) {
      if (c < '0' || c > '9') return fail("its length is no number");
      size = size * 10 + unsigned(c - '0');
    }
    if (!header.ends_with("`\n")) return fail("its header has no end");
    const std::size_t begin = at + kHeader;
    if (!holds(bytes, begin, size)) return fail("it ends after the archive");
    const ByteSpan member = bytes.subspan(begin, std::size_t(size));
    std::string_view name = trimmed(header.substr(0, kName));
    if (name == "//") {
      long_names = std::string_view(reinterpret_cast<const char*>(member.data()), member.size());
    } else if (is_elf(member) || is_fatbin(member)) {
      std::size_t offset = 0;
      const bool is_long = name.size() > 1 && name[0] == '/' && name[1] >= '0' && name[1] <= '9';
      if (is_long) {
        for (char c : name.substr(1))
          if (c >= '0' && c <= '9')
            offset = std::min<std::size_t>(offset * 10 + (c - '0'), 1 << 30);
        name = offset < long_names.size() ? long_names.substr(offset, 4096) : std::string_view();
        name = name.substr(0, name.find('\n'));
      }
      if (name.ends_with('/')) name.remove_suffix(1);
      const std::size_t before = images.size();
      if (!read_single(member, images, error)) {
        error = fmt::format("{}: {}", name, error);
        return false;
      }
      for (std::size_t k = before; k < images.size(); ++k) {
        images[k].member = name;
        images[k].offset += begin;
      }
    }
    at = begin + std::size_t(size) + (size & 1);
  }
  return true;
}

}  // namespace

bool is_container(ByteSpan bytes) {
  return is_elf(bytes) || is_fatbin(bytes) || begins_with(bytes, kArchive);
}

std::optional<std::vector<Image>> read_file(ByteSpan bytes, std::string& error) {
  std::vector<Image> images;
  const bool good = begins_with(bytes, kArchive) ? read_archive(bytes, images, error)
                                                 : read_single(bytes, images, error);
  if (!good) return std::nullopt;
  return images;
}

}  // namespace ptx2spv::fatbin
