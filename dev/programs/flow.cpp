// Branches, loops, jump tables and calls.
#include "dev/programs/program.hpp"
#include "dev/programs/statements.hpp"

namespace ptx2spv::programs {
namespace {

/// What stands in a branch or loop: what it makes is not known behind it.
void body(Writer& w, Context& context, unsigned count) {
  const std::size_t known = w.pool.size();
  const bool converged = w.converged;
  w.converged = false;
  ++w.depth;
  for (unsigned k = 0; k < count; ++k) {
    const Group& group = w.random.pick(context.vocabulary.groups);
    if (w.random.chance(75) || w.depth > 2)
      statement(w, context, group);
    else
      structure(w, context);
  }
  // A variable of the whole kernel takes something along.
  const std::string variable = "%m" + std::to_string(w.random.below(4));
  const std::string other = w.value(type_name("b32")).name;
  w.line("xor.b32 " + variable + ", " + variable + ", " + other + ";");
  --w.depth;
  w.converged = converged;
  w.pool.resize(known);
}

std::string cases(const std::vector<std::string>& labels) {
  std::string list;
  for (std::size_t k = 0; k < labels.size(); ++k) {
    list += k ? ", " : "";
    list += labels[k];
  }
  return list;
}

}  // namespace

void branch(Writer& w, Context& context) {
  if (w.depth > 2) return;
  const std::string p = w.predicate(), other = w.label(), end = w.label();
  const bool has_else = w.random.chance(50);
  w.line("@" + p + " bra " + other + ";");
  body(w, context, 1 + w.random.below(3));
  if (has_else) w.line(std::string(w.random.chance(20) ? "bra.uni " : "bra ") + end + ";");
  w.line(other + ":");
  if (has_else) {
    body(w, context, 1 + w.random.below(2));
    w.line(end + ":");
  }
}

void loop(Writer& w, Context& context) {
  if (w.depth > 1) return;
  const Value count = w.bits(32), p = w.bits(1);
  const bool uniform = w.random.chance(40);
  const std::string most = std::to_string(2 + w.random.below(4));
  if (uniform) {
    w.line("mov.u32 " + count.name + ", " + most + ";");
  } else {
    const std::string from = w.value(type_name("b32")).name;
    w.line("and.b32 " + count.name + ", " + from + ", 3;");
  }
  const std::string head = w.label(), end = w.label();
  const bool tested_first = !uniform || w.random.chance(50);
  w.line(head + ":");
  if (tested_first) {
    w.line("setp.eq.u32 " + p.name + ", " + count.name + ", 0;");
    w.line("@" + p.name + " bra " + end + ";");
  }
  body(w, context, 1 + w.random.below(3));
  w.line("sub.u32 " + count.name + ", " + count.name + ", 1;");
  if (w.random.chance(30)) {
    const Value leave = w.bits(1);
    w.line("setp.gt.u32 " + leave.name + ", %m0, 0xf0000000;");
    w.line("@" + leave.name + " bra " + end + ";");
  }
  if (tested_first) {
    w.line("bra " + head + ";");
  } else {
    w.line("setp.ne.u32 " + p.name + ", " + count.name + ", 0;");
    w.line("@" + p.name + " bra " + head + ";");
  }
  w.line(end + ":");
}

void jump_table(Writer& w, Context& context) {
  if (w.depth > 1) return;
  const unsigned n = 2 + w.random.below(3);
  const std::string index = w.bounded(n), table = w.label(), end = w.label();
  std::vector<std::string> labels;
  for (unsigned k = 0; k < n; ++k) labels.push_back(w.label());
  w.line(table + ": .branchtargets " + cases(labels) + ";");
  w.line("brx.idx " + index + ", " + table + ";");
  for (unsigned k = 0; k < n; ++k) {
    w.line(labels[k] + ":");
    body(w, context, 1);
    if (k + 1 < n && w.random.chance(80)) w.line("bra " + end + ";");
  }
  w.line(end + ":");
}

namespace {

/// How one parameter or result of a function is passed.
struct Passed {
  enum Kind { reg, vector_reg, param, structure } kind = reg;
  TypeName type;
  unsigned elements = 1;
  std::string name;
  unsigned bytes() const { return elements * (type.width / 8); }
};

Passed drawn(Writer& w, const std::string& name) {
  static const std::vector<std::string> kTypes = {"b32", "u32", "s32", "b64",
                                                  "f32", "u64", "f64", "s64"};
  Passed p;
  p.name = name;
  const unsigned way = w.random.below(10);
  p.type = type_name(w.random.pick(kTypes));
  p.kind = way < 3   ? Passed::reg
           : way < 4 ? Passed::vector_reg
           : way < 7 ? Passed::param
                     : Passed::structure;
  if (p.kind == Passed::vector_reg) {
    if (p.type.width != 32) p.type = type_name("b32");
    p.elements = w.random.chance(50) ? 2 : 4;
  }
  if (p.kind == Passed::structure) {
    p.type = type_name("b32");
    p.elements = 2 + w.random.below(4);
  }
  return p;
}

std::string declared(const Passed& p) {
  const std::string type = p.type.text;
  switch (p.kind) {
    case Passed::reg: return ".reg ." + type + " " + p.name;
    case Passed::vector_reg:
      return ".reg .v" + std::to_string(p.elements) + " ." + type + " " + p.name;
    case Passed::param: return ".param ." + type + " " + p.name;
    default: return ".param .align 8 .b8 " + p.name + "[" + std::to_string(p.bytes()) + "]";
  }
}

/// What a function's body finds in its parameter.
void receive(Writer& f, const Passed& p) {
  if (p.kind == Passed::reg) {
    Value value{p.name, p.type.width, p.type.kind == 's' ? 'u' : p.type.kind};
    f.keep(value);
    return;
  }
  if (p.kind == Passed::vector_reg) {
    for (unsigned k = 0; k < p.elements; ++k) {
      Value value{p.name + "." + "xyzw"[k], 32, p.type.kind == 's' ? 'u' : p.type.kind};
      f.keep(value);
    }
    return;
  }
  for (unsigned k = 0; k < p.elements; ++k) {
    const Value value = f.declare(p.type);
    f.line("ld.param." + p.type.text + " " + value.name + ", [" + p.name + "+" +
           std::to_string(k * p.type.width / 8) + "];");
    f.keep(value);
  }
}

void give_back(Writer& f, const Passed& p) {
  for (unsigned k = 0; k < p.elements; ++k) {
    const std::string from = f.value(p.type).name;
    if (p.kind == Passed::reg) {
      f.line("mov." + p.type.text + " " + p.name + ", " + from + ";");
    } else if (p.kind == Passed::vector_reg) {
      f.line("mov." + p.type.text + " " + p.name + "." + "xyzw"[k] + ", " + from + ";");
    } else {
      f.line("st.param." + p.type.text + " [" + p.name + "+" +
             std::to_string(k * p.type.width / 8) + "], " + from + ";");
    }
  }
}

struct Function {
  std::string name;
  std::vector<Passed> results, parameters;
};

std::string parameter_list(const std::vector<Passed>& list) {
  std::string text;
  for (std::size_t k = 0; k < list.size(); ++k) {
    text += k ? ", " : "";
    text += declared(list[k]);
  }
  return "(" + text + ")";
}

std::string heading(const Function& function, const std::string& name) {
  std::string text;
  if (!function.results.empty()) text += parameter_list(function.results) + " ";
  return text + name + parameter_list(function.parameters);
}

void define(Writer& w, Context& context, const Function& function) {
  Writer f(w.random, w.module, w.shape, false);
  f.converged = false;
  f.registers << "  .reg .b32 %m<4>, %x<2>;\n";
  for (int k = 0; k < 4; ++k)
    f.line("mov.b32 %m" + std::to_string(k) + ", " + std::to_string(w.random.below(100)) + ";");
  for (const Passed& p : function.parameters) receive(f, p);
  const unsigned count = 1 + w.random.below(3);
  for (unsigned k = 0; k < count; ++k) {
    const Group& group = w.random.pick(context.vocabulary.groups);
    if (w.random.chance(70))
      statement(f, context, group);
    else if (w.random.chance(50))
      vectors(f);
    else
      branch(f, context);
  }
  if (w.random.chance(20)) {  // an early exit
    const std::string p = f.predicate(), on = f.label();
    f.line("@" + p + " bra " + on + ";");
    for (const Passed& r : function.results) give_back(f, r);
    f.line("ret;");
    f.line(on + ":");
  }
  for (const Passed& r : function.results) give_back(f, r);
  f.line("ret;");
  w.module.declarations << ".func " << heading(function, function.name) << "\n{\n"
                        << f.registers.str() << f.code.str() << "}\n";
}

/// Puts arguments in place; the names that stand in the call.
std::string place(Writer& w, const std::vector<Passed>& parameters) {
  std::string names;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const Passed& p = parameters[k];
    names += k ? ", " : "";
    std::string name = "a" + std::to_string(w.module.labels++);
    if (p.kind == Passed::reg && w.random.chance(30)) {
      names += w.value(p.type, true).name;
      continue;
    }
    if (p.kind == Passed::reg || p.kind == Passed::vector_reg) {
      name = "%" + name;
      std::string vector;
      if (p.kind == Passed::vector_reg) vector = ".v" + std::to_string(p.elements) + " ";
      w.registers << "  .reg " << vector << "." << p.type.text << " " << name << ";\n";
      for (unsigned e = 0; e < p.elements; ++e) {
        const std::string from = w.value(p.type).name;
        std::string to = name;
        if (p.kind == Passed::vector_reg) to += std::string(".") + "xyzw"[e];
        w.line("mov." + p.type.text + " " + to + ", " + from + ";");
      }
    } else {
      Passed local = p;
      local.name = name;
      w.line(declared(local) + ";");
      for (unsigned e = 0; e < p.elements; ++e) {
        const std::string from = w.value(p.type).name;
        w.line("st.param." + p.type.text + " [" + name + "+" +
               std::to_string(e * p.type.width / 8) + "], " + from + ";");
      }
    }
    names += name;
  }
  return "(" + names + ")";
}

}  // namespace

