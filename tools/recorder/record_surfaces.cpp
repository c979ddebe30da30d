// The record of surface instructions on shapes and formats beyond the first one's: `recorder
// surfaces` and `recorder traps`.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include "tools/recorder/record.hpp"
#include "tools/recorder/surface_lines.hpp"

namespace ptx2spv::recorder {
namespace {

/// What a thread reads: 48 bytes that the kernel knows.
struct LineWords {
  std::int32_t coordinates[4];
  std::uint64_t values[4];
};
static_assert(sizeof(LineWords) == 48);

/// A surface object and its array.
class SurfaceObject {
 public:
  explicit SurfaceObject(const SurfaceSetup& setup) : setup_(setup) {
    auto& d = Driver::get();
    ArrayDescription a;
    a.width = setup.width;
    a.height = setup.height;
    a.depth = setup.depth;
    a.channels = setup.channels;
    const unsigned step = setup.channels == 4 ? 2 : setup.channels - 1;
    a.format = setup.format->normalized
                   ? static_cast<ArrayFormat>(static_cast<unsigned>(setup.format->format) + step)
                   : setup.format->format;
    a.flags = array_flag::surface | (setup.layered() ? array_flag::layered : 0) |
              (setup.cube ? array_flag::cubemap : 0);
    error_ = d.array_create(&array_, &a);
    if (error_) return;
    ResourceDescription resource;
    resource.array = array_;
    error_ = d.surface_create(&handle_, &resource);
  }
  ~SurfaceObject() {
    auto& d = Driver::get();
    if (handle_) d.surface_destroy(handle_);
    if (array_) d.array_destroy(array_);
  }
  SurfaceObject(const SurfaceObject&) = delete;
  SurfaceObject& operator=(const SurfaceObject&) = delete;

  std::uint64_t handle() const { return handle_; }
  int error() const { return error_; }
  /// Between the array and dense rows in device memory; does not wait.
  int copy(DevicePointer memory, bool to_array) const {
    Copy3D::Side dense, array;
    dense.memory = 2;
    dense.device = memory;
    dense.pitch = setup_.row_bytes();
    dense.height = setup_.rows();
    array.memory = 3;
    array.array = array_;
    Copy3D copy;
    copy.source = to_array ? dense : array;
    copy.target = to_array ? array : dense;
    copy.width_bytes = setup_.row_bytes();
    copy.height = setup_.rows();
    copy.depth = setup_.slices();
    return Driver::get().copy_3d(&copy);
  }

 private:
  const SurfaceSetup& setup_;
  void* array_ = nullptr;
  std::uint64_t handle_ = 0;
  int error_ = 0;
};

std::string hex(std::uint64_t value, unsigned bytes) {
  char text[20];
  std::snprintf(text, sizeof(text), "%0*llx", static_cast<int>(2 * bytes),
                static_cast<unsigned long long>(value));
  return text;
}

std::string operands(const SurfaceInstruction& i, const SurfaceLine& line) {
  std::string text;
  for (unsigned k = 0; k < i.coordinates(); ++k)
    text += (k ? "," : "") + std::to_string(line.coordinates[k]);
  if (i.kind == SurfaceKind::load) return text;
  text += " v=";
  for (unsigned k = 0; k < i.elements; ++k)
    text += (k ? "," : "") + hex(line.values[k], i.element_bytes == 1 ? 2 : i.element_bytes);
  return text + " ->";
}

std::string changes(const std::uint8_t* before, const std::uint8_t* after, std::size_t bytes) {
  std::string text;
  for (std::size_t k = 0; k < bytes; ++k) {
    if (before[k] == after[k]) continue;
    if (!k || before[k - 1] == after[k - 1]) text += " @" + std::to_string(k) + ":";
    text += hex(after[k], 1);
  }
  return text.empty() ? " none" : text;
}

/// Runs lines of one instruction on one surface; empty where the driver reports an error.
class SurfaceRun {
 public:
  SurfaceRun(const SurfaceSetup& setup, const SurfaceObject& object)
      : object_(object), pattern_(surface_bytes(setup)), first_(pattern_.size()) {
    first_.upload(pattern_.data(), pattern_.size());
  }

  /// The record's lines.
  std::vector<std::string> run(const SurfaceInstruction& i, const Kernel& kernel,
                               const std::vector<SurfaceLine>& lines) {
    std::vector<LineWords> words(lines.size());
    for (std::size_t k = 0; k < lines.size(); ++k) {
      std::memcpy(words[k].coordinates, lines[k].coordinates, sizeof(words[k].coordinates));
      std::memcpy(words[k].values, lines[k].values, sizeof(words[k].values));
    }
    DeviceMemory in(words.size() * sizeof(LineWords));
    in.upload(words.data(), words.size() * sizeof(LineWords));
    return i.kind == SurfaceKind::load ? loads(i, kernel, lines, in) : stores(i, kernel, lines, in);
  }

 private:
  std::vector<std::string> loads(const SurfaceInstruction& i, const Kernel& kernel,
                                 const std::vector<SurfaceLine>& lines, const DeviceMemory& in) {
    if (object_.copy(first_.address(), true)) return {};
    std::vector<std::uint64_t> results(lines.size() * 4);
    DeviceMemory out(results.size() * 8);
    const auto blocks = static_cast<std::uint32_t>((lines.size() + 127) / 128);
    if (kernel.run(blocks, {object_.handle(), in.address(), out.address(), 0, lines.size()}))
      return {};
    out.download(results.data(), results.size() * 8);
    std::vector<std::string> text;
    const unsigned bytes = i.element_bytes == 1 ? 2 : i.element_bytes;
    for (std::size_t k = 0; k < lines.size(); ++k) {
      std::string line = operands(i, lines[k]) + "=";
      for (unsigned e = 0; e < i.elements; ++e) {
        const std::uint64_t mask = bytes == 8 ? ~0ull : (1ull << (8 * bytes)) - 1;
        line += (e ? "," : "") + hex(results[4 * k + e] & mask, bytes);
      }
      text.push_back(std::move(line));
    }
    return text;
  }

  std::vector<std::string> stores(const SurfaceInstruction& i, const Kernel& kernel,
                                  const std::vector<SurfaceLine>& lines, const DeviceMemory& in) {
    const std::size_t size = pattern_.size();
    DeviceMemory all(size * lines.size());
    for (std::size_t k = 0; k < lines.size(); ++k) {
      if (object_.copy(first_.address(), true) ||
          kernel.start(1, {object_.handle(), in.address(), 0, k, 1}) ||
          object_.copy(all.address() + k * size, false))
        return {};
    }
    if (Driver::get().synchronize()) return {};
    std::vector<std::uint8_t> after(size * lines.size());
    all.download(after.data(), after.size());
    std::vector<std::string> text;
    for (std::size_t k = 0; k < lines.size(); ++k)
      text.push_back(operands(i, lines[k]) + changes(pattern_.data(), &after[k * size], size));
    return text;
  }

  const SurfaceObject& object_;
  std::vector<std::uint8_t> pattern_;
  DeviceMemory first_;
};

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
          text = lines.empty() ? operands(instruction, line) +
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
