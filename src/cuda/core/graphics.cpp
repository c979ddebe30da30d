#include "src/cuda/core/graphics.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

namespace {

struct Resources {
  std::mutex mutex;  ///< of every call, for all that follows and the objects
  std::map<const GraphicsObject*, std::shared_ptr<GraphicsObject>> all;
};
Resources& resources() {
  static auto* list = new Resources;
  return *list;
}

CUresult find(CUgraphicsResource handle, GraphicsObject*& object) {
  const auto found = resources().all.find(handle);
  if (found == resources().all.end())
    return fail(eInvalidResourceHandle, "no such graphics resource");
  object = found->second.get();
  return eSuccess;
}

CUresult find_mapped(CUgraphicsResource handle, bool image, GraphicsObject*& object) {
  if (CUresult code = find(handle, object); code != eSuccess) return code;
  if (!object->mapped) return fail(eNotMapped, name_of(*object) + " is not mapped");
  if (image && object->bytes)
    return fail(eNotMappedAsArray, name_of(*object) + " has a pointer and no array");
  if (!image && !object->bytes)
    return fail(eNotMappedAsPointer, name_of(*object) + " has arrays and no pointer");
  return eSuccess;
}

CUresult begin(std::optional<gl::Calls>& calls) { return gl_code(gl::Calls::begin(calls)); }

/// A scope of OpenGL's calls, in a context that has the object.
CUresult enter_gl(const GraphicsObject& object, std::optional<gl::Calls>& calls) {
  if (CUresult code = calls ? eSuccess : begin(calls); code != eSuccess) return code;
  return calls->knows(object.mark)
             ? eSuccess
             : fail(eInvalidGraphicsContext,
                    "the current OpenGL context does not have " + name_of(object));
}

/// CUDA has no other answer where it does not take an image.
CUresult describe(gl::Calls& calls, unsigned name, unsigned target, gl::Image& image) {
  const CUresult code = gl_code(calls.describe(name, target, image));
  return code == eOperatingSystem ? eInvalidValue : code;
}

CUresult publish(ContextObject& context, gl::Calls& calls,
                 const std::shared_ptr<GraphicsObject>& object, CUgraphicsResource* made) {
  object->context = &context;
  object->mark = calls.mark();
  if (!calls.knows(object->mark)) return fail(eUnknown, "OpenGL makes no sampler");
  *made = object.get();
  resources().all[*made] = object;
  return eSuccess;
}

/// `look(calls, object)` asks OpenGL for the object's size or format.
template <class Look>
CUresult register_object(ContextObject& context, CUgraphicsResource* made, unsigned name,
                         unsigned flags, Look&& look) {
  if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
  std::lock_guard lock(resources().mutex);
  std::optional<gl::Calls> calls;
  if (CUresult code = begin(calls); code != eSuccess) return code;
  const auto object = std::make_shared<GraphicsObject>();
  object->name = name;
  object->flags = flags;
  CUresult code = look(*calls, *object);
  if (code == eSuccess) code = make_copy(context, *calls, *object);
  if (code == eSuccess) code = publish(context, *calls, object, made);
  if (code != eSuccess) drop(&*calls, *object, "not registered");
  return code;
}

/// False: the program gave it other memory in OpenGL since it was registered.
bool unchanged(gl::Calls& calls, const GraphicsObject& object) {
  if (object.bytes) {
    std::size_t bytes = 0;
    return calls.buffer_bytes(object.name, bytes) && bytes == object.bytes;
  }
  gl::Image now;
  return calls.describe(object.name, object.image.target, now) && now == object.image;
}

CUresult check_unchanged(gl::Calls& calls, const GraphicsObject& object) {
  if (unchanged(calls, object)) return eSuccess;
  const std::string text =
      name_of(object) + " has another size or format than when it was registered";
  say_once(text);
  return fail(eMapBufferObjectFailed, text);
}

/// The objects of a list, each of them once, of this context, and mapped or not.
CUresult find_all(ContextObject& context, unsigned count, const CUgraphicsResource* list,
                  bool mapped, std::vector<GraphicsObject*>& found) {
  if (!list || !count) return fail(eInvalidValue, "there is no list of resources");
  for (unsigned i = 0; i < count; ++i) {
    GraphicsObject* object = nullptr;
    if (CUresult code = find(list[i], object); code != eSuccess) return code;
    if (std::ranges::find(found, object) != found.end())
      return fail(mapped ? eNotMapped : eAlreadyMapped, "a resource is twice in the list");
    if (object->context != &context)
      return fail(eInvalidResourceHandle, "a resource is of another context");
    found.push_back(object);
  }
  for (const GraphicsObject* each : found)
    if (each->mapped != mapped)
      return mapped ? fail(eNotMapped, name_of(*each) + " is not mapped")
                    : fail(eAlreadyMapped, name_of(*each) + " is mapped");
  return eSuccess;
}

/// Waits for what the stream would wait for before anything given to it now: its own work and, of
/// blocking ones, the legacy stream's.
CUresult finish(StreamObject& stream) {
  CUresult code = in_order(stream, [] { return eSuccess; });
  drain(stream);
  return code == eSuccess ? settle(*stream.context) : code;
}

}  // namespace

