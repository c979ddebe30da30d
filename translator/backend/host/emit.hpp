// From the IR to LLVM's: a function that runs warps, whose lanes lie side by side in vectors.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "translator/backend/host/frame.hpp"
#include "translator/backend/host/llvm_api.hpp"
#include "translator/backend/host/shape.hpp"

namespace ptx2spv::interpreter::llvm {

struct Kind {
  unsigned lanes = 16;  ///< of a vector: 8, 16 or 32
  bool rows = false;    ///< as Shape has it
  bool whole = false;   ///< all vectors' lanes are threads
  bool fence_logic =
      false;  ///< LLVM up to 22 takes a merge of bits that a mask chooses wrong (AVX-512)
};

/// Thin names over the builder of LLVM's C interface.
class Build {
 public:
  Build(const Api& api, LLVMContextRef context, LLVMModuleRef module, Kind kind);
  ~Build() { l.DisposeBuilder(b); }
  Build(const Build&) = delete;
  Build& operator=(const Build&) = delete;

  LLVMTypeRef vector(LLVMTypeRef t) const { return l.VectorType(t, lanes); }
  LLVMTypeRef integer(unsigned bits) const { return l.IntTypeInContext(context, bits); }
  LLVMValueRef c32(std::uint64_t n) const { return l.ConstInt(i32, n & 0xffffffffu, 0); }
  LLVMValueRef c64(std::uint64_t n) const { return l.ConstInt(i64, n, 0); }
  LLVMValueRef op(Opcode o, LLVMValueRef x, LLVMValueRef y) { return l.BuildBinOp(b, o, x, y, ""); }
  LLVMValueRef cast(Opcode o, LLVMValueRef x, LLVMTypeRef t) { return l.BuildCast(b, o, x, t, ""); }
  LLVMValueRef icmp(Compare c, LLVMValueRef x, LLVMValueRef y) {
    return l.BuildICmp(b, c, x, y, "");
  }
  LLVMValueRef fcmp(Compare c, LLVMValueRef x, LLVMValueRef y) {
    return l.BuildFCmp(b, c, x, y, "");
  }
  LLVMValueRef select(LLVMValueRef c, LLVMValueRef x, LLVMValueRef y) {
    return l.BuildSelect(b, c, x, y, "");
  }
  LLVMValueRef load(LLVMTypeRef t, LLVMValueRef pointer) { return l.BuildLoad2(b, t, pointer, ""); }
  void store(LLVMValueRef value, LLVMValueRef pointer) { l.BuildStore(b, value, pointer); }
  /// The pointer of an address, an i64 or a vector of them.
  LLVMValueRef pointer(LLVMTypeRef to, LLVMValueRef address) {
    return cast(op_inttoptr, address, l.PointerType(to, 0));
  }
  LLVMValueRef load_at(LLVMTypeRef t, LLVMValueRef address, bool invariant = false);
  void store_at(LLVMValueRef value, LLVMValueRef address);
  /// A vector of a scalar.
  LLVMValueRef splat(LLVMValueRef scalar);
  LLVMValueRef lane(LLVMValueRef v, LLVMValueRef i) { return l.BuildExtractElement(b, v, i, ""); }
  LLVMValueRef lane0(LLVMValueRef v) { return lane(v, c32(0)); }
  /// 0, step, 2 step, ...
  LLVMValueRef ramp(LLVMTypeRef element, std::uint64_t step) const;
  LLVMValueRef intrinsic(const char* name, std::initializer_list<LLVMTypeRef> types,
                         std::initializer_list<LLVMValueRef> args);
  LLVMValueRef call(LLVMTypeRef result, LLVMValueRef function,
                    std::initializer_list<LLVMValueRef> args);
  LLVMValueRef shuffle(LLVMValueRef x, LLVMValueRef y, const std::vector<unsigned>& from);
  LLVMBasicBlockRef block() { return l.AppendBasicBlockInContext(context, function, ""); }
  void at(LLVMBasicBlockRef where) { l.PositionBuilderAtEnd(b, where); }
  LLVMValueRef phi(LLVMTypeRef t, std::initializer_list<LLVMValueRef> values,
                   std::initializer_list<LLVMBasicBlockRef> from);
  /// A branch whose condition almost always holds.
  void likely(LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no);
  LLVMValueRef all_ones();
  /// The bits of a vector of i1, as an i32.
  LLVMValueRef bits(LLVMValueRef mask);
  LLVMValueRef from_bits(LLVMValueRef word);
  LLVMValueRef any(LLVMValueRef mask);
  LLVMValueRef all(LLVMValueRef mask);
  bool is_vector(LLVMValueRef v);
  /// A number in all lanes of a vector that is shaped like another value, or once.
  LLVMValueRef number(LLVMValueRef like, LLVMTypeRef element, std::uint64_t n);
  /// The same bits, of which LLVM does not know where they come from (Kind::fence_logic).
  LLVMValueRef fence(LLVMValueRef bits);
  /// Unsigned, of i32, i64 or vectors of them; by 0 it is any number.
  LLVMValueRef quotient(LLVMValueRef x, LLVMValueRef y);
  LLVMValueRef freeze(LLVMValueRef v) { return l.BuildFreeze(b, v, ""); }

