// The other end of NVTX: a program's ranges and marks enter the trace. NVTX's headers, which are
// compiled into the program, open the library of NVTX_INJECTION64_PATH, call the function at this
// file's end and let it fill their tables of functions.
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "src/cuda/core/trace.hpp"

namespace ptx2spv::cuda::nvtx {

namespace {

/// nvtxEventAttributes_t.
struct Attributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void* message;
};
constexpr int kAscii = 1, kUnicode = 2, kRegistered = 3;

std::string narrow(const wchar_t* text) {
  std::string out;
  for (; text && *text; ++text) out += *text < 0x80 ? static_cast<char>(*text) : '?';
  return out;
}

std::string text_of(const char* text) { return text ? text : ""; }

/// Texts of the program by numbers from 1 on, which it may give back as anything.
class Names {
 public:
  std::uint64_t add(std::string text) {
    std::lock_guard lock(mutex_);
    texts_.emplace(++last_, std::move(text));
    return last_;
  }
  /// Nothing: no text has the number.
  std::optional<std::string> find(std::uint64_t number, bool take) {
    std::lock_guard lock(mutex_);
    const auto found = texts_.find(number);
    if (found == texts_.end()) return std::nullopt;
    return take ? std::move(texts_.extract(found).mapped()) : found->second;
  }

 private:
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::string> texts_;
};
/// They outlive whoever ends a range when the process ends.
Names& registered() {
  static auto* names = new Names;
  return *names;
}
Names& ranges() {
  static auto* names = new Names;
  return *names;
}

/// The number of a text, as a pointer; the same text has the same one.
const void* keep(const std::string& text) {
  static std::mutex mutex;
  static auto* numbers = new std::map<std::string, std::uint64_t>;
  std::lock_guard lock(mutex);
  const auto [at, is_new] = numbers->try_emplace(text);
  if (is_new) at->second = registered().add(text);
  return reinterpret_cast<const void*>(at->second);
}

std::string message_of(const Attributes* event) {
  if (!event || event->size < sizeof(Attributes) || !event->message) return "";
  switch (event->message_type) {
    case kAscii: return static_cast<const char*>(event->message);
    case kUnicode: return narrow(static_cast<const wchar_t*>(event->message));
    case kRegistered:
      return registered()
          .find(reinterpret_cast<std::uintptr_t>(event->message), false)
          .value_or("");
    default: return "";
  }
}

constexpr const char* kCategory = "nvtx";
thread_local int t_depth = 0;

void mark(const std::string& text) {
  trace_event(text, kCategory, 'i', trace_clock(), ",\"s\":\"t\"");
}
int push(const std::string& text) {
  trace_event(text, kCategory, 'B', trace_clock());
  return t_depth++;
}
int pop() {
  if (t_depth == 0) return -1;
  trace_event("", kCategory, 'E', trace_clock());
  return --t_depth;
}
/// Ranges that one thread begins and another ends: events by a number. Both have the name.
std::uint64_t start(const std::string& text) {
  const std::uint64_t id = ranges().add(text);
  trace_event(text, kCategory, 'b', trace_clock(), fmt::format(",\"id\":\"{:#x}\"", id));
  return id;
}
void end(std::uint64_t id) {
  if (const auto text = ranges().find(id, true))
    trace_event(*text, kCategory, 'e', trace_clock(), fmt::format(",\"id\":\"{:#x}\"", id));
}

// Functions by their numbers in NVTX's tables; a domain is not told apart.
void mark_ex(const Attributes* event) { mark(message_of(event)); }
void mark_a(const char* text) { mark(text_of(text)); }
void mark_w(const wchar_t* text) { mark(narrow(text)); }
std::uint64_t start_ex(const Attributes* event) { return start(message_of(event)); }
std::uint64_t start_a(const char* text) { return start(text_of(text)); }
std::uint64_t start_w(const wchar_t* text) { return start(narrow(text)); }
int push_ex(const Attributes* event) { return push(message_of(event)); }
int push_a(const char* text) { return push(text_of(text)); }
int push_w(const wchar_t* text) { return push(narrow(text)); }

void domain_mark(void*, const Attributes* event) { mark(message_of(event)); }
std::uint64_t domain_start(void*, const Attributes* event) { return start(message_of(event)); }
void domain_end(void*, std::uint64_t id) { end(id); }
int domain_push(void*, const Attributes* event) { return push(message_of(event)); }
int domain_pop(void*) { return pop(); }
const void* register_a(void*, const char* text) { return keep(text_of(text)); }
const void* register_w(void*, const wchar_t* text) { return keep(narrow(text)); }

struct Entry {
  unsigned number;
  void (*function)();
};
#define PTX2SPV_AS_FUNCTION(name) reinterpret_cast<void (*)()>(&name)
const Entry kCore[] = {{1, PTX2SPV_AS_FUNCTION(mark_ex)}, {2, PTX2SPV_AS_FUNCTION(mark_a)},
                       {3, PTX2SPV_AS_FUNCTION(mark_w)},  {4, PTX2SPV_AS_FUNCTION(start_ex)},
                       {5, PTX2SPV_AS_FUNCTION(start_a)}, {6, PTX2SPV_AS_FUNCTION(start_w)},
                       {7, PTX2SPV_AS_FUNCTION(end)},     {8, PTX2SPV_AS_FUNCTION(push_ex)},
                       {9, PTX2SPV_AS_FUNCTION(push_a)},  {10, PTX2SPV_AS_FUNCTION(push_w)},
                       {11, PTX2SPV_AS_FUNCTION(pop)}};
const Entry kCore2[] = {
    {1, PTX2SPV_AS_FUNCTION(domain_mark)}, {2, PTX2SPV_AS_FUNCTION(domain_start)},
    {3, PTX2SPV_AS_FUNCTION(domain_end)},  {4, PTX2SPV_AS_FUNCTION(domain_push)},
    {5, PTX2SPV_AS_FUNCTION(domain_pop)},  {10, PTX2SPV_AS_FUNCTION(register_a)},
    {11, PTX2SPV_AS_FUNCTION(register_w)}};

using Table = void (***)();  ///< addresses of the program's pointers to functions; null: unused
using GetTable = int (*)(int module, Table* table, unsigned* size);
struct Callbacks {
  std::size_t bytes;
  GetTable table_of;
};

template <std::size_t count>
void fill(GetTable table_of, int module, const Entry (&entries)[count]) {
  Table table = nullptr;
  unsigned size = 0;
  if (!table_of(module, &table, &size) || !table) return;
  for (const Entry& each : entries)
    if (each.number < size && table[each.number]) *table[each.number] = each.function;
}

}  // namespace

}  // namespace ptx2spv::cuda::nvtx

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    const void* (*export_table)(std::uint32_t)) {
  using namespace ptx2spv::cuda;
  using namespace ptx2spv::cuda::nvtx;
  constexpr std::uint32_t kCallbacks = 1;
  const auto* callbacks = static_cast<const Callbacks*>(export_table(kCallbacks));
  if (!has_trace_file() || !callbacks || callbacks->bytes < sizeof(Callbacks)) return 0;
  fill(callbacks->table_of, 1, kCore);
  fill(callbacks->table_of, 5, kCore2);
  return 1;
}
