// Every operand of an instruction matters. The input is one instruction, with the registers %p0 to
// %p9 (predicates), %h (16 bits), %r (32), %d (64) and %q (128). It stands in a kernel that loads
// all of them from memory before and stores all of them behind. Another register or another number
// in an operand's place, or another modifier that changes results, must give another module: where
// it does not, it was not read, or its result not written.
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "fuzz/target.hpp"
#include "ptx2spv/translator.hpp"

namespace ptx2spv::fuzz {

std::string kernel_around(std::string_view instruction) {
  std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 out)\n{\n"
      ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; .reg .b64 %d<10>;\n"
      ".reg .b128 %q<10>; .reg .b64 %a<4>; .reg .b32 %w;\n"
      "ld.param.u64 %a0, [out];\n";
  const auto each = [&](const char* before, const char* behind) {
    for (int i = 0; i < 10; ++i) {
      const std::string n = std::to_string(i);
      for (std::string_view line = before[0] ? std::string_view(before) : std::string_view(behind);
           !line.empty();) {
        const std::size_t end = line.find('\n');
        for (const char c : line.substr(0, end)) {
          if (c == '#')
            text += n;
          else if (c == '$')
            text += std::to_string(i * 16);
          else
            text += c;
        }
        text += '\n';
        line.remove_prefix(end + 1);
      }
    }
  };
  each(
      "ld.global.u32 %w, [%a0+$];\nsetp.ne.u32 %p#, %w, 0;\nld.global.b16 %h#, [%a0+160+$];\n"
      "ld.global.b32 %r#, [%a0+320+$];\nld.global.b64 %d#, [%a0+480+$];\n"
      "ld.global.v2.b64 {%a1, %a2}, [%a0+640+$];\nmov.b128 %q#, {%a1, %a2};\n",
      "");
  text += instruction;
  text += "\n";
  each("",
       "selp.u32 %w, 1, 0, %p#;\nst.global.u32 [%a0+800+$], %w;\nst.global.b16 [%a0+960+$], %h#;\n"
       "st.global.b32 [%a0+1120+$], %r#;\nst.global.b64 [%a0+1280+$], %d#;\n"
       "mov.b128 {%a1, %a2}, %q#;\nst.global.v2.b64 [%a0+1440+$], {%a1, %a2};\n");
  return text + "ret;\n}\n";
}

namespace {

constexpr std::size_t kMostBytes = 200;

/// Instructions whose operands are hints: no result depends on them.
constexpr std::string_view kHints[] = {"prefetch",     "prefetchu", "applypriority", "discard",
                                       "createpolicy", "nanosleep", "pmevent",       "membar",
                                       "fence",        "isspacep",  "brkpt"};

/// Operands that an H200 does not read, or whose bits never reach the result.
bool has_dead_operands(std::string_view instruction) {
  // ptxas makes of madc.hi on 16 bits what stands above 32 bits of the product: nothing.
  if (instruction.starts_with("madc.hi.u16") || instruction.starts_with("madc.hi.s16")) return true;
  // A barrier's number means nothing where there is one barrier.
  if (instruction.starts_with("bar")) return true;
  // These modes take bytes of the first operand alone.
  for (const std::string_view mode : {"rc8", "rc16", "ecl", "ecr"})
    if (instruction.starts_with("prmt.b32." + std::string(mode))) return true;
  return false;
}

/// Which parts of a and b an operand's selector names, as digits: %r1.b7654 has 7, 6, 5 and 4.
/// Without a selector `all`.
std::string selected(std::string_view operand, std::string_view all) {
  const std::size_t dot = operand.find('.');
  return std::string(dot == operand.npos ? all : operand.substr(dot + 2));
}

/// Video instructions read parts of their operands, as their selectors say.
bool video_reads(std::string_view opcode, const std::vector<std::string_view>& operands,
                 std::size_t number) {
  if (operands.size() < 4 || number == 0) return true;
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  const bool sums = opcode.ends_with(".add");
  const std::size_t lanes = name.ends_with('2') ? 2 : name.ends_with('4') ? 4 : 1;
  if (lanes == 1) {
    // The upper half of d takes the upper half of the result, as an H200 does, which is 0 where the
    // result saturates to 16 bits, is 0 or 1, or is the smaller or larger of two parts without a
    // sign.
    const bool no_sign =
        (name == "vmin" || name == "vmax") && opcode.find(".u32.u32", 5) != opcode.npos;
    if (operands[0].ends_with(".h1") && number < 3)
      return opcode.find(".sat") == opcode.npos && name != "vset" && !no_sign;
    // Without a second operation, c has the parts that d's selector does not name.
    const bool second = sums || opcode.ends_with(".min") || opcode.ends_with(".max");
    return number != 3 || second || operands[0].find('.') != operands[0].npos;
  }
  const std::string mask = selected(operands[0], std::string_view("3210").substr(4 - lanes));
  if (number == 3) return sums || mask.size() < lanes;
  // Lane i of the result is made of the parts that the digits i from the right name. Those from 0
  // on lie in a, the others in b.
  const std::string from[] = {selected(operands[1], std::string_view("3210").substr(4 - lanes)),
                              selected(operands[2], lanes == 2 ? "32" : "7654")};
  // A part differs from itself by 0, whatever it is.
  const bool compares =
      name.starts_with("vsub") || name.starts_with("vabs") || name.starts_with("vset");
  const std::string_view types = opcode.substr(name.size() + (name.starts_with("vset") ? 0 : 4));
  const bool same_signs = types.starts_with(".u32.u32") || types.starts_with(".s32.s32");
  for (const char lane : mask) {
    const auto digit = [&](const std::string& digits) {
      return digits[digits.size() - 1 - static_cast<std::size_t>(lane - '0')];
    };
    if (compares && same_signs && digit(from[0]) == digit(from[1])) continue;
    for (const std::string& digits : from)
      if ((static_cast<std::size_t>(digit(digits) - '0') >= lanes) == (number == 2)) return true;
  }
  return false;
}

/// Whether the operand at `at` can change a result.
bool is_read(std::string_view instruction, std::size_t at) {
  const std::size_t blank = instruction.find(' ');
  if (instruction[0] != 'v') return true;
  std::vector<std::string_view> operands;
  std::size_t number = 0;
  for (std::size_t begin = blank + 1; begin < instruction.size();) {
    if (begin <= at) number = operands.size();
    std::size_t end = instruction.find_first_of(",;", begin);
    operands.push_back(instruction.substr(begin, end - begin));
    begin = instruction.find_first_not_of(", ;", end);
  }
  return video_reads(instruction.substr(0, blank), operands, number);
}

/// Nothing: the kernel is refused.
std::optional<std::vector<std::uint32_t>> module_of(const std::string& instruction) {
  const std::string text = kernel_around(instruction);
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "fuzz.ptx"}}, messages);
  if (!module) return std::nullopt;
  auto made = module->translate({}, messages);
  if (!made) return std::nullopt;
  return std::move(made->spirv);
}

