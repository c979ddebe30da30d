// What streams do with words of memory: cuStreamWriteValue, cuStreamWaitValue and batches of them.
// The host does it, in the stream's own thread and order: it writes, or looks at a word until that
// has its value.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

namespace {

/// CUstreamBatchMemOpType.
enum : int { kWait32 = 1, kWrite32 = 2, kFlush = 3, kWait64 = 4, kWrite64 = 5, kBarrier = 6 };
/// CUstreamWaitValue_flags: how the word and the value are compared.
enum : unsigned { kAtLeast = 0, kEqual = 1, kAnd = 2, kNor = 3 };

bool is_wait(int operation) { return operation == kWait32 || operation == kWait64; }
std::size_t word_bytes(int operation) {
  return operation == kWait64 || operation == kWrite64 ? 8 : 4;
}

/// Where a word is. Memory that the host reaches is read and written in place.
struct Word {
  std::shared_ptr<Allocation> memory;
  std::uint64_t offset = 0;
  std::size_t bytes = 4;
  std::byte* host() const {
    if (memory->host) return memory->host + offset;
    if (!memory->buffer) return reinterpret_cast<std::byte*>(memory->address + offset);  // NOLINT
    std::byte* mapped = memory->buffer ? memory->buffer->mapped() : nullptr;
    return mapped ? mapped + offset : nullptr;
  }
};

CUresult find_word(CUdeviceptr address, std::size_t bytes, Word& word) {
  if (address % bytes)
    return fail(eInvalidValue, fmt::format("{:#x} is no multiple of {}", address, bytes));
  const Place place = find_place(address);
  if (!place.allocation || bytes > place.allocation->bytes - place.offset)
    return fail(eInvalidValue, fmt::format("{:#x} is no address of memory", address));
  word = {place.allocation, place.offset, bytes};
  return eSuccess;
}

template <class T>
std::atomic_ref<T> in_place(std::byte* at) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(at));
}

CUresult read(const Word& word, std::uint64_t& value) {
  value = 0;
  if (std::byte* at = word.host()) {
    value =
        word.bytes == 8 ? in_place<std::uint64_t>(at).load() : in_place<std::uint32_t>(at).load();
    return eSuccess;
  }
  const std::span bytes(reinterpret_cast<std::byte*>(&value), word.bytes);
  Status status = word.memory->buffer->download(word.offset, bytes);
  return status ? eSuccess : report(status.error());
}

CUresult write(const Word& word, std::uint64_t value) {
  if (std::byte* at = word.host()) {
    if (word.bytes == 8)
      in_place<std::uint64_t>(at).store(value);
    else
      in_place<std::uint32_t>(at).store(static_cast<std::uint32_t>(value));
    return eSuccess;
  }
  const std::span bytes(reinterpret_cast<const std::byte*>(&value), word.bytes);
  Status status = word.memory->buffer->upload(word.offset, bytes);
  return status ? eSuccess : report(status.error());
}

template <class T>
bool is_met(T word, T value, unsigned how) {
  switch (how & 3) {
    case kAtLeast: return static_cast<std::make_signed_t<T>>(word - value) >= 0;
    case kEqual: return word == value;
    case kAnd: return (word & value) != 0;
    default: return static_cast<T>(~(word | value)) != 0;
  }
}

bool is_met(const CUstreamBatchMemOpParams& wait, std::uint64_t word) {
  if (wait.operation == kWait64) return is_met(word, wait.value, wait.flags);
  return is_met(static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(wait.value),
                wait.flags);
}

/// Looks often at first, then every millisecond. As in a host function, the process may end
/// meanwhile; a launch that trapped ends the wait.
CUresult wait_for_word(const ContextObject& context, const CUstreamBatchMemOpParams& wait,
                       const Word& word) {
  std::chrono::microseconds pause{20};
  while (true) {
    std::uint64_t value = 0;
    if (CUresult code = read(word, value); code != eSuccess) return code;
    if (is_met(wait, value)) return eSuccess;
    if (const int sticky = context.sticky.load()) return static_cast<CUresult>(sticky);
    call_host(
        [](void* time) {
          std::this_thread::sleep_for(*static_cast<std::chrono::microseconds*>(time));
        },
        &pause);
    pause = std::min(pause * 2, std::chrono::microseconds{1000});
  }
}

CUresult check_operation(const CUstreamBatchMemOpParams& each) {
  constexpr unsigned kFlushAfter = 1u << 30;
  switch (each.operation) {
    case kBarrier:
      return each.barrier_flags > 1 ? fail(eInvalidValue, "unknown flags of a barrier") : eSuccess;
    case kFlush: return not_supported("a flush of remote writes", "no other device writes here");
    case kWait32:
    case kWait64:
      if (each.flags & ~(3u | kFlushAfter)) return fail(eInvalidValue, "unknown flags of a wait");
      if (each.flags & kFlushAfter)
        return not_supported("a flush of remote writes", "no other device writes here");
      break;
    case kWrite32:
    case kWrite64:
      if (each.flags) return fail(eInvalidValue, "unknown flags of a write");
      break;
    default:
      return fail(eInvalidValue, fmt::format("a stream has no operation {}", each.operation));
  }
  Word word;
  return find_word(each.address, word_bytes(each.operation), word);
}

}  // namespace

CUresult batch_operation(const CUstreamBatchMemOpParams* list, unsigned count, unsigned flags,
                         CUcontext context, Operation& made) {
  constexpr unsigned kMost = 256;
  if ((!list && count) || flags) return fail(eInvalidValue, "no operations, or unknown flags");
  if (count > kMost)
    return fail(eInvalidValue, fmt::format("a batch has at most {} operations", kMost));
  for (unsigned i = 0; i < count; ++i)
    if (CUresult code = check_operation(list[i]); code != eSuccess) return code;
  made.what = BatchOperation{{list, list + count}, context, flags};
  return eSuccess;
}

CUresult batch_node_operation(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params, Operation& made) {
  if (!params) return fail(eInvalidValue, "no parameters of a node");
  if (!tables().contexts.has(params->ctx)) return fail(eInvalidValue, "no such context");
  return batch_operation(params->paramArray, params->count, params->flags, params->ctx, made);
}

CUresult run_batch(StreamObject& stream, const BatchOperation& operation) {
  if (CUresult code = settle_before_host(stream); code != eSuccess) return code;
  for (const CUstreamBatchMemOpParams& each : operation.list) {
    if (each.operation == kBarrier) continue;  // what came before is over
    Word word;
    if (CUresult code = find_word(each.address, word_bytes(each.operation), word); code != eSuccess)
      return code;
    const CUresult code = is_wait(each.operation) ? wait_for_word(*stream.context, each, word)
                                                  : write(word, each.value);
    if (code != eSuccess) return code;
  }
  return eSuccess;
}

}  // namespace ptx2spv::cuda
