// Arrays, surfaces, textures and samplers in C.
#include <algorithm>

#include <fmt/format.h>

#include "src/c_api/handles.hpp"
#include "src/device/device.hpp"

namespace {

static_assert(static_cast<int>(Geometry::d1) == PTX2SPV_1D &&
              static_cast<int>(Geometry::a2d) == PTX2SPV_A2D);

Status unknown(const char* what, std::uint32_t value) {
  return bad_argument("{} has no value {}", what, value);
}

Status read_texture(const ptx2spv_texture_desc* desc, TextureDesc& to) {
  if (Status status = check_struct(desc, "the texture's description"); !status) return status;
  const ptx2spv_texture_desc& from = *desc;
  for (int i = 0; i < 3; ++i) {
    if (const std::uint32_t mode = number_in(from.address[i]); mode > PTX2SPV_BORDER)
      return unknown("an address mode", mode);
    to.address[i] = static_cast<AddressMode>(from.address[i]);
  }
  to.linear_filter = from.linear_filter;
  to.linear_mipmap_filter = from.linear_mipmap_filter;
  to.normalized_coordinates = from.normalized_coordinates;
  to.read_as_integer = !from.read_as_float;
  to.srgb = from.srgb;
  to.cube = from.cube;
  to.seamless_cube = from.seamless_cube;
  to.full_trilinear = from.full_trilinear;
  to.mipmapped = from.mipmapped;
  std::copy(from.border, from.border + 4, to.border.begin());
  to.mipmap_bias = from.mipmap_bias;
  to.min_level = from.min_level;
  to.max_level = from.max_level;
  to.max_anisotropy = from.max_anisotropy ? from.max_anisotropy : 1;
  return {};
}

Status read_view(const ptx2spv_texture_view* view, TextureView& to) {
  if (Status status = check_struct(view, "the view"); !status) return status;
  if (number_in(view->format) > PTX2SPV_SNORM16) return unknown("format", number_in(view->format));
  to.format = static_cast<abi::SurfaceFormat>(view->format);
  to.channels = view->channels;
  to.first_level = view->first_level;
  to.levels = view->levels ? view->levels : 1;
  to.first_layer = view->first_layer;
  to.layers = view->layers ? view->layers : 1;
  return {};
}

}  // namespace

namespace ptx2spv::runtime {

Status read_desc(const ptx2spv_array_desc* struct_, ArrayDesc& desc) {
  if (Status status = check_struct(struct_, "the array's description"); !status) return status;
  const ptx2spv_array_desc& from = *struct_;
  if (number_in(from.geometry) > PTX2SPV_A2D) return unknown("geometry", number_in(from.geometry));
  if (number_in(from.format) > PTX2SPV_SNORM16) return unknown("format", number_in(from.format));
  if (number_in(from.backing) > PTX2SPV_IMAGE) return unknown("backing", number_in(from.backing));
  if (!from.width) return bad_argument("the array's description has no width");
  auto one = [](uint32_t value) { return value ? value : 1; };
  desc.geometry = static_cast<Geometry>(from.geometry);
  desc.format = static_cast<abi::SurfaceFormat>(from.format);
  desc.channels = one(from.channels);
  desc.width = one(from.width);
  desc.height = one(from.height);
  desc.depth = one(from.depth);
  desc.layers = one(from.layers);
  desc.levels = one(from.levels);
  const std::uint32_t backing = number_in(from.backing);
  desc.backing = backing == PTX2SPV_LINEAR  ? ArrayBacking::linear
                 : backing == PTX2SPV_IMAGE ? ArrayBacking::image
                                            : ArrayBacking::automatic;
  if (from.name) desc.name = from.name;
  return {};
}

Status read_array_region(const ptx2spv_array_region* from, ArrayRegion& to) {
  if (Status status = check_struct(from, "the region"); !status) return status;
  to.level = from->level;
  to.x = from->x;
  to.y = from->y;
  to.z = from->z;
  to.width = from->width;
  to.height = from->height;
  to.depth = from->depth;
  to.row_pitch = from->row_pitch;
  to.slice_pitch = from->slice_pitch;
  return {};
}

}  // namespace ptx2spv::runtime

