#include "tests/random/generate.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ptx2spv::test {

namespace {

constexpr std::uint32_t kWords[] = {0,     1,      2,       3,          5,          7,
                                    8,     16,     31,      32,         33,         63,
                                    255,   256,    0xffff,  0x10000,    0x7fffffff, 0x80000000,
                                    12345, 0xff00, 1000003, 0xfffffffe, 0xffffffff, 0x12345678};
constexpr std::uint32_t kFloats[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x3f000000,
                                     0x40490fdb, 0x7f800000, 0x7fc00000, 0x00800000, 0x00000001,
                                     0x4b000000, 0x7f7fffff, 0x3eaaaaab, 0x42c80000};

struct Access {
  const char* type;
  unsigned bytes;
  const char* registers;  ///< as in templates
};
constexpr Access kAccesses[] = {
    {"u32", 4, "R"},     {"b32", 4, "R"},         {"s32", 4, "R"},      {"u8", 1, "R"},
    {"s8", 1, "R"},      {"u16", 2, "H"},         {"s16", 2, "R"},      {"u8", 1, "H"},
    {"u64", 8, "D"},     {"b64", 8, "D"},         {"f32", 4, "F"},      {"f64", 8, "G"},
    {"v2.u32", 8, "RR"}, {"v4.u32", 16, "RRRR"},  {"v2.u64", 16, "DD"}, {"v4.u16", 8, "HHHH"},
    {"v2.f32", 8, "FF"}, {"v4.u8", 4, "HHHH"},    {"v2.u16", 4, "HH"},  {"s32", 4, "D"},
    {"v2.u8", 2, "RR"},  {"volatile.u32", 4, "R"}};

}  // namespace

Generator::Generator(std::mt19937& rng, std::string name) : rng_(rng), name_(std::move(name)) {}

std::string Generator::label(std::string_view what) {
  return fmt::format("${}_{}_{}", name_, what, labels_++);
}

std::string Generator::immediate(char kind) {
  switch (kind) {
    case 'k': return number(kWords[pick(std::size(kWords))] & 0xffff);
    case 'j':
      return fmt::format("{:#x}", std::uint64_t{kWords[pick(std::size(kWords))]} << (pick(3) * 16));
    case 'e': return fmt::format("0f{:08x}", kFloats[pick(std::size(kFloats))]);
    case 'y': return fmt::format("0d{:08x}00000000", pick(2) ? 0x3ff00000u : 0xc0080000u);
    default: return fmt::format("{:#x}", kWords[pick(std::size(kWords))]);
  }
}

std::string Generator::operand(char kind, bool uniform) {
  switch (kind) {
    case 'R':
    case 'r': return uniform ? fmt::format("%u{}", pick(3)) : fmt::format("%r{}", pick(8));
    case 'U': return fmt::format("%u{}", pick(3));
    case 'H':
    case 'h': return fmt::format("%h{}", pick(4));
    case 'D':
    case 'd': return fmt::format("%d{}", pick(4));
    case 'F':
    case 'f': return fmt::format("%f{}", pick(4));
    case 'G':
    case 'g': return fmt::format("%g{}", pick(2));
    case 'P':
    case 'p': return uniform ? fmt::format("%v{}", pick(2)) : fmt::format("%p{}", pick(4));
    case 'i': return pick(2) ? immediate(kind) : operand('r', uniform);
    case 'k': return pick(2) ? immediate(kind) : operand('h', uniform);
    case 'j': return pick(2) ? immediate(kind) : operand('d', uniform);
    case 'e': return pick(3) ? operand('f', uniform) : immediate(kind);
    case 'y': return pick(3) ? operand('g', uniform) : immediate(kind);
    case 's': return pick(2) ? number(pick(71)) : operand('r', uniform);
    case 'o': return number(pick(32));
    default: return number(pick(33));  // w
  }
}

std::string Generator::expand(std::string_view text, bool uniform) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$') {
      out += operand(text[++i], uniform);
      continue;
    }
    const std::size_t end = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    const std::string_view group =
        end == std::string_view::npos ? "" : text.substr(i + 1, end - i - 1);
    if (group.find('|') == std::string_view::npos) {
      out += text[i];
      continue;
    }
    std::vector<std::string_view> choices;
    std::size_t from = 0;
    for (std::size_t bar; (bar = group.find('|', from)) != std::string_view::npos; from = bar + 1)
      choices.push_back(group.substr(from, bar - from));
    choices.push_back(group.substr(from));
    out += choices[pick(static_cast<unsigned>(choices.size()))];
    i = end;
  }
  return out + "\n";
}

