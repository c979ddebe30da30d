#include "tests/spirv/emit_fixture.hpp"

#include <fmt/format.h>
#include <spirv/unified1/GLSL.std.450.h>

namespace ptx2spv::test {
namespace {

using ir::AtomicOp;
using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

bool has_int64(const Profile& p) { return p.features.int64; }

TEST(Emit, integer_operations_of_32_bits) {
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::mulhi_u, Op::mulhi_s, Op::and_, Op::or_,
                      Op::xor_, Op::shl, Op::lshr, Op::ashr, Op::udiv, Op::sdiv, Op::urem, Op::srem,
                      Op::umin, Op::umax, Op::smin, Op::smax}) {
    SCOPED_TRACE(ir::info(op).name);
    check_all([&](Kernel& k, const Profile&) {
      const Value a = k.input(Type::i32), b = k.input(Type::i32, 4);
      k.output(k.b.op2(op, a, b));
      k.output(k.b.op2(op, a, k.b.i32(7)), 4);
      k.output(k.b.op2(op, a, k.b.i32(0)), 8);
    });
  }
}

TEST(Emit, integer_operations_of_64_bits) {
  for (const Op op :
       {Op::add, Op::sub, Op::mul, Op::mulhi_u, Op::mulhi_s, Op::and_, Op::or_, Op::xor_, Op::udiv,
        Op::sdiv, Op::urem, Op::srem, Op::umin, Op::umax, Op::smin, Op::smax}) {
    SCOPED_TRACE(ir::info(op).name);
    check_all(
        [&](Kernel& k, const Profile&) {
          k.output(k.b.op2(op, k.input(Type::i64), k.input(Type::i64, 8)));
        },
        {}, has_int64);
  }
  for (const Op op : {Op::shl, Op::lshr, Op::ashr}) {
    check_all(
        [&](Kernel& k, const Profile&) {
          const Value a = k.input(Type::i64);
          k.output(k.inst(op, Type::i64, {a, k.input(Type::i32, 8)}));
          k.output(k.inst(op, Type::i64, {a, k.b.i32(63)}), 8);
          k.output(k.inst(op, Type::i64, {a, k.b.i32(64)}), 16);
        },
        {}, has_int64);
  }
}

TEST(Emit, comparisons_and_logic) {
  for (const Op op : {Op::eq, Op::ne, Op::ult, Op::ule, Op::slt, Op::sle}) {
    check_all([&](Kernel& k, const Profile& p) {
      k.output(k.b.cmp(op, k.input(Type::i32), k.input(Type::i32, 4)));
      if (p.features.int64) k.output(k.b.cmp(op, k.input(Type::i64), k.input(Type::i64, 8)), 4);
    });
  }
  check_all([&](Kernel& k, const Profile&) {
    const Value a = k.b.cmp(Op::eq, k.input(Type::i32), k.b.i32(1));
    const Value b = k.b.cmp(Op::ult, k.input(Type::i32), k.b.i32(9));
    unsigned at = 0;
    for (const Op op : {Op::and_, Op::or_, Op::xor_, Op::eq, Op::ne})
      k.output(k.b.op2(op, a, b), at += 4);
    k.output(k.inst(Op::not_, Type::i1, {a}), at += 4);
    k.output(k.b.select(a, b, k.b.i1(true)), at += 4);
  });
}

TEST(Emit, bit_operations) {
  check_all([&](Kernel& k, const Profile&) {
    const Value a = k.input(Type::i32), n = k.input(Type::i32, 4);
    unsigned at = 0;
    for (const Op op : {Op::not_, Op::neg, Op::popcount, Op::find_msb, Op::bit_reverse})
      k.output(k.inst(op, Type::i32, {a}), at += 4);
    k.output(k.inst(Op::bfe_u, Type::i32, {a, n, k.b.i32(3)}), at += 4);
    k.output(k.inst(Op::bfe_s, Type::i32, {a, n, k.b.i32(3)}), at += 4);
    k.output(k.inst(Op::bfi, Type::i32, {a, n, n, k.b.i32(3)}), at += 4);
    k.output(k.inst(Op::popcount, Type::i32, {k.input(Type::i64)}), at += 4);
  });
}

