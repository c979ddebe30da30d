// Modules with one statement that ptxas takes or refuses.
#pragma once

#include <string>
#include <vector>

namespace ptx2spv {

using Words = std::vector<std::string>;

struct Statement {
  std::string text;    ///< as a failure names it
  std::string module;  ///< all of it
};
struct Group {
  std::string name;
  std::vector<Statement> statements;
};

/// A module with something at module scope and something in its kernel.
std::string module_of(const std::string& globals, const std::string& body,
                      const std::string& params = "", const std::string& target = "sm_90",
                      const std::string& version = "9.0");
/// Every choice of one word from each list, the last list fastest, joined by blanks.
Words product(const std::vector<Words>& lists);
/// Heads of modules, directives, and what calls and barriers take.
void add_directives(std::vector<Group>& groups);
/// What stands as an operand of an instruction.
void add_operands(std::vector<Group>& groups);
/// Instructions, special registers and directives by versions and targets.
void add_ages(std::vector<Group>& groups);

}  // namespace ptx2spv
