// What draws the statements of random kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/random/program.hpp"
#include "tests/random/templates.hpp"

namespace ptx2spv::test {

/// A place that statements may branch to. Only quiet ones, behind which no thread waits for others
/// within the loop or region that is left, may be reached by some of the threads.
struct Target {
  std::string label;
  bool quiet = true;
};

/// Where a statement stands.
struct Place {
  bool together = false;  ///< every thread of the block comes here, as often: barriers may stand
  unsigned depth = 0;
  bool in_function = false;
  std::vector<Target> targets;
};

class Generator {
 public:
  Generator(std::mt19937& rng, std::string name);
  RandomKernel make();

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(rng_() % n); }
  bool chance(unsigned percent) { return pick(100) < percent; }
  template <typename... Text>
  std::string choose(Text... texts) {
    const char* all[] = {texts...};
    return all[pick(sizeof...(texts))];
  }
  std::string number(unsigned n) { return std::to_string(n); }
  std::string label(std::string_view what);

  // generate.cpp: operands and straight-line statements
  std::string operand(char kind, bool uniform);
  std::string immediate(char kind);
  std::string expand(std::string_view text, bool uniform);
  std::string from_template(bool uniform);
  std::string guarded(std::string text);
  Statement leaf(std::string text) { return {{std::move(text)}, {}}; }
  Statement simple(const Place& at);
  std::string offset_to(const char* to, unsigned bytes, unsigned size);
  std::string typed_access(const char* space, const std::string& address, unsigned offset);
  std::string memory(const Place& at);
  std::string own_atomic();
  std::string counter();
  std::string surface();
  std::string together();
  std::string product();

  // generate_flow.cpp: control flow and whole kernels
  Statement statement(const Place& at);
  std::vector<Statement> body(const Place& at, unsigned size);
  std::string condition(const Place& at, std::string& before);
  Statement branches(const Place& at);
  Statement loop(const Place& at);
  Statement region(const Place& at);
  Statement switch_(const Place& at);
  Statement scope(const Place& at);
  Statement leave(const Place& at);
  Statement call(const Place& at);
  std::string registers() const;
  Unit function(unsigned number);
  Unit entry();

  std::mt19937& rng_;
  std::string name_;
  RandomKernel kernel_;
  unsigned weight_[kGroups] = {};
  /// What the kernel has of memory, beside what every kernel takes.
  enum : unsigned { kLocal = 1, kShared = 2, kGeneric = 4, kGlobal = 8, kTables = 16 };
  unsigned memories_ = 0;
  bool synchronises_ = false, surfaces_ = false;
  bool plain_ = false;  ///< its barriers are for all threads, and there are no warp operations
  unsigned functions_ = 0, callable_from_ = 0;
  unsigned labels_ = 0, counters_ = 0, budget_ = 0;
};

}  // namespace ptx2spv::test
