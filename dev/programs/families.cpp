#include "dev/programs/families.hpp"

#include <fmt/format.h>

namespace ptx2spv::programs {
namespace {

using fmt::format;

constexpr const char* kHead = ".version 8.3\n.target sm_80\n.address_size 64\n";

/// `piece(0)` to `piece(count - 1)`, one after the other.
template <typename Piece>
std::string each(std::size_t count, Piece&& piece) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += piece(i);
  return out;
}

/// `text`, `count` times.
std::string times(std::size_t count, const std::string& text) {
  return each(count, [&](std::size_t) { return text; });
}

/// A kernel around `body`, which leaves a word in %r0. %r1 is the thread's number, %rd0 the
/// parameter, %p0 differs between threads.
std::string kernel(const std::string& body, std::size_t words = 8, const std::string& name = "k") {
  return format(
      ".visible .entry {0}(.param .u64 {0}_out) {{\n"
      ".reg .pred %p<8>;\n.reg .b32 %r<{1}>;\n.reg .b64 %rd<8>;\n.reg .f64 %fd<8>;\n"
      ".reg .f32 %f<8>;\n"
      "ld.param.u64 %rd0, [{0}_out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r0, %tid.y;\n"
      "setp.gt.u32 %p0, %r1, 5;\n{2}st.global.u32 [%rd0], %r0;\nret;\n}}\n",
      name, words, body);
}

std::string module(const std::string& body, std::size_t words = 8) {
  return kHead + kernel(body, words);
}

// Straight code.

std::string additions(std::size_t n) {
  return module(
      each(n, [](std::size_t i) { return format("add.u32 %r{}, %r0, {};\n", i % 2 * 2, i + 7); }));
}

std::string moves(std::size_t n) {
  return module(
      each(n, [&](std::size_t i) { return format("mov.u32 %r{}, %r{};\n", i + 2, i + 1); }) +
          format("mov.u32 %r0, %r{};\n", n + 1),
      n + 2);
}

std::string negated_factors(std::size_t n) {
  const auto product = [](std::size_t i) {
    return format("mul.f32 %f1, %f0, %f2;\n@%p0 bra L{0};\nadd.f32 %f2, %f2, %f1;\nL{0}:\n", i);
  };
  return module("ld.param.f32 %f0, [k_out];\nmov.b32 %f2, %r1;\n" +
                times(n, "neg.f32 %f0, %f0;\n") + each(n, product) + "mov.b32 %r0, %f2;\n");
}

std::string double_divisions(std::size_t n) {
  return module("cvt.rn.f64.u32 %fd0, %r1;\nmov.f64 %fd1, 0d3FF8000000000000;\n" +
                times(n, "div.rn.f64 %fd1, %fd1, %fd0;\nadd.rn.f64 %fd0, %fd0, %fd1;\n") +
                "cvt.rzi.u32.f64 %r0, %fd1;\n");
}

std::string float_sums(std::size_t n) {
  return module("cvt.rn.f32.u32 %f0, %r1;\n" +
                each(n,
                     [](std::size_t i) {
                       return format("mul.f32 %f1, %f0, 0f3F8{:05X};\nadd.f32 %f0, %f0, %f1;\n", i);
                     }) +
                "cvt.rzi.u32.f32 %r0, %f0;\n");
}

std::string wide_products(std::size_t n) {
  return module("cvt.u64.u32 %rd1, %r1;\n" +
                times(n, "mad.lo.s64 %rd1, %rd1, %rd1, %rd0;\nshr.u64 %rd1, %rd1, %r1;\n") +
                "cvt.u32.u64 %r0, %rd1;\n");
}

std::string selections(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format("setp.lt.u32 %p1, %r0, {};\nselp.b32 %r0, %r1, %r0, %p1;\n", i);
  }));
}

std::string wide_values(std::size_t n) {  // all live to the end
  return module(
      each(n, [](std::size_t i) { return format("mad.lo.u32 %r{}, %r1, {}, 5;\n", i + 2, i); }) +
          each(n, [](std::size_t i) { return format("xor.b32 %r0, %r0, %r{};\n", i + 2); }),
      n + 2);
}

