#include "src/device/clocks.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

namespace {

/// Between two readings.
constexpr std::chrono::milliseconds kApart{20};
/// By how much clocks that are meant to say the same may differ.
constexpr std::int64_t kSame = 1'000'000'000;
constexpr int kReadings = 5;

constexpr std::string_view kKernel =
    ".version 8.3\n.target sm_80\n.address_size 64\n"
    ".visible .entry read(.param .u64 to) {\n.reg .b64 %d<3>;\n"
    "ld.param.u64 %d0, [to];\nmov.u64 %d1, %clock64;\nmov.u64 %d2, %globaltimer;\n"
    "st.global.u64 [%d0], %d1;\nst.global.u64 [%d0+8], %d2;\nret;\n}\n";

struct Reading {
  std::uint64_t cycles = 0, time = 0;  ///< ticks
  /// Of the host's clocks, and by how much that may be wrong: billionths of a second.
  std::int64_t steady = 0, real = 0, unsure = INT64_MAX;
};

template <typename Clock>
std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

class Reader {
 public:
  static std::optional<Reader> make(DeviceState& device) {
    const Device handle(device.shared_from_this());
    auto module = Module::load(handle, kKernel, "clocks.ptx");
    if (!module) return std::nullopt;
    auto kernel = module->kernel("read");
    auto to = Buffer::create(handle, 16);
    if (!kernel || !to) return std::nullopt;
    return Reader(std::move(*module), std::move(*kernel), std::move(*to));
  }

  std::optional<Reading> read() {
    LaunchConfig config;
    config.threads = ThreadModel::direct;
    const std::int64_t before = now<std::chrono::steady_clock>();
    if (!kernel_.launch(config, Args().buffer(to_))) return std::nullopt;
    const std::int64_t took = now<std::chrono::steady_clock>() - before;
    const std::int64_t real = now<std::chrono::system_clock>() - took / 2;
    std::uint64_t words[2] = {};
    if (!to_.download(0, std::as_writable_bytes(std::span(words)))) return std::nullopt;
    return Reading{words[0], words[1], before + took / 2, real, took};
  }

  /// The surest of some.
  std::optional<Reading> read_surely() {
    std::optional<Reading> best;
    for (int i = 0; i < kReadings; ++i) {
      const auto each = read();
      if (!each) return std::nullopt;
      if (!best || each->unsure < best->unsure) best = each;
    }
    return best;
  }

 private:
  Reader(Module module, Kernel kernel, Buffer to)
      : module_(std::move(module)), kernel_(std::move(kernel)), to_(std::move(to)) {}

  Module module_;
  Kernel kernel_;
  Buffer to_;
};

/// Clocks whose ticks, or some of them, are a billionth of a second are meant to be that.
double whole(double rate) {
  const double nearest = rate >= 1 ? std::round(rate) : 1 / std::round(1 / rate);
  return std::fabs(rate / nearest - 1) < 2e-3 ? nearest : rate;
}

std::uint64_t fixed(double rate) { return static_cast<std::uint64_t>(std::llround(rate * 0x1p32)); }

/// `ticks` at the rate, as translations work it out.
std::uint64_t scaled(std::uint64_t ticks, std::uint64_t rate) {
  const std::uint64_t low = ticks & 0xffffffff, high = ticks >> 32, fraction = rate & 0xffffffff;
  return ticks * (rate >> 32) + high * fraction + (low * fraction >> 32);
}

std::optional<ClockRates> measure(DeviceState& device) {
  auto reader = Reader::make(device);
  // The first one translates.
  if (!reader || !reader->read()) return std::nullopt;
  const auto first = reader->read_surely();
  std::this_thread::sleep_for(kApart);
  const auto last = reader->read_surely();
  if (!first || !last || last->time <= first->time || last->cycles <= first->cycles)
    return std::nullopt;
  const auto between = static_cast<double>(last->steady - first->steady);
  const double time = whole(between / static_cast<double>(last->time - first->time));
  const double cycles = whole(between / static_cast<double>(last->cycles - first->cycles));
  ClockRates rates{fixed(cycles), 0, fixed(time), 0};
  // They go on where the interpreter's are. NVIDIA's clock already counts from 1970.
  const auto first_of = [](std::int64_t host, std::uint64_t ticks, std::uint64_t rate) {
    const std::int64_t behind = host - static_cast<std::int64_t>(scaled(ticks, rate));
    return static_cast<std::uint64_t>(std::llabs(behind) < kSame ? 0 : behind);
  };
  if (device.info.kind == DeviceKind::cpu)
    rates[1] = first_of(last->steady, last->cycles, rates[0]);
  rates[3] = first_of(last->real, last->time, rates[2]);
  return rates;
}

/// The thread that measures launches kernels that read clocks.
thread_local bool t_measures = false;

}  // namespace

ClockRates Clocks::get(DeviceState& device) {
  const Features& has = device.profile.features;
  // What waits for others may wait for this thread.
  if (t_measures || !(has.shader_clock || has.device_clock) || device.queue.waits_for_others())
    return {};
  std::lock_guard lock(mutex_);
  if (!rates_) {
    t_measures = true;
    rates_ = measure(device).value_or(ClockRates{});
    t_measures = false;
  }
  return *rates_;
}

}  // namespace ptx2spv::runtime
