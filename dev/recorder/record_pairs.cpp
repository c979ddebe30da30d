// The record of instructions of one geometry on arrays of another kind: `recorder pairs`. What
// faults there is not known before, and a fault makes a process useless. So several processes share
// the work, and each has a child that runs it until it faults, and the next child goes on.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "dev/recorder/record.hpp"
#include "dev/recorder/surface_pairs.hpp"
#include "dev/recorder/surface_session.hpp"
#include "dev/recorder/texture_session.hpp"
#include "tools/common/cuda_library.hpp"

namespace ptx2spv::recorder {
namespace {

/// Runs `work` in a child and returns what that writes. `work` gets the pipe's end.
std::string in_child(const std::function<void(int)>& work) {
  int ends[2];
  if (pipe(ends)) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    work(ends[1]);
    _exit(0);  // the driver's own ends would wait for a context that is lost
  }
  close(ends[1]);
  std::string text;
  char part[65536];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof(part))) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return text;
}

void put(int pipe_end, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t wrote = write(pipe_end, text.data() + at, text.size() - at);
    if (wrote <= 0) _exit(2);
    at += static_cast<std::size_t>(wrote);
  }
}

/// Forks `processes` of `work`, each with a part of the file, and joins the parts.
int share(const std::string& path, unsigned processes,
          const std::function<void(unsigned, std::ostream&)>& work) {
  for (unsigned k = 0; k < processes; ++k) {
    if (fork()) continue;
    std::ofstream part(path + "." + std::to_string(k));
    work(k, part);
    part.flush();
    _exit(part.good() ? 0 : 2);
  }
  bool good = true;
  for (int status = 0; wait(&status) > 0;) good &= status == 0;
  std::ofstream file(path);
  for (unsigned k = 0; k < processes; ++k) {
    const std::string part = path + "." + std::to_string(k);
    std::ifstream in(part);
    if (in.peek() != std::ifstream::traits_type::eof()) file << in.rdbuf();
    in.close();
    unlink(part.c_str());
  }
  file.flush();
  return good && file.good() ? 0 : 2;
}

struct Job {
  const SurfaceSetup* setup;
  SurfaceInstruction instruction;
  std::vector<SurfaceLine> lines;
  unsigned rank = 0;  ///< of lines that may fault: the most telling come first, since time may end
};

/// Pairs that find nothing come first, since what does not fault is quick; then one form of each
/// operation. Of each, lines are drawn at random.
unsigned rank_of(const SurfaceSetup& s, const SurfaceInstruction& i, std::size_t line) {
  const auto dimensions = [](const std::string& geometry) {
    return geometry.find("1d") != geometry.npos ? 1 : geometry == "3d" ? 3 : 2;
  };
  const bool found = dimensions(s.geometry) == dimensions(i.geometry) ||
                     (dimensions(s.geometry) == 3 && dimensions(i.geometry) == 2);
  const bool plain = i.elements == 1 && i.element_bytes == 4 && i.mode == "trap";
  const auto draw = static_cast<unsigned>(std::hash<std::string>()(i.text) + line * 5) % 8;
  return (found ? 16 : 0) + (plain ? 0 : 8) + draw;
}

/// What `suq` gives on the surface, through a `.surfref` variable: only those run on hardware.
void run_queries(const SurfaceObject& object, std::string& text) {
  int (*get)(void**, void*, const char*) = nullptr;
  int (*set_array)(void*, void*, unsigned) = nullptr;
  std::string reason;
  void* library = tools::cuda::open_library(reason);
  tools::cuda::find(library, "cuModuleGetSurfRef", get);
  tools::cuda::find(library, "cuSurfRefSetArray", set_array);
  if (!get || !set_array) return;
  auto& d = Driver::get();
  DeviceMemory out(16);
  for (const char* query : {"width", "height", "depth"}) {
    const std::string ptx =
        ".version 8.1\n.target sm_90\n.address_size 64\n.global .surfref s;\n"
        ".visible .entry k(.param .u64 out)\n{\n  .reg .b32 %d;\n  .reg .b64 %o;\n"
        "  ld.param.u64 %o, [out];\n  suq." +
        std::string(query) + ".b32 %d, [s];\n  st.global.u32 [%o], %d;\n  ret;\n}\n";
    void *module = nullptr, *function = nullptr, *reference = nullptr;
    int error = d.module_load(&module, ptx.c_str(), 0, nullptr, nullptr);
    if (!error) error = get(&reference, module, "s");
    if (!error) error = set_array(reference, object.array(), 0);
    if (!error) error = d.module_function(&function, module, "k");
    std::uint64_t address = out.address();
    void* parameters[] = {&address};
    if (!error) error = d.launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
    if (!error) error = d.synchronize();
    std::uint32_t value = 0;
    if (!error) out.download(&value, 4);
    char line[80];
    std::snprintf(line, sizeof(line), "I suq.%s.b32\n=%x\n", query, value);
    text += error ? "# suq." + std::string(query) + " error " + std::to_string(error) + "\n" : line;
    if (module) d.module_unload(module);
  }
}

/// The surface and the kernels of a child.
class Session {
 public:
  /// Makes the surface the current one; true where it was another before.
  bool take(const SurfaceSetup& setup) {
    if (setup_ == &setup) return false;
    setup_ = &setup;
    run_.reset();
    object_ = std::make_unique<SurfaceObject>(setup);
    if (!object_->error()) run_ = std::make_unique<SurfaceRun>(setup, *object_);
    return true;
  }
  const SurfaceObject& object() const { return *object_; }
  /// The record's lines; none where the driver reports an error.
  std::vector<std::string> run(const Job& job) {
    auto& kernel = kernels_[job.instruction.text];
    std::string log;
    if (!kernel) kernel = Kernel::load(surface_kernel(job.instruction), &log);
    if (!kernel) {
      std::fprintf(stderr, "recorder: refused: %s %s\n", job.instruction.text.c_str(), log.c_str());
      _exit(2);
    }
    return run_->run(job.instruction, *kernel, job.lines);
  }

