// What the threads of a warp or block do together. All of them come to these statements.
#include "dev/programs/statements.hpp"

namespace ptx2spv::programs {
namespace {

bool has(const std::string& text, const char* what) { return text.find(what) != text.npos; }

}  // namespace

bool warp(Writer& w, const std::string& text) {
  if (!w.kernel || !w.converged || w.shape.threads() % 32 != 0) return false;
  const std::string head = text.substr(0, text.find(' '));
  if (head.starts_with("activemask")) {
    const Value to = w.declare(type_name("b32"));
    w.line(head + " " + to.name + ";");
    w.result(to);
    return true;
  }
  const bool wide = head.ends_with("b64");
  const TypeName type = type_name(wide ? "b64" : has(head, "s32") ? "s32" : "b32");
  const bool pair = has(text, "|");
  std::vector<Value> results;
  results.push_back(w.declare(type_name(has(head, ".pred") ? "pred" : "b32"), pair));
  if (pair) results.push_back(w.declare(type_name("pred")));
  std::string line = head + " " + results[0].name;
  if (pair) line += "|" + results[1].name;
  if (!head.starts_with("elect")) {
    const std::string a = head.starts_with("vote") ? w.predicate() : w.source(type);
    line += ", " + a;
  }
  std::string mask = w.random.chance(50) ? "0xffffffff" : "-1", guard;
  if (head.starts_with("shfl")) {
    const unsigned segment = 32u >> w.random.below(5);
    unsigned c = ((32 - segment) << 8) | (has(head, ".up.") ? 0u : 31u);
    if (w.random.chance(25)) c = w.random.word() & 0x1f1f;
    const std::string b =
        w.random.chance(50) ? std::to_string(w.random.below(32)) : w.value(type_name("b32")).name;
    line += ", " + b + ", " + std::to_string(c);
  } else if (w.random.chance(35)) {
    // Some lanes only; the others are told by a guard.
    const std::uint32_t some = w.random.word();
    const std::uint32_t lanes = some | 1u << w.random.below(32);
    mask = std::to_string(lanes);
    const Value bit = w.bits(32), p = w.bits(1);
    w.line("shr.u32 " + bit.name + ", " + mask + ", %lane;");
    w.line("and.b32 " + bit.name + ", " + bit.name + ", 1;");
    w.line("setp.ne.u32 " + p.name + ", " + bit.name + ", 0;");
    for (const Value& each : results)
      w.line(each.width == 1 ? "setp.ne.u32 " + each.name + ", 0, 0;"
                             : "mov.b32 " + each.name + ", 0;");
    guard = "@" + p.name + " ";
  }
  w.line(guard + line + ", " + mask + ";");
  for (const Value& each : results) w.result(each);
  return true;
}

bool barrier(Writer& w, const std::string& text) {
  if (!w.kernel || !w.converged || w.shape.threads() % 32 != 0) return false;
  const std::string head = text.substr(0, text.find(' '));
  if (has(head, ".warp.")) {
    w.line(head + " " + (w.random.chance(50) ? "-1" : "0xffffffff") + ";");
    return true;
  }
  const unsigned number = w.random.below(16);
  std::string id = std::to_string(number);
  if (w.random.chance(30)) {
    const Value in = w.bits(32);
    w.line("mov.b32 " + in.name + ", " + id + ";");
    id = in.name;
  }
  const std::string count = std::to_string(w.shape.threads());
  if (has(head, "arrive")) {
    if (w.shape.threads() < 64) return false;
    // The first warp arrives, the others wait for it.
    const Value p = w.bits(1);
    w.line("setp.lt.u32 " + p.name + ", %tl, 32;");
    w.line("@" + p.name + " " + head + " " + id + ", " + count + ";");
    w.line("@!" + p.name + " " + (head.starts_with("barrier") ? "barrier" : "bar") + ".sync " + id +
           ", " + count + ";");
    w.line("bar.sync 0;");
    return true;
  }
  const std::string counted = w.random.chance(40) ? ", " + count : "";
  if (has(head, ".red.")) {
    const Value to = w.declare(type_name(has(head, "popc") ? "u32" : "pred"));
    const std::string p = w.predicate();
    w.line(head + " " + to.name + ", " + id + counted + ", " + p + ";");
    w.result(to);
    return true;
  }
  w.line(head + " " + id + counted + ";");
  return true;
}

void exchange(Writer& w) {
  if (!w.kernel || !w.converged || w.depth) return;
  w.uses_shared = true;
  const unsigned threads = w.shape.threads();
  const bool wide = w.random.chance(30);
  const std::string type = wide ? "b64" : "b32";
  const Value from = w.value(type_name(type)), index = w.bits(32), at = w.bits(64),
              to = w.declare(type_name(type));
  const std::string offset = std::to_string(8 * w.random.below(4));
  w.line("st.shared." + type + " [%sh+" + offset + "], " + from.name + ";");
  w.line("bar.sync 0;");
  w.line("add.u32 " + index.name + ", %tl, " + std::to_string(1 + w.random.below(threads)) + ";");
  w.line("rem.u32 " + index.name + ", " + index.name + ", " + std::to_string(threads) + ";");
  w.line("mul.wide.u32 " + at.name + ", " + index.name + ", 32;");
  const Value base = w.bits(64);
  w.line("mov.u64 " + base.name + ", sh;");
  w.line("add.u64 " + at.name + ", " + at.name + ", " + base.name + ";");
  if (w.random.chance(30)) {
    w.line("cvta.shared.u64 " + at.name + ", " + at.name + ";");
    w.line("ld." + type + " " + to.name + ", [" + at.name + "+" + offset + "];");
  } else {
    w.line("ld.shared." + type + " " + to.name + ", [" + at.name + "+" + offset + "];");
  }
  w.line("bar.sync 0;");
  w.result(to);
}

}  // namespace ptx2spv::programs
