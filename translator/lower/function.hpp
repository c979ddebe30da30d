// Lowering of one function: operands, destinations, guards; the instruction families are in the
// files lower_*.cpp, by the manual's sections.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "translator/lower/arith.hpp"
#include "translator/lower/lower.hpp"
#include "translator/lower/memory.hpp"

namespace ptx2spv::lower {

using ptx::Instruction;
using ptx::Mod;
using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;

class FunctionLowering {
 public:
  FunctionLowering(EntryContext& context, std::uint32_t number);
  void run();

 private:
  friend class TextureLowering;

  // Set-up (function.cpp)
  void declare_registers();
  bool params_fit();
  void declare_params();
  void find_addressed_params();
  void start_blocks();
  void statement(const ptx::Statement& statement);
  void locate(const Instruction& inst);
  static bool ends_block(const Instruction& inst);
  void instruction(const Instruction& inst);
  using Lower = void (FunctionLowering::*)(const Instruction&);
  static Lower lowering_of(Opcode op);
  void dispatch(const Instruction& inst);

  // Operands and destinations (operands.cpp)
  std::span<const Operand> args(const Instruction& inst) const { return f_.args(inst); }
  /// The operand's bits as `type` has them: narrow integers zero-extended, wider registers
  /// truncated.
  Value read(const Operand& operand, ptx::Type type);
  /// The values of elements(operand). In a list a float constant is its bits, cut to the type's
  /// size, unless the type is .f32.
  std::vector<Value> read_elements(const Operand& operand, ptx::Type type);
  Value read_pred(const Operand& operand);
  Value read_reg(const Operand& operand);
  Value symbol_address(const Operand& operand);
  /// i32; of a variable or an addressed parameter that lies in local memory.
  Value local_address(ptx::SymbolId id, std::uint32_t offset);
  Value special(const Operand& operand);
  /// Writes bits of `type`; a wider register gets them sign- or zero-extended, as the type says.
  void write(const Operand& operand, Value value, ptx::Type type);
  void write_pred(const Operand& operand, Value value);
  /// Elements of a list, a vector register or a special register of several parts; else the operand
  /// itself.
  std::vector<Operand> elements(const Operand& operand) const;
  std::uint32_t var_of(const Operand& operand) const;
  Value fit(Value value, ir::Type type);
  /// The constant `address` as that of the variable: passes/sanitize may then ask for its bounds.
  Value named(Value address, SymbolRef variable, MemorySpace space, std::uint64_t offset,
              std::uint64_t bytes);
  std::uint64_t size_of(SymbolRef variable) const;
  Value cluster(const Operand& operand);

  // Families
  class Float;    ///< lower_float.cpp
  class Convert;  ///< lower_move.cpp
  class Video;    ///< lower_video.cpp
  class Matrix;   ///< lower_matrix.cpp
  void lower_arithmetic(const Instruction& inst);
  void lower_integer(const Instruction& inst);
  void lower_float(const Instruction& inst);
  void lower_carry(const Instruction& inst);
  void lower_compare(const Instruction& inst);
  void lower_set(const Instruction& inst);
  void lower_setp(const Instruction& inst);
  void lower_bits(const Instruction& inst);
  void lower_mov(const Instruction& inst);
  void move_bits(const Operand& d, const Operand& a, unsigned total);
  std::vector<Value> read_halves(const Operand& operand);
  void write_halves(const Operand& operand, const std::vector<Value>& halves);
  void lower_cvt(const Instruction& inst);
  void lower_cvta(const Instruction& inst);
  void lower_access(const Instruction& inst);
  void lower_load(const Instruction& inst);
  void lower_store(const Instruction& inst);
  void lower_atomic(const Instruction& inst);
  void lower_branch(const Instruction& inst);
  void branch_by_index(Value index, std::uint32_t list);
  void lower_call(const Instruction& inst);
  void lower_barrier(const Instruction& inst);
  void lower_warp(const Instruction& inst);
  void lower_redux_float(const Instruction& inst);
  void lower_stack(const Instruction& inst);

