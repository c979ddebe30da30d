#include "translator/backend/host/grid.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include <fmt/format.h>

#include "translator/backend/host/block.hpp"
#include "translator/backend/host/compiled.hpp"
#include "translator/backend/host/workers.hpp"

namespace ptx2spv::interpreter {

namespace {

/// Turns in which all threads of a block yield before another block is let run.
constexpr unsigned kPatience = 16;
/// Blocks that wait for a clock at a time, of one thread of the processor's: as many as a
/// multiprocessor of NVIDIA's has.
constexpr std::size_t kMostAtClock = 32;
/// Seconds without progress after which threads leave the processor to others.
constexpr double kLongWait = 1e-2;
/// Seconds of machine code between two looks at what is left, and of what is not worth waking other
/// threads for, whoever runs it.
constexpr double kShortTurn = 2e-4;
/// Bytes that blocks which run or wait at a time may take together, but for the first.
constexpr std::uint64_t kMostResident = 4ull << 30;

/// Rounding to nearest even, and no flush of denormals, whatever the caller's thread has set. That
/// is as it was once this is gone, with the exceptions that were raised.
class DefaultFloats {
 public:
#if defined(__x86_64__)
  // The unit of before SSE, which nothing here uses, makes the portable calls slow.
  DefaultFloats() { _mm_setcsr(kDefault); }
  ~DefaultFloats() { _mm_setcsr(saved_); }
#else
  DefaultFloats() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&saved_); }
#endif
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kDefault = 0x1f80;  ///< exceptions masked, none raised
  const unsigned saved_ = _mm_getcsr();
#else
  std::fenv_t saved_;
#endif
};

thread_local const char* t_kernel = nullptr;

