// Mutations: bytes of anything, words of JSON, statements of PTX.
#include <algorithm>
#include <cctype>

#include "fuzz/target.hpp"
#include "translator/ptx/instruction_table.hpp"

namespace ptx2spv::fuzz {

namespace {

constexpr std::size_t kMostBytes = 65536;

/// Numbers at which code that counts goes wrong.
constexpr const char* kNumbers[] = {
    "0",          "1",           "-1",         "2",          "3",          "31",
    "32",         "33",          "63",         "64",         "127",        "128",
    "255",        "256",         "1024",       "32767",      "32768",      "65535",
    "65536",      "2147483647",  "2147483648", "4294967295", "4294967296", "9223372036854775807",
    "0x80000000", "0f00000000",  "0f3F800000", "0f7F800000", "0f7FC00000", "0d3FF0000000000000",
    "WARP_SZ",    "-2147483648", "1.5",        "1e300"};

constexpr const char* kJsonWords[] = {
    "{",      "}",        "[",        "]",       ",",         ":",       "\"\"",    "null",
    "true",   "-1",       "0",        "1e308",   "65536",     "\"u8\"",  "\"f32\"", "\"2d\"",
    "\"3d\"", "\"init\"", "\"zero\"", "\"raw\"", "\"width\"", "\"args\""};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '%' ||
         c == '$';
}

struct Piece {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// Words: names, numbers, opcodes with their modifiers.
std::vector<Piece> words(const std::string& text) {
  std::vector<Piece> out;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    out.push_back({at, end});
    at = end;
  }
  return out;
}

/// Statements, each to its semicolon.
std::vector<Piece> statements(const std::string& text) {
  std::vector<Piece> out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '}' || c == ':') begin = at + 1;
    if (c != ';') continue;
    out.push_back({begin, at + 1});
    begin = at + 1;
  }
  return out;
}

std::string part(const std::string& text, Piece piece) {
  return text.substr(piece.begin, piece.size());
}

template <typename T>
const T& pick(const std::vector<T>& all, Random& random) {
  return all[random.below(all.size())];
}

/// An opcode with modifiers of a row of the instruction table.
std::string any_opcode(std::string_view like, Random& random) {
  const std::size_t dot = like.find('.');
  ptx::Opcode op = ptx::find_opcode(like.substr(0, dot));
  const auto forms = ptx::all_forms();
  const ptx::FormInfo* form = &forms[random.below(forms.size())];
  if (op != ptx::Opcode{} && !random.one_in(4)) {
    const ptx::FormRange range = ptx::forms_of(op);
    if (range.last > range.first)
      form = &ptx::form_info(static_cast<std::uint16_t>(
          range.first + random.below(static_cast<std::size_t>(range.last - range.first))));
  }
  std::string out(form->syntax.substr(0, form->syntax.find_first_of(".{ ")));
  for (const ptx::Slot& slot : form->slots) {
    if (!slot.required && random.one_in(2)) continue;
    std::vector<std::string_view> choices;
    for (std::size_t m = 0; m < slot.mods.size(); ++m)
      if (slot.mods[m]) choices.push_back(ptx::text(static_cast<ptx::Mod>(m)));
    if (choices.empty()) continue;
    out += '.';
    out += pick(choices, random);
  }
  return out;
}

/// A word takes the place of another of its kind: registers swap, numbers become others, an opcode
/// gets other modifiers.
std::string change_word(const std::string& text, Random& random) {
  const std::vector<Piece> all = words(text);
  if (all.empty()) return text;
  const Piece at = pick(all, random);
  const std::string word = part(text, at);
  std::string other;
  if (word[0] == '%') {
    for (int tries = 0; tries < 20 && (other.empty() || other[0] != '%'); ++tries)
      other = part(text, pick(all, random));
  } else if (std::isdigit(static_cast<unsigned char>(word[0]))) {
    other = kNumbers[random.below(std::size(kNumbers))];
  } else if (ptx::find_opcode(word.substr(0, word.find('.'))) != ptx::Opcode{}) {
    other = any_opcode(word, random);
  } else if (word[0] == '.') {
    for (int tries = 0; tries < 20 && (other.empty() || other[0] != '.'); ++tries)
      other = part(text, pick(all, random));
  } else {
    other = part(text, pick(all, random));
  }
  return text.substr(0, at.begin) + other + text.substr(at.end);
}

std::string insert(const std::string& text, std::size_t at, const std::string& what) {
  return text.substr(0, at) + what + text.substr(at);
}

