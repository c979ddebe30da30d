#include "tests/runtime/warp_programs.hpp"

#include <fmt/format.h>

#include <bit>

namespace ptx2spv::test {

namespace {

using Kind = WarpStatement::Kind;
using Thread = WarpProgram::Thread;

constexpr unsigned kRegisters = WarpProgram::kRegisters;

/// Conditions of branches and of threads that leave, by mode.
enum Condition : unsigned { by_value, by_lane, by_warp, kConditions };

class Generator {
 public:
  explicit Generator(std::mt19937& random) : random_(random) {}

  WarpProgram make() {
    static constexpr std::array<std::uint32_t, 2> kBlocks[] = {{32, 1}, {64, 1}, {96, 1}, {45, 1},
                                                               {32, 3}, {64, 2}, {16, 4}, {10, 5}};
    WarpProgram program;
    program.block = kBlocks[pick(std::size(kBlocks))];
    program.body = statements(0, 7);
    return program;
  }

 private:
  unsigned pick(std::size_t n) { return static_cast<unsigned>(random_() % n); }

  std::vector<WarpStatement> statements(unsigned depth, unsigned most) {
    std::vector<WarpStatement> all;
    for (unsigned i = 2 + pick(most - 1); i > 0; --i) all.push_back(statement(depth));
    return all;
  }

  WarpStatement statement(unsigned depth) {
    static constexpr unsigned kModes[] = {4, 4, 4, 2, 8, 1, 1, 1, kConditions, 1, kConditions};
    static constexpr std::uint32_t kClamps[] = {0x1f, 0, 0x1c1f, 0x181f, 0x1000, 0x1e07};
    WarpStatement s;
    unsigned kind = pick(14);
    if (kind > 10) kind = kind == 11 ? 1 : 0;
    s.kind = static_cast<Kind>(kind);
    const bool deep = depth >= 3, inner = depth > 0;
    if (deep && (s.kind == Kind::branch || s.kind == Kind::loop)) s.kind = Kind::shuffle;
    if (inner && (s.kind == Kind::barrier || s.kind == Kind::leave)) s.kind = Kind::vote;
    s.mode = pick(kModes[static_cast<unsigned>(s.kind)]);
    s.to = pick(kRegisters), s.also = (s.to + 1 + pick(kRegisters - 1)) % kRegisters;
    s.a = pick(kRegisters), s.b = pick(kRegisters);
    s.number = pick(s.kind == Kind::loop ? 4 : 34);
    s.clamp = kClamps[pick(std::size(kClamps))];
    s.wide = pick(3) == 0, s.uniform = pick(2);
    s.part = pick(2) ? 0 : pick(3);
    if (s.kind == Kind::branch || s.kind == Kind::loop) s.inside = statements(depth + 1, 4);
    if (s.kind == Kind::branch && pick(2)) s.otherwise = statements(depth + 1, 3);
    return s;
  }

  std::mt19937& random_;
};

// %m names the members: the threads of the warp that come here.
class Text {
 public:
  std::string of(const WarpProgram& program) {
    body(program.body);
    std::string text = R"(.version 8.3
.target sm_90
.address_size 64
.shared .align 4 .b32 cells[1024];
.visible .entry warps(.param .u64 in, .param .u64 out) {
  .reg .b64 %in, %out, %d, %w; .reg .b32 %r<4>, %t, %lane, %warp, %cell, %x, %y, %m, %g;
  .reg .pred %p, %q;
)";
    for (unsigned i = 0; i < saved_; ++i) text += fmt::format("  .reg .b32 %s{};\n", i);
    text += R"(  mov.u32 %t, %tid.y; mov.u32 %x, %ntid.x; mov.u32 %y, %tid.x;
  mad.lo.u32 %t, %t, %x, %y;
  and.b32 %lane, %t, 31; shr.u32 %warp, %t, 5; mov.u32 %cell, cells; mad.lo.u32 %cell, %t, 4, %cell;
  mov.u32 %y, %ntid.y; mul.lo.u32 %x, %x, %y; mov.u32 %y, %ctaid.x; mad.lo.u32 %x, %x, %y, %t;
  mul.wide.u32 %d, %x, 16; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  add.u64 %in, %in, %d; add.u64 %out, %out, %d;
  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in];
  mov.b32 %m, -1;
)";
    return text + text_ + "  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n  ret;\n}\n";
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  " + fmt::format(format, std::forward<Args>(args)...) + ";\n";
  }
  void label(unsigned number) { text_ += fmt::format("L{}:\n", number); }
  void body(const std::vector<WarpStatement>& all) {
    for (const WarpStatement& each : all) statement(each);
  }