/// Says what this thread runs, as long as it lives.
class Running {
 public:
  explicit Running(const char* kernel) { t_kernel = kernel; }
  ~Running() { t_kernel = nullptr; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

class Grid {
 public:
  Grid(const Program& program, const Launch& launch, const GridOptions& options)
      : program_(program), launch_(launch), options_(options) {
    blocks_ = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    block_bytes_ =
        std::max<std::uint64_t>(BlockRun::bytes(program, launch, options.dynamic_shared), 1);
  }

  InterpretedKernel::Ending run() {
    count_ =
        static_cast<unsigned>(std::min({std::uint64_t{std::max(options_.threads, 1u)}, blocks_,
                                        std::max<std::uint64_t>(kMostResident / block_bytes_, 1)}));
    const Timer timer(*this);
    // Short launches are over before other threads would have begun.
    if (options_.tier) begin_compiled();
    if (next_ < blocks_) work_with_others();
    // The timer may be about to say why.
    const std::lock_guard lock(mutex_);
    ending_.blocks = std::min(next_.load(), blocks_);
    return std::move(ending_);
  }

 private:
  void work_with_others() {
    const auto threads = [this](std::uint64_t blocks) {
      return static_cast<double>(blocks) * launch_.block[0] * launch_.block[1] * launch_.block[2];
    };
    const double pace = options_.pace->load(std::memory_order_relaxed);
    {
      Workers::Job job([this] { work(); });
      job_ = &job;
      alone_ = next_ == 0 && pace > 0 && pace * threads(blocks_) < kShortTurn;
      if (!alone_) job.share(count_ - 1);
      work();
    }
    if (!failed_)
      options_.pace->store(spent_ / threads(std::min(next_.load(), blocks_)),
                           std::memory_order_relaxed);
  }

  /// Lets other threads take part, where this one was to run what is short alone.
  void end_alone() {
    if (!alone_.load(std::memory_order_relaxed) || next_ >= blocks_) return;
    alone_ = false;
    job_->share(count_ - 1);
  }

  void work() {
    const double start = now();
    work_on_blocks();
    const double spent = now() - start;
    const std::lock_guard lock(mutex_);
    spent_ += spent;
  }

  void work_on_blocks() try {
    const DefaultFloats floats;
    const Running mark(options_.kernel);
    double since = now();
    const auto make = [this] {
      return std::make_unique<BlockRun>(program_, launch_, options_.dynamic_shared);
    };
    run_blocks<BlockRun>(make, [this, &since] {
      if (!options_.tier) return false;
      if (CompiledLaunch* compiled = compiled_launch()) {
        end_alone();
        run_compiled(*compiled, false);
        return true;
      }
      const double time = now();
      options_.tier->interpreted(launch_.block, time - since);
      since = time;
      return false;
    });
  } catch (const std::bad_alloc&) {
    fail_for_memory();
  }

  /// Blocks that may wait for each other, side by side. `others`: asked where none runs, whether
  /// somebody else has run the rest.
  template <typename Block, typename Make, typename Others>
  void run_blocks(const Make& make, const Others& others) {
    std::vector<std::unique_ptr<Block>> running, spare;
    while (!failed_.load(std::memory_order_relaxed)) {
      if (running.empty() && (others() || past(options_.patience) || !start(running, spare, make)))
        return;
      bool idle = true;
      for (std::size_t i = 0; i < running.size();) {
        const auto status = for_a_while(*running[i]);
        idle = idle && status == Block::Status::idle;
        if (status == Block::Status::stuck) return fail({.problem = stuck(running[i]->block())});
        if (status == Block::Status::over) {
          spare.push_back(std::move(running[i]));
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          ++i;
        }
        if (failed_.load(std::memory_order_relaxed)) return;
      }
      // All wait: perhaps for a block that has not begun, perhaps for another thread's.
      if (!idle || running.empty()) continue;
      const bool clock =
          std::ranges::any_of(running, [](const auto& block) { return block->waited_for_clock(); });
      // What this thread begins it also ends, however long that takes.
      end_alone();
      if (!(clock && running.size() >= kMostAtClock) && start(running, spare, make)) continue;
      const double waited = now() - moved_.load(std::memory_order_relaxed);
      if (waited > options_.stall || (options_.stop && options_.stop->load()))
        return fail({.problem = waiting(running.front()->block())});
      if (waited > kLongWait)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      else
        std::this_thread::yield();
    }
  }

  /// Machine code for the blocks that are left, once there is some.
  CompiledLaunch* compiled_launch() {
    std::lock_guard lock(mutex_);
    if (!compiled_ && (code_ = options_.tier->code(launch_.block)))
      compiled_ =
          std::make_unique<CompiledLaunch>(program_, launch_, *code_, options_.dynamic_shared);
    if (compiled_ && failed_) compiled_->stop = 1;
    return compiled_.get();
  }

  void begin_compiled() try {
    const DefaultFloats floats;
    const Running mark(options_.kernel);
    CompiledLaunch* compiled = compiled_launch();
    if (compiled && !compiled->code.yields) run_compiled(*compiled, true);
  } catch (const std::bad_alloc&) {
    fail_for_memory();
  }

  void fail_for_memory() {
    fail({.problem = fmt::format("no memory for blocks of {} bytes each", block_bytes_)});
  }

  /// `alone`: no more than what others would come too late for.
  void run_compiled(CompiledLaunch& compiled, bool alone) {
    if (compiled.code.yields)
      return run_blocks<CompiledBlocks>(
          [&compiled] { return std::make_unique<CompiledBlocks>(compiled); }, [] { return false; });
    CompiledBlocks blocks(compiled);
    // Some at a time, so that all threads end together.
    std::uint64_t count = 1;
    const double start = now();
    double before = start;
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::uint64_t first = next_.fetch_add(count);
      if (first >= blocks_) {
        next_.store(blocks_);
        return;
      }
      const std::uint64_t end = std::min(first + count, blocks_);
      if (blocks.run(first, end) == CompiledBlocks::Status::stuck)
        return fail({.problem = stuck(blocks.block())});
      const double after = now();
      moved_.store(after, std::memory_order_relaxed);
      // The first block finds cold caches.
      const double of_block = (after - before) / static_cast<double>(end - first);
      const double left = of_block * static_cast<double>(blocks_ - end);
      if (alone && (after - start > kShortTurn || (first > 0 && left > kShortTurn))) return;
      const std::uint64_t runners = alone ? 1 : count_;
      if (after - before < kShortTurn) count = std::min(2 * count, blocks_ / (8 * runners) + 1);
      before = after;
    }
  }

  template <typename Block, typename Make>
  bool start(std::vector<std::unique_ptr<Block>>& running,
             std::vector<std::unique_ptr<Block>>& spare, const Make& make) {
    if (!running.empty() && resident_.load() * block_bytes_ > kMostResident) return false;
    const std::uint64_t number = next_.fetch_add(1);
    if (number >= blocks_) {
      next_.store(blocks_);
      return false;
    }
    if (spare.empty()) {
      spare.push_back(make());
      ++resident_;
    }
    running.push_back(std::move(spare.back()));
    spare.pop_back();
    running.back()->begin(number);
    return true;
  }

  template <typename Block>
  typename Block::Status for_a_while(Block& block) {
    using Status = typename Block::Status;
    unsigned idle = 0;
    for (;;) {
      if (past(options_.timeout)) fail({.timed_out = true});
      const Status status = block.turn();
      if (status == Status::stuck) return status;
      idle = status == Status::idle ? idle + 1 : 0;
      const double time = now();
      if (idle == 0 || block.waited_for_clock()) moved_.store(time, std::memory_order_relaxed);
      if (time - since_ > kShortTurn) end_alone();
      if (status == Status::over || idle >= kPatience || failed_.load(std::memory_order_relaxed))
        return status;
    }
  }

  static double now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  }

