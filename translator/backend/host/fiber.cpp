#include "translator/backend/host/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

// Saves what a call keeps, changes the stack, and goes on there. The names are global: of a local
// one AArch64's assembler gives the address of its section.
#if defined(__x86_64__)
asm(R"(
.text
.globl ptx2spv_switch_stack
.hidden ptx2spv_switch_stack
.type ptx2spv_switch_stack, @function
ptx2spv_switch_stack:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size ptx2spv_switch_stack, .-ptx2spv_switch_stack
.globl ptx2spv_start_fiber
.hidden ptx2spv_start_fiber
.type ptx2spv_start_fiber, @function
ptx2spv_start_fiber:
  mov %r12, %rdi
  call *%r13
  ud2
.size ptx2spv_start_fiber, .-ptx2spv_start_fiber
)");
#define PTX2SPV_FIBERS 1
#elif defined(__aarch64__)
asm(R"(
.text
.globl ptx2spv_switch_stack
.hidden ptx2spv_switch_stack
.type ptx2spv_switch_stack, %function
ptx2spv_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size ptx2spv_switch_stack, .-ptx2spv_switch_stack
.globl ptx2spv_start_fiber
.hidden ptx2spv_start_fiber
.type ptx2spv_start_fiber, %function
ptx2spv_start_fiber:
  mov x0, x19
  blr x20
  brk #0
.size ptx2spv_start_fiber, .-ptx2spv_start_fiber
)");
#define PTX2SPV_FIBERS 1
#else
#define PTX2SPV_FIBERS 0
#endif

#if PTX2SPV_FIBERS
extern "C" void ptx2spv_switch_stack(void** save, void* to);
extern "C" void ptx2spv_start_fiber();
#endif

namespace ptx2spv::interpreter {

namespace {

/// Bytes of a stack, of which pages come as they are touched, behind one that never does.
constexpr std::size_t kStack = 1 << 20, kGuard = 1 << 12;
/// Stacks begin at different places of a page, so that their words do not share the same few sets
/// of the processor's cache.
constexpr std::size_t kApart = 32, kShift = 832;

}  // namespace

bool Fiber::available() { return PTX2SPV_FIBERS != 0; }

Fiber::~Fiber() {
  if (stack_) munmap(stack_, kStack);
}

void Fiber::prepare(Body body, void* argument, unsigned number) {
  if (!stack_) {
    void* made = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<std::byte*>(made);
    mprotect(stack_, kGuard, PROT_NONE);
  }
  body_ = body;
  argument_ = argument;
  over_ = false;
#if PTX2SPV_FIBERS
  auto* top = reinterpret_cast<std::uintptr_t*>(stack_ + kStack - number % kApart * kShift);
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  const auto body_address = reinterpret_cast<std::uintptr_t>(&Fiber::start);
  const auto first = reinterpret_cast<std::uintptr_t>(&ptx2spv_start_fiber);
#if defined(__x86_64__)
  // r15 r14 r13 r12 rbx rbp, the place to go on, and two words so that calls find it aligned.
  top -= 9;
  for (int i = 0; i < 9; ++i) top[i] = 0;
  top[2] = body_address;
  top[3] = self;
  top[6] = first;
#else
  top -= 20;
  for (int i = 0; i < 20; ++i) top[i] = 0;
  top[0] = self;          // x19
  top[1] = body_address;  // x20
  top[11] = first;        // x30
#endif
  inside_ = top;
#endif
}

void Fiber::start(Fiber* self) {
  self->body_(self->argument_);
  self->over_ = true;
  self->leave();
}

void Fiber::enter() {
#if PTX2SPV_FIBERS
  ptx2spv_switch_stack(&outside_, inside_);
#endif
}

void Fiber::hand_over(Fiber& next) {
#if PTX2SPV_FIBERS
  next.outside_ = outside_;
  ptx2spv_switch_stack(&inside_, next.inside_);
#endif
}

void Fiber::leave() {
#if PTX2SPV_FIBERS
  ptx2spv_switch_stack(&inside_, outside_);
#endif
}

}  // namespace ptx2spv::interpreter