  void condition(const WarpStatement& s) {
    switch (s.mode) {
      case by_value:
        line("and.b32 %x, %r{}, 31", s.a);
        line("setp.lt.u32 %p, %x, {}", s.number);
        break;
      case by_lane: line("setp.lt.u32 %p, %lane, {}", s.number); break;
      default: line("setp.eq.u32 %p, %warp, {}", s.number % 3);
    }
  }
  /// %g: the members that an operation names.
  void members(const WarpStatement& s) {
    line("mov.b32 %g, %m");
    if (s.part == 1) {
      line("and.b32 %x, %lane, 1");
      line("shl.b32 %x, 0x55555555, %x");
      line("and.b32 %g, %g, %x");
    } else if (s.part == 2) {
      line("and.b32 %x, %lane, 24");
      line("shl.b32 %x, 255, %x");
      line("and.b32 %g, %g, %x");
    }
  }
  void truth(const char* predicate, unsigned to) { line("selp.u32 %r{}, 1, 0, {}", to, predicate); }

  void operation(const WarpStatement& s) {
    static constexpr const char* kShuffles[] = {"up", "down", "bfly", "idx"};
    static constexpr const char* kVotes[] = {"all.pred", "any.pred", "uni.pred", "ballot.b32"};
    static constexpr const char* kReductions[] = {"add.u32", "and.b32", "or.b32",  "xor.b32",
                                                  "min.u32", "max.u32", "min.s32", "max.s32"};
    members(s);
    switch (s.kind) {
      case Kind::shuffle: {
        const std::string lane = s.wide ? fmt::format("%r{}", s.b) : std::to_string(s.number);
        line("shfl.sync.{}.b32 %y|%p, %r{}, {}, {}, %g", kShuffles[s.mode], s.a, lane, s.clamp);
        line("mov.b32 %r{}, %y", s.to);
        return truth("%p", s.also);
      }
      case Kind::vote:
        line("and.b32 %x, %r{}, 1", s.a);
        line("setp.ne.u32 %q, %x, 0");
        if (s.mode == 3) return line("vote.sync.ballot.b32 %r{}, %q, %g", s.to);
        line("vote.sync.{} %p, %q, %g", kVotes[s.mode]);
        return truth("%p", s.to);
      case Kind::match: {
        line("and.b32 %x, %r{}, 3", s.a);
        if (s.wide) line("mov.b64 %w, {{7, %x}}");
        const char* type = s.wide ? "b64" : "b32";
        const char* operand = s.wide ? "%w" : "%x";
        if (s.mode == 0) return line("match.any.sync.{} %r{}, {}, %g", type, s.to, operand);
        line("match.all.sync.{} %y|%p, {}, %g", type, operand);
        line("mov.b32 %r{}, %y", s.to);
        return truth("%p", s.also);
      }
      case Kind::reduce:
        return line("redux.sync.{} %r{}, %r{}, %g", kReductions[s.mode], s.to, s.a);
      case Kind::elect:
        line("elect.sync %y|%p, %g");
        line("mov.b32 %r{}, %y", s.to);
        return truth("%p", s.also);
      default:
        // From the member whose lane is the next one with bit 2 turned, else the thread's own.
        line("setp.eq.u32 %q, %g, %g");
        line("vote.sync.ballot.b32 %g, %q, %g");  // without those that have ended
        line("st.shared.u32 [%cell], %r{}", s.a);
        line("bar.warp.sync %g");
        line("xor.b32 %x, %lane, 4");
        line("shr.u32 %y, %g, %x");
        line("and.b32 %y, %y, 1");
        line("setp.ne.u32 %p, %y, 0");
        line("xor.b32 %x, %cell, 16");
        line("selp.b32 %x, %x, %cell, %p");
        line("ld.shared.u32 %y, [%x]");
        line("bar.warp.sync %g");
        return line("mov.b32 %r{}, %y", s.to);
    }
  }

  void statement(const WarpStatement& s) {
    static constexpr const char* kArithmetic[] = {"add.u32", "xor.b32", "mul.lo.u32", "min.s32"};
    switch (s.kind) {
      case Kind::arithmetic:
        return line("{} %r{}, %r{}, %r{}", kArithmetic[s.mode], s.to, s.a, s.b);
      case Kind::barrier: return line("bar.sync 0");
      case Kind::branch: return branch(s);
      case Kind::loop: return loop(s);
      case Kind::leave: {
        const unsigned stay = labels_++;
        condition(s);
        line("@!%p bra L{}", stay);
        line("st.global.v4.u32 [%out], {{%r0, %r1, %r2, %r3}}");
        line("ret");
        return label(stay);
      }
      default: return operation(s);
    }
  }