std::string Generator::from_template(bool uniform) {
  for (;;) {
    const Template& t = kTemplates[pick(static_cast<unsigned>(std::size(kTemplates)))];
    if (pick(100) >= weight_[static_cast<unsigned>(t.group)]) continue;
    // Of uniform registers there are words and predicates.
    if (uniform && t.group != Group::word && t.group != Group::bits) continue;
    return expand(t.text, uniform);
  }
}

/// Under a predicate, where it is one instruction.
std::string Generator::guarded(std::string text) {
  const bool one = text.find('\n') + 1 == text.size();
  if (!one || !chance(20)) return text;
  return "@" + choose("", "!") + operand('p', false) + " " + text;
}

/// `to` = a 32-bit offset below `bytes`, a multiple of `size`.
std::string Generator::offset_to(const char* to, unsigned bytes, unsigned size) {
  return fmt::format("and.b32 {}, {}, {};\n", to, operand('r', false), bytes - size);
}

std::string Generator::typed_access(const char* space, const std::string& address,
                                    unsigned offset) {
  Access access = kAccesses[pick(std::size(kAccesses))];
  const bool local = space[0] == '.' && space[1] == 'l';
  while (offset % access.bytes || (access.registers[0] == 'G' && !weight_[5]) ||
         (local && std::string_view(access.type).starts_with("volatile")))
    access = kAccesses[pick(std::size(kAccesses))];
  const bool load = pick(2);
  std::vector<std::string> names;
  for (const char* kind = access.registers; *kind; ++kind) {
    std::string name;
    do {
      name = operand(*kind, false);
    } while (load && std::find(names.begin(), names.end(), name) != names.end());
    names.push_back(std::move(name));
  }
  std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (names.size() > 1) list = "{" + list + "}";
  const std::string type = access.type;
  const std::string head = type.starts_with("volatile")
                               ? fmt::format(".volatile{}{}", space, type.substr(8))
                               : fmt::format("{}.{}", space, type);
  return load ? fmt::format("ld{} {}, [{}+{}];\n", head, list, address, offset)
              : fmt::format("st{} [{}+{}], {};\n", head, address, offset, list);
}

std::string Generator::memory(const Place& at) {
  // A function has memory of its own, and one generic address.
  const unsigned kinds = at.in_function ? (memories_ & kTables) | kLocal | kGeneric : memories_;
  const unsigned fixed = 4 * pick(4);
  const std::string offset = offset_to("%t0", 48, 16) + "cvt.u64.u32 %a0, %t0;\n";
  switch (kinds & (1u << pick(5))) {
    case kLocal:
      if (pick(2)) return typed_access(".local", "loc", 4 * pick(12));
      return offset + "mov.u64 %a1, loc;\nadd.s64 %a0, %a0, %a1;\n" +
             typed_access(".local", "%a0", fixed);
    case kGeneric:
      if (pick(2))
        return fmt::format("selp.b64 %a0, %z0, %z{}, {};\n", 1 + pick(2), operand('p', false)) +
               typed_access("", "%a0", 4 * pick(12));
      return offset + fmt::format("add.s64 %a0, %a0, %z{};\n", pick(3)) +
             typed_access("", "%a0", fixed);
    case kTables: {
      const bool constant = pick(2);
      return offset_to("%t0", 64, 4) +
             fmt::format(
                 "cvt.u64.u32 %a0, %t0;\nmov.u64 %a1, {0}_{1};\nadd.s64 %a0, %a0, %a1;\n"
                 "ld.{2}.u32 {3}, [%a0];\n",
                 name_, constant ? "fixed" : "table", constant ? "const" : "global",
                 operand('R', false));
    }
    case kShared:
      return offset_to("%t0", 48, 16) + "add.u32 %t0, %t0, %so;\n" +
             typed_access(".shared", "%t0", fixed);
    case kGlobal:
      if (pick(4) == 0)
        return offset_to("%t0", 1024, 4) +
               fmt::format(
                   "cvt.u64.u32 %a0, %t0;\nadd.s64 %a0, %a0, %in;\nld.global{}.u32 {}, [%a0];\n",
                   choose("", ".nc", ".ca", ".cg"), operand('R', false));
      return offset + "add.s64 %a0, %a0, %own;\n" + typed_access(".global", "%a0", fixed);
    default: return from_template(false);
  }
}

