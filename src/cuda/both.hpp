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
  return call_anywhere([&](ContextObject*) -> CUresult {
    auto event = tables().events.find(handle);
    if (!event) return fail(eInvalidResourceHandle, "no such event");
    return function(*event);
  });
}

/// Runs `function(resource)` for the object of a buffer's name, as the interface of CUDA 2 has it.
template <class F>
CUresult with_named(unsigned buffer, CUresult missing, F&& function) {
  CUgraphicsResource resource = resource_of(buffer);
  return resource ? function(resource) : keep(no_buffer(buffer, missing));
}
template <class F>
CUresult map_named(unsigned buffer, CUstream stream, CUresult missing, F&& address_of) {
  return with_named(buffer, missing, [&](CUgraphicsResource resource) {
    return IF_GOOD(PTX2SPV_CU(GraphicsMapResources)(1, &resource, stream), address_of(resource));
  });
}

template <class To, class Value>
CUresult offer(To* to, const Value& value) {
  if (to) *to = value;
  return eSuccess;
}

/// What is asked for of a stream's capture; any place may be null but the status. No edge of a
/// capture has data.
template <class Id>
CUresult capture_info_of(CUstream handle, int* status, Id* id, CUgraph* graph,
                         const CUgraphNode** nodes, const void** edges, std::size_t* count) {
  if (!status) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    CaptureInfo info;
    if (CUresult code = capture_info(*stream, info); code != eSuccess) return code;
    *status = info.status;
    if (edges) *edges = nullptr;
    return offer(id, info.id), offer(graph, info.graph), offer(nodes, info.nodes),
           offer(count, info.count);
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

template <class To, class Value>
CUresult assign(To& to, const Value& value) {
  to = value;
  return eSuccess;
}

bool known_attribute(int id) { return id == 1 || id == 3 || (id >= 8 && id <= 10); }

}  // namespace

extern "C" {

CUresult PTX2SPV_CU(StreamAddCallback)(CUstream handle, StreamCallback function, void* data,
                                       unsigned flags) {
  if (!function || flags) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    if (capturing(*stream)) return break_capture(*stream, eStreamCaptureUnsupported);
    auto callback = std::make_unique<Callback>(Callback{function, handle, data});
    return enqueue(*stream, Operation{HostOperation{{run_callback, callback.release()}}});
  });
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
    if (CUresult code = find_stream(&context, from, source); code != eSuccess) return code;
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
CUresult PTX2SPV_CU(EventRecordWithFlags)(CUevent handle, CUstream stream_handle, unsigned flags) {
  if (flags & ~1u) return keep(eInvalidValue);
  return call_in(stream_handle, [&](ContextObject&, const auto& stream) -> CUresult {
    auto event = tables().events.find(handle);
    if (!event) return fail(eInvalidResourceHandle, "no such event");
    return flags ? record_external(*stream, *event) : record(*stream, *event);
  });
}

CUresult PTX2SPV_CU(GLRegisterBufferObject)(unsigned buffer) {
  CUgraphicsResource made = nullptr;
  return resource_of(buffer) ? keep(fail(eAlreadyMapped, "the buffer is registered already"))
                             : PTX2SPV_CU(GraphicsGLRegisterBuffer)(&made, buffer, 0);
}

CUresult PTX2SPV_CU(GraphAddMemAllocNode)(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* before, std::size_t count,
                                          CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  MadeOperation made;
  made.code = call(
      [&](ContextObject& context) { return allocate_operation(context, params, made.operation); });
  return put(std::move(made), adding(node, graph, before, count));
}

}  // extern "C"

}  // namespace ptx2spv::cuda
