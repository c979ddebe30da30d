// Conversions of one architecture, operations of a warp, hints and the stack.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "tests/instructions/derived.hpp"

namespace ptx2spv::tests {
namespace {

constexpr unsigned kWarp = 32;

Words any_words(std::size_t count) {
  std::mt19937 random(31);
  Words words(count);
  for (std::uint32_t& word : words) word = random();
  return words;
}

/// tf32 has ten bits of mantissa; what rounds to infinity or is it becomes the largest number.
Derived tf32() {
  Derived row;
  row.name = "cvt_satfinite_tf32";
  row.kernel.version = "8.6";
  row.kernel.target = "sm_100";
  row.kernel.threads = 4096;
  row.kernel.operands = 1;
  row.kernel.results = 4;
  row.kernel.text = R"(
ld.global.f32 %f0, [%in];
cvt.rn.satfinite.tf32.f32 %t2, %f0;
cvt.rz.satfinite.tf32.f32 %t3, %f0;
cvt.rn.relu.satfinite.tf32.f32 %t4, %f0;
cvt.rz.relu.satfinite.tf32.f32 %t5, %f0;
st.global.v4.b32 [%out], {%t2, %t3, %t4, %t5};)";
  row.in = some_floats(row.kernel.threads, false);
  row.check = each_thread(row.kernel, [](const std::uint32_t* in, std::uint32_t* out) {
    const std::uint32_t x = in[0];
    for (unsigned i = 0; i < 4; ++i) {
      std::uint32_t r = x;
      if (i % 2 == 0) r += 0xfff + (x >> 13 & 1);
      r &= 0xffffe000;
      if ((r & 0x7f800000) == 0x7f800000) r = (r & 0x80000000) | 0x7f7fe000;
      if (i >= 2 && r >> 31) r = 0;
      out[i] = r;
    }
  });
  return row;
}

/// redux of floats: NaN are passed over, or win; -0 is less than +0.
Derived redux() {
  Derived row;
  row.name = "redux_f32";
  row.kernel.version = "8.6";
  row.kernel.target = "sm_100a";
  row.kernel.threads = 16 * kWarp;
  row.kernel.operands = 1;
  row.kernel.results = 8;
  row.kernel.text = "ld.global.f32 %f0, [%in];\n";
  for (unsigned i = 0; i < 8; ++i)
    row.kernel.text +=
        fmt::format("redux.sync.{}{}{}.f32 %f1, %f0, 0xffffffff;\nst.global.f32 [%out+{}], %f1;\n",
                    i & 1 ? "max" : "min", i & 2 ? ".abs" : "", i & 4 ? ".NaN" : "", 4 * i);
  // Warps of numbers, of zeros, of NaN alone, of both, of infinities.
  row.in = some_floats(row.kernel.threads, false);
  const Words mixed = some_floats(row.kernel.threads, true);
  for (unsigned i = 0; i < row.kernel.threads; ++i) {
    const unsigned warp = i / kWarp;
    if (warp % 5 == 1) row.in[i] &= 0x80000000;
    if (warp % 5 == 2) row.in[i] = 0x7fc00000 | (row.in[i] & 0x803fffff);
    if (warp % 5 == 3) row.in[i] = i % 3 ? mixed[i] : 0x7fc00001;
    if (warp % 5 == 4 && i % 4) row.in[i] = (row.in[i] & 0x80000000) | 0x7f800000;
  }
  row.check = all_threads([](const Words& in) {
    Words out;
    for (std::size_t t = 0; t < in.size(); ++t)
      for (unsigned i = 0; i < 8; ++i) {
        // In the order of the numbers, zeros by their sign.
        const bool max = i & 1;
        bool some = false, nan = false;
        std::int64_t best = 0;
        for (std::size_t lane = t / kWarp * kWarp; lane < t / kWarp * kWarp + kWarp; ++lane) {
          const std::uint32_t word = i & 2 ? in[lane] & 0x7fffffff : in[lane];
          if ((word & 0x7fffffff) > 0x7f800000) {
            nan = true;
            continue;
          }
          const std::int64_t magnitude = word & 0x7fffffff;
          const std::int64_t key = word >> 31 ? -1 - magnitude : magnitude;
          if (!some || (max ? key > best : key < best)) best = key;
          some = true;
        }
        const auto value = static_cast<std::uint32_t>(best < 0 ? -1 - best : best);
        out.push_back((nan && (i & 4)) || !some ? 0x7fffffff
                                                : value | (best < 0 ? 0x80000000u : 0));
      }
    return out;
  });
  return row;
}

/// Votes and shuffles without .sync, which targets before sm_70 have.
Derived votes() {
  Derived row;
  row.name = "vote_without_sync";
  row.kernel.version = "6.0";
  row.kernel.target = "sm_60";
  row.kernel.threads = 8 * kWarp;
  row.kernel.operands = 1;
  row.kernel.results = 5;
  row.kernel.text = R"(
ld.global.u32 %t2, [%in];
setp.ne.u32 %q, %t2, 0;
vote.all.pred %p0, %q;
selp.u32 %t3, 1, 0, %p0;
st.global.u32 [%out], %t3;
vote.any.pred %p0, %q;
selp.u32 %t3, 1, 0, %p0;
st.global.u32 [%out+4], %t3;
vote.uni.pred %p0, %q;
selp.u32 %t3, 1, 0, %p0;
st.global.u32 [%out+8], %t3;
vote.any.pred %p0, !%q;
selp.u32 %t3, 1, 0, %p0;
st.global.u32 [%out+12], %t3;
vote.ballot.b32 %t3, %q;
st.global.u32 [%out+16], %t3;)";
  row.in = any_words(row.kernel.threads);
  for (unsigned i = 0; i < row.kernel.threads; ++i)
    row.in[i] = i / kWarp % 4 == 0   ? 0
                : i / kWarp % 4 == 1 ? 7
                : i / kWarp % 4 == 2 ? i % kWarp == 9
                                     : row.in[i] & 1;
  row.check = all_threads([](const Words& in) {
    Words out;
    for (std::size_t t = 0; t < in.size(); ++t) {
      std::uint32_t ballot = 0;
      for (unsigned lane = 0; lane < kWarp; ++lane)
        ballot |= static_cast<std::uint32_t>(in[t / kWarp * kWarp + lane] != 0) << lane;
      const bool all = ballot == ~0u, any = ballot != 0;
      out.insert(out.end(), {all, any, all || !any, !all, ballot});
    }
    return out;
  });
  return row;
}

