// The tools' common parts: checksums, files, pictures, arrays, JSON, options.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "tests/support/process.hpp"
#include "tools/common/files.hpp"
#include "tools/common/json.hpp"
#include "tools/common/npy.hpp"
#include "tools/common/options.hpp"
#include "tools/common/png.hpp"
#include "tools/common/sha256.hpp"

namespace ptx2spv::tools {
namespace {

std::string digest(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span(text.data(), text.size())));
}

// Vectors of FIPS 180-4's examples and NIST's short message tests.
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(digest(std::string("\xd3", 1)),
            "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
}

// Lengths around the padding's boundary must all differ from each other and be stable.
TEST(Sha256, LengthsAroundABlock) {
  EXPECT_EQ(digest(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(digest(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(digest(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Npy, WrittenFilesReadBack) {
  Bytes data(24);
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = std::byte(k);
  const Bytes file = write_npy("<u2", {3, 4}, data);
  EXPECT_EQ((file.size() - data.size()) % 64, 0u);
  Npy npy;
  ASSERT_EQ(read_npy(file, npy), "");
  EXPECT_EQ(npy.descr, "<u2");
  EXPECT_EQ(npy.shape, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(npy.data, data);
  ASSERT_EQ(read_npy(write_npy("<f4", {6}, data), npy), "");
  EXPECT_EQ(npy.shape, (std::vector<std::uint64_t>{6}));
}

TEST(Npy, DamagedFilesAreRefused) {
  const Bytes data(8);
  const Bytes good = write_npy("<u4", {2}, data);
  Npy npy;
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(read_npy(Bytes(good.begin(), good.begin() + std::ptrdiff_t(size)), npy), "") << size;
  for (std::size_t k = 0; k < good.size(); ++k) {
    Bytes bad = good;
    bad[k] ^= std::byte{0x5a};
    static_cast<void>(read_npy(bad, npy));  // no crash, whatever it says
  }
  EXPECT_NE(read_npy(write_npy(">u4", {2}, data), npy), "");
  EXPECT_NE(read_npy(write_npy("<u4", {3}, data), npy), "");
  EXPECT_NE(read_npy(write_npy("|O", {8}, data), npy), "");
  EXPECT_EQ(read_npy(write_npy("<u4", {0, 7}, {}), npy), "");
  EXPECT_EQ(read_npy(write_npy("<u4", {0, 1ull << 60}, {}), npy), "has a damaged shape");
  // A comma gone: two numbers in a row.
  Bytes two = write_npy("<u4", {1, 2}, data);
  const std::string pair = "(1, 2)";
  const auto text = [](std::byte b, char c) { return b == std::byte(c); };
  const auto at = std::search(two.begin(), two.end(), pair.begin(), pair.end(), text);
  ASSERT_NE(at, two.end());
  at[2] = std::byte{' '};
  EXPECT_EQ(read_npy(two, npy), "has a damaged shape");
}

TEST(Png, PicturesReadBack) {
  for (std::uint32_t channels : {1u, 2u, 4u}) {
    Picture picture{5, 3, channels, Bytes(15 * channels)};
    for (std::size_t k = 0; k < picture.pixels.size(); ++k)
      picture.pixels[k] = std::byte(k * 17 + 3);
    Bytes file;
    ASSERT_EQ(write_png(picture, file), "");
    Picture again;
    ASSERT_EQ(read_png(file, channels, again), "");
    EXPECT_EQ(again.width, 5u);
    EXPECT_EQ(again.height, 3u);
    EXPECT_EQ(again.pixels, picture.pixels) << channels;
  }
}

TEST(Png, DamagedFilesAreRefused) {
  Picture picture{5, 3, 4, Bytes(60)};
  Bytes file;
  ASSERT_EQ(write_png(picture, file), "");
  for (std::size_t size : {0ul, 4ul, 20ul, file.size() / 2})
    EXPECT_NE(read_png(Bytes(file.begin(), file.begin() + std::ptrdiff_t(size)), 4, picture), "")
        << size;
}

TEST(Png, MoreThanTheFileHoldsIsRefusedBeforeItIsAllocated) {
  Picture picture{5, 3, 4, Bytes(60)};
  Bytes file;
  ASSERT_EQ(write_png(picture, file), "");
  // IHDR: its length at 8, its name at 12, width and height behind it, its check at 29.
  for (const std::size_t at : {16, 20}) file[at + 2] = std::byte{0x20};
  const auto check = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const unsigned char*>(file.data()) + 12, 17));
  for (std::size_t k = 0; k < 4; ++k) file[29 + k] = std::byte(check >> (24 - 8 * k));
  EXPECT_EQ(read_png(file, 4, picture), "is shorter than a picture of its size can be");
  // What packs best is still read.
  const Picture even{2048, 2048, 4, Bytes(std::size_t{4} * 2048 * 2048)};
  ASSERT_EQ(write_png(even, file), "");
  EXPECT_LT(file.size(), 20'000u);
  EXPECT_EQ(read_png(file, 4, picture), "");
}

TEST(Json, PlacesOfErrors) {
  struct {
    const char *text, *error;
  } cases[] = {
      {"", "1:1: error: "},
      {"{", "1:2: error: "},
      {"{\n\"a\": 1,\n\"b\": }", "3:6: error: "},
      {"{\"a\": 1, \"a\": 2}", "given twice"},
      {"[1, 2] x", "1:8: error: "},
      {"\xff\xfe", "error: "},
  };
  for (const auto& one : cases) {
    Json json;
    std::string error;
    EXPECT_FALSE(parse_json(one.text, json, error)) << one.text;
    EXPECT_NE(error.find(one.error), std::string::npos) << one.text << ": " << error;
  }
  Json json;
  std::string error;
  EXPECT_FALSE(parse_json(std::string(100000, '['), json, error));
  EXPECT_NE(error.find("nested deeper"), std::string::npos);
}

TEST(Json, ValuesAndLines) {
  Json json;
  std::string error;
  ASSERT_TRUE(parse_json("{\"a\": [1, -2, 2.5],\n \"b\": \"x\\n\",\n \"c\": true, \"d\": null}",
                         json, error))
      << error;
  EXPECT_EQ(json.find("a")->items[1].integer, std::uint64_t(-2));
  EXPECT_TRUE(json.find("a")->items[1].negative);
  EXPECT_EQ(json.find("a")->items[2].real, 2.5);
  EXPECT_EQ(json.find("b")->text, "x\n");
  EXPECT_EQ(json.find("b")->line, 2u);
  EXPECT_EQ(json.find("c")->line, 3u);
  EXPECT_EQ(json.find("nothing"), nullptr);
}

TEST(Json, QuotedTextReadsBack) {
  for (const std::string& text :
       {std::string("a\"b\\c\n\t\x01z"), std::string("\xc3\xa9"), std::string("\xff\x80")}) {
    Json json;
    std::string error;
    ASSERT_TRUE(parse_json(json_quote(text), json, error)) << error;
    if (text[0] != '\xff') {
      EXPECT_EQ(json.text, text);
    }
  }
}

TEST(Files, WrittenWholeOrNotAtAll) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("a");
  EXPECT_EQ(write_text(path, "first"), "");
  EXPECT_EQ(write_text(path, "second"), "");
  std::string text;
  EXPECT_EQ(read_text(path, text), "");
  EXPECT_EQ(text, "second");
  EXPECT_NE(write_text(folder.file("no/such/folder"), "x"), "");
  EXPECT_NE(write_text(folder.path(), "x"), "");
  EXPECT_EQ(folder.list(), std::vector<std::string>{"a"});
  EXPECT_NE(read_text(folder.path(), text), "");
  EXPECT_NE(read_text(path, text, 3), "");
  // A full disk: /dev/full takes nothing.
  EXPECT_NE(write_text("/dev/full", "x"), "");
}

TEST(Files, DamagedGzipIsAnError) {
  const test::TemporaryFolder folder;
  std::string text;
  EXPECT_NE(read_text(folder.write("a.gz", "\x1f\x8b\x08 nonsense"), text), "");
  EXPECT_NE(read_text(folder.write("b.gz", "\x1f\x8b"), text), "");
}

// A file is read no further than what its beginning says it may have, packed or not.
TEST(Files, TheBeginningSetsTheLimit) {
  const test::TemporaryFolder folder;
  const LimitOf limit = [](std::span<const std::byte> beginning) -> std::uint64_t {
    return beginning[0] == std::byte{'L'} ? 100'000 : 1000;
  };
  Bytes bytes;
  EXPECT_EQ(read_file(folder.write("long", "L" + std::string(90'000, 'x')), bytes, limit), "");
  EXPECT_EQ(bytes.size(), 90'001u);
  EXPECT_EQ(read_file(folder.write("longer", "L" + std::string(100'000, 'x')), bytes, limit),
            "is larger than 100000 bytes");
  EXPECT_EQ(read_file(folder.write("short", std::string(1000, 'x')), bytes, limit), "");
  EXPECT_EQ(read_file(folder.write("large", std::string(1001, 'x')), bytes, limit),
            "is larger than 1000 bytes");
  EXPECT_EQ(read_file("/dev/zero", bytes, limit), "is larger than 1000 bytes");
  const std::string bomb = folder.file("bomb.gz");
  gzFile packed = gzopen(bomb.c_str(), "wb9");
  const std::string zeros(50'000, '0');
  ASSERT_EQ(gzwrite(packed, zeros.data(), 50'000), 50'000);
  ASSERT_EQ(gzclose(packed), Z_OK);
  EXPECT_EQ(read_file(bomb, bytes, limit), "unpacks to more than 1000 bytes");
  EXPECT_EQ(read_file(bomb, bytes, std::uint64_t{50'000}), "");
  EXPECT_EQ(bytes.size(), 50'000u);
}

constexpr Option kOptions[] = {{1, 'o', "output", "FILE", "write there", "file"},
                               {2, 0, "dump", "[PASS]", "dump"},
                               {3, 'v', "verbose", "", "talk"},
                               {4, 'O', "", "LEVEL", "optimise", "0,1,2"},
                               {5, 0, "verify", "", "check"}};
constexpr ExitCode kExits[] = {{0, "good"}};
constexpr Tool kTool = {"sample", "FILE", "does nothing", "At all.", kOptions, kExits};

ParsedCommand parse(std::vector<std::string> words) {
  words.insert(words.begin(), "sample");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse_command(kTool, int(argv.size()), argv.data());
}

TEST(Options, FormsOfValues) {
  const ParsedCommand command = parse({"-ofile", "-o", "x", "--output=y", "--output", "z", "--dump",
                                       "a", "--dump=p", "-vO2", "--", "-v"});
  ASSERT_EQ(command.error, "");
  std::string seen;
  for (const ParsedOption& option : command.options)
    seen += std::to_string(option.id) + option.value + " ";
  EXPECT_EQ(seen, "1file 1x 1y 1z 2 2p 3 42 ");
  EXPECT_EQ(command.operands, (std::vector<std::string>{"a", "-v"}));
}

TEST(Options, UsageErrors) {
  EXPECT_NE(parse({"--nothing"}).error, "");
  EXPECT_NE(parse({"-q"}).error, "");
  EXPECT_NE(parse({"-o"}).error, "");
  EXPECT_NE(parse({"--output"}).error, "");
  EXPECT_NE(parse({"--verbose=3"}).error, "");
  EXPECT_NE(parse({"--ver"}).error, "") << "could be --verbose, --verify and --version";
  EXPECT_EQ(parse({"--verb"}).error, "");
  EXPECT_EQ(parse({"-"}).operands, std::vector<std::string>{"-"});
}

}  // namespace
}  // namespace ptx2spv::tools
