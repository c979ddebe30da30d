// Records what the GPU gives for random programs: a checksum each, where the assembler's optimiser
// has no say in it.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <map>

#include "dev/programs/program.hpp"
#include "dev/recorder/record.hpp"
#include "dev/recorder/surface_lines.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {
namespace {

using programs::Program;
using programs::SurfaceChoice;

/// A surface object and its array.
class SurfaceObject {
 public:
  explicit SurfaceObject(const SurfaceChoice& s) : choice_(s) {
    auto& d = Driver::get();
    ArrayDescription a;
    a.width = s.width;
    a.height = s.geometry == "1d" || s.geometry == "a1d" ? 0 : s.height;
    a.depth = s.geometry == "3d" || s.layered() ? s.depth : 0;
    const SurfaceFormatRow& row = kSurfaceFormats[static_cast<unsigned>(s.format)];
    const unsigned step = row.normalized ? (s.channels == 4 ? 2 : s.channels - 1) : 0;
    a.format = static_cast<ArrayFormat>(static_cast<std::uint32_t>(row.format) + step);
    a.channels = s.channels;
    a.flags = array_flag::surface | (s.layered() ? array_flag::layered : 0);
    d.check(d.array_create(&array_, &a), "cuArray3DCreate");
    ResourceDescription resource;
    resource.type = ResourceType::array;
    resource.array = array_;
    d.check(d.surface_create(&handle_, &resource), "cuSurfObjectCreate");
  }
  ~SurfaceObject() {
    auto& d = Driver::get();
    d.surface_destroy(handle_);
    d.array_destroy(array_);
  }
  SurfaceObject(const SurfaceObject&) = delete;
  SurfaceObject& operator=(const SurfaceObject&) = delete;
  void copy(std::vector<std::uint8_t>& bytes, bool to_device) const {
    Copy3D copy;
    Copy3D::Side &host = to_device ? copy.source : copy.target,
                 &device = to_device ? copy.target : copy.source;
    host.memory = 1;
    host.host = bytes.data();
    host.pitch = std::size_t{choice_.width} * choice_.texel_bytes();
    host.height = choice_.height;
    device.memory = 3;
    device.array = array_;
    copy.width_bytes = host.pitch;
    copy.height = choice_.height;
    copy.depth = choice_.depth;
    Driver::get().check(Driver::get().copy_3d(&copy), "cuMemcpy3D");
  }
  std::uint64_t handle() const { return handle_; }

 private:
  SurfaceChoice choice_;
  void* array_ = nullptr;
  std::uint64_t handle_ = 0;
};

struct Outcome {
  std::string refusal;  ///< empty where it ran
  std::vector<std::uint32_t> output;
  std::vector<std::uint8_t> surface;
};

/// Memory that the next program finds again.
DeviceMemory& memory(std::size_t bytes, int which) {
  static std::map<int, std::pair<std::size_t, std::unique_ptr<DeviceMemory>>> kept;
  auto& [size, block] = kept[which];
  if (size < bytes) {
    size = bytes * 2;
    block = std::make_unique<DeviceMemory>(size);
  }
  return *block;
}

Outcome run(const Program& program, unsigned level) {
  auto& d = Driver::get();
  Outcome outcome;
  outcome.output = program.output;
  outcome.surface = program.surface;
  char log[2048] = "";
  int options[] = {5, 6, 7};  // the error log, its size, the optimisation level
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log)),
                    reinterpret_cast<void*>(static_cast<std::uintptr_t>(level))};
  void *module = nullptr, *function = nullptr;
  if (d.module_load(&module, program.text.c_str(), 3, options, values) != 0) {
    outcome.refusal = log;
    return outcome;
  }
  if (d.module_function(&function, module, "k") != 0) {
    outcome.refusal = "no entry";
    d.module_unload(module);
    return outcome;
  }
  std::unique_ptr<SurfaceObject> loads, stores;
  std::unique_ptr<TextureObject> textures[2];
  std::uint64_t arguments[6] = {};
  if (program.resources.use_surfaces) {
    loads = std::make_unique<SurfaceObject>(program.resources.loads);
    stores = std::make_unique<SurfaceObject>(program.resources.stores);
    auto bytes = program.loaded;
    loads->copy(bytes, true);
    stores->copy(outcome.surface, true);
    arguments[2] = loads->handle();
    arguments[3] = stores->handle();
  }
  if (program.resources.use_textures) {
    for (int k = 0; k < 2; ++k) {
      textures[k] = std::make_unique<TextureObject>(program.resources.texture[k]);
      if (textures[k]->error()) {
        outcome.refusal = "texture " + describe(program.resources.texture[k]);
        d.module_unload(module);
        return outcome;
      }
      arguments[4 + k] = textures[k]->handle();
    }
  }
  DeviceMemory &in = memory(program.input.size() * 4, 0),
               &out = memory(program.output.size() * 4, 1);
  in.upload(program.input.data(), program.input.size() * 4);
  out.upload(program.output.data(), program.output.size() * 4);
  arguments[0] = in.address();
  arguments[1] = out.address();
  auto structure = program.structure;
  std::uint32_t count = program.count;
  void* parameters[] = {&arguments[0], &arguments[1], &arguments[2],    &arguments[3],
                        &arguments[4], &arguments[5], structure.data(), &count};
  const auto& block = program.shape.block;
  int error = d.launch(function, program.shape.blocks, 1, 1, block[0], block[1], block[2], 0,
                       nullptr, parameters, nullptr);
  if (!error) error = d.synchronize();
  d.check(error, ("program " + std::to_string(program.number)).c_str());
  out.download(outcome.output.data(), outcome.output.size() * 4);
  if (stores) stores->copy(outcome.surface, false);
  d.module_unload(module);
  return outcome;
}