  // Asynchronous copies and mbarrier objects (lower_async.cpp)
  class Mbarrier;
  void lower_async_copy(const Instruction& inst);
  void lower_mbarrier(const Instruction& inst);
  Value stack_pointer();
  void set_stack_pointer(Value at);
  void leave();  ///< of the function, which gives back what its alloca took
  void enter_frame();
  void lower_surface(const Instruction& inst);
  void lower_texture(const Instruction& inst);
  void lower_video(const Instruction& inst);
  void lower_matrix(const Instruction& inst);
  /// No result depends on it. That of createpolicy is for cache hints alone, and launches follow
  /// each other as they are.
  void lower_hint(const Instruction&) {}
  void lower_nanosleep(const Instruction& inst);
  void lower_refused(const Instruction& inst) { refuse(inst); }
  void lower_trap_instruction(const Instruction& inst);
  void lower_trap(abi::TrapKind kind, const std::string& message,
                  std::initializer_list<Value> coordinates);

  // Memory (lower_memory.cpp)
  struct Place {
    bool words = false;            ///< a parameter kept in variables
    std::uint32_t first_word = 0;  ///< its first variable
    std::uint64_t byte = 0, bytes = 0;
    Access access;
    Value address = 0;
  };
  Place place(const Instruction& inst, const Operand& operand, ptx::Space space);
  /// Of an object in shared memory, by an address of it or a generic one.
  Place shared_place(const Instruction& inst, const Operand& operand);
  Value load_words(const Place& place, unsigned offset, unsigned bytes);
  void store_words(const Place& place, unsigned offset, unsigned bytes, Value raw);

  // Calls (lower_call.cpp)
  void call_function(const Instruction& inst, std::uint32_t callee);
  void call_indirect(const Instruction& inst);
  void call_vprintf(const Instruction& inst);
  void call_assert(const Instruction& inst);
  void call_heap(const Instruction& inst, HeapCall which);  ///< lower_heap.cpp
  std::vector<std::uint32_t> vars_of(const Operand& operand) const;
  std::vector<Value> argument_words(const Operand& argument, ptx::Type constant);
  std::vector<Value> argument_words(const Operand& list);
  std::vector<std::uint32_t> result_words(const Operand& result,
                                          const std::vector<ir::Type>& types);
  std::vector<std::uint32_t> result_words(const Operand& list);
  std::vector<Value> regroup(const std::vector<Value>& values, unsigned bytes,
                             const std::vector<ir::Type>& wanted, unsigned wanted_bytes);

  void error(Span span, std::string text);
  void refuse(const Instruction& inst, std::string_view reason = {});
  std::uint32_t add_site(const std::string& message = {});
  std::uint32_t new_var(ir::Type type, std::string name);
  std::string opcode_text(const Instruction& inst) const {
    return std::string(m_.text(inst.opcode_span));
  }

  EntryContext& context_;
  const std::uint32_t number_;
  const FunctionRef ref_;
  const ptx::Module& m_;
  const ptx::Function& f_;
  ir::Module& ir_;
  ir::Function& out_;
  ir::Builder b_;
  Arith arith_;
  Memory memory_;
  std::vector<std::uint32_t> reg_var_;  ///< by register number: its first variable
  std::unordered_map<ptx::SymbolId, std::uint32_t>
      param_words_;                                    ///< parameter to its first word variable
  std::unordered_map<ptx::SymbolId, bool> addressed_;  ///< parameters that need an address
  std::unordered_map<ptx::SymbolId, ir::BlockId> label_block_;
  struct Switch {
    std::uint32_t index = 0;  ///< the variable that says which label
    ir::BlockId block = 0;
  };
  std::unordered_map<std::uint32_t, Switch> switches_;  ///< by list: what its branches share
  std::optional<std::size_t> switch_edges_;             ///< labels of all brx.idx together
  std::uint32_t carry_ = 0, clock_ = 0, stack_pointer_ = 0, stack_saved_ = 0, frame_ = 0;
  Value guard_ = 0;  ///< predicate of a pure instruction, or 0
  const Instruction* current_ = nullptr;
  bool ended_ = false;  ///< the current block has its terminator
};

ir::Type ir_type(ptx::Type type);
/// The types of the variables that a register is: one per element, two per 128 bits.
std::vector<ir::Type> variables_of(const ptx::Symbol& symbol);
NumKind num_kind(ptx::Type type);
ir::Round round_of(Mod mod, ir::Round otherwise);

}  // namespace ptx2spv::lower
