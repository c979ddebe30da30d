// Texture and surface references: variables of a module that the host points at memory.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"

namespace ptx2spv::cuda {

CUresult texture_ref(ModuleObject& module, std::string_view name, CUtexref& found) {
  std::lock_guard lock(module.mutex);
  auto known = module.texture_refs.find(name);
  if (known == module.texture_refs.end()) {
    const Interface& all = module.module.interface();
    bool there = std::any_of(all.texrefs.begin(), all.texrefs.end(), [&](const StaticTexref& each) {
      return each.name == name && !each.sampler;
    });
    for (const EntryInfo& entry : all.entries)
      for (const RefInfo& each : entry.texrefs) there = there || each.name == name;
    if (!there) return fail(eSymbolNotFound, "the module has no such texture reference");
    auto reference = std::make_shared<TextureRefObject>();
    reference->module = &module;
    reference->name = std::string(name);
    reference->desc.maxAnisotropy = 1;
    known = module.texture_refs.emplace(reference->name, reference).first;
    tables().texture_refs.add(reference);
    module.has_texture_refs = true;
  }
  found = known->second.get();
  return eSuccess;
}

CUresult surface_ref(ModuleObject& module, std::string_view name, CUsurfref& found) {
  std::lock_guard lock(module.mutex);
  auto known = module.surface_refs.find(name);
  if (known == module.surface_refs.end()) {
    const Interface& all = module.module.interface();
    bool there = std::any_of(all.surfrefs.begin(), all.surfrefs.end(),
                             [&](const StaticSurfref& each) { return each.name == name; });
    for (const EntryInfo& entry : all.entries)
      for (const RefInfo& each : entry.surfrefs) there = there || each.name == name;
    if (!there) return fail(eSymbolNotFound, "the module has no such surface reference");
    auto reference = std::make_shared<SurfaceRefObject>();
    reference->module = &module;
    reference->name = std::string(name);
    known = module.surface_refs.emplace(reference->name, reference).first;
    tables().surface_refs.add(reference);
  }
  found = known->second.get();
  return eSuccess;
}

namespace {

void point(TextureRefObject& reference, const CUDA_RESOURCE_DESC& resource, CUarray_format format,
           unsigned channels) {
  reference.resource = resource;
  reference.format = format;
  reference.channels = static_cast<int>(channels);
  reference.bound = reference.changed = true;
}

}  // namespace

CUresult point_at(TextureRefObject& reference, CUarray handle) {
  auto array = tables().arrays.find(handle);
  if (!array) return fail(eInvalidResourceHandle, "no such array");
  CUDA_RESOURCE_DESC resource{};
  resource.resType = kResourceArray;
  resource.res.array.hArray = handle;
  point(reference, resource, array->desc.Format, array->desc.NumChannels);
  return eSuccess;
}

CUresult point_at(TextureRefObject& reference, CUmipmappedArray handle) {
  auto mipmap = tables().mipmaps.find(handle);
  if (!mipmap) return fail(eInvalidResourceHandle, "no such mipmapped array");
  CUDA_RESOURCE_DESC resource{};
  resource.resType = kResourceMipmap;
  resource.res.mipmap.hMipmappedArray = handle;
  point(reference, resource, mipmap->desc.Format, mipmap->desc.NumChannels);
  return eSuccess;
}

CUresult point_at_memory(TextureRefObject& reference, CUdeviceptr address, std::size_t bytes,
                         std::size_t* offset) {
  auto allocation = find_address(address);
  if (!allocation)
    return fail(eInvalidValue, fmt::format("{:#x} is no address of device memory", address));
  const std::size_t before = (address - allocation->address) % 512;
  if (before && !offset) return fail(eInvalidValue, "the address is no multiple of 512");
  const std::size_t rest = allocation->bytes - (address - allocation->address);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = kResourceLinear;
  auto& linear = resource.res.linear;
  linear.devPtr = address - before;
  linear.format = reference.format;
  linear.numChannels = static_cast<unsigned>(reference.channels);
  // Programs that bind "all of it" give more bytes than there are.
  linear.sizeInBytes = std::min(bytes, rest) + before;
  point(reference, resource, linear.format, linear.numChannels);
  if (offset) *offset = before;
  reference.offset = before;
  return eSuccess;
}

CUresult point_at_rows(TextureRefObject& reference, const CUDA_ARRAY_DESCRIPTOR& desc,
                       CUdeviceptr address, std::size_t pitch) {
  if (!find_address(address))
    return fail(eInvalidValue, fmt::format("{:#x} is no address of device memory", address));
  CUDA_RESOURCE_DESC resource{};
  resource.resType = kResourcePitch2D;
  auto& rows = resource.res.pitch2D;
  rows.devPtr = address;
  rows.format = desc.Format;
  rows.numChannels = desc.NumChannels;
  rows.width = desc.Width;
  rows.height = desc.Height;
  rows.pitchInBytes = pitch;
  point(reference, resource, desc.Format, desc.NumChannels);
  return eSuccess;
}

CUresult bind_textures(ModuleObject& module) {
  std::vector<std::shared_ptr<TextureRefObject>> changed;
  {
    std::lock_guard lock(module.mutex);
    for (const auto& [name, reference] : module.texture_refs) {
      if (!reference->bound) continue;
      if (reference->describe) {
        CUDA_TEXTURE_DESC desc = reference->desc;
        if (CUresult code = reference->describe(desc); code != eSuccess) return code;
        reference->changed |= std::memcmp(&desc, &reference->desc, sizeof desc) != 0;
        reference->desc = desc;
      }
      if (reference->changed) changed.push_back(reference);
    }
  }
  for (const auto& each : changed) {
    std::optional<Texture> texture;
    if (CUresult code = make_texture(each->resource, each->desc, nullptr, texture);
        code != eSuccess)
      return code;
    Status status = module.module.bind_texture(each->name, *texture);
    if (!status) return report(status.error());
    each->changed = false;
  }
  return eSuccess;
}

CUresult bind_surface(SurfaceRefObject& reference, CUarray handle) {
  auto array = tables().arrays.find(handle);
  if (!array) return fail(eInvalidValue, "no such array");
  auto surface = Surface::create(array->array, array->level);
  if (!surface) return report(surface.error());
  Status status = reference.module->module.bind_surface(reference.name, *surface);
  if (!status) return report(status.error());
  reference.array = handle;
  return eSuccess;
}

}  // namespace ptx2spv::cuda
