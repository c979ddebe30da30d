// malloc and free: buddies of 32 bytes and more on a heap of the device, under one lock. Each is a
// function of the IR that stands once in a kernel, however many calls there are: with what a thread
// does while it waits for the lock, it has some 200 instructions.
//
// Each word of the heap's own is read and written by atomics alone: some drivers keep no other
// order between threads. The lock is a try-lock whose critical section stands inside the branch
// that won it, since a spin outside deadlocks on SIMT hardware.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

namespace {

class DeviceHeap {
 public:
  explicit DeviceHeap(ir::Function& function) : f_(function), b_(function) {
    f_.stands_once = true;
    b_.at(b_.new_block());
    base_ = Memory(b_, {}).push_address(abi::Push::heap);
  }

  /// The address of as many bytes as the argument says, 0 where the heap has not so many.
  void allocate() {
    result_ = var(Type::i64);
    f_.result_vars = {result_};
    const Value size = argument();
    b_.set(result_, b_.i64(0));
    when(b_.cmp(Op::ne, base_, b_.i64(0)), [&] {
      const Value units = word(abi::h_units);
      const Value bytes =
          b_.op2(Op::shl, b_.inst(Op::zext, Type::i64, {units}), b_.i32(kUnitShift));
      when(b_.cmp(Op::ule, size, bytes), [&] {
        // The exponent of the block that holds them, in units.
        const Value last = b_.op2(Op::umax, size, b_.i64(1));
        const Value more =
            b_.inst(Op::trunc, Type::i32,
                    {b_.op2(Op::lshr, b_.op2(Op::sub, last, b_.i64(1)), b_.i32(kUnitShift))});
        const Value order = b_.op2(Op::add, b_.inst(Op::find_msb, Type::i32, {more}), b_.i32(1));
        const std::uint32_t wanted = var(Type::i32);
        b_.set(wanted, order);
        locked([&] { take(wanted); });
      });
    });
    b_.ret();
  }

  /// Whether the argument was the address of a block, or null.
  void release() {
    const std::uint32_t good = var(Type::i1), unit = var(Type::i32);
    f_.result_vars = {good};
    const Value address = argument();
    b_.set(good, b_.cmp(Op::eq, address, b_.i64(0)));
    when(b_.inst(Op::not_, Type::i1, {b_.get(good)}), [&] {
      when(b_.cmp(Op::ne, base_, b_.i64(0)), [&] {
        const Value offset = b_.op2(Op::sub, address, data());
        const Value number = b_.op2(Op::lshr, offset, b_.i32(kUnitShift));
        const Value units = b_.inst(Op::zext, Type::i64, {word(abi::h_units)});
        const Value whole =
            b_.cmp(Op::eq, b_.op2(Op::and_, offset, b_.i64(abi::kHeapUnit - 1)), b_.i64(0));
        const Value inside = b_.op2(Op::and_, whole, b_.cmp(Op::ult, number, units));
        when(inside, [&] {
          b_.set(unit, b_.inst(Op::trunc, Type::i32, {number}));
          locked([&] { give_back(unit, good); });
        });
      });
    });
    b_.ret();
  }

 private:
  static constexpr std::uint32_t kUnitShift = 5;
  static constexpr unsigned kPause = 64;  ///< reads of the lock between two attempts
  static_assert(abi::kHeapUnit == 1u << kUnitShift);

  std::uint32_t var(Type type) {
    f_.vars.push_back({type, "heap"});
    return static_cast<std::uint32_t>(f_.vars.size() - 1);
  }
  Value argument() {
    f_.param_vars = {var(Type::i64)};
    return b_.get(f_.param_vars[0]);
  }

  template <class Then>
  void when(Value cond, Then&& then) {
    const BlockId yes = b_.new_block(), join = b_.new_block();
    b_.cond_br(cond, yes, join);
    b_.at(yes);
    then();
    b_.br(join);
    b_.at(join);
  }
  template <class Cond, class Body>
  void loop_while(Cond&& cond, Body&& body) {
    const BlockId header = b_.new_block(), inside = b_.new_block(), out = b_.new_block();
    b_.br(header);
    b_.at(header);
    b_.cond_br(cond(), inside, out);
    b_.at(inside);
    body();
    b_.br(header);
    b_.at(out);
  }