  void branch(const WarpStatement& s) {
    const unsigned no = labels_, end = labels_ + 1, around = saved_, holds = saved_ + 1;
    labels_ += 2, saved_ += 2;
    condition(s);
    line("mov.b32 %s{}, %m", around);
    line("vote.sync.ballot.b32 %s{}, %p, %m", holds);
    line("@!%p bra L{}", no);
    line("mov.b32 %m, %s{}", holds);
    body(s.inside);
    line("bra L{}", end);
    label(no);
    line("not.b32 %x, %s{}", holds);
    line("and.b32 %m, %s{}, %x", around);
    body(s.otherwise);
    label(end);
    line("mov.b32 %m, %s{}", around);
    line("bar.warp.sync %m");
  }

  void loop(const WarpStatement& s) {
    const unsigned head = labels_, end = labels_ + 1;
    const unsigned around = saved_, counter = saved_ + 1, count = saved_ + 2;
    labels_ += 2, saved_ += 3;
    line("mov.b32 %s{}, %m", around);
    line("mov.b32 %s{}, 0", counter);
    if (s.uniform)
      line("mov.b32 %s{}, {}", count, s.number);
    else
      line("and.b32 %s{}, %r{}, 3", count, s.a);
    label(head);
    line("setp.lt.u32 %p, %s{}, %s{}", counter, count);
    if (!s.uniform) line("vote.sync.ballot.b32 %m, %p, %m");
    line("@!%p bra L{}", end);
    body(s.inside);
    line("add.u32 %s{}, %s{}, 1", counter, counter);
    line("bra L{}", head);
    label(end);
    line("mov.b32 %m, %s{}", around);
    line("bar.warp.sync %m");
  }

  std::string text_;
  unsigned labels_ = 0, saved_ = 0;
};

/// The threads of one warp, side by side.
class Model {
 public:
  Model(std::vector<Thread>& all, std::uint32_t first)
      : all_(all),
        first_(first),
        alive_(all.size() - first >= 32 ? ~0u : (1u << (all.size() - first)) - 1) {}

  void body(const std::vector<WarpStatement>& all, std::uint32_t members) {
    for (const WarpStatement& each : all) statement(each, members & alive_);
  }
  std::uint32_t alive() const { return alive_; }

 private:
  Thread& at(unsigned lane) { return all_[first_ + lane]; }

  template <typename Body>
  void each(std::uint32_t members, Body&& body) {
    for (unsigned lane = 0; lane < 32; ++lane)
      if (members >> lane & 1) body(lane);
  }

  std::uint32_t where(const WarpStatement& s, std::uint32_t members) {
    std::uint32_t holds = 0;
    each(members, [&](unsigned lane) {
      const bool truth = s.mode == by_value  ? (at(lane)[s.a] & 31) < s.number
                         : s.mode == by_lane ? lane < s.number
                                             : first_ / 32 == s.number % 3;
      holds |= static_cast<std::uint32_t>(truth) << lane;
    });
    return holds;
  }

  void statement(const WarpStatement& s, std::uint32_t members) {
    switch (s.kind) {
      case Kind::barrier: return;
      case Kind::leave: alive_ &= ~where(s, members); return;
      case Kind::branch: {
        const std::uint32_t holds = where(s, members);
        body(s.inside, holds);
        return body(s.otherwise, members & ~holds);
      }
      case Kind::loop: {
        std::array<std::uint32_t, 32> counts{};
        each(members,
             [&](unsigned lane) { counts[lane] = s.uniform ? s.number : at(lane)[s.a] & 3; });
        for (std::uint32_t i = 0; members; ++i) {
          each(members, [&](unsigned lane) {
            if (i >= counts[lane]) members &= ~(1u << lane);
          });
          body(s.inside, members);
        }
        return;
      }
      default: return operation(s, members);
    }
  }

  void operation(const WarpStatement& s, std::uint32_t members) {
    std::array<Thread, 32> before{};
    each(members, [&](unsigned lane) { before[lane] = at(lane); });
    each(members, [&](unsigned lane) {
      std::uint32_t group = members;
      if (s.part == 1) group &= 0x55555555u << (lane & 1);
      if (s.part == 2) group &= 0xffu << (lane & 24);
      const auto [value, flag] = result(s, lane, group, before);
      at(lane)[s.to] = value;
      const bool pair = s.kind == Kind::shuffle || s.kind == Kind::elect ||
                        (s.kind == Kind::match && s.mode == 1);
      if (pair) at(lane)[s.also] = flag;
    });
  }

