// What every part of a program is written with: registers that hold a value, operands of every
// kind, and the cells that results are stored to.
#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "dev/programs/random.hpp"
#include "dev/programs/vocabulary.hpp"

namespace ptx2spv::programs {

/// What a register's value is likely to look like, so that float instructions meet floats.
enum class Flavour : char { integer = 'i', single = 'f', half = 'h', bfloat = 'g', twice = 'd' };

/// A register, or an element of a vector register, that holds a value.
struct Value {
  std::string name;
  unsigned width = 32;  ///< bits; 1: predicate
  char kind = 'b';      ///< the register's class: b bits, u integer, f float, h f16 or f16x2
  Flavour flavour = Flavour::integer;
};

/// A PTX type in an instruction: s32 is {'s', 32}; packed ones are of class 'p'.
struct TypeName {
  std::string text;
  char kind = 'b';  ///< b u s f h (f16, f16x2) g (bf16, bf16x2) p (packed integers)
  unsigned width = 32;
};
TypeName type_name(const std::string& text);

/// The text of a module while it is written.
struct ModuleText {
  std::ostringstream declarations;  ///< variables and functions, before the kernel
  unsigned labels = 0, functions = 0, variables = 0, registers = 0;
};

/// The launch and memory of a program. All of it depends on the number alone.
struct Shape {
  unsigned block[3] = {32, 1, 1};
  unsigned blocks = 1;
  unsigned threads() const { return block[0] * block[1] * block[2]; }
  unsigned total() const { return threads() * blocks; }
};

/// The body of the kernel, or of a device function.
class Writer {
 public:
  Writer(Random& dice, ModuleText& text, const Shape& launch, bool is_kernel)
      : random(dice), module(text), shape(launch), kernel(is_kernel) {}

  Random& random;
  ModuleText& module;
  const Shape& shape;
  const bool kernel;  ///< else a function: results are kept in registers alone
  std::ostringstream code;
  std::ostringstream registers;  ///< their declarations
  std::vector<Value> pool;
  unsigned cell_bytes = 0;    ///< of the cells of a thread so far
  unsigned common_bytes = 0;  ///< of the cells that all threads share
  unsigned shared_common_bytes = 0;
  unsigned depth = 0;     ///< of branches and loops around
  bool converged = true;  ///< every thread of the block comes here
  bool uses_shared = false;
  std::string indent() const { return std::string(2 + 2 * depth, ' '); }

  /// A new register without a value. `type` is a PTX type of that width, `plain` asks for .bN,
  /// `element` allows one of a vector register.
  Value declare(const TypeName& type, bool plain = false, bool element = false);
  /// The same, of a bit type.
  Value bits(unsigned width);
  std::string label();

  /// A register with a value of this type, never a constant. `whole`: no element of a vector.
  Value value(const TypeName& type, bool whole = false);
  /// The same in a register of bits, as the parts of a list are.
  Value plain_value(const TypeName& type);
  /// A source operand: register, vector element or constant.
  std::string source(const TypeName& type, bool whole = false);
  std::string constant(const TypeName& type);
  /// A predicate source, perhaps negated.
  std::string predicate(bool may_negate = true);
  /// A value in a range, in a new 32-bit register.
  std::string bounded(unsigned below);

  /// Stores a result in a cell of its own, and lets later instructions use it.
  void result(const Value& value, bool keep = true);
  void keep(const Value& value) { pool.push_back(value); }
  /// One line of code.
  void line(const std::string& text);
  /// "@%p " or "@!%p " for one statement in eight; the destinations need a value before it.
  std::string guard(const std::vector<Value>& destinations);
};

}  // namespace ptx2spv::programs