std::string loads_and_stores(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format("ld.global.u32 %r2, [%rd0+{}];\nst.global.u32 [%rd0+{}], %r2;\n", i * 4 + 4,
                  i * 4);
  }));
}

std::string bytes_in_shared(std::size_t n) {
  return kHead + format(".shared .align 4 .b8 s[{}];\n", 1024) + kernel(each(n, [](std::size_t i) {
           return format("st.shared.u8 [s+{}], %r1;\nld.shared.u8 %r0, [s+{}];\n", i % 1024,
                         (i * 7) % 1024);
         }));
}

std::string atomics(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format(
        "atom.global.add.u32 %r0, [%rd0+{}], %r1;\natom.global.min.u64 %rd2, [%rd0+{}], %rd0;\n",
        i % 64 * 4, i % 64 * 8);
  }));
}

std::string vectors(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format("ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd0+{}];\nadd.u32 %r0, %r0, %r{};\n",
                  i * 16, 2 + i % 4);
  }));
}

// Control flow.

std::string branches_in_a_row(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format("setp.eq.u32 %p1, %r1, {0};\n@%p1 bra L{0};\nadd.u32 %r0, %r0, {0};\nL{0}:\n", i);
  }));
}

std::string branches_to_one_end(std::size_t n) {
  return module(
      each(n,
           [](std::size_t i) {
             return format(
                 "setp.eq.u32 %p1, %r1, {0};\n@%p1 bra END;\nst.global.u32 [%rd0+{1}], %r1;\n", i,
                 i * 4);
           }) +
      "END:\n");
}

std::string nested_ifs(std::size_t n) {
  return module(
      each(n,
           [](std::size_t i) {
             return format(
                 "setp.eq.u32 %p1, %r1, {0};\n@%p1 bra L{0};\nst.global.u32 [%rd0+{1}], %r1;\n", i,
                 i * 4);
           }) +
      each(n, [&](std::size_t i) { return format("L{}:\nadd.u32 %r0, %r0, %r1;\n", n - 1 - i); }));
}

std::string nested_loops(std::size_t n) {
  return module(each(n, [](std::size_t i) { return format("L{}:\nadd.u32 %r0, %r0, 1;\n", i); }) +
                each(n, [&](std::size_t i) {
                  return format("setp.lt.u32 %p1, %r0, {};\n@%p1 bra L{};\n", i, n - 1 - i);
                }));
}

std::string loops_in_a_row(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format("L{0}:\nadd.u32 %r0, %r0, 3;\nsetp.lt.u32 %p1, %r0, {0};\n@%p1 bra L{0};\n", i);
  }));
}

std::string counters_of_nested_loops(std::size_t n) {  // each needs a phi in every loop around it
  return module(
      each(n, [](std::size_t i) { return format("L{0}:\nadd.u32 %r{1}, %r{1}, 1;\n", i, i + 2); }) +
          each(n,
               [&](std::size_t i) {
                 return format("setp.lt.u32 %p1, %r{}, 9;\n@%p1 bra L{};\n", n + 1 - i, n - 1 - i);
               }),
      n + 2);
}

std::string values_through_diamonds(std::size_t n) {  // every value lives through every diamond
  return module(
      each(n,
           [](std::size_t i) {
             return format(
                 "setp.eq.u32 %p1, %r1, {0};\n@%p1 bra L{0};\nadd.u32 %r{1}, %r1, {0};\nL{0}:\n", i,
                 i + 2);
           }) +
          each(n, [](std::size_t i) { return format("xor.b32 %r0, %r0, %r{};\n", i + 2); }),
      n + 2);
}

std::string tangle(std::size_t n) {
  return module(each(n, [&](std::size_t i) {
    return format("L{0}:\nadd.u32 %r0, %r0, {0};\nsetp.eq.u32 %p1, %r0, {0};\n@%p1 bra L{1};\n", i,
                  (i * 2654435761u >> 8) % n);
  }));
}