/// One line of the record, without its end.
std::string line_of(const programs::Vocabulary& vocabulary, std::uint64_t number) {
  const Program program = programs::make_program(vocabulary, number);
  char text[96];
  std::snprintf(text, sizeof(text), "%" PRIu64 " %08x ", number,
                static_cast<unsigned>(program.digest()));
  const Outcome plain = run(program, 0);
  if (!plain.refusal.empty()) return text + ("refused " + plain.refusal);
  const Outcome optimised = run(program, 4);
  const std::uint64_t a = programs::checksum(plain.output, plain.surface),
                      b = programs::checksum(optimised.output, optimised.surface);
  if (a != b) {
    std::size_t first = 0;
    while (first < plain.output.size() && plain.output[first] == optimised.output[first]) ++first;
    const std::size_t cells = program.cell_bytes / 4;
    return text + ("optimiser thread " + std::to_string(first / cells) + " byte " +
                   std::to_string(first % cells * 4));
  }
  std::snprintf(text + std::string(text).size(), 40, "%016" PRIx64, a);
  return text;
}

/// Runs in a process of its own: a fault ends a context for good.
[[noreturn]] void worker(const ProgramRange& range, unsigned job, volatile std::uint64_t* done) {
  const auto vocabulary = programs::Vocabulary::read(range.vocabulary);
  std::FILE* file = std::fopen((range.path + "." + std::to_string(job)).c_str(), "a");
  if (!file) std::_Exit(2);
  for (std::uint64_t i = job + *done * range.jobs; i < range.count; i += range.jobs) {
    *done = *done + 1;
    alarm(60);
    std::string line = line_of(vocabulary, range.first + i * range.step);
    for (char& c : line)
      if (c == '\n') c = ' ';
    std::fprintf(file, "%s\n", line.c_str());
    std::fflush(file);
  }
  std::_Exit(0);
}

}  // namespace

int record_programs(const ProgramRange& range) {
  auto* done = static_cast<std::uint64_t*>(
      mmap(nullptr, 8 * range.jobs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (done == MAP_FAILED) return 2;
  std::map<pid_t, unsigned> running;
  const auto start = [&](unsigned job) {
    const pid_t child = fork();
    if (child == 0) worker(range, job, done + job);
    if (child > 0) running[child] = job;
  };
  for (unsigned job = 0; job < range.jobs; ++job) start(job);
  std::map<std::uint64_t, std::string> lines;
  while (!running.empty()) {
    int status = 0;
    const pid_t child = wait(&status);
    if (child < 0) break;
    const unsigned job = running[child];
    running.erase(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    if (done[job] == 0) continue;  // it could not even begin
    const std::uint64_t number = range.first + (job + (done[job] - 1) * range.jobs) * range.step;
    lines[number] = std::to_string(number) + " 0 fault";
    start(job);
  }
  for (unsigned job = 0; job < range.jobs; ++job) {
    const std::string path = range.path + "." + std::to_string(job);
    std::ifstream part(path);
    for (std::string line; std::getline(part, line);) lines[std::stoull(line)] = line;
    std::remove(path.c_str());
  }
  gzFile file = gzopen(range.path.c_str(), "wb9");
  if (!file) return 2;
  unsigned counts[4] = {};
  for (const auto& [number, line] : lines) {
    gzprintf(file, "%s\n", line.c_str());
    ++counts[line.find("refused") != line.npos     ? 1
             : line.find("optimiser") != line.npos ? 2
             : line.find("fault") != line.npos     ? 3
                                                   : 0];
  }
  std::fprintf(stderr, "%u programs recorded, %u refused, %u by the optimiser, %u faults\n",
               counts[0], counts[1], counts[2], counts[3]);
  return gzclose(file) == Z_OK ? 0 : 2;
}

int dump_program(const ProgramRange& range) {
  const auto vocabulary = programs::Vocabulary::read(range.vocabulary);
  const Program program = programs::make_program(vocabulary, range.first);
  const Outcome outcome = run(program, 4);
  std::ofstream file(range.path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(outcome.output.data()),
             static_cast<std::streamsize>(outcome.output.size() * 4));
  file.write(reinterpret_cast<const char*>(outcome.surface.data()),
             static_cast<std::streamsize>(outcome.surface.size()));
  if (!outcome.refusal.empty()) std::fprintf(stderr, "refused: %s\n", outcome.refusal.c_str());
  return file.good() && outcome.refusal.empty() ? 0 : 2;
}

}  // namespace ptx2spv::recorder
