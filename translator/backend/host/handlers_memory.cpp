// Loads, stores and atomics: by address in global memory, by offset elsewhere.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "translator/backend/host/handlers.hpp"

namespace ptx2spv::interpreter {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

const MemAttr& access(const Step& step) { return *static_cast<const MemAttr*>(step.more); }

/// Where lane `lane` finds the bytes of its access; null past the end of a region.
struct Where {
  Where(const Step& step, const Lanes& lanes)
      : space(access(step).space), bytes(access(step).bytes) {
    if (space == Space::global) {
      addresses = values<u64>(lanes, step.in[0]);
      return;
    }
    offsets = lanes.words(step.in[0]);
    if (space == Space::shared) {
      region = lanes.shared;
    } else if (space == Space::local) {
      region = {lanes.local, lanes.local_bytes};
      stride = lanes.local_bytes;
    } else {
      region = lanes.launch->regions[static_cast<std::size_t>(space)];
    }
  }
  std::byte* of(unsigned lane) const {
    if (addresses) return reinterpret_cast<std::byte*>(addresses[lane]);
    const u64 offset = offsets[lane];
    if (offset + bytes > region.size) return nullptr;
    return region.bytes + u64{stride} * lane + offset;
  }

  Space space;
  u32 bytes;
  const u64* addresses = nullptr;
  const u32* offsets = nullptr;
  Region region;
  u32 stride = 0;
};

template <typename T>
T read(const std::byte* at) {
  T value{};
  if (at) std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename Memory, typename T>
void load(const Step& step, Lanes& lanes) {
  const Where where(step, lanes);
  T* out = values<T>(lanes, step.out);
  each_lane(lanes.mask, [&](unsigned lane) { out[lane] = read<Memory>(where.of(lane)); });
}

/// Several words, each of which has a row.
void load_rows(const Step& step, Lanes& lanes) {
  const Where where(step, lanes);
  Row* out = lanes.rows(step.out);
  const unsigned rows = where.bytes / 4;
  each_lane(lanes.mask, [&](unsigned lane) {
    const std::byte* at = where.of(lane);
    for (unsigned row = 0; row < rows; ++row)
      out[row].words[lane] = read<u32>(at ? at + row * 4 : nullptr);
  });
}

/// All lanes read the same.
template <typename Memory, typename T, bool Masked>
void load_uniform(const Step& step, Lanes& lanes) {
  const Where where(step, lanes);
  const T value = read<Memory>(where.of(0));
  T* __restrict out = values<T>(lanes, step.out);
  for (unsigned i = 0; i < kLanes; ++i) put<T, Masked>(lanes, out, i, value);
}

template <typename Memory, typename T>
void store(const Step& step, Lanes& lanes) {
  const Where where(step, lanes);
  const T* in = values<T>(lanes, step.in[1]);
  each_lane(lanes.mask, [&](unsigned lane) {
    std::byte* at = where.of(lane);
    const auto value = static_cast<Memory>(in[lane]);
    if (at) std::memcpy(at, &value, sizeof value);
  });
}

void store_rows(const Step& step, Lanes& lanes) {
  const Where where(step, lanes);
  const Row* in = lanes.rows(step.in[1]);
  const unsigned rows = where.bytes / 4;
  each_lane(lanes.mask, [&](unsigned lane) {
    std::byte* at = where.of(lane);
    if (!at) return;
    for (unsigned row = 0; row < rows; ++row) std::memcpy(at + row * 4, &in[row].words[lane], 4);
  });
}

/// NVIDIA's sums. Global memory is added to by the cache: it flushes denormals of f32, and of f64
/// leaves a NaN as it is and takes the operand's first. Shared memory is added to by the processor,
/// which makes a NaN of f64 quiet and keeps the cell's.
u32 sum_f32(u32 old, u32 value, bool shared) {
  const auto flushed = [shared](u32 x) {
    return shared || (x & 0x7f800000u) ? x : x & 0x80000000u;
  };
  const float sum = std::bit_cast<float>(flushed(old)) + std::bit_cast<float>(flushed(value));
  return sum != sum ? 0x7fffffffu : flushed(std::bit_cast<u32>(sum));
}
u64 sum_f64(u64 old, u64 value, bool shared) {
  const auto is_nan = [](u64 x) { return (x & ~0ull >> 1) > 0x7ff0000000000000ull; };
  constexpr u64 kQuiet = 1ull << 51;
  if (shared && is_nan(old)) return old | kQuiet;
  if (is_nan(value)) return shared ? value | kQuiet : value;
  if (is_nan(old)) return old;
  const double sum = std::bit_cast<double>(old) + std::bit_cast<double>(value);
  return sum != sum ? 0xfff8000000000000ull : std::bit_cast<u64>(sum);
}

template <typename T>
T changed(AtomicOp op, T old, T value, bool shared) {
  using S = std::make_signed_t<T>;
  switch (op) {
    case AtomicOp::umin: return std::min(old, value);
    case AtomicOp::umax: return std::max(old, value);
    case AtomicOp::smin:
      return static_cast<T>(std::min(static_cast<S>(old), static_cast<S>(value)));
    case AtomicOp::smax:
      return static_cast<T>(std::max(static_cast<S>(old), static_cast<S>(value)));
    case AtomicOp::inc: return old >= value ? 0 : old + 1;
    case AtomicOp::dec: return old == 0 || old > value ? value : old - 1;
    case AtomicOp::fadd_f32: return sum_f32(static_cast<u32>(old), static_cast<u32>(value), shared);
    case AtomicOp::fadd_f64: return static_cast<T>(sum_f64(old, value, shared));
    default: return value;
  }
}

/// The same of operations that processors have, too.
template <typename T>
T changed_plainly(AtomicOp op, T old, T value, bool shared) {
  switch (op) {
    case AtomicOp::add: return old + value;
    case AtomicOp::and_: return old & value;
    case AtomicOp::or_: return old | value;
    case AtomicOp::xor_: return old ^ value;
    default: return changed(op, old, value, shared);
  }
}

template <typename T>
T atomically(AtomicOp op, T* at, T value) {
  const std::atomic_ref<T> word(*at);
  switch (op) {
    case AtomicOp::add: return word.fetch_add(value);
    case AtomicOp::and_: return word.fetch_and(value);
    case AtomicOp::or_: return word.fetch_or(value);
    case AtomicOp::xor_: return word.fetch_xor(value);
    case AtomicOp::exch: return word.exchange(value);
    default: break;
  }
  // Without a look at whether anything changes, which no processor can foresee.
  T old = word.load();
  while (!word.compare_exchange_weak(old, changed(op, old, value, false))) {
  }
  return old;
}

/// Whether lanes' values may be put together before the word's is.
bool associates(AtomicOp op) {
  return op != AtomicOp::inc && op != AtomicOp::dec && op != AtomicOp::fadd_f32 &&
         op != AtomicOp::fadd_f64;
}

/// Lanes whose word is the same one change it together, one after the other.
template <typename T>
void atomic_of_all(AtomicOp op, T* at, const T* in, T* out, u32 mask) {
  const auto fold = [&](T value, u32 by) {
    each_lane(by, [&](unsigned lane) { value = changed_plainly(op, value, in[lane], false); });
    return value;
  };
  T old{};
  if (associates(op)) {
    old = atomically(op, at, fold(in[std::countr_zero(mask)], mask & (mask - 1)));
  } else {
    const std::atomic_ref<T> word(*at);
    old = word.load();
    while (!word.compare_exchange_weak(old, fold(old, mask))) {
    }
  }
  each_lane(mask, [&](unsigned lane) {
    const T value = in[lane];
    out[lane] = old;
    old = changed_plainly(op, old, value, false);
  });
}

/// A block's shared memory is one thread's of the processor.
template <typename T>
void atomic_shared(AtomicOp op, const Where& where, const T* in, T* out, u32 mask) {
  each_lane(mask, [&](unsigned lane) {
    std::byte* at = where.of(lane);
    const T old = read<T>(at), next = changed_plainly(op, old, in[lane], true);
    if (at) std::memcpy(at, &next, sizeof next);
    out[lane] = at ? old : 0;
  });
}

template <typename T>
void atomic(const Step& step, Lanes& lanes) {
  const Where where(step, lanes);
  const AtomicOp op = access(step).atomic;
  const T* in = values<T>(lanes, step.in[1]);
  T* out = values<T>(lanes, step.out);
  if (where.space == Space::shared) return atomic_shared(op, where, in, out, lanes.mask);
  if (const u32 others = lanes.mask & (lanes.mask - 1)) {
    std::byte* first = where.of(static_cast<unsigned>(std::countr_zero(lanes.mask)));
    u32 left = others;
    while (left && where.of(static_cast<unsigned>(std::countr_zero(left))) == first)
      left &= left - 1;
    if (!left && first) return atomic_of_all(op, reinterpret_cast<T*>(first), in, out, lanes.mask);
  }
  each_lane(lanes.mask, [&](unsigned lane) {
    auto* at = reinterpret_cast<T*>(where.of(lane));
    out[lane] = at ? atomically(op, at, in[lane]) : 0;
  });
}

/// Memory of 2 bytes lies in rows of words.
template <typename Memory, typename T>
void compare_and_swap(const Step& step, Lanes& lanes) {
  const Where where(step, lanes);
  const T *compare = values<T>(lanes, step.in[1]), *replacement = values<T>(lanes, step.in[2]);
  T* out = values<T>(lanes, step.out);
  each_lane(lanes.mask, [&](unsigned lane) {
    auto* at = reinterpret_cast<Memory*>(where.of(lane));
    auto old = static_cast<Memory>(compare[lane]);
    if (at)
      std::atomic_ref<Memory>(*at).compare_exchange_strong(old,
                                                           static_cast<Memory>(replacement[lane]));
    out[lane] = at ? old : 0;
  });
}

void fence(const Step&, Lanes&) { std::atomic_thread_fence(std::memory_order_seq_cst); }

template <typename Memory, typename T>
Handlers loads(bool uniform) {
  if (uniform) return {load_uniform<Memory, T, false>, load_uniform<Memory, T, true>};
  return {load<Memory, T>, load<Memory, T>};
}

Handlers load_handlers(const ir::Inst& inst, bool uniform) {
  const Space space = inst.mem.space;
  uniform = uniform && space != Space::global && space != Space::shared && space != Space::local;
  switch (inst.mem.bytes) {
    case 1: return loads<std::uint8_t, u32>(uniform);
    case 2: return loads<std::uint16_t, u32>(uniform);
    case 4: return loads<u32, u32>(uniform);
    case 8:
      if (inst.type == Type::i64) return loads<u64, u64>(uniform);
      return {load_rows, load_rows};
    case 16: return {load_rows, load_rows};
    default: return {};
  }
}

bool takes(AtomicOp op, unsigned bytes) {
  if (op == AtomicOp::fadd_f32 || op == AtomicOp::inc || op == AtomicOp::dec) return bytes == 4;
  if (op == AtomicOp::fadd_f64) return bytes == 8;
  return op <= AtomicOp::exch && (bytes == 4 || bytes == 8);
}

template <Builtin Which>
std::uint32_t launch_word(const Lanes& lanes) {
  constexpr auto number = [](Builtin first) {
    return static_cast<unsigned>(Which) - static_cast<unsigned>(first);
  };
  if constexpr (Which <= Builtin::workgroup_id_z)
    return lanes.block[number(Builtin::workgroup_id_x)];
  if constexpr (Which >= Builtin::workgroup_size_x && Which <= Builtin::workgroup_size_z)
    return lanes.launch->block[number(Builtin::workgroup_size_x)];
  if constexpr (Which >= Builtin::num_workgroups_x && Which <= Builtin::num_workgroups_z)
    return lanes.launch->grid[number(Builtin::num_workgroups_x)];
  if constexpr (Which == Builtin::shared_words) return static_cast<u32>(lanes.shared.size / 4);
  if constexpr (Which == Builtin::subgroup_size) return kLanes;
  return 0;
}

/// The number of a thread along an axis of its block.
u32 along(const Lanes& lanes, unsigned axis, u32 thread) {
  const u32* size = lanes.launch->block;
  if (axis == 0) return thread % size[0];
  return axis == 1 ? thread / size[0] % size[1] : thread / size[0] / size[1];
}

template <Builtin Which>
u32 thread_word(const Lanes& lanes, unsigned lane) {
  const u32 thread = lanes.first_thread + lane;
  if constexpr (Which == Builtin::local_index) return thread;
  if constexpr (Which == Builtin::subgroup_lane) return lane;
  constexpr bool global = Which >= Builtin::global_id_x;
  constexpr unsigned axis =
      static_cast<unsigned>(Which) -
      static_cast<unsigned>(global ? Builtin::global_id_x : Builtin::local_id_x);
  const u32 local = along(lanes, axis % 3, thread);
  return global ? lanes.block[axis % 3] * lanes.launch->block[axis % 3] + local : local;
}

template <Builtin Which, bool Masked>
void launch_builtin(const Step& step, Lanes& lanes) {
  const u32 value = launch_word<Which>(lanes);
  u32* __restrict out = lanes.words(step.out);
  for (unsigned i = 0; i < kLanes; ++i) put<u32, Masked>(lanes, out, i, value);
}

template <Builtin Which, bool Masked>
void thread_builtin(const Step& step, Lanes& lanes) {
  u32* __restrict out = lanes.words(step.out);
  for (unsigned i = 0; i < kLanes; ++i)
    put<u32, Masked>(lanes, out, i, thread_word<Which>(lanes, i));
}

template <bool Masked>
void move(const Step& step, Lanes& lanes) {
  for (unsigned row = 0; row < step.imm; ++row) {
    u32* __restrict out = (lanes.rows(step.out) + row)->words;
    const u32* __restrict a = (lanes.rows(step.in[0]) + row)->words;
    for (unsigned i = 0; i < kLanes; ++i) put<u32, Masked>(lanes, out, i, a[i]);
  }
}

/// The same for numbers of 64 bits, whose rows hold 16 lanes each.
template <bool Masked>
void move_wide(const Step& step, Lanes& lanes) {
  u64* __restrict out = values<u64>(lanes, step.out);
  const u64* __restrict a = values<u64>(lanes, step.in[0]);
  for (unsigned i = 0; i < kLanes; ++i) put<u64, Masked>(lanes, out, i, a[i]);
}

/// Words of a lane's value, and where they go.
void gather(const Lanes& lanes, const Call::Operand& operand, unsigned lane, u32* words) {
  if (operand.type == Type::i64) {
    std::memcpy(words, values<u64>(lanes, operand.place) + lane, 8);
    return;
  }
  for (unsigned row = 0; row < rows_of(operand.type); ++row)
    words[row] = (lanes.rows(operand.place) + row)->words[lane];
}
void scatter(const Lanes& lanes, const Call::Operand& operand, unsigned lane, const u32* words) {
  if (operand.type == Type::i64) {
    std::memcpy(values<u64>(lanes, operand.place) + lane, words, 8);
    return;
  }
  for (unsigned row = 0; row < rows_of(operand.type); ++row)
    (lanes.rows(operand.place) + row)->words[lane] = words[row];
}

void call(const Step& step, Lanes& lanes) {
  const Call& callee = *static_cast<const Call*>(step.more);
  u32 arguments[64], result[4] = {};
  each_lane(lanes.mask, [&](unsigned lane) {
    u32* next = arguments;
    for (const Call::Operand& operand : callee.arguments) {
      gather(lanes, operand, lane, next);
      next += rows_of(operand.type);
    }
    callee.routine(result, arguments);
    scatter(lanes, callee.result, lane, result);
  });
}

}  // namespace

Handlers memory_handlers(const ir::Inst& inst, bool uniform) {
  const unsigned bytes = inst.mem.bytes;
  switch (inst.op) {
    case Op::load: return load_handlers(inst, uniform);
    case Op::atomic:
      if (!takes(inst.mem.atomic, bytes)) return {};
      if (bytes == 8) return {atomic<u64>, atomic<u64>};
      return {atomic<u32>, atomic<u32>};
    case Op::atomic_cas:
      if (bytes == 2)
        return {compare_and_swap<std::uint16_t, u32>, compare_and_swap<std::uint16_t, u32>};
      if (bytes == 4) return {compare_and_swap<u32, u32>, compare_and_swap<u32, u32>};
      if (bytes == 8) return {compare_and_swap<u64, u64>, compare_and_swap<u64, u64>};
      return {};
    case Op::memory_barrier: return {fence, fence};
    default: return {};
  }
}

Handlers store_handlers(const ir::Inst& inst, Type stored) {
  switch (inst.mem.bytes) {
    case 1: return {store<std::uint8_t, u32>, store<std::uint8_t, u32>};
    case 2: return {store<std::uint16_t, u32>, store<std::uint16_t, u32>};
    case 4: return {store<u32, u32>, store<u32, u32>};
    case 8:
      if (stored == Type::i64) return {store<u64, u64>, store<u64, u64>};
      return {store_rows, store_rows};
    case 16: return {store_rows, store_rows};
    default: return {};
  }
}

namespace {

template <typename Clock>
u64 nanoseconds() {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count());
}

/// The time of day goes on as the steady clock does, whoever sets the machine's: waits last as long
/// as they say.
u64 time_of_day() {
  static const u64 first =
      nanoseconds<std::chrono::system_clock>() - nanoseconds<std::chrono::steady_clock>();
  return first + nanoseconds<std::chrono::steady_clock>();
}

/// Billionths of a second: of a device's clock since 1970, as NVIDIA's has them.
template <bool Masked>
void read_clock(const Step& step, Lanes& lanes) {
  const bool device = static_cast<ir::ClockScope>(step.imm) == ir::ClockScope::device;
  const u64 now = device ? time_of_day() : nanoseconds<std::chrono::steady_clock>();
  u32* __restrict low = lanes.words(step.out);
  u32* __restrict high = lanes.words(static_cast<Place>(step.out + 1));
  for (unsigned i = 0; i < kLanes; ++i) {
    put<u32, Masked>(lanes, low, i, static_cast<u32>(now));
    put<u32, Masked>(lanes, high, i, static_cast<u32>(now >> 32));
  }
}

}  // namespace