std::string Generator::own_atomic() {
  const bool global = !(memories_ & kShared) || pick(2), wide = pick(4) == 0;
  std::string text = offset_to("%t0", 48, 8);
  if (global)
    text += "cvt.u64.u32 %a0, %t0;\nadd.s64 %a0, %a0, %own;\n";
  else
    text += "add.u32 %t0, %t0, %so;\n";
  const std::string space = global ? ".global" : ".shared", address = global ? "%a0" : "%t0";
  const char to = wide ? 'D' : 'R', from = wide ? 'd' : 'r';
  const std::string bits = wide ? "64" : "32";
  switch (pick(5)) {
    case 0:
      return text + fmt::format("atom{}.cas.b{} {}, [{}], {}, {};\n", space, bits,
                                operand(to, false), address, operand(from, false),
                                operand(from, false));
    case 1:
      return text + fmt::format("atom{}.exch.b{} {}, [{}], {};\n", space, bits, operand(to, false),
                                address, operand(from, false));
    case 2:
      if (!wide)
        return text + fmt::format("atom{}.{}.u32 {}, [{}], {};\n", space, choose("inc", "dec"),
                                  operand(to, false), address, operand(from, false));
      [[fallthrough]];
    default: {
      const std::string op =
          choose("add.u", "min.u", "max.u", "min.s", "max.s", "and.b", "or.b", "xor.b");
      return text + fmt::format("atom{}.{}{} {}, [{}], {};\n", space, op, bits, operand(to, false),
                                address, operand(from, false));
    }
  }
}

/// A reduction over all threads: any order gives the same, as each cell has one operation.
std::string Generator::counter() {
  static constexpr const char* kOperations[] = {"add.u32", "min.u32", "max.u32", "min.s32",
                                                "max.s32", "and.b32", "or.b32",  "xor.b32"};
  static constexpr const char* kWide[] = {"add.u64", "min.u64", "max.s64", "xor.b64"};
  if (pick(4)) {
    const unsigned i = pick(8);
    return fmt::format("red.global.{} [%acc+{}], {};\n", kOperations[i], 4 * i,
                       operand('r', false));
  }
  const unsigned i = pick(4);
  return fmt::format("red.global.{} [%acc+{}], {};\n", kWide[i], 32 + 8 * i, operand('d', false));
}

/// Every thread has a row of the surface.
std::string Generator::surface() {
  struct Width {
    const char* type;
    unsigned bytes;
    const char* registers;
  };
  static constexpr Width kWidths[] = {
      {"b32", 4, "R"}, {"v2.b32", 8, "RR"}, {"v4.b32", 16, "RRRR"}, {"b8", 1, "R"},
      {"b16", 2, "H"}, {"b64", 8, "D"},     {"v4.b8", 4, "HHHH"},   {"v2.b16", 4, "HH"}};
  const std::string mode = choose("trap", "clamp", "zero");
  const std::string handle = memories_ & kLocal ? choose("%surf", "%again") : "%surf";
  const unsigned what = pick(5);
  const Width width = what == 4 ? kWidths[0] : kWidths[pick(std::size(kWidths))];
  // Out of range only where that is defined.
  std::string text = mode == "trap" || pick(2)
                         ? offset_to("%t0", RandomKernel::kRowBytes, width.bytes)
                         : fmt::format("and.b32 %t0, {}, {};\n", operand('r', false),
                                       choose("-16", "112", "0x800000f0"));
  if (what == 4)
    return text + fmt::format("sured.b.{}.2d.{}.{} [{}, {{%t0, %row}}], {};\n",
                              choose("add", "min", "max"), choose("u32", "s32"), mode, handle,
                              operand('r', false));
  std::vector<std::string> names;
  const bool load = what < 2;
  for (const char* kind = width.registers; *kind; ++kind) {
    std::string name;
    do {
      name = operand(*kind, false);
    } while (load && std::find(names.begin(), names.end(), name) != names.end());
    names.push_back(std::move(name));
  }
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (load)
    return text + fmt::format("suld.b.2d.{}.{} {{{}}}, [{}, {{%t0, %row}}];\n", width.type, mode,
                              list, handle);
  return text + fmt::format("sust.b.2d.{}.{} [{}, {{%t0, %row}}], {{{}}};\n", width.type, mode,
                            handle, list);
}