/// The instruction with something else in the place of its operand at `at`; empty when what stands
/// there is no operand.
std::string with_another(const std::string& instruction, std::size_t at) {
  std::size_t end = at;
  while (end < instruction.size() && std::isalnum(static_cast<unsigned char>(instruction[end])))
    ++end;
  const std::string name = instruction.substr(at, end - at);
  const bool number = std::isdigit(static_cast<unsigned char>(name[0]));
  if (number) {
    if (name.size() > 6 || name.find_first_not_of("0123456789") != name.npos) return {};
    return instruction.substr(0, at) + std::to_string(std::stoul(name) ^ 1) +
           instruction.substr(end);
  }
  if (name.size() != 2 || std::string_view("phrdq").find(name[0]) == std::string_view::npos)
    return {};
  // One that the instruction does not have.
  for (const char digit : {'9', '8', '5', '4'}) {
    const std::string other = std::string(1, name[0]) + digit;
    if (instruction.find("%" + other) != instruction.npos) continue;
    return instruction.substr(0, at) + other + instruction.substr(end);
  }
  return {};
}

struct Modifiers {
  std::string_view opcodes;
  std::string_view members;  ///< each in the place of another gives another result
};

constexpr Modifiers kModifiers[] = {
    {"add sub mul fma mad div rcp sqrt", "rn rz rm rp"},
    {"cvt", "rni rzi rmi rpi"},
    {"mul mad madc mul24 mad24 dp2a", "lo hi"},
    {"set setp", "eq ne lt le gt ge"},
    {"set setp", "equ neu ltu leu gtu geu"},
    {"set setp", "lo ls hi hs"},
    {"set setp", "num nan"},
    {"set setp", "and or xor"},
    {"atom red redux", "add min max inc dec exch and or xor"},
    {"shf", "l r"},
    {"shf", "wrap clamp"},
    {"shl shr", "b16 b32 b64"},
    {"shfl", "up down bfly idx"},
    {"vote", "all any uni"},
    {"match", "all any"},
    {"prmt", "f4e b4e rc8 ecl ecr rc16"},
    {"testp", "finite infinite number notanumber normal subnormal"},
    {"ld", "relaxed acquire"},
    {"st red", "relaxed release"},
    {"atom", "relaxed acquire release acq_rel"},
    {"div rem min max shr sad bfe bfind dp4a dp2a mul24 mad24", "u32 s32"},
    {"div rem min max shr sad", "u16 s16"},
    {"div rem min max shr sad bfe bfind", "u64 s64"},
    {"min max", "u16x2 s16x2"},
    {"ld ldu", "u8 s8"},
    {"add sub mul fma mad div rcp sqrt min max abs neg", "ftz"},
    {"add sub mul fma mad", "sat"},
    {"fma min max", "relu"},
    {"min max", "nan"},
    {"bfind", "shiftamt"},
};

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; (at = list.find(word, at)) != list.npos; ++at)
    if ((at == 0 || list[at - 1] == ' ') &&
        (at + word.size() == list.size() || list[at + word.size()] == ' '))
      return true;
  return false;
}

