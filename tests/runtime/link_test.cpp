// Several PTX files as one module: what a name means across them, and what is refused.
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

const std::string kHead = ".version 8.3\n.target sm_80\n.address_size 64\n";

struct File {
  std::string name, body;
};

Result<Module> link(std::vector<File> files) {
  for (File& file : files) file.body = kHead + file.body;
  std::vector<PtxModule::Input> inputs;
  for (const File& file : files) inputs.push_back({file.body, file.name});
  return Module::load(test_device(), inputs);
}

// Calls f, reads x and y, and calls by way of a pointer what f's module has chosen.
const File kMain = {"main.ptx", R"(
.extern .global .align 4 .u32 x;
.extern .const .align 4 .b8 y[];
.extern .func (.param .b32 out) f(.param .b32 a, .param .align 8 .b8 pair[16]);
.extern .func (.param .b64 out) choose();
.func (.param .b32 out) own(.param .b32 a) {
  .reg .b32 %r;
  ld.param.b32 %r, [a];
  mul.lo.u32 %r, %r, 3;
  st.param.b32 [out], %r;
  ret;
}
.visible .global .align 8 .u64 table[1] = {own};
.visible .entry k(.param .u64 to) {
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, 5;
  mov.u64 %d1, 7000;
  {
    .param .b32 a;
    .param .align 8 .b8 pair[16];
    .param .b32 result;
    st.param.b32 [a], %r0;
    st.param.b64 [pair], %d1;
    st.param.b64 [pair+8], %d1;
    call (result), f, (a, pair);
    ld.param.b32 %r1, [result];
  }
  st.global.u32 [%d0], %r1;
  ld.global.u32 %r2, [x];
  st.global.u32 [%d0+4], %r2;
  ld.const.u32 %r3, [y+4];
  st.global.u32 [%d0+8], %r3;
  {
    .param .b64 result;
    call (result), choose, ();
    ld.param.b64 %d2, [result];
  }
  {
    .param .b32 a;
    .param .b32 result;
    st.param.b32 [a], %r0;
    shape: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (result), %d2, (a), shape;
    ld.param.b32 %r4, [result];
  }
  st.global.u32 [%d0+12], %r4;
  ret;
}
)"};
const File kLibrary = {"library.ptx", R"(
.visible .global .align 4 .u32 x = 40;
.visible .const .align 4 .u32 y[2] = {1, 2};
.global .align 4 .u32 hidden = 100;
.extern .global .align 8 .b8 table[];
.visible .func (.param .b32 out) f(.param .b32 a, .param .align 8 .b8 pair[16]) {
  .reg .b32 %r<4>;
  ld.param.b32 %r0, [a];
  ld.param.b32 %r1, [pair+8];
  ld.global.u32 %r2, [hidden];
  add.u32 %r0, %r0, %r1;
  add.u32 %r0, %r0, %r2;
  atom.global.add.u32 %r1, [x], 2;
  st.param.b32 [out], %r0;
  ret;
}
.visible .func (.param .b64 out) choose() {
  .reg .b64 %d;
  ld.global.u64 %d, [table];
  st.param.b64 [out], %d;
  ret;
}
)"};
// The same names without linkage are other things.
const File kUnrelated = {"unrelated.ptx", R"(
.global .align 4 .u32 hidden = 900;
.func (.param .b32 out) own(.param .b32 a) {
  .reg .b32 %r;
  mov.u32 %r, 0;
  st.param.b32 [out], %r;
  ret;
}
)"};

TEST(Linking, FunctionsAndVariablesOfOtherFiles) {
  for (const auto& files :
       {std::vector<File>{kMain, kLibrary, kUnrelated}, {kUnrelated, kLibrary, kMain}}) {
    Module module = must(link(files));
    Kernel kernel = must(module.kernel("k"));
    Buffer buffer = must(Buffer::create(test_device(), 16));
    must(kernel.launch({}, Args().buffer(buffer)));
    EXPECT_EQ(read_buffer<std::uint32_t>(buffer, 4), (std::vector<std::uint32_t>{7105, 42, 2, 15}));
  }
}

