// Streams, captures and events.
#include <cstring>

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

namespace {

struct Callback {
  CUstreamCallback function;
  CUstream stream;
  void* data;
};

void run_callback(void* data) {
  std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, eSuccess, callback->data);
}

CUresult with_event(CUevent handle, const std::function<CUresult(EventObject&)>& function) {
  return call([&](ContextObject&) { return with(tables().events, handle, function); });
}

bool known_attribute(int id) { return id == 1 || id == 3 || (id >= 8 && id <= 10); }

/// What is asked for of a stream's capture; any place may be null but the status.
CUresult give_capture_info(CUstream handle, int* status, std::uint64_t* id, CUgraph* graph,
                           const CUgraphNode** nodes, std::size_t* count) {
  if (!status) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    CaptureInfo info;
    if (CUresult code = capture_info(*stream, info); code != eSuccess) return code;
    *status = info.status;
    if (id) *id = info.id;
    if (graph) *graph = info.graph;
    if (nodes) *nodes = info.nodes;
    if (count) *count = info.count;
    return eSuccess;
  });
}

}  // namespace

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  if (!stream) return eInvalidValue;
  return call(
      [&](ContextObject& context) { return create_stream(context, flags, priority, *stream); });
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}
CUresult cuStreamDestroy_v2(CUstream handle) {
  return call([&](ContextObject&) { return destroy_stream(handle); });
}
CUresult cuStreamDestroy(CUstream handle) { return cuStreamDestroy_v2(handle); }

CUresult cuStreamSynchronize(CUstream handle) {
  return call_in(handle, [](ContextObject&, const auto& stream) -> CUresult {
    if (CUresult code = begin_wait(*stream); code != eSuccess) return code;
    return synchronize(*stream);
  });
}
CUresult cuStreamQuery(CUstream handle) {
  return call_in(handle, [](ContextObject&, const auto& stream) -> CUresult {
    if (CUresult code = begin_wait(*stream); code != eSuccess) return code;
    return query(*stream);
  });
}
CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  if (flags & ~1u) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return with(tables().events, event, [&](EventObject& object) {
      return flags ? wait_external(*stream, object) : wait(*stream, object);
    });
  });
}
CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback function, void* data,
                             unsigned flags) {
  if (!function || flags) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    if (capturing(*stream)) return break_capture(*stream, eStreamCaptureUnsupported);
    auto callback = std::make_unique<Callback>(Callback{function, handle, data});
    return enqueue(*stream, Operation{HostOperation{{run_callback, callback.release()}}});
  });
}
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, std::size_t, unsigned flags) {
  if (flags != 1 && flags != 2 && flags != 4) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto&) -> CUresult {
    auto allocation = find_address(address);
    return allocation && allocation->use == MemoryUse::managed ? eSuccess : eInvalidValue;
  });
}

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned count, CUstreamBatchMemOpParams* list,
                               unsigned flags) {
  return call_in(handle, [&](ContextObject& context, const auto& stream) -> CUresult {
    Operation operation;
    CUresult code = batch_operation(list, count, flags, &context, operation);
    return code == eSuccess ? enqueue(*stream, std::move(operation)) : code;
  });
}
CUresult cuStreamBatchMemOp(CUstream handle, unsigned count, CUstreamBatchMemOpParams* list,
                            unsigned flags) {
  return cuStreamBatchMemOp_v2(handle, count, list, flags);
}
// Waits and writes of 32 and 64 bits are batches of one. The numbers are CUstreamBatchMemOpType.
#define PTX2SPV_WORD(name, operation, type)                                         \
  CUresult name(CUstream handle, CUdeviceptr address, type value, unsigned flags) { \
    CUstreamBatchMemOpParams one{operation, 0, address, value, flags, 0, 0};        \
    return cuStreamBatchMemOp_v2(handle, 1, &one, 0);                               \
  }
