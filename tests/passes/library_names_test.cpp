// Every operation, format and rounding that legalisation can meet, on every profile: the library
// must have each function that is called for.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "translator/backend/spirv/library.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

Type type_of(NumKind k) {
  return k == NumKind::u64 || k == NumKind::s64 || k == NumKind::f64 ? Type::i64 : Type::i32;
}

void add_arithmetic(Builder& b, NumKind kind, Op op, unsigned operands, Type type, FpAttr attr) {
  attr.kind = kind;
  std::vector<Value> args;
  for (unsigned i = 0; i < operands; ++i) {
    const MemAttr mem{.space = Space::param,
                      .bytes = static_cast<std::uint8_t>(type_of(kind) == Type::i64 ? 8 : 4)};
    args.push_back(b.load(type_of(kind), b.i32(8 * i), mem));
  }
  const Value v = b.inst(op, type, args);
  b.last(v).fp = attr;
  if (type == Type::i1) return;
  b.store(
      b.i32(0), v,
      MemAttr{.space = Space::slot, .bytes = static_cast<std::uint8_t>(type == Type::i64 ? 8 : 4)});
}

// What PTX has; the manual's tables of 9.7.3 to 9.7.5 and 9.7.9.
Function everything() {
  Function f;
  Builder b(f);
  b.new_block();
  b.at(0);
  const Round directed[] = {Round::rn, Round::rz, Round::rm, Round::rp};
  const Round integral[] = {Round::rni, Round::rzi, Round::rmi, Round::rpi};
  for (const bool ftz : {false, true}) {
    for (const NumKind kind : {NumKind::f32, NumKind::f64}) {
      if (ftz && kind == NumKind::f64) continue;
      for (const Round round : directed) {
        const FpAttr attr{.round = round, .ftz = ftz, .sat = kind == NumKind::f32};
        for (const Op op : {Op::fadd, Op::fmul, Op::fdiv})
          add_arithmetic(b, kind, op, 2, type_of(kind), attr);
        for (const Op op : {Op::frcp, Op::fsqrt})
          add_arithmetic(b, kind, op, 1, type_of(kind), attr);
        add_arithmetic(b, kind, Op::ffma, 3, type_of(kind), attr);
      }
    }
    for (const Round round : {Round::approx, Round::full})
      add_arithmetic(b, NumKind::f32, Op::fdiv, 2, Type::i32, {.round = round, .ftz = ftz});
    const FpAttr approx{.round = Round::approx, .ftz = ftz};
    for (const Op op :
         {Op::frcp, Op::fsqrt, Op::frsqrt, Op::fex2, Op::flg2, Op::fsin, Op::fcos, Op::ftanh})
      add_arithmetic(b, NumKind::f32, op, 1, Type::i32, approx);
    for (const Op op : {Op::frcp, Op::frsqrt})
      add_arithmetic(b, NumKind::f64, op, 1, Type::i64, approx);
    for (const NumKind kind : {NumKind::f16, NumKind::bf16}) {
      for (const Op op : {Op::fex2, Op::ftanh}) add_arithmetic(b, kind, op, 1, Type::i32, approx);
      for (const Op op : {Op::fadd, Op::fmul})
        add_arithmetic(b, kind, op, 2, Type::i32, {.ftz = ftz, .sat = true});
      add_arithmetic(b, kind, Op::ffma, 3, Type::i32, {.ftz = ftz, .sat = true});
    }
    for (const NumKind kind : {NumKind::f16, NumKind::bf16, NumKind::f32, NumKind::f64}) {
      for (const Op op : {Op::feq, Op::flt, Op::fle, Op::funord})
        add_arithmetic(b, kind, op, 2, Type::i1, {.ftz = ftz});
      for (const bool nan : {false, true}) {
        if (nan && kind == NumKind::f64) continue;
        for (const Op op : {Op::fmin, Op::fmax})
          add_arithmetic(b, kind, op, 2, type_of(kind), {.ftz = ftz, .nan = nan});
      }
    }
  }
  const auto convert = [&](NumKind from, NumKind to, Round round) {
    for (const bool ftz : {false, true})
      for (const bool sat : {false, true})
        add_arithmetic(b, from, Op::fcvt, 1, type_of(to),
                       {.to = to, .round = round, .ftz = ftz, .sat = sat});
  };
  const NumKind ints[] = {NumKind::u32, NumKind::s32, NumKind::u64, NumKind::s64};
  const NumKind floats[] = {NumKind::f16, NumKind::bf16, NumKind::f32, NumKind::f64};
  for (const NumKind f_kind : floats) {
    for (const NumKind i_kind : ints) {
      for (const Round round : directed) convert(i_kind, f_kind, round);
      for (const Round round : integral) convert(f_kind, i_kind, round);
    }
    for (const Round round : integral) convert(f_kind, f_kind, round);
    for (const NumKind other : floats)
      for (const Round round : directed) convert(f_kind, other, round);
  }
  for (const Round round : {Round::rn, Round::rz, Round::rna})
    convert(NumKind::f32, NumKind::tf32, round);
  for (const NumKind small : {NumKind::e4m3, NumKind::e5m2}) {
    convert(NumKind::f32, small, Round::rn);
    convert(NumKind::f16, small, Round::rn);
    convert(small, NumKind::f16, Round::rn);
  }
  for (const Op op : {Op::udiv, Op::sdiv, Op::urem, Op::srem, Op::mulhi_u, Op::mulhi_s})
    add_arithmetic(b, NumKind::u64, op, 2, Type::i64, {});
  for (const Op op : {Op::shl, Op::lshr, Op::ashr}) {
    const Value wide = b.load(Type::i64, b.i32(0), MemAttr{.space = Space::param, .bytes = 8});
    const Value amount = b.load(Type::i32, b.i32(0), MemAttr{.space = Space::param});
    b.inst(op, Type::i64, {wide, amount});
  }
  b.exit();
  f.order = {0};
  f.compute_preds();
  return f;
}

TEST(LegaliseFloat, the_library_has_every_function_that_is_called_for) {
  const std::vector<std::string_view> names = spirv::Library::embedded().names();
  const std::set<std::string_view> known(names.begin(), names.end());
  std::set<std::string> missing;
  for (const std::string_view profile_name : profile_names()) {
    for (const FpPolicy policy : {FpPolicy::exact, FpPolicy::fast}) {
      const Profile profile = *find_profile(profile_name);
      Module m;
      Function f = everything();
      passes::legalise_float(f, m, {profile, policy});
      passes::legalise_int64(f, m, profile);
      ASSERT_EQ(validate(f, m, true, false), "") << profile_name;
      for (const Block& block : f.blocks)
        for (const Value v : block.insts) {
          const Op op = f.insts[v].op;
          const bool semantic = info(op).flags & flag::S;
          EXPECT_FALSE(semantic) << info(op).name << " is left on " << profile_name;
        }
      for (const std::string& name : m.library_names)
        if (!known.count(name)) missing.insert(name);
    }
  }
  std::string list;
  for (const std::string& name : missing) list += " " + name;
  EXPECT_EQ(list, "");
}

}  // namespace
