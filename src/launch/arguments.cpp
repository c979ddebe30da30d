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
    if (item.size != room)
      return wrong(kernel, i, param,
                   fmt::format("it has {} bytes, and {} of {} bytes was given", room,
                               name_of(item.kind), item.size));
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
    std::memcpy(bytes.data() + param.offset, args.data.data() + item.offset, room);
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

Args::Item& add_item(Args& args, Args::Kind kind, std::span<const std::byte> bytes) {
  Args::Item& item = args.items.emplace_back();
  item.kind = kind;
  item.offset = args.data.size();
  item.size = bytes.size();
  args.data.insert(args.data.end(), bytes.begin(), bytes.end());
  return item;
}

Args::Item& add_word(Args& args, Args::Kind kind, std::uint64_t value) {
  return add_item(args, kind, std::as_bytes(std::span(&value, 1)));
}

}  // namespace

Args& Args::surface(const Surface& surface) {
  Item& item = add_word(*this, Kind::surface, surface.handle());
  item.keep = surface.state();
  item.device = surface.state()->array->device.get();
  return *this;
}

Args& Args::texture(const Texture& texture) {
  Item& item = add_word(*this, Kind::texture, texture.handle());
  item.keep = texture.state();
  item.device = texture.state()->device.get();
  return *this;
}

Args& Args::sampler(const Sampler& sampler) {
  Item& item = add_word(*this, Kind::sampler, sampler.handle());
  item.keep = sampler.state();
  item.device = sampler.state()->device.get();
  return *this;
}

Args& Args::buffer(const Buffer& buffer, std::uint64_t offset) {
  Item& item = add_word(*this, Kind::address, buffer.address() + offset);
  item.keep = buffer.state();
  item.device = buffer.state()->device.get();
  return *this;
}

Args& Args::address(std::uint64_t address) {
  add_word(*this, Kind::address, address);
  return *this;
}

Args& Args::bytes(std::span<const std::byte> bytes) {
  add_item(*this, Kind::value, bytes);
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