/// Votes of the lanes below each one, whose masks lack the lane itself. The manual leaves that
/// open; programs count on the lanes that the mask names.
Derived votes_of_others() {
  Derived row;
  row.name = "vote_of_lanes_below";
  row.kernel.version = "7.0";
  row.kernel.target = "sm_70";
  row.kernel.threads = 2 * kWarp;
  row.kernel.operands = 1;
  row.kernel.results = 4;
  row.kernel.text = R"(
ld.global.u32 %t2, [%in];
setp.ne.u32 %q, %t2, 0;
mov.u32 %t4, %lanemask_lt;
vote.sync.ballot.b32 %t3, %q, %t4;
st.global.u32 [%out], %t3;
vote.sync.any.pred %p0, %q, %t4;
selp.u32 %t3, 1, 0, %p0;
st.global.u32 [%out+4], %t3;
vote.sync.all.pred %p0, %q, %t4;
selp.u32 %t3, 1, 0, %p0;
st.global.u32 [%out+8], %t3;
vote.sync.ballot.b32 %t3, %q, 0xffff;
st.global.u32 [%out+12], %t3;)";
  row.in = any_words(row.kernel.threads);
  for (unsigned i = 0; i < row.kernel.threads; ++i)
    row.in[i] = i < kWarp ? row.in[i] & 1 : i % kWarp < 20;
  row.check = all_threads([](const Words& in) {
    Words out;
    for (std::size_t t = 0; t < in.size(); ++t) {
      std::uint32_t below = 0, half = 0;
      const std::size_t lane = t % kWarp;
      for (std::size_t other = 0; other < kWarp; ++other) {
        const bool votes = in[t - lane + other] != 0;
        if (other < lane) below |= static_cast<std::uint32_t>(votes) << other;
        if (other < 16) half |= static_cast<std::uint32_t>(votes) << other;
      }
      const bool all = below == (1u << lane) - 1;
      out.insert(out.end(), {below, below != 0, all, half});
    }
    return out;
  });
  return row;
}

