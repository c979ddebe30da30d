#include "dev/programs/program.hpp"
#include "src/cache/fnv.hpp"

namespace ptx2spv::programs {
namespace {

constexpr unsigned kInputWords = 32, kOwnBytes = 64, kCommonBytes = 512, kBlockBytes = 256;
/// Statements that every program has by its number, so that each row comes up.
constexpr unsigned kInOrder = 9;

Shape chosen_shape(Random& random) {
  static constexpr unsigned kBlocks[][3] = {{32, 1, 1}, {64, 1, 1}, {16, 4, 1}, {8, 4, 2},
                                            {96, 1, 1}, {32, 2, 1}, {4, 8, 1},  {20, 3, 1}};
  Shape shape;
  const auto& block = kBlocks[random.below(std::size(kBlocks))];
  std::copy(block, block + 3, shape.block);
  shape.blocks = 1 + random.below(2);
  return shape;
}

/// A word of the input: each has a kind of value of its own.
std::uint32_t input_word(Random& random, unsigned place) {
  static constexpr std::uint32_t kEdges[] = {0,          1,          0xffffffff, 0x7fffffff,
                                             0x80000000, 0x7f800000, 0xff800000, 0x7fc00001,
                                             0x00000001, 0x807fffff, 0x00800000, 0x3f800000,
                                             0x7f7fffff, 0xffff0000, 0x4f000000, 0xcf000000};
  const std::uint32_t word = random.word(), other = random.word();
  const std::uint32_t single = (word & 0x807fffffu) | (112 + other % 30) << 23;
  const auto half = [](std::uint32_t bits, std::uint32_t exponent) {
    return (bits & 0x83ffu) | (6 + exponent % 20) << 10;
  };
  const auto bfloat = [](std::uint32_t bits, std::uint32_t exponent) {
    return (bits & 0x807fu) | (115 + exponent % 24) << 7;
  };
  if (place == 2 && other % 4 == 0) return kEdges[word % std::size(kEdges)];
  if (place < 4) return single;
  if (place < 8) return word;
  if (place < 10) return word % 65;
  if (place < 12) return half(word, other) | half(word >> 16, other >> 8) << 16;
  if (place == 12) return bfloat(word, other) | bfloat(word >> 16, other >> 8) << 16;
  if (place == 13) return kEdges[word % std::size(kEdges)];
  if (place == 15 || place == 17) return (word & 0x800fffffu) | (1005 + other % 40) << 20;
  if (place < 22) return word;
  if (place == 22) return half(word, other) | (word & 0xffff0000u);
  if (place == 23) return bfloat(word, other) | (word & 0xffff0000u);
  return word;
}

std::vector<std::uint32_t> input_of(Random& random, unsigned threads) {
  std::vector<std::uint32_t> input;
  for (unsigned t = 0; t < threads; ++t)
    for (unsigned place = 0; place < kInputWords; ++place)
      input.push_back(input_word(random, place));
  return input;
}

Flavour flavour_of(unsigned place) {
  if (place < 4) return Flavour::single;
  if (place == 10 || place == 11 || place == 22) return Flavour::half;
  if (place == 12 || place == 23) return Flavour::bfloat;
  if (place >= 14 && place < 18) return Flavour::twice;
  return Flavour::integer;
}

/// Values to begin with: out of the input, the parameters, comparisons of them.
void first_values(Writer& w) {
  const auto load = [&](unsigned place, unsigned width, unsigned n) {
    std::string list;
    for (unsigned k = 0; k < n; ++k) {
      Value value = w.bits(width);
      value.flavour = flavour_of(place + k * width / 32);
      w.keep(value);
      list += (k ? ", " : "") + value.name;
    }
    if (n > 1) list = "{" + list + "}";
    w.line("ld.global" + (n > 1 ? ".v" + std::to_string(n) : std::string()) + ".b" +
           std::to_string(width) + " " + list + ", [%in+" + std::to_string(4 * place) + "];");
  };
  load(0, 32, 4);
  load(4, 32, 4);
  load(8, 32, 2);
  load(10, 32, 2);
  load(12, 32, 1);
  load(13, 32, 1);
  load(14, 64, 1);
  load(16, 64, 1);
  load(18, 64, 1);
  load(20, 64, 1);
  load(22, 16, 1);
  load(23, 16, 1);
  load(24, 16, 4);
  load(6, 16, 1);
  const Value a = w.bits(1), b = w.bits(1), c = w.bits(1);
  w.line("setp.lt.s32 " + a.name + ", " + w.pool[4].name + ", 0;");
  w.line("setp.lt.u32 " + b.name + ", %lane, 13;");
  w.line("setp.ne.u32 " + c.name + ", %lane, 99;");
  for (const Value& each : {a, b, c}) w.keep(each);
  const Value n = w.bits(32), s = w.bits(32);
  w.line("ld.param.u32 " + n.name + ", [n];");
  w.line("ld.param.b32 " + s.name + ", [st+12];");
  w.keep(n);
  w.keep(s);
  for (int k = 0; k < 4; ++k) {
    const std::string m = "%m" + std::to_string(k);
    w.line("mov.b32 " + m + ", " + w.pool[4 + static_cast<unsigned>(k)].name + ";");
    w.keep({m, 32, 'b'});
  }
}

/// The rows that come up in order and what has no row, in one circle.
unsigned in_order(const Vocabulary& vocabulary) {
  return static_cast<unsigned>(vocabulary.groups.size()) + 24;
}
void take(Writer& w, Context& context, unsigned which) {
  const unsigned rows = static_cast<unsigned>(context.vocabulary.groups.size());
  if (which < rows) {
    for (int tries = 0; tries < 6; ++tries)
      if (statement(w, context, context.vocabulary.groups[which])) return;
    return;
  }
  switch ((which - rows) % 12) {
    case 0: return branch(w, context);
    case 1: return loop(w, context);
    case 2: return jump_table(w, context);
    case 3: return call(w, context);
    case 4: return exchange(w);
    case 5: return table(w);
    case 6: return stack(w);
    case 7: return surface(w, context.resources);
    case 8: return texture(w, context);
    case 9: return move(w);
    case 10: return fences(w);
    default: return vectors(w);
  }
}

/// What memory of a block's and of a thread's own holds in the end.
void dump(Writer& w) {
  if (w.uses_shared) {
    w.line("bar.sync 0;");
    for (unsigned k = 0; k < 8; ++k) {
      const Value word = w.bits(32);
      w.line("ld.shared.b32 " + word.name + ", [%sh+" + std::to_string(4 * k) + "];");
      w.result(word, false);
    }
    w.line("setp.lt.u32 %px, %tl, 32;");
    w.line("mul.wide.u32 %y0, %tl, 8;");
    w.line("add.u64 %y1, %y0, %shc;");
    w.line("add.u64 %y0, %y0, %blk;");
    w.line("@%px ld.shared.b64 %y1, [%y1];");
    w.line("@%px st.global.b64 [%y0], %y1;");
  }
  for (unsigned k = 0; k < 16; ++k) {
    const Value word = w.bits(32);
    w.line("ld.local.b32 " + word.name + ", [lo+" + std::to_string(4 * k) + "];");
    w.result(word, false);
  }
  for (unsigned k = 0; k < 4; ++k) w.result({"%m" + std::to_string(k), 32, 'b'}, false);
}

std::string prologue(const Writer& w, unsigned stride) {
  const Shape& shape = w.shape;
  std::ostringstream s;
  s << "  .reg .b64 %in, %out, %own, %com, %blk, %sh, %shc, %lo, %cc, %sa, %sb, %ta, %tb, "
       "%aligned, %y<2>;\n"
       "  .reg .b32 %gt, %tl, %lane, %sh32, %x<4>, %m<4>;\n  .reg .pred %px;\n"
       "  .local .align 16 .b8 lo[64];\n"
    << "  .shared .align 16 .b8 sh[" << shape.threads() * 32 << "];\n"
    << "  .shared .align 16 .b8 shc[256];\n"
    << w.registers.str() << "  mov.u32 %x0, %tid.y;\n  mov.u32 %x1, %tid.z;\n"
    << "  mad.lo.u32 %tl, %x1, " << shape.block[1] << ", %x0;\n  mov.u32 %x1, %tid.x;\n"
    << "  mad.lo.u32 %tl, %tl, " << shape.block[0] << ", %x1;\n  mov.u32 %x0, %ctaid.x;\n"
    << "  mad.lo.u32 %gt, %x0, " << shape.threads() << ", %tl;\n  and.b32 %lane, %tl, 31;\n"
    << "  ld.param.u64 %out, [out];\n  ld.param.u64 %in, [in];\n"
    << "  ld.param.u64 %sa, [sa];\n  ld.param.u64 %sb, [sb];\n"
    << "  ld.param.u64 %ta, [ta];\n  ld.param.u64 %tb, [tb];\n"
    << "  cvta.to.global.u64 %in, %in;\n  cvta.to.global.u64 %out, %out;\n"
    << "  mad.wide.u32 %in, %gt, 128, %in;\n  mov.u64 %aligned, %in;\n"
    << "  add.u64 %own, %out, " << shape.total() * stride << ";\n"
    << "  add.u64 %com, %own, " << shape.total() * kOwnBytes << ";\n"
    << "  add.u64 %blk, %com, " << kCommonBytes << ";\n"
    << "  mad.wide.u32 %blk, %x0, " << kBlockBytes << ", %blk;\n"
    << "  mad.wide.u32 %own, %gt, " << kOwnBytes << ", %own;\n"
    << "  mad.wide.u32 %out, %gt, " << stride << ", %out;\n"
    << "  mov.u64 %lo, lo;\n  mov.u64 %cc, cc;\n  mov.u64 %shc, shc;\n  mov.u64 %sh, sh;\n"
    << "  mad.wide.u32 %sh, %tl, 32, %sh;\n  cvt.u32.u64 %sh32, %sh;\n";
  for (unsigned k = 0; k < 4; ++k) {
    s << "  ld.global.v2.b64 {%y0, %y1}, [%in+" << 16 * k << "];\n"
      << "  st.local.v2.b64 [lo+" << 16 * k << "], {%y0, %y1};\n";
    if (w.uses_shared && k < 2) s << "  st.shared.v2.b64 [%sh+" << 16 * k << "], {%y1, %y0};\n";
  }
  if (w.uses_shared) {
    s << "  setp.lt.u32 %px, %tl, 32;\n  mul.wide.u32 %y0, %tl, 8;\n"
         "  add.u64 %y0, %y0, %shc;\n  @%px st.shared.b64 [%y0], %y1;\n";
    // The first block's threads hold unlike words: each block begins with its own.
    s << "  bar.sync 0;\n";
  }
  return s.str();
}

std::uint64_t hash_of(std::uint64_t hash, const std::vector<std::uint8_t>& bytes) {
  return mix(fnv(bytes, hash), bytes.size());
}
std::uint64_t hash_of(std::uint64_t hash, const std::vector<std::uint32_t>& words) {
  for (const std::uint32_t each : words) hash = mix(hash, each);
  return mix(hash, words.size());
}

}  // namespace

void fences(Writer& w) {
  static const std::vector<std::string> kScopes = {"cta", "cluster", "gpu", "sys"},
                                        kOrders = {"", ".sc", ".acq_rel", ".acquire", ".release"},
                                        kOthers = {"membar.cta", "membar.gl", "membar.sys"};
  if (w.random.chance(20)) return w.line(w.random.pick(kOthers) + ";");
  std::string order = w.random.pick(kOrders);
  if (order.empty()) order = ".acq_rel";
  w.line("fence" + order + "." + w.random.pick(kScopes) + ";");
}

Program make_program(const Vocabulary& vocabulary, std::uint64_t number) {
  Program program;
  program.number = number;
  Random random(mix(kGeneration, number));
  program.shape = chosen_shape(random);
  Resources& resources = program.resources;
  resources.loads = loaded_surface(random);
  resources.stores = stored_surface(random, program.shape.total());
  for (auto& each : resources.texture) each = chosen_texture(random);
  resources.use_surfaces = random.chance(60);
  resources.use_textures = random.chance(45);
  ModuleText module;
  Writer w(random, module, program.shape, true);
  Context context{vocabulary, resources};
  module.declarations << ".const .align 16 .b32 cc[16] = {";
  for (unsigned k = 0; k < 16; ++k) module.declarations << (k ? ", " : "") << random.word();
  module.declarations << "};\n";
  first_values(w);
  const std::uint64_t first = number * kInOrder;
  for (unsigned k = 0; k < kInOrder; ++k) {
    take(w, context, static_cast<unsigned>((first + k) % in_order(vocabulary)));
    if (random.chance(60)) structure(w, context);
  }
  w.converged = false;
  dump(w);
  std::string tail;
  if (random.chance(30)) {
    const std::string p = w.predicate();
    w.line("@" + p + (random.chance(50) ? " exit;" : " ret;"));
    w.result({"%tl", 32, 'b'}, false);
  }
  const unsigned stride = (w.cell_bytes + 7) / 8 * 8;
  program.cell_bytes = stride;
  std::ostringstream text;
  text << ".version 9.0\n.target sm_90\n.address_size 64\n"
       << module.declarations.str()
       << ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 sa, .param .u64 sb,\n"
          "  .param .u64 ta, .param .u64 tb, .param .align 16 .b8 st[48], .param .u32 n)\n{\n"
       << prologue(w, stride) << w.code.str() << "  ret;\n}\n";
  program.text = text.str();
  program.input = input_of(random, program.shape.total());
  const unsigned total = program.shape.total();
  const std::size_t cells = std::size_t{total} * stride / 4;
  program.output.assign(cells, 0);
  const std::size_t rest = total * kOwnBytes + kCommonBytes + program.shape.blocks * kBlockBytes;
  for (std::size_t k = 0; k < rest / 4; ++k)
    program.output.push_back(input_word(random, static_cast<unsigned>(k % 16)));
  for (unsigned k = 0; k < 48; ++k)
    program.structure.push_back(static_cast<std::uint8_t>(random.word() >> 13));
  program.count = random.below(100000);
  program.surface = surface_bytes(resources.stores, random.bits());
  program.loaded = surface_bytes(resources.loads, random.bits());
  return program;
}

std::uint64_t Program::digest() const {
  std::uint64_t hash = fnv(text);
  hash = hash_of(hash, input);
  hash = hash_of(hash, output);
  hash = hash_of(hash, structure);
  hash = hash_of(hash, surface);
  hash = hash_of(hash, loaded);
  for (const auto& each : resources.texture) hash = fnv(recorder::describe(each), hash);
  return mix(hash, count);
}

std::uint64_t checksum(const std::vector<std::uint32_t>& output,
                       const std::vector<std::uint8_t>& surface) {
  return hash_of(hash_of(0x9e3779b97f4a7c15u, output), surface);
}

}  // namespace ptx2spv::programs
