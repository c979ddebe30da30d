// Kernels as machine code of AArch64, run under qemu.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/emulated/start.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::tests {

class Emulator {
 public:
  /// Why there is none; empty where there is.
  static const std::string& missing() { return one().missing_; }

  /// Links an object and runs it; the words that it stored. Nothing where it calls handlers.
  static std::vector<std::uint32_t> run(const std::vector<std::byte>& object, const Start& start,
                                        const std::vector<std::uint32_t>& from) {
    const Emulator& self = one();
    const std::string bytes(reinterpret_cast<const char*>(object.data()), object.size());
    const std::string code = self.folder_.write("kernel.o", bytes);
    const std::string program = self.folder_.file("program");
    const auto linked =
        by_name({kCompiler, "-static", self.folder_.file("run.o"), code, "-o", program});
    EXPECT_EQ(linked.exit_code, 0) << linked.error;
    std::string input(reinterpret_cast<const char*>(&start), sizeof start);
    input.append(reinterpret_cast<const char*>(from.data()), from.size() * 4);
    const auto ran = by_name({"timeout", "60", self.emulator_, program}, input);
    if (ran.exit_code == kCallsHandlers) return {};
    EXPECT_EQ(ran.exit_code, 0) << ran.error;
    std::vector<std::uint32_t> words(ran.out.size() / 4);
    std::memcpy(words.data(), ran.out.data(), words.size() * 4);
    EXPECT_EQ(words.size(), from.size());
    return words;
  }

 private:
  static constexpr const char* kCompiler = "aarch64-linux-gnu-g++";
  static constexpr int kCallsHandlers = 3;

  /// Programs that PATH finds.
  static test::ProcessResult by_name(std::vector<std::string> command,
                                     const std::string& input = {}) {
    command.insert(command.begin(), "/usr/bin/env");
    return test::run_process(command, input);
  }

  static const Emulator& one() {
    static const Emulator emulator;
    return emulator;
  }

  Emulator() {
    for (const char* name : {"qemu-aarch64", "qemu-aarch64-static"})
      if (emulator_.empty() && by_name({name, "--version"}).exit_code == 0) emulator_ = name;
    const std::string source = std::getenv("PTX2SPV_SOURCE_DIR");
    if (emulator_.empty() || by_name({kCompiler, "--version"}).exit_code != 0) {
      missing_ = std::string(kCompiler) + " or qemu-aarch64 is not installed";
      return;
    }
    const auto compile = [&](const std::string& file, const std::string& to) {
      const auto result = by_name({kCompiler, "-std=c++20", "-O1", "-Wall", "-Werror",
                                   "-I" + source, "-I" + source + "/translator/include", "-c",
                                   source + "/" + file, "-o", folder_.file(to)});
      EXPECT_EQ(result.exit_code, 0) << result.error;
    };
    compile("tests/support/emulated/run.cpp", "run.o");
  }

  test::TemporaryFolder folder_;
  std::string emulator_, missing_;
};

}  // namespace ptx2spv::tests
