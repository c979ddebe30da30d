// The intermediate representation: a control flow graph of basic blocks over untyped bits.
//
// Lowering writes PTX registers as variables (get_var, set_var); the structurizer orders and
// annotates the blocks; SSA construction then replaces variables by values. ops.def lists the
// operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/sanitize.hpp"
#include "ptx2spv/texture_use.hpp"

namespace ptx2spv::ir {

enum class Type : std::uint8_t { none, i1, i32, i64, v2, v4 };

enum class Op : std::uint8_t {
#define OP(name, types, flags, meaning) name,
#include "translator/ir/ops.def"
};

/// Index of an instruction in Function::insts, which is also the value that it gives. 0 is no
/// value.
using Value = std::uint32_t;
using BlockId = std::uint32_t;
inline constexpr BlockId kNoBlock = 0xffffffffu;

/// The number formats of PTX's arithmetic and conversions.
enum class NumKind : std::uint8_t {
  none,
  u8,
  s8,
  u16,
  s16,
  u32,
  s32,
  u64,
  s64,
  f16,
  bf16,
  f32,
  f64,
  tf32,
  e4m3,
  e5m2
};
/// Rounding: to float (rn rz rm rp, rna), to integer in float format (rni ...), and the approximate
/// forms.
enum class Round : std::uint8_t { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi, approx, full };

struct FpAttr {
  NumKind kind = NumKind::none;  ///< operand format
  NumKind to = NumKind::none;    ///< result format, conversions only
  Round round = Round::rn;
  bool ftz = false, sat = false, nan = false;
  bool contract = false;  ///< no rounding modifier: a product and its sum may become one fma
  bool checked = false;   ///< nothing denormal is in it, or nobody takes its result: a device that
                          ///< flushes denormals does it right (passes/legalise/float_checks.hpp)
  bool operator==(const FpAttr&) const = default;
};

/// Where memory is. Everything but `global` is addressed by a 32-bit byte offset.
enum class Space : std::uint8_t {
  global,    ///< an address (i64): a device address, or its low word an offset in binding 6
  shared,    ///< the workgroup's memory
  local,     ///< the invocation's memory
  param,     ///< binding 0: kernel parameters
  constant,  ///< binding 3: the module's .const variables
  table,     ///< binding 1: the surface table
  textures,  ///< binding 5: the texture table
  trap,      ///< binding 2: the trap record
  locks,     ///< binding 4: locks of emulated 64-bit atomics
  slot,      ///< set 1: the buffer bound to slot MemAttr::slot
  push,      ///< push constants
};
enum class AtomicOp : std::uint8_t {
  add,
  and_,
  or_,
  xor_,
  umin,
  umax,
  smin,
  smax,
  exch,
  fadd_f32,
  fadd_f64,
  inc,
  dec,
  fadd_f16,
  fadd_bf16,
  fadd_f16x2,
  fadd_bf16x2,
  fmin_f16,
  fmin_bf16,
  fmin_f16x2,
  fmin_bf16x2,
  fmax_f16,
  fmax_bf16,
  fmax_f16x2,
  fmax_bf16x2
};

/// The access that PTX makes, for the sanitizer: none for those that the translator makes.
enum class Origin : std::uint8_t { none, generic, global, shared, local, constant, param };

struct MemAttr {
  Space space = Space::global;
  std::uint8_t bytes = 4;
  bool is_volatile = false;  ///< volatile, relaxed and stronger: never cached, shared or removed
  bool readonly =
      false;  ///< the memory does not change during the launch: loads may be shared and moved
  AtomicOp atomic = AtomicOp::add;
  std::uint16_t slot = 0;
  std::uint8_t low_zeros = 0,
               high_zeros = 0;       ///< so many bits of a word are 0, of a vector of each
  Origin origin = Origin::none;      ///< passes/sanitize alone reads it; gone where that is off
  std::uint8_t whole = 0, part = 0;  ///< the same: not 0: it is byte `part` of an access to so many
                                     ///< bytes, which PTX makes as one
  bool operator==(const MemAttr&) const = default;
};

enum class Builtin : std::uint8_t {
  workgroup_id_x,
  workgroup_id_y,
  workgroup_id_z,
  local_id_x,
  local_id_y,
  local_id_z,
  local_index,
  workgroup_size_x,
  workgroup_size_y,
  workgroup_size_z,
  num_workgroups_x,
  num_workgroups_y,
  num_workgroups_z,
  subgroup_lane,
  subgroup_size,
  shared_words,
  global_id_x,  ///< workgroup_id * workgroup_size + local_id, below abi::kSmallGrid
  global_id_y,
  global_id_z
};

enum class Clock : std::uint8_t { cycles, time };           ///< imm of clock
enum class ClockScope : std::uint8_t { subgroup, device };  ///< imm of read_clock
/// imm of dot4: whose bytes are signed.
enum DotSigns : std::uint8_t { kDotUnsigned = 0, kDotFirst = 1, kDotSecond = 2, kDotSigned = 3 };

/// One instruction. Operands stand in Function::operands[first .. first + count).
struct Inst {
  Op op = Op::undef;
  Type type = Type::none;  ///< of the result; none for stores, branches' side effects and set_var
  Builtin builtin{};
  std::uint16_t count = 0;
  std::uint32_t first = 0;
  std::uint32_t loc = 0;  ///< index into Function::locs (0: unknown)
  std::uint16_t object =
      0;  ///< for the sanitizer alone. Of a constant that is the address of a variable:
          ///< its number plus 1 in EntryInfo::sanitizer.objects. Of a barrier 1: all threads
          ///< of a warp must meet there. Of a warp operation 1: it names members
  FpAttr fp{};
  MemAttr mem{};
  std::uint64_t imm = 0;
};

/// Where an instruction comes from: the PTX line and, after a .loc, the line of the CUDA source.
struct Loc {
  std::uint32_t line = 0, column = 0;
  std::uint32_t source_file = 0, source_line = 0;
  std::uint32_t source_loc = 0;  ///< index into the PTX module's locs; 0: none
  std::uint32_t block = 0;       ///< PTX basic block, numbered through the entry's functions
  std::uint32_t module = 0, begin = 0,
                length = 0;  ///< the instruction's text in the module's source
};

/// exit ends the thread; ret leaves a .func and is gone after inlining.
enum class Term : std::uint8_t { none, br, cond_br, switch_, exit, ret, unreachable };
enum class Merge : std::uint8_t { none, selection, loop };

/// Exits that the structurizer joins with no others and leaves in their loops: of threads that
/// trap. Those with a `fault` do so at an access; hardware finds it late, so that loads behind it
/// may have run.
enum class Apart : std::uint8_t { no, trap, fault };

/// A basic block. Successor lists keep their order: cond_br goes to succs[0] when `cond` is true;
/// switch_ goes to succs[cond] for cond < size - 1 and to the last one otherwise.
struct Block {
  std::vector<Value> insts;
  Term term = Term::none;
  Value cond = 0;
  std::vector<BlockId> succs;
  std::vector<BlockId> preds;  ///< made by Function::compute_preds; phi operands follow this order
  Merge merge = Merge::none;   ///< set by the structurizer
  BlockId merge_block = kNoBlock;
  BlockId continue_block = kNoBlock;
  std::uint32_t loc = 0;
  bool bounded = false;  ///< a loop's header: no need to guard it (passes::LoopGuard)
  Apart apart = Apart::no;
};

struct Var {
  Type type = Type::i32;
  std::string name;
  bool per_thread =
      false;  ///< one for the whole thread: inlining joins it with the caller's of that name
};

/// What a surface instruction does, for the operations surf_*; by imm of the instruction.
enum class ClampMode : std::uint8_t { trap, clamp, zero };
enum class Query : std::uint8_t {
  width,
  height,
  depth,
  channel_data_type,
  channel_order,
  array_size,
  memory_layout
};
/// imm of bar_sync; the two kinds without a result have type none.
enum class BarKind : std::uint8_t { sync, arrive, red_popc, red_and, red_or };
enum class ShflMode : std::uint8_t { up, down, bfly, idx };    ///< imm of warp_shfl
enum class VoteMode : std::uint8_t { all, any, uni, ballot };  ///< imm of warp_vote
enum class MatchMode : std::uint8_t { any, all };  ///< imm of warp_match; warp_redux: AtomicOp

/// imm of warp_product: x * y + sums, where x has 16 rows or 8, y 8 columns. A word has 32 bits
/// along k, or is an f64. Thread 4g + t holds of x the words t, t + 4, ... of row g and, behind
/// each, of row g + 8; of y those of column g; of the sums the elements 2t and 2t + 1 of row g,
/// then of row g + 8.
struct WarpProduct {
  enum class Element : std::uint8_t { b1, u4, s4, u8, s8, e4m3, e5m2, f16, bf16, tf32, f64 };
  Element x = Element::f16, y = Element::f16;
  std::uint8_t words = 8;     ///< of a row of x
  bool tall = true;           ///< x has 16 rows; never of f64
  bool halves = false;        ///< sums are f16, two in a word; else f32, s32 or f64
  bool sparse = false;        ///< x has half of its elements, which metadata name
  std::uint8_t selector = 0;  ///< which threads have the metadata
  bool ands = false;          ///< b1: counts the bits of and, else of xor
  bool saturates = false;     ///< s32
  Round round = Round::rn;    ///< f64