PTX2SPV_WORD(cuStreamWaitValue32, 1, std::uint32_t)
PTX2SPV_WORD(cuStreamWaitValue32_v2, 1, std::uint32_t)
PTX2SPV_WORD(cuStreamWriteValue32, 2, std::uint32_t)
PTX2SPV_WORD(cuStreamWriteValue32_v2, 2, std::uint32_t)
PTX2SPV_WORD(cuStreamWaitValue64, 4, std::uint64_t)
PTX2SPV_WORD(cuStreamWaitValue64_v2, 4, std::uint64_t)
PTX2SPV_WORD(cuStreamWriteValue64, 5, std::uint64_t)
PTX2SPV_WORD(cuStreamWriteValue64_v2, 5, std::uint64_t)
#undef PTX2SPV_WORD

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  if (!priority) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *priority = stream->priority;
    return eSuccess;
  });
}
CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  if (!flags) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *flags = stream->flags;
    return eSuccess;
  });
}
CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  if (!id) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *id = stream->id;
    return eSuccess;
  });
}
CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  if (!context) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *context = stream->context;
    return eSuccess;
  });
}
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, void** green) {
  if (green) *green = nullptr;  // a stream of a whole device's context
  return cuStreamGetCtx(handle, context);
}
CUresult cuStreamGetDevice(CUstream handle, CUdevice* ordinal) {
  if (!ordinal) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    *ordinal = stream->context->device->ordinal;
    return eSuccess;
  });
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return call_in(to, [&](ContextObject& context, const auto& target) -> CUresult {
    std::shared_ptr<StreamObject> source;
    if (CUresult code = find_stream(context, from, source); code != eSuccess) return code;
    if (source == target) return eSuccess;
    std::scoped_lock lock(source->mutex, target->mutex);
    target->attributes = source->attributes;
    return eSuccess;
  });
}
CUresult cuStreamSetAttribute(CUstream handle, int id, const void* value) {
  if (!value || !known_attribute(id)) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    std::lock_guard lock(stream->mutex);
    std::memcpy(&stream->attributes[id].value, value, 64);
    return eSuccess;
  });
}
CUresult cuStreamGetAttribute(CUstream handle, int id, void* value) {
  if (!value || !known_attribute(id)) return eInvalidValue;
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    std::lock_guard lock(stream->mutex);
    std::memcpy(value, &stream->attributes[id].value, 64);
    return eSuccess;
  });
}

// --------------------------------------------------------------------------------------- capture

CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return begin_capture(stream, mode, nullptr, {});
  });
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode* nodes,
                                     const void* edges, std::size_t count, int mode) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return begin_capture_into(stream, mode, graph, nodes, edges, count);
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  if (!graph) return eInvalidValue;
  return call_in(handle,
                 [&](ContextObject&, const auto& stream) { return end_capture(*stream, *graph); });
}

CUresult cuStreamIsCapturing(CUstream handle, int* status) {
  if (!status) return eInvalidValue;
  return call_in(
      handle, [&](ContextObject&, const auto& stream) { return capture_status(*stream, *status); });
}
CUresult cuStreamGetCaptureInfo(CUstream handle, int* status, std::uint64_t* id) {
  return give_capture_info(handle, status, id, nullptr, nullptr, nullptr);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int* status, std::uint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes, std::size_t* count) {
  return give_capture_info(handle, status, id, graph, nodes, count);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, int* status, std::uint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes, const void** edges,
                                   std::size_t* count) {
  if (edges) *edges = nullptr;  // no edge of a capture has data
  return give_capture_info(handle, status, id, graph, nodes, count);
}
CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* nodes, std::size_t count,
                                           unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(handle, nodes, nullptr, count, flags);
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* nodes,
                                              const void* edges, std::size_t count,
                                              unsigned flags) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return change_capture(*stream, nodes, edges, count, flags);
  });
}

CUresult cuThreadExchangeStreamCaptureMode(int* mode) { return exchange_capture_mode(mode); }

// ---------------------------------------------------------------------------------------- events

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  if (!event) return eInvalidValue;
  return call([&](ContextObject& context) { return create_event(context, flags, *event); });
}
CUresult cuEventDestroy_v2(CUevent handle) {
  return call([&](ContextObject&) -> CUresult {
    return tables().events.take(handle) ? eSuccess : eInvalidResourceHandle;
  });
}
CUresult cuEventDestroy(CUevent handle) { return cuEventDestroy_v2(handle); }

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned flags) {
  if (flags & ~1u) return eInvalidValue;
  return call_in(stream_handle, [&](ContextObject&, const auto& stream) -> CUresult {
    return with(tables().events, handle, [&](EventObject& object) {
      return flags ? record_external(*stream, object) : record(*stream, object);
    });
  });
}
CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return cuEventRecordWithFlags(handle, stream, 0);
}
CUresult cuEventQuery(CUevent handle) { return with_event(handle, query_event); }
CUresult cuEventSynchronize(CUevent handle) { return with_event(handle, synchronize_event); }

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  if (!milliseconds) return eInvalidValue;
  return with_event(start, [&](EventObject& first) {
    return with(tables().events, end,
                [&](EventObject& second) { return elapsed(first, second, *milliseconds); });
  });
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // extern "C"

}  // namespace ptx2spv::cuda
