// bench_native: kernels as C++ for the processor beside the same kernels translated, by each
// executor of the CPU, and in OpenCL C.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/main.hpp"
#include "bench/median.hpp"
#include "bench/native_kernels.hpp"
#include "bench/native_opencl.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum NativeOptionId : int { opt_kernel = opt_folder + 1, opt_quick };

constexpr Option kOptions[] = {
    rounds_option("medians of N rounds, in which the sides take turns; 5 when not given"),
    {opt_kernel, 'k', "kernel", "NAME", "only this kernel; may be repeated",
     "copy4,copy16,stencil2d,stencil3d,histogram,zbuffer,blur,mandelbrot,advect,scale,gauss,march"},
    {opt_quick, 'q', "quick", "", "small surfaces, which compare results but measure nothing"},
    folder_option(opt_folder, "where the kernels are: kernels/ beside the program"),
};
constexpr Tool kTool = {
    "bench_native",
    "[OPTION...]",
    "times kernels in C++ beside the same ones translated, on the CPU",
    "Each cell has milliseconds of processor time of all threads for a launch, its ratio to C++, "
    "and milliseconds from call to completion. Sides: `native`, C++ with OpenMP; `host`, the host "
    "executor; the Vulkan drivers `lavapipe` and `swiftshader`; `pocl`, OpenCL C over buffers. "
    "What is not installed is left out, and a line says so.",
    kOptions,
    kComparedExits};

using Bytes = std::vector<std::byte>;

/// A kernel with what it reads, the same on every side.
struct Problem {
  const char* name;
  const char* module;  ///< the PTX file
  ArrayDesc from, to;
  unsigned inputs = 0;  ///< arrays or textures with the texels of `from`
  std::optional<TextureDesc> texture;
  Bytes input;
  std::uint64_t to_bytes = 0;
  std::uint32_t initial = 0;
  bool accumulates = false;
  LaunchConfig config;
  std::function<void(Args&)> more;
  std::function<void(const void* from, void* to)> native;
  bool opencl = false;
};

template <class T>
T must(Result<T> result, const char* side) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "bench_native: error: %s: %s\n", side, result.error().text.c_str());
  std::exit(2);
}
void must(Status status, const char* side) {
  if (status) return;
  std::fprintf(stderr, "bench_native: error: %s: %s\n", side, status.error().text.c_str());
  std::exit(2);
}

