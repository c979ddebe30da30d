#include "src/cuda/core/external.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "ptx2spv/vulkan.hpp"
#include "src/array/shared_memory.hpp"
#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

struct ExternalMemoryObject {
  ContextObject* context = nullptr;
  int fd = -1;
  std::uint64_t bytes = 0;
  bool dedicated = false;
  ExternalMemoryObject() = default;
  ExternalMemoryObject(const ExternalMemoryObject&) = delete;
  ExternalMemoryObject& operator=(const ExternalMemoryObject&) = delete;
  ~ExternalMemoryObject() {
    if (fd >= 0) ::close(fd);
  }
};

struct ExternalSemaphoreObject {
  ContextObject* context = nullptr;
  vulkan::ExternalSemaphore semaphore;
  bool timeline = false;
};

namespace {

// CUexternalMemoryHandleType and CUexternalSemaphoreHandleType.
constexpr int kOpaqueFd = 1, kTimelineFd = 9;
constexpr unsigned kDedicated = 1;

struct Externals {
  Table<ExternalMemoryObject> memory;
  Table<ExternalSemaphoreObject> semaphores;
};
Externals& externals() {
  static auto* all = new Externals;
  return *all;
}

/// With a descriptor of its own, which an import takes.
CUresult describe(const ExternalMemoryObject& memory, vulkan::MemoryDescriptor& made) {
  made = {::fcntl(memory.fd, F_DUPFD_CLOEXEC, 0), memory.bytes, VK_MAX_MEMORY_TYPES,
          memory.dedicated};
  return made.fd >= 0 ? eSuccess : fail(eOperatingSystem, "no descriptor is left");
}

template <class T>
CUresult take(Result<T> imported, const vulkan::MemoryDescriptor& from, std::optional<T>& made) {
  if (!imported) {
    ::close(from.fd);
    return report(imported.error());
  }
  made = std::move(*imported);
  return eSuccess;
}

CUresult import_buffer(const ExternalMemoryObject& memory, std::uint64_t offset,
                       std::uint64_t bytes, std::optional<Buffer>& made) {
  vulkan::MemoryDescriptor from;
  if (CUresult code = describe(memory, from); code != eSuccess) return code;
  return take(vulkan::import_memory(memory.context->gpu(), from, offset, bytes), from, made);
}

CUresult refuse_handle(const char* what, int type) {
  return not_supported(what, fmt::format("handles of type {}: opaque file descriptors, and of "
                                         "semaphores timelines, are known here",
                                         type)
                                 .c_str());
}

}  // namespace

CUresult import_external(ContextObject& context, CUexternalMemory* made,
                         const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
  if (!made || !desc || !desc->size || (desc->flags & ~kDedicated))
    return fail(eInvalidValue, "no memory is described");
  if (desc->type != kOpaqueFd) return refuse_handle("cuImportExternalMemory", desc->type);
  auto memory = std::make_shared<ExternalMemoryObject>();
  memory->context = &context;
  memory->bytes = desc->size;
  memory->dedicated = desc->flags & kDedicated;
  memory->fd = ::fcntl(desc->handle.fd, F_DUPFD_CLOEXEC, 0);
  if (memory->fd < 0) return fail(eInvalidValue, "the file descriptor is not open");
  // What is dedicated to an image is known when that is mapped; the rest is tried as a buffer.
  if (!memory->dedicated) {
    std::optional<Buffer> trial;
    if (CUresult code = import_buffer(*memory, 0, memory->bytes, trial); code != eSuccess)
      return code;
  }
  ::close(desc->handle.fd);
  *made = externals().memory.add(std::move(memory));
  return eSuccess;
}

CUresult destroy_external(CUexternalMemory memory) {
  return externals().memory.take(memory) ? eSuccess
                                         : fail(eInvalidResourceHandle, "no such memory");
}

CUresult map_external(CUexternalMemory handle, CUdeviceptr* address,
                      const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* desc) {
  const auto memory = externals().memory.find(handle);
  if (!memory) return fail(eInvalidResourceHandle, "no such memory");
  if (!address || !desc || desc->flags) return fail(eInvalidValue, "no buffer is described");
  std::optional<Buffer> buffer;
  CUresult code = import_buffer(*memory, desc->offset, desc->size, buffer);
  if (code != eSuccess) return code;
  auto allocation = std::make_shared<Allocation>();
  allocation->address = buffer->address();
  allocation->bytes = desc->size;
  allocation->context = memory->context;
  allocation->id = next_id();
  buffer->set_name(fmt::format("a buffer of external memory at {}", desc->offset));
  allocation->buffer = std::move(*buffer);
  if (!add_mapped(allocation)) return fail(eUnknown, "the device gave out an address in use");
  *address = allocation->address;
  return eSuccess;
}