std::string tangle_of_values(std::size_t n) {
  return module(each(n,
                     [&](std::size_t i) {
                       return format(
                           "L{0}:\nmad.lo.u32 %r{1}, %r{2}, %r1, {0};\nsetp.eq.u32 %p1, %r{1}, "
                           "{0};\n@%p1 bra L{3};\n",
                           i, i + 2, (i * 40503u >> 4) % n + 2, (i * 2654435761u >> 8) % n);
                     }),
                n + 2);
}

std::string switch_of_many(std::size_t n) {
  return module(
      "T: .branchtargets " +
      each(n, [&](std::size_t i) { return format("L{}{}", i, i + 1 < n ? ", " : ";\n"); }) +
      "brx.idx %r1, T;\n" +
      each(n, [](std::size_t i) { return format("L{0}:\nadd.u32 %r0, %r0, {0};\n", i); }));
}

std::string every_block_to_every_block(std::size_t n) {
  return module(
      "T: .branchtargets " +
      each(n, [&](std::size_t i) { return format("L{}{}", i, i + 1 < n ? ", " : ";\n"); }) +
      each(n, [](std::size_t i) {
        return format("L{0}:\nadd.u32 %r0, %r0, {0};\nrem.u32 %r2, %r0, 1000;\nbrx.idx %r2, T;\n",
                      i);
      }));
}

std::string switches_of_few(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format(
        "T{0}: .branchtargets A{0}, B{0}, C{0};\nbrx.idx %r1, T{0};\nA{0}: add.u32 %r0, %r0, 1;\n"
        "B{0}: add.u32 %r0, %r0, 2;\nC{0}:\n",
        i);
  }));
}

std::string labels(std::size_t n) {
  return module(each(n, [](std::size_t i) { return format("LABEL_{}:\n", i); }));
}

std::string predicated(std::size_t n) {
  return module(
      each(n, [](std::size_t i) { return format("@%p0 st.global.u32 [%rd0+{}], %r1;\n", i * 4); }));
}

// Barriers, warps and threads that wait.

std::string barriers_in_a_row(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format("bar.sync 0;\nst.global.u32 [%rd0+{}], %r1;\n", i * 4);
  }));
}

std::string nested_barriers(std::size_t n) {
  return module(
      each(n,
           [](std::size_t i) { return format("L{}:\nbar.sync 0;\nadd.u32 %r0, %r0, 1;\n", i); }) +
      each(n, [&](std::size_t i) {
        return format("setp.lt.u32 %p1, %r0, {};\nbar.sync 0;\n@%p1 bra L{};\n", i, n - 1 - i);
      }));
}

std::string divergent_barriers(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format(
        "setp.eq.u32 %p1, %r1, {0};\n@%p1 bra L{0};\nbar.sync 0;\nadd.u32 %r0, %r0, {0};\nL{0}:\n",
        i);
  }));
}

std::string values_across_barriers(std::size_t n) {
  return module(
      each(n,
           [](std::size_t i) {
             return format("ld.global.u32 %r{}, [%rd0+{}];\nbar.sync 0;\n", i + 2, i * 4);
           }) +
          each(n, [](std::size_t i) { return format("xor.b32 %r0, %r0, %r{};\n", i + 2); }),
      n + 2);
}

std::string shuffles(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format("shfl.sync.bfly.b32 %r0, %r0, {}, 31, -1;\n", i % 31 + 1);
  }));
}

/// Each branch goes where the one before it left threads apart.
std::string branches_by_branches(std::size_t n) {
  return module("shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;\n" + each(n, [](std::size_t i) {
                  return format(
                      "setp.eq.u32 %p1, %r0, {0};\n@%p1 bra L{0};\nld.global.u32 %r2, [%rd0+{1}];\n"
                      "st.global.u32 [%rd0+{1}], %r2;\nmov.u32 %r0, {2};\nbra M{0};\nL{0}:\n"
                      "mov.u32 %r0, {3};\nM{0}:\n",
                      i, i * 4, i + 1, i + 2);
                }));
}

/// The same by loops that threads leave in different iterations.
std::string loops_by_loops(std::size_t n) {
  return module(
      "shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;\n" + each(n, [](std::size_t i) {
        return format(
            "mov.u32 %r2, 0;\nL{0}:\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd0+{1}], %r2;\n"
            "setp.lt.u32 %p1, %r2, %r0;\n@%p1 bra L{0};\nmov.u32 %r0, %r2;\n",
            i, i * 4);
      }));
}