template <class T>
const T* in(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
T* out(void* p) {
  return static_cast<T*>(p);
}

Problem surface_problem(const Case& form, Size size) {
  const Job job = make_job(form, size, true);
  const int w = job.push.width, h = job.push.height, d = job.push.depth;
  Problem p{.name = form.name, .module = "kernels_unfused", .from = job.from, .to = job.to};
  p.inputs = form.input == Input::none ? 0 : 1;
  p.input.resize(job.input.size() * 4);
  std::memcpy(p.input.data(), job.input.data(), p.input.size());
  p.to_bytes = job.to_bytes;
  p.initial = form.initial;
  p.accumulates = form.accumulates;
  p.config = job.config;
  p.opencl = true;
  const std::string name = form.name;
  using Word = std::uint32_t;
  if (name == "copy4")
    p.native = [=](auto* f, void* t) { native::copy4(in<Word>(f), out<Word>(t), w, h); };
  if (name == "copy16")
    p.native = [=](auto* f, void* t) { native::copy16(in<Word>(f), out<Word>(t), w, h); };
  if (name == "stencil2d")
    p.native = [=](auto* f, void* t) { native::stencil2d(in<float>(f), out<float>(t), w, h); };
  if (name == "stencil3d")
    p.native = [=](auto* f, void* t) { native::stencil3d(in<float>(f), out<float>(t), w, h, d); };
  if (name == "histogram")
    p.native = [=](auto* f, void* t) { native::histogram(in<Word>(f), out<Word>(t), w, h); };
  if (name == "blur")
    p.native = [=](auto* f, void* t) { native::blur(in<float>(f), out<float>(t), w, h, d); };
  if (name == "zbuffer")
    p.native = [=, layers = static_cast<int>(form.layers)](auto*, void* t) {
      native::zbuffer(out<std::uint64_t>(t), w, h, layers);
    };
  if (name == "mandelbrot") {
    const float scale = job.push.scale;
    p.native = [=](auto*, void* t) { native::mandelbrot(out<Word>(t), w, h, kIterations, scale); };
    p.more = [scale](Args& args) { args.value(kIterations).value(scale); };
  }
  return p;
}

/// Smooth texels, multiples of 1/256.
Bytes texels(const ArrayDesc& desc) {
  const std::size_t count =
      std::size_t{desc.width} * desc.height * desc.depth * desc.layers * desc.channels;
  const bool bytes = desc.format == abi::SurfaceFormat::u8;
  Bytes all(bytes ? count : 4 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const int n = static_cast<int>(127.5 + 127.5 * std::sin(0.37 * static_cast<double>(i % 65521)));
    const float value = static_cast<float>(n) / 256;
    if (bytes)
      all[i] = static_cast<std::byte>(n);
    else
      std::memcpy(all.data() + 4 * i, &value, 4);
  }
  return all;
}

std::vector<Problem> texture_problems(bool quick) {
  const std::uint32_t n = quick ? 32 : 512, steps = quick ? 16 : 64;
  const int side = static_cast<int>(n);
  const float over = 1.0f / static_cast<float>(n);
  ArrayDesc plane;
  plane.geometry = Geometry::d2;
  plane.format = abi::SurfaceFormat::f32;
  plane.width = plane.height = n;
  ArrayDesc bytes = plane, box = plane, layers = plane, four = plane;
  bytes.format = abi::SurfaceFormat::u8;
  bytes.channels = four.channels = 4;
  layers.geometry = Geometry::a2d;
  layers.layers = 2;
  box.geometry = Geometry::d3;
  box.width = box.height = box.depth = steps;
  TextureDesc by_texels, normal, wrapped;
  by_texels.linear_filter = normal.linear_filter = wrapped.linear_filter = true;
  normal.normalized_coordinates = wrapped.normalized_coordinates = true;
  wrapped.read_as_integer = false;
  wrapped.address = {AddressMode::wrap, AddressMode::wrap, AddressMode::wrap};
  std::vector<Problem> all;
  const auto add = [&](const char* name, const ArrayDesc& from, const ArrayDesc& to,
                       unsigned inputs, const TextureDesc& read, auto more, auto native) {
    Problem p{.name = name, .module = "textures", .from = from, .to = to, .inputs = inputs};
    p.texture = read;
    p.input = texels(from);
    p.to_bytes = texels(to).size();
    p.config.block = {16, 16, 1};
    p.config.grid = {n / 16, n / 16, 1};
    p.more = more;
    p.native = native;
    all.push_back(std::move(p));
  };
  add(
      "advect", plane, four, 2, by_texels, [](Args& args) { args.value(3.7f); },
      [=](const void* f, void* t) { native::advect(in<float>(f), out<float>(t), side, 3.7f); });
  add(
      "scale", bytes, bytes, 1, wrapped, [=](Args& args) { args.value(over).value(over); },
      [=](const void* f, void* t) {
        native::scale(in<std::uint32_t>(f), out<std::uint32_t>(t), side, over);
      });
  add(
      "gauss", layers, layers, 1, by_texels, [](Args& args) { args.value(1); },
      [=](const void* f, void* t) {
        const std::size_t layer = std::size_t{n} * n;
        native::gauss(in<float>(f) + layer, out<float>(t) + layer, side);
      });
  add(
      "march", box, plane, 1, normal,
      [=](Args& args) { args.value(over).value(over).value(static_cast<std::int32_t>(steps)); },
      [=](const void* f, void* t) {
        native::march(in<float>(f), out<float>(t), side, static_cast<int>(steps), over);
      });
  return all;
}

/// One way to run problems.
class Side {
 public:
  explicit Side(const char* called) : name(called) {}
  virtual ~Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  /// False: this side has not that kernel.
  virtual bool prepare(const Problem& problem) = 0;
  virtual void fill() = 0;
  virtual void launch() = 0;
  virtual Bytes result() = 0;
  const char* const name;
};

class NativeSide final : public Side {
 public:
  NativeSide() : Side("native") {}
  bool prepare(const Problem& problem) override {
    problem_ = &problem;
    to_.assign(problem.to_bytes / 4, problem.initial);
    return true;
  }
  void fill() override { to_.assign(to_.size(), problem_->initial); }
  void launch() override { problem_->native(problem_->input.data(), to_.data()); }
  Bytes result() override {
    Bytes bytes(problem_->to_bytes);
    std::memcpy(bytes.data(), to_.data(), bytes.size());
    return bytes;
  }

 private:
  const Problem* problem_ = nullptr;
  std::vector<std::uint32_t> to_;
};

class RuntimeSide final : public Side {
 public:
  RuntimeSide(const char* called, Device device, const std::string& folder)
      : Side(called), device_(std::move(device)), folder_(folder) {}
  bool prepare(const Problem& problem) override {
    problem_ = &problem;
    arrays_.clear();
    surfaces_.clear();
    textures_.clear();
    args_ = {};
    const Module module =
        must(Module::load_file(device_, folder_ + "/" + problem.module + ".ptx"), name);
    kernel_.emplace(must(module.kernel(problem.name), name));
    for (unsigned i = 0; i < problem.inputs; ++i) {
      const Array& from = add_array(problem.from);
      must(arrays_.back().upload(problem.input), name);
      if (problem.texture) {
        textures_.push_back(must(Texture::create(from, *problem.texture), name));
        args_.texture(textures_.back());
      } else {
        add_surface(from);
      }
    }
    add_surface(add_array(problem.to));
    fill();
    if (problem.more) problem.more(args_);
    return true;
  }
  void fill() override { must(arrays_.back().fill(problem_->initial, 4), name); }
  void launch() override { must(kernel_->launch(problem_->config, args_), name); }
  Bytes result() override {
    Bytes bytes(problem_->to_bytes);
    must(arrays_.back().download(bytes), name);
    return bytes;
  }

 private:
  const Array& add_array(const ArrayDesc& desc) {
    arrays_.push_back(must(Array::create(device_, desc), name));
    return arrays_.back();
  }
  void add_surface(const Array& array) {
    surfaces_.push_back(must(Surface::create(array), name));
    args_.surface(surfaces_.back());
  }

  Device device_;
  std::string folder_;
  const Problem* problem_ = nullptr;
  std::vector<Array> arrays_;
  std::vector<Surface> surfaces_;
  std::vector<Texture> textures_;
  std::optional<Kernel> kernel_;
  Args args_;
};

class OpenClSide final : public Side {
 public:
  explicit OpenClSide(OpenCl& cl) : Side("pocl"), cl_(cl) {}
  bool prepare(const Problem& problem) override {
    problem_ = &problem;
    if (!problem.opencl) return false;
    const ArrayDesc& from = problem.from;
    OpenCl::Job job{.kernel = problem.name, .input = problem.input, .to_bytes = problem.to_bytes};
    job.width = static_cast<std::int32_t>(from.width);
    job.height = static_cast<std::int32_t>(from.height);
    job.depth = static_cast<std::int32_t>(std::max(from.depth, from.layers));
    const Dim3 grid = problem.config.grid, block = problem.config.block;
    const std::size_t global[] = {std::size_t{grid.x} * block.x, std::size_t{grid.y} * block.y,
                                  grid.z};
    std::copy_n(global, 3, job.threads);
    if (std::string(problem.name) == "mandelbrot") {
      job.iterations = kIterations;
      job.scale = 3.0f / static_cast<float>(from.width);
    }
    check(cl_.prepare(job));
    fill();
    return true;
  }
  void fill() override { check(cl_.fill(problem_->initial)); }
  void launch() override { check(cl_.launch()); }
  Bytes result() override {
    Bytes bytes(problem_->to_bytes);
    check(cl_.download(bytes));
    return bytes;
  }

 private:
  void check(const std::string& error) const {
    if (error.empty()) return;
    std::fprintf(stderr, "bench_native: error: pocl: %s\n", error.c_str());
    std::exit(2);
  }
  OpenCl& cl_;
  const Problem* problem_ = nullptr;
};

/// The median launch of a series that takes some thirty milliseconds of processor time.
Times series(Side& side, const Problem& problem, bool once) {
  std::vector<double> processor, wall;
  for (double spent = 0; spent < 30 && (processor.empty() || !once);) {
    if (problem.accumulates) side.fill();
    const Times each = timed([&] { side.launch(); });
    processor.push_back(each.processor_ms);
    wall.push_back(each.wall_ms);
    spent += std::max(each.processor_ms, 0.1);
  }
  return {median(processor), median(wall)};
}

/// By side, ratios to the first one.
using Ratios = std::vector<std::vector<double>>;

/// A row of the table. False: results differ.
bool measure(const Problem& problem, std::vector<std::unique_ptr<Side>>& sides, unsigned rounds,
             Ratios& ratios) {
  std::vector<Side*> with;
  Bytes expected;
  std::string differ;
  for (const auto& side : sides) {
    const bool has = side->prepare(problem);
    with.push_back(has ? side.get() : nullptr);
    if (!has) continue;
    side->launch();
    const Bytes bytes = side->result();
    if (expected.empty())
      expected = bytes;
    else if (bytes != expected)
      differ += std::string(" ") + side->name;
  }
  std::vector<std::vector<double>> processor(sides.size()), wall(sides.size());
  for (unsigned round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < with.size(); ++i) {
      if (!with[i]) continue;
      const Times each = series(*with[i], problem, rounds == 1);
      processor[i].push_back(each.processor_ms);
      wall[i].push_back(each.wall_ms);
    }
  std::printf("| %s |", problem.name);
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (!with[i]) {
      std::printf(" |");
      continue;
    }
    const double own = median(processor[i]), ratio = own / median(processor[0]);
    ratios[i].push_back(ratio);
    std::printf(" %.2f (%.1f), %.2f |", own, ratio, median(wall[i]));
  }
  std::printf(" %s%s |\n", differ.empty() ? "equal" : "differ:", differ.c_str());
  std::fflush(stdout);
  return differ.empty();
}

