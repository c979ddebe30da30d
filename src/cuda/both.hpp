// Functions that both interfaces have, compiled into each of them: PTX2SPV_CU(StreamQuery) is
// cudaStreamQuery and cuStreamQuery. Failures go through keep(), for cudaGetLastError.
#pragma once

#include <cstring>

#include "src/cuda/core/external.hpp"
#include "src/cuda/core/graphics.hpp"

namespace ptx2spv::cuda {

namespace {

using StreamCallback = void (*)(CUstream stream, CUresult status, void* data);

CUresult with_event(CUevent handle, const std::function<CUresult(EventObject&)>& function) {
  return call([&](ContextObject&) -> CUresult {
    auto event = tables().events.find(handle);
    if (!event) return fail(eInvalidResourceHandle, "no such event");
    return function(*event);
  });
}

struct Callback {
  StreamCallback function;
  CUstream stream;
  void* data;
};

void run_callback(void* data) {
  std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, eSuccess, callback->data);
}

bool known_attribute(int id) { return id == 1 || id == 3 || (id >= 8 && id <= 10); }

}  // namespace

extern "C" {

CUresult PTX2SPV_CU(DriverGetVersion)(int* version) {
  if (!version) return keep(eInvalidValue);
  *version = kVersion;
  return eSuccess;
}
CUresult PTX2SPV_CU(ProfilerStart)() { return eSuccess; }
CUresult PTX2SPV_CU(ProfilerStop)() { return eSuccess; }

CUresult PTX2SPV_BOTH(cudaMemGetInfo, cuMemGetInfo_v2)(std::size_t* free, std::size_t* total) {
  return call([&](ContextObject& context) { return memory_info(context, free, total); });
}
CUresult PTX2SPV_CU(MemPoolDestroy)(CUmemoryPool pool) { return keep(destroy_pool(pool)); }
CUresult PTX2SPV_CU(MemPoolTrimTo)(CUmemoryPool pool, std::size_t) { return keep(trim_pool(pool)); }
CUresult PTX2SPV_CU(MemPoolSetAttribute)(CUmemoryPool pool, int attribute, void* value) {
  return keep(set_pool_attribute(pool, attribute, value));
}
CUresult PTX2SPV_CU(MemPoolGetAttribute)(CUmemoryPool pool, int attribute, void* value) {
  return keep(pool_attribute(pool, attribute, value));
}

CUresult PTX2SPV_CU(LibraryUnload)(CUlibrary library) { return keep(unload_library(library)); }
CUresult PTX2SPV_CU(LibraryGetKernel)(CUkernel* kernel, CUlibrary library, const char* name) {
  return call(
      [&](ContextObject& context) { return library_kernel(context, library, name, kernel); });
}
CUresult PTX2SPV_CU(LibraryGetKernelCount)(unsigned* count, CUlibrary library) {
  return call([&](ContextObject& context) { return count_kernels(context, library, count); });
}
CUresult PTX2SPV_CU(LibraryEnumerateKernels)(CUkernel* kernels, unsigned count, CUlibrary library) {
  return call(
      [&](ContextObject& context) { return list_kernels(context, library, kernels, count); });
}
CUresult PTX2SPV_CU(LaunchHostFunc)(CUstream handle, CUhostFn function, void* data) {
  if (!function) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return enqueue(*stream, Operation{HostOperation{{function, data}}});
  });
}

