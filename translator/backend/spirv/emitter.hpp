// Emission of one function: state and helpers that the instruction families (emit_*.cpp) share.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "translator/backend/spirv/emit.hpp"

namespace ptx2spv::spirv {

/// Of SPV_KHR_maximal_reconvergence, for which Debian 12's headers are too old.
inline constexpr auto kMaximallyReconverges = static_cast<spv::ExecutionMode>(6023);

using namespace ir;

/// How memory is looked at: an array of elements of one type.
enum class View : std::uint8_t { u8, u16, u32, uvec2, u64, uvec4, f32, f64 };

/// OpNop for operations that legalisation replaces.
spv::Op atomic_op(ir::AtomicOp op);

class Emitter {
 public:
  Emitter(const ir::Module& module, const ir::Function& function, const EmitOptions& options,
          Builder& builder)
      : m_(module),
        f_(function),
        o_(options),
        p_(options.profile),
        push_words_(options.push_words),
        b_(builder),
        code_(builder.functions()) {}

  std::optional<EmitError> run();

 private:
  using Value = ir::Value;
  using Inst = ir::Inst;

  /// Another form of a value (as a float, as two words, a pointer to it), good within one block.
  struct Form {
    std::uint32_t block = 0, key = 0;
    Id id = 0;
  };

  // emit.cpp: the function, blocks and terminators
  void scan();
  void begin_function();
  void finish_entry();
  void float_controls();
  void block(ir::BlockId id);
  std::vector<std::uint32_t> distinct_edges(const ir::Block& block);
  void phi(const ir::Block& block, Value v, const std::vector<std::uint32_t>& edges);
  void terminator(const ir::Block& block);
  void missing_blocks();
  void line(std::uint32_t loc);
  void begin_debug();  ///< source, unit and function of NonSemantic.Shader.DebugInfo.100
  void instruction(Value v);
  Id label(ir::BlockId block) { return labels_[block] ? labels_[block] : labels_[block] = b_.id(); }
  void fail(std::string text);
  void unexpected(const Inst& inst);

  // values.cpp: results and operands in the forms that instructions want
  Id type(ir::Type type);
  Id constant(const Inst& inst);
  Id builtin(ir::Builtin which);
  Id clock(ir::ClockScope scope);  ///< its ticks now, as uvec2
  Id value(Value v);               ///< the value's bits, of type(insts[v].type)
  Id operand(Value v, unsigned i) { return value(f_.arg(v, i)); }
  Id float_value(Value v);          ///< an i32 or i64 as float32 or float64
  Id signed_value(Value v);         ///< an i32 or i64 as signed integer
  Id words(Value v);                ///< an i64 as uvec2
  void set(Value v, Id id);         ///< `id`, the last instruction's own result, is the value
  void alias(Value v, Id id);       ///< `id`, made for something else, is the value too
  void set_float(Value v, Id id);   ///< the same from a float; bits are made only when used
  void set_signed(Value v, Id id);  ///< the same from a signed integer
  void set_words(Value v, Id id);   ///< an i64 from a uvec2
  Id integer(ir::Type t, std::uint64_t value);  ///< a constant; i64 in the profile's form
  bool holds(const Form& form) const {
    return form.id != 0 && (form.block == serial_ || form.block == kAnyBlock);
  }
  bool is_constant(Value v, std::uint64_t& value) const;
  unsigned bits(Value v) const { return f_.insts[v].type == ir::Type::i64 ? 64 : 32; }
  bool pairs(ir::Type t) const { return t == ir::Type::i64 && !p_.features.int64; }

  // emit_arith.cpp, emit_float.cpp, emit_control.cpp
  void arith(Value v, const Inst& inst);
  Id select(ir::Type type, Id condition, Id yes, Id no);
  bool narrow_compare(Value v, const Inst& inst);
  bool nan_test(Value v, const Inst& inst);
  void shift(Value v, const Inst& inst);
  void divide(Value v, const Inst& inst);
  void convert(Value v, const Inst& inst);
  Id type_half();
  void widen16(Value v);
  void native_float(Value v, const Inst& inst);
  Id fma(unsigned width, Id type, Id a, Id b, Id c);
  spv::FunctionControlMask control_of(std::string_view routine);
  void library_call(Value v, const Inst& inst);
  Id ordered(std::uint32_t kinds);
  Id all_memory();
  void synchronise(Value v, const Inst& inst);
  void subgroup(Value v, const Inst& inst);

