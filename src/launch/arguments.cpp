// Arguments against parameters.
#include "src/launch/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/array/buffer.hpp"
#include "src/array/texture.hpp"

namespace ptx2spv::runtime {

namespace {

Error wrong(const KernelState& kernel, std::size_t index, const ParamInfo& param,
            std::string text) {
  return bad_argument("argument {} of kernel '{}', parameter '{}' ({}): {}", index + 1,
                      kernel.info->name, param.name, param.type, text);
}

bool opaque(const ParamInfo& param) {
  return param.kind == ParamKind::surfref || param.kind == ParamKind::texref ||
         param.kind == ParamKind::samplerref;
}

const char* name_of(Args::Kind kind) {
  switch (kind) {
    case Args::Kind::surface: return "a surface";
    case Args::Kind::texture: return "a texture";
    case Args::Kind::sampler: return "a sampler";
    case Args::Kind::address: return "an address";
    case Args::Kind::value: break;
  }
  return "a value";
}

// Whether the kernel uses the parameter at `offset` as the handle of a surface.
bool is_surface(const EntryInfo& info, const ParamInfo& param) {
  return std::any_of(info.slots.begin(), info.slots.end(), [&param](const SlotInfo& slot) {
    return !slot.is_variable && slot.offset == param.offset;
  });
}

Error foreign(const KernelState& kernel, const std::string& name) {
  return bad_argument("'{}' was given an object of another device for '{}'", kernel.info->name,
                      name);
}

}  // namespace

Status write_arguments(const KernelState& kernel, const Args& args, std::vector<std::byte>& bytes) {
  const EntryInfo& info = *kernel.info;
  if (args.items.size() != info.params.size())
    return bad_argument("kernel '{}' has {} parameters, and {} arguments were given", info.name,
                        info.params.size(), args.items.size());
  bytes.assign(std::max<std::size_t>(info.param_buffer_bytes, info.param_bytes), std::byte{0});
  for (std::size_t i = 0; i < args.items.size(); ++i) {
    const ParamInfo& param = info.params[i];
    const Args::Item& item = args.items[i];
    std::size_t room = opaque(param) ? 8 : param.bytes;
    if (item.bytes.size() != room)
      return wrong(kernel, i, param,
                   fmt::format("it has {} bytes, and {} of {} bytes was given", room,
                               name_of(item.kind), item.bytes.size()));
    if (item.device && item.device != kernel.module->device.get())
      return wrong(kernel, i, param,
                   fmt::format("{} of another device was given", name_of(item.kind)));
    if (param.kind == ParamKind::scalar && item.kind != Args::Kind::surface &&
        item.kind != Args::Kind::value && is_surface(info, param))
      return wrong(
          kernel, i, param,
          fmt::format("the kernel uses it as a surface, and {} was given", name_of(item.kind)));
    if (param.kind == ParamKind::surfref && item.kind == Args::Kind::texture)
      return wrong(kernel, i, param, "a texture was given for a surface");
    if (param.kind == ParamKind::texref && item.kind == Args::Kind::surface)
      return wrong(kernel, i, param, "a surface was given for a texture");
    if ((param.kind == ParamKind::texref || param.kind == ParamKind::surfref) &&
        item.kind == Args::Kind::sampler)
      return wrong(kernel, i, param, "a sampler was given for it");
    if (param.kind == ParamKind::samplerref &&
        (item.kind == Args::Kind::texture || item.kind == Args::Kind::surface))
      return wrong(kernel, i, param, "it takes a sampler");
    if (item.kind != Args::Kind::value && param.type.find('f') != std::string::npos &&
        !opaque(param) && param.kind == ParamKind::scalar)
      return wrong(kernel, i, param, fmt::format("{} was given for a number", name_of(item.kind)));
    if (param.offset + room > bytes.size()) bytes.resize(param.offset + room);
    std::memcpy(bytes.data() + param.offset, item.bytes.data(), room);
  }
  return {};
}

Status write_references(KernelState& kernel, const Args& args, std::vector<std::byte>& bytes,
                        std::vector<std::shared_ptr<const void>>& keep) {
  ModuleState& module = *kernel.module;
  const EntryInfo& info = *kernel.info;
  auto put = [&](std::uint32_t offset, std::uint64_t handle) {
    if (offset + 8u > bytes.size()) bytes.resize(offset + 8u);
    std::memcpy(bytes.data() + offset, &handle, 8);
  };
  const auto missing = [&](const auto& given, const char* type, auto&& has) -> Status {
    for (const auto& [name, object] : given)
      if (!has(name))
        return make_error(ErrorCode::not_found, "{} has no {} '{}'", module.file, type, name);
    return {};
  };
  const auto texref = [&](bool sampler) {
    return [&module, sampler](const auto& name) { return module.has_texref(name, sampler); };
  };
  Status status = missing(args.surfrefs, ".surfref",
                          [&](const auto& name) { return module.has_surfref(name); });
  if (status) status = missing(args.texrefs, ".texref", texref(false));
  if (status) status = missing(args.samplerrefs, ".samplerref", texref(true));
  if (!status) return status;
  std::lock_guard lock(module.mutex);
  const auto write = [&](const auto& refs, const auto& given, const auto& bound, auto&& device_of,
                         auto&& handle_of) -> Status {
    for (const RefInfo& ref : refs) {
      const auto own = std::find_if(given.begin(), given.end(),
                                    [&](const auto& each) { return each.first == ref.name; });
      if (own != given.end()) {
        if (device_of(*own->second) != module.device) return foreign(kernel, ref.name);
        put(ref.offset, own->second->handle);
        keep.push_back(own->second);
        continue;
      }
      if (auto set = bound.find(ref.name); set != bound.end()) keep.push_back(set->second);
      put(ref.offset, handle_of(ref.name));
    }
    return {};
  };
  const auto device_of = [](const auto& object) { return object.device; };
  status = write(
      info.surfrefs, args.surfrefs, module.surfaces,
      [](const SurfaceState& surface) { return surface.array->device; },
      [&](const auto& name) { return module.surfref_handle(name); });
  if (status)
    status = write(info.texrefs, args.texrefs, module.textures, device_of,
                   [&](const auto& name) { return module.texref_handle(name); });
  if (status)
    status = write(info.samplerrefs, args.samplerrefs, module.samplers, device_of,
                   [&](const auto& name) { return module.samplerref_handle(name); });
  return status;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

namespace {

Args::Item word_item(Args::Kind kind, std::uint64_t value) {
  Args::Item item;
  item.kind = kind;
  item.bytes.resize(8);
  std::memcpy(item.bytes.data(), &value, 8);
  return item;
}

}  // namespace

Args& Args::surface(const Surface& surface) {
  items.push_back(word_item(Kind::surface, surface.handle()));
  items.back().surface = surface.state();
  items.back().keep = surface.state();
  items.back().device = surface.state()->array->device.get();
  return *this;
}

Args& Args::texture(const Texture& texture) {
  items.push_back(word_item(Kind::texture, texture.handle()));
  items.back().texture = texture.state();
  items.back().keep = texture.state();
  items.back().device = texture.state()->device.get();
  return *this;
}

Args& Args::sampler(const Sampler& sampler) {
  items.push_back(word_item(Kind::sampler, sampler.handle()));
  items.back().keep = sampler.state();
  items.back().device = sampler.state()->device.get();
  return *this;
}

Args& Args::buffer(const Buffer& buffer, std::uint64_t offset) {
  items.push_back(word_item(Kind::address, buffer.address() + offset));
  items.back().keep = buffer.state();
  items.back().device = buffer.state()->device.get();
  return *this;
}

Args& Args::address(std::uint64_t address) {
  items.push_back(word_item(Kind::address, address));
  return *this;
}

Args& Args::bytes(std::span<const std::byte> bytes) {
  Item item;
  item.bytes.assign(bytes.begin(), bytes.end());
  items.push_back(std::move(item));
  return *this;
}

Args& Args::surfref(std::string name, const Surface& surface) {
  surfrefs.emplace_back(std::move(name), surface.state());
  return *this;
}

Args& Args::texref(std::string name, const Texture& texture) {
  texrefs.emplace_back(std::move(name), texture.state());
  return *this;
}

Args& Args::samplerref(std::string name, const Sampler& sampler) {
  samplerrefs.emplace_back(std::move(name), sampler.state());
  return *this;
}

}  // namespace ptx2spv