CUresult register_buffer(ContextObject& context, CUgraphicsResource* made, unsigned name,
                         unsigned flags) {
  if (!made || flags > kWriteDiscard) return fail(eInvalidValue, "no such flags of a buffer");
  if (!name) return fail(eInvalidValue, "OpenGL has no buffer 0");
  return register_object(context, made, name, flags, [&](gl::Calls& calls, GraphicsObject& object) {
    return gl_code(calls.buffer_bytes(name, object.bytes));
  });
}

CUresult register_image(ContextObject& context, CUgraphicsResource* made, unsigned name,
                        unsigned target, unsigned flags) {
  constexpr unsigned kKnown = kMapFlags | kSurface | kGather;
  if (!made || (flags & ~kKnown)) return fail(eInvalidValue, "no such flags of an image");
  if (!name || !gl::takes_target(target))
    return fail(eInvalidValue, fmt::format("CUDA takes no OpenGL image of target {:#06x}", target));
  return register_object(context, made, name, flags, [&](gl::Calls& calls, GraphicsObject& object) {
    const CUresult code = describe(calls, name, target, object.image);
    return code == eSuccess && (flags & kGather) && object.image.deep()
               ? fail(eInvalidValue, "gathers are of two dimensions")
               : code;
  });
}

CUresult unregister(ContextObject& context, CUgraphicsResource resource) {
  if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
  std::lock_guard lock(resources().mutex);
  GraphicsObject* object = nullptr;
  if (CUresult code = find(resource, object); code != eSuccess) return code;
  std::optional<gl::Calls> calls;
  if (CUresult code = enter_gl(*object, calls); code != eSuccess) return code;
  if (object->mapped) return fail(eAlreadyMapped, name_of(*object) + " is mapped");
  const CUresult code = synchronize(context);
  calls->forget(object->mark);
  drop(&*calls, *object, "unregistered");
  resources().all.erase(object);
  return code;
}

CUresult set_map_flags(CUgraphicsResource resource, unsigned flags) {
  std::lock_guard lock(resources().mutex);
  GraphicsObject* object = nullptr;
  if (CUresult code = find(resource, object); code != eSuccess) return code;
  if (flags > kWriteDiscard) return fail(eInvalidValue, "no such flags of a mapping");
  if (object->mapped) return fail(eAlreadyMapped, name_of(*object) + " is mapped");
  object->flags = (object->flags & ~kMapFlags) | flags;
  return eSuccess;
}

CUresult map_resources(ContextObject& context, unsigned count, const CUgraphicsResource* list,
                       StreamObject& stream) {
  if (CUresult code = begin_wait(stream); code != eSuccess) return code;
  std::lock_guard lock(resources().mutex);
  std::vector<GraphicsObject*> all;
  if (CUresult code = find_all(context, count, list, false, all); code != eSuccess) return code;
  std::optional<gl::Calls> calls;
  // Nothing is mapped where one of them cannot be.
  for (GraphicsObject* each : all) {
    CUresult code = enter_gl(*each, calls);
    if (code == eSuccess) code = check_unchanged(*calls, *each);
    if (code == eSuccess) code = make_copy(context, *calls, *each);
    if (code != eSuccess) return code;
  }
  // OpenGL's answers wait for what it was given before. Nothing of the stream's has the resources
  // yet, so that it is not waited for.
  for (GraphicsObject* each : all)
    if (each->reads())
      if (CUresult code = read_in(*calls, *each); code != eSuccess) return code;
  for (GraphicsObject* each : all) {
    if (each->memory && !add_mapped(each->memory))
      return fail(eUnknown, "the device gave out an address that is in use");
    each->mapped = true;
    each->whole = each->copies = false;
  }
  return eSuccess;
}