std::string change_statements(const std::string& text, const std::string& other, Random& random) {
  const std::vector<Piece> all = statements(text);
  if (all.empty()) return text;
  const Piece at = pick(all, random);
  switch (random.below(5)) {
    case 0: return text.substr(0, at.begin) + text.substr(at.end);
    case 1: return insert(text, pick(all, random).end, part(text, at));
    case 2: {  // two trade places
      Piece first = at, second = pick(all, random);
      if (second.begin < first.begin) std::swap(first, second);
      if (first.end > second.begin) return text;
      return text.substr(0, first.begin) + part(text, second) +
             text.substr(first.end, second.begin - first.end) + part(text, first) +
             text.substr(second.end);
    }
    case 3: {  // a guard
      static const char* const kGuards[] = {"@%p0 ", "@!%p0 ", "@%p1 ", "@%p "};
      return insert(text, at.begin, std::string(" ") + kGuards[random.below(4)]);
    }
    default: {
      const std::vector<Piece> theirs = statements(other);
      if (theirs.empty()) return text;
      return insert(text, at.end, part(other, pick(theirs, random)));
    }
  }
}

}  // namespace

std::string mutate_bytes(const std::string& text, const std::string& other, Random& random) {
  std::string out = text;
  for (std::size_t changes = 1 + random.below(4); changes-- > 0;) {
    if (out.empty()) return other;
    // Headers stand at the front or, in some formats, at the end.
    const std::size_t near = random.below(std::min<std::size_t>(out.size(), 128));
    const std::size_t at = random.one_in(3)   ? near
                           : random.one_in(4) ? out.size() - 1 - near
                                              : random.below(out.size());
    static constexpr unsigned char kBytes[] = {0, 1, 0x7f, 0x80, 0xff, 0x10, 0x20};
    switch (random.below(8)) {
      case 0: out.erase(at, 1 + random.below(16)); break;
      case 1: out.insert(at, out.substr(random.below(out.size()), random.below(32))); break;
      case 2: out.resize(at); break;
      case 3:
        if (!other.empty())
          out.insert(at, other.substr(random.below(other.size()), random.below(64)));
        break;
      case 4: out[at] = static_cast<char>(out[at] ^ 1 << random.below(8)); break;
      case 5: out[at] = static_cast<char>(random.next()); break;
      default: out[at] = static_cast<char>(kBytes[random.below(std::size(kBytes))]); break;
    }
  }
  if (out.size() > kMostBytes) out.resize(kMostBytes);
  return out;
}

std::string mutate_json(const std::string& text, const std::string& other, Random& random) {
  std::string out = text;
  for (std::size_t changes = 1 + random.below(3); changes-- > 0;) {
    const std::vector<Piece> all = words(out);
    if (all.empty() || random.one_in(8)) return mutate_bytes(out, other, random);
    const Piece at = pick(all, random);
    std::string with;
    switch (random.below(4)) {
      case 0: with = kNumbers[random.below(std::size(kNumbers))]; break;
      case 1: with = kJsonWords[random.below(std::size(kJsonWords))]; break;
      default: {
        const std::string& from = random.one_in(2) ? out : other;
        const std::vector<Piece> theirs = words(from);
        if (!theirs.empty()) with = part(from, pick(theirs, random));
      }
    }
    out = out.substr(0, at.begin) + with + out.substr(at.end);
  }
  if (out.size() > kMostBytes) out.resize(kMostBytes);
  return out;
}

std::string mutate_instruction(const std::string& text, const std::string& other, Random& random) {
  const std::size_t blank = text.find(' '), its_blank = other.find(' ');
  if (blank == text.npos || its_blank == other.npos) return other;
  const std::string opcode = text.substr(0, blank), operands = text.substr(blank);
  switch (random.below(4)) {
    case 0: return opcode + other.substr(its_blank);
    case 1: {
      std::string out = operands;
      std::vector<std::size_t> registers;
      for (std::size_t at = out.find('%'); at != out.npos; at = out.find('%', at + 1))
        if (at + 2 < out.size()) registers.push_back(at + 1);
      if (registers.empty()) return text;
      const std::size_t first = pick(registers, random), second = pick(registers, random);
      if (out[first] == out[second]) std::swap(out[first + 1], out[second + 1]);
      return opcode + out;
    }
    default: return any_opcode(opcode, random) + operands;
  }
}

std::string mutate_ptx(const std::string& text, const std::string& other, Random& random) {
  std::string out = text;
  for (std::size_t changes = 1 + random.below(3); changes-- > 0;) {
    if (random.one_in(24)) return mutate_bytes(out, other, random);
    out = random.one_in(3) ? change_statements(out, other, random) : change_word(out, random);
  }
  if (out.size() > kMostBytes) out.resize(kMostBytes);
  return out;
}

}  // namespace ptx2spv::fuzz
