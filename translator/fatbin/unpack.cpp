// Decompression of an entry. What comes out never exceeds the limit, whatever the data claims.
#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "ptx2spv/fatbin.hpp"

namespace ptx2spv::fatbin {
namespace {

// A byte of LZ4 makes 255 bytes at most; so a small entry cannot have large memory reserved.
constexpr std::uint64_t kLz4Ratio = 255;

std::optional<std::string> unpack_lz4(const Entry& entry, std::string& error) {
  if (entry.stored.size() > LZ4_MAX_INPUT_SIZE || entry.bytes > LZ4_MAX_INPUT_SIZE ||
      entry.bytes / kLz4Ratio > entry.stored.size()) {
    error = fmt::format("{} bytes of LZ4 cannot unpack to {}", entry.stored.size(), entry.bytes);
    return std::nullopt;
  }
  std::string out(std::size_t(entry.bytes), '\0');
  const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(entry.stored.data()),
                                       out.data(), int(entry.stored.size()), int(out.size()));
  if (made < 0) {
    error = "the LZ4 data is damaged";
    return std::nullopt;
  }
  if (std::uint64_t(made) != entry.bytes) {
    error = fmt::format("the LZ4 data unpacks to {} bytes instead of {}", made, entry.bytes);
    return std::nullopt;
  }
  return out;
}

std::optional<std::string> unpack_zstd(const Entry& entry, std::string& error) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  if (!context) {
    error = "zstd does not start";
    return std::nullopt;
  }
  std::string out;
  ZSTD_inBuffer in{entry.stored.data(), entry.stored.size(), 0};
  // The buffer grows with what is really there: a frame of a few bytes may claim any size.
  std::size_t used = 0;
  while (true) {
    if (used == out.size()) {
      const std::uint64_t next = std::max<std::uint64_t>(1 << 16, std::uint64_t(used) * 2);
      out.resize(std::size_t(std::min(next, entry.bytes + 1)));
    }
    ZSTD_outBuffer buffer{out.data(), out.size(), used};
    const std::size_t consumed = in.pos;
    const std::size_t status = ZSTD_decompressStream(context.get(), &buffer, &in);
    if (ZSTD_isError(status)) {
      error = fmt::format("the zstd data is damaged: {}", ZSTD_getErrorName(status));
      return std::nullopt;
    }
    const bool progress = buffer.pos > used || in.pos > consumed;
    used = buffer.pos;
    if (used > entry.bytes) {
      error = fmt::format("the zstd data unpacks to more than {} bytes", entry.bytes);
      return std::nullopt;
    }
    if (status == 0 && in.pos == in.size) break;
    if (!progress) {
      error = "the zstd data ends early";
      return std::nullopt;
    }
  }
  if (used != entry.bytes) {
    error = fmt::format("the zstd data unpacks to {} bytes instead of {}", used, entry.bytes);
    return std::nullopt;
  }
  out.resize(used);
  return out;
}

}  // namespace

std::optional<std::string> unpack(const Entry& entry, std::string& error, std::uint64_t limit) {
  if (entry.bytes > limit) {
    error = fmt::format("it unpacks to {} bytes, and the limit is {}", entry.bytes, limit);
    return std::nullopt;
  }
  switch (entry.compression) {
    case Compression::none: break;
    case Compression::lz4: return unpack_lz4(entry, error);
    case Compression::zstd: return unpack_zstd(entry, error);
  }
  return std::string(reinterpret_cast<const char*>(entry.stored.data()), entry.stored.size());
}

std::optional<std::string> unpack_ptx(const Entry& entry, std::string& error, std::uint64_t limit) {
  auto text = unpack(entry, error, limit);
  if (text) text->resize(text->find_last_not_of('\0') + 1);
  return text;
}

}  // namespace ptx2spv::fatbin
