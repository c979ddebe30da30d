// Surfaces and textures: operations become memory accesses by what their records say.
#include <tuple>

#include "ptx2spv/abi.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/surface/lower_surfaces.hpp"
#include "translator/passes/texture/texture_records.hpp"
#include "translator/passes/traps/lower_traps.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

constexpr std::uint32_t kGeneration = 7, kDiscard = 128;

/// Parameters as a host leaves them: the handle, then a record of one row of 64 bytes.
Memory launch(const EntryInfo& info, std::uint32_t handle_generation) {
  Memory memory;
  memory.of(Space::global).resize(192);
  memory.of(Space::trap).resize(4u * abi::kTrapWords);
  put(memory, Space::param, 0, 1);
  put(memory, Space::param, 4, handle_generation);
  const std::pair<abi::SurfaceWord, std::uint32_t> words[] = {
      {abi::s_base_hi, 1},     {abi::s_row_bytes, 64},           {abi::s_rows, 1},
      {abi::s_slices, 1},      {abi::s_row_pitch, 64},           {abi::s_slice_pitch_lo, 64},
      {abi::s_texel_bytes, 4}, {abi::s_generation, kGeneration}, {abi::s_channels, 1},
      {abi::s_width, 16},      {abi::s_row_bytes_1d, 64}};
  put(memory, Space::param, info.slot_records + 4u * abi::kSurfaceWords - 4, 0);
  for (const auto& [which, value] : words)
    put(memory, Space::param, info.slot_records + 4u * which, value);
  put(memory, Space::push, 4u * abi::discard, kDiscard);
  put(memory, Space::push, 4u * abi::discard + 4, 1);
  return memory;
}

struct Store {
  Parsed p;
  EntryInfo info;
  Store(const std::string& x, passes::AfterFault after)
      : p("b0:\n  %1 = constant i32 0x0\n  %2 = load i64 mem=param,8,readonly %1\n"
          "  %3 = constant i32 " +
              x + "\n  %4 = constant i32 0x2a\n  surf_store %2 %3 %4\n  exit\n",
          Form::variables) {
    p.f.surface_ops = {{}};
    info.param_bytes = info.param_buffer_bytes = 8;
    passes::find_slots(p.f, info);
    EXPECT_EQ(info.slots.size(), 1u);
    TranslateOptions options;
    options.slots = {{.backing = Backing::address}};
    passes::lower_surfaces(p.f, p.m, options, info, after);
    p.expect_valid();
    EXPECT_FALSE(p.has(Op::surf_store));
    EXPECT_EQ(info.trap_sites.size(), 1u);
    passes::lower_traps(p.f, false, after);
    p.expect_valid();
  }
};

class LowerSurfaces : public testing::TestWithParam<passes::AfterFault> {};
INSTANTIATE_TEST_SUITE_P(Threads, LowerSurfaces,
                         testing::Values(passes::AfterFault::goes_on, passes::AfterFault::returns));

TEST_P(LowerSurfaces, a_store_lands_in_its_row) {
  Store store("0x4", GetParam());
  Memory memory = launch(store.info, kGeneration);
  EXPECT_EQ(store.p.run(memory).error, "");
  EXPECT_EQ(word(memory, Space::global, 4), 42u);
  EXPECT_EQ(word(memory, Space::trap, 0), 0u);
}

TEST_P(LowerSurfaces, a_store_beyond_its_row_is_a_fault_and_touches_nothing) {
  Store store("0x40", GetParam());
  Memory memory = launch(store.info, kGeneration);
  EXPECT_EQ(store.p.run(memory).error, "");
  for (std::size_t at = 0; at < kDiscard; at += 4) EXPECT_EQ(word(memory, Space::global, at), 0u);
  EXPECT_EQ(word(memory, Space::trap, 4u * abi::t_count), 1u);
  EXPECT_EQ(word(memory, Space::trap, 4u * abi::t_kind),
            static_cast<unsigned>(abi::TrapKind::out_of_bounds));
  EXPECT_EQ(word(memory, Space::trap, 4u * abi::t_coord), 0x40u);
}

TEST_P(LowerSurfaces, a_dead_handle_is_a_fault_and_touches_nothing) {
  Store store("0x4", GetParam());
  Memory memory = launch(store.info, kGeneration + 1);
  EXPECT_EQ(store.p.run(memory).error, "");
  for (std::size_t at = 0; at < kDiscard; at += 4) EXPECT_EQ(word(memory, Space::global, at), 0u);
  EXPECT_EQ(word(memory, Space::trap, 4u * abi::t_kind),
            static_cast<unsigned>(abi::TrapKind::dead_handle));
}

