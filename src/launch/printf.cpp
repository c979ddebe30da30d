#include "src/launch/printf.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "src/memory/transfer.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::size_t kLongestString = 1 << 16;
constexpr std::uint32_t kEntryBytes = 20;  // five words, then the arguments

/// Reads up to the terminating zero, in pieces so that no piece leaves the memory block for long.
std::string read_text(DeviceState& device, std::uint64_t address) {
  std::string text;
  while (text.size() < kLongestString) {
    char piece[64];
    std::uint64_t count = 64 - address % 64;
    if (!read_address(device, address, reinterpret_cast<std::byte*>(piece), count)) break;
    auto length = static_cast<std::size_t>(std::find(piece, piece + count, '\0') - piece);
    text.append(piece, length);
    if (length < count) break;
    address += count;
  }
  return text;
}

/// The values of a variable argument list: each at a multiple of its size.
class Arguments {
 public:
  explicit Arguments(const std::vector<std::byte>& bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (at_ + sizeof(T) <= bytes_.size()) std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  const std::vector<std::byte>& bytes_;
  std::size_t at_ = 0;
};

template <class... T>
void append(std::string& out, const std::string& conversion, T... values) {
  char buffer[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  int count = std::snprintf(buffer, sizeof buffer, conversion.c_str(), values...);
  if (count < 0) return;
  if (static_cast<std::size_t>(count) < sizeof buffer) {
    out.append(buffer, static_cast<std::size_t>(count));
    return;
  }
  std::vector<char> large(static_cast<std::size_t>(count) + 1);
  std::snprintf(large.data(), large.size(), conversion.c_str(), values...);
#pragma GCC diagnostic pop
  out.append(large.data(), static_cast<std::size_t>(count));
}

}  // namespace

std::string format_call(const std::string& format, const std::vector<std::byte>& bytes,
                        const std::function<std::string(std::uint64_t)>& read_string) {
  std::string out;
  Arguments arguments(bytes);
  for (std::size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      out += format[i++];
      continue;
    }
    std::size_t start = i++;
    if (i < format.size() && format[i] == '%') {
      out += '%';
      ++i;
      continue;
    }
    // Flags, width and precision are kept as they are; * takes its number from the arguments.
    std::string conversion = "%";
    while (i < format.size() && std::strchr("-+ #0", format[i])) conversion += format[i++];
    auto number = [&] {
      if (i < format.size() && format[i] == '*') {
        conversion += std::to_string(std::clamp(arguments.take<std::int32_t>(), -4096, 4096));
        ++i;
        return;
      }
      int value = 0;
      bool any = false;
      for (; i < format.size() && format[i] >= '0' && format[i] <= '9'; ++i, any = true)
        value = std::min(value * 10 + (format[i] - '0'), 4096);
      if (any) conversion += std::to_string(value);
    };
    number();
    if (i < format.size() && format[i] == '.') {
      conversion += format[i++];
      number();
    }
    int longs = 0, halves = 0;
    while (i < format.size() && std::strchr("lhjzt", format[i])) {
      if (format[i] == 'h')
        ++halves;
      else
        longs += format[i] == 'l' ? 1 : 2;  // long has 64 bits, as on the host
      ++i;
    }
    char kind = i < format.size() ? format[i++] : '\0';
    switch (kind) {
      case 'd':
      case 'i': {
        long long value = longs ? arguments.take<std::int64_t>() : arguments.take<std::int32_t>();
        if (halves == 1) value = static_cast<std::int16_t>(value);
        if (halves >= 2) value = static_cast<std::int8_t>(value);
        append(out, conversion + "lld", value);
        break;
      }
      case 'u':
      case 'o':
      case 'x':
      case 'X': {
        unsigned long long value =
            longs ? arguments.take<std::uint64_t>() : arguments.take<std::uint32_t>();
        if (halves == 1) value &= 0xffff;
        if (halves >= 2) value &= 0xff;
        append(out, conversion + "ll" + kind, value);
        break;
      }
      case 'c': append(out, conversion + "c", arguments.take<std::int32_t>()); break;
      case 'p':
        append(out, conversion + "p", reinterpret_cast<void*>(arguments.take<std::uint64_t>()));
        break;
      case 's':
        append(out, conversion + "s", read_string(arguments.take<std::uint64_t>()).c_str());
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A': append(out, conversion + kind, arguments.take<double>()); break;
      default: out.append(format, start, i - start); break;  // printed as it stands, as CUDA does
    }
  }
  return out;
}

Result<std::uint64_t> PrintfBuffer::address(DeviceState& device) {
  if (!memory_) {
    auto memory = device.heap.allocate(MemoryKind::readback, kBytes);
    if (!memory) return memory.error();
    memory_ = std::move(*memory);
    const std::uint32_t header[4] = {0, kBytes - abi::kPrintfHeaderBytes, 0, 0};
    std::memcpy(memory_.mapped(), header, sizeof header);
  }
  return memory_.address();
}

void PrintfBuffer::collect(std::vector<std::byte>& calls) {
  if (!memory_) return;
  std::uint32_t header[4];
  std::memcpy(header, memory_.mapped(), sizeof header);
  if (!header[0] && !header[2]) return;
  std::uint64_t used = std::min<std::uint64_t>(header[0], kBytes - abi::kPrintfHeaderBytes);
  const std::byte* entries = memory_.mapped() + abi::kPrintfHeaderBytes;
  for (std::uint64_t at = 0; at + kEntryBytes <= used;) {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, entries + at, 4);
    if (bytes < kEntryBytes || bytes % 4 || bytes > used - at) break;
    calls.insert(calls.end(), entries + at, entries + at + bytes);
    at += bytes;
  }
  if (header[2]) {
    // An entry without a format stands for the calls that were dropped.
    const std::uint32_t dropped[5] = {kEntryBytes, header[2], 0, 0, 0};
    auto* raw = reinterpret_cast<const std::byte*>(dropped);
    calls.insert(calls.end(), raw, raw + sizeof dropped);
  }
  header[0] = header[2] = 0;
  std::memcpy(memory_.mapped(), header, sizeof header);
}

void print_calls(DeviceState& device, const std::vector<std::byte>& calls) {
  if (calls.empty()) return;
  std::string text;
  auto read_string = [&device](std::uint64_t address) { return read_text(device, address); };
  for (std::size_t at = 0; at + kEntryBytes <= calls.size();) {
    std::uint32_t words[5];
    std::memcpy(words, calls.data() + at, sizeof words);
    std::uint64_t address = std::uint64_t{words[4]} << 32 | words[3];
    std::vector<std::byte> arguments(calls.begin() + static_cast<std::ptrdiff_t>(at + kEntryBytes),
                                     calls.begin() + static_cast<std::ptrdiff_t>(at + words[0]));
    if (address)
      text += format_call(read_text(device, address), arguments, read_string);
    else
      text += fmt::format("[{} printf calls did not fit the buffer]\n", words[1]);
    at += words[0];
  }
  device.print(text);
}

}  // namespace ptx2spv::runtime