CUresult unmap_resources(ContextObject& context, unsigned count, const CUgraphicsResource* list,
                         StreamObject& stream) {
  if (CUresult code = begin_wait(stream); code != eSuccess) return code;
  std::lock_guard lock(resources().mutex);
  std::vector<GraphicsObject*> all;
  if (CUresult code = find_all(context, count, list, true, all); code != eSuccess) return code;
  std::optional<gl::Calls> calls;
  for (const GraphicsObject* each : all)
    if (CUresult code = enter_gl(*each, calls); code != eSuccess) return code;
  if (CUresult code = finish(stream); code != eSuccess) return code;
  CUresult code = eSuccess;
  for (GraphicsObject* each : all) {
    // Memory that OpenGL has replaced since then is nobody's: nothing is written to the new one.
    if (each->writes() && unchanged(*calls, *each)) {
      const CUresult written = write_back(*calls, *each);
      if (code == eSuccess) code = written;
    }
    if (each->memory) forget(*each->memory);
    if (kernels_are_checked(context)) drop(&*calls, *each, "unmapped");
    each->mapped = false;
  }
  return code;
}

CUresult mapped_pointer(CUgraphicsResource resource, CUdeviceptr* address, std::size_t* bytes) {
  std::lock_guard lock(resources().mutex);
  GraphicsObject* object = nullptr;
  if (CUresult code = find_mapped(resource, false, object); code != eSuccess) return code;
  if (address) *address = object->memory->address;
  if (bytes) *bytes = object->memory->bytes;
  return eSuccess;
}

CUresult mapped_array(CUgraphicsResource resource, unsigned layer, unsigned level, CUarray* array) {
  std::lock_guard lock(resources().mutex);
  GraphicsObject* object = nullptr;
  if (CUresult code = find_mapped(resource, true, object); code != eSuccess) return code;
  const gl::Image& image = object->image;
  if (!array || level >= image.levels || layer >= (image.layered() ? image.depth : 1))
    return fail(eInvalidValue,
                fmt::format("{} has no layer {} of a level {}", name_of(*object), layer, level));
  if (!image.layered()) return mipmap_level(object->mipmap.get(), level, *array);
  return layer_array(*object, layer, level, array);
}

CUresult mapped_mipmap(CUgraphicsResource resource, CUmipmappedArray* mipmap) {
  std::lock_guard lock(resources().mutex);
  GraphicsObject* object = nullptr;
  if (CUresult code = find_mapped(resource, true, object); code != eSuccess) return code;
  if (!mipmap) return fail(eInvalidValue, "there is no place for the array");
  if (CUresult code = take_whole(*object); code != eSuccess) return code;
  *mipmap = object->mipmap.get();
  return eSuccess;
}

CUresult gl_devices(ContextObject& context, unsigned* count, int* ordinals, unsigned room,
                    int which) {
  constexpr int kAll = 1, kNextFrame = 3;
  if (!count || !ordinals || which < kAll || which > kNextFrame)
    return fail(eInvalidValue, "no such list of devices");
  std::optional<gl::Calls> calls;
  if (CUresult code = begin(calls); code != eSuccess) return code;
  // Every device shares objects, by copies; the one that draws is the nearest.
  int nearest = context.device->ordinal;
  if (const auto uuid = calls->device_uuid())
    for (int i = device_count(); i-- > 0;)
      if (device_at(i)->uuid == *uuid) nearest = i;
  *count = 1;
  if (room) ordinals[0] = nearest;
  return eSuccess;
}

CUresult gl_current() {
  std::optional<gl::Calls> calls;
  return begin(calls);
}

CUgraphicsResource resource_of(unsigned buffer) {
  std::lock_guard lock(resources().mutex);
  for (const auto& [handle, each] : resources().all)
    if (each->bytes && each->name == buffer) return each.get();
  return nullptr;
}

CUresult no_buffer(unsigned buffer, CUresult code) {
  return fail(code, fmt::format("OpenGL buffer {} is not registered", buffer));
}

void forget_resources(const ContextObject& context) {
  std::lock_guard lock(resources().mutex);
  std::erase_if(resources().all, [&](const auto& each) {
    if (each.second->context != &context) return false;
    drop(nullptr, *each.second, "of a context that was destroyed");
    return true;
  });
}

}  // namespace ptx2spv::cuda
