// What functions of both interfaces are made of: parameter lists out of the tables' lists of types,
// calls in a context and in a stream, variants and refusals.
#pragma once

#include "src/cuda/core/core.hpp"
#include "src/cuda/core/graph.hpp"
#include "src/cuda/core/trace.hpp"

#define PTX2SPV_EXPORT __attribute__((visibility("default")))

#define PTX2SPV_PARAMS_0()
#define PTX2SPV_PARAMS_1(A) A a
#define PTX2SPV_PARAMS_2(A, B) A a, B b
#define PTX2SPV_PARAMS_3(A, B, C) A a, B b, C c
#define PTX2SPV_PARAMS_4(A, B, C, D) A a, B b, C c, D d
#define PTX2SPV_PARAMS_5(A, B, C, D, E) A a, B b, C c, D d, E e
#define PTX2SPV_PARAMS_6(A, B, C, D, E, F) A a, B b, C c, D d, E e, F f
#define PTX2SPV_PARAMS_7(A, B, C, D, E, F, G) A a, B b, C c, D d, E e, F f, G g
#define PTX2SPV_PARAMS_8(A, B, C, D, E, F, G, H) A a, B b, C c, D d, E e, F f, G g, H h
#define PTX2SPV_PARAMS_9(A, B, C, D, E, F, G, H, I) A a, B b, C c, D d, E e, F f, G g, H h, I i
#define PTX2SPV_PARAMS_11(A, B, C, D, E, F, G, H, I, J, K) \
  A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k
#define PTX2SPV_PARAMS_10(A, B, C, D, E, F, G, H, I, J) \
  A a, B b, C c, D d, E e, F f, G g, H h, I i, J j

#define PTX2SPV_ARGS_0
#define PTX2SPV_ARGS_1 a
#define PTX2SPV_ARGS_2 a, b
#define PTX2SPV_ARGS_3 a, b, c
#define PTX2SPV_ARGS_4 a, b, c, d
#define PTX2SPV_ARGS_5 a, b, c, d, e
#define PTX2SPV_ARGS_6 a, b, c, d, e, f
#define PTX2SPV_ARGS_7 a, b, c, d, e, f, g
#define PTX2SPV_ARGS_8 a, b, c, d, e, f, g, h
#define PTX2SPV_ARGS_9 a, b, c, d, e, f, g, h, i
#define PTX2SPV_ARGS_10 a, b, c, d, e, f, g, h, i, j
#define PTX2SPV_ARGS_11 a, b, c, d, e, f, g, h, i, j, k

// A function of a table has two symbols: `name` does the work, for the others of the library, too,
// by a symbol that nobody else sees; traced_name is what programs call by that name.
#define PTX2SPV_DECLARE(name, count, ...)                                       \
  CUresult name(PTX2SPV_PARAMS_##count(__VA_ARGS__)) __asm__("ptx2spv_" #name); \
  PTX2SPV_EXPORT CUresult traced_##name(PTX2SPV_PARAMS_##count(__VA_ARGS__)) __asm__(#name);
#define PTX2SPV_TRACED(which, name, count, ...)                                                 \
  CUresult traced_##name(PTX2SPV_PARAMS_##count(__VA_ARGS__)) {                                 \
    const NamedCall named(#name, which);                                                        \
    const auto work = [&] { return name(PTX2SPV_ARGS_##count); };                               \
    return tracing() ? trace_call(#name, which, std::tie(PTX2SPV_ARGS_##count), work) : work(); \
  }

// Variants for per-thread streams.
#define PTX2SPV_VARIANT_none(name, count, ...)
#define PTX2SPV_VARIANT_ptsz(name, count, ...)                               \
  PTX2SPV_EXPORT CUresult name##_ptsz(PTX2SPV_PARAMS_##count(__VA_ARGS__)) { \
    PerThread scope;                                                         \
    return traced_##name(PTX2SPV_ARGS_##count);                              \
  }
#define PTX2SPV_VARIANT_ptds(name, count, ...)                               \
  PTX2SPV_EXPORT CUresult name##_ptds(PTX2SPV_PARAMS_##count(__VA_ARGS__)) { \
    PerThread scope;                                                         \
    return traced_##name(PTX2SPV_ARGS_##count);                              \
  }
// Of functions that are not supported, by each interface's PTX2SPV_REFUSE.
#define PTX2SPV_REFUSE_none(name, reason) PTX2SPV_REFUSE(name, reason)
#define PTX2SPV_REFUSE_ptsz(name, reason) \
  PTX2SPV_REFUSE(name, reason) PTX2SPV_REFUSE(name##_ptsz, reason)
#define PTX2SPV_REFUSE_ptds(name, reason) \
  PTX2SPV_REFUSE(name, reason) PTX2SPV_REFUSE(name##_ptds, reason)

// What rows of those tables say that a function does: the value of an expression, in the current
// context, in another one where none is, without any, after cuInit, or also in the stream of a
// handle, of an object that a function finds, with a wait for what it enqueues, or unless the first
// one fails.
#define IN_CONTEXT(...) \
  call([&]([[maybe_unused]] ContextObject& context) -> CUresult { return __VA_ARGS__; })
#define IN_ANY_CONTEXT(...) \
  call_in_any([&]([[maybe_unused]] ContextObject& context) -> CUresult { return __VA_ARGS__; })
#define ANYWHERE(...) \
  call_anywhere([&]([[maybe_unused]] ContextObject* context) -> CUresult { return __VA_ARGS__; })
#define IN_STREAM(handle, ...)                         \
  call_in(handle,                                      \
          [&]([[maybe_unused]] ContextObject& context, \
              [[maybe_unused]] const auto& stream) -> CUresult { return __VA_ARGS__; })
#define INITIALIZED(...) initialized_call([&]() -> CUresult { return __VA_ARGS__; })
#define GIVEN(name, ...) [&]([[maybe_unused]] auto& name) -> CUresult { return __VA_ARGS__; }
#define VALUE(name, ...) [&](auto& name) { return __VA_ARGS__; }
#define IF_GOOD(first, ...)                           \
  [&]() -> CUresult {                                 \
    const CUresult failed = first;                    \
    return failed == eSuccess ? __VA_ARGS__ : failed; \
  }()
#define SYNCHRONOUS(...)     \
  [&] {                      \
    const Synchronous scope; \
    return __VA_ARGS__;      \
  }()

namespace ptx2spv::cuda {

/// The runtime interface notes a failure for cudaGetLastError; the driver interface returns it.
CUresult keep(CUresult code);

/// Adds a node's operation, or changes the node's, in `place`.
inline CUresult put(MadeOperation made, const NodePlace& place) {
  return keep(apply_operation(std::move(made), place));
}

/// The object of a handle, or eInvalidResourceHandle.
template <class T, class F>
CUresult with(const Table<T>& table, T* handle, F&& function) {
  if (ended()) return why_not_initialized();
  auto object = table.find(handle);
  if (!object) return fail(eInvalidResourceHandle, "no such handle");
  return function(*object);
}

/// Runs `function(context, stream)` in the stream's context. Only streams that each context has
/// need a current one.
template <class F>
CUresult call_in(CUstream handle, F&& function) {
  return call_anywhere([&](ContextObject* current) -> CUresult {
    std::shared_ptr<StreamObject> stream;
    if (CUresult code = find_stream(current, handle, stream); code != eSuccess) return code;
    return function(*stream->context, stream);
  });
}

}  // namespace ptx2spv::cuda