TEST(Emit, dot_products_of_bytes_by_their_signs) {
  const std::string text = check_all(
      [&](Kernel& k, const Profile&) {
        const Value a = k.input(Type::i32), b = k.input(Type::i32, 4);
        for (unsigned signs = 0; signs < 4; ++signs)
          k.output(k.inst(Op::dot4, Type::i32, {a, b}, signs), signs * 4);
      },
      {}, [](const Profile& p) { return p.features.dot4_mixed; });
  for (const char* op : {" OpUDot ", " OpSDot ", " OpSUDot "})
    EXPECT_NE(text.find(op), std::string::npos) << text;
}

TEST(Emit, conversions_between_types) {
  check_all([&](Kernel& k, const Profile&) {
    const Value w = k.input(Type::i64), a = k.input(Type::i32);
    const Value c = k.b.cmp(Op::eq, a, k.b.i32(3));
    k.output(k.inst(Op::zext, Type::i32, {c}), 0);
    k.output(k.inst(Op::zext, Type::i64, {c}), 8);
    k.output(k.inst(Op::zext, Type::i64, {a}), 16);
    k.output(k.inst(Op::sext, Type::i64, {a}), 24);
    k.output(k.inst(Op::trunc, Type::i32, {w}), 32);
    k.output(k.inst(Op::high, Type::i32, {w}), 36);
    const Value packed = k.inst(Op::pack, Type::i64, {a, k.inst(Op::high, Type::i32, {w})});
    k.output(packed, 40);
    k.output(k.inst(Op::trunc, Type::i32, {packed}), 48);
    const Value v2 = k.inst(Op::compose, Type::v2, {a, a});
    const Value v4 = k.inst(Op::compose, Type::v4, {a, a, k.b.i32(1), a});
    k.output(v2, 56);
    k.output(v4, 64);
    k.output(k.inst(Op::extract, Type::i32, {v4}, 2), 80);
    k.output(k.inst(Op::extract, Type::i32, {k.input(Type::v4)}, 3), 84);
    k.output(k.b.select(c, w, k.b.i64(0x123456789abcdef)), 88);
    k.output(k.b.select(c, v4, k.inst(Op::undef, Type::v4, {})), 96);
  });
}