 private:
  const SurfaceSetup* setup_ = nullptr;
  std::unique_ptr<SurfaceObject> object_;
  std::unique_ptr<SurfaceRun> run_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

/// Writes an S line for each surface, an I line and its lines for each job from `first` on, and a
/// form feed behind each; ends where one faults.
void run_groups(const std::vector<Job>& jobs, std::size_t first, int pipe_end) {
  Session session;
  for (std::size_t k = first; k < jobs.size(); ++k) {
    const Job& job = jobs[k];
    std::string group;
    if (session.take(*job.setup)) {
      group = job.setup->text() + "\n";
      const int error = session.object().error();
      if (error) group = "# refused: " + std::to_string(error) + " " + group;
      if (!error) run_queries(session.object(), group);
    }
    if (!session.object().error()) {
      const auto text = session.run(job);
      if (text.empty()) _exit(1);
      group += "I " + job.instruction.text + "\n";
      for (const std::string& line : text) group += line + "\n";
    }
    put(pipe_end, group + "\f");
  }
}

/// A line for each job until `late`; the one that faults is the last.
void run_singly(const std::vector<Job>& jobs, std::size_t first, int pipe_end,
                const std::function<bool()>& late) {
  Session session;
  for (std::size_t k = first; k < jobs.size() && !late(); ++k) {
    const Job& job = jobs[k];
    session.take(*job.setup);
    if (session.object().error()) {
      put(pipe_end, "# refused\n");
      continue;
    }
    const auto text = session.run(job);
    if (text.empty()) {
      const int error = Driver::get().synchronize();
      const bool loads = job.instruction.kind == SurfaceKind::load;
      put(pipe_end, surface_operands(job.instruction, job.lines[0]) + (loads ? "=" : " ") +
                        (error == 700   ? "trap"
                         : error == 716 ? "misaligned"
                                        : "error" + std::to_string(error)) +
                        "\n");
      _exit(1);
    }
    put(pipe_end, text[0] + "\n");
  }
}

/// Groups of all surfaces of a share: those whose lines should not fault.
void record_groups(const std::vector<Job>& jobs, std::ostream& file, std::vector<Job>& faulting) {
  for (std::size_t done = 0; done < jobs.size();) {
    std::string text = in_child([&](int end) { run_groups(jobs, done, end); });
    done += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\f'));
    std::erase(text, '\f');
    file << text << std::flush;
    if (done == jobs.size()) break;
    file << "# faults: " << jobs[done].instruction.text << "\n";
    for (const SurfaceLine& line : jobs[done].lines)
      faulting.push_back({jobs[done].setup, jobs[done].instruction, {line}, 0});
    ++done;
  }
}

}  // namespace

int record_pairs(const std::string& path, unsigned processes, double seconds,
                 const std::string& only, bool unread) {
  const auto start = std::chrono::steady_clock::now();
  const auto late = [&] {
    return seconds > 0 &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
               seconds;
  };
  const std::vector<SurfaceSetup> setups = unread ? unread_surfaces() : pair_surfaces();
  return share(path, processes, [&](unsigned self, std::ostream& file) {
    std::vector<Job> safe, faulting;
    for (std::size_t k = self; k < setups.size(); k += processes)
      for (const SurfaceInstruction& i :
           unread ? unread_instructions(setups[k].geometry) : pair_instructions(setups[k])) {
        if (i.text.find(only) == i.text.npos) continue;
        const PairLines lines = pair_lines(setups[k], i);
        if (!lines.safe.empty()) safe.push_back({&setups[k], i, lines.safe});
        // Of what may fault a few forms tell enough; the first surfaces have them all.
        for (std::size_t n = 0; n < lines.faulting.size(); ++n)
          if (k < 24 || (n + k) % 7 == 0)
            faulting.push_back({&setups[k], i, {lines.faulting[n]}, rank_of(setups[k], i, n)});
      }
    record_groups(safe, file, faulting);
    std::stable_sort(faulting.begin(), faulting.end(),
                     [](const Job& a, const Job& b) { return a.rank < b.rank; });
    for (std::size_t done = 0; done < faulting.size() && !late();) {
      const std::string text = in_child([&](int end) { run_singly(faulting, done, end, late); });
      if (text.empty() && !late())
        file << "# no result: " << faulting[done++].instruction.text << std::endl;
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line); ++done)
        file << faulting[done].setup->text() << "\nI " << faulting[done].instruction.text << "\n"
             << line << "\n";
      file.flush();
    }
  });
}

int record_texture_pairs(const std::string& path, unsigned processes) {
  return share(path, processes, [&](unsigned self, std::ostream& file) {
    const std::string part = path + ".part" + std::to_string(self);
    for (unsigned done = self; done < texture_pair_sections(); done += processes) {
      const std::string text = in_child([&](int end) {
        TextureSession session(part, false, "");
        for (unsigned k = done; k < texture_pair_sections(); k += processes) {
          texture_pairs(session, k);
          put(end, "\f");
        }
      });
      done += processes * static_cast<unsigned>(text.size());
      std::ifstream in(part);
      if (in.peek() != std::ifstream::traits_type::eof()) file << in.rdbuf();
      file << std::flush;
      unlink(part.c_str());
    }
  });
}

}  // namespace ptx2spv::recorder