CUresult map_external(CUexternalMemory handle, CUmipmappedArray* mipmap,
                      const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* desc) {
  const auto memory = externals().memory.find(handle);
  if (!memory) return fail(eInvalidResourceHandle, "no such memory");
  if (!mipmap || !desc || !desc->numLevels) return fail(eInvalidValue, "no array is described");
  vulkan::MemoryDescriptor from;
  if (CUresult code = describe(*memory, from); code != eSuccess) return code;
  // An array of CUDA's own is no attachment.
  CUDA_ARRAY3D_DESCRIPTOR own = desc->arrayDesc;
  own.Flags &= ~kArrayColour;
  const bool cube = own.Flags & kArrayCubemap;
  const CUresult code = create_mipmap(
      *memory->context, own, desc->numLevels,
      [&](const ArrayDesc& array) {
        return runtime::import_image(memory->context->gpu(), from, array, desc->offset, cube);
      },
      *mipmap);
  if (code != eSuccess)
    ::close(from.fd);
  else
    (*mipmap)->desc.Flags = desc->arrayDesc.Flags;
  return code;
}

CUresult import_external(ContextObject& context, CUexternalSemaphore* made,
                         const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
  if (!made || !desc || desc->flags) return fail(eInvalidValue, "no semaphore is described");
  if (desc->type != kOpaqueFd && desc->type != kTimelineFd)
    return refuse_handle("cuImportExternalSemaphore", desc->type);
  const bool timeline = desc->type == kTimelineFd;
  auto imported = vulkan::ExternalSemaphore::import(context.gpu(), desc->handle.fd, timeline);
  if (!imported) return report(imported.error());
  *made = externals().semaphores.add(std::make_shared<ExternalSemaphoreObject>(
      ExternalSemaphoreObject{&context, std::move(*imported), timeline}));
  return eSuccess;
}

CUresult destroy_external(CUexternalSemaphore semaphore) {
  return externals().semaphores.take(semaphore) ? eSuccess
                                                : fail(eInvalidResourceHandle, "no such semaphore");
}

CUresult semaphore_operation(const CUDA_EXT_SEM_NODE_PARAMS* params, bool waits, Operation& made) {
  if (!params || (params->numExtSems && (!params->extSemArray || !params->paramsArray)))
    return fail(eInvalidValue, "no semaphores are listed");
  SemaphoreOperation operation;
  operation.waits = waits;
  for (unsigned i = 0; i < params->numExtSems; ++i) {
    auto object = externals().semaphores.find(params->extSemArray[i]);
    if (!object) return fail(eInvalidResourceHandle, "no such semaphore");
    if (params->paramsArray[i].flags)
      return fail(eInvalidValue, "flags of a semaphore of another kind");
    operation.list.push_back(params->extSemArray[i]);
    operation.params.push_back(params->paramsArray[i]);
    operation.held.push_back(std::move(object));
  }
  made.what = std::move(operation);
  return eSuccess;
}

CUresult use_semaphores(StreamObject& stream, const CUexternalSemaphore* list, const void* params,
                        unsigned count, bool waits, std::size_t stride, std::size_t flags) {
  if (count && (!list || !params)) return fail(eInvalidValue, "no semaphores are listed");
  std::vector<CUDA_EXTERNAL_SEMAPHORE_PARAMS> read(count);
  const auto* from = static_cast<const std::byte*>(params);
  for (unsigned i = 0; i < count; ++i, from += stride) {
    std::memcpy(&read[i].value, from, sizeof read[i].value);
    std::memcpy(&read[i].flags, from + flags, sizeof read[i].flags);
  }
  const CUDA_EXT_SEM_NODE_PARAMS all{const_cast<CUexternalSemaphore*>(list), read.data(), count};
  Operation operation;
  CUresult code = semaphore_operation(&all, waits, operation);
  return code == eSuccess ? enqueue(stream, std::move(operation)) : code;
}

CUresult run_semaphores(StreamObject& stream, const SemaphoreOperation& operation) {
  std::vector<vulkan::SemaphoreValue> all;
  for (std::size_t i = 0; i < operation.held.size(); ++i) {
    const ExternalSemaphoreObject& each = *operation.held[i];
    if (each.context->device != stream.context->device)
      return fail(eInvalidResourceHandle, "a semaphore is of another device");
    all.push_back(each.semaphore.at(each.timeline ? operation.params[i].value : 0));
  }
  Stream* opened = nullptr;
  if (CUresult code = open_stream(stream, opened); code != eSuccess) return code;
  mark_dirty(stream.shared_from_this());
  const Status status = operation.waits ? vulkan::wait(*opened, all) : vulkan::signal(*opened, all);
  return status ? eSuccess : report(status.error());
}

void forget_externals(const ContextObject& context) {
  const auto mine = [&](const auto& each) { return each.context == &context; };
  externals().memory.take_if(mine);
  externals().semaphores.take_if(mine);
}

}  // namespace ptx2spv::cuda