  Value atomic(Value address, AtomicOp op, Value value, std::uint16_t slot = ir::kHeapSlot) {
    const Value old = b_.inst(Op::atomic, Type::i32, {address, value});
    b_.last(old).mem = {.space = Space::global, .bytes = 4, .atomic = op, .slot = slot};
    return old;
  }
  Value read(Value address) { return atomic(address, AtomicOp::or_, b_.i32(0)); }
  void write(Value address, Value value) { atomic(address, AtomicOp::exch, value); }
  Value at(Value index) {
    return b_.op2(Op::add, base_,
                  b_.op2(Op::shl, b_.inst(Op::zext, Type::i64, {index}), b_.i32(2)));
  }
  Value word(std::uint32_t index) { return read(at(b_.i32(index))); }
  Value data() { return b_.op2(Op::add, base_, b_.inst(Op::zext, Type::i64, {word(abi::h_data)})); }
  Value list(Value order) { return at(b_.op2(Op::add, order, b_.i32(abi::h_lists))); }
  Value state(Value unit) { return at(b_.op2(Op::add, unit, b_.i32(abi::kHeapStates))); }
  Value address_of(Value unit) {
    return b_.op2(Op::add, data(),
                  b_.op2(Op::shl, b_.inst(Op::zext, Type::i64, {unit}), b_.i32(kUnitShift)));
  }
  /// The links of a free block stand in it: the next one's unit plus 1, the previous one's.
  Value next_of(Value unit) { return address_of(unit); }
  Value previous_of(Value unit) { return b_.op2(Op::add, address_of(unit), b_.i64(4)); }
  Value one_more(Value v) { return b_.op2(Op::add, v, b_.i32(1)); }
  Value one_less(Value v) { return b_.op2(Op::sub, v, b_.i32(1)); }
  Value size_of(Value order) { return b_.op2(Op::shl, b_.i32(1), order); }

  template <class Critical>
  void locked(Critical&& critical) {
    const std::uint32_t done = var(Type::i1);
    const BlockId attempt = b_.new_block(), inside = b_.new_block(), lost = b_.new_block(),
                  latch = b_.new_block(), out = b_.new_block();
    b_.set(done, b_.i1(false));
    b_.br(attempt);
    b_.at(attempt);
    const Value before = atomic(at(b_.i32(abi::h_lock)), AtomicOp::exch, b_.i32(1), 0);
    b_.cond_br(b_.cmp(Op::eq, before, b_.i32(0)), inside, lost);
    b_.at(inside);
    b_.inst(Op::memory_barrier, Type::none, {}, 1);
    critical();
    b_.inst(Op::memory_barrier, Type::none, {}, 1);
    write(at(b_.i32(abi::h_lock)), b_.i32(0));
    b_.set(done, b_.i1(true));
    b_.br(latch);
    // Where a driver ends loops after 65,535 iterations, that is enough only if an iteration takes
    // its time: the thread that has the lock may not be scheduled for a while.
    b_.at(lost);
    for (unsigned i = 0; i < kPause; ++i) read(at(b_.i32(abi::h_lock)));
    b_.br(latch);
    b_.at(latch);
    b_.cond_br(b_.get(done), out, attempt);
    b_.at(out);
  }

  void push(Value unit, Value order) {
    const Value first = read(list(order));
    write(next_of(unit), first);
    write(previous_of(unit), b_.i32(0));
    write(state(unit), one_more(order));
    when(b_.cmp(Op::ne, first, b_.i32(0)),
         [&] { write(previous_of(one_less(first)), one_more(unit)); });
    write(list(order), one_more(unit));
  }
  void unlink(Value unit, Value order) {
    const Value next = read(next_of(unit)), previous = read(previous_of(unit));
    const BlockId middle = b_.new_block(), first = b_.new_block(), linked = b_.new_block();
    b_.cond_br(b_.cmp(Op::ne, previous, b_.i32(0)), middle, first);
    b_.at(middle);
    write(next_of(one_less(previous)), next);
    b_.br(linked);
    b_.at(first);
    write(list(order), next);
    b_.br(linked);
    b_.at(linked);
    when(b_.cmp(Op::ne, next, b_.i32(0)), [&] { write(previous_of(one_less(next)), previous); });
    write(state(unit), b_.i32(0));
  }

  /// The smallest free block that is large enough, split until it is as small as it can be.
  void take(std::uint32_t wanted) {
    const std::uint32_t order = var(Type::i32), unit = var(Type::i32), found = var(Type::i32);
    b_.set(order, b_.get(wanted));
    b_.set(found, b_.i32(0));
    loop_while(
        [&] {
          const Value more = b_.cmp(Op::ult, b_.get(order), b_.i32(abi::kHeapOrders));
          return b_.op2(Op::and_, more, b_.cmp(Op::eq, b_.get(found), b_.i32(0)));
        },
        [&] {
          b_.set(found, read(list(b_.get(order))));
          b_.set(order, one_more(b_.get(order)));
        });
    when(b_.cmp(Op::ne, b_.get(found), b_.i32(0)), [&] {
      b_.set(order, one_less(b_.get(order)));
      b_.set(unit, one_less(b_.get(found)));
      unlink(b_.get(unit), b_.get(order));
      loop_while([&] { return b_.cmp(Op::ult, b_.get(wanted), b_.get(order)); },
                 [&] {
                   b_.set(order, one_less(b_.get(order)));
                   push(b_.op2(Op::add, b_.get(unit), size_of(b_.get(order))), b_.get(order));
                 });
      const Value used = b_.op2(Op::or_, one_more(b_.get(order)), b_.i32(abi::kHeapUsed));
      write(state(b_.get(unit)), used);
      atomic(at(b_.i32(abi::h_live)), AtomicOp::add, b_.i32(1));
      b_.set(result_, address_of(b_.get(unit)));
    });
  }

