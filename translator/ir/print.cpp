#include <string>

#include <fmt/format.h>

#include "translator/ir/ir.hpp"
#include "translator/ir/names.hpp"

namespace ptx2spv::ir {

namespace {

void print_attributes(const Function& f, const Module& module, const Inst& inst, std::string& out) {
  const auto to = std::back_inserter(out);
  switch (inst.op) {
    case Op::constant: fmt::format_to(to, " {:#x}", inst.imm); return;
    case Op::builtin: fmt::format_to(to, " {}", name(inst.builtin)); return;
    case Op::get_var:
    case Op::set_var: fmt::format_to(to, " ${}", inst.imm); return;
    case Op::library:
      if (inst.imm < module.library_names.size())
        fmt::format_to(to, " @{}", module.library_names[inst.imm]);
      return;
    case Op::texture_read:
      if (inst.imm < module.routines.size())
        fmt::format_to(to, " imm={} ; @{}", inst.imm, module.routines[inst.imm].name);
      return;
    case Op::call:
      fmt::format_to(to, " imm={}", inst.imm);
      if (inst.imm < f.calls.size() && f.calls[inst.imm].callee < module.functions.size())
        fmt::format_to(to, " ; @{}", module.functions[f.calls[inst.imm].callee].name);
      return;
    default: break;
  }
  if (inst.fp != FpAttr{}) {
    fmt::format_to(to, " fp={}", name(inst.fp.kind));
    if (inst.fp.to != NumKind::none) fmt::format_to(to, ",to:{}", name(inst.fp.to));
    if (inst.fp.round != Round::none) fmt::format_to(to, ",{}", name(inst.fp.round));
    if (inst.fp.ftz) out += ",ftz";
    if (inst.fp.sat) out += ",sat";
    if (inst.fp.nan) out += ",nan";
    if (inst.fp.contract) out += ",contract";
    if (inst.fp.checked) out += ",checked";
  }
  const unsigned flags = info(inst.op).flags;
  if ((flags & (flag::R | flag::W)) && !(flags & flag::C) && inst.op != Op::memory_barrier) {
    fmt::format_to(to, " mem={},{}", name(inst.mem.space), inst.mem.bytes);
    if (inst.mem.is_volatile) out += ",volatile";
    if (inst.mem.readonly) out += ",readonly";
    if (inst.mem.low_zeros) fmt::format_to(to, ",zeros:{}", inst.mem.low_zeros);
    if (inst.mem.high_zeros) fmt::format_to(to, ",high_zeros:{}", inst.mem.high_zeros);
    if (inst.mem.slot) fmt::format_to(to, ",slot:{}", inst.mem.slot);
    if (inst.mem.atomic != AtomicOp::add) fmt::format_to(to, ",{}", name(inst.mem.atomic));
  }
  if (inst.imm) fmt::format_to(to, " imm={}", inst.imm);
}

void print_terminator(const Block& block, std::string& out) {
  const auto to = std::back_inserter(out);
  if (block.merge == Merge::selection) fmt::format_to(to, "  merge b{}\n", block.merge_block);
  if (block.merge == Merge::loop)
    fmt::format_to(to, "  loop b{} b{}\n", block.merge_block, block.continue_block);
  switch (block.term) {
    case Term::none: out += "  none\n"; return;
    case Term::exit: out += "  exit\n"; return;
    case Term::ret: out += "  ret\n"; return;
    case Term::unreachable: out += "  unreachable\n"; return;
    case Term::br: out += "  br"; break;
    case Term::cond_br: fmt::format_to(to, "  cond_br %{}", block.cond); break;
    case Term::switch_: fmt::format_to(to, "  switch %{}", block.cond); break;
  }
  for (const BlockId s : block.succs) fmt::format_to(to, " b{}", s);
  out += '\n';
}

}  // namespace

std::string print(const Function& f, const Module& module) {
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "func @{} local={} shared={}", f.name, f.local_bytes, f.shared_bytes);
  if (f.region_threads != 1) fmt::format_to(to, " threads={}", f.region_threads);
  out += " {\n";
  for (std::size_t i = 0; i < f.vars.size(); ++i) {
    fmt::format_to(to, "  var ${} {} {}", i, name(f.vars[i].type), f.vars[i].name);
    out += f.vars[i].per_thread ? " per_thread\n" : "\n";
  }
  std::vector<bool> printed(f.blocks.size());
  const auto print_block = [&](BlockId b) {
    if (b >= f.blocks.size() || printed[b]) return;
    printed[b] = true;
    fmt::format_to(to, "b{}:\n", b);
    for (const Value v : f.blocks[b].insts) {
      if (v >= f.insts.size()) {
        fmt::format_to(to, "  ; no instruction {}\n", v);
        continue;
      }
      const Inst& inst = f.insts[v];
      if (inst.type != Type::none)
        fmt::format_to(to, "  %{} = {} {}", v, info(inst.op).name, name(inst.type));
      else
        fmt::format_to(to, "  {}", info(inst.op).name);
      print_attributes(f, module, inst, out);
      for (const Value a : f.args(v)) fmt::format_to(to, " %{}", a);
      if (inst.loc && inst.loc < f.locs.size())
        fmt::format_to(to, "  ; line {}", f.locs[inst.loc].line);
      out += '\n';
    }
    print_terminator(f.blocks[b], out);
  };
  for (const BlockId b : f.order) print_block(b);
  for (BlockId b = 0; b < f.blocks.size(); ++b) print_block(b);
  out += "}\n";
  return out;
}

}  // namespace ptx2spv::ir
