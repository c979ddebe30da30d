// A stack of its own for each warp of a block that waits at barriers.
#pragma once

#include <cstddef>

namespace ptx2spv::interpreter {

class Fiber {
 public:
  using Body = void (*)(void*);

  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Whether the processor has fibers here.
  static bool available();
  /// Prepares a call of `body`; nothing of an earlier call is left. Throws std::bad_alloc.
  void prepare(Body body, void* argument, unsigned number);
  /// Runs it until it, or one that it handed over to, leaves or is over.
  void enter();
  bool over() const { return over_; }
  /// In the body: back to who entered.
  void leave();
  /// In the body: on with another one, which leaves to who entered this one.
  void hand_over(Fiber& next);

 private:
  static void start(Fiber* self);

  std::byte* stack_ = nullptr;
  void *inside_ = nullptr, *outside_ = nullptr;  ///< stack pointers
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool over_ = true;
};

}  // namespace ptx2spv::interpreter
