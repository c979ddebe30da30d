// Fat binaries: the containers in which CUDA programs carry PTX and machine code.
//
// The bytes are hostile until checked: every function here takes any bytes at all and gives a value
// or the text of an error. Layouts are those that nvcc 13.0 and clang write; fat-binaries.md
// has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2spv::fatbin {

inline constexpr std::uint32_t kMagic = 0xBA55ED50;         ///< first word of a fat binary
inline constexpr std::uint32_t kWrapperMagic = 0x466243B1;  ///< first word of a wrapper

/// What an entry holds, by the number that the format gives it.
enum class Kind : std::uint16_t { ptx = 1, sass = 2, lto_ir = 8 };

enum class Compression : std::uint8_t { none, lz4, zstd };

/// Bits of Entry::flags that are known.
enum Flag : std::uint64_t {
  flag_64bit = 0x1,
  flag_debug = 0x2,
  flag_lz4 = 0x2000,
  flag_zstd = 0x8000,
  flag_arch_specific = 0x100000,    ///< sm_90a: for this architecture alone
  flag_family_specific = 0x200000,  ///< sm_100f: for later ones of the same major version too
};

/// One entry of a fat binary. Spans and views point into the bytes that were read.
struct Entry {
  Kind kind = Kind::ptx;   ///< any other number where the format has kinds that are not known here
  std::uint32_t arch = 0;  ///< ten times the major compute capability plus the minor, as in sm_75
  std::uint64_t flags = 0;
  Compression compression = Compression::none;
  std::span<const std::byte> stored;  ///< as it lies there
  std::uint64_t bytes = 0;   ///< once unpacked; what the header says, which need not be true
  std::string_view name;     ///< of the source file; empty where the compiler gave none
  std::string_view options;  ///< of ptxas; empty where the compiler gave none
  std::size_t offset = 0;    ///< of the entry's header from the first byte of the fat binary

  bool is_ptx() const { return kind == Kind::ptx; }
  /// The letter after the architecture's number: 'a', 'f' or 0.
  char suffix() const {
    return flags & flag_arch_specific ? 'a' : flags & flag_family_specific ? 'f' : '\0';
  }
};

/// "PTX", "SASS", "LTO-IR", or "kind N".
std::string kind_name(Kind kind);
/// "none", "LZ4", "zstd".
std::string_view compression_name(Compression compression);
/// "sm_75", "sm_90a".
std::string arch_name(const Entry& entry);

/// Whether `bytes` begin with the magic number of a fat binary.
bool is_fatbin(std::span<const std::byte> bytes);

/// The bytes of the fat binary at `bytes`, header included, as its header says; nothing and an
/// error text where it is none, or where `bytes` end before it does.
std::optional<std::size_t> size_of(std::span<const std::byte> bytes, std::string& error);

/// The entries of the fat binary with which `bytes` begin; what follows it is not looked at. A fat
/// binary may have none.
std::optional<std::vector<Entry>> read(std::span<const std::byte> bytes, std::string& error);

/// Bytes that unpack() makes at most, when not told otherwise: no PTX comes near.
inline constexpr std::uint64_t kUnpackLimit = std::uint64_t(1) << 28;

/// The entry's contents, decompressed. Nothing and an error text when the data is damaged, when it
/// unpacks to another number of bytes than Entry::bytes, or to more than `limit`.
std::optional<std::string> unpack(const Entry& entry, std::string& error,
                                  std::uint64_t limit = kUnpackLimit);
/// unpack() of a PTX entry, without the zero bytes that end it.
std::optional<std::string> unpack_ptx(const Entry& entry, std::string& error,
                                      std::uint64_t limit = kUnpackLimit);

/// The PTX entries that a device of compute capability `capability` (75 for 7.5) may run: the
/// newest first, of one architecture those for all devices before those with a suffix. An entry for
/// sm_90a is for 9.0 alone, one for sm_100f for 10.x from 10.0 on.
std::vector<const Entry*> ptx_for(std::span<const Entry> entries, std::uint32_t capability);

/// A wrapper as programs hand it to __cudaRegisterFatBinary: it lies in memory, not in a file.
struct Wrapper {
  std::uint32_t magic;    ///< kWrapperMagic
  std::uint32_t version;  ///< 1; 2 for a program whose device code was linked
  const void* data;       ///< the fat binary
  /// Version 1: not used. Version 2: addresses of the fat binaries that were linked, then null.
  const void* const* prelinked;
};

/// The fat binaries of a wrapper in memory, whose sizes only their own headers tell: `wrapper`
/// comes from the program itself, or the memory behind it may not be there. One of version 2 gives
/// those that were linked, which hold the PTX, and not the linked machine code, unless there are
/// none.
std::optional<std::vector<std::span<const std::byte>>> unwrap(const void* wrapper,
                                                              std::string& error);

/// A fat binary in a file.
struct Image {
  std::string member;        ///< of an archive; else empty
  std::string section;       ///< of an ELF file; else empty
  std::uint64_t offset = 0;  ///< from the first byte of the file
  bool relocatable = false;  ///< compiled with -rdc=true: linked with the file's others
  std::vector<Entry> entries;
};

/// Whether `bytes` are of a kind that read_file() knows: a fat binary, an ELF file or an archive.
bool is_container(std::span<const std::byte> bytes);

/// Every fat binary of a file, in the file's order: of a fat binary itself, of an ELF executable,
/// shared library or object (64 bits, little-endian), of all objects of an archive. A file without
/// device code gives an empty list. Entries point into `bytes`.
std::optional<std::vector<Image>> read_file(std::span<const std::byte> bytes, std::string& error);

}  // namespace ptx2spv::fatbin