CUresult PTX2SPV_CU(StreamCreateWithPriority)(CUstream* stream, unsigned flags, int priority) {
  if (!stream) return keep(eInvalidValue);
  return call(
      [&](ContextObject& context) { return create_stream(context, flags, priority, *stream); });
}
CUresult PTX2SPV_BOTH(cudaStreamDestroy, cuStreamDestroy_v2)(CUstream handle) {
  return call([&](ContextObject&) { return destroy_stream(handle); });
}
CUresult PTX2SPV_CU(StreamSynchronize)(CUstream handle) {
  return call_in(handle, [](ContextObject&, const auto& stream) -> CUresult {
    if (CUresult code = begin_wait(*stream); code != eSuccess) return code;
    return synchronize(*stream);
  });
}
CUresult PTX2SPV_CU(StreamQuery)(CUstream handle) {
  return call_in(handle, [](ContextObject&, const auto& stream) -> CUresult {
    if (CUresult code = begin_wait(*stream); code != eSuccess) return code;
    return query(*stream);
  });
}
CUresult PTX2SPV_CU(StreamGetPriority)(CUstream handle, int* priority) {
  if (!priority) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *priority = stream->priority;
    return eSuccess;
  });
}
CUresult PTX2SPV_CU(StreamGetFlags)(CUstream handle, unsigned* flags) {
  if (!flags) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *flags = stream->flags;
    return eSuccess;
  });
}
CUresult PTX2SPV_CU(StreamGetId)(CUstream handle, unsigned long long* id) {
  if (!id) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *id = stream->id;
    return eSuccess;
  });
}
CUresult PTX2SPV_CU(StreamAddCallback)(CUstream handle, StreamCallback function, void* data,
                                       unsigned flags) {
  if (!function || flags) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    if (capturing(*stream)) return break_capture(*stream, eStreamCaptureUnsupported);
    auto callback = std::make_unique<Callback>(Callback{function, handle, data});
    return enqueue(*stream, Operation{HostOperation{{run_callback, callback.release()}}});
  });
}
CUresult PTX2SPV_CU(StreamGetDevice)(CUstream handle, int* ordinal) {
  if (!ordinal) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *ordinal = stream->context->device->ordinal;
    return eSuccess;
  });
}
CUresult PTX2SPV_CU(EventQuery)(CUevent handle) { return with_event(handle, query_event); }
CUresult PTX2SPV_CU(EventSynchronize)(CUevent handle) {
  return with_event(handle, synchronize_event);
}
CUresult PTX2SPV_CU(StreamWaitEvent)(CUstream handle, CUevent event, unsigned flags) {
  if (flags & ~1u) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    auto found = tables().events.find(event);
    if (!found) return fail(eInvalidResourceHandle, "no such event");
    return flags ? wait_external(*stream, *found) : wait(*stream, *found);
  });
}
CUresult PTX2SPV_CU(StreamCopyAttributes)(CUstream to, CUstream from) {
  return call_in(to, [&](ContextObject& context, const auto& target) -> CUresult {
    std::shared_ptr<StreamObject> source;
    if (CUresult code = find_stream(context, from, source); code != eSuccess) return code;
    if (source != target) {
      std::scoped_lock lock(source->mutex, target->mutex);
      target->attributes = source->attributes;
    }
    return eSuccess;
  });
}
CUresult PTX2SPV_CU(StreamSetAttribute)(CUstream handle, int id, const void* value) {
  if (!value || !known_attribute(id)) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    std::lock_guard lock(stream->mutex);
    std::memcpy(&stream->attributes[id].value, value, kAttributeBytes);
    return eSuccess;
  });
}
CUresult PTX2SPV_CU(StreamGetAttribute)(CUstream handle, int id, void* value) {
  if (!value || !known_attribute(id)) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    std::lock_guard lock(stream->mutex);
    std::memcpy(value, &stream->attributes[id].value, kAttributeBytes);
    return eSuccess;
  });
}
CUresult PTX2SPV_BOTH(cudaEventDestroy, cuEventDestroy_v2)(CUevent handle) {
  return call([&](ContextObject&) -> CUresult {
    return tables().events.take(handle) ? eSuccess : fail(eInvalidResourceHandle, "no such event");
  });
}
CUresult PTX2SPV_CU(EventRecord)(CUevent handle, CUstream stream) {
  return PTX2SPV_CU(EventRecordWithFlags)(handle, stream, 0);
}
CUresult PTX2SPV_CU(EventRecordWithFlags)(CUevent handle, CUstream stream_handle, unsigned flags) {
  if (flags & ~1u) return keep(eInvalidValue);
  return call_in(stream_handle, [&](ContextObject&, const auto& stream) -> CUresult {
    auto event = tables().events.find(handle);
    if (!event) return fail(eInvalidResourceHandle, "no such event");
    return flags ? record_external(*stream, *event) : record(*stream, *event);
  });
}
CUresult PTX2SPV_BOTH(cudaEventElapsedTime, cuEventElapsedTime_v2)(float* milliseconds,
                                                                   CUevent start, CUevent end) {
  if (!milliseconds) return keep(eInvalidValue);
  return with_event(start, [&](EventObject& first) -> CUresult {
    auto second = tables().events.find(end);
    if (!second) return fail(eInvalidResourceHandle, "no such event");
    return elapsed(first, *second, *milliseconds);
  });
}

