// Damaged files: a value or an error, never a crash, a read outside or memory that the input does
// not pay for. Each input lies in memory of exactly its length, so that AddressSanitizer sees a
// read past its end.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "fuzz/target.hpp"
#include "ptx2spv/fatbin.hpp"
#include "tests/fatbin/builder.hpp"

namespace ptx2spv::test {
namespace {

void try_bytes(const std::string& text) {
  const std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[text.size()]);
  std::memcpy(copy.get(), text.data(), text.size());
  fuzz::run_fatbin({copy.get(), text.size()});
}

std::vector<EntrySpec> some_entries() {
  std::string text = ".version 8.0\n.target sm_75\n";
  for (int k = 0; k < 20; ++k) text += "// line " + std::to_string(k * 7919 % 101) + "\n";
  return {{1, 75, 0, Packing::plain, text, "file.cu", "-O1 "},
          {1, 80, 0, Packing::lz4, text, "file.cu", "-O1 "},
          {1, 90, 0x100000, Packing::zstd, text, "file.cu", "-O1 "},
          {2, 80, 0, Packing::zstd, std::string(300, 'E'), "", ""}};
}

std::vector<std::string> seeds() {
  const std::string blob = make_fatbin(some_entries());
  std::string wrapper;
  put(wrapper, 0x466243B1, 4);
  put(wrapper, 1, 4);
  put(wrapper, 0x400000 + 120, 8);
  put(wrapper, 0, 8);
  const std::string elf = make_elf({{".nv_fatbin", blob}, {"__nv_relfatbin", blob}}),
                    renamed = make_elf({{".rodata", blob}, {".nvFatBinSegment", wrapper}});
  return {blob, elf, renamed,
          make_archive({{"a.o", elf}, {"a_name_of_more_than_fifteen.o", renamed}})};
}

TEST(CorruptFatbin, EveryTruncation) {
  for (const std::string& seed : seeds())
    for (std::size_t size = 0; size <= seed.size(); ++size) try_bytes(seed.substr(0, size));
  // Of a fat binary alone each one is an error: nothing of what it claims is missing.
  const std::string blob = make_fatbin(some_entries());
  for (std::size_t size = 0; size < blob.size(); ++size) {
    std::string error;
    EXPECT_FALSE(fatbin::read(bytes_of(blob).first(size), error)) << size;
    EXPECT_FALSE(error.empty());
  }
}

TEST(CorruptFatbin, RandomBytes) {
  const char* const count = std::getenv("PTX2SPV_FUZZ");
  const int rounds = count ? std::atoi(count) : 20000;
  std::mt19937 random(12345);
  const auto all = seeds();
  const std::uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x10, 0x20};
  for (int round = 0; round < rounds; ++round) {
    std::string text = all[random() % all.size()];
    for (unsigned changes = 1 + random() % 4; changes-- > 0;) {
      // Headers stand at the front and, of ELF files, at the end.
      const std::size_t near = random() % 256 % text.size();
      const std::size_t at = random() % 3 == 0   ? near
                             : random() % 2 == 0 ? text.size() - 1 - near
                                                 : random() % text.size();
      text[at] = char(random() % 2 ? values[random() % std::size(values)] : random());
    }
    try_bytes(text);
  }
}

// A fat binary of one entry, a number in whose header is replaced.
std::string with(const EntrySpec& spec, std::size_t offset, std::uint64_t value, unsigned bytes) {
  std::string blob = make_fatbin({spec}), number;
  put(number, value, bytes);
  return blob.replace(16 + offset, bytes, number);
}

TEST(CorruptFatbin, ClaimsThatDoNotHold) {
  const EntrySpec plain = some_entries()[0], lz4 = some_entries()[1], zstd = some_entries()[2];
  std::string error;
  for (const std::string& blob :
       {with(plain, 4, 0, 4), with(plain, 4, 63, 4), with(plain, 4, 0xffffffff, 4),
        with(plain, 8, ~0ull, 8), with(plain, 8, ~0ull - 79, 8), with(lz4, 16, 0xffffffff, 4),
        with(lz4, 40, 0xa011, 8)}) {
    EXPECT_FALSE(fatbin::read(bytes_of(blob), error));
    EXPECT_NE(error.find("entry at byte 16"), std::string::npos) << error;
  }
  for (const EntrySpec& spec : {lz4, zstd})
    for (std::uint64_t bytes : {std::uint64_t(1), std::uint64_t(spec.contents.size() - 1),
                                std::uint64_t(spec.contents.size() + 1), std::uint64_t(1) << 27,
                                std::uint64_t(1) << 40, ~std::uint64_t(0)}) {
      SCOPED_TRACE(bytes);
      const std::string blob = with(spec, 56, bytes, 8);
      const auto entries = fatbin::read(bytes_of(blob), error);
      ASSERT_TRUE(entries) << error;
      error.clear();
      EXPECT_FALSE(fatbin::unpack(entries->at(0), error));
      EXPECT_FALSE(error.empty());
    }
}

TEST(CorruptFatbin, TheLimitHolds) {
  std::string error;
  for (Packing packing : {Packing::plain, Packing::lz4, Packing::zstd}) {
    const std::string blob = make_fatbin({{1, 75, 0, packing, std::string(100000, 'x'), "", ""}});
    const auto entries = fatbin::read(bytes_of(blob), error);
    ASSERT_TRUE(entries) << error;
    EXPECT_TRUE(fatbin::unpack(entries->at(0), error, 100000)) << error;
    EXPECT_FALSE(fatbin::unpack(entries->at(0), error, 99999));
    EXPECT_NE(error.find("limit is 99999"), std::string::npos) << error;
  }
}

TEST(CorruptFatbin, AnElfFileThatCannotBeReadSaysWhy) {
  std::string error;
  std::string file = make_elf({{".nv_fatbin", make_fatbin({})}});
  file[4] = 1;
  EXPECT_FALSE(fatbin::read_file(bytes_of(file), error));
  EXPECT_NE(error.find("64 bits"), std::string::npos) << error;
  file = make_elf({{".nv_fatbin", make_fatbin({})}});
  file[18] = char(190);
  EXPECT_FALSE(fatbin::read_file(bytes_of(file), error));
  EXPECT_NE(error.find("cubin"), std::string::npos) << error;
  file = make_elf({{".nv_fatbin", make_fatbin({}) + "garbage"}});
  EXPECT_FALSE(fatbin::read_file(bytes_of(file), error));
  EXPECT_NE(error.find("section .nv_fatbin, byte 16"), std::string::npos) << error;
  EXPECT_FALSE(fatbin::read_file(bytes_of("neither"), error));
}

}  // namespace
}  // namespace ptx2spv::test
