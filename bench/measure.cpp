#include "bench/measure.hpp"

#include <algorithm>
#include <cstring>

namespace ptx2spv::bench {
namespace {

std::span<std::byte> bytes_of(std::vector<std::uint32_t>& words) {
  return std::as_writable_bytes(std::span(words));
}

/// A translated kernel and its surfaces.
struct Ours {
  std::optional<Array> from, to;
  std::optional<Surface> from_surface, to_surface;
  Args args;

  bool open(const Bench& bench, const Job& job, std::string& error) {
    const auto fail = [&error](const Error& reason) {
      error = reason.text;
      return false;
    };
    if (job.form.input != Input::none) {
      auto array = Array::create(bench.device, job.from);
      if (!array) return fail(array.error());
      from = *array;
      if (Status status = from->upload(std::as_bytes(std::span(job.input))); !status)
        return fail(status.error());
      auto surface = Surface::create(*from);
      if (!surface) return fail(surface.error());
      from_surface = *surface;
      args.surface(*from_surface);
    }
    auto array = Array::create(bench.device, job.to);
    if (!array) return fail(array.error());
    to = *array;
    auto surface = Surface::create(*to);
    if (!surface) return fail(surface.error());
    to_surface = *surface;
    args.surface(*to_surface);
    for (const std::uint32_t argument : job.arguments) args.value(argument);
    return true;
  }
};

}  // namespace

namespace {

/// One kernel on every side: ours fast and exact, hand-written GLSL, and CUDA where there is one.
class Sides {
 public:
  Sides(Bench& bench, const Case& form, std::string& error)
      : bench_(bench), form_(form), error_(error), job_(make_job(form, bench.size, true)) {
    job_.config.time = bench.device_times;
    job_.from.backing = job_.to.backing = bench.backing;
    result_.kernel = form.name;
    result_.extent = job_.extent;
  }
  ~Sides() {
    if (!prepared_) return;
    bench_.raw.destroy(work_);
    bench_.raw.destroy(raw_from_);
    bench_.raw.destroy(raw_to_);
  }
  Sides(const Sides&) = delete;
  Sides& operator=(const Sides&) = delete;

  bool open() { return open_ours() && open_raw(); }
  bool compare();
  bool time();
  const KernelResult& result() const { return result_; }

 private:
  bool open_ours();
  bool open_raw();
  bool run_ours(std::size_t side, double& milliseconds);
  double run_raw();
  void compare_to(const std::vector<std::uint32_t>& expected,
                  const std::vector<std::uint32_t>& actual, const char* side);

  Bench& bench_;
  const Case& form_;
  std::string& error_;
  Job job_;
  Ours ours_;
  std::vector<Kernel> kernels_;
  RawVulkan::Buffer raw_from_, raw_to_;
  RawVulkan::Work work_;
  bool prepared_ = false;  ///< the three before are
  KernelResult result_;
};

bool Sides::open_ours() {
  if (!ours_.open(bench_, job_, error_)) return false;
  for (const Module* module : {&bench_.fast, &bench_.exact}) {
    auto kernel = module->kernel(form_.name);
    if (!kernel) return error_ = kernel.error().text, false;
    kernels_.push_back(*kernel);
  }
  return true;
}

bool Sides::open_raw() {
  RawVulkan& raw = bench_.raw;
  std::vector<RawVulkan::Words> passes;
  std::vector<std::string> names;
  const bool native64 = form_.channels == 2 && raw.has_int64_atomics();
  if (form_.channels == 2)
    result_.note = native64 ? "64-bit atomics" : "two passes of 32-bit atomics";
  for (const char* name : form_.shaders)
    if (name) names.emplace_back(name);
  if (native64) names = {"zbuffer64"};
  for (const std::string& name : names) {
    passes.push_back(read_shader(bench_.folder, name, error_));
    if (passes.back().empty()) return false;
  }
  raw_from_ = raw.buffer(std::max<std::uint64_t>(4, job_.input.size() * 4));
  raw_to_ = raw.buffer(job_.to_bytes);
  if (!job_.input.empty()) raw.upload(raw_from_, std::as_bytes(std::span(job_.input)));
  const Dim3 grid = job_.config.grid;
  work_ = raw.prepare(passes, raw_from_, raw_to_, &job_.push, {grid.x, grid.y, grid.z});
  prepared_ = true;
  return true;
}

bool Sides::run_ours(std::size_t side, double& milliseconds) {
  if (form_.accumulates)
    if (Status status = ours_.to->fill(form_.initial, 4); !status)
      return error_ = status.error().text, false;
  auto timing = kernels_[side].launch(job_.config, ours_.args);
  if (!timing) return error_ = timing.error().text, false;
  milliseconds = bench_.device_times ? timing->device_ms : timing->wall_ms;
  return true;
}

double Sides::run_raw() {
  if (form_.accumulates) bench_.raw.fill(raw_to_, form_.initial);
  const double wall = bench_.raw.run(work_);
  return bench_.device_times ? bench_.raw.device_ms() : wall;
}

void Sides::compare_to(const std::vector<std::uint32_t>& expected,
                       const std::vector<std::uint32_t>& actual, const char* side) {
  if (actual == expected) return;
  const auto at =
      std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin();
  result_.equal = false;
  result_.difference += (result_.difference.empty() ? "" : ", ") + std::string(side) +
                        " differs at word " + std::to_string(at);
}

/// Runs each side once. Every side starts from the same words, other than what the kernel writes.
bool Sides::compare() {
  std::vector<std::uint32_t> expected(job_.to_bytes / 4), actual(expected.size());
  bench_.raw.fill(raw_to_, form_.initial);
  bench_.raw.run(work_);
  bench_.raw.download(raw_to_, bytes_of(expected));
  double ignored = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    if (!ours_.to->fill(form_.initial, 4).ok() || !run_ours(side, ignored) ||
        !ours_.to->download(bytes_of(actual)).ok()) {
      if (error_.empty()) error_ = "a copy failed";
      return false;
    }
    if (!form_.rounds) compare_to(expected, actual, side ? "exact" : "fast");
  }
  if (form_.rounds) expected = actual;
  if (!bench_.cuda) return true;
  NativeCuda& cuda = *bench_.cuda;
  if (!cuda.prepare(job_) || cuda.run() < 0 || !cuda.download(bytes_of(actual)))
    return error_ = "CUDA: " + cuda.error(), false;
  compare_to(expected, actual, "cuda");
  return true;
}

bool Sides::time() {
  std::vector<double> times[4];
  constexpr int kWarm = 2;
  for (int round = -kWarm; round < bench_.rounds; ++round) {
    double values[4] = {run_raw(), -1, -1, -1};
    if (!run_ours(0, values[1]) || !run_ours(1, values[2])) return false;
    if (bench_.cuda) {
      if (form_.accumulates) bench_.cuda->reset();
      values[3] = bench_.cuda->run();
    }
    for (std::size_t k = 0; k < 4; ++k)
      if (round >= 0 && values[k] >= 0) times[k].push_back(values[k]);
  }
  result_.glsl_ms = median(times[0]);
  result_.fast_ms = median(times[1]);
  result_.exact_ms = median(times[2]);
  result_.cuda_ms = median(times[3]);
  return true;
}

}  // namespace

std::optional<KernelResult> measure_kernel(Bench& bench, const Case& form, std::string& error) {
  Sides sides(bench, form, error);
  if (!sides.open() || !sides.compare() || !sides.time()) return std::nullopt;
  return sides.result();
}

}  // namespace ptx2spv::bench