  // emit_memory.cpp, emit_atomic.cpp
  void load(Value v, const Inst& inst);
  void store(Value v, const Inst& inst);
  void atomic(Value v, const Inst& inst);
  void atomic_cas(Value v, const Inst& inst);
  bool atomic_view(const Inst& inst, bool is_float, View& view);
  Id element_type(View view);
  Id array_of(View view, Id length);  ///< a type of private or workgroup memory
  Id buffer_element(View view);
  Id pointer(Value v, Value address, View view);
  Id address_pointer(Id address, Id pointee);  ///< to what a device address names
  Id coherent_pointer(Id address, View view);  ///< for accesses that other workgroups have to see
  Id word_pointer(Value v, Value address,
                  unsigned word);              ///< of a space of words (shared, local, push)
  Id containing_word(Value v, Value address);  ///< pointer to the word that holds a byte
  Id bit_offset(Value address, unsigned bytes);
  Id index(Value address, unsigned shift);
  Words access(const Inst& inst, View view, bool stores);
  Id load_from(const Inst& inst, Id pointer, View view);
  void store_to(const Inst& inst, Id pointer, View view, Id value);
  void narrow_store(Value v, const Inst& inst);
  bool native_narrow(const Inst& inst) const;
  /// What local or shared memory is an array of.
  View view_of(ir::Space space) const {
    return space == ir::Space::local    ? local_view_
           : space == ir::Space::shared ? shared_view_
                                        : View::u32;
  }
  bool word_space(ir::Space space) const;
  bool by_views(ir::Space space) const { return space == ir::Space::shared && shared_views_; }
  /// Whether the space is reached by device addresses, not through a buffer that is bound.
  bool by_address(ir::Space space) const {
    return space == ir::Space::global && p_.features.device_addresses;
  }
  Id low_word(Value v);  ///< of an i32 or an i64
  Id scope(const Inst& inst);
  Id resource(const Inst& inst, View view);
  Id shared_array(View view);
  Id local_array();
  Id push_block();

  // emit_image.cpp
  void image(Value v, const Inst& inst);
  Id image_type(const SlotSpec& slot, bool texels64);
  Id image_variable(const Inst& inst, Id type);
  Id image_coordinates(Value coords, const SlotSpec& slot);
  Words texel_access(bool stores);
  const SlotSpec& slot(const Inst& inst) const;

  // emit_matrix.cpp
  void product(Value v, const Inst& inst);
  Id matrix_type(Id component, unsigned rows, unsigned columns, std::uint32_t use);
  Id matrix(Id type, Id component, unsigned each, std::span<const Id> words);

  // emit_texture.cpp
  void texture_sample(Value v, const Inst& inst);
  Id texel_type(ir::TextureSample::Texel texel);
  Id sampled_image(std::uint32_t binding, const ir::TextureSample& sample, Id index);

  template <typename... T>
  Id op(spv::Op op, Id type, T... operands) {
    last_ = b_.id();
    last_at_ = code_.size() + 2;
    put(code_, op, type, last_, operands...);
    return last_;
  }
  template <typename... T>
  void op0(spv::Op op, T... operands) {
    put(code_, op, operands...);
  }
  template <typename... T>
  Id ext(unsigned instruction, Id type, T... operands) {
    return op(spv::Op::OpExtInst, type, b_.glsl(), instruction, operands...);
  }
  /// Notes a variable that the entry uses.
  static Id uses(std::vector<Id>& known, Id variable);

  const ir::Module& m_;
  const ir::Function& f_;
  const EmitOptions& o_;
  const Profile& p_;
  const std::uint32_t push_words_;
  Builder& b_;
  Words& code_;

  static constexpr std::uint32_t kAnyBlock =
      0xffffffffu;  ///< made beside the value: good wherever that is
  enum Use : std::uint8_t { as_bits = 1, as_float = 2, as_signed = 4 };

  std::vector<Id> ids_, labels_;
  std::vector<std::uint8_t> uses_;
  std::vector<Form> floats_, signed_, words_, pointers_, indices_;
  std::vector<Id> inputs_, variables_;  ///< that the entry uses: built-in ones, others
  std::map<Words, Id> matrices_;        ///< of this block, by words and type
  std::array<Id, 21> builtins_{};
  std::array<std::pair<Id, Id>, 4> vectors_{};  ///< built-in vectors loaded so far: variable, value
  std::uint32_t builtins_used_ = 0;
  std::uint32_t serial_ = 1;              ///< of the block being emitted
  std::vector<std::uint32_t> came_from_;  ///< by block: serial_ of the last block it led to
  Id function_ = 0, last_ = 0, local_ = 0;
  std::map<View, Id> shared_;  ///< shared memory as an array of these
  std::size_t last_at_ = 0;
  std::uint32_t loc_ = 0, line_ = 0, column_ = 0;
  Id debug_set_ = 0, debug_function_ = 0;
  /// A source file for debuggers: its name and the description that lines refer to.
  struct DebugFile {
    Id name = 0, source = 0;
  };
  DebugFile line_file_;  ///< of the line that holds now
  /// The PTX file of that number. The entries of a module share its text.
  DebugFile ptx_file(std::uint32_t module);
  std::map<std::pair<std::uint32_t, std::uint32_t>, DebugFile> cuda_files_;  ///< by module, number
  const DebugFile& cuda_file(const ir::Loc& at);
  template <typename... T>
  void debug(unsigned instruction, T... operands) {
    put(code_, spv::Op::OpExtInst, b_.type_void(), b_.id(), debug_set_, instruction, operands...);
  }
  View local_view_ = View::u32, shared_view_ = View::u32;  ///< narrow where all accesses are
  bool halves_ = false;                                    ///< arithmetic of f16
  bool shared_views_ = false;  ///< shared memory is seen in several sizes, in an explicit layout
  bool volatile_ = false, uses_local_ = false, writes_images_ = false, reconverges_ = false;
  std::optional<EmitError> error_;
  std::optional<std::uint64_t> routine_instructions_;  ///< of all calls of long routines
};

}  // namespace ptx2spv::spirv
