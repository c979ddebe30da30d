// bench_cycles: the memory of a process that loads modules and launches kernels, over and over.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/main.hpp"
#include "bench/median.hpp"
#include "ptx2spv/runtime.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum Id : int { opt_device = 1, opt_turns, opt_kind, opt_statements };

constexpr Option kOptions[] = {
    device_option(opt_device),
    {opt_turns, 't', "turns", "N", "turns of each kind; 10000 when not given"},
    {opt_kind, 'k', "kind", "KIND", "same, other, blocks or cached, and no other kind",
     "same,other,blocks,cached"},
    {opt_statements, 0, "statements", "N", "statements of each kernel more; 0 when not given"},
};
constexpr Tool kTool = {
    "bench_cycles",
    "[OPTION...]",
    "shows how a process grows with modules that come and go, and with ever other block sizes",
    "A turn of 'same' loads a module, launches its kernel and destroys both; of 'other' a module "
    "whose text is another each time. A turn of 'blocks' launches one kernel with another block "
    "size or size of dynamic shared memory, of 'cached' with the one before. Each kind has a "
    "process of its own, whose resident memory is printed in MiB, with what each turn of the "
    "second half added and the median of the times. No cache on disk is used.",
    kOptions,
    kMeasuredExits};

std::string module_text(unsigned number, unsigned statements) {
  std::string text = fmt::format(
      ".version 8.3\n.target sm_80\n.address_size 64\n.extern .shared .b32 s[];\n"
      ".visible .entry k(.param .u64 cell) {{\n.reg .b64 %to;\n.reg .b32 %r<4>;\n"
      "ld.param.u64 %to, [cell];\nmov.u32 %r0, %tid.x;\nst.shared.u32 [s], %r0;\n"
      "ld.shared.u32 %r1, [s];\nadd.u32 %r0, %r0, {};\n",
      number);
  for (unsigned i = 0; i < statements; ++i)
    text += fmt::format("mad.lo.u32 %r0, %r0, %r1, {};\nxor.b32 %r1, %r1, %r0;\n", i + 7);
  return text + "st.global.u32 [%to], %r0;\nret;\n}\n";
}

/// Sizes that every device takes thread by thread.
std::vector<Dim3> block_sizes() {
  std::vector<Dim3> out;
  for (std::uint32_t z = 1; z <= 64; ++z)
    for (std::uint32_t y = 1; y * z <= 128; ++y)
      for (std::uint32_t x = 1; x * y * z <= 128; ++x) out.push_back({x, y, z});
  return out;
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

int fail(const std::string& text) {
  std::fprintf(stderr, "bench_cycles: error: %s\n", text.c_str());
  return 2;
}

struct Run {
  std::string device = "swiftshader";
  unsigned turns = 10000, statements = 0;
};

class Cycles {
 public:
  Cycles(const Run& run, Device device, Buffer cell)
      : run_(run), device_(std::move(device)), cell_(std::move(cell)) {}

  int go(const std::string& kind) {
    for (unsigned i = 0; i < run_.turns; ++i) {
      if (Status status = turn(kind, i); !status) return fail(status.error().text);
      // The marks are at powers of two of the turns, so that a bound is seen.
      if (((i + 1) & i) == 0 || i + 1 == run_.turns / 2 || i + 1 == run_.turns) mark(i + 1);
    }
    std::string line = fmt::format("| {} |", kind);
    for (const auto& [turns, mib] : marks_)
      if (turns >= 64) line += fmt::format(" {}: {:.1f} |", turns, mib);
    const auto half = std::find_if(marks_.begin(), marks_.end(),
                                   [&](const auto& each) { return each.first == run_.turns / 2; });
    const double grown = half == marks_.end() ? 0 : marks_.back().second - half->second;
    line += fmt::format(" {:.2f} KiB | {:.3f} ms |", grown * 1024 / (run_.turns - run_.turns / 2),
                        median(times_));
    std::puts(line.c_str());
    return 0;
  }

 private:
  void mark(unsigned turns) {
    if (marks_.empty() || marks_.back().first != turns) marks_.emplace_back(turns, resident_mib());
  }

  Status turn(const std::string& kind, unsigned number) {
    const bool stays = kind == "blocks" || kind == "cached";
    if (!module_ || !stays) {
      kernel_.reset();
      auto module = Module::load(
          device_, module_text(kind == "other" ? number : 0, run_.statements), "cycles.ptx");
      if (!module) return module.error();
      module_ = std::move(*module);
      auto kernel = module_->kernel("k");
      if (!kernel) return kernel.error();
      kernel_ = std::move(*kernel);
    }
    LaunchConfig config;
    config.dynamic_shared = 4;
    if (kind == "blocks") {
      config.block = sizes_[number % sizes_.size()];
      config.dynamic_shared = 4 * (1 + static_cast<std::uint32_t>(number / sizes_.size()));
    }
    auto timing = kernel_->launch(config, Args().buffer(cell_));
    if (!timing) return timing.error();
    times_.push_back(timing->wall_ms + timing->prepare_ms);
    return {};
  }

  const Run& run_;
  Device device_;
  Buffer cell_;
  std::optional<Module> module_;
  std::optional<Kernel> kernel_;
  std::vector<Dim3> sizes_ = block_sizes();
  std::vector<std::pair<unsigned, double>> marks_;
  std::vector<double> times_;
};

int measure(const Run& run, const std::string& kind) {
  DeviceOptions options;
  options.select = run.device;
  options.cache = false;
  options.validation = false;
  auto device = Device::open(options);
  if (!device) return fail(device.error().text);
  auto cell = Buffer::create(*device, 4);
  if (!cell) return fail(cell.error().text);
  return Cycles(run, std::move(*device), std::move(*cell)).go(kind);
}

int run(const ParsedCommand& command) {
  Run asked;
  std::vector<std::string> kinds;
  for (const ParsedOption& option : command.options) switch (option.id) {
      case opt_device: asked.device = option.value; break;
      case opt_turns: asked.turns = positive(option.value); break;
      case opt_kind: kinds.push_back(option.value); break;
      case opt_statements:
        asked.statements = static_cast<unsigned>(std::max(0, std::atoi(option.value.c_str())));
        break;
      default: break;
    }
  const std::vector<std::string> known = {"same", "other", "blocks", "cached"};
  for (const std::string& kind : kinds)
    if (std::ranges::find(known, kind) == known.end()) return fail("there is no kind " + kind);
  std::printf("%s: turns: MiB, KiB for each turn of the second half, median of a launch\n\n",
              asked.device.c_str());
  int exit = 0;
  for (const std::string& kind : kinds.empty() ? known : kinds) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return fail("no process for " + kind);
    if (child == 0) std::exit(measure(asked, kind));
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) exit = 2;
  }
  return exit;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
