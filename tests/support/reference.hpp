// The reference: a scalar interpreter of the IR, which passes and back ends are tested against. It
// runs one workgroup of threads; a thread runs until it meets a synchronisation point, the next one
// follows, and a point is resolved when the threads that it waits for have arrived. What floating
// point and surface operations do is the caller's to say (RunOptions::operation).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/bits.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// Memory that threads share, by space and slot. Accesses beyond the end read 0 and write nothing.
struct Memory {
  static constexpr std::uint64_t kGlobalBase = 0x100000000ull;
  std::map<std::pair<Space, std::uint32_t>, std::vector<std::uint8_t>> bytes;
  std::vector<std::uint8_t>& of(Space space, std::uint32_t slot = 0) {
    return bytes[{space, slot}];
  }
};

struct RunOptions {
  std::uint32_t threads[3] = {1, 1, 1};  ///< invocations of the workgroup
  std::uint32_t workgroup[3] = {0, 0, 0}, workgroups[3] = {1, 1, 1};
  std::uint64_t max_steps = 1u << 20;  ///< of all threads together
  bool trace = true;
  /// What variables hold before they are set, and local memory: a kernel that gives the same
  /// whatever it is reads nothing that it has not written.
  std::uint32_t unset = 0;
  std::function<bool(std::string_view name, std::span<const Bits> args, Bits& result)> library;
  /// Operations that are not interpreted here; false: unknown to the caller too.
  std::function<bool(const Function& f, const Inst& inst, std::span<const Bits> args, Bits& result)>
      operation;
};

/// One executed side effect.
struct Event {
  std::uint32_t thread = 0;
  Op op = Op::undef;
  Space space = Space::global;
  std::uint64_t address = 0;
  Bits value{};
  bool operator==(const Event&) const = default;
};

struct Outcome {
  std::string error;  ///< empty when every thread ended
  bool out_of_steps = false;
  bool stalled = false;      ///< threads wait for ever
  std::vector<Event> trace;  ///< in order of execution
};

Outcome interpret(const Function& function, const Module& module, Memory& memory,
                  const RunOptions& options);

}  // namespace ptx2spv::ir