struct Shuffle {
  const char* mode;
  std::uint32_t by, clamp;  ///< operands b and c
};
constexpr Shuffle kShuffles[] = {
    {"up", 3, 0},    {"up", 5, 0x1800}, {"down", 2, 31}, {"down", 3, 7},     {"down", 1, 0x1807},
    {"bfly", 5, 31}, {"bfly", 9, 7},    {"idx", 13, 31}, {"idx", 6, 0x1807}, {"idx", 37, 0x101f}};

Derived shuffles() {
  Derived row;
  row.name = "shfl_without_sync";
  row.kernel.version = "6.0";
  row.kernel.target = "sm_60";
  row.kernel.threads = 4 * kWarp;
  row.kernel.operands = 1;
  row.kernel.results = 2 * std::size(kShuffles);
  row.kernel.text = "ld.global.u32 %t2, [%in];\n";
  for (unsigned i = 0; i < std::size(kShuffles); ++i)
    row.kernel.text += fmt::format(
        "shfl.{}.b32 %t3|%p0, %t2, {}, {};\nselp.u32 %t4, 1, 0, %p0;\n"
        "st.global.v2.u32 [%out+{}], {{%t3, %t4}};\n",
        kShuffles[i].mode, kShuffles[i].by, kShuffles[i].clamp, 8 * i);
  row.in = any_words(row.kernel.threads);
  row.check = all_threads([](const Words& in) {
    Words out;
    for (std::size_t t = 0; t < in.size(); ++t)
      for (const Shuffle& each : kShuffles) {
        const std::string mode = each.mode;
        const int lane = static_cast<int>(t % kWarp), by = static_cast<int>(each.by & 31),
                  mask = static_cast<int>(each.clamp >> 8 & 31),
                  clamp = static_cast<int>(each.clamp & 31);
        const int last = (lane & mask) | (clamp & ~mask & 31), first = lane & mask;
        int from = mode == "up"     ? lane - by
                   : mode == "down" ? lane + by
                   : mode == "bfly" ? lane ^ by
                                    : first | (by & ~mask & 31);
        const bool inside = mode == "up" ? from >= last : from <= last;
        if (!inside) from = lane;
        out.push_back(in[t / kWarp * kWarp + static_cast<std::size_t>(from)]);
        out.push_back(inside);
      }
    return out;
  });
  return row;
}

Derived unchanged(const std::string& name, const std::string& version, const std::string& target,
                  const std::string& text) {
  Derived row;
  row.name = name;
  row.kernel.version = version;
  row.kernel.target = target;
  row.kernel.threads = 128;
  row.kernel.operands = 2;
  row.kernel.results = 2;
  row.kernel.text =
      "ld.global.v2.u32 {%t2, %t3}, [%in];\n" + text + "\nst.global.v2.u32 [%out], {%t3, %t2};";
  row.in = any_words(row.kernel.threads * 2);
  row.check = each_thread(row.kernel, [](const std::uint32_t* in, std::uint32_t* out) {
    out[0] = in[1];
    out[1] = in[0];
  });
  return row;
}

/// Memory of a thread: two allocations apart from each other, the last one freed and taken again.
Derived stack() {
  Derived row;
  row.name = "alloca_and_restore";
  row.kernel.version = "7.3";
  row.kernel.target = "sm_75";
  row.kernel.threads = 128;
  row.kernel.operands = 2;
  row.kernel.results = 4;
  row.kernel.text = R"(
ld.global.v2.u32 {%t2, %t3}, [%in];
alloca.u64 %d0, 64, 32;
st.local.u32 [%d0+60], %t2;
stacksave.u64 %d1;
alloca.u64 %d2, 16;
st.local.u32 [%d2], %t3;
ld.local.u32 %t4, [%d2];
stackrestore.u64 %d1;
alloca.u64 %d3, 16;
setp.eq.u64 %q, %d2, %d3;
selp.u32 %t5, 1, 0, %q;
st.local.u32 [%d3+12], 99;
ld.local.u32 %t6, [%d0+60];
cvt.u32.u64 %t7, %d0;
and.b32 %t7, %t7, 31;
st.global.v4.u32 [%out], {%t4, %t5, %t6, %t7};)";
  row.in = any_words(row.kernel.threads * 2);
  row.check = each_thread(row.kernel, [](const std::uint32_t* in, std::uint32_t* out) {
    out[0] = in[1];
    out[1] = 1;
    out[2] = in[0];
    out[3] = 0;
  });
  return row;
}