  /// Joined with its buddy as long as that is free and whole.
  void give_back(std::uint32_t unit, std::uint32_t good) {
    const std::uint32_t order = var(Type::i32), more = var(Type::i1);
    const Value now = read(state(b_.get(unit)));
    b_.set(good, b_.cmp(Op::ne, b_.op2(Op::and_, now, b_.i32(abi::kHeapUsed)), b_.i32(0)));
    when(b_.get(good), [&] {
      b_.set(order, one_less(b_.op2(Op::and_, now, b_.i32(~abi::kHeapUsed))));
      write(state(b_.get(unit)), b_.i32(0));
      atomic(at(b_.i32(abi::h_live)), AtomicOp::add, b_.i32(~0u));
      b_.set(more, b_.i1(true));
      loop_while(
          [&] { return b_.get(more); },
          [&] {
            const Value size = size_of(b_.get(order));
            const Value buddy = b_.op2(Op::xor_, b_.get(unit), size);
            b_.set(more, b_.i1(false));
            const Value fits = b_.cmp(Op::ule, b_.op2(Op::add, buddy, size), word(abi::h_units));
            when(fits, [&] {
              const Value is_free = b_.cmp(Op::eq, read(state(buddy)), one_more(b_.get(order)));
              when(is_free, [&] {
                unlink(buddy, b_.get(order));
                b_.set(unit, b_.op2(Op::umin, b_.get(unit), buddy));
                b_.set(order, one_more(b_.get(order)));
                b_.set(more, b_.i1(true));
              });
            });
          });
      push(b_.get(unit), b_.get(order));
    });
  }

  ir::Function& f_;
  ir::Builder b_;
  Value base_ = 0;
  std::uint32_t result_ = 0;
};

}  // namespace

void lower_heap_function(HeapCall which, ir::Function& function) {
  DeviceHeap heap(function);
  function.name = which == HeapCall::malloc ? "malloc" : "free";
  which == HeapCall::malloc ? heap.allocate() : heap.release();
}

void FunctionLowering::call_heap(const Instruction& inst, HeapCall which) {
  context_.out.info.uses_heap = true;
  const auto a = args(inst);
  const bool allocates = which == HeapCall::malloc;
  const std::vector<Value> words = argument_words(a[ptx::kCallArguments]);
  Value argument = 0;
  if (words.size() == 2)
    argument = b_.inst(Op::pack, Type::i64, {words[0], words[1]});
  else if (words.size() == 1 && out_.insts[words[0]].type == Type::i64)
    argument = words[0];
  else
    return refuse(inst, allocates ? "malloc with other parameters than a size of 64 bits"
                                  : "free with other parameters than an address of 64 bits");
  const std::uint32_t result = new_var(allocates ? Type::i64 : Type::i1, "heap");
  out_.calls.push_back({context_.heap_function[static_cast<unsigned>(which)], {result}});
  b_.inst(Op::call, Type::none, {argument}, out_.calls.size() - 1);
  if (allocates) {
    if (a[ptx::kCallReturns].kind == OperandKind::none) return;
    const auto to = result_words(a[ptx::kCallReturns]);
    if (to.size() == 1 && out_.vars[to[0]].type == Type::i64) return b_.set(to[0], b_.get(result));
    if (to.size() != 2) return refuse(inst, "malloc with another result than 64 bits");
    b_.set(to[0], b_.inst(Op::trunc, Type::i32, {b_.get(result)}));
    b_.set(to[1], b_.inst(Op::high, Type::i32, {b_.get(result)}));
    return;
  }
  const BlockId bad = b_.new_block(), fine = b_.new_block();
  b_.cond_br(b_.get(result), fine, bad);
  b_.at(bad);
  lower_trap(abi::TrapKind::trap_instruction,
             "free of an address that malloc did not give, or that was freed before", {});
  b_.at(fine);
  ended_ = false;
}

}  // namespace ptx2spv::lower
