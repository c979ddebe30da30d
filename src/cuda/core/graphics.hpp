// What a graphics interface has and CUDA sees while it is mapped, in the driver interface's terms.
#pragma once

#include "src/cuda/core/core.hpp"
#include "src/opengl/sharing.hpp"

namespace ptx2spv::cuda {

namespace gl = opengl;

/// An OpenGL buffer, texture or renderbuffer. Its bytes are copied to memory of the device's when
/// it is mapped, and back: on the device, where OpenGL can import that memory, else through the
/// host. The memory lasts from mapping to mapping, but where kernels are checked: what is not
/// mapped is freed there.
struct GraphicsObject {
  ContextObject* context = nullptr;
  unsigned name = 0;   ///< OpenGL's
  unsigned flags = 0;  ///< CU_GRAPHICS_REGISTER_FLAGS_
  bool mapped = false;
  bool reads() const;     ///< OpenGL's bytes when it is mapped
  bool writes() const;    ///< them when it is unmapped
  gl::Mark mark;          ///< known to the contexts that share the object
  std::size_t bytes = 0;  ///< of a buffer; 0: it is an image
  std::shared_ptr<Allocation> memory;
  gl::Image image;
  std::shared_ptr<MipmapObject> mipmap;
  gl::Sharing sharing;
  /// What the program asked for in this mapping: the mipmapped array, or copies of layers of it.
  bool whole = false, copies = false;
  /// Layers that the program has as arrays, by level: in the whole's memory, or copies where an
  /// image holds it. They last, since texture and surface objects over them may.
  std::map<std::pair<unsigned, unsigned>, std::shared_ptr<ArrayObject>> layers;
};

// CU_GRAPHICS_REGISTER_FLAGS_ and, of these, CU_GRAPHICS_MAP_RESOURCE_FLAGS_.
inline constexpr unsigned kReadOnly = 1, kWriteDiscard = 2, kSurface = 4, kGather = 8,
                          kMapFlags = 3;
// They are promises. Of both there is nothing to gain.
inline bool GraphicsObject::reads() const { return (flags & kMapFlags) != kWriteDiscard; }
inline bool GraphicsObject::writes() const { return (flags & kMapFlags) != kReadOnly; }

// The object's copy on the device.

std::string name_of(const GraphicsObject& object);  ///< "OpenGL buffer 1"
/// Makes it, unless it is there.
CUresult make_copy(ContextObject& context, gl::Calls& calls, GraphicsObject& object);
/// Frees it. `what` happened to the object, for the sanitizer. With `calls` null, what OpenGL has
/// of it goes with its context.
void drop(gl::Calls* calls, GraphicsObject& object, const char* what);
CUresult read_in(gl::Calls& calls, GraphicsObject& object);
CUresult write_back(gl::Calls& calls, GraphicsObject& object);
/// The code of OpenGL's answer.
CUresult gl_code(const Status& status);
CUresult layer_array(GraphicsObject& object, unsigned layer, unsigned level, CUarray* made);
/// NotSupported where the program has copies of layers in this mapping.
CUresult take_whole(GraphicsObject& object);

// Both interfaces' functions.

CUresult register_buffer(ContextObject& context, CUgraphicsResource* made, unsigned name,
                         unsigned flags);
CUresult register_image(ContextObject& context, CUgraphicsResource* made, unsigned name,
                        unsigned target, unsigned flags);
CUresult unregister(ContextObject& context, CUgraphicsResource resource);
CUresult set_map_flags(CUgraphicsResource resource, unsigned flags);
CUresult map_resources(ContextObject& context, unsigned count, const CUgraphicsResource* list,
                       StreamObject& stream);
CUresult unmap_resources(ContextObject& context, unsigned count, const CUgraphicsResource* list,
                         StreamObject& stream);
/// Both places may be null.
CUresult mapped_pointer(CUgraphicsResource resource, CUdeviceptr* address, std::size_t* bytes);
CUresult mapped_array(CUgraphicsResource resource, unsigned layer, unsigned level, CUarray* array);
CUresult mapped_mipmap(CUgraphicsResource resource, CUmipmappedArray* mipmap);
/// The devices that can share the current OpenGL context's objects, at most `room` of them.
CUresult gl_devices(ContextObject& context, unsigned* count, int* ordinals, unsigned room,
                    int which);
CUresult gl_current();  ///< whether a context is, and can serve
/// The resource of a buffer, for the functions that know buffers by their names; null: none.
CUgraphicsResource resource_of(unsigned buffer);
CUresult no_buffer(unsigned buffer, CUresult code);  ///< returns it
void forget_resources(const ContextObject& context);

}  // namespace ptx2spv::cuda