  static constexpr unsigned bits_of(Element element) {
    constexpr std::uint8_t kBits[] = {1, 4, 4, 8, 8, 8, 8, 16, 16, 32, 64};
    return kBits[static_cast<unsigned>(element)];
  }
  /// Of less than 64 bits.
  static constexpr bool is_float(Element element) {
    return element >= Element::e4m3 && element <= Element::tf32;
  }
  unsigned row_blocks() const { return tall ? 2 : 1; }  ///< of 8 rows
  unsigned words_of_y() const { return sparse ? 2u * words : words; }
  unsigned x_registers() const { return words / 4 * row_blocks(); }
  unsigned sums_at() const { return x_registers() + words_of_y() / 4; }
  unsigned sum_registers() const { return halves ? row_blocks() : 2 * row_blocks(); }
  unsigned metadata_at() const { return sums_at() + sum_registers(); }
  unsigned operands() const { return metadata_at() + sparse + 1; }
  /// That a thread has of both factors and the metadata.
  unsigned factor_words() const { return (x == Element::f64 ? 2 : 1) * sums_at() + sparse; }
  Type result() const { return (x == Element::f64 || tall) && !halves ? Type::v4 : Type::v2; }

  std::uint64_t bits() const {
    return static_cast<std::uint64_t>(x) | static_cast<std::uint64_t>(y) << 4 |
           std::uint64_t{words} << 8 | std::uint64_t{tall} << 16 | std::uint64_t{halves} << 17 |
           std::uint64_t{sparse} << 18 | std::uint64_t{ands} << 19 |
           std::uint64_t{saturates} << 20 | std::uint64_t{selector} << 24 |
           static_cast<std::uint64_t>(round) << 28;
  }
  static WarpProduct of(std::uint64_t bits) {
    const auto flag = [&](unsigned at) { return (bits >> at & 1) != 0; };
    return {.x = static_cast<Element>(bits & 15),
            .y = static_cast<Element>(bits >> 4 & 15),
            .words = static_cast<std::uint8_t>(bits >> 8),
            .tall = flag(16),
            .halves = flag(17),
            .sparse = flag(18),
            .selector = static_cast<std::uint8_t>(bits >> 24 & 3),
            .ands = flag(19),
            .saturates = flag(20),
            .round = static_cast<Round>(bits >> 28 & 15)};
  }
};

struct SurfaceOp {
  Geometry geometry = Geometry::d1;
  ClampMode clamp = ClampMode::trap;
  std::uint8_t bytes =
      4;  ///< of the whole access (vector length times element); sured: of the type
  std::uint8_t element_bytes = 4;  ///< surf_load
  std::uint8_t unread_bytes = 0;   ///< surf_load: that the instruction names beyond `bytes`
  bool formatted = false;          ///< sust.p, sured.p
  std::uint8_t components = 1;     ///< sust.p: source components, 1, 2 or 4
  AtomicOp reduce = AtomicOp::add;
  bool signed_by_format = false;  ///< sured.p min and max: signedness follows the surface's format
  Query query = Query::width;
};

/// MemAttr::slot of global memory: words of the device heap that belong to the thread which has its
/// lock. No loop waits for them.
inline constexpr std::uint16_t kHeapSlot = 1;

/// Thrown where a function becomes larger than it may. It is then of no use.
struct Outgrown {};

struct Function {
  std::string name;
  /// Instructions and blocks past which a Builder throws Outgrown.
  std::size_t most_insts = SIZE_MAX, most_blocks = SIZE_MAX;
  std::vector<Inst> insts{Inst{}};  ///< insts[0] is no instruction
  std::vector<Value> operands;
  std::vector<Block> blocks;  ///< blocks[0] is the entry and has no predecessors
  std::vector<Var> vars;
  std::vector<Loc> locs{Loc{}};
  std::vector<BlockId> order;      ///< emission order, set by the structurizer (dominators first)
  std::uint32_t local_bytes = 0;   ///< .local memory of one thread
  std::uint32_t shared_bytes = 0;  ///< static .shared memory; dynamic shared memory follows it
  bool uses_dynamic_shared = false;
  std::uint32_t shared_discard =
      0xffffffffu;  ///< byte offset of 16 bytes for suppressed stores; all ones: none
  std::uint32_t block_size[3] = {0, 0, 0};  ///< ThreadModel::direct: threads of every block, 0: any
  std::uint32_t region_threads = 1;  ///< threads that one invocation runs (ThreadModel::regions)
  struct Call {                      ///< of Op::call, by imm of the instruction
    std::uint32_t callee = 0;
    std::vector<std::uint32_t> result_vars;
  };
  std::vector<Call> calls;
  std::vector<SurfaceOp> surface_ops;                  ///< of the operations surf_*, by imm
  std::vector<std::uint32_t> param_vars, result_vars;  ///< of a .func
  bool stands_once = false;  ///< of a .func: its calls share one body, whatever the budget