void call(Writer& w, Context& context) {
  if (!w.kernel || w.depth > 1) return;
  const unsigned id = w.module.functions++;
  Function function;
  function.name = "fn" + std::to_string(id);
  const unsigned parameters = 1 + w.random.below(3);
  for (unsigned k = 0; k < parameters; ++k)
    function.parameters.push_back(drawn(w, "fp" + std::to_string(id) + "_" + std::to_string(k)));
  function.results.push_back(drawn(w, "fr" + std::to_string(id)));
  define(w, context, function);
  const bool indirect = w.random.chance(35);
  std::string target = function.name, tail;
  if (indirect) {
    Function second = function;
    second.name = "fn" + std::to_string(id) + "b";
    define(w, context, second);
    const std::string table = "ft" + std::to_string(id);
    w.module.declarations << "." << (w.random.chance(50) ? "global" : "const") << " .align 8 .u64 "
                          << table << "[2] = {" << function.name << ", " << second.name << "};\n";
    const std::string space =
        w.module.declarations.str().find(".const .align 8 .u64 " + table) != std::string::npos
            ? "const"
            : "global";
    const std::string index = w.bounded(2);
    const Value at = w.bits(64), base = w.bits(64), pointer = w.bits(64);
    w.line("mul.wide.u32 " + at.name + ", " + index + ", 8;");
    w.line("mov.u64 " + base.name + ", " + table + ";");
    w.line("add.u64 " + at.name + ", " + at.name + ", " + base.name + ";");
    w.line("ld." + space + ".u64 " + pointer.name + ", [" + at.name + "];");
    target = pointer.name;
    const std::string list = w.label();
    if (w.random.chance(50)) {
      w.line(list + ": .calltargets " + function.name + ", " + second.name + ";");
    } else {
      w.line(list + ": .callprototype " + heading(function, "_") + ";");
    }
    tail = ", " + list;
  }
  w.line("{");
  const std::string arguments = place(w, function.parameters);
  const Passed& r = function.results[0];
  std::vector<Value> values;
  std::string result = "r" + std::to_string(w.module.labels++);
  const std::string class_of = r.type.text;
  if (r.kind == Passed::reg || r.kind == Passed::vector_reg) {
    result = "%" + result;
    std::string vector;
    if (r.kind == Passed::vector_reg) vector = ".v" + std::to_string(r.elements) + " ";
    w.registers << "  .reg " << vector << "." << class_of << " " << result << ";\n";
  } else {
    Passed local = r;
    local.name = result;
    w.line(declared(local) + ";");
  }
  w.line(std::string(!indirect && w.random.chance(20) ? "call.uni (" : "call (") + result + "), " +
         target + ", " + arguments + tail + ";");
  for (unsigned e = 0; e < r.elements; ++e) {
    Value value{result, r.type.width, r.type.kind == 's' ? 'u' : r.type.kind};
    if (r.kind == Passed::vector_reg) value.name += std::string(".") + "xyzw"[e];
    if (r.kind == Passed::param || r.kind == Passed::structure) {
      value = w.declare(r.type);
      w.line("ld.param." + class_of + " " + value.name + ", [" + result + "+" +
             std::to_string(e * r.type.width / 8) + "];");
    }
    values.push_back(value);
  }
  w.line("}");
  for (const Value& each : values) w.result(each);
}

void structure(Writer& w, Context& context) {
  switch (w.random.below(14)) {
    case 0: return branch(w, context);
    case 1: return loop(w, context);
    case 2: return jump_table(w, context);
    case 3:
    case 4: return call(w, context);
    case 5: return exchange(w);
    case 6: return table(w);
    case 7: return stack(w);
    case 8: return surface(w, context.resources);
    case 9: return texture(w, context);
    case 10: return move(w);
    default: return vectors(w);
  }
}

}  // namespace ptx2spv::programs