extern "C" {

ptx2spv_status ptx2spv_array_create(ptx2spv_device* device, const ptx2spv_array_desc* desc,
                                    ptx2spv_array** array) {
  if (!device || !array) return fail_null("the device or the array");
  ArrayDesc to;
  if (Status status = read_desc(desc, to); !status) return finish(std::move(status));
  return give(Array::create(device->it, to), array);
}
uint64_t ptx2spv_array_bytes(const ptx2spv_array* array, uint32_t level) {
  return array ? array->it.bytes(level) : 0;
}

ptx2spv_status ptx2spv_array_upload(ptx2spv_array* array, uint32_t level, const void* data,
                                    uint64_t bytes) {
  if (!array || !data) return fail_null("the array or the data");
  return finish(array->it.upload(input(data, bytes), level));
}

ptx2spv_status ptx2spv_array_download(const ptx2spv_array* array, uint32_t level, void* data,
                                      uint64_t bytes) {
  if (!array || !data) return fail_null("the array or the data");
  return finish(array->it.download(output(data, bytes), level));
}

ptx2spv_status ptx2spv_array_upload_region(ptx2spv_array* array, const ptx2spv_array_region* region,
                                           const void* data, uint64_t bytes) {
  if (!array || !data) return fail_null("the array or the data");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(array->it.upload(where, input(data, bytes)));
}

ptx2spv_status ptx2spv_array_download_region(const ptx2spv_array* array,
                                             const ptx2spv_array_region* region, void* data,
                                             uint64_t bytes) {
  if (!array || !data) return fail_null("the array or the data");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(array->it.download(where, output(data, bytes)));
}

ptx2spv_status ptx2spv_array_copy_from_buffer(ptx2spv_array* array,
                                              const ptx2spv_array_region* region,
                                              const ptx2spv_buffer* buffer, uint64_t offset) {
  if (!array || !buffer) return fail_null("the array or the buffer");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(array->it.copy_from(buffer->it, offset, where));
}

ptx2spv_status ptx2spv_array_copy_to_buffer(const ptx2spv_array* array,
                                            const ptx2spv_array_region* region,
                                            ptx2spv_buffer* buffer, uint64_t offset) {
  if (!array || !buffer) return fail_null("the array or the buffer");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(array->it.copy_to(buffer->it, offset, where));
}

ptx2spv_status ptx2spv_array_fill(ptx2spv_array* array, uint32_t level, uint32_t pattern,
                                  uint32_t pattern_bytes) {
  if (!array) return fail_null("the array");
  return finish(array->it.fill(pattern, static_cast<int>(pattern_bytes & 0xff), level));
}

ptx2spv_status ptx2spv_array_copy(const ptx2spv_array* from, ptx2spv_array* to) {
  if (!from || !to) return fail_null("an array");
  return finish(to->it.copy_from(from->it));
}

void ptx2spv_array_destroy(ptx2spv_array* array) { delete array; }

ptx2spv_status ptx2spv_surface_create(ptx2spv_array* array, uint32_t level,
                                      ptx2spv_surface** surface) {
  if (!array || !surface) return fail_null("the array or the surface");
  return give(Surface::create(array->it, level), surface);
}
uint64_t ptx2spv_surface_handle(const ptx2spv_surface* surface) {
  return surface ? surface->it.handle() : 0;
}
ptx2spv_status ptx2spv_surface_set_name(ptx2spv_surface* surface, const char* name) {
  if (!surface || !name) return fail_null("the surface or the name");
  surface->it.set_name(name);
  return PTX2SPV_OK;
}
void ptx2spv_surface_destroy(ptx2spv_surface* surface) { delete surface; }

ptx2spv_status ptx2spv_texture_create(ptx2spv_array* array, const ptx2spv_texture_desc* desc,
                                      ptx2spv_texture** texture) {
  if (!array || !texture) return fail_null("the array or the texture");
  TextureDesc to;
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  return give(Texture::create(array->it, to), texture);
}
ptx2spv_status ptx2spv_texture_create_level(ptx2spv_array* array, uint32_t level,
                                            const ptx2spv_texture_desc* desc,
                                            ptx2spv_texture** texture) {
  if (!array || !texture) return fail_null("the array or the texture");
  TextureDesc to;
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  return give(Texture::create_level(array->it, level, to), texture);
}
ptx2spv_status ptx2spv_texture_create_memory(ptx2spv_buffer* buffer,
                                             const ptx2spv_texture_memory* memory,
                                             const ptx2spv_texture_desc* desc,
                                             ptx2spv_texture** texture) {
  if (!buffer || !texture) return fail_null("the buffer or the texture");
  TextureDesc to;
  if (Status status = check_struct(memory, "the texture's memory"); !status)
    return finish(std::move(status));
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  TextureMemory from;
  from.format = static_cast<abi::SurfaceFormat>(number_in(memory->format));
  from.channels = memory->channels;
  from.offset = memory->offset;
  from.width = memory->width;
  from.height = memory->height;
  from.pitch = memory->pitch;
  return give(Texture::create(buffer->it, from, to), texture);
}
uint64_t ptx2spv_texture_handle(const ptx2spv_texture* texture) {
  return texture ? texture->it.handle() : 0;
}
void ptx2spv_texture_destroy(ptx2spv_texture* texture) { delete texture; }

ptx2spv_status ptx2spv_sampler_create(ptx2spv_device* device, const ptx2spv_texture_desc* desc,
                                      ptx2spv_sampler** sampler) {
  if (!device || !sampler) return fail_null("the device or the sampler");
  TextureDesc to;
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  return give(Sampler::create(device->it, to), sampler);
}
uint64_t ptx2spv_sampler_handle(const ptx2spv_sampler* sampler) {
  return sampler ? sampler->it.handle() : 0;
}
void ptx2spv_sampler_destroy(ptx2spv_sampler* sampler) { delete sampler; }

const char* ptx2spv_geometry_name(uint32_t geometry) {
  return geometry <= PTX2SPV_A2D ? to_string(static_cast<Geometry>(geometry)) : nullptr;
}
const char* ptx2spv_format_name(uint32_t format) {
  return format <= PTX2SPV_SNORM16 ? to_string(static_cast<abi::SurfaceFormat>(format)) : nullptr;
}
ptx2spv_status ptx2spv_parse_geometry(const char* name, ptx2spv_geometry* geometry) {
  if (!name || !geometry) return fail_null("the name or the geometry");
  const auto found = parse_geometry(name);
  if (!found)
    return fail(
        make_error(ErrorCode::not_found, "there is no geometry '" + std::string(name) + "'"));
  *geometry = static_cast<ptx2spv_geometry>(*found);
  return PTX2SPV_OK;
}
ptx2spv_status ptx2spv_parse_format(const char* name, ptx2spv_format* format) {
  if (!name || !format) return fail_null("the name or the format");
  const auto found = parse_format(name);
  if (!found)
    return fail(make_error(ErrorCode::not_found, "there is no format '" + std::string(name) + "'"));
  *format = static_cast<ptx2spv_format>(*found);
  return PTX2SPV_OK;
}
uint32_t ptx2spv_format_bytes(uint32_t format) {
  return format <= PTX2SPV_SNORM16 ? format_bytes(static_cast<abi::SurfaceFormat>(format)) : 0;
}

ptx2spv_status ptx2spv_array_get_desc(const ptx2spv_array* array, ptx2spv_array_desc* desc) {
  if (!array) return fail_null("the array");
  if (Status status = check_struct(desc, "the array's description"); !status)
    return finish(std::move(status));
  const ArrayDesc& from = array->it.desc();
  desc->geometry = static_cast<ptx2spv_geometry>(from.geometry);
  desc->format = static_cast<ptx2spv_format>(from.format);
  desc->channels = from.channels;
  desc->width = from.width;
  desc->height = from.height;
  desc->depth = from.depth;
  desc->layers = from.layers;
  desc->levels = from.levels;
  desc->backing = from.backing == ArrayBacking::linear  ? PTX2SPV_LINEAR
                  : from.backing == ArrayBacking::image ? PTX2SPV_IMAGE
                                                        : PTX2SPV_AUTOMATIC;
  desc->name = from.name.c_str();
  return PTX2SPV_OK;
}
int32_t ptx2spv_array_image_backed(const ptx2spv_array* array) {
  return array && array->it.image_backed();
}

ptx2spv_status ptx2spv_array_copy_region(const ptx2spv_array* from,
                                         const ptx2spv_array_region* source, ptx2spv_array* to,
                                         const ptx2spv_array_region* region) {
  if (!from || !to) return fail_null("an array");
  ArrayRegion first, second;
  if (Status status = read_array_region(source, first); !status) return finish(std::move(status));
  if (Status status = read_array_region(region, second); !status) return finish(std::move(status));
  return finish(to->it.copy_from(from->it, first, second));
}

ptx2spv_status ptx2spv_surface_array(const ptx2spv_surface* surface, ptx2spv_array** array) {
  if (!surface || !array) return fail_null("the surface or the array");
  *array = new ptx2spv_array{surface->it.array()};
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_texture_create_view(ptx2spv_array* array, const ptx2spv_texture_view* view,
                                           const ptx2spv_texture_desc* desc,
                                           ptx2spv_texture** texture) {
  if (!array || !texture) return fail_null("the array or the texture");
  TextureView part;
  TextureDesc to;
  if (Status status = read_view(view, part); !status) return finish(std::move(status));
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  return give(Texture::create_view(array->it, part, to), texture);
}

}  // extern "C"