  const Api& l;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  unsigned lanes;
  bool fence_logic;
  LLVMValueRef function = nullptr;
  LLVMTypeRef i1, i32, i64, f32, f64, mask_type;
};

/// A value of the IR: its components, each a scalar that all lanes have, or a vector.
struct Lifted {
  LLVMValueRef part[4] = {};
  unsigned parts = 0;
  bool uniform = false;
};

class DebugLines;

class Emitter {
 public:
  Emitter(Build& build, const ir::Function& function, const Program& program,
          const std::vector<std::uint32_t>& steps, const Shape& shape, Kind kind);
  ~Emitter();
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  /// The function of type Compiled. False where it cannot be made; problem() says why.
  bool run();
  const std::string& problem() const { return problem_; }

 private:
  using Value = ir::Value;
  using BlockId = ir::BlockId;

  // emit.cpp: the loops over blocks and warps, control flow, values.
  void begin();
  void begin_warp(LLVMValueRef number);
  void end_warps();
  void block(std::uint32_t place);
  void terminate(BlockId b);
  void split(BlockId b);
  void go(BlockId from, BlockId to, LLVMValueRef lanes);
  void enter(BlockId to, LLVMValueRef lanes, bool add);
  void take_phis(BlockId from, const std::vector<std::pair<BlockId, LLVMValueRef>>& edges);
  void back(LLVMBasicBlockRef header);
  LLVMBasicBlockRef next_from(std::uint32_t place);
  LLVMTypeRef type(ir::Type t, bool uniform) const;
  LLVMValueRef alloca_of(LLVMTypeRef t);
  void reserve(Value v);
  Lifted value(Value v);
  Lifted spread(Lifted v);
  LLVMValueRef scalar(Value v, unsigned part = 0) { return value(v).part[part]; }
  LLVMValueRef wide(Value v) { return spread(value(v)).part[0]; }
  void define(Value v, Lifted result);
  LLVMValueRef field(std::size_t offset, LLVMTypeRef t, bool invariant = true);
  LLVMValueRef mask_bits() { return b_.bits(mask_); }
  bool has_all_lanes(std::uint32_t place) const { return kind_.whole && shape_.whole(place); }

  bool at_hand(Value v) const;
  std::size_t choose_together(const std::vector<Value>& insts, std::size_t first);
  bool instruction(Value v);
  LLVMValueRef builtin(const ir::Inst& inst, bool uniform);
  bool fail(const ir::Inst& inst);
  bool library(Value v);
  /// Does the step by its handler, through rows in memory.
  bool by_step(Value v);
  void put_rows(Place at, ir::Type t, const Lifted& from);
  Lifted take_rows(Place at, ir::Type t, bool uniform);

  // emit_integer.cpp, emit_float.cpp: operands in, result out; null where the operation is another.
  LLVMValueRef integer(const ir::Inst& inst, ir::Type from, const LLVMValueRef* in);
  LLVMValueRef logic(const ir::Inst& inst, Opcode o, const LLVMValueRef* in);
  LLVMValueRef divide(const ir::Inst& inst, LLVMValueRef a, LLVMValueRef b);
  LLVMValueRef floating(Value v, const ir::Inst& inst, ir::Type from, const LLVMValueRef* in);
  LLVMValueRef settle(Value v, LLVMValueRef number, bool f64, const LLVMValueRef* in,
                      unsigned count);
  void find_nan_readers();

  // emit_memory.cpp
  struct Access;
  bool load(Value v);
  bool store(Value v);
  Access access(Value address, const ir::MemAttr& mem);
  bool split_address(Value address, Access& out, unsigned depth);
  void find_addresses(Access& a);
  void follow(Access& a, unsigned bytes, bool whole);
  Lifted load_uniform(const Access& a, const ir::Inst& inst);
  Lifted load_lanes(Access& a, const ir::Inst& inst);
  static constexpr unsigned kGroup = 8;
  struct Lines;
  Lines lines_of(const Access& a, unsigned bytes, unsigned count);
  LLVMValueRef root_of(Value v);
  Lines groups(const Access& a, unsigned bytes);
  LLVMValueRef group_of(LLVMValueRef v, std::size_t number);
  LLVMValueRef gather(LLVMValueRef addresses, LLVMValueRef lanes, LLVMTypeRef element);
  LLVMValueRef load_groups(const Access& a, LLVMValueRef lanes, unsigned bytes);
  void scatter(LLVMValueRef what, LLVMValueRef addresses, LLVMValueRef lanes);
  void store_groups(const Access& a, LLVMValueRef what, LLVMValueRef lanes, unsigned bytes);
  void store_uniform(const Access& a, const ir::Inst& inst, Lifted what);
  void store_lanes(Access& a, const ir::Inst& inst, Lifted what);
  LLVMValueRef local_address(const Access& a, unsigned word);
  Lifted load_local(Access& a, const ir::Inst& inst);
  void store_local(Access& a, const ir::Inst& inst, Lifted what);
  LLVMTypeRef memory_type(unsigned bytes) const { return b_.integer(bytes * 8); }