TEST(Emit, native_floats) {
  const std::string text = check_all([&](Kernel& k, const Profile& p) {
    const ir::FpAttr to32{.kind = ir::NumKind::f32, .to = ir::NumKind::f32};
    for (const Type t : {Type::i32, Type::i64}) {
      if (t == Type::i64 && !p.features.float64) continue;
      unsigned at = t == Type::i32 ? 0 : 1024;
      const Value a = k.input(t), b = k.input(t, 8);
      for (const Op op : {Op::native_fadd, Op::native_fsub, Op::native_fmul, Op::native_fdiv})
        k.output(k.b.op2(op, a, b), at += 8);
      k.output(k.inst(Op::native_ffma, t, {a, b, k.inst(Op::constant, t, {}, 0x3f800000)}),
               at += 8);
      k.output(k.inst(Op::native_fsqrt, t, {a}), at += 8);
      for (const Op op : {Op::native_feq, Op::native_flt, Op::native_fle})
        k.output(k.b.cmp(op, a, b), at += 8);
      const Value from = k.b.fp(Op::native_from_s, t, {k.input(Type::i32)}, to32);
      k.output(from, at += 8);
      k.output(k.b.fp(Op::native_to_u, Type::i32, {k.b.op2(Op::native_fadd, from, from)}, to32),
               at += 8);
    }
    const Value a = k.input(Type::i32);
    k.output(k.inst(Op::native_unary, Type::i32, {a}, GLSLstd450Exp2), 2048);
    for (const Op op : {Op::native_fmin, Op::native_fmax}) k.output(k.b.op2(op, a, a), 2064);
    if (p.features.float64) k.output(k.inst(Op::native_fconvert, Type::i64, {a}), 2056);
  });
  EXPECT_NE(text.find("NoContraction"), std::string::npos);
  for (const char* word : {"NMin", "NMax"}) EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(Emit, native_halves) {
  for (const bool has : {false, true}) {
    const std::string text = check_all(
        [&](Kernel& k, const Profile& p) {
          const Value a = k.input(Type::i32), b = k.input(Type::i32, 4);
          const Value high = k.b.op2(Op::lshr, a, k.b.i32(16));
          const Value sum = k.b.op2(Op::native_fadd, k.inst(Op::native_widen16, Type::i32, {a}),
                                    k.inst(Op::native_widen16, Type::i32, {high}));
          k.output(sum);
          if (!p.features.float16) return;
          const Value minus = k.b.op2(Op::xor_, b, k.b.i32(0x80008000));
          k.output(k.b.op2(Op::native_hadd2, a, minus), 4);
          k.output(k.b.op2(Op::native_hmul2, a, b), 8);
          k.output(k.inst(Op::native_hfma2, Type::i32, {a, b, minus}), 12);
        },
        {}, [&](const Profile& p) { return p.features.float16 == has; });
    ASSERT_FALSE(text.empty());
    for (const char* of_float16 : {"Float16", "OpFConvert", "OpFNegate %v2half", "Fma"})
      EXPECT_EQ(text.find(of_float16) != std::string::npos, has) << of_float16 << text;
    EXPECT_EQ(text.find("UnpackHalf2x16") != std::string::npos, !has) << text;
  }
}

// A driver that makes a product and a sum of an fma, which SPIR-V permits, rounds twice then: it is
// seen to, whatever it makes of the two elsewhere.
TEST(Emit, an_fma_is_one_operation) {
  const std::string text = check_all([&](Kernel& k, const Profile&) {
    const Value a = k.input(Type::i32);
    k.output(k.inst(Op::native_ffma, Type::i32, {a, a, a}));
  });
  const std::size_t at = text.find(" NoContraction");
  ASSERT_NE(at, std::string::npos) << text;
  const std::size_t from = text.rfind('%', at);
  const std::string id = text.substr(from, at - from);
  const std::size_t made = text.find("\n" + id + " = OpExtInst %float ");
  ASSERT_NE(made, std::string::npos) << text;
  EXPECT_LT(text.find(" Fma ", made), text.find('\n', made + 1)) << text;
}

TEST(Emit, a_test_for_nan_compares_floats_where_the_module_keeps_nan) {
  for (const bool keeps : {false, true}) {
    const std::string text = check_all(
        [&](Kernel& k, const Profile&) {
          const Value magnitude = k.b.op2(Op::and_, k.input(Type::i32), k.b.i32(0x7fffffff));
          k.output(k.b.cmp(Op::ult, k.b.i32(0x7f800000), magnitude));
          k.output(k.b.cmp(Op::ult, k.b.i32(0x7f800001), magnitude), 4);
        },
        {}, [&](const Profile& p) { return p.features.keeps_specials32 == keeps; });
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(text.find("OpIsNan") != std::string::npos, keeps) << text;
    EXPECT_NE(text.find("OpULessThan"), std::string::npos) << text;
  }
}

// Of a NaN neg and abs leave the sign, which the bits of an operand would not.
TEST(Emit, signs_that_leave_nan_are_modifiers_where_the_devices_own_do) {
  for (const bool leaves : {false, true}) {
    const std::string text = check_all(
        [&](Kernel& k, const Profile&) {
          const Value a = k.input(Type::i64);
          const Value is_nan = k.b.cmp(Op::ult, k.b.i64(0x7ff0000000000000),
                                       k.b.op2(Op::and_, a, k.b.i64(0x7fffffffffffffff)));
          const Value quiet = k.b.op2(Op::or_, a, k.b.i64(0x0008000000000000));
          const Value minus =
              k.b.select(is_nan, quiet, k.b.op2(Op::xor_, a, k.b.i64(0x8000000000000000)));
          k.output(k.b.op2(Op::native_fadd, a, minus));
          const Value bits = k.b.op2(Op::xor_, a, k.b.i64(0x8000000000000000));
          k.output(k.b.op2(Op::native_fmul, bits, bits), 8);
        },
        {},
        [&](const Profile& p) {
          return has_int64(p) && p.features.float64 && p.exactness.exact_float64 &&
                 p.exactness.nan_signs64 == leaves;
        });
    ASSERT_FALSE(text.empty());
    const std::size_t negation = text.find("OpFNegate %double");
    ASSERT_NE(negation, std::string::npos) << text;
    EXPECT_EQ(text.find("OpFAdd") < negation, !leaves) << text;
    EXPECT_EQ(text.find("OpFNegate %double", negation + 1), std::string::npos) << text;
  }
}

TEST(Emit, floats_that_only_floats_use_have_no_bits) {
  const std::string text = check_all([&](Kernel& k, const Profile&) {
    const Value a = k.input(Type::i32);
    const Value b = k.b.op2(Op::native_fadd, a, a);
    k.output(k.b.op2(Op::native_fmul, b, b));
  });
  std::size_t casts = 0;
  for (std::size_t at = text.find("OpBitcast"); at != std::string::npos;
       at = text.find("OpBitcast", at + 1))
    ++casts;
  EXPECT_EQ(casts, 2u) << text;
}

TEST(Emit, memory_of_every_space_and_size) {
  for (const Space space :
       {Space::global, Space::shared, Space::local, Space::trap, Space::locks, Space::slot}) {
    for (const bool is_volatile : {false, true}) {
      SCOPED_TRACE(static_cast<int>(space));
      check_all([&](Kernel& k, const Profile&) {
        k.function.local_bytes = 64;
        k.function.shared_bytes = 100;
        k.function.uses_dynamic_shared = is_volatile;
        Value address = space == Space::global ? k.input(Type::i64) : k.input(Type::i32);
        const auto mem = [&](unsigned bytes) {
          return ir::MemAttr{.space = space,
                             .bytes = static_cast<std::uint8_t>(bytes),
                             .is_volatile = is_volatile};
        };
        for (const unsigned bytes : {1u, 2u, 4u}) {
          const Value v = k.b.load(Type::i32, address, mem(bytes));
          k.b.store(address, v, mem(bytes));
        }
        for (const Type type : {Type::i64, Type::v2})
          k.b.store(address, k.b.load(type, address, mem(8)), mem(8));
        k.b.store(address, k.b.load(Type::v4, address, mem(16)), mem(16));
        if (space == Space::global) return;
        address = k.b.i32(14);
        for (const unsigned bytes : {1u, 2u})
          k.b.store(address, k.b.load(Type::i32, address, mem(bytes)), mem(bytes));
      });
    }
  }
}

TEST(Emit, read_only_memory) {
  for (const Space space :
       {Space::param, Space::constant, Space::table, Space::textures, Space::push}) {
    check_all([&](Kernel& k, const Profile&) {
      unsigned at = 0;
      for (const Value address : {k.input(Type::i32), k.b.i32(16)}) {
        const auto mem = [&](unsigned bytes) {
          return ir::MemAttr{
              .space = space, .bytes = static_cast<std::uint8_t>(bytes), .readonly = true};
        };
        for (const unsigned bytes : {1u, 2u, 4u})
          k.output(k.b.load(Type::i32, address, mem(bytes)), at += 4);
        k.output(k.b.load(Type::i64, address, mem(8)), 64);
        k.output(k.b.load(Type::v4, address, mem(16)), 128);
      }
    });
  }
}

TEST(Emit, dynamic_shared_memory_alone) {
  check_all([&](Kernel& k, const Profile&) {
    k.function.uses_dynamic_shared = true;
    k.b.store(k.input(Type::i32), k.b.builtin(ir::Builtin::shared_words), {.space = Space::shared});
  });
}

TEST(Emit, atomics) {
  for (const Space space : {Space::global, Space::shared, Space::slot, Space::trap, Space::locks}) {
    check_all([&](Kernel& k, const Profile& p) {
      k.function.shared_bytes = 64;
      const Value address = space == Space::global ? k.input(Type::i64) : k.input(Type::i32);
      unsigned at = 0;
      const auto one = [&](Op op, Type type, AtomicOp which) {
        const Value data = k.input(type, 8);
        const Value v = op == Op::atomic ? k.inst(op, type, {address, data})
                                         : k.inst(op, type, {address, data, data});
        k.b.last(v).mem = {.space = space,
                           .bytes = static_cast<std::uint8_t>(type == Type::i64 ? 8 : 4),
                           .atomic = which};
        k.output(v, at += 8);
      };
      for (const Type type : {Type::i32, Type::i64}) {
        if (type == Type::i64 &&
            (!p.features.int64 || !p.features.buffer_atomics64 || space == Space::shared))
          continue;
        for (const AtomicOp which :
             {AtomicOp::add, AtomicOp::and_, AtomicOp::or_, AtomicOp::xor_, AtomicOp::umin,
              AtomicOp::umax, AtomicOp::smin, AtomicOp::smax, AtomicOp::exch})
          one(Op::atomic, type, which);
        one(Op::atomic_cas, type, AtomicOp::add);
      }
      if (space == Space::shared) return;
      if (p.features.buffer_atomic_f32_add) one(Op::atomic, Type::i32, AtomicOp::fadd_f32);
      if (p.features.buffer_atomic_f64_add) one(Op::atomic, Type::i64, AtomicOp::fadd_f64);
    });
  }
}

TEST(Emit, builtins_barriers_and_subgroups) {
  const std::string text = check_all([&](Kernel& k, const Profile& p) {
    unsigned at = 0;
    for (unsigned i = 0; i <= static_cast<unsigned>(ir::Builtin::shared_words); ++i)
      k.output(k.b.builtin(static_cast<ir::Builtin>(i)), at += 4);
    k.inst(Op::control_barrier, Type::none, {});
    k.inst(Op::memory_barrier, Type::none, {}, 0);
    k.inst(Op::memory_barrier, Type::none, {}, 1);
    if (!p.features.subgroup_ops) return;
    const Value a = k.input(Type::i32);
    k.output(k.inst(Op::subgroup_shuffle, Type::i32, {a, a}), at += 4);
    k.output(k.inst(Op::subgroup_ballot, Type::i32, {k.b.cmp(Op::eq, a, a)}), at += 4);
    if (p.features.subgroup_arithmetic)
      for (const AtomicOp op : {AtomicOp::add, AtomicOp::and_, AtomicOp::or_, AtomicOp::xor_,
                                AtomicOp::umin, AtomicOp::umax, AtomicOp::smin, AtomicOp::smax})
        k.output(k.inst(Op::subgroup_reduce, Type::i32, {a}, static_cast<unsigned>(op)), at += 4);
    if (p.features.subgroup_partition)
      k.output(k.inst(Op::subgroup_partition, Type::i32, {a}), at += 4);
  });
  EXPECT_NE(text.find("WorkgroupSize"), std::string::npos);
}

// NVIDIA's hardware orders images by a fence that takes microseconds.
TEST(Emit, barriers_order_images_where_the_kernel_writes_some) {
  const std::vector<SlotSpec> slots = {
      {},
      {.backing = Backing::image, .format = abi::SurfaceFormat::f32, .channels = 1, .geometry = 2}};
  for (const bool writes : {false, true}) {
    const std::string text = check_all(
        [&](Kernel& k, const Profile& p) {
          const Value at = k.input(Type::v4);
          const Value texels = k.inst(Op::image_load, Type::v4, {at});
          k.b.last(texels).mem.slot = 1;
          k.inst(Op::control_barrier, Type::none, {});
          k.inst(Op::memory_barrier, Type::none, {}, 0);
          if (p.features.subgroup_ops) k.inst(Op::subgroup_barrier, Type::none, {}, 1);
          if (!writes) return;
          k.b.last(k.inst(Op::image_store, Type::none, {at, texels})).mem.slot = 1;
        },
        slots);
    constexpr unsigned kAcquireRelease = 8, kBuffers = 64, kShared = 256, kImages = 2048;
    const auto named = [&](unsigned semantics) {
      return text.find(fmt::format("uint_{}", semantics)) != std::string::npos;
    };
    EXPECT_EQ(named(kAcquireRelease | kBuffers | kShared | kImages), writes) << text;
    EXPECT_EQ(named(kAcquireRelease | kBuffers | kShared), !writes) << text;
  }
}

TEST(Emit, images_of_every_shape_and_texel) {
  for (const std::uint8_t geometry : {1, 2, 3, 4, 5}) {
    for (const auto format :
         {abi::SurfaceFormat::u8, abi::SurfaceFormat::f16, abi::SurfaceFormat::f32}) {
      for (const std::uint8_t channels : {1, 2, 4}) {
        const std::vector<SlotSpec> slots = {{},
                                             {.backing = Backing::image,
                                              .format = format,
                                              .channels = channels,
                                              .geometry = geometry}};
        const unsigned texel = (format == abi::SurfaceFormat::u8    ? 1
                                : format == abi::SurfaceFormat::f16 ? 2
                                                                    : 4) *
                               channels;
        check_all(
            [&](Kernel& k, const Profile& p) {
              const Value x = k.input(Type::i32);
              const Value composed = k.inst(Op::compose, Type::v4, {x, k.b.i32(1), x, k.b.i32(0)});
              for (const Value at : {composed, k.input(Type::v4)}) {
                const Value texels = k.inst(Op::image_load, Type::v4, {at});
                k.b.last(texels).mem.slot = 1;
                const Value stored = k.inst(Op::image_store, Type::none, {at, texels});
                k.b.last(stored).mem.slot = 1;
                if (texel == 8 && p.features.int64 && p.features.image_atomics64) {
                  const Value wide = k.inst(Op::image_load, Type::i64, {at});
                  k.b.last(wide).mem.slot = 1;
                  const Value put = k.inst(Op::image_store, Type::none, {at, wide});
                  k.b.last(put).mem.slot = 1;
                  for (const auto which : {AtomicOp::add, AtomicOp::umin, AtomicOp::smax}) {
                    const Value old = k.inst(Op::image_atomic, Type::i64, {at, wide});
                    k.b.last(old).mem.slot = 1;
                    k.b.last(old).mem.atomic = which;
                    k.output(old, 4 * static_cast<unsigned>(which));
                  }
                }
                if (texel != 4) continue;
                const Value old = k.inst(Op::image_atomic, Type::i32, {at, x});
                k.b.last(old).mem.slot = 1;
                k.b.last(old).mem.atomic = AtomicOp::smax;
                k.output(old);
              }
            },
            slots);
      }
    }
  }
}

// for (i = 0; i < n; ++i) sum += i % 2 ? i : 1;
TEST(Emit, structured_control_flow_with_phis) {
  check_all([&](Kernel& k, const Profile&) {
    ir::Builder& b = k.b;
    ir::Function& f = k.function;
    const ir::BlockId entry = b.block();
    const Value n = k.input(Type::i32);
    const ir::BlockId header = b.new_block(), body = b.new_block(), then = b.new_block(),
                      otherwise = b.new_block(), join = b.new_block(), latch = b.new_block(),
                      exit = b.new_block();
    b.br(header);
    b.at(header);
    const Value zero = b.i32(0);
    const Value i = k.inst(Op::phi, Type::i32, {zero, zero});
    const Value sum = k.inst(Op::phi, Type::i32, {zero, zero});
    const Value more = b.cmp(Op::ult, i, n);
    b.cond_br(more, body, exit);
    f.blocks[header].merge = ir::Merge::loop;
    f.blocks[header].merge_block = exit;
    f.blocks[header].continue_block = latch;
    b.at(body);
    const Value odd = b.cmp(Op::ne, b.op2(Op::and_, i, b.i32(1)), zero);
    b.cond_br(odd, then, otherwise);
    f.blocks[body].merge = ir::Merge::selection;
    f.blocks[body].merge_block = join;
    b.at(then);
    b.br(join);
    b.at(otherwise);
    b.br(join);
    b.at(join);
    const Value step = k.inst(Op::phi, Type::i32, {i, b.i32(1)});
    b.br(latch);
    b.at(latch);
    const Value next_sum = b.op2(Op::add, sum, step);
    const Value next = b.op2(Op::add, i, b.i32(1));
    b.br(header);
    f.operands[f.insts[i].first + 1] = next;
    f.operands[f.insts[sum].first + 1] = next_sum;
    f.order = {entry, header, body, then, otherwise, join, latch, exit};
    b.at(exit);
    k.output(sum);
  });
}

TEST(Emit, a_switch_and_a_merge_block_that_nobody_reaches) {
  check_all([&](Kernel& k, const Profile&) {
    ir::Builder& b = k.b;
    ir::Function& f = k.function;
    const ir::BlockId entry = b.block(), one = b.new_block(), two = b.new_block(),
                      merge = b.new_block();
    ir::Block& head = f.blocks[entry];
    head.term = ir::Term::switch_;
    head.cond = k.input(Type::i32);
    head.succs = {one, two, one};
    head.merge = ir::Merge::selection;
    head.merge_block = merge;
    b.at(one);
    b.exit();
    f.order = {entry, one, two};
    b.at(two);
  });
}

TEST(Emit, several_entries_share_types_constants_and_buffers) {
  spirv::Builder builder;
  const auto options = options_for("swiftshader");
  for (const char* name : {"first", "second"}) {
    Kernel k;
    k.function.name = name;
    k.function.shared_bytes = 64;
    k.b.store(k.b.i32(4), k.input(Type::i32), {.space = Space::shared});
    k.output(k.b.builtin(ir::Builtin::local_id_x));
    k.b.exit();
    k.function.compute_preds();
    ASSERT_FALSE(spirv::emit(k.module, k.function, options, builder));
  }
  const auto words = builder.finish();
  EXPECT_EQ(validate_spirv(words), "") << disassemble_spirv(words);
  const std::string text = disassemble_spirv(words);
  EXPECT_NE(text.find("OpEntryPoint GLCompute %first"), std::string::npos);
  EXPECT_NE(text.find("OpEntryPoint GLCompute %second"), std::string::npos);
  EXPECT_EQ(text.find("LocalInvocationId", text.find("LocalInvocationId") + 1), std::string::npos)
      << text;
}

TEST(Emit, an_operation_that_legalisation_left_is_an_internal_error) {
  Kernel k;
  const Value a = k.input(Type::i32);
  k.output(k.b.fp(Op::fadd, Type::i32, {a, a}, {.kind = ir::NumKind::f32}));
  k.b.exit();
  std::string error;
  EXPECT_TRUE(k.emit(options_for("portable"), error).empty());
  EXPECT_NE(error.find("internal error: emit: operation fadd"), std::string::npos) << error;
}

TEST(Emit, text_can_be_embedded) {
  Kernel k;
  k.output(k.b.i32(1));
  k.b.exit();
  k.function.compute_preds();
  spirv::Builder builder;
  ASSERT_FALSE(spirv::emit(k.module, k.function, options_for("portable"), builder));
  builder.embed("interface", std::string(300000, 'x'));
  const auto words = builder.finish();
  EXPECT_EQ(validate_spirv(words), "");
}

// A text of more than one OpString is whole, whatever its characters, and whether or not its parts
// are the same; two files may have one name and another text.
TEST(Emit, sources_of_any_length_are_whole) {
  const std::string equal(1'000'000, ' '), wide = [] {
    std::string text = "x";
    while (text.size() < 600'000) text += "\xe2\x82\xac";
    return text;
  }();
  Kernel k;
  k.function.locs.resize(3);
  k.function.locs[1] = {.line = 1, .column = 1};
  k.function.locs[2] = {.line = 2, .column = 1, .module = 1};
  k.b.set_loc(1);
  k.output(k.b.i32(1));
  k.b.set_loc(2);
  k.output(k.b.i32(2));
  k.b.exit();
  spirv::EmitOptions options = options_for("portable");
  options.debug_info = true;
  options.ptx_source = [&](std::uint32_t module) {
    return spirv::PtxSource{"same.ptx", module ? wide : equal};
  };
  std::string error;
  const auto words = k.emit(options, error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(validate_spirv(words), "");
  const std::string text = disassemble_spirv(words);
  const auto count = [&](const std::string& part) {
    std::size_t number = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++number;
    return number;
  };
  EXPECT_EQ(count("DebugSource "), 2u);
  EXPECT_EQ(count("DebugSourceContinued "), 3u + 2u);
  EXPECT_EQ(count("OpSourceContinued "), 3u + 2u);
  EXPECT_EQ(count("?"), 0u) << "no character is divided";
  EXPECT_EQ(count("\xe2\x82\xac"), 2 * (wide.size() / 3));
}

TEST(Emit, only_what_is_used_is_required) {
  const std::string text = check_all([&](Kernel& k, const Profile&) { k.output(k.b.i32(1)); }, {},
                                     [](const Profile& p) { return p.name == "lavapipe"; });
  EXPECT_EQ(text.find("Int64"), std::string::npos) << text;
  EXPECT_NE(text.find("DebugFunctionDefinition"), std::string::npos) << text;
  EXPECT_EQ(text.find("PhysicalStorageBuffer"), std::string::npos) << text;
}

}  // namespace
}  // namespace ptx2spv::test
