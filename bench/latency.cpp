// What one small launch costs through the runtime, and through Vulkan by hand.
#include <chrono>

#include "bench/measure.hpp"

namespace ptx2spv::bench {
namespace {

constexpr int kMany = 100;

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

std::optional<std::vector<LatencyResult>> measure_latency(Bench& bench, std::string& error) {
  const Case* copy = nullptr;
  for (const Case& form : all_cases())
    if (std::string(form.name) == "copy4") copy = &form;
  Case small = *copy;
  small.extents.fill({16, 16, 1});  // one workgroup
  const Job job = make_job(small, Size::tiny, true);

  const auto fail = [&error](const Error& reason) -> std::optional<std::vector<LatencyResult>> {
    error = reason.text;
    return std::nullopt;
  };
  auto from = Array::create(bench.device, job.from), to = Array::create(bench.device, job.to);
  if (!from || !to) return fail(from ? to.error() : from.error());
  auto from_surface = Surface::create(*from), to_surface = Surface::create(*to);
  if (!from_surface || !to_surface)
    return fail(from_surface ? to_surface.error() : from_surface.error());
  auto kernel = bench.exact.kernel(small.name);
  if (!kernel) return fail(kernel.error());
  auto stream = Stream::create(bench.device);
  if (!stream) return fail(stream.error());
  auto graph = Graph::create(bench.device);
  if (!graph) return fail(graph.error());
  Args args;
  args.surface(*from_surface).surface(*to_surface);
  for (int k = 0; k < kMany; ++k)
    if (Status status = graph->add(*kernel, job.config, args); !status) return fail(status.error());

  RawVulkan& raw = bench.raw;
  std::vector<RawVulkan::Words> passes = {read_shader(bench.folder, small.name, error)};
  if (passes[0].empty()) return std::nullopt;
  RawVulkan::Buffer raw_from = raw.buffer(job.to_bytes), raw_to = raw.buffer(job.to_bytes);
  RawVulkan::Work one = raw.prepare(passes, raw_from, raw_to, &job.push, {1, 1, 1});
  RawVulkan::Work many = raw.prepare(passes, raw_from, raw_to, &job.push, {1, 1, 1}, kMany);
  if (bench.cuda && !bench.cuda->prepare(job)) return error = bench.cuda->error(), std::nullopt;

  std::vector<double> times[3][3];  // one, stream, graph; ours, raw, CUDA
  Status status;
  for (int round = -3; round < bench.rounds * 4 && status.ok(); ++round) {
    double values[3][3];
    values[0][1] = raw.record_and_run(one) * 1e3;
    auto start = std::chrono::steady_clock::now();
    auto timing = kernel->launch(job.config, args);
    values[0][0] = microseconds_since(start);
    if (!timing) return fail(timing.error());

    values[1][1] = raw.record_and_run_many(one, kMany) * 1e3 / kMany;
    start = std::chrono::steady_clock::now();
    for (int k = 0; k < kMany && status.ok(); ++k)
      status = stream->launch(*kernel, job.config, args);
    if (status.ok()) status = stream->synchronize();
    values[1][0] = microseconds_since(start) / kMany;

    values[2][1] = raw.run(many) * 1e3 / kMany;
    start = std::chrono::steady_clock::now();
    if (status.ok()) status = stream->replay(*graph);
    if (status.ok()) status = stream->synchronize();
    values[2][0] = microseconds_since(start) / kMany;

    for (double(&row)[3] : values) row[2] = -1;
    if (bench.cuda) {
      values[0][2] = bench.cuda->latency(1) * 1e3;
      values[1][2] = bench.cuda->latency(kMany) * 1e3 / kMany;
    }
    for (std::size_t what = 0; what < 3; ++what)
      for (std::size_t side = 0; side < 3; ++side)
        if (round >= 0 && values[what][side] >= 0) times[what][side].push_back(values[what][side]);
  }
  raw.destroy(one);
  raw.destroy(many);
  raw.destroy(raw_from);
  raw.destroy(raw_to);
  if (!status) return fail(status.error());

  std::vector<LatencyResult> results;
  const char* const names[] = {"one launch, waited for", "each of 100 in a stream",
                               "each of 100 in a graph"};
  for (std::size_t what = 0; what < 3; ++what)
    results.push_back(
        {names[what], median(times[what][0]), median(times[what][1]), median(times[what][2])});
  return results;
}

}  // namespace ptx2spv::bench