Handlers clock_handlers() { return {read_clock<false>, read_clock<true>}; }

Handlers builtin_handlers(Builtin builtin) {
  switch (builtin) {
#define PTX2SPV_OF(kind, name) \
  case Builtin::name: return {kind<Builtin::name, false>, kind<Builtin::name, true>};
    PTX2SPV_OF(launch_builtin, workgroup_id_x)
    PTX2SPV_OF(launch_builtin, workgroup_id_y)
    PTX2SPV_OF(launch_builtin, workgroup_id_z)
    PTX2SPV_OF(thread_builtin, local_id_x)
    PTX2SPV_OF(thread_builtin, local_id_y)
    PTX2SPV_OF(thread_builtin, local_id_z)
    PTX2SPV_OF(thread_builtin, local_index)
    PTX2SPV_OF(launch_builtin, workgroup_size_x)
    PTX2SPV_OF(launch_builtin, workgroup_size_y)
    PTX2SPV_OF(launch_builtin, workgroup_size_z)
    PTX2SPV_OF(launch_builtin, num_workgroups_x)
    PTX2SPV_OF(launch_builtin, num_workgroups_y)
    PTX2SPV_OF(launch_builtin, num_workgroups_z)
    PTX2SPV_OF(thread_builtin, subgroup_lane)
    PTX2SPV_OF(launch_builtin, subgroup_size)
    PTX2SPV_OF(launch_builtin, shared_words)
    PTX2SPV_OF(thread_builtin, global_id_x)
    PTX2SPV_OF(thread_builtin, global_id_y)
    PTX2SPV_OF(thread_builtin, global_id_z)
#undef PTX2SPV_OF
  }
  return {};
}

Handlers move_handlers(Type type) {
  if (type == Type::i64) return {move_wide<false>, move_wide<true>};
  return {move<false>, move<true>};
}

Handlers call_handlers() { return {call, call}; }

}  // namespace ptx2spv::interpreter