std::string switch_of_shuffles(std::size_t n) {
  return module(
      "T: .branchtargets " +
      each(n, [&](std::size_t i) { return format("L{}{}", i, i + 1 < n ? ", " : ";\n"); }) +
      "brx.idx %r1, T;\n" + each(n, [&](std::size_t i) {
        return format("L{0}:\nshfl.sync.bfly.b32 %r0, %r0, 1, 31, -1;\n@%p0 bra L{1};\n", i,
                      i * 7919 % n);
      }));
}

std::string waits(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format(
        "L{0}:\nld.volatile.global.u32 %r2, [%rd0+{1}];\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra "
        "L{0};\n",
        i, i * 4);
  }));
}

std::string locks(std::size_t n) {
  return module(each(n, [](std::size_t i) {
    return format(
        "L{0}:\natom.global.cas.b32 %r2, [%rd0+{1}], 0, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra "
        "L{0};\n",
        i, i * 4);
  }));
}

// Functions.

std::string function(std::size_t i, const std::string& body) {
  return format(
      ".func (.param .b32 o) f{}(.param .b32 a) {{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n"
      "ld.param.u32 %r0, [a];\n{}st.param.b32 [o], %r0;\nret;\n}}\n",
      i, body);
}

std::string call(const std::string& name) {
  return format(
      "{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0;\ncall.uni (y), {}, (x);\n"
      "ld.param.b32 %r0, [y]; }}\n",
      name);
}

std::string each_calls_the_one_before(std::size_t n) {
  return kHead + function(0, "add.u32 %r0, %r0, 1;\n") +
         each(n,
              [](std::size_t i) {
                return function(i + 1, call(format("f{}", i)) + "add.u32 %r0, %r0, 3;\n");
              }) +
         kernel(call(format("f{}", n)));
}

std::string each_calls_the_one_before_twice(std::size_t n) {
  return kHead + function(0, "add.u32 %r0, %r0, 1;\n") +
         each(n,
              [](std::size_t i) {
                return function(i + 1, call(format("f{}", i)) + "add.u32 %r0, %r0, 3;\n" +
                                           call(format("f{}", i)));
              }) +
         kernel(call(format("f{}", n)));
}

std::string ring(std::size_t n) {
  return kHead +
         each(n,
              [](std::size_t i) {
                return format(".func (.param .b32 o) f{}(.param .b32 a);\n", i);
              }) +
         each(n,
              [&](std::size_t i) {
                return function(
                    i,
                    format("setp.eq.u32 %p1, %r0, 0;\n@%p1 bra E;\nadd.u32 %r0, %r0, -1;\n{}E:\n",
                           call(format("f{}", (i + 1) % n))));
              }) +
         kernel(call("f0"));
}

std::string many_functions(std::size_t n) {
  return kHead +
         each(n, [](std::size_t i) { return function(i, format("add.u32 %r0, %r0, {};\n", i)); }) +
         kernel(each(n, [](std::size_t i) { return call(format("f{}", i)); }));
}

std::string functions_of_no_kernel(std::size_t n) {
  return kHead + each(n, [](std::size_t i) { return function(i, "add.u32 %r0, %r0, 3;\n"); }) +
         kernel("");
}

std::string one_function_called_often(std::size_t n) {
  return kHead + function(0, "mul.lo.u32 %r0, %r0, %r0;\n") + kernel(times(n, call("f0")));
}

std::string ring_entered_everywhere(std::size_t n) {
  return kHead +
         each(n,
              [](std::size_t i) {
                return format(".func (.param .b32 o) f{}(.param .b32 a);\n", i);
              }) +
         each(n,
              [&](std::size_t i) {
                return function(i, "setp.eq.u32 %p1, %r0, 0;\n@%p1 bra E;\n" +
                                       call(format("f{}", (i + 1) % n)) + "E:\n");
              }) +
         kernel(each(n, [](std::size_t i) { return call(format("f{}", i)); }));
}