  std::string waiting(std::uint64_t block) const {
    return fmt::format("threads of block {} wait in loops for what no thread does", name_of(block));
  }

  std::string stuck(std::uint64_t block) const {
    return fmt::format("threads of block {} wait at a barrier that others never reach",
                       name_of(block));
  }

  std::string name_of(std::uint64_t block) const {
    return fmt::format("({}, {}, {})", block % launch_.grid[0],
                       block / launch_.grid[0] % launch_.grid[1],
                       block / launch_.grid[0] / launch_.grid[1]);
  }

  /// Whether so many seconds are over; never where they are none.
  bool past(double seconds) const {
    if (seconds <= 0) return false;
    return now() - since_ >= seconds;
  }

  /// The first reason counts.
  void fail(InterpretedKernel::Ending ending) {
    std::lock_guard lock(mutex_);
    if (failed_.exchange(true)) return;
    if (compiled_) compiled_->stop = 1;
    ending_ = std::move(ending);
    if (ending_.timed_out)
      ending_.problem = fmt::format("did not end within {:g} seconds", options_.timeout);
  }

  /// Ends machine code that runs for too long; the interpreter looks at the time itself.
  class Timer {
   public:
    explicit Timer(Grid& grid) {
      if (grid.options_.timeout <= 0 || !grid.options_.tier) return;
      thread_ = std::thread([this, &grid] {
        std::unique_lock lock(mutex_);
        if (!over_.wait_for(lock, std::chrono::duration<double>(grid.options_.timeout),
                            [this] { return ended_; }))
          grid.fail({.timed_out = true});
      });
    }
    ~Timer() {
      {
        std::lock_guard lock(mutex_);
        ended_ = true;
      }
      over_.notify_one();
      if (thread_.joinable()) thread_.join();
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    std::mutex mutex_;
    std::condition_variable over_;
    bool ended_ = false;
    std::thread thread_;
  };

  const Program& program_;
  const Launch& launch_;
  const GridOptions& options_;
  unsigned count_ = 1;  ///< of the processor's threads
  std::shared_ptr<const llvm::Code> code_;
  std::unique_ptr<CompiledLaunch> compiled_;  ///< with mutex_
  const double since_ = now();
  std::uint64_t blocks_ = 0, block_bytes_ = 1;
  std::atomic<std::uint64_t> next_{0}, resident_{0};
  std::atomic<bool> failed_{false};
  std::atomic<double> moved_{since_};  ///< when a block last did more than wait
  Workers::Job* job_ = nullptr;
  std::atomic<bool> alone_{false};  ///< as long as one thread runs the blocks
  std::mutex mutex_;
  double spent_ = 0;  ///< by all threads; with mutex_
  InterpretedKernel::Ending ending_;
};

}  // namespace

const char* running_kernel() noexcept { return t_kernel; }

InterpretedKernel::Ending run_grid(const Program& program, const Launch& launch,
                                   const GridOptions& options) {
  return Grid(program, launch, options).run();
}

}  // namespace ptx2spv::interpreter