/// The instruction with another modifier that `opcode` may have, or without it.
std::vector<std::string> with_other_modifiers(const std::string& instruction,
                                              std::string_view opcode) {
  std::vector<std::string> out;
  const std::size_t blank = instruction.find(' ');
  for (std::size_t at = opcode.size(), end = 0; at < blank; at = end) {
    end = std::min(instruction.find('.', at + 1), blank);
    const std::string part = instruction.substr(at + 1, end - at - 1);
    for (const auto& [opcodes, members] : kModifiers) {
      if (!has_word(opcodes, opcode) || !has_word(members, part)) continue;
      // ptxas makes the same machine code of rcp.rn.f64 with and without .ftz.
      if (part == "ftz" && instruction.find(".f64 ") != instruction.npos) continue;
      const std::string before = instruction.substr(0, at), behind = instruction.substr(end);
      if (members == part) out.push_back(before + behind);
      for (std::size_t from = 0; from < members.size();) {
        const std::size_t to = std::min(members.find(' ', from), members.size());
        const std::string_view other = members.substr(from, to - from);
        if (other != part) out.push_back(before + "." + std::string(other) + behind);
        from = to + 1;
      }
    }
  }
  return out;
}

/// Whether every operand is a register of its own: what is done to equal or to known values may
/// well be the same.
bool has_free_operands(const std::string& instruction) {
  const std::string operands = instruction.substr(instruction.find(' '));
  for (std::size_t at = 1; at < operands.size(); ++at) {
    const char last = operands[at - 1];
    if (last == ' ' && (operands[at] == '_' || operands[at] == '-' ||
                        std::isdigit(static_cast<unsigned char>(operands[at]))))
      return false;
    if (last == '%' && operands.find(operands.substr(at - 1, 3), at) != operands.npos) return false;
  }
  return true;
}

/// Fails where `changed` is taken and gives the module of `instruction`, which is `plain`.
void expect_another(const std::string& instruction, const std::vector<std::uint32_t>& plain,
                    const std::string& changed) {
  const auto other = module_of(changed);
  if (other && *other == plain)
    found("the same module for '" + instruction + "' and '" + changed + "'");
}

}  // namespace

bool run_sensitivity(Input input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  if (text.size() > kMostBytes || std::ranges::count(text, ';') != 1 || text.back() != ';' ||
      text.find_first_of("@{}/:\n") != text.npos)
    return false;
  const std::size_t blank = text.find(' ');
  if (blank == text.npos) return false;
  const std::string_view opcode = std::string_view(text).substr(0, text.find_first_of(". "));
  if (std::ranges::find(kHints, opcode) != std::end(kHints)) return false;
  if (text.find("cache_hint") != text.npos || has_dead_operands(text)) return false;
  const auto plain = module_of(text);
  if (!plain) return false;
  for (std::size_t at = blank; at < text.size(); ++at) {
    const bool begins =
        text[at - 1] == '%' || (std::isdigit(static_cast<unsigned char>(text[at])) &&
                                (text[at - 1] == ' ' || text[at - 1] == '+'));
    if (!begins || !is_read(text, at)) continue;
    const std::string changed = with_another(text, at);
    if (!changed.empty()) expect_another(text, *plain, changed);
  }
  if (has_free_operands(text))
    for (const std::string& changed : with_other_modifiers(text, opcode))
      expect_another(text, *plain, changed);
  return true;
}

std::vector<std::string> sensitivity_seeds(const std::string& root) {
  std::vector<std::string> out;
  gzFile file = gzopen((root + "/tests/data/ptxas/forms.txt.gz").c_str(), "rb");
  if (!file) return out;
  char line[512];
  while (gzgets(file, line, sizeof line)) {
    std::string text = line;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    const std::size_t blank = text.find(' ');
    if (blank >= 2 && blank < text.size() && text[1] == '+') out.push_back(text.substr(blank + 1));
  }
  gzclose(file);
  return out;
}

}  // namespace ptx2spv::fuzz