CUresult PTX2SPV_BOTH(cudaStreamBeginCapture, cuStreamBeginCapture_v2)(CUstream handle, int mode) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return begin_capture(stream, mode, nullptr, {});
  });
}
CUresult PTX2SPV_CU(StreamBeginCaptureToGraph)(CUstream handle, CUgraph graph,
                                               const CUgraphNode* nodes, const void* edges,
                                               std::size_t count, int mode) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return begin_capture_into(stream, mode, graph, nodes, edges, count);
  });
}
CUresult PTX2SPV_CU(StreamEndCapture)(CUstream handle, CUgraph* graph) {
  if (!graph) return keep(eInvalidValue);
  return call_in(handle,
                 [&](ContextObject&, const auto& stream) { return end_capture(*stream, *graph); });
}
CUresult PTX2SPV_CU(ThreadExchangeStreamCaptureMode)(int* mode) {
  return keep(exchange_capture_mode(mode));
}

CUresult PTX2SPV_CU(ImportExternalMemory)(CUexternalMemory* made,
                                          const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
  return call([&](ContextObject& context) { return import_external(context, made, desc); });
}
CUresult PTX2SPV_CU(DestroyExternalMemory)(CUexternalMemory memory) {
  return call([&](ContextObject&) { return destroy_external(memory); });
}
CUresult PTX2SPV_CU(ImportExternalSemaphore)(CUexternalSemaphore* made,
                                             const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
  return call([&](ContextObject& context) { return import_external(context, made, desc); });
}
CUresult PTX2SPV_CU(DestroyExternalSemaphore)(CUexternalSemaphore semaphore) {
  return call([&](ContextObject&) { return destroy_external(semaphore); });
}

CUresult PTX2SPV_CU(GraphicsGLRegisterBuffer)(CUgraphicsResource* made, unsigned buffer,
                                              unsigned flags) {
  return call(
      [&](ContextObject& context) { return register_buffer(context, made, buffer, flags); });
}
CUresult PTX2SPV_CU(GraphicsGLRegisterImage)(CUgraphicsResource* made, unsigned image,
                                             unsigned target, unsigned flags) {
  return call(
      [&](ContextObject& context) { return register_image(context, made, image, target, flags); });
}
CUresult PTX2SPV_CU(GraphicsUnregisterResource)(CUgraphicsResource resource) {
  return call([&](ContextObject& context) { return unregister(context, resource); });
}
CUresult PTX2SPV_BOTH(cudaGraphicsResourceSetMapFlags,
                      cuGraphicsResourceSetMapFlags_v2)(CUgraphicsResource resource,
                                                        unsigned flags) {
  return call([&](ContextObject&) { return set_map_flags(resource, flags); });
}
CUresult PTX2SPV_CU(GraphicsSubResourceGetMappedArray)(CUarray* array, CUgraphicsResource resource,
                                                       unsigned layer, unsigned level) {
  return call([&](ContextObject&) { return mapped_array(resource, layer, level, array); });
}
CUresult PTX2SPV_CU(GraphicsResourceGetMappedMipmappedArray)(CUmipmappedArray* mipmap,
                                                             CUgraphicsResource resource) {
  return call([&](ContextObject&) { return mapped_mipmap(resource, mipmap); });
}
CUresult PTX2SPV_CU(GLRegisterBufferObject)(unsigned buffer) {
  CUgraphicsResource made = nullptr;
  return resource_of(buffer) ? keep(fail(eAlreadyMapped, "the buffer is registered already"))
                             : PTX2SPV_CU(GraphicsGLRegisterBuffer)(&made, buffer, 0);
}
CUresult PTX2SPV_CU(GLUnregisterBufferObject)(unsigned buffer) {
  CUgraphicsResource resource = resource_of(buffer);
  return resource ? PTX2SPV_CU(GraphicsUnregisterResource)(resource)
                  : keep(no_buffer(buffer, eInvalidValue));
}

}  // extern "C"

}  // namespace ptx2spv::cuda