/// A product of matrices by each warp.
std::string Generator::product() {
  struct Form {
    const char *name, *rest;
    char factor, sum;  ///< registers, of which there are so many of a, of b and of c
    unsigned a, b, c;
  };
  static constexpr Form kForms[] = {
      {"mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32", "", 'r', 'r', 2, 1, 4},
      {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "", 'r', 'r', 1, 1, 2},
      {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "", 'r', 'r', 2, 1, 2},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "", 'r', 'f', 4, 2, 4},
      {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "", 'r', 'f', 2, 1, 4},
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "", 'g', 'g', 1, 1, 2},
      {"mma.sp.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", ", %r3, 1", 'r', 'r', 2, 2, 4}};
  const Form& form = kForms[pick(std::size(kForms))];
  const auto list = [&](char kind, unsigned count) {
    const unsigned all = kind == 'r' ? 8 : kind == 'f' ? 4 : 2, first = pick(all);
    std::vector<std::string> names;
    for (unsigned i = 0; i < count; ++i)
      names.push_back(fmt::format("%{}{}", kind, (first + i) % all));
    return fmt::format("{{{}}}", fmt::join(names, ", "));
  };
  std::string text = form.name;
  const char* between = " ";
  for (const auto& [kind, count] : {std::pair(form.sum, form.c), std::pair(form.factor, form.a),
                                    std::pair(form.factor, form.b), std::pair(form.sum, form.c)}) {
    text += between + list(kind, count);
    between = ", ";
  }
  return text + form.rest + ";\n";
}

/// What needs every thread: barriers, exchanges through shared memory, warp operations.
std::string Generator::together() {
  switch (pick(plain_ ? 3 : 10)) {
    case 0: return "bar.sync 0;\n";
    case 1:
    case 2:
      // %xo is the thread's cell, %xn another's.
      return fmt::format(
          "st.shared.b32 [%xo], {};\nbar.sync 0;\nld.shared.b32 {}, [%xn];\nbar.sync 0;\n",
          operand('r', false), operand('R', false));
    case 3:
      return fmt::format("bar.red.popc.u32 {}, 0, {};\n", operand('U', true), operand('p', false));
    case 4:
      return fmt::format("bar.red.{}.pred %v{}, 0, {};\n", choose("and", "or"), pick(2),
                         operand('p', false));
    case 5:
      return fmt::format("shfl.sync.{}.b32 {}|{}, {}, {}, {}, -1;\n", choose("bfly", "idx", "down"),
                         operand('R', false), operand('P', false), operand('r', false),
                         pick(2) ? number(pick(32)) : operand('r', false),
                         choose("31", "0x181f", "0x1c1f"));
    case 6:
      return fmt::format("shfl.sync.up.b32 {}, {}, {}, {}, -1;\n", operand('R', false),
                         operand('r', false), pick(32), choose("0", "0x1000"));
    case 7: return product();
    case 8:
      return fmt::format("vote.sync.{}.pred {}, {}, -1;\n", choose("all", "any", "uni"),
                         operand('P', false), operand('p', false));
    default:
      return pick(2) ? fmt::format("vote.sync.ballot.b32 {}, {}, -1;\n", operand('R', false),
                                   operand('p', false))
                     : fmt::format("redux.sync.{} {}, {}, -1;\n",
                                   choose("add.u32", "min.s32", "max.u32", "xor.b32"),
                                   operand('R', false), operand('r', false));
  }
}

Statement Generator::simple(const Place& at) {
  if (at.together && chance(25)) return leaf(together());
  if (at.together && chance(15)) return leaf(from_template(true));
  if (chance(22)) return leaf(memory(at));
  if (!at.in_function && memories_ && chance(5)) return leaf(own_atomic());
  if (!at.in_function && chance(5)) return leaf(counter());
  if (!at.in_function && surfaces_ && chance(15)) return leaf(surface());
  return leaf(guarded(from_template(false)));
}

}  // namespace ptx2spv::test