void print_means(const char* what, const Ratios& ratios) {
  std::printf("| geometric mean, %s |", what);
  for (const auto& each : ratios)
    if (const double mean = geometric_mean(each); mean > 0)
      std::printf(" (%.1f) |", mean);
    else
      std::printf(" |");
  std::printf(" |\n");
}

std::vector<std::unique_ptr<Side>> open_sides(const std::string& folder, OpenCl& cl) {
  std::vector<std::unique_ptr<Side>> sides;
  sides.push_back(std::make_unique<NativeSide>());
  struct Executor {
    const char *name, *device;
    ExecutorPolicy policy;
  };
  for (const Executor& each : {Executor{"host", "cpu", ExecutorPolicy::host},
                               Executor{"lavapipe", "lavapipe", ExecutorPolicy::device},
                               Executor{"swiftshader", "swiftshader", ExecutorPolicy::device}}) {
    DeviceOptions options;
    options.select = each.device;
    options.executor = each.policy;
    if (auto device = Device::open(options))
      sides.push_back(std::make_unique<RuntimeSide>(each.name, *device, folder));
    else
      std::printf("%s is left out: %s\n", each.name, device.error().text.c_str());
  }
  if (const std::string problem = cl.open(folder + "/kernels.cl"); problem.empty())
    sides.push_back(std::make_unique<OpenClSide>(cl));
  else
    std::printf("pocl is left out: %s\n", problem.c_str());
  return sides;
}