/// The kernel's calls through a register, which stands for one of `n` functions.
std::string indirect(std::size_t n, const std::string& named, const std::string& how) {
  return kHead +
         each(n, [](std::size_t i) { return function(i, format("add.u32 %r0, %r0, {};\n", i)); }) +
         format(".global .u64 table[{}] = {{", n) +
         each(n, [&](std::size_t i) { return format("f{}{}", i, i + 1 < n ? ", " : "};\n"); }) +
         kernel(named + each(n, [&](std::size_t i) {
                  return format(
                      "ld.global.u64 %rd1, [table+{}];\n{{ .param .b32 x; .param .b32 y; "
                      "st.param.b32 [x], %r0;\n"
                      "call (y), %rd1, (x), {};\nld.param.b32 %r0, [y]; }}\n",
                      i * 8, how);
                }));
}

std::string calls_by_prototype(std::size_t n) {
  return indirect(n, "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n", "P");
}

std::string calls_by_target_list(std::size_t n) {
  return indirect(
      n,
      "T: .calltargets " +
          each(n, [&](std::size_t i) { return format("f{}{}", i, i + 1 < n ? ", " : ";\n"); }),
      "T");
}

std::string undefined_functions(std::size_t n) {
  return kHead + each(n, [](std::size_t i) { return format(".extern .func f{}();\n", i); }) +
         kernel(each(n, [](std::size_t i) { return format("mov.u64 %rd1, f{};\n", i); }));
}

std::string kernels(std::size_t n) {
  return kHead + each(n, [](std::size_t i) {
           return kernel("add.u32 %r0, %r0, 1;\n", 8, format("k{}", i));
         });
}

std::string kernels_that_call_one_function(std::size_t n) {  // which is as long as all of them
  return kHead +
         function(
             0, each(n * 8,
                     [](std::size_t i) { return format("mad.lo.u32 %r0, %r0, %r0, {};\n", i); })) +
         each(n, [](std::size_t i) { return kernel(call("f0"), 8, format("k{}", i)); });
}

std::string parameters(std::size_t n) {
  return kHead + std::string(".visible .entry k(") +
         each(n,
              [&](std::size_t i) {
                return format(".param .u32 p{}{}", i, i + 1 < n ? ",\n" : ")\n");
              }) +
         "{ .reg .b32 %r<3>; .reg .b64 %rd<2>; mov.u32 %r0, 0; mov.u64 %rd0, 0;\n" +
         each(n,
              [](std::size_t i) {
                return format("ld.param.u32 %r1, [p{}]; add.u32 %r0, %r0, %r1;\n", i);
              }) +
         "st.global.u32 [%rd0], %r0; ret; }\n";
}

std::string arguments(std::size_t n) {
  const auto list = [&](const char* what) {
    return each(n, [&](std::size_t i) { return format("{}{}{}", what, i, i + 1 < n ? ", " : ""); });
  };
  return kHead +
         format(".func f({}) {{ .reg .b32 %r<2>; ld.param.u32 %r0, [a0];\nret; }}\n",
                list(".param .b32 a")) +
         kernel("{\n" +
                each(n,
                     [](std::size_t i) {
                       return format(".param .b32 b{0};\nst.param.b32 [b{0}], %r1;\n", i);
                     }) +
                "call f, (" + list("b") + ");\n}\n");
}

// Surfaces and textures.

std::string surface_reads(std::size_t n) {
  return kHead + std::string(".global .surfref s;\n") + kernel(each(n, [](std::size_t i) {
           return format("suld.b.2d.b32.trap %r0, [s, {{%r1, {}}}];\n", i);
         }));
}

std::string many_surfaces(std::size_t n) {
  return kHead + each(n, [](std::size_t i) { return format(".global .surfref s{};\n", i); }) +
         kernel(each(n, [](std::size_t i) {
           return format("sust.b.1d.b32.zero [s{}, {{%r1}}], %r1;\n", i);
         }));
}

std::string texture_reads(std::size_t n) {
  return kHead + std::string(".global .texref t;\n") +
         kernel(times(n, "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f0, %f1}];\n") +
                "cvt.rzi.u32.f32 %r0, %f0;\n");
}

