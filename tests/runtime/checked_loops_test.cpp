// Loops of float arithmetic, whose exact form CPU drivers are spared unless a thread needs it:
// random loops over operands that are denormal, tiny, huge, infinite and no numbers, in some
// threads of a group and not in others, against the host's own arithmetic.
// PTX2SPV_SEED repeats a run, PTX2SPV_PROGRAMS sets the number.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "tests/runtime/fixture.hpp"
#include "tests/support/environment.hpp"

namespace ptx2spv {
namespace {

using test::environment_number;

constexpr unsigned kRegisters = 4, kTable = 8, kThreads = 256, kMostIterations = 9;

enum class Do : std::uint8_t {
  add,
  sub,
  mul,
  fma,
  div,
  sqrt,
  neg,
  abs,
  pick,
  load,
  bits,
  leave,
  inner
};

struct Step {
  Do what{};
  unsigned to = 0, a = 0, b = 0, c = 0;
  std::uint32_t number = 0;
  std::vector<Step> inside;
};

/// One of the loops that stand one behind the other.
struct Part {
  std::vector<Step> steps;
  bool tests_first = false;
};

struct Thread {
  std::array<std::uint32_t, kTable> table{};  ///< the first ones are the registers
  std::uint32_t iterations = 0;
};
struct Result {
  std::array<std::uint32_t, kRegisters> registers{};
  std::uint32_t iterations = 0;
  bool operator==(const Result&) const = default;
};

class Loop {
 public:
  explicit Loop(std::mt19937& random) : random_(random) {
    parts_.resize(1 + pick(3));
    for (Part& part : parts_) {
      part.tests_first = pick(2);
      part.steps = steps(3 + pick(6), true);
    }
  }

  std::string text() {
    code_ = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry loops(.param .u64 in, .param .u64 out) {
  .reg .f32 %f<4>; .reg .b32 %t, %n, %i, %k, %x; .reg .b64 %in, %out, %d, %e; .reg .pred %p, %q;
  mov.u32 %t, %tid.x; mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %t, %i, %n, %t;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mul.wide.u32 %d, %t, 36; add.u64 %in, %in, %d; mul.wide.u32 %d, %t, 20; add.u64 %out, %out, %d;
  ld.global.f32 %f0, [%in]; ld.global.f32 %f1, [%in+4]; ld.global.f32 %f2, [%in+8];
  ld.global.f32 %f3, [%in+12]; ld.global.u32 %n, [%in+32];
)";
    for (const Part& part : parts_) {
      const std::string left = fmt::format("left{}", labels_),
                        again = fmt::format("again{}", labels_);
      ++labels_;
      code_ += "  mov.u32 %i, 0;\n" + again + ":\n";
      if (part.tests_first) line("setp.ge.u32 %p, %i, %n; @%p bra {}", left);
      write(part.steps, left);
      line("add.u32 %i, %i, 1");
      if (part.tests_first)
        line("bra {}", again);
      else
        line("setp.lt.u32 %p, %i, %n; @%p bra {}", again);
      code_ += left + ":\n";
    }
    return code_ +
           R"(  st.global.f32 [%out], %f0; st.global.f32 [%out+4], %f1; st.global.f32 [%out+8], %f2;
  st.global.f32 [%out+12], %f3; st.global.u32 [%out+16], %i;
  ret;
}
)";
  }

  Result run(const Thread& thread) const {
    Result r;
    std::copy_n(thread.table.begin(), kRegisters, r.registers.begin());
    for (const Part& part : parts_) {
      r.iterations = 0;
      while (!part.tests_first || r.iterations < thread.iterations) {
        if (!execute(part.steps, thread, r)) break;
        ++r.iterations;
        if (!part.tests_first && r.iterations >= thread.iterations) break;
      }
    }
    return r;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

  std::vector<Step> steps(unsigned count, bool outer) {
    std::vector<Step> all;
    for (; count > 0; --count) {
      // Sums and products are what loops are made of.
      static constexpr Do kMost[] = {Do::add, Do::mul, Do::sub, Do::fma};
      Step step;
      step.what = pick(3) ? kMost[pick(outer ? 4 : 3)] : static_cast<Do>(pick(13));
      if (!outer && (step.what == Do::inner || step.what == Do::leave)) step.what = Do::mul;
      step.to = pick(kRegisters), step.a = pick(kRegisters), step.b = pick(kRegisters);
      step.c = pick(kRegisters);
      step.number = step.what == Do::inner ? 1 + pick(3) : pick(kTable);
      if (step.what == Do::bits) step.number = 1u << pick(32);
      if (step.what == Do::inner) step.inside = steps(1 + pick(3), false);
      all.push_back(std::move(step));
    }
    return all;
  }

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    code_ += "  " + fmt::format(format, std::forward<Args>(args)...) + ";\n";
  }
  void on_bits(const std::string& change, const Step& s) {
    line("mov.b32 %x, %f{}", s.a);
    line("{}", change);
    line("mov.b32 %f{}, %x", s.to);
  }
  void write(const std::vector<Step>& all, const std::string& left) {
    for (const Step& s : all) switch (s.what) {
        case Do::add: line("add.rn.f32 %f{}, %f{}, %f{}", s.to, s.a, s.b); break;
        case Do::sub: line("sub.rn.f32 %f{}, %f{}, %f{}", s.to, s.a, s.b); break;
        case Do::mul: line("mul.rn.f32 %f{}, %f{}, %f{}", s.to, s.a, s.b); break;
        case Do::fma: line("fma.rn.f32 %f{}, %f{}, %f{}, %f{}", s.to, s.a, s.b, s.c); break;
        case Do::div: line("div.rn.f32 %f{}, %f{}, %f{}", s.to, s.a, s.b); break;
        case Do::sqrt: line("sqrt.rn.f32 %f{}, %f{}", s.to, s.a); break;
        case Do::neg: on_bits("xor.b32 %x, %x, 0x80000000", s); break;
        case Do::abs: on_bits("and.b32 %x, %x, 0x7fffffff", s); break;
        case Do::pick:
          line("setp.lt.f32 %q, %f{}, %f{}", s.a, s.b);
          line("selp.f32 %f{}, %f{}, %f{}, %q", s.to, s.c, s.to);
          break;
        case Do::load: line("ld.global.f32 %f{}, [%in+{}]", s.to, 4 * s.number); break;
        case Do::bits: on_bits(fmt::format("xor.b32 %x, %x, {}", s.number), s); break;
        case Do::leave:
          line("setp.gt.f32 %q, %f{}, %f{}", s.a, s.b);
          line("@%q bra {}", left);
          break;
        case Do::inner: {
          const unsigned label = labels_++;
          line("mov.u32 %k, 0");
          code_ += fmt::format("inner{}:\n", label);
          write(s.inside, left);
          line("add.u32 %k, %k, 1");
          line("setp.lt.u32 %q, %k, {}", s.number);
          line("@%q bra inner{}", label);
        }
      }
  }

