// What a program never freed, for the sanitizer's check of that name.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"
#include "src/device/device.hpp"
#include "src/memory/call_site.hpp"

namespace ptx2spv::cuda {

namespace {

void say_leak(const std::string& what, std::string_view calls) {
  std::string text = "leak: " + what;
  for (const char* by = "allocated by"; !calls.empty(); by = "  called from") {
    const std::size_t end = calls.find('\n');
    text += fmt::format("\n  {}: {}", by, calls.substr(0, end));
    calls = end == std::string_view::npos ? std::string_view() : calls.substr(end + 1);
  }
  say(text);
}

std::string extent_of(const CUDA_ARRAY3D_DESCRIPTOR& desc) {
  std::string text = std::to_string(desc.Width);
  for (const std::size_t each : {desc.Height, desc.Depth})
    if (each) text += fmt::format(" x {}", each);
  return text;
}

std::size_t leaked_memory(const DeviceObject& device) {
  std::size_t count = 0;
  const auto list = device.device->state()->allocations.list();
  for (const auto& each : all_allocations()) {
    const bool owned = each->use == MemoryUse::device || each->use == MemoryUse::host ||
                       each->use == MemoryUse::managed;
    if (!owned || !each->context || each->context->device != &device) continue;
    ++count;
    const auto divided =
        std::ranges::find(list->divided, each->address, &runtime::AllocationInfo::address);
    const runtime::AllocationInfo* known =
        divided != list->divided.end() ? &*divided : list->find(each->address);
    say_leak(
        fmt::format("{} bytes of {} were never freed", each->bytes, known ? known->name : "memory"),
        known ? std::string_view(known->made) : std::string_view());
  }
  return count;
}

/// Of one table: those of the device that `is_own` says are objects of their own.
template <class T, class Name, class Own>
std::size_t leaked(const std::vector<std::shared_ptr<T>>& all, const DeviceObject& device,
                   Name&& name, Own&& is_own) {
  std::size_t count = 0;
  for (const auto& each : all) {
    if (!each->context || each->context->device != &device || !is_own(*each)) continue;
    ++count;
    say_leak(name(*each) + " was never destroyed", each->made);
  }
  return count;
}

}  // namespace

void trace(const ContextObject& context, Traced& object) {
  if ((context.gpu().state()->checks & check_leaks) != 0) object.made = runtime::call_site();
}

std::size_t report_leaks(const DeviceObject& device) {
  const auto any = [](const auto&) { return true; };
  const auto array = [](const char* kind) {
    return [kind](const auto& each) {
      return fmt::format("{} of {} texels, {} bytes", kind, extent_of(each.desc),
                         each.array.bytes());
    };
  };
  const auto object = [](const char* kind) {
    return [kind](const auto&) { return std::string(kind); };
  };
  const Tables& all = tables();
  return leaked_memory(device) +
         leaked(all.arrays.all(), device, array("an array"),
                [](const ArrayObject& each) { return each.owner == nullptr; }) +
         leaked(all.mipmaps.all(), device, array("a mipmapped array"),
                [](const MipmapObject& each) { return !each.shared; }) +
         leaked(all.textures.all(), device, object("a texture object"), any) +
         leaked(all.surfaces.all(), device, object("a surface object"), any);
}

}  // namespace ptx2spv::cuda
