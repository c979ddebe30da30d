// The fat binary itself: its header, its entries, and which of them a device may run.
#include "ptx2spv/fatbin.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "translator/fatbin/bytes.hpp"

namespace ptx2spv::fatbin {
namespace {

// Offsets within the header of a fat binary.
constexpr std::size_t kHeaderVersion = 4, kHeaderBytes = 6, kHeaderPayload = 8, kHeaderLeast = 16;

// Offsets within the header of an entry. The header's own length stands in it, and newer compilers
// write longer ones.
constexpr std::size_t kEntryKind = 0, kEntryHeader = 4, kEntryPayload = 8, kEntryCompressed = 16,
                      kEntryOptions = 20, kEntryArch = 28, kEntryName = 32, kEntryNameBytes = 36,
                      kEntryFlags = 40, kEntryBytes = 56, kEntryLeast = 64;

// A description of the options: where they stand, and how many characters they have.
constexpr std::size_t kOptionsBytes = 8;

std::optional<Entry> read_entry(ByteSpan bytes, std::size_t offset, std::uint64_t& length,
                                std::string& error) {
  const auto refuse = [&](const std::string& text) {
    error = fmt::format("the entry at byte {} of the fat binary {}", offset, text);
    return std::nullopt;
  };
  if (!holds(bytes, offset, kEntryLeast))
    return refuse(fmt::format("ends early: a header has {} bytes at least", kEntryLeast));
  ByteSpan rest = bytes.subspan(offset);
  const auto header = number_at<std::uint32_t>(rest, kEntryHeader);
  const auto payload = number_at<std::uint64_t>(rest, kEntryPayload);
  if (header < kEntryLeast || !holds(rest, header, payload))
    return refuse(
        fmt::format("does not fit: a header of {} bytes and contents of {} are not "
                    "possible in the {} bytes that are left",
                    header, payload, rest.size()));
  Entry entry;
  entry.kind = Kind(number_at<std::uint16_t>(rest, kEntryKind));
  entry.arch = number_at<std::uint32_t>(rest, kEntryArch);
  entry.flags = number_at<std::uint64_t>(rest, kEntryFlags);
  entry.offset = offset;
  entry.bytes = number_at<std::uint64_t>(rest, kEntryBytes);
  const auto compressed = number_at<std::uint32_t>(rest, kEntryCompressed);
  std::uint64_t stored = payload;
  const bool lz4 = entry.flags & flag_lz4, zstd = entry.flags & flag_zstd;
  if (lz4 && zstd) return refuse("claims to be compressed by LZ4 and by zstd");
  if ((lz4 || zstd) && entry.bytes != 0) {
    entry.compression = lz4 ? Compression::lz4 : Compression::zstd;
    if (compressed > payload)
      return refuse(
          fmt::format("does not fit: {} compressed bytes in contents of {}", compressed, payload));
    stored = compressed;
  } else {
    // The compilers set the flag of the method that was asked for and leave the number of
    // uncompressed bytes 0 where they did not compress.
    if (compressed != 0 && (lz4 || zstd)) return refuse("is compressed, of no known length");
    entry.bytes = payload;
  }
  entry.stored = rest.subspan(header, std::size_t(stored));
  const ByteSpan fields = rest.first(header);
  entry.name = text_at(fields, number_at<std::uint32_t>(rest, kEntryName),
                       number_at<std::uint32_t>(rest, kEntryNameBytes));
  const auto options = number_at<std::uint32_t>(rest, kEntryOptions);
  if (options >= kEntryLeast && holds(fields, options, kOptionsBytes))
    entry.options = text_at(fields, number_at<std::uint32_t>(fields, options),
                            number_at<std::uint32_t>(fields, options + 4));
  length = header + payload;
  return entry;
}

}  // namespace

std::string kind_name(Kind kind) {
  switch (kind) {
    case Kind::ptx: return "PTX";
    case Kind::sass: return "SASS";
    case Kind::lto_ir: return "LTO-IR";
  }
  return fmt::format("kind {}", unsigned(kind));
}

std::string_view compression_name(Compression compression) {
  switch (compression) {
    case Compression::none: return "none";
    case Compression::lz4: return "LZ4";
    case Compression::zstd: return "zstd";
  }
  return "";
}

std::string arch_name(const Entry& entry) {
  std::string name = fmt::format("sm_{}", entry.arch);
  if (entry.suffix()) name += entry.suffix();
  return name;
}

bool is_fatbin(ByteSpan bytes) {
  return bytes.size() >= 4 && number_at<std::uint32_t>(bytes, 0) == kMagic;
}

std::optional<std::size_t> size_of(ByteSpan bytes, std::string& error) {
  if (!is_fatbin(bytes)) {
    error = "it is no fat binary: the magic number is not there";
    return std::nullopt;
  }
  if (bytes.size() < kHeaderLeast) {
    error = "the fat binary ends within its header";
    return std::nullopt;
  }
  const auto version = number_at<std::uint16_t>(bytes, kHeaderVersion);
  const auto header = number_at<std::uint16_t>(bytes, kHeaderBytes);
  const auto payload = number_at<std::uint64_t>(bytes, kHeaderPayload);
  if (version != 1) {
    error = fmt::format("the fat binary has version {}, which is not known; 1 is", version);
    return std::nullopt;
  }
  if (header < kHeaderLeast || !holds(bytes, header, payload)) {
    error = fmt::format(
        "the fat binary does not fit: a header of {} bytes and contents of {} are not "
        "possible in {} bytes",
        header, payload, bytes.size());
    return std::nullopt;
  }
  return std::size_t(header + payload);
}

std::optional<std::vector<Entry>> read(ByteSpan bytes, std::string& error) {
  const auto size = size_of(bytes, error);
  if (!size) return std::nullopt;
  bytes = bytes.first(*size);
  std::vector<Entry> entries;
  std::uint64_t offset = number_at<std::uint16_t>(bytes, kHeaderBytes);
  while (offset < bytes.size()) {
    std::uint64_t length = 0;
    auto entry = read_entry(bytes, std::size_t(offset), length, error);
    if (!entry) return std::nullopt;
    entries.push_back(*entry);
    offset += length;
  }
  return entries;
}

std::vector<const Entry*> ptx_for(std::span<const Entry> entries, std::uint32_t capability) {
  std::vector<const Entry*> found;
  for (const Entry& entry : entries) {
    if (!entry.is_ptx() || entry.arch > capability) continue;
    if (entry.suffix() == 'a' && entry.arch != capability) continue;
    if (entry.suffix() == 'f' && entry.arch / 10 != capability / 10) continue;
    found.push_back(&entry);
  }
  std::stable_sort(found.begin(), found.end(), [](const Entry* a, const Entry* b) {
    return a->arch != b->arch ? a->arch > b->arch : !a->suffix() && b->suffix();
  });
  return found;
}

std::optional<std::vector<ByteSpan>> unwrap(const void* wrapper, std::string& error) {
  if (!wrapper) {
    error = "the address of the wrapper is null";
    return std::nullopt;
  }
  const Wrapper& it = *static_cast<const Wrapper*>(wrapper);
  if (it.magic != kWrapperMagic) {
    error = "it is no wrapper of a fat binary: the magic number is not there";
    return std::nullopt;
  }
  if (it.version != 1 && it.version != 2) {
    error = fmt::format("the wrapper has version {}, which is not known; 1 and 2 are", it.version);
    return std::nullopt;
  }
  std::vector<ByteSpan> found;
  const auto add = [&](const void* data) {
    // Only the header says how far the memory goes.
    const ByteSpan header(static_cast<const std::byte*>(data), kHeaderLeast);
    if (!is_fatbin(header)) {
      error = "the wrapper does not lead to a fat binary: the magic number is not there";
      return false;
    }
    const auto length = number_at<std::uint64_t>(header, kHeaderPayload);
    if (length > PTRDIFF_MAX - 0xffff) {
      error = fmt::format("the fat binary does not fit: it claims {} bytes", length);
      return false;
    }
    const ByteSpan all(header.data(),
                       std::size_t(length) + number_at<std::uint16_t>(header, kHeaderBytes));
    if (!size_of(all, error)) return false;
    found.push_back(all);
    return true;
  };
  if (it.version == 2 && it.prelinked)
    for (const void* const* next = it.prelinked; *next; ++next)
      if (!add(*next)) return std::nullopt;
  if (found.empty()) {
    if (!it.data) {
      error = "the wrapper holds no fat binary: its address is null";
      return std::nullopt;
    }
    if (!add(it.data)) return std::nullopt;
  }
  return found;
}

}  // namespace ptx2spv::fatbin
