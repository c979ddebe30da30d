// Files that the tools and the runtime read: a value or an error, and no more memory than the input
// or the limit pays for.
#include <cstring>

#include "fuzz/target.hpp"
#include "ptx2spv/translator.hpp"
#include "src/cache/serialize.hpp"
#include "tools/common/npy.hpp"
#include "tools/common/png.hpp"
#include "tools/ptxrun/manifest.hpp"

namespace ptx2spv::fuzz {

namespace {

using tools::Bytes;

Bytes bytes_of(Input input) {
  const auto* first = reinterpret_cast<const std::byte*>(input.data());
  return {first, first + input.size()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool run_manifest(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  tools::Manifest manifest;
  std::vector<std::string> errors;
  const bool good = tools::parse_manifest("fuzz.json", text, "/nowhere", manifest, errors);
  if (good != errors.empty()) found("a manifest is good or has errors");
  for (const std::string& each : errors)
    if (!each.starts_with("fuzz.json:")) found("an error without a place: " + each);
  return good;
}

std::vector<std::string> manifest_seeds(const std::string& root) {
  return files_below(root + "/examples", ".json", 16384);
}

bool run_cache(Input input) {
  std::vector<std::uint32_t> spirv;
  EntryInfo info;
  if (!runtime::deserialize(bytes_of(input), spirv, info)) return false;
  // What is read is what is written.
  std::vector<std::uint32_t> again;
  EntryInfo same;
  const auto bytes = runtime::serialize(spirv, info);
  if (!runtime::deserialize(bytes, again, same) || again != spirv)
    found("an entry that does not come back");
  if (runtime::serialize(again, same) != bytes) found("an entry that comes back otherwise");
  return true;
}

std::vector<std::string> cache_seeds(const std::string& root) {
  std::vector<std::string> out;
  for (const std::string& text : files_below(root + "/examples", ".ptx", 16384)) {
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{text, "seed.ptx"}}, messages);
    const auto made = module ? module->translate({}, messages) : std::nullopt;
    if (!made || made->interface.entries.empty()) continue;
    // The head of the words is enough: no one looks at them here.
    const std::vector<std::uint32_t> head(made->spirv.begin(), made->spirv.begin() + 20);
    out.push_back(text_of(runtime::serialize(head, made->interface.entries[0])));
  }
  return out;
}

bool run_npy(Input input) {
  tools::Npy npy;
  const std::string error = tools::read_npy(bytes_of(input), npy);
  if (!error.empty()) return false;
  if (npy.data.size() > input.size()) found("more data than the file has");
  return true;
}

std::vector<std::string> npy_seeds(const std::string&) {
  std::vector<std::string> out;
  for (const char* descr : {"<u4", "|u1", "<f2", "<f8"}) {
    const std::vector<std::byte> data(48, std::byte{7});
    const std::uint64_t each = static_cast<std::uint64_t>(descr[2] - '0');
    out.push_back(text_of(tools::write_npy(descr, {2, 3, 8 / each}, data)));
  }
  return out;
}

bool run_png(Input input) {
  constexpr std::uint32_t kChannels[] = {1, 2, 4};
  tools::Picture picture;
  const std::uint32_t channels = kChannels[hash(input) % 3];
  if (!tools::read_png(bytes_of(input), channels, picture).empty()) return false;
  const std::uint64_t wanted = std::uint64_t{picture.width} * picture.height * picture.channels;
  if (picture.channels != channels || picture.pixels.size() != wanted)
    found("a picture of another size than it says");
  return true;
}

std::vector<std::string> png_seeds(const std::string& root) {
  std::vector<std::string> out = files_below(root + "/tests", ".png", 20000);
  for (std::uint32_t channels = 1; channels <= 4; ++channels) {
    Bytes file;
    const tools::Picture picture{5, 3, channels, Bytes(15 * channels, std::byte{0x5a})};
    if (tools::write_png(picture, file).empty()) out.push_back(text_of(file));
  }
  return out;
}

bool run_gzip(Input input) {
  constexpr std::uint64_t kLimit = 1 << 20;
  Bytes bytes = bytes_of(input);
  if (!tools::unpack_gzip(bytes, kLimit).empty()) return false;
  if (bytes.size() > kLimit) found("more than the limit");
  return true;
}

std::vector<std::string> gzip_seeds(const std::string& root) {
  std::vector<std::string> out = files_below(root + "/tests", ".gz", 20000);
  // "abc" as gzip stores it, without compression.
  const unsigned char stored[] = {0x1f, 0x8b, 8,   0,   0,   0,    0,    0,    0,    3, 1, 3, 0,
                                  0xfc, 0xff, 'a', 'b', 'c', 0xc2, 0x41, 0x24, 0x35, 3, 0, 0, 0};
  out.emplace_back(reinterpret_cast<const char*>(stored), sizeof stored);
  return out;
}

}  // namespace ptx2spv::fuzz