std::string many_textures(std::size_t n) {
  return kHead + each(n, [](std::size_t i) { return format(".global .texref t{};\n", i); }) +
         kernel(each(n,
                     [](std::size_t i) {
                       return format(
                           "tex.2d.v4.f32.f32 {{%f0, %f1, %f2, %f3}}, [t{}, {{%f0, %f1}}];\n", i);
                     }) +
                "cvt.rzi.u32.f32 %r0, %f0;\n");
}

std::string texture_handles(std::size_t n) {
  return module(each(n,
                     [](std::size_t i) {
                       return format(
                           "ld.global.u64 %rd1, [%rd0+{}];\ntex.2d.v4.f32.f32 {{%f0, %f1, %f2, "
                           "%f3}}, [%rd1, {{%f0, %f1}}];\n",
                           i * 8);
                     }) +
                "cvt.rzi.u32.f32 %r0, %f0;\n");
}

// Instructions that expand to much.

/// Before kernels that have these instructions.
constexpr const char* kLargeHead =
    ".version 8.3\n.target sm_90\n.address_size 64\n.global .surfref picture;\n"
    ".shared .align 16 .b8 s[1024];\n";

std::string repeated(std::size_t n, const char* statement) {
  return kLargeHead + kernel(times(n, statement));
}

std::string reductions_on_volumes(std::size_t n) {
  return repeated(n, "sured.b.min.3d.u64.clamp [picture, {%r1, %r1, %r0, %r1}], %rd0;\n");
}

std::string vector_reductions(std::size_t n) {
  return repeated(n, "red.global.add.v4.f32 [%rd0], {%f0, %f1, %f2, %f3};\n");
}

std::string byte_permutations(std::size_t n) {
  return repeated(n, "prmt.b32 %r0, %r1, %r0, %r0;\n");
}

std::string half_pairs(std::size_t n) {
  return repeated(n, "fma.rn.relu.f16x2 %r0, %r0, %r1, %r0;\nadd.rn.bf16x2 %r0, %r0, %r1;\n");
}

std::string video(std::size_t n) {
  return repeated(n,
                  "vadd4.u32.u32.u32.sat %r0, %r0, %r1, %r0;\n"
                  "vabsdiff.s32.u32.s32.sat.max %r0, %r0.h1, %r1.b2, %r0;\n");
}

std::string stack_allocations(std::size_t n) { return repeated(n, "alloca.u64 %rd1, 16, 8;\n"); }

std::string asynchronous_copies(std::size_t n) {
  return repeated(n, "cp.async.cg.shared.global [s], [%rd0], 16, %r1;\n");
}

std::string waits_at_objects(std::size_t n) {
  return repeated(n, "mbarrier.try_wait.shared.b64 %p1, [s], %rd0;\n");
}

std::string waits_in_loops(std::size_t n) {
  return kLargeHead + kernel(each(n, [](std::size_t i) {
           return format("L{0}:\nmbarrier.try_wait.shared.b64 %p1, [s], %rd0;\n@!%p1 bra L{0};\n",
                         i);
         }));
}

std::string barrier_votes(std::size_t n) {
  return repeated(n, "barrier.cta.red.and.pred %p1, %r1, %p0;\n");
}

std::string loops_of_shared_atomics(std::size_t n) {
  return kLargeHead + kernel(each(n, [](std::size_t i) {
           return format(
               "L{0}:\natom.shared.add.f64 %fd1, [s], %fd1;\nsetp.lt.f64 %p1, %fd1, %fd0;\n"
               "@%p1 bra L{0};\n",
               i);
         }));
}

/// Kernels of the same statements, so that what each of them may cost adds up.
std::string kernels_of(std::size_t n, const std::string& statements) {
  return kLargeHead +
         each(n, [&](std::size_t i) { return kernel(statements, 8, format("k{}", i)); });
}

std::string kernels_that_read_textures(std::size_t n) {
  return kernels_of(
      n, times(6, "tex.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f0, %f1, %f2, %f3}];\n") +
             "cvt.rzi.u32.f32 %r0, %f0;\n");
}