  std::span<const Value> args(Value v) const {
    return {operands.data() + insts[v].first, insts[v].count};
  }
  std::span<Value> args(Value v) { return {operands.data() + insts[v].first, insts[v].count}; }
  Value arg(Value v, unsigned i) const { return operands[insts[v].first + i]; }
  void compute_preds();
};

/// What the parameters of a routine are: indices, -1 where it has none of the kind. Parameter 0 is
/// the texture's record.
struct TextureOp {
  TextureUse use;
  enum class Result : std::uint8_t { words, half, half_pairs } result = Result::words;
  std::uint8_t component = 0;  ///< of a gather
  std::array<std::int8_t, 4> coordinates{-1, -1, -1, -1};
  std::int8_t level = -1;
  std::array<std::array<std::int8_t, 3>, 2> gradients{{{-1, -1, -1}, {-1, -1, -1}}};
};

/// A read by the device's sampler: the imm of Op::texture_sample.
struct TextureSample {
  TextureGeometry view = TextureGeometry::d2;  ///< multi-sample views excepted
  TextureMode mode = TextureMode::level;       ///< level, gradient or gather
  std::uint8_t component = 0;                  ///< of a gather
  using Texel = TextureTexel;
  Texel texel = Texel::real;
  bool indexed = false;       ///< the binding is an array, whose index is the last operand
  bool normalised = false;    ///< results are from -1 to 1
  bool not_negative = false;  ///< nor are they below 0