std::uint32_t value_of(std::vector<File> definitions) {
  definitions.insert(definitions.begin(), {"reader.ptx", R"(
.extern .global .align 4 .u32 v;
.extern .func (.param .b32 out) g();
.visible .entry read(.param .u64 to) {
  .reg .b32 %r<3>;
  .reg .b64 %d;
  ld.param.u64 %d, [to];
  {
    .param .b32 result;
    call (result), g, ();
    ld.param.b32 %r0, [result];
  }
  ld.global.u32 %r1, [v];
  add.u32 %r0, %r0, %r1;
  st.global.u32 [%d], %r0;
  ret;
}
)"});
  Module module = must(link(std::move(definitions)));
  Kernel kernel = must(module.kernel("read"));
  Buffer buffer = must(Buffer::create(test_device(), 4));
  must(kernel.launch({}, Args().buffer(buffer)));
  return read_buffer<std::uint32_t>(buffer, 1)[0];
}

File defines(const std::string& name, const std::string& linkage, int v, int g) {
  return {name, linkage + ".global .align 4 .u32 v = " + std::to_string(v) + ";\n" + linkage +
                    ".func (.param .b32 out) g() {\n  .reg .b32 %r;\n  mov.u32 %r, " +
                    std::to_string(g) + ";\n  st.param.b32 [out], %r;\n  ret;\n}\n"};
}

TEST(Linking, StrongBeforeWeakAndTheFirstOfWeakOnes) {
  EXPECT_EQ(value_of({defines("a.ptx", ".weak ", 1, 10), defines("b.ptx", ".visible ", 2, 20)}),
            22u);
  EXPECT_EQ(value_of({defines("a.ptx", ".visible ", 1, 10), defines("b.ptx", ".weak ", 2, 20)}),
            11u);
  EXPECT_EQ(value_of({defines("a.ptx", ".weak ", 1, 10), defines("b.ptx", ".weak ", 2, 20)}), 11u);
}

TEST(Linking, CommonVariablesShareTheLargest) {
  const std::string writes = R"(
.visible .entry write() {
  .reg .b32 %r;
  mov.u32 %r, 77;
  st.global.u32 [both], %r;
  ret;
}
)";
  Module module = must(link({{"a.ptx", ".common .global .align 4 .u32 both;" + writes},
                             {"b.ptx", ".common .global .align 4 .b8 both[16];"}}));
  EXPECT_EQ(must(module.global_size("both")), 16u);
  must(must(module.kernel("write")).launch({}, {}));
  std::vector<std::uint32_t> value(4);
  must(module.get_global("both", writable(value)));
  EXPECT_EQ(value, (std::vector<std::uint32_t>{77, 0, 0, 0}));
}

TEST(Linking, AWeakKernelOfTwoFilesIsOne) {
  const std::string kernel = ".weak .entry same(.param .u64 to) {\n  ret;\n}\n";
  Module module = must(link({{"a.ptx", kernel}, {"b.ptx", kernel}}));
  Kernel same = must(module.kernel("same"));
  Buffer buffer = must(Buffer::create(test_device(), 4));
  must(same.launch({}, Args().buffer(buffer)));
}

std::string refusal(std::vector<File> files) {
  const auto module = link(std::move(files));
  if (module) return "linked";
  std::string text;
  for (const Message& message : module.error().messages) text += message.rendered + "\n";
  return text + module.error().text;
}

TEST(Linking, TwoDefinitionsAreAnErrorThatNamesBothFiles) {
  const std::string text =
      refusal({defines("a.ptx", ".visible ", 1, 10), defines("b.ptx", ".visible ", 2, 20), kMain});
  EXPECT_NE(text.find("b.ptx:4:"), std::string::npos) << text;
  EXPECT_NE(text.find("variable 'v' is defined in a.ptx, line 4, too"), std::string::npos) << text;
  EXPECT_NE(text.find("function 'g' is defined in a.ptx, line 5, too"), std::string::npos) << text;
  const std::string kernels =
      refusal({kMain, kLibrary, {"other.ptx", ".visible .entry k() { ret; }\n"}});
  EXPECT_NE(kernels.find("kernel 'k' is defined in main.ptx, line"), std::string::npos) << kernels;
}

TEST(Linking, DeclarationsAgreeWithTheDefinition) {
  const auto with = [&](const std::string& declaration) {
    return refusal({{"user.ptx", declaration + "\n.visible .entry nothing() { ret; }\n"},
                    defines("a.ptx", ".visible ", 1, 10)});
  };
  EXPECT_NE(
      with(".extern .global .u64 v;").find("variable 'v' has 8 bytes, but 4 in a.ptx, line 4"),
      std::string::npos);
  EXPECT_NE(
      with(".extern .const .u32 v;").find("variable 'v' is in .const, but in .global in a.ptx"),
      std::string::npos);
  EXPECT_NE(with(".extern .global .u32 g;").find("variable 'g' is a function in a.ptx, line 5"),
            std::string::npos);
  EXPECT_NE(with(".extern .func (.param .b64 out) g();")
                .find("function 'g' has other parameters or results than in a.ptx"),
            std::string::npos);
  EXPECT_EQ(with(".extern .global .align 4 .b8 v[];"), "linked");
}

TEST(Linking, WhatNoFileDefinesIsNamed) {
  const std::string text = refusal({kMain, {"b.ptx", ".visible .global .align 4 .u32 x = 1;\n"}});
  EXPECT_NE(text.find("no module defines it: 'f', 'y', 'choose'"), std::string::npos) << text;
  // A declaration alone asks for nothing.
  EXPECT_EQ(refusal({{"a.ptx",
                      ".extern .func unused();\n.extern .global .u32 gone;\n.visible .entry e() { "
                      "ret; }\n"}}),
            "linked");
}

}  // namespace
}  // namespace ptx2spv