std::string kernels_that_wait(std::size_t n) {
  return kernels_of(n, times(20, "mbarrier.try_wait.shared.b64 %p1, [s], %rd0;\n"));
}

// Text and declarations.

std::string comments(std::size_t n) {
  return kHead + times(n, "// nothing\n/* and * nothing */\n") + kernel("");
}

std::string blanks(std::size_t n) { return kHead + std::string(n * 16, ' ') + kernel(""); }

std::string registers(std::size_t n) {
  return module(each(n, [](std::size_t i) { return format(".reg .b32 name{};\n", i); }));
}

std::string nested_scopes(std::size_t n) {
  return module(each(n, [](std::size_t i) { return format("{{ .reg .b32 x{};\n", i); }) +
                std::string(n, '}') + "\n");
}

std::string scopes_in_a_row(std::size_t n) {
  return module(times(n, "{ .reg .b32 x; mov.u32 x, %r0; add.u32 %r0, x, 1; }\n"));
}

std::string variables(std::size_t n) {
  return kHead + each(n, [](std::size_t i) { return format(".global .u32 g{} = {};\n", i, i); }) +
         kernel(each(n, [](std::size_t i) { return format("ld.global.u32 %r0, [g{}];\n", i); }));
}

std::string pointers(std::size_t n) {
  return kHead +
         each(n,
              [](std::size_t i) {
                return format(".global .u64 g{}{};\n", i, i ? format(" = g{}", i - 1) : " = 0");
              }) +
         kernel("");
}

std::string numbers(std::size_t n) {
  return kHead + format(".global .u32 g[{}] = {{", n) +
         each(n, [&](std::size_t i) { return format("{}{}", i, i + 1 < n ? ", " : "};\n"); }) +
         kernel("");
}

std::string sums_of_constants(std::size_t n) {
  return kHead + std::string(".global .u32 g = 0") +
         each(n, [](std::size_t i) { return format("+{}", i); }) + ";\n" + kernel("");
}

std::string source_lines(std::size_t n) {
  return kHead + std::string(".file 1 \"a.cu\"\n") + kernel(each(n, [](std::size_t i) {
           return format(".loc 1 {} 3\nst.global.u32 [%rd0+{}], %r1;\n", i, i * 4);
         }));
}

std::string source_files(std::size_t n) {
  return kHead + each(n, [](std::size_t i) { return format(".file {0} \"a{0}.cu\"\n", i + 1); }) +
         kernel(each(n, [](std::size_t i) {
           return format(".loc {} 5 3\nsuld.b.1d.b32.trap %r0, [%rd0, {{%r1}}];\n", i + 1);
         }));
}

std::string files_and_kernels(std::size_t n) {
  return kHead + each(n, [](std::size_t i) { return format(".file {0} \"a{0}.cu\"\n", i + 1); }) +
         each(n, [](std::size_t i) {
           return kernel(format(".loc {} 5 3\n", i + 1), 8, format("k{}", i));
         });
}

std::string inlined_lines(std::size_t n) {
  const auto line = [](std::size_t i) {
    return format(".loc 1 {} 3, function_name F, inlined_at 1 {} 3\n", i + 2, i + 1) +
           "suld.b.1d.b32.trap %r0, [%rd0, {%r1}];\n";
  };
  return kHead + std::string(".file 1 \"a.cu\"\n") + kernel(".loc 1 1 3\n" + each(n, line)) +
         ".section .debug_str\n{\nF:\n.b8 102, 0\n}\n";
}

std::string errors(std::size_t n) {
  return module(
      each(n, [](std::size_t i) { return format("add.u32 %r0, %r0, undeclared{};\n", i); }));
}

std::string string_calls(std::size_t n) {
  const std::string call =
      "st.param.b64 [x], %rd1; st.param.b64 [y], 0; call (z), vprintf, (x, y);\n";
  return kHead +
         std::string(
             ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
             ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n") +
         kernel(
             "{ .param .b64 x; .param .b64 y; .param .b32 z; mov.u64 %rd1, text;\n"
             "cvta.global.u64 %rd1, %rd1;\n" +
             times(n, call) + "}\n");
}

}  // namespace