/// What is discarded has any contents until it is written again.
Derived discarded() {
  Derived row = unchanged("discard", "7.4", "sm_80", R"(
mul.wide.u32 %d1, %t0, 128;
mov.u64 %d0, scratch;
add.u64 %d0, %d0, %d1;
st.global.u32 [%d0], %t3;
discard.global.L2 [%d0], 128;
st.global.v2.u32 [%d0], {%t2, %t3};
applypriority.global.L2::evict_normal [%d0], 128;
ld.global.v2.u32 {%t2, %t3}, [%d0];)");
  row.kernel.before = ".global .align 128 .b8 scratch[16384];";
  return row;
}

/// Threads that end early leave the others alone.
Derived early_exit() {
  Derived row;
  row.name = "exit_of_some";
  row.kernel.threads = 128;
  row.kernel.operands = 1;
  row.kernel.text = R"(
ld.global.u32 %t2, [%in];
setp.lt.u32 %q, %t2, 0x80000000;
st.global.u32 [%out], 5;
@%q exit;
st.global.u32 [%out], %t2;)";
  row.in = any_words(row.kernel.threads);
  row.check = each_thread(row.kernel, [](const std::uint32_t* in, std::uint32_t* out) {
    out[0] = in[0] < 0x80000000u ? 5 : in[0];
  });
  return row;
}

/// The memory that CUDA's headers keep for themselves is beside the kernel's own.
Derived reserved_shared_memory() {
  Derived row;
  row.name = "reserved_shared_memory";
  row.kernel.version = "8.6";
  row.kernel.target = "sm_90";
  row.kernel.threads = 64;
  row.kernel.operands = 1;
  row.kernel.results = 6;
  row.kernel.before = ".shared .align 4 .b8 own[256];\n";
  row.kernel.text = R"(
mov.u32 %t2, %reserved_smem_offset_1;
cvt.u64.u32 %d0, %t2;
cvta.shared.u64 %d0, %d0;
ld.global.u32 %t3, [%in];
shl.b32 %t4, %t3, 2;
mov.u32 %t5, own;
add.u32 %t5, %t5, %t4;
cvt.u64.u32 %d1, %t4;
add.u64 %d1, %d1, %d0;
st.shared.u32 [%t5], %t3;
add.u32 %t6, %t3, 1000;
st.u32 [%d1], %t6;
bar.sync 0;
ld.shared.u32 %t6, [%t5];
ld.u32 %t7, [%d1];
st.global.v2.u32 [%out], {%t6, %t7};
mov.u32 %t3, %reserved_smem_offset_begin;
mov.u32 %t4, %reserved_smem_offset_end;
mov.u32 %t5, %reserved_smem_offset_cap;
sub.u32 %t4, %t4, %t3;
st.global.v2.u32 [%out+8], {%t4, %t5};
sub.u32 %t2, %t2, %t3;
mov.u32 %t6, %total_smem_size;
st.global.v2.u32 [%out+16], {%t2, %t6};)";
  for (std::uint32_t i = 0; i < row.kernel.threads; ++i) row.in.push_back(i);
  row.check = each_thread(row.kernel, [](const std::uint32_t* in, std::uint32_t* out) {
    const std::uint32_t right[] = {in[0], in[0] + 1000, 288, 1024, 0, 256};
    std::copy(std::begin(right), std::end(right), out);
  });
  return row;
}

}  // namespace

std::vector<Derived> conversion_rows() { return {tf32()}; }

std::vector<Derived> warp_rows() { return {redux(), votes(), votes_of_others(), shuffles()}; }

std::vector<Derived> control_rows() {
  return {reserved_shared_memory(),
          unchanged("setmaxnreg", "8.0", "sm_90a",
                    "setmaxnreg.dec.sync.aligned.u32 32;\nsetmaxnreg.inc.sync.aligned.u32 64;"),
          unchanged("griddepcontrol", "7.8", "sm_90",
                    "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;"),
          unchanged("brkpt", "7.0", "sm_75", "brkpt;"),
          unchanged("hints", "7.0", "sm_75",
                    "nanosleep.u32 20;\npmevent 3;\npmevent.mask 0x11;\nprefetch.global.L1 [%in];\n"
                    "prefetchu.L1 [%in];"),
          discarded(),
          stack(),
          early_exit()};
}

}  // namespace ptx2spv::tests
