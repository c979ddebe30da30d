// Streams and events.
#include <algorithm>
#include <cstring>

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

namespace {

CUresult with_event(CUevent handle, const std::function<CUresult(EventObject&)>& function) {
  return call([&](ContextObject&) -> CUresult {
    auto event = tables().events.find(handle);
    if (!event) return fail(eInvalidResourceHandle, "no such event");
    return function(*event);
  });
}

struct Callback {
  cudaStreamCallback function;
  CUstream stream;
  void* data;
};

void run_callback(void* data) {
  std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, eSuccess, callback->data);
}

}  // namespace

extern "C" {

CUresult cudaStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  if (!stream) return keep(eInvalidValue);
  return call(
      [&](ContextObject& context) { return create_stream(context, flags, priority, *stream); });
}

CUresult cudaStreamCreateWithFlags(CUstream* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

CUresult cudaStreamCreate(CUstream* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

CUresult cudaStreamDestroy(CUstream handle) {
  return call([&](ContextObject&) { return destroy_stream(handle); });
}

CUresult cudaStreamSynchronize(CUstream handle) {
  return call_in(handle, [](ContextObject&, const auto& stream) -> CUresult {
    if (CUresult code = begin_wait(*stream); code != eSuccess) return code;
    return synchronize(*stream);
  });
}

CUresult cudaStreamQuery(CUstream handle) {
  return call_in(handle, [](ContextObject&, const auto& stream) -> CUresult {
    if (CUresult code = begin_wait(*stream); code != eSuccess) return code;
    return query(*stream);
  });
}

CUresult cudaStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  if (flags & ~1u) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    auto found = tables().events.find(event);
    if (!found) return fail(eInvalidResourceHandle, "no such event");
    return flags ? wait_external(*stream, *found) : wait(*stream, *found);
  });
}

CUresult cudaStreamAddCallback(CUstream handle, cudaStreamCallback function, void* data,
                               unsigned flags) {
  if (!function || flags) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    if (capturing(*stream)) return break_capture(*stream, eStreamCaptureUnsupported);
    auto callback = std::make_unique<Callback>(Callback{function, handle, data});
    return enqueue(*stream, Operation{HostOperation{{run_callback, callback.release()}}});
  });
}

CUresult cudaStreamAttachMemAsync(CUstream handle, void* pointer, std::size_t bytes,
                                  unsigned flags) {
  if (flags != 1 && flags != 2 && flags != 4) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject& context, const auto& stream) -> CUresult {
    constexpr unsigned kSingle = 4;
    auto allocation = find_address(reinterpret_cast<CUdeviceptr>(pointer));
    if (flags == kSingle && stream == context.legacy)
      return fail(eInvalidValue, "memory is not attached to the legacy stream");
    if (allocation && bytes && bytes != allocation->bytes)
      return fail(eInvalidValue, "a part of the memory is not attached");
    if (!pointer) return fail(eInvalidValue, "a null pointer is no managed memory");
    if (allocation ? allocation->use != MemoryUse::managed && allocation->use != MemoryUse::variable
                   : !context.device->shared_addresses)
      return fail(eInvalidValue, "the memory is not managed");
    return eSuccess;
  });
}

CUresult cudaStreamGetPriority(CUstream handle, int* priority) {
  if (!priority) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *priority = stream->priority;
    return eSuccess;
  });
}

CUresult cudaStreamGetFlags(CUstream handle, unsigned* flags) {
  if (!flags) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *flags = stream->flags;
    return eSuccess;
  });
}

CUresult cudaStreamGetId(CUstream handle, unsigned long long* id) {
  if (!id) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *id = stream->id;
    return eSuccess;
  });
}

CUresult cudaStreamGetDevice(CUstream handle, int* ordinal) {
  if (!ordinal) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *ordinal = stream->context->device->ordinal;
    return eSuccess;
  });
}

CUresult cudaStreamCopyAttributes(CUstream to, CUstream from) {
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

CUresult cudaStreamSetAttribute(CUstream handle, int id, const void* value) {
  if (!value || (id != 1 && id != 3 && id != 8 && id != 9 && id != 10)) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    std::lock_guard lock(stream->mutex);
    std::memcpy(&stream->attributes[id].value, value, kAttributeBytes);
    return eSuccess;
  });
}

CUresult cudaStreamGetAttribute(CUstream handle, int id, void* value) {
  if (!value || (id != 1 && id != 3 && id != 8 && id != 9 && id != 10)) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    std::lock_guard lock(stream->mutex);
    std::memcpy(value, &stream->attributes[id].value, kAttributeBytes);
    return eSuccess;
  });
}

CUresult cudaEventCreateWithFlags(CUevent* event, unsigned flags) {
  if (!event) return keep(eInvalidValue);
  return call([&](ContextObject& context) { return create_event(context, flags, *event); });
}

CUresult cudaEventCreate(CUevent* event) { return cudaEventCreateWithFlags(event, 0); }

CUresult cudaEventDestroy(CUevent handle) {
  return call([&](ContextObject&) -> CUresult {
    return tables().events.take(handle) ? eSuccess : fail(eInvalidResourceHandle, "no such event");
  });
}

CUresult cudaEventRecord(CUevent handle, CUstream stream) {
  return cudaEventRecordWithFlags(handle, stream, 0);
}

CUresult cudaEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned flags) {
  if (flags & ~1u) return keep(eInvalidValue);
  return call_in(stream_handle, [&](ContextObject&, const auto& stream) -> CUresult {
    auto event = tables().events.find(handle);
    if (!event) return fail(eInvalidResourceHandle, "no such event");
    return flags ? record_external(*stream, *event) : record(*stream, *event);
  });
}

CUresult cudaEventQuery(CUevent handle) { return with_event(handle, query_event); }
CUresult cudaEventSynchronize(CUevent handle) { return with_event(handle, synchronize_event); }

CUresult cudaEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  if (!milliseconds) return keep(eInvalidValue);
  return with_event(start, [&](EventObject& first) -> CUresult {
    auto second = tables().events.find(end);
    if (!second) return fail(eInvalidResourceHandle, "no such event");
    return elapsed(first, *second, *milliseconds);
  });
}
PTX2SPV_IF_12(CUresult cudaEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return cudaEventElapsedTime(milliseconds, start, end);
})

}  // extern "C"

}  // namespace ptx2spv::cuda