std::vector<Family> families() {
  return {
#define FAMILY(n, name) {#name, n, name, false}
#define EVERYWHERE(n, name) \
  { #name, n, name, true }
      FAMILY(4000, additions),
      FAMILY(4000, moves),
      FAMILY(1000, negated_factors),
      EVERYWHERE(500, double_divisions),
      FAMILY(2000, float_sums),
      EVERYWHERE(1000, wide_products),
      FAMILY(2000, selections),
      FAMILY(2000, wide_values),
      FAMILY(2000, loads_and_stores),
      EVERYWHERE(1000, bytes_in_shared),
      EVERYWHERE(500, atomics),
      FAMILY(1000, vectors),
      FAMILY(1000, branches_in_a_row),
      FAMILY(1000, branches_to_one_end),
      EVERYWHERE(500, nested_ifs),
      EVERYWHERE(500, nested_loops),
      FAMILY(1000, loops_in_a_row),
      EVERYWHERE(200, counters_of_nested_loops),
      FAMILY(1000, values_through_diamonds),
      FAMILY(500, tangle),
      EVERYWHERE(1000, tangle_of_values),
      FAMILY(1000, switch_of_many),
      EVERYWHERE(200, every_block_to_every_block),
      FAMILY(1000, switches_of_few),
      FAMILY(4000, labels),
      EVERYWHERE(2000, predicated),
      EVERYWHERE(500, barriers_in_a_row),
      EVERYWHERE(200, nested_barriers),
      EVERYWHERE(200, divergent_barriers),
      EVERYWHERE(600, values_across_barriers),
      EVERYWHERE(200, shuffles),
      EVERYWHERE(500, branches_by_branches),
      EVERYWHERE(300, loops_by_loops),
      EVERYWHERE(100, switch_of_shuffles),
      EVERYWHERE(500, waits),
      EVERYWHERE(500, locks),
      FAMILY(500, each_calls_the_one_before),
      FAMILY(1500, each_calls_the_one_before_twice),
      EVERYWHERE(200, ring),
      FAMILY(300, ring_entered_everywhere),
      FAMILY(300, calls_by_prototype),
      FAMILY(300, calls_by_target_list),
      FAMILY(2000, undefined_functions),
      FAMILY(1000, many_functions),
      FAMILY(2000, functions_of_no_kernel),
      FAMILY(1000, one_function_called_often),
      FAMILY(300, kernels),
      FAMILY(100, kernels_that_call_one_function),
      FAMILY(500, parameters),
      FAMILY(1000, arguments),
      EVERYWHERE(300, surface_reads),
      FAMILY(200, many_surfaces),
      FAMILY(50, texture_reads),
      FAMILY(50, many_textures),
      EVERYWHERE(50, texture_handles),
      EVERYWHERE(60, reductions_on_volumes),
      FAMILY(300, vector_reductions),
      FAMILY(1000, byte_permutations),
      FAMILY(400, half_pairs),
      FAMILY(500, video),
      FAMILY(300, stack_allocations),
      FAMILY(300, asynchronous_copies),
      FAMILY(300, waits_at_objects),
      FAMILY(200, waits_in_loops),
      FAMILY(300, barrier_votes),
      FAMILY(200, loops_of_shared_atomics),
      FAMILY(8, kernels_that_read_textures),
      FAMILY(20, kernels_that_wait),
      FAMILY(8000, comments),
      FAMILY(20000, blanks),
      FAMILY(4000, registers),
      FAMILY(100, nested_scopes),
      FAMILY(2000, scopes_in_a_row),
      FAMILY(2000, variables),
      FAMILY(2000, pointers),
      FAMILY(8000, numbers),
      FAMILY(8000, sums_of_constants),
      FAMILY(2000, source_lines),
      FAMILY(1000, source_files),
      FAMILY(300, files_and_kernels),
      FAMILY(500, inlined_lines),
      FAMILY(2000, errors),
      EVERYWHERE(300, string_calls),
#undef FAMILY
#undef EVERYWHERE
  };
}

}  // namespace ptx2spv::programs
