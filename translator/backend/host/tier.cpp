#include "translator/backend/host/tier.hpp"

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <thread>

#include "translator/backend/host/llvm/api.hpp"

namespace ptx2spv::interpreter {

namespace {

/// Microseconds of interpretation after which code is made: about what that takes.
constexpr std::uint64_t kWorth = 20'000;

/// One thread that compiles, begun when it first has to. The process ends after what it is at.
class Background {
 public:
  static Background& get() {
    // Made after LLVM was loaded, so that it is gone before LLVM's own objects.
    static Background one;
    return one;
  }
  void add(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    work_.push_back(std::move(work));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    more_.notify_one();
  }
  ~Background() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
      work_.clear();
    }
    more_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [this] { return ending_ || !work_.empty(); });
      if (ending_) return;
      const std::function<void()> next = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> work_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<const llvm::Code> Tier::code(const Launch& launch) const {
  const Variant& variant = of(launch);
  std::lock_guard lock(variant.mutex);
  return variant.code;
}

std::string Tier::problem(const Launch& launch) const {
  const Variant& variant = of(launch);
  std::lock_guard lock(variant.mutex);
  return variant.problem;
}

std::shared_ptr<const llvm::Code> Tier::compile(const Launch& launch) {
  Variant& variant = of(launch);
  std::lock_guard once(variant.compiling);
  {
    std::lock_guard lock(variant.mutex);
    if (variant.tried) return variant.code;
  }
  std::string problem;
  auto code = llvm::compile(*program_, &variant == &variants_[1], problem);
  std::lock_guard lock(variant.mutex);
  variant.tried = true;
  variant.problem = std::move(problem);
  return variant.code = std::move(code);
}

void Tier::interpreted(const Launch& launch, double seconds) {
  Variant& variant = of(launch);
  const auto spent = static_cast<std::uint64_t>(seconds * 1e6);
  if (variant.microseconds.fetch_add(spent) + spent < kWorth || variant.asked.exchange(true)) return;
  std::string problem;
  if (!llvm::load_api(problem)) {
    std::lock_guard lock(variant.mutex);
    variant.tried = true;
    variant.problem = std::move(problem);
    return;
  }
  Background::get().add([self = shared_from_this(), launch] { self->compile(launch); });
}

}  // namespace ptx2spv::interpreter