int run(const ParsedCommand& command) {
  const DeviceRun asked(command);
  std::vector<std::string> kernels;
  bool quick = false, rounds_given = false;
  for (const ParsedOption& option : command.options) {
    if (option.id == opt_kernel) kernels.push_back(option.value);
    if (option.id == opt_quick) quick = true;
    if (option.id == opt_rounds) rounds_given = true;
  }
  const unsigned rounds = rounds_given ? asked.rounds : quick ? 1 : 5;
  std::vector<Problem> surfaces, textures;
  for (const Case& form : all_cases()) {
    Problem problem = surface_problem(form, quick ? Size::tiny : Size::small);
    if (problem.native) surfaces.push_back(std::move(problem));
  }
  textures = texture_problems(quick);
  OpenCl cl;
  auto sides = open_sides(asked.folder, cl);
  std::printf("\n| kernel |");
  for (const auto& side : sides) std::printf(" %s |", side->name);
  std::printf(" results |\n|---|");
  for (std::size_t i = 0; i <= sides.size(); ++i) std::printf("---|");
  std::printf("\n");
  bool equal = true;
  const auto all = [&](const char* what, const std::vector<Problem>& problems) {
    Ratios ratios(sides.size());
    for (const Problem& each : problems)
      if (kernels.empty() || std::ranges::find(kernels, each.name) != kernels.end())
        equal = measure(each, sides, rounds, ratios) && equal;
    if (!ratios[0].empty()) print_means(what, ratios);
  };
  all("surfaces", surfaces);
  all("textures", textures);
  return equal ? 0 : 1;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  // Threads that spin between parallel regions would count as what runs then. OpenMP reads its
  // settings before main; the host executor's code has to be there at the first launch.
  if (!std::getenv("OMP_WAIT_POLICY")) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("PTX2SPV_DEBUG", "tier=compiled", 0);
    execv("/proc/self/exe", argv);
  }
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
