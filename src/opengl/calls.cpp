#include "src/opengl/calls.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include <fmt/format.h>

#include "src/opengl/bound.hpp"

namespace ptx2spv::opengl {

namespace {

constexpr Enum kDebugOutput = 0x92e0;
constexpr Enum kVersionName = 0x1f02, kExtensions = 0x1f03, kCountExtensions = 0x821d;
constexpr Enum kInvalidEnum = 0x500, kInvalidValue = 0x501, kInvalidOperation = 0x502,
               kOutOfMemory = 0x505;
constexpr Enum kBufferSize = 0x8764;
constexpr Enum kBufferImmutable = 0x821f, kBufferFlags = 0x8220, kStreamCopy = 0x88e2;
constexpr int kDynamicStorage = 0x100;
constexpr Enum kBorder = 0x1004;

/// The libraries that make contexts, and their functions.
struct Library {
  const char *file, *current, *address;
};
constexpr Library kLibraries[] = {
    {"libGLX.so.0", "glXGetCurrentContext", "glXGetProcAddressARB"},
    {"libGL.so.1", "glXGetCurrentContext", "glXGetProcAddressARB"},
    {"libEGL.so.1", "eglGetCurrentContext", "eglGetProcAddress"},
    {"libOSMesa.so.8", "OSMesaGetCurrentContext", "OSMesaGetProcAddress"},
    {"libOSMesa.so.6", "OSMesaGetCurrentContext", "OSMesaGetProcAddress"},
};
using Address = void* (*)(const char*);

/// How the library of the calling thread's current context finds functions; null: none is current.
Address current_library() {
  for (const Library& each : kLibraries) {
    // Only what the program has loaded itself can have a context.
    void* library = ::dlopen(each.file, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    const auto current = reinterpret_cast<void* (*)()>(::dlsym(library, each.current));
    const auto address = reinterpret_cast<Address>(::dlsym(library, each.address));
    const bool found = current && address && current();
    ::dlclose(library);
    if (found) return address;
  }
  return nullptr;
}

/// The name of the first function that is not there; null: all are.
const char* load(Address address, Functions& made) {
  const char* missing = nullptr;
#define PTX2SPV_GL_LOAD(result, name, ...) \
  made.name = reinterpret_cast<result (*)(__VA_ARGS__)>(address("gl" #name));
#define PTX2SPV_GL_NEEDED(result, name, ...) \
  PTX2SPV_GL_LOAD(result, name, __VA_ARGS__) \
  if (!made.name && !missing) missing = "gl" #name;
  PTX2SPV_GL_FUNCTIONS(PTX2SPV_GL_NEEDED)
  PTX2SPV_GL_OTHER_FUNCTIONS(PTX2SPV_GL_LOAD)
#undef PTX2SPV_GL_LOAD
#undef PTX2SPV_GL_NEEDED
  return missing;
}

Status cannot_serve(const std::string& why) {
  return refuse(ErrorCode::unsupported,
                "the current OpenGL context cannot share its objects: " + why);
}

}  // namespace

Status Calls::begin(std::optional<Calls>& made) {
  const Address address = current_library();
  if (!address) return refuse(ErrorCode::no_device, "no OpenGL context is current to the thread");
  // Contexts of one library share its functions, but for what they answer.
  thread_local Address loaded = nullptr;
  thread_local Functions functions;
  if (loaded != address) {
    loaded = nullptr;
    if (const char* missing = load(address, functions))
      return cannot_serve(std::string(missing) + " is missing");
    loaded = address;
  }
  const char* version = functions.GetString(kVersionName);
  if (!version) return refuse(ErrorCode::no_device, "the OpenGL context does not answer");
  char* rest = nullptr;
  const long major = std::strtol(version, &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  if (major * 10 + minor < 33)
    return cannot_serve(fmt::format("it is of version '{}', and 3.3 of OpenGL is needed", version));
  made.emplace(functions);
  return {};
}

Calls::Calls(const Functions& functions)
    : gl_(functions), pending_(functions.GetError()), told_(functions.IsEnabled(kDebugOutput)) {
  (void)gl_.GetError();  // before OpenGL 4.3
  // Some questions are errors in some contexts, which is not the program's concern.
  if (told_) gl_.Disable(kDebugOutput);
}

/// Leaves no error of its own, and the program's as it was: by a call that has the same.
Calls::~Calls() {
  constexpr int kFlags = 16;  // more than there are; a context that is lost always has one
  for (int i = 0; i < kFlags && gl_.GetError(); ++i) {
  }
  switch (pending_) {
    case 0: break;
    case kInvalidEnum: gl_.Enable(~0u); break;
    case kInvalidValue: gl_.GenBuffers(-1, nullptr); break;
    case kInvalidOperation: {
      const BoundBuffer none(gl_, kCopyRead, 0);
      gl_.UnmapBuffer(kCopyRead);
      break;
    }
    default:
      std::fprintf(stderr, "ptx2spv: the program's pending OpenGL error %#x is lost\n", pending_);
  }
  if (told_) gl_.Enable(kDebugOutput);
}

Status Calls::check(const char* what) {
  const Enum error = gl_.GetError();
  if (!error) return {};
  if (error == kOutOfMemory) return refuse(ErrorCode::out_of_memory, "OpenGL has no memory left");
  return refuse(ErrorCode::internal, fmt::format("OpenGL cannot {}: error {:#x}", what, error));
}

int Calls::integer(Enum name) {
  int value = 0;
  gl_.GetIntegerv(name, &value);
  return value;
}

bool Calls::has_extension(const char* name) {
  const int count = integer(kCountExtensions);
  for (int i = 0; i < count; ++i) {
    const char* each = gl_.GetStringi(kExtensions, static_cast<unsigned>(i));
    if (each && std::strcmp(each, name) == 0) return true;
  }
  return false;
}

// Samplers belong to all contexts that share objects, and no program chooses their names. A fence
// would not do: NVIDIA's OpenGL knows those of every context.
Mark Calls::mark() {
  static std::atomic<unsigned> marks{0};
  static const unsigned process = std::random_device()();
  Mark made;
  made.border = {0x70747832, 0x73707600, process, ++marks};
  gl_.GenSamplers(1, &made.sampler);
  gl_.SamplerParameterIuiv(made.sampler, kBorder, made.border.data());
  return made;
}
bool Calls::knows(const Mark& mark) {
  Mark found;
  if (!gl_.IsSampler(mark.sampler)) return false;
  gl_.GetSamplerParameterIuiv(mark.sampler, kBorder, found.border.data());
  return found.border == mark.border;
}
void Calls::forget(const Mark& mark) { gl_.DeleteSamplers(1, &mark.sampler); }

Status Calls::buffer_bytes(unsigned name, std::size_t& bytes) {
  if (!gl_.IsBuffer(name))
    return refuse(ErrorCode::not_found, fmt::format("{} is no OpenGL buffer", name));
  const BoundBuffer bound(gl_, kCopyRead, name);
  std::int64_t size = 0;
  gl_.GetBufferParameteri64v(kCopyRead, kBufferSize, &size);
  bytes = static_cast<std::size_t>(size);
  return size > 0 ? check("tell the size of a buffer")
                  : refuse(ErrorCode::out_of_memory,
                           fmt::format("OpenGL buffer {} has no memory", name));
}

Status Calls::read(unsigned buffer, std::byte* to, std::size_t bytes) {
  const BoundBuffer bound(gl_, kCopyRead, buffer);
  gl_.GetBufferSubData(kCopyRead, 0, static_cast<std::ptrdiff_t>(bytes), to);
  return check("read a buffer");
}

Status Calls::write(unsigned buffer, const std::byte* from, std::size_t bytes) {
  const BoundBuffer bound(gl_, kCopyWrite, buffer);
  const auto size = static_cast<std::ptrdiff_t>(bytes);
  // Before OpenGL 4.4 these queries are errors and leave the values alone.
  int immutable = 0, flags = 0;
  gl_.GetBufferParameteriv(kCopyWrite, kBufferImmutable, &immutable);
  gl_.GetBufferParameteriv(kCopyWrite, kBufferFlags, &flags);
  (void)gl_.GetError();
  if (!immutable || (flags & kDynamicStorage)) {
    gl_.BufferSubData(kCopyWrite, 0, size, from);
    return check("write a buffer");
  }
  // Storage that only other buffers write to.
  unsigned between = 0;
  gl_.GenBuffers(1, &between);
  {
    const BoundBuffer source(gl_, kCopyRead, between);
    gl_.BufferData(kCopyRead, size, from, kStreamCopy);
    gl_.CopyBufferSubData(kCopyRead, kCopyWrite, 0, 0, size);
  }
  gl_.DeleteBuffers(1, &between);
  return check("write a buffer");
}

std::optional<Uuid> Calls::device_uuid() {
  constexpr Enum kCount = 0x9596, kUuid = 0x9597;
  if (!has_extension("GL_EXT_memory_object") || integer(kCount) != 1) return std::nullopt;
  Uuid uuid{};
  gl_.GetUnsignedBytei_vEXT(kUuid, 0, uuid.data());
  if (gl_.GetError()) return std::nullopt;
  return uuid;
}

}  // namespace ptx2spv::opengl
