#include "tests/random/model.hpp"

#include <cstring>

#include <fmt/format.h>

#include "tests/random/floats.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/surface_model.hpp"
#include "translator/pipeline.hpp"
#include "translator/ptx/parser.hpp"

namespace ptx2spv::test {

namespace {

using ir::Bits;
using ir::Op;

ptx::Type word_type(unsigned bytes, bool is_signed) {
  switch (bytes) {
    case 1: return ptx::Type::b8;
    case 2: return ptx::Type::b16;
    case 4: return is_signed ? ptx::Type::s32 : ptx::Type::u32;
    default: return ptx::Type::b64;
  }
}

bool surface_operation(ModelSurface& surface, const ir::Function& f, const ir::Inst& inst,
                       std::span<const Bits> args, Bits& result) {
  if (inst.op != Op::surf_load && inst.op != Op::surf_store && inst.op != Op::surf_reduce)
    return false;
  const ir::SurfaceOp& op = f.surface_ops[inst.imm];
  SurfaceForm form;
  form.op = inst.op == Op::surf_load    ? ptx::Opcode::suld
            : inst.op == Op::surf_store ? ptx::Opcode::sust
                                        : ptx::Opcode::sured;
  form.geometry = ptx::Mod::d2;
  form.clamp = op.clamp == ir::ClampMode::trap    ? ptx::Mod::trap
               : op.clamp == ir::ClampMode::clamp ? ptx::Mod::clamp
                                                  : ptx::Mod::zero;
  form.vector = op.bytes > 4 ? op.bytes / 4 : 1;
  form.type = word_type(op.bytes > 4 ? 4 : op.bytes,
                        op.reduce == ir::AtomicOp::smin || op.reduce == ir::AtomicOp::smax);
  switch (op.reduce) {
    case ir::AtomicOp::umin:
    case ir::AtomicOp::smin: form.operation = ptx::Mod::min; break;
    case ir::AtomicOp::umax:
    case ir::AtomicOp::smax: form.operation = ptx::Mod::max; break;
    default: form.operation = ptx::Mod::add; break;
  }
  std::vector<std::uint64_t> values;
  if (args.size() > 3)
    for (unsigned i = 0; i < form.vector; ++i) values.push_back(args[3].w[i]);
  const ModelResult done = model_run(
      surface, form,
      {static_cast<std::int32_t>(args[1].w[0]), static_cast<std::int32_t>(args[2].w[0])}, values);
  if (done.trap) return false;
  for (std::size_t i = 0; i < done.elements.size() && i < 4; ++i)
    result.w[i] = static_cast<std::uint32_t>(done.elements[i]);
  return true;
}

void put(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
  if (bytes.size() < at + size) bytes.resize(at + size);
  std::memcpy(bytes.data() + at, &value, size);
}

}  // namespace

Outputs initial_outputs(const RandomKernel& kernel) {
  Outputs out;
  out.threads.resize(std::size_t{kernel.threads()} * RandomKernel::kThreadBytes);
  for (std::size_t i = 0; i < out.threads.size(); ++i)
    out.threads[i] = static_cast<std::uint8_t>(i * 37 >> 3);
  out.counters.resize(RandomKernel::kCounterBytes, 0x5a);
  out.surface =
      ModelSurface("2d", "u32", 1, RandomKernel::kRowBytes / 4, kernel.threads(), 1, 5).bytes;
  return out;
}

ModelRun run_model(const RandomKernel& kernel, const std::vector<std::uint32_t>& input,
                   std::uint32_t unset) {
  ModelRun run;
  const auto fail = [&](std::string text) {
    run.error = std::move(text);
    return run;
  };
  const std::string text = kModuleHead + kernel.ptx();
  DiagnosticSink sink;
  std::vector<std::unique_ptr<ptx::Module>> modules;
  modules.push_back(ptx::parse_module(text, kernel.name, {}, sink));
  if (sink.errors()) {
    std::vector<Message> messages;
    append_messages(sink, modules[0]->source, messages);
    return fail("does not parse: " + messages[0].rendered);
  }
  std::vector<Message> messages;
  lower::Program program(std::move(modules), messages);
  if (!messages.empty()) return fail(messages[0].rendered);
  const FrontEntry front = prepare_entry(program, program.entries().at(0), kInlineBudget);
  if (!front.lowered.ok) return fail("does not lower: " + front.lowered.messages[0].rendered);
  const ir::Function& f = front.lowered.module.functions[0];
  const Interface& interface = program.interface();

  run.outputs = initial_outputs(kernel);
  Outputs& out = run.outputs;
  ir::Memory memory;
  auto& global = memory.of(ir::Space::global);
  const auto place = [&](const void* bytes, std::size_t size) {
    const std::size_t at = (global.size() + 255) & ~std::size_t{255};
    global.resize(at + size);
    if (size) std::memcpy(global.data() + at, bytes, size);
    return at;
  };
  const std::uint64_t base = ir::Memory::kGlobalBase;
  const std::size_t in = place(input.data(), input.size() * 4);
  const std::size_t threads = place(out.threads.data(), out.threads.size());
  const std::size_t counters = place(out.counters.data(), out.counters.size());
  std::vector<std::uint8_t> initial = interface.globals_image;
  initial.resize(interface.globals_bytes);
  const std::size_t variables = place(initial.data(), initial.size());
  memory.of(ir::Space::constant) = interface.constants_image;
  auto& params = memory.of(ir::Space::param);
  put(params, 0, base + in, 8);
  put(params, 8, base + threads, 8);
  put(params, 16, base + counters, 8);
  put(params, 24, 0x100000001, 8);
  put(params, 32, kernel.n, 4);
  auto& push = memory.of(ir::Space::push);
  push.resize(abi::kPushWords * 4);
  const auto word = [&](std::uint32_t at, std::uint64_t value, std::size_t size) {
    put(push, std::size_t{at} * 4, value, size);
  };
  word(abi::Push::grid_x, kernel.grid, 4);
  word(abi::Push::grid_y, 1, 4);
  word(abi::Push::grid_z, 1, 4);
  word(abi::Push::block_x, kernel.block[0], 4);
  word(abi::Push::block_y, kernel.block[1], 4);
  word(abi::Push::block_z, 1, 4);
  word(abi::Push::globals, base + variables, 8);

  ModelSurface surface("2d", "u32", 1, RandomKernel::kRowBytes / 4, kernel.threads(), 1, 5);
  ir::RunOptions options;
  options.threads[0] = kernel.block[0];
  options.threads[1] = kernel.block[1];
  options.workgroups[0] = kernel.grid;
  options.max_steps = 50'000'000;
  options.trace = false;
  options.unset = unset;
  options.operation = [&](const ir::Function& in_f, const ir::Inst& inst,
                          std::span<const Bits> args, Bits& result) {
    return float_operation(inst, args, result) ||
           surface_operation(surface, in_f, inst, args, result);
  };
  for (std::uint32_t group = 0; group < kernel.grid; ++group) {
    options.workgroup[0] = group;
    memory.of(ir::Space::shared).assign(f.shared_bytes, static_cast<std::uint8_t>(unset));
    const ir::Outcome outcome = ir::interpret(f, front.lowered.module, memory, options);
    if (!outcome.error.empty()) return fail(outcome.error);
    if (outcome.out_of_steps) return fail("takes too many steps");
    if (outcome.stalled) return fail("threads wait for ever");
  }
  std::memcpy(out.threads.data(), global.data() + threads, out.threads.size());
  std::memcpy(out.counters.data(), global.data() + counters, out.counters.size());
  out.surface = surface.bytes;
  return run;
}

}  // namespace ptx2spv::test
