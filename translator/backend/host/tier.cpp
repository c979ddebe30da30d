#include "translator/backend/host/tier.hpp"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

#include "translator/backend/host/llvm_hooks.hpp"

namespace ptx2spv::interpreter {

namespace {

/// Microseconds of interpretation after which code is made, and more for each operation: about what
/// that takes.
constexpr std::uint64_t kWorth = 20'000, kWorthOfOperation = 200;

/// One thread that compiles, begun when it first has to. The process's end leaves it where it is,
/// but for what it links or stores.
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
    if (!thread_.joinable()) return;
    // A child of the process has no such thread.
    const bool here = getpid() == made_by_;
    leaving_.asked = true;
    if (here) leaving_.state.wait(llvm::Leaving::runs);
    if (here && leaving_.state == llvm::Leaving::over)
      thread_.join();
    else
      thread_.detach();
  }
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  void run() {
    llvm::MayBeLeft::obey(leaving_);
    compile_all();
    leaving_.state = llvm::Leaving::over;
    leaving_.state.notify_all();
  }

  void compile_all() {
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
  llvm::Leaving leaving_;
  const pid_t made_by_ = getpid();
  std::thread thread_;
};

}  // namespace

std::shared_ptr<const llvm::Code> Tier::code(const Size& block) {
  Variant& variant = variant_of(block);
  if (store_ && !variant.looked_up.exchange(true)) return make(block, true);
  std::lock_guard lock(variant.mutex);
  return variant.code;
}

std::string Tier::refusal(const Size& block) {
  Variant& variant = variant_of(block);
  {
    std::lock_guard lock(variant.mutex);
    if (variant.looked || variant.tried) return variant.problem;
  }
  std::string problem = llvm::refusal(*program_, form_of(block));
  std::lock_guard lock(variant.mutex);
  if (!variant.tried) variant.problem = std::move(problem);
  variant.looked = true;
  return variant.problem;
}

std::shared_ptr<const llvm::Code> Tier::compile(const Size& block) { return make(block, false); }

/// `stored`: unless it has to be compiled.
std::shared_ptr<const llvm::Code> Tier::make(const Size& block, bool stored) {
  Variant& variant = variant_of(block);
  std::lock_guard once(variant.compiling);
  {
    std::lock_guard lock(variant.mutex);
    if (variant.tried) return variant.code;
  }
  std::string problem;
  auto code = llvm::compile(*program_, form_of(block), store_.get(), stored, problem);
  std::lock_guard lock(variant.mutex);
  if (stored && !code) return nullptr;
  variant.tried = true;
  variant.problem = std::move(problem);
  return variant.code = std::move(code);
}

void Tier::interpreted(const Size& block, double seconds) {
  Variant& variant = variant_of(block);
  const auto spent = static_cast<std::uint64_t>(seconds * 1e6);
  const std::uint64_t worth = kWorth + kWorthOfOperation * program_->source->function.insts.size();
  if (variant.microseconds.fetch_add(spent) + spent < worth || variant.asked.exchange(true)) return;
  // Loads LLVM, before what ends the thread at the process's end is made.
  if (!refusal(block).empty()) return;
  Background::get().add([self = shared_from_this(), x = block[0], y = block[1], z = block[2]] {
    self->compile({x, y, z});
  });
}

}  // namespace ptx2spv::interpreter