  static float number(std::uint32_t bits) { return std::bit_cast<float>(bits); }
  /// What arithmetic gives: one NaN.
  static std::uint32_t bits(float value) {
    return std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value);
  }
  /// False where the thread leaves the loop.
  static bool execute(const std::vector<Step>& all, const Thread& thread, Result& r) {
    for (const Step& s : all) {
      const std::uint32_t raw = r.registers[s.a];
      const float a = number(raw), b = number(r.registers[s.b]), c = number(r.registers[s.c]);
      std::uint32_t& to = r.registers[s.to];
      switch (s.what) {
        case Do::add: to = bits(a + b); break;
        case Do::sub: to = bits(a - b); break;
        case Do::mul: to = bits(a * b); break;
        case Do::fma: to = bits(std::fma(a, b, c)); break;
        case Do::div: to = bits(a / b); break;
        case Do::sqrt: to = bits(std::sqrt(a)); break;
        case Do::neg: to = raw ^ 0x80000000u; break;
        case Do::abs: to = raw & 0x7fffffffu; break;
        case Do::pick: to = a < b ? r.registers[s.c] : to; break;
        case Do::load: to = thread.table[s.number]; break;
        case Do::bits: to = raw ^ s.number; break;
        case Do::leave:
          if (a > b) return false;
          break;
        case Do::inner:
          for (unsigned i = 0; i < s.number; ++i) execute(s.inside, thread, r);
      }
    }
    return true;
  }

  std::mt19937& random_;
  std::vector<Part> parts_;
  std::string code_;
  unsigned labels_ = 0;
};

/// Most threads have ordinary numbers, others one of the rest.
Thread inputs(std::mt19937& random) {
  static constexpr std::uint32_t kSpecial[] = {
      0,          0x80000000u, 1,          0x80000001u, 0x007fffffu, 0x00400000u,
      0x00800000, 0x80800001u, 0x0d000000, 0x20000000u, 0x7f7fffffu, 0x7f800000u,
      0xff800000, 0x7fc00000u, 0xffc12345, 0x7f812345u, 0x3f800000,  0x5f000000u};
  Thread thread;
  thread.iterations = static_cast<std::uint32_t>(random() % kMostIterations);
  const unsigned kind = random() % 8;
  for (std::uint32_t& word : thread.table) {
    const std::uint32_t mantissa = random() & 0x807fffffu;
    word = mantissa | (120u + random() % 14) << 23;
    if (kind == 6) word = mantissa | (random() % 255) << 23;
    if (kind == 7 && random() % 3 == 0) word = kSpecial[random() % std::size(kSpecial)];
    if (kind < 6 && random() % 16 == 0) word = 0;
  }
  return thread;
}

TEST(CheckedLoops, GiveWhatExactArithmeticGives) {
  const std::uint32_t seed = environment_number("PTX2SPV_SEED", 40);
  const std::uint32_t programs = environment_number("PTX2SPV_PROGRAMS", 10);
  for (std::uint32_t i = 0; i < programs; ++i) {
    SCOPED_TRACE("PTX2SPV_PROGRAMS=1 PTX2SPV_SEED=" + std::to_string(seed + i));
    std::mt19937 random(seed + i);
    Loop loop(random);
    const std::string text = loop.text();
    std::vector<Thread> in(kThreads);
    for (Thread& thread : in) thread = inputs(random);
    Module module = must(Module::load(test_device(), text, "loops.ptx"));
    Buffer from = must(Buffer::create(test_device(), in.size() * sizeof(Thread)));
    Buffer to = must(Buffer::create(test_device(), in.size() * sizeof(Result)));
    must(from.upload(0, std::as_bytes(std::span(in))));
    LaunchConfig config;
    config.grid = {kThreads / 64, 1, 1};
    config.block = {64, 1, 1};
    Args args;
    args.buffer(from).buffer(to);
    const Kernel kernel = must(module.kernel("loops"));
    must(kernel.launch(config, args));
    const auto got = read_buffer<Result>(to, in.size());
    for (std::size_t t = 0; t < got.size(); ++t) {
      const Result expected = loop.run(in[t]);
      ASSERT_EQ(got[t].iterations, expected.iterations) << "thread " << t << "\n" << text;
      for (unsigned r = 0; r < kRegisters; ++r)
        ASSERT_EQ(got[t].registers[r], expected.registers[r])
            << fmt::format("register {} of thread {}: {:#x}, not {:#x}\n", r, t,
                           got[t].registers[r], expected.registers[r])
            << text;
    }
  }
}

}  // namespace
}  // namespace ptx2spv
