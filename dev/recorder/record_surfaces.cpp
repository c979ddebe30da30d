// The record of surface instructions on shapes and formats beyond the first one's: `recorder
// surfaces` and `recorder traps`.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>

#include "dev/recorder/record.hpp"
#include "dev/recorder/surface_session.hpp"

namespace ptx2spv::recorder {
namespace {

unsigned lines_of(SurfaceKind kind) {
  switch (kind) {
    case SurfaceKind::load: return 10;
    case SurfaceKind::store: return 3;
    case SurfaceKind::formatted_store: return 6;
    case SurfaceKind::reduce:
    case SurfaceKind::formatted_reduce: return 2;
  }
  return 1;
}

/// One fault in a process of its own, which the error makes useless. What is not a fault after all
/// is written as what it is.
std::string run_apart(const SurfaceSetup& setup, const SurfaceInstruction& instruction,
                      const SurfaceLine& line, int& pipe_end, bool start) {
  if (start) {
    int ends[2];
    if (pipe(ends)) return "no pipe";
    const pid_t child = fork();
    if (child < 0) return "no process";
    if (child == 0) {
      close(ends[0]);
      const SurfaceObject object(setup);
      std::string text;
      if (!object.error()) {
        SurfaceRun run(setup, object);
        const auto kernel = Kernel::load(surface_kernel(instruction));
        if (kernel) {
          const auto lines = run.run(instruction, *kernel, {line});
          text = lines.empty() ? surface_operands(instruction, line) +
                                     (instruction.kind == SurfaceKind::load ? "=trap" : " trap")
                               : lines[0];
        }
      }
      if (write(ends[1], text.data(), text.size()) < 0) _exit(2);
      _exit(0);
    }
    close(ends[1]);
    pipe_end = ends[0];
    return {};
  }
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = read(pipe_end, part, sizeof(part))) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(pipe_end);
  wait(nullptr);
  return text;
}

}  // namespace

int record_surfaces(const std::string& path, const std::string& only) {
  std::ofstream file(path);
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::uint64_t lines = 0, refused = 0;
  unsigned number = 0;
  for (const SurfaceSetup& setup : surface_setups()) {
    const std::string head = setup.text() + "\n";
    const SurfaceObject object(setup);
    if (object.error()) {
      std::fprintf(stderr, "recorder: error %d, no surface %s", object.error(), head.c_str());
      ++refused;
      continue;
    }
    SurfaceRun run(setup, object);
    if (setup.cube) file << "# the layers are the faces of cubes\n";
    file << head;
    // The cache operators are worth a surface of each texel size.
    const bool cached = ++number % 37 == 0;
    for (const SurfaceInstruction& i : surface_instructions(setup.geometry, cached)) {
      if (i.text.find(only) == std::string::npos) continue;
      const auto chosen = surface_lines(setup, i, lines_of(i.kind));
      if (chosen.empty()) continue;
      auto& kernel = kernels[i.text];
      std::string log;
      if (!kernel) kernel = Kernel::load(surface_kernel(i), &log);
      if (!kernel) {
        std::fprintf(stderr, "recorder: the driver refuses %s: %s\n", i.text.c_str(), log.c_str());
        return 2;
      }
      const auto text = run.run(i, *kernel, chosen);
      if (text.empty()) {
        std::fprintf(stderr, "recorder: %s faults on %s", i.text.c_str(), head.c_str());
        return 2;
      }
      file << "I " << i.text << "\n";
      for (const std::string& line : text) file << line << "\n";
      lines += text.size();
    }
  }
  file.flush();
  std::fprintf(stderr, "recorder: %llu lines, %llu surfaces refused\n",
               static_cast<unsigned long long>(lines), static_cast<unsigned long long>(refused));
  return file.good() ? 0 : 2;
}

int record_traps(const std::string& path, const std::string& only) {
  struct Job {
    SurfaceSetup setup;
    SurfaceInstruction instruction;
    SurfaceLine line;
    int pipe_end = -1;
  };
  std::vector<Job> jobs;
  const std::vector<SurfaceSetup> setups = surface_setups();
  // Each instruction that can fault in a way does once, on a surface of its geometry.
  std::map<std::string, std::vector<SurfaceInstruction>> instructions;
  for (const char* geometry : {"1d", "2d", "3d", "a1d", "a2d"})
    instructions[geometry] = surface_instructions(geometry, false);
  std::size_t at = 0;
  for (const auto& [geometry, all] : instructions)
    for (const SurfaceInstruction& i : all)
      for (const SurfaceFault fault : {SurfaceFault::bounds, SurfaceFault::alignment})
        for (std::size_t k = 0; k < setups.size(); ++k) {
          at = (at + 41) % setups.size();
          Job job{setups[at], i, {}};
          if (job.setup.geometry != geometry || i.text.find(only) == std::string::npos) continue;
          if (!faulting_line(job.setup, i, fault, job.line)) continue;
          // A third of the misaligned ones says enough.
          if (fault == SurfaceFault::bounds || jobs.size() % 3 == 0) jobs.push_back(std::move(job));
          break;
        }
  std::ofstream file(path);
  constexpr std::size_t kAtOnce = 8;
  std::uint64_t lines = 0;
  for (std::size_t first = 0; first < jobs.size(); first += kAtOnce) {
    const std::size_t end = std::min(jobs.size(), first + kAtOnce);
    for (std::size_t k = first; k < end; ++k)
      run_apart(jobs[k].setup, jobs[k].instruction, jobs[k].line, jobs[k].pipe_end, true);
    for (std::size_t k = first; k < end; ++k) {
      const std::string text =
          run_apart(jobs[k].setup, jobs[k].instruction, jobs[k].line, jobs[k].pipe_end, false);
      if (text.empty()) continue;
      file << jobs[k].setup.text() << "\nI " << jobs[k].instruction.text << "\n" << text << "\n";
      file.flush();
      ++lines;
    }
  }
  std::fprintf(stderr, "recorder: %llu of %zu lines\n", static_cast<unsigned long long>(lines),
               jobs.size());
  return file.good() && lines == jobs.size() ? 0 : 2;
}

}  // namespace ptx2spv::recorder