  using Result = std::pair<std::uint32_t, std::uint32_t>;
  static Result result(const WarpStatement& s, unsigned lane, std::uint32_t group,
                       const std::array<Thread, 32>& in) {
    const Thread& mine = in[lane];
    switch (s.kind) {
      case Kind::arithmetic: {
        const std::uint32_t a = mine[s.a], b = mine[s.b];
        const bool less = static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
        return {s.mode == 0 ? a + b : s.mode == 1 ? a ^ b : s.mode == 2 ? a * b : less ? a : b, 0};
      }
      case Kind::shuffle: return shuffle(s, lane, group, in);
      case Kind::vote: {
        std::uint32_t votes = 0;
        for (unsigned l = 0; l < 32; ++l) votes |= (in[l][s.a] & 1) << l;
        votes &= group;
        const bool all = votes == group, any = votes != 0;
        return {s.mode == 0 ? all : s.mode == 1 ? any : s.mode == 2 ? all || !any : votes, 0};
      }
      case Kind::match: {
        std::uint32_t same = 0;
        for (unsigned l = 0; l < 32; ++l)
          same |= static_cast<std::uint32_t>((in[l][s.a] & 3) == (mine[s.a] & 3)) << l;
        same &= group;
        if (s.mode == 0) return {same, 0};
        return {same == group ? group : 0, same == group};
      }
      case Kind::reduce: return {reduce(s, group, in), 0};
      case Kind::elect: {
        const auto leader = static_cast<unsigned>(std::countr_zero(group));
        return {leader, leader == lane};
      }
      default: return {group >> (lane ^ 4) & 1 ? in[lane ^ 4][s.a] : mine[s.a], 0};
    }
  }

  static Result shuffle(const WarpStatement& s, unsigned lane, std::uint32_t group,
                        const std::array<Thread, 32>& in) {
    const int b = static_cast<int>((s.wide ? in[lane][s.b] : s.number) & 31);
    const int clamp = s.clamp & 31, segment = s.clamp >> 8 & 31, self = static_cast<int>(lane);
    const int low = self & segment, high = low | (clamp & ~segment);
    int from = 0;
    bool inside = false;
    switch (s.mode) {
      case 0: from = self - b, inside = from >= high; break;
      case 1: from = self + b, inside = from <= high; break;
      case 2: from = self ^ b, inside = from <= high; break;
      default: from = low | (b & ~segment), inside = from <= high;
    }
    if (!inside) from = self;
    // An H200 gives 0 for a lane that is not there; the manual leaves it open.
    if (!(group >> from & 1)) return {0, inside};
    return {in[static_cast<unsigned>(from)][s.a], inside};
  }

  static std::uint32_t reduce(const WarpStatement& s, std::uint32_t group,
                              const std::array<Thread, 32>& in) {
    std::uint32_t sum = in[static_cast<unsigned>(std::countr_zero(group))][s.a];
    for (unsigned l = static_cast<unsigned>(std::countr_zero(group)) + 1; l < 32; ++l) {
      if (!(group >> l & 1)) continue;
      const std::uint32_t x = in[l][s.a];
      const bool less =
          s.mode < 6 ? x < sum : static_cast<std::int32_t>(x) < static_cast<std::int32_t>(sum);
      switch (s.mode) {
        case 0: sum += x; break;
        case 1: sum &= x; break;
        case 2: sum |= x; break;
        case 3: sum ^= x; break;
        case 4:
        case 6: sum = less ? x : sum; break;
        default: sum = less ? sum : x;
      }
    }
    return sum;
  }

  std::vector<Thread>& all_;
  const std::uint32_t first_;
  std::uint32_t alive_;
};

}  // namespace

std::string WarpProgram::text() const { return Text().of(*this); }

std::vector<Thread> WarpProgram::run(const std::vector<Thread>& in) const {
  std::vector<Thread> threads = in;
  for (std::uint32_t first = 0; first < threads.size(); first += 32) {
    Model model(threads, first);
    model.body(body, model.alive());
  }
  return threads;
}

WarpProgram make_warp_program(std::mt19937& random) { return Generator(random).make(); }

}  // namespace ptx2spv::test
