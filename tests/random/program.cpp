#include "tests/random/program.hpp"

namespace ptx2spv::test {

namespace {

void render(const std::vector<Statement>& body, std::string& out) {
  for (const Statement& statement : body)
    for (std::size_t i = 0; i < statement.pieces.size(); ++i) {
      out += statement.pieces[i];
      if (i < statement.bodies.size()) render(statement.bodies[i], out);
    }
}

std::size_t count(const std::vector<Statement>& body) {
  std::size_t n = body.size();
  for (const Statement& statement : body)
    for (const auto& inner : statement.bodies) n += count(inner);
  return n;
}

}  // namespace

std::string RandomKernel::ptx() const {
  std::string out = variables;
  for (const Unit& unit : units) {
    out += unit.head;
    render(unit.body, out);
    out += unit.tail;
  }
  return out;
}

std::size_t RandomKernel::statements() const {
  std::size_t all = 0;
  for (const Unit& unit : units) all += count(unit.body);
  return all;
}

std::vector<std::uint32_t> random_input(std::uint32_t seed) {
  static constexpr std::uint32_t kSpecial[] = {
      0,          1,          2,          3,          7,          31,         32,
      33,         63,         64,         255,        256,        0x7fff,     0x8000,
      0xffff,     0x10000,    0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
      0x3f800000, 0xbf800000, 0x3f000000, 0x40490fdb, 0x7f800000, 0xff800000, 0x7fc00000,
      0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x4b000000, 0x4effffff, 0xcf000000,
      0x3ff00000, 0x40080000, 0x3c003c00, 0x7bff0400, 0x12345678};
  std::mt19937 rng(seed);
  std::vector<std::uint32_t> words(RandomKernel::kInputWords);
  for (std::uint32_t& word : words) switch (rng() % 4) {
      case 0: word = kSpecial[rng() % std::size(kSpecial)]; break;
      case 1: word = rng() % 16; break;
      // A float near one.
      case 2: word = (rng() & 0x80000000u) | (120 + rng() % 16) << 23 | (rng() & 0x7fffff); break;
      default: word = static_cast<std::uint32_t>(rng()); break;
    }
  return words;
}

}  // namespace ptx2spv::test