  std::uint64_t bits() const {
    return static_cast<std::uint64_t>(view) | static_cast<std::uint64_t>(mode) << 8 |
           std::uint64_t{component} << 16 | static_cast<std::uint64_t>(texel) << 24 |
           std::uint64_t{indexed} << 32 | std::uint64_t{normalised} << 33 |
           std::uint64_t{not_negative} << 34;
  }
  static TextureSample of(std::uint64_t bits) {
    return {static_cast<TextureGeometry>(bits & 255),
            static_cast<TextureMode>(bits >> 8 & 255),
            static_cast<std::uint8_t>(bits >> 16 & 255),
            static_cast<Texel>(bits >> 24 & 255),
            (bits >> 32 & 1) != 0,
            (bits >> 33 & 1) != 0,
            (bits >> 34 & 1) != 0};
  }
  /// Numbers that a place in the view has, the layer among them, and that a gradient has.
  unsigned coordinates() const {
    constexpr std::uint8_t kCoordinates[] = {1, 2, 3, 2, 3, 3, 4};
    return kCoordinates[static_cast<unsigned>(view)];
  }
  unsigned directions() const {
    constexpr std::uint8_t kDirections[] = {1, 2, 3, 1, 2, 3, 3};
    return kDirections[static_cast<unsigned>(view)];
  }
};

struct Module {
  std::vector<Function> functions;
  /// Of Op::texture_read, by imm: their parameters are i32 variables, their one result is v4.
  std::vector<Function> routines;
  std::vector<TextureOp> texture_ops;            ///< by routine
  std::vector<std::string> library_names;        ///< of Op::library, by imm
  std::uint32_t library(std::string_view name);  ///< index of the name, added when new
};

struct OpInfo {
  std::string_view name;
  std::string_view types;
  unsigned flags;
};
namespace flag {
inline constexpr unsigned P = 1, R = 2, W = 4, C = 8, S = 16, M = 32, A = 64, B = 128;
}
const OpInfo& info(Op op);
/// Whether it is one of the operations from `first` to `last` of ops.def.
constexpr bool is_within(Op op, Op first, Op last) { return op >= first && op <= last; }
inline bool is_access(Op op) { return info(op).flags & flag::A; }
inline bool is_atomic(Op op) { return op == Op::atomic || op == Op::atomic_cas; }
inline bool is_warp_operation(Op op) { return is_within(op, Op::warp_shfl, Op::warp_elect); }
/// A load, store or reduction.
inline bool is_surface_access(Op op) { return is_within(op, Op::surf_load, Op::surf_reduce); }
inline bool is_surface_operation(Op op) { return is_within(op, Op::surf_load, Op::surf_query); }
inline bool is_barrier(Op op) { return info(op).flags & flag::B; }
std::string_view name(Type type);

/// Appends instructions to one block. Folds nothing: passes/simplify does.
class Builder {
 public:
  explicit Builder(Function& function) : f_(function) {}
  void at(BlockId block) { block_ = block; }
  BlockId block() const { return block_; }
  BlockId new_block();
  void set_loc(std::uint32_t loc) { loc_ = loc; }
  std::uint32_t loc() const { return loc_; }
  Value inst(Op op, Type type, std::span<const Value> args, std::uint64_t imm = 0);
  Value inst(Op op, Type type, std::initializer_list<Value> args, std::uint64_t imm = 0) {
    return inst(op, type, std::span<const Value>(args.begin(), args.size()), imm);
  }
  Inst& last(Value v) { return f_.insts[v]; }
  Value i32(std::uint32_t value);
  Value i64(std::uint64_t value);
  Value i1(bool value);
  Value builtin(Builtin which);
  Value get(std::uint32_t var) { return inst(Op::get_var, f_.vars[var].type, {}, var); }
  void set(std::uint32_t var, Value value) { inst(Op::set_var, Type::none, {value}, var); }
  Value op2(Op op, Value a, Value b) { return inst(op, f_.insts[a].type, {a, b}); }
  Value cmp(Op op, Value a, Value b) { return inst(op, Type::i1, {a, b}); }
  Value select(Value c, Value a, Value b) { return inst(Op::select, f_.insts[a].type, {c, a, b}); }
  Value load(Type type, Value address, MemAttr mem);
  void store(Value address, Value value, MemAttr mem);
  Value fp(Op op, Type type, std::initializer_list<Value> args, FpAttr attr);
  void br(BlockId target);
  void cond_br(Value cond, BlockId if_true, BlockId if_false);
  void exit();
  void ret();
  Function& function() { return f_; }

 private:
  Function& f_;
  BlockId block_ = 0;
  std::uint32_t loc_ = 0;
};

/// The thread's number in its block.
Value linear_thread(Builder& b);

/// A condition that no thread meets, which no optimiser knows. Behind a branch on one of them an
/// optimiser knows that one: conditions of other numbers stay unknown.
Value never(Builder& b, std::uint32_t number);

/// Text form of a function, one instruction a line, for --dump-ir and tests.
std::string print(const Function& function, const Module& module);
/// Empty when the function obeys the IR's rules, else what is wrong first. `ssa`: variables are
/// gone, dominance is checked; `structured`: SPIR-V's structured control flow rules are checked
/// too.
std::string validate(const Function& function, const Module& module, bool ssa, bool structured);

}  // namespace ptx2spv::ir
