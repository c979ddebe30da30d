// Builds one SPIR-V module: sections in the order that the specification wants, types and constants
// once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace ptx2spv::spirv {

using Id = std::uint32_t;
using Words = std::vector<std::uint32_t>;

/// An operand word: ids and literals as they are, enumerants by value.
constexpr std::uint32_t word(std::uint32_t value) { return value; }
template <typename E>
requires std::is_enum_v<E>
constexpr std::uint32_t word(E value) { return static_cast<std::uint32_t>(value); }

/// SPV_KHR_fma, which headers of Debian 12 lack.
inline constexpr auto kFmaKHR = static_cast<spv::Op>(4427);
inline constexpr auto kFmaCapability = static_cast<spv::Capability>(6030);

/// Thrown by what would have more words than an instruction can.
struct TooLong {};
/// An instruction's first word. `words`: all of them.
constexpr std::uint32_t head_word(std::uint32_t op, std::size_t words) {
  if (words > 0xffff) throw TooLong();
  return static_cast<std::uint32_t>(words) << 16 | op;
}

/// Appends the instruction `op` with `operands` to `out`.
template <typename... T>
void put(Words& out, spv::Op op, T... operands) {
  const std::uint32_t words[] = {head_word(word(op), 1 + sizeof...(operands)), word(operands)...};
  out.insert(out.end(), std::begin(words), std::end(words));
}
/// The same with a list of operand words behind the fixed ones.
template <typename... T>
void put_list(Words& out, spv::Op op, std::span<const std::uint32_t> list, T... operands) {
  const std::uint32_t words[] = {head_word(word(op), 1 + sizeof...(operands) + list.size()),
                                 word(operands)...};
  out.insert(out.end(), std::begin(words), std::end(words));
  out.insert(out.end(), list.begin(), list.end());
}
/// `text` as a literal string, in words.
Words literal(std::string_view text);

class Builder {
 public:
  Builder();

  Id id() { return bound_++; }
  std::uint32_t bound() const { return bound_; }

  void capability(spv::Capability capability);
  void extension(std::string_view name);
  /// The memory model is Vulkan's, not GLSL's.
  void use_vulkan_memory();
  bool vulkan_memory() const { return vulkan_memory_; }
  Id import_set(std::string_view name);
  Id glsl() { return import_set("GLSL.std.450"); }

  // Types. Each exists once.
  Id type_void() { return global(spv::Op::OpTypeVoid, 0, {}); }
  Id type_bool() { return bool_; }
  Id type_uint() { return uint_; }
  Id type_int(unsigned bits);  ///< unsigned; 8 and 16 need a storage capability
  Id type_signed(unsigned bits);
  Id type_float(unsigned bits);
  bool has_float(unsigned bits) const { return has_float_[bits / 64]; }  ///< 32 or 64
  Id type_vector(Id component, unsigned count) {
    return global(spv::Op::OpTypeVector, 0, {component, count});
  }
  Id type_uvec(unsigned count) { return uvec_[count]; }
  Id type_pointer(spv::StorageClass storage, Id pointee) {
    return global(spv::Op::OpTypePointer, 0, {word(storage), pointee});
  }
  Id type_function(Id result, std::initializer_list<Id> parameters = {});
  /// struct { element words[length] } with layout decorations; length 0: a runtime array.
  Id type_block(Id element, unsigned stride, unsigned length, bool readonly);
  /// The same, of a length that is a constant, which specialization may give its value.
  Id type_block_of(Id element, unsigned stride, Id length, bool readonly);
  /// struct { element value }, whose accesses other workgroups see; one more at every call.
  Id type_coherent(Id element);

  // Constants. Each exists once.
  Id constant(std::uint32_t value);
  Id constant64(std::uint64_t value);  ///< of the 64-bit integer type
  Id constant_bits(Id type, std::uint32_t value) {
    return global(spv::Op::OpConstant, type, {value});
  }
  Id constant_bits64(Id type, std::uint64_t value);
  Id constant_bool(bool value);
  Id constant_composite(Id type, std::span<const Id> parts) {
    return global(spv::Op::OpConstantComposite, type, parts);
  }
  Id constant_null(Id type) { return global(spv::Op::OpConstantNull, type, {}); }
  /// A specialisation constant of type uint, by number.
  Id spec_constant(std::uint32_t number, std::uint32_t value);
  Id spec_op(spv::Op op, Id type, std::initializer_list<Id> operands);

