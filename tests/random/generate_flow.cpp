// Control flow of random kernels, functions and the frame around it all. Everything ends: a loop or
// region counts its iterations in a register of its own, which no other statement writes.
#include <algorithm>

#include <fmt/format.h>

#include "tests/random/generate.hpp"

namespace ptx2spv::test {

/// A predicate that may decide a branch at `at`; `before` makes it.
std::string Generator::condition(const Place& at, std::string& before) {
  const std::string p = operand('p', at.together);
  if (chance(60))
    before += fmt::format("setp.{}.u32 {}, {}, {};\n", choose("lt", "ge", "eq", "ne"), p,
                          operand('r', at.together), operand('i', at.together));
  return choose("", "!") + p;
}

std::vector<Statement> Generator::body(const Place& at, unsigned size) {
  std::vector<Statement> statements;
  for (unsigned i = 0; i < size; ++i) statements.push_back(statement(at));
  return statements;
}

Statement Generator::statement(const Place& at) {
  if (budget_ == 0 || at.depth >= 4 || chance(70)) {
    if (budget_) --budget_;
    if (chance(8) && (!at.targets.empty() || plain_)) return leave(at);
    return simple(at);
  }
  budget_ -= std::min(budget_, 3u);
  // Inside a quiet statement threads go their own ways.
  Place inner = at;
  ++inner.depth;
  inner.together = at.together && chance(60);
  switch (pick(8)) {
    case 0:
    case 1: return branches(inner);
    case 2:
    case 3: return loop(inner);
    case 4: return inner.together ? branches(inner) : region(inner);
    case 5: return inner.together ? loop(inner) : switch_(inner);
    case 6: return scope(inner);
    default: return callable_from_ < functions_ ? call(at) : loop(inner);
  }
}

Statement Generator::branches(const Place& at) {
  const std::string other = label("else"), end = label("end");
  std::string before;
  const std::string p = condition(at, before);
  Place inner = at;
  inner.targets.push_back({end, !at.together});
  Statement s;
  s.pieces.push_back(fmt::format("{}@{} bra {};\n", before, p, other));
  s.bodies.push_back(body(inner, 1 + pick(3)));
  s.pieces.push_back(fmt::format("bra {};\n{}:\n", end, other));
  s.bodies.push_back(body(inner, pick(3)));
  s.pieces.push_back(end + ":\n");
  return s;
}

/// Statements that may be left early.
Statement Generator::scope(const Place& at) {
  const std::string end = label("scope");
  Place inner = at;
  inner.targets.push_back({end, !at.together});
  return {{"", end + ":\n"}, {body(inner, 2 + pick(4))}};
}

Statement Generator::loop(const Place& at) {
  const unsigned k = 2 * counters_++;
  const std::string head = label("loop"), next = label("next"), end = label("done");
  const std::string iterations = operand('r', at.together);
  Place inner = at;
  inner.targets.push_back({end, !at.together});
  inner.targets.push_back({next, !at.together});
  const bool tested_first = pick(2);
  const std::string test =
      fmt::format("setp.ge.u32 %q0, %l{}, %l{};\n@%q0 bra {};\n", k, k + 1, end);
  Statement s;
  s.pieces.push_back(fmt::format("mov.u32 %l{0}, 0;\nand.b32 %l{1}, {2}, {3};\n{4}:\n{5}", k, k + 1,
                                 iterations, choose("1", "3", "7"), head,
                                 tested_first ? test : ""));
  s.bodies.push_back(body(inner, 1 + pick(4)));
  s.pieces.push_back(fmt::format("{}:\nadd.u32 %l{}, %l{}, 1;\n{}bra {};\n{}:\n", next, k, k,
                                 tested_first ? "" : test, head, end));
  return s;
}

/// Blocks that branch to each other at will, entered at any of them.
Statement Generator::region(const Place& at) {
  const unsigned k = 2 * counters_++, n = 2 + pick(3);
  const std::string end = label("out");
  std::vector<std::string> labels;
  for (unsigned i = 0; i < n; ++i) labels.push_back(label("part"));
  Place inner = at;
  inner.targets.push_back({end, true});
  std::string before = fmt::format("mov.u32 %l{}, {};\n", k, 2 + pick(8));
  Statement s;
  if (n > 2 && pick(2)) {
    before += fmt::format("@{} bra {};\n", operand('p', false), labels[2]);
  }
  std::string test;
  const std::string p = condition(inner, test);
  s.pieces.push_back(fmt::format("{}{}@{} bra {};\n{}:\n", before, test, p, labels[1], labels[0]));
  for (unsigned i = 0; i < n; ++i) {
    s.bodies.push_back(body(inner, 1 + pick(3)));
    std::string tail = fmt::format(
        "sub.u32 %l{0}, %l{0}, 1;\nsetp.eq.u32 %q0, %l{0}, 0;\n@%q0 bra {1};\n", k, end);
    for (unsigned ways = pick(3); ways; --ways) {
      std::string made;
      const std::string decides = condition(inner, made);
      tail += fmt::format("{}@{} bra {};\n", made, decides, labels[pick(n)]);
    }
    if (pick(3) == 0) tail += fmt::format("bra {};\n", labels[pick(n)]);
    tail += i + 1 < n ? labels[i + 1] + ":\n" : fmt::format("bra {};\n{}:\n", labels[pick(n)], end);
    s.pieces.push_back(std::move(tail));
  }
  return s;
}

Statement Generator::switch_(const Place& at) {
  const unsigned n = 2 + pick(4);
  const std::string end = label("end"), list = label("list");
  std::vector<std::string> labels;
  for (unsigned i = 0; i < n; ++i) labels.push_back(label("case"));
  std::vector<std::string> entries = labels;
  if (pick(2)) entries.push_back(labels[pick(n)]);
  if (pick(2)) entries.push_back(end);
  Place inner = at;
  inner.targets.push_back({end, true});
  Statement s;
  s.pieces.push_back(fmt::format(
      "rem.u32 %t0, {}, {};\n{}: .branchtargets {};\nbrx.idx %t0, {};\n{}:\n", operand('r', false),
      entries.size(), list, fmt::join(entries, ", "), list, labels[0]));
  for (unsigned i = 0; i < n; ++i) {
    s.bodies.push_back(body(inner, 1 + pick(2)));
    std::string tail = pick(4) ? fmt::format("bra {};\n", end) : "";
    tail += i + 1 < n ? labels[i + 1] + ":\n" : end + ":\n";
    s.pieces.push_back(std::move(tail));
  }
  return s;
}

/// A branch out of as many statements as it likes, or the end of the thread.
Statement Generator::leave(const Place& at) {
  std::vector<std::string> to;
  for (const Target& target : at.targets)
    if (target.quiet || at.together) to.push_back(target.label);
  Place how = at;
  // Some threads only, where no others wait for them: barriers count those who are left.
  const bool ends = !at.in_function && (!synchronises_ || plain_) && chance(to.empty() ? 50 : 20);
  if (ends && plain_) how.together = false;
  std::string text;
  const std::string p = condition(how, text);
  if (ends) return leaf(fmt::format("{}@{} {};\n", text, p, choose("exit", "ret")));
  if (to.empty()) return simple(at);
  return leaf(fmt::format("{}@{} bra {};\n", text, p, to[pick(static_cast<unsigned>(to.size()))]));
}

Statement Generator::call(const Place& at) {
  // Callees come first in the text; the shapes go by the function's number.
  const unsigned callee = callable_from_ + pick(functions_ - callable_from_);
  std::string text = "{\n.param .b32 a0;\n.param .b64 a1;\n.param .align 8 .b8 a2[16];\n";
  const bool wide = callee % 2;
  text += wide ? ".param .align 8 .b8 r0[16];\n" : ".param .b32 r0;\n";
  text += fmt::format("st.param.b32 [a0], {};\nst.param.b64 [a1], %z{};\n", operand('r', false),
                      at.in_function ? pick(3) : pick(3));
  text += fmt::format(
      "st.param.b32 [a2], {};\nst.param.u16 [a2+4], {};\nst.param.b16 [a2+6], {};\n"
      "st.param.b64 [a2+8], {};\n",
      operand('r', false), operand('h', false), operand('h', false), operand('d', false));
  std::string name = fmt::format("{}_f{}", name_, callee);
  if (callee + 2 < functions_ && chance(60)) {
    // By address, one of two of the same shape.
    const std::string prototype = label("proto");
    text += fmt::format(
        "mov.u64 %a2, {0}_f{1};\nmov.u64 %a3, {0}_f{2};\nselp.b64 %a2, %a2, %a3, {3};\n"
        "{4}: .callprototype ({5}) _ (.param .b32 _, .param .b64 _, .param .align 8 .b8 _[16]);\n"
        "call (r0), %a2, (a0, a1, a2), {4};\n",
        name_, callee, callee + 2, operand('p', false), prototype,
        wide ? ".param .align 8 .b8 _[16]" : ".param .b32 _");
  } else {
    text += fmt::format("call (r0), {}, (a0, a1, a2);\n", name);
  }
  if (wide) {
    text += fmt::format("ld.param.b64 {}, [r0+8];\nld.param.{} {}, [r0];\n", operand('D', false),
                        choose("u32", "s16", "u8"), operand('R', false));
  } else {
    text += fmt::format("ld.param.b32 {}, [r0];\n", operand('R', false));
  }
  return leaf(text + "}\n");
}

std::string Generator::registers() const {
  return fmt::format(
      ".reg .b32 %r<8>, %u<3>, %t<4>, %l<{}>, %so, %xo, %xn, %row, %me;\n"
      ".reg .b64 %d<4>, %a<4>, %z<3>, %in, %own, %acc, %surf, %again;\n"
      ".reg .b16 %h<4>, %b<2>;\n.reg .f32 %f<4>;\n.reg .f64 %g<2>;\n"
      ".reg .pred %p<4>, %v<2>, %q<2>;\n.local .align 16 .b8 loc[64];\n",
      2 * counters_ + 1);
}

/// Functions: their parameters in some registers, noise in the others.
Unit Generator::function(unsigned index) {
  const bool wide = index % 2;
  Unit unit;
  unit.name = fmt::format("{}_f{}", name_, index);
  counters_ = 0;
  Place at;
  at.in_function = true;
  at.depth = 1;
  const std::string end = label("return");
  at.targets.push_back({end, true});
  budget_ = 2 + pick(5);
  unit.body.push_back(leaf("ld.param.u32 %r0, [pa];\n"));
  unit.body.push_back(leaf("ld.param.u32 %r1, [pc];\n"));
  unit.body.push_back(leaf("ld.param.v2.u16 {%h0, %h1}, [pc+4];\n"));
  unit.body.push_back(leaf("ld.param.u64 %d0, [pc+8];\n"));
  unit.body.push_back(leaf("mov.u64 %z1, loc;\ncvta.local.u64 %z1, %z1;\n"));
  unit.body.push_back(leaf("ld.param.u64 %z0, [pb];\nmov.u64 %z2, %z0;\n"));
  unit.body.push_back(
      leaf("st.local.v2.u64 [loc], {%d0, %d0};\nst.local.v2.u64 [loc+16], {%d0, %d0};\n"
           "st.local.v4.u32 [loc+32], {%r0, %r1, %r1, %r0};\n"
           "st.local.v4.u32 [loc+48], {%r1, %r0, %r0, %r1};\n"));
  unit.body.push_back(
      leaf("add.u32 %r2, %r0, 1;\nxor.b32 %r3, %r0, %r1;\nmov.u32 %r4, 17;\nmov.u32 %r5, %tid.x;\n"
           "mov.u32 %r6, %r1;\nsub.u32 %r7, %r1, %r0;\nnot.b64 %d1, %d0;\nmov.u64 %d2, 5;\n"
           "add.u64 %d3, %d0, 77;\nmov.u16 %h2, 3;\nmov.u16 %h3, %h0;\n"));
  unit.body.push_back(
      leaf("cvt.rn.f32.s32 %f0, %r0;\nmov.f32 %f1, 0f3f800000;\nmov.b32 %f2, %r1;\n"
           "neg.f32 %f3, %f0;\n"));
  unit.body.push_back(leaf("mov.f64 %g0, 0d3ff8000000000000;\nmov.b64 %g1, %d0;\n"));
  unit.body.push_back(
      leaf("setp.lt.s32 %p0, %r0, %r1;\nsetp.ne.u32 %p1, %r0, 0;\n"
           "not.pred %p2, %p0;\nsetp.gt.u32 %p3, %r5, 7;\n"));
  for (Statement& s : body(at, 2 + pick(4))) unit.body.push_back(std::move(s));
  unit.head = fmt::format(
      ".func ({} pr{}) {} (.param .b32 pa, .param .b64 pb, .param .align 8 .b8 pc[16])\n{{\n{}",
      wide ? ".param .align 8 .b8" : ".param .b32", wide ? "[16]" : "", unit.name, registers());
  unit.tail =
      end + ":\n" +
      (wide ? "st.param.u32 [pr], %r0;\nst.param.u32 [pr+4], %r1;\nst.param.u64 [pr+8], %d0;\n"
            : "st.param.u32 [pr], %r0;\n") +
      "ret;\n}\n";
  return unit;
}

Unit Generator::entry() {
  Unit unit;
  unit.name = name_;
  counters_ = 0;
  callable_from_ = 0;
  const std::uint32_t block = kernel_.block[0] * kernel_.block[1];
  const auto add = [&](std::string text) { unit.body.push_back(leaf(std::move(text))); };
  // What every statement may rely on stands in the head.
  std::string head = fmt::format(
      "mov.u32 %t0, %tid.y;\nmov.u32 %t1, %ntid.x;\nmov.u32 %t2, %tid.x;\n"
      "mad.lo.u32 %me, %t0, %t1, %t2;\nmov.u32 %t0, %ctaid.x;\n"
      "mad.lo.u32 %row, %t0, {1}, %me;\nld.param.u64 %in, [{0}_in];\nld.param.u64 %own, "
      "[{0}_out];\n"
      "ld.param.u64 %acc, [{0}_acc];\nld.param.u64 %surf, [{0}_surf];\n"
      "cvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %own, %own;\ncvta.to.global.u64 %acc, "
      "%acc;\n"
      "mul.wide.u32 %a0, %row, {2};\nadd.s64 %own, %own, %a0;\n"
      "mov.u64 %z0, %own;\nmov.u64 %z1, %own;\nmov.u64 %z2, %own;\n",
      name_, block, RandomKernel::kThreadBytes);
  if (memories_ & kShared)
    head += fmt::format("mov.u32 %so, {0}_shared;\nmad.lo.u32 %so, %me, 64, %so;\n", name_);
  if (synchronises_)
    head += fmt::format(
        "mov.u32 %t0, {0}_cells;\nmad.lo.u32 %xo, %me, 4, %t0;\nadd.u32 %t1, %me, {1};\n"
        "rem.u32 %t1, %t1, {2};\nmad.lo.u32 %xn, %t1, 4, %t0;\n",
        name_, 1 + pick(block), block);
  if (memories_ & kGeneric) {
    if (memories_ & kLocal) head += "mov.u64 %z1, loc;\ncvta.local.u64 %z1, %z1;\n";
    if (memories_ & kShared) head += "cvt.u64.u32 %z2, %so;\ncvta.shared.u64 %z2, %z2;\n";
  }
  head += "mul.wide.u32 %a0, %row, 48;\nand.b64 %a0, %a0, 1008;\nadd.s64 %a0, %a0, %in;\n";
  // And the rest may go one by one.
  if (memories_ & kLocal) {
    if (surfaces_) add("st.local.u64 [loc+56], %surf;\nld.local.u64 %again, [loc+56];\n");
    for (unsigned i = 0; i < 4; ++i)
      add(fmt::format("st.local.v4.u32 [loc+{}], {{%row, %me, %me, %row}};\n", 16 * i));
  }
  if (memories_ & kShared)
    for (unsigned i = 0; i < 4; ++i)
      add(fmt::format("st.shared.v4.u32 [%so+{}], {{%row, %me, %me, %row}};\n", 16 * i));
  add(fmt::format("ld.param.u32 %u0, [{}_n];\n", name_));
  add("mov.u32 %u1, %ctaid.x;\n");
  add(fmt::format("add.u32 %u2, %u0, {};\n", pick(50)));
  add("setp.lt.u32 %v0, %u0, 100;\n");
  add("setp.eq.u32 %v1, %u1, 0;\n");
  if (synchronises_) add("st.shared.u32 [%xo], %me;\nbar.sync 0;\n");
  add("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a0];\n");
  add("mov.u32 %r4, %me;\n");
  add("mad.lo.u32 %r5, %r0, 0x9e3779b1, %row;\n");
  add(fmt::format("ld.global.u32 %r6, [%in+{}];\n", pick(250) * 4));
  add("xor.b32 %r7, %r6, %row;\n");
  for (unsigned i = 0; i < 4; ++i)
    add(fmt::format("mov.b64 %d{}, {{%r{}, %r{}}};\n", i, pick(8), pick(8)));
  for (unsigned i = 0; i < 4; ++i) add(fmt::format("cvt.u16.u32 %h{}, %r{};\n", i, pick(8)));
  for (unsigned i = 0; i < 4; ++i)
    add(fmt::format("{} %f{}, %r{};\n", choose("mov.b32", "cvt.rn.f32.s32"), i, pick(8)));
  for (unsigned i = 0; i < 2; ++i)
    if (weight_[5]) add(fmt::format("mov.b64 %g{}, %d{};\n", i, pick(4)));
  for (unsigned i = 0; i < 4; ++i)
    add(fmt::format("setp.{}.u32 %p{}, %r{}, {};\n", choose("lt", "gt", "ne"), i, pick(8),
                    pick(40)));
  Place at;
  at.together = synchronises_;
  for (Statement& s : body(at, 3 + pick(5))) unit.body.push_back(std::move(s));
  // Every register counts, in one of two sums.
  add("mov.u32 %t0, 0;\nmov.u32 %t1, 0;\n");
  unsigned sum = 0;
  const auto keep = [&](const std::string& made, const std::string& word) {
    add(fmt::format("{0}mad.lo.u32 %t{1}, %t{1}, 0x9e3779b1, {2};\n", made, sum ^= 1, word));
  };
  for (unsigned i = 0; i < 8; ++i) keep("", fmt::format("%r{}", i));
  for (unsigned i = 0; i < 3; ++i) keep("", fmt::format("%u{}", i));
  for (unsigned i = 0; i < 4; ++i) {
    keep(fmt::format("mov.b64 {{%t2, %t3}}, %d{};\n", i), "%t2");
    keep(fmt::format("mov.b64 {{%t2, %t3}}, %d{};\n", i), "%t3");
    keep(fmt::format("selp.u32 %t2, 1, 0, %p{};\n", i), "%t2");
    keep(fmt::format("cvt.u32.u16 %t2, %h{};\n", i), "%t2");
    if (weight_[4] || weight_[5] || weight_[6]) keep(fmt::format("mov.b32 %t2, %f{};\n", i), "%t2");
    if (memories_ & kLocal) keep(fmt::format("ld.local.u32 %t2, [loc+{}];\n", 12 * i), "%t2");
    if (memories_ & kShared) keep(fmt::format("ld.shared.u32 %t2, [%so+{}];\n", 16 * i + 4), "%t2");
  }
  for (unsigned i = 0; i < 2; ++i) {
    if (!weight_[5]) continue;
    keep(fmt::format("mov.b64 {{%t2, %t3}}, %g{};\n", i), "%t2");
    keep(fmt::format("mov.b64 {{%t2, %t3}}, %g{};\n", i), "%t3");
  }
  add(fmt::format("st.global.v2.u32 [%own+{}], {{%t0, %t1}};\n", RandomKernel::kCellBytes));
  unit.head = fmt::format(
      ".visible .entry {0}(.param .u64 {0}_in, .param .u64 {0}_out, .param .u64 {0}_acc, "
      ".param .u64 {0}_surf, .param .u32 {0}_n)\n{{\n{1}{2}",
      name_, registers(), head);
  unit.tail = "ret;\n}\n";
  return unit;
}

RandomKernel Generator::make() {
  kernel_.name = name_;
  synchronises_ = chance(50);
  plain_ = synchronises_ && chance(50);
  surfaces_ = chance(40);
  for (unsigned kind : {kLocal, kShared, kGeneric, kGlobal, kTables})
    if (chance(35)) memories_ |= kind;
  kernel_.n = pick(200);
  static constexpr std::uint32_t kBlocks[][2] = {{32, 1}, {32, 1}, {16, 4}, {64, 1}, {8, 8}};
  static constexpr std::uint32_t kOdd[][2] = {{32, 1}, {5, 3}, {33, 1}, {1, 1}, {64, 1}};
  // Warp operations name all lanes, which then have to be there.
  // More than some devices take, whose invocations then run several threads.
  static constexpr std::uint32_t kLarge[][2] = {{1024, 1}, {32, 32}, {1000, 1}, {40, 21}, {300, 1}};
  const bool large = plain_ && chance(10);
  if (large) memories_ &= ~kShared;
  const auto& block = (large ? kLarge : synchronises_ ? kBlocks : kOdd)[pick(5)];
  kernel_.block[0] = block[0];
  kernel_.block[1] = block[1];
  kernel_.grid = 1 + pick(2);
  static constexpr unsigned kUsual[kGroups] = {90, 60, 25, 40, 40, 0, 8, 10};
  for (unsigned i = 0; i < kGroups; ++i) weight_[i] = chance(70) ? kUsual[i] : 0;
  weight_[0] = 90;
  if (chance(12)) weight_[5] = 30;
  const std::uint32_t threads = kernel_.block[0] * kernel_.block[1];
  const auto table = [&] {
    std::string words;
    for (unsigned i = 0; i < 16; ++i)
      words += fmt::format("{}{}", i ? ", " : "", static_cast<std::uint32_t>(rng_()) >> pick(32));
    return words;
  };
  if (memories_ & kTables)
    kernel_.variables += fmt::format(
        ".const .align 4 .u32 {0}_fixed[16] = {{{1}}};\n"
        ".global .align 4 .u32 {0}_table[16] = {{{2}}};\n",
        name_, table(), table());
  if (memories_ & kShared)
    kernel_.variables += fmt::format(".shared .align 16 .b8 {}_shared[{}];\n", name_, threads * 64);
  if (synchronises_)
    kernel_.variables += fmt::format(".shared .align 4 .b8 {}_cells[{}];\n", name_, threads * 4);
  functions_ = chance(30) ? 1 + pick(3) : 0;
  // The highest number calls nobody; it comes first in the text.
  for (unsigned i = functions_; i-- > 0;) {
    callable_from_ = i + 1;
    kernel_.units.push_back(function(i));
  }
  budget_ = 4 + pick(24);
  kernel_.units.push_back(entry());
  return std::move(kernel_);
}

RandomKernel random_kernel(std::mt19937& rng, const std::string& name) {
  return Generator(rng, name).make();
}

}  // namespace ptx2spv::test