// The place, the row's pitch and the generation are one load, the bounds another.
TEST(LowerSurfaces, the_record_of_a_handle_out_of_memory_is_read_in_two_loads) {
  // At x 4, row 2, slice or layer 1.
  const std::tuple<Geometry, const char*> rows[] = {
      {Geometry::d2, "%3 %4"}, {Geometry::a2d, "%5 %3 %4"}, {Geometry::d3, "%3 %4 %5"}};
  for (const auto& [geometry, coordinates] : rows) {
    const bool is_plane = geometry == Geometry::d2;
    Parsed p(
        "b0:\n  %1 = constant i64 0x100000000\n  %2 = load i64 mem=global,8 %1\n"
        "  %3 = constant i32 0x4\n  %4 = constant i32 0x2\n  %5 = constant i32 0x1\n"
        "  %6 = constant i32 0x2a\n  surf_store %2 " +
            std::string(coordinates) + " %6\n  exit\n",
        Form::variables);
    p.f.surface_ops = {{.geometry = geometry}};
    EntryInfo info;
    passes::find_slots(p.f, info);
    EXPECT_TRUE(info.slots.empty());
    passes::lower_surfaces(p.f, p.m, {}, info, passes::AfterFault::goes_on);
    passes::lower_traps(p.f, false, passes::AfterFault::goes_on);
    p.expect_valid();
    const auto loads = [&](unsigned size) {
      return p.count([&](Value v, BlockId) {
        const Inst& inst = p.f.insts[v];
        return inst.op == Op::load && inst.mem.space == Space::table && inst.mem.bytes == size;
      });
    };
    // The pitch of slices or layers is one of its own.
    EXPECT_EQ(loads(8), 1u) << print(p.f, p.m);
    EXPECT_EQ(loads(16), is_plane ? 1u : 2u);
    EXPECT_EQ(loads(4), 0u);
    constexpr std::uint32_t kRecord = 4u * abi::kSurfaceWords;
    const std::pair<abi::SurfaceWord, std::uint32_t> words[] = {{abi::s_base_hi, 1},
                                                                {abi::s_base_lo, 16},
                                                                {abi::s_row_pitch, 64},
                                                                {abi::s_generation, kGeneration},
                                                                {abi::s_rows, 3},
                                                                {abi::s_slices, 2},
                                                                {abi::s_row_bytes_2d, 64},
                                                                {abi::s_row_bytes_3d, 64},
                                                                {abi::s_width, 16},
                                                                {abi::s_slice_pitch_lo, 192},
                                                                {abi::s_layer_pitch_lo, 192}};
    Memory memory;
    memory.of(Space::global).resize(1024);
    memory.of(Space::trap).resize(4u * abi::kTrapWords);
    memory.of(Space::table).resize(2 * kRecord);
    for (const auto& [which, value] : words) put(memory, Space::table, kRecord + 4u * which, value);
    put(memory, Space::global, 0, 1);
    put(memory, Space::global, 4, kGeneration);
    put(memory, Space::push, 4u * abi::surface_count, 2);
    put(memory, Space::push, 4u * abi::discard, kDiscard + 512);
    put(memory, Space::push, 4u * abi::discard + 4, 1);
    EXPECT_EQ(p.run(memory).error, "");
    EXPECT_EQ(word(memory, Space::trap, 0), 0u);
    EXPECT_EQ(word(memory, Space::global, 16 + 4 + 2 * 64 + (is_plane ? 0 : 192)), 42u);
  }
}

TEST(TextureRecords, what_the_host_knows_is_constant_and_the_rest_is_read_from_the_copy) {
  for (const bool known : {false, true}) {
    Function f;
    Builder b(f);
    b.at(b.new_block());
    const Value handle =
        b.load(Type::i64, b.i32(0), {.space = Space::param, .bytes = 8, .readonly = true});
    const Value low = b.inst(Op::trunc, Type::i32, {handle});
    const Value place = passes::record_place(b, low, b.cmp(Op::ult, low, b.i32(100)));
    const auto load = [&](abi::TextureWord which) {
      return b.load(Type::i32, b.op2(Op::add, place, b.i32(4u * which)),
                    {.space = Space::textures, .bytes = 4, .readonly = true});
    };
    const Value channels = load(abi::x_channels), width = load(abi::x_width);
    b.exit();
    EntryInfo info;
    info.param_bytes = info.param_buffer_bytes = 8;
    passes::find_texture_slots(f, Module(), info);
    ASSERT_EQ(info.textures.slots, std::vector<std::uint32_t>{0});
    passes::fix_texture_records(f, info, {{.known = known, .channels = 4}});
    EXPECT_EQ(f.insts[channels].op == Op::constant, known);
    EXPECT_EQ(f.insts[width].mem.space == Space::param, known);
    if (!known) continue;
    EXPECT_EQ(f.insts[channels].imm, 4u);
    EXPECT_EQ(f.insts[f.arg(width, 0)].imm, info.textures.records + 4u * abi::x_width);
  }
}

}  // namespace
}  // namespace ptx2spv
