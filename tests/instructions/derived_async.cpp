// Asynchronous copies and mbarrier objects, against the manual's words: an object is four numbers,
// a copy so many bytes and then zeros.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "tests/instructions/derived.hpp"

namespace ptx2spv::tests {
namespace {

constexpr unsigned kBlock = 64;  // threads of a block of these kernels

/// 9.7.13.15.1: what an mbarrier object holds, and when its phase ends.
struct Object {
  std::int64_t expected, pending, bytes = 0;
  std::uint32_t phase = 0;
  explicit Object(std::int64_t count) : expected(count), pending(count) {}
  void look() {
    if (pending != 0 || bytes != 0) return;
    pending = expected;
    ++phase;
  }
  /// The pending count from before.
  std::uint32_t arrive(std::int64_t count) {
    const auto before = static_cast<std::uint32_t>(pending);
    pending -= count;
    look();
    return before;
  }
  std::uint32_t drop(std::int64_t count) {
    expected -= count;
    return arrive(count);
  }
  void complete(std::int64_t count) {
    bytes -= count;
    look();
  }
  bool ended(std::uint32_t parity) const { return phase % 2 != parity; }
};

/// One object for each thread, so that nobody waits: every operation, with counts out of memory.
/// `space` and `at` say how the object is addressed.
Derived counts(const std::string& name, const std::string& space, const std::string& sem,
               const std::string& wait_sem, bool generic) {
  Derived row;
  row.name = "mbarrier_counts_" + name;
  row.kernel.version = "8.6";
  row.kernel.target = "sm_90";
  row.kernel.threads = 4 * kBlock;
  row.kernel.operands = 4;
  row.kernel.results = 20;
  row.kernel.before = ".shared .align 8 .b64 bars[64];";
  const std::string at = generic ? "[%d7]" : "[%t7]";
  std::string text = "mov.u32 %t7, bars;\nmad.lo.u32 %t7, %t1, 8, %t7;\n";
  if (generic) text += "cvt.u64.u32 %d7, %t7;\ncvta.shared.u64 %d7, %d7;\n";
  text += "ld.global.v4.u32 {%t2, %t3, %t4, %t5}, [%in];\n";
  unsigned next = 0;
  const auto line = [&](const std::string& instruction) {
    text += fmt::format(fmt::runtime(instruction), fmt::arg("s", space), fmt::arg("a", at),
                        fmt::arg("r", sem), fmt::arg("q", wait_sem)) +
            "\n";
  };
  const auto keep = [&](const std::string& reg) {
    text += fmt::format("st.global.u32 [%out+{}], {};\n", 4 * next++, reg);
  };
  const auto count = [&](const std::string& state) {
    text += "mbarrier.pending_count.b64 %t6, " + state + ";\n";
    keep("%t6");
  };
  const auto test = [&](const std::string& instruction) {
    line(instruction);
    text += "selp.u32 %t6, 1, 0, %p0;\n";
    keep("%t6");
  };
  // %t2 arrivals, of which %t3 arrive, %t4 leave, and the rest comes with %t5 bytes missing.
  line("mbarrier.init{s}.b64 {a}, %t2;");
  line("mbarrier.arrive.noComplete{s}.b64 %d0, {a}, %t3;");
  count("%d0");
  test("mbarrier.test_wait.parity{q}{s}.b64 %p0, {a}, 0;");
  test("mbarrier.test_wait.parity{q}{s}.b64 %p0, {a}, 1;");
  line("mbarrier.arrive_drop.noComplete{s}.b64 %d0, {a}, %t4;");
  count("%d0");
  line("mbarrier.expect_tx{s}.b64 {a}, %t5;");
  text += "sub.u32 %t6, %t2, %t3;\nsub.u32 %t6, %t6, %t4;\n";
  line("mbarrier.arrive{r}{s}.b64 %d1, {a}, %t6;");
  test("mbarrier.test_wait{q}{s}.b64 %p0, {a}, %d1;");
  line("mbarrier.complete_tx{s}.b64 {a}, 1;");
  test("mbarrier.test_wait{q}{s}.b64 %p0, {a}, %d1;");
  text += "sub.u32 %t6, %t5, 1;\n";
  line("mbarrier.complete_tx{s}.b64 {a}, %t6;");
  test("mbarrier.test_wait{q}{s}.b64 %p0, {a}, %d1;");
  test("mbarrier.try_wait.parity{q}{s}.b64 %p0, {a}, 0;");
  test("mbarrier.test_wait.parity{q}{s}.b64 %p0, {a}, 1;");
  // The second phase: bytes come before they are expected, one arrival leaves with its bytes.
  line("mbarrier.arrive.noComplete{s}.b64 %d0, {a}, 1;");
  count("%d0");
  line("mbarrier.complete_tx{s}.b64 {a}, %t5;");
  line("mbarrier.arrive.expect_tx{r}{s}.b64 %d0, {a}, %t5;");
  line("mbarrier.arrive_drop.expect_tx{r}{s}.b64 %d2, {a}, 7;");
  line("mbarrier.arrive_drop{r}{s}.b64 %d3, {a}, 2;");
  line("mbarrier.arrive_drop{r}{s}.b64 _, {a};");
  text += "sub.u32 %t6, %t2, %t4;\nsub.u32 %t6, %t6, 6;\n";
  line("mbarrier.arrive{r}{s}.b64 _, {a}, %t6;");
  test("mbarrier.try_wait.parity{q}{s}.b64 %p0, {a}, 1, 10;");
  line("mbarrier.complete_tx{s}.b64 {a}, 7;");
  test("mbarrier.try_wait.parity{q}{s}.b64 %p0, {a}, 1, 10;");
  test("mbarrier.try_wait{q}{s}.b64 %p0, {a}, %d2;");
  test("mbarrier.try_wait{q}{s}.b64 %p0, {a}, %d3, 10;");
  // The third: what is expected after all those that left.
  line("mbarrier.arrive.noComplete{s}.b64 %d0, {a}, 1;");
  count("%d0");
  line("mbarrier.arrive{r}{s}.b64 %d4, {a};");
  line("mbarrier.arrive.noComplete{s}.b64 %d0, {a}, 1;");
  count("%d0");
  test("mbarrier.test_wait{q}{s}.b64 %p0, {a}, %d4;");
  line("mbarrier.inval{s}.b64 {a};");
  // It may be made anew.
  line("mbarrier.init{s}.b64 {a}, 1;");
  line("mbarrier.arrive{r}{s}.b64 %d4, {a};");
  test("mbarrier.test_wait{q}{s}.b64 %p0, {a}, %d4;");
  row.kernel.results = next;
  row.kernel.text = text;
  std::mt19937 random(77);
  for (unsigned t = 0; t < row.kernel.threads; ++t) {
    // Small ones, those around multiples of 1024, and the largest.
    const std::uint32_t all = t % 4 == 0   ? 20 + random() % 50
                              : t % 4 == 1 ? 1024 * (1 + random() % 1000) + random() % 3
                              : t % 4 == 2 ? 0xfffff
                                           : 20 + random() % 0xffff0;
    const std::uint32_t drop = 1 + random() % (all - 15), some = 1 + random() % (all - drop - 12);
    row.in.insert(row.in.end(), {all, some, drop, 2 + std::uint32_t(random() % 0xffffd)});
  }
  row.check = each_thread(row.kernel, [](const std::uint32_t* in, std::uint32_t* out) {
    const std::uint32_t all = in[0], some = in[1], drop = in[2], bytes = in[3];
    Object object(all);
    *out++ = object.arrive(some);
    *out++ = object.ended(0);
    *out++ = object.ended(1);
    *out++ = object.drop(drop);
    object.bytes += bytes;
    const std::uint32_t first = object.phase;
    object.arrive(all - some - drop);
    *out++ = object.phase != first;
    object.complete(1);
    *out++ = object.phase != first;
    object.complete(bytes - 1);
    *out++ = object.phase != first;
    *out++ = object.ended(0);
    *out++ = object.ended(1);
    *out++ = object.arrive(1);
    object.complete(bytes);
    object.bytes += bytes;
    object.arrive(1);
    object.bytes += 7;
    const std::uint32_t second = object.phase;
    object.drop(1);
    object.drop(2);
    object.drop(1);
    object.arrive(all - drop - 6);
    *out++ = object.ended(1);
    object.complete(7);
    *out++ = object.ended(1);
    *out++ = object.phase != second;
    *out++ = object.phase != second;
    *out++ = object.arrive(1);
    const std::uint32_t third = object.phase;
    object.arrive(1);
    *out++ = object.arrive(1);
    *out++ = object.phase != third;
    *out++ = 1;
  });
  return row;
}

/// All threads of a block meet at one object, phase after phase, and read what another one stored.
Derived phases(const std::string& name, const std::string& wait, bool parity) {
  Derived row;
  row.name = "mbarrier_phases_" + name;
  row.kernel.version = "8.0";
  row.kernel.target = "sm_90";
  row.kernel.threads = 3 * kBlock;
  row.kernel.operands = 1;
  row.kernel.results = 3;
  row.kernel.before = ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 cells[64];";
  std::string text = R"(
ld.global.u32 %t2, [%in];
mov.u32 %t6, cells;
mad.lo.u32 %t6, %t1, 4, %t6;
setp.ne.u32 %p0, %t1, 0;
@%p0 bra made;
mbarrier.init.shared::cta.b64 [bar], 64;
made:
bar.sync 0;
)";
  for (unsigned phase = 0; phase < 6; ++phase) {
    if (phase % 2 == 0) {
      text += fmt::format("add.u32 %t3, %t2, {};\nst.shared.u32 [%t6], %t3;\n", phase);
    } else {
      // The cell of the thread across, once all have stored.
      text += fmt::format(
          "sub.u32 %t4, 63, %t1;\nmov.u32 %t5, cells;\nmad.lo.u32 %t5, %t4, 4, %t5;\n"
          "ld.shared.u32 %t4, [%t5];\nst.global.u32 [%out+{}], %t4;\n",
          phase / 2 * 4);
    }
    text += "mbarrier.arrive.shared.b64 %d0, [bar];\n" + fmt::format("wait{}:\n", phase);
    text += parity ? fmt::format("{} %p1, [bar], {};\n", wait, phase % 2)
                   : fmt::format("{} %p1, [bar], %d0;\n", wait);
    text += fmt::format("@!%p1 bra wait{};\n", phase);
  }
  row.kernel.text = text;
  std::mt19937 random(5);
  for (unsigned t = 0; t < row.kernel.threads; ++t) row.in.push_back(random());
  row.check = all_threads([](const Words& in) {
    Words out;
    for (std::size_t t = 0; t < in.size(); ++t)
      for (std::uint32_t k = 0; k < 3; ++k)
        out.push_back(in[t / kBlock * kBlock + 63 - t % kBlock] + 2 * k);
    return out;
  });
  return row;
}

/// Copies of every size, into cells that are not zero before.
Derived copies() {
  struct Form {
    std::string instruction;
    unsigned bytes;
    enum { whole, sized, fixed, ignored, not_ignored } source = whole;
  };
  const std::vector<Form> forms = {
      {"cp.async.ca.shared.global [%t7], [%in], 4;", 4, Form::whole},
      {"cp.async.ca.shared.global [%t7], [%in+8], 8;", 8, Form::whole},
      {"cp.async.ca.shared::cta.global [%t7], [%in], 16;", 16, Form::whole},
      {"cp.async.cg.shared.global [%t7], [%in], 16;", 16, Form::whole},
      {"cp.async.cg.shared.global.L2::128B [%t7], [%in], 16;", 16, Form::whole},
      {"cp.async.cg.shared.global.L2::cache_hint [%t7], [%in], 16, %d1;", 16, Form::whole},
      {"cp.async.ca.shared.global [%t7], [%in], 4, %t2;", 4, Form::sized},
      {"cp.async.ca.shared.global [%t7], [%in], 8, %t2;", 8, Form::sized},
      {"cp.async.ca.shared.global [%t7], [%in], 16, %t2;", 16, Form::sized},
      {"cp.async.cg.shared.global [%t7], [%in], 16, %t2;", 16, Form::sized},
      {"cp.async.cg.shared.global.L2::cache_hint.L2::64B [%t7], [%in], 16, %t2, %d1;", 16,
       Form::sized},
      {"cp.async.ca.shared.global [%t7], [%in], 8, 3;", 8, Form::fixed},
      {"cp.async.ca.shared.global [%t7], [%in], 16, %p0;", 16, Form::ignored},
      {"cp.async.cg.shared.global.L2::256B [%t7], [%in], 16, !%p0;", 16, Form::not_ignored}};
  Derived row;
  row.name = "cp_async";
  row.kernel.threads = 2 * kBlock;
  row.kernel.operands = 8;
  row.kernel.results = static_cast<unsigned>(4 * forms.size());
  row.kernel.before = ".shared .align 16 .b8 cells[1024];";
  std::string text =
      "mov.u32 %t7, cells;\nmad.lo.u32 %t7, %t1, 16, %t7;\nld.global.u32 %t3, [%in+28];\n"
      "and.b32 %t4, %t3, 1;\nsetp.ne.u32 %p0, %t4, 0;\n"
      "createpolicy.fractional.L2::evict_last.b64 %d1;\n";
  for (std::size_t k = 0; k < forms.size(); ++k) {
    text += "mov.u32 %t4, 0xaaaaaaaa;\nst.shared.v4.u32 [%t7], {%t4, %t4, %t4, %t4};\n";
    text += fmt::format("rem.u32 %t2, %t3, {};\n", forms[k].bytes + 1);
    text += forms[k].instruction + "\n";
    text += k % 3 == 0 ? "cp.async.commit_group;\ncp.async.wait_group 0;\n"
            : k % 3 == 1
                ? "cp.async.wait_all;\n"
                : "cp.async.commit_group;\ncp.async.commit_group;\ncp.async.wait_group 1;\n";
    text += fmt::format(
        "ld.shared.v4.u32 {{%t4, %t5, %t6, %t2}}, [%t7];\n"
        "st.global.v4.u32 [%out+{}], {{%t4, %t5, %t6, %t2}};\n",
        16 * k);
  }
  row.kernel.text = text;
  std::mt19937 random(9);
  for (unsigned i = 0; i < row.kernel.threads * 8; ++i) row.in.push_back(random());
  row.check = each_thread(row.kernel, [forms](const std::uint32_t* in, std::uint32_t* out) {
    for (const Form& form : forms) {
      const std::uint32_t seed = in[7];
      unsigned taken = form.bytes;
      if (form.source == Form::sized) taken = seed % (form.bytes + 1);
      if (form.source == Form::fixed) taken = 3;
      if (form.source == Form::ignored && seed % 2) taken = 0;
      if (form.source == Form::not_ignored && !(seed % 2)) taken = 0;
      const unsigned from = form.bytes == 8 && form.source == Form::whole ? 8 : 0;
      for (unsigned byte = 0; byte < 16; ++byte) {
        std::uint32_t value = 0xaa;
        if (byte < form.bytes) value = 0;
        if (byte < taken) value = in[(from + byte) / 4] >> ((from + byte) % 4 * 8) & 0xff;
        out[byte / 4] = (byte % 4 ? out[byte / 4] : 0) | value << (byte % 4 * 8);
      }
      out += 4;
    }
  });
  return row;
}

/// Copies that arrive at an object: with .noinc one of the arrivals that it expects.
Derived copies_arrive() {
  Derived row;
  row.name = "cp_async_mbarrier_arrive";
  row.kernel.threads = kBlock;
  row.kernel.operands = 2;
  row.kernel.results = 5;
  row.kernel.before = ".shared .align 8 .b64 bars[64];\n.shared .align 8 .b64 cells[64];";
  row.kernel.text = R"(
mov.u32 %t7, bars;
mad.lo.u32 %t7, %t1, 8, %t7;
mov.u32 %t6, cells;
mad.lo.u32 %t6, %t1, 8, %t6;
mbarrier.init.shared.b64 [%t7], 3;
cp.async.ca.shared.global [%t6], [%in], 8;
cp.async.mbarrier.arrive.shared.b64 [%t7];
mbarrier.arrive.noComplete.shared.b64 %d0, [%t7], 1;
mbarrier.pending_count.b64 %t2, %d0;
st.global.u32 [%out], %t2;
cp.async.mbarrier.arrive.noinc.shared.b64 [%t7];
mbarrier.arrive.shared.b64 %d0, [%t7];
mbarrier.pending_count.b64 %t2, %d0;
st.global.u32 [%out+4], %t2;
wait:
mbarrier.test_wait.shared.b64 %p0, [%t7], %d0;
@!%p0 bra wait;
ld.shared.v2.u32 {%t3, %t4}, [%t6];
st.global.u32 [%out+8], %t3;
st.global.u32 [%out+12], %t4;
cvt.u64.u32 %d7, %t7;
cvta.shared.u64 %d7, %d7;
cp.async.mbarrier.arrive.noinc.b64 [%d7];
mbarrier.arrive.noComplete.b64 %d0, [%d7], 1;
mbarrier.pending_count.b64 %t2, %d0;
st.global.u32 [%out+16], %t2;)";
  std::mt19937 random(3);
  for (unsigned i = 0; i < row.kernel.threads * 2; ++i) row.in.push_back(random());
  row.check = each_thread(row.kernel, [](const std::uint32_t* in, std::uint32_t* out) {
    const std::uint32_t right[] = {3, 1, in[0], in[1], 2};
    std::copy(std::begin(right), std::end(right), out);
  });
  return row;
}

}  // namespace

std::vector<Derived> async_rows() {
  return {counts("shared", ".shared", "", "", false),
          counts("cta", ".shared::cta", ".release.cta", ".acquire.cta", false),
          counts("relaxed", ".shared", ".relaxed.cluster", ".relaxed.cluster", false),
          counts("generic", "", "", "", true),
          phases("test", "mbarrier.test_wait.shared.b64", false),
          phases("test_parity", "mbarrier.test_wait.parity.shared.b64", true),
          phases("try", "mbarrier.try_wait.shared.b64", false),
          phases("try_parity", "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64", true),
          copies(),
          copies_arrive()};
}

}  // namespace ptx2spv::tests