  /// A type, constant or other module-level instruction, looked up before it is made. type 0: the
  /// instruction has no result type.
  Id global(spv::Op op, Id type, std::span<const std::uint32_t> operands);
  Id global(spv::Op op, Id type, std::initializer_list<std::uint32_t> operands) {
    return global(op, type, std::span<const std::uint32_t>(operands.begin(), operands.size()));
  }
  /// A new module-scope variable.
  Id variable(spv::StorageClass storage, Id pointee);

  void name(Id id, std::string_view name);
  template <typename... T>
  void decorate(Id id, spv::Decoration decoration, T... operands) {
    put(annotations_, spv::Op::OpDecorate, id, decoration, operands...);
  }
  template <typename... T>
  void decorate_member(Id type, unsigned member, spv::Decoration decoration, T... operands) {
    put(annotations_, spv::Op::OpMemberDecorate, type, member, decoration, operands...);
  }
  /// Decorates with words that were already written elsewhere.
  void annotate(spv::Op op, std::span<const std::uint32_t> operands);

  /// Makes OpFmaKHR the fused multiply-add of the library's functions, too, for floats of `bits`.
  void use_fma(unsigned bits) { fma_bits_ |= bits; }
  bool uses_fma(unsigned bits) const { return (fma_bits_ & bits) != 0; }

  /// An instruction set that drivers ignore.
  Id non_semantic_set(std::string_view name) {
    extension("SPV_KHR_non_semantic_info");
    return import_set(name);
  }
  /// An instruction of such a set outside functions; all operands are ids.
  template <typename... T>
  Id global_ext(Id set, unsigned instruction, T... operands) {
    return global(spv::Op::OpExtInst, type_void(), {set, instruction, operands...});
  }
  /// One more of them, whether or not the same stands there already.
  template <typename... T>
  Id new_global_ext(Id set, unsigned instruction, T... operands) {
    const Id type = type_void(), result = id();
    put(globals_, spv::Op::OpExtInst, type, result, set, instruction, operands...);
    return result;
  }
  /// Attaches `text` to the module under `name`, for tools: instruction 1 of the set
  /// NonSemantic.ptx2spv, whose operands are OpStrings, the name and then the text in pieces.
  void embed(std::string_view name, std::string_view text);

  /// A text of any length as OpStrings, each as long as an instruction allows. The text is given as
  /// UTF-8: other bytes, and zeros, are question marks.
  std::vector<Id> strings(std::string_view text);
  /// The first of them.
  Id string(std::string_view text);
  void source(Id file, std::string_view text);
  /// `inputs` are its built-in variables, `others` all others that it uses, which SPIR-V 1.4 wants.
  void entry_point(Id function, std::string_view name, std::span<const Id> inputs,
                   std::span<const Id> others = {});
  template <typename... T>
  void execution_mode(Id function, spv::ExecutionMode mode, T... operands) {
    put(modes_, spv::Op::OpExecutionMode, function, mode, operands...);
  }

  /// Function bodies: those of kernels, and those of linked library functions.
  Words& functions() { return functions_; }
  Words& library_functions() { return library_functions_; }

  /// Things that emission shares between the entries of one module, by a key of its own making.
  Id& shared(std::uint64_t key);

  /// By id of the linked library (library.hpp): the module's id, or 0.
  std::vector<Id>& library_ids() { return library_ids_; }

  /// The module's words.
  Words finish() const;

 private:
  struct Slot {
    std::uint32_t hash = 0, at = 0;  ///< `at` is an offset in globals_ plus 1; 0: empty
  };
  void grow();

  std::uint32_t bound_ = 1;
  Words capabilities_, extensions_, imports_, entry_points_, whole_entry_points_, modes_, strings_,
      sources_, names_, annotations_, globals_, library_functions_, functions_;
  std::vector<Slot> table_;
  std::size_t used_ = 0;
  std::vector<spv::Capability> capability_list_;
  std::unordered_map<std::uint64_t, Id> shared_;
  std::vector<std::pair<Words, Id>> import_list_;
  /// By the hash of its words: where an OpString begins in strings_.
  std::unordered_multimap<std::size_t, std::size_t> string_at_;
  std::vector<Words> extension_list_;
  std::vector<Id> small_constants_, library_ids_;
  unsigned fma_bits_ = 0;   ///< a sum of 16, 32 and 64
  bool has_float_[2] = {};  ///< 32, 64 bits
  bool vulkan_memory_ = false;
  Id bool_ = 0, uint_ = 0, uvec_[5] = {};
};

}  // namespace ptx2spv::spirv