  // emit_atomics.cpp
  struct Atomic;
  struct Words {
    LLVMValueRef one = nullptr;  ///< the address that all lanes have, if they must
    LLVMValueRef addresses = nullptr, lanes = nullptr;
  };
  Words words_of(Value address, const ir::MemAttr& mem);
  bool atomic(Value v);
  LLVMValueRef changed(const Atomic& a, LLVMValueRef old, LLVMValueRef value);
  LLVMValueRef sum_of_words(LLVMValueRef old, LLVMValueRef value, bool shared);
  LLVMValueRef change(const Atomic& a, LLVMValueRef address, const LLVMValueRef* in);
  LLVMValueRef now(const Atomic& a, LLVMValueRef address);
  LLVMValueRef one_by_one(const Atomic& a);
  LLVMValueRef together_or_not(const Atomic& a, LLVMValueRef one);
  LLVMValueRef put_together(const Atomic& a, LLVMValueRef address);

  // emit_warp.cpp
  bool together(Value v);
  bool shuffle(Value v);
  void shuffle_by_lanes(Value v);
  void vote(Value v);
  void define_by_first(Value v, Lifted result);

  // emit_turns.cpp: barriers, and loops that wait. The warp's turn ends there.
  void find_stops();
  void begin_turn(LLVMValueRef number);
  void end_round(LLVMBasicBlockRef again);
  void end_turn(Value v, LLVMValueRef barrier, LLVMValueRef expected, LLVMValueRef votes);
  bool is_plain(Value barrier) const;
  LLVMValueRef of_turn(std::size_t offset);
  bool meet(Value v);
  /// An alloca, and where it is saved if lanes need it in later turns.
  struct Variable {
    LLVMValueRef home = nullptr;  ///< null: it lies where it is saved alone
    LLVMTypeRef type = nullptr;
    std::uint32_t at = ~0u;
    bool at_once = false;  ///< saved where it is set, else where turns end
  };
  Variable variable(Value v, LLVMTypeRef t);
  void keep(Variable& of);
  bool between_stops(BlockId b) const;
  bool is_set_between_stops(Value v) const;
  LLVMValueRef get(const Variable& from);
  void set(const Variable& to, LLVMValueRef value);
  void save(const Variable& from, LLVMValueRef value);
  LLVMValueRef saved(const Variable& of);
  std::vector<Variable> kept_at(std::size_t stop);

  Build& b_;
  const ir::Function& f_;
  const Program& program_;
  const std::vector<std::uint32_t>& steps_;
  const Shape& shape_;
  const Kind kind_;
  std::string problem_;
  std::unique_ptr<DebugLines> lines_;

  LLVMValueRef frame_ = nullptr;
  LLVMBasicBlockRef entry_ = nullptr, stopped_ = nullptr;
  LLVMBasicBlockRef next_warp_ = nullptr, next_block_ = nullptr, warp_over_ = nullptr;
  LLVMBasicBlockRef all_over_ = nullptr;
  LLVMBuilderRef allocas_ = nullptr;
  LLVMValueRef number_[3] = {}, warp_ = nullptr;  ///< allocas: the block's numbers, the warp's
  LLVMValueRef ids_[3] = {}, first_ = nullptr, index_ = nullptr, local_ = nullptr;
  LLVMValueRef mask_ = nullptr;  ///< of the block that is being made
  BlockId current_ = 0;
  std::vector<Value> stops_;
  std::vector<std::vector<Value>> needed_;               ///< by stop
  std::vector<LLVMBasicBlockRef> behind_;                ///< by stop, where warps go on
  std::vector<bool> needed_anywhere_;                    ///< by value
  std::vector<bool> stop_within_;                        ///< by loop
  std::vector<bool> read_in_turns_;                      ///< by value: in a loop without a stop
  std::unordered_map<std::uint32_t, Variable> waiting_;  ///< by place: in_, saved
  LLVMValueRef turn_ = nullptr, saved_ = nullptr;        ///< the warp's, addresses
  /// Allocas: the stop, plus one, of all warps of the last round, and of those of this one so far;
  /// 0: they are not all at one plain barrier.
  LLVMValueRef met_ = nullptr, meeting_ = nullptr;
  std::uint32_t saved_bytes_ = 0;
  std::vector<LLVMBasicBlockRef> bodies_, tests_;  ///< by place
  std::vector<LLVMValueRef> in_;                   ///< by place, allocas: lanes that come
  struct Home {
    Variable part[4], lanes[4];  ///< `lanes`: of a uniform value that escapes
  };
  std::unordered_map<Value, Home> homes_;
  std::unordered_map<Value, Lifted> known_;  ///< in the block that is being made
  std::vector<bool> nan_read_;               ///< by value: which NaN it is matters
  std::vector<bool> used_;                   ///< by value
  LLVMValueRef scratch_[4] = {};             ///< allocas for words of lanes that take turns
};

}  // namespace ptx2spv::interpreter::llvm
