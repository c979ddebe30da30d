// Linking of library functions, against a small library written here and the one that is built in.
#include "translator/backend/spirv/library.hpp"

#include <gtest/gtest.h>

#include "tests/spirv/emit_fixture.hpp"

namespace ptx2spv::test {
namespace {

// inner is called by outer; unused is called by nobody; both overloads of same exist; global is not
// linkable.
constexpr const char* kLibrary = R"(
               OpCapability Shader
          %glsl = OpExtInstImport "GLSL.std.450"
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main "main"
               OpExecutionMode %main LocalSize 1 1 1
               OpName %main "main"
               OpName %inner "inner(u1;"
               OpName %outer "outer(u1;vu2;"
               OpName %unused "unused(u1;"
               OpName %same_a "same(u1;"
               OpName %same_b "same(vu2;"
               OpName %global "global(u1;"
               OpDecorate %sum NoContraction
       %void = OpTypeVoid
         %fn = OpTypeFunction %void
       %bool = OpTypeBool
       %uint = OpTypeInt 32 0
        %int = OpTypeInt 32 1
      %float = OpTypeFloat 32
     %v2uint = OpTypeVector %uint 2
     %v2bool = OpTypeVector %bool 2
      %fn_u = OpTypeFunction %uint %uint
      %fn_uv = OpTypeFunction %v2uint %uint %v2uint
      %fn_v = OpTypeFunction %v2uint %v2uint
        %one = OpConstant %uint 1
      %three = OpConstant %int 3
        %odd = OpConstant %uint 7777
    %private = OpTypePointer Private %uint
        %var = OpVariable %private Private
       %main = OpFunction %void None %fn
         %m0 = OpLabel
               OpReturn
               OpFunctionEnd
      %inner = OpFunction %uint None %fn_u
         %ia = OpFunctionParameter %uint
         %i0 = OpLabel
         %if = OpBitcast %float %ia
        %sum = OpFAdd %float %if %if
         %is = OpBitcast %int %sum
         %ic = OpExtInst %int %glsl SMin %is %three
         %ir = OpBitcast %uint %ic
               OpReturnValue %ir
               OpFunctionEnd
      %outer = OpFunction %v2uint None %fn_uv
         %oa = OpFunctionParameter %uint
         %ob = OpFunctionParameter %v2uint
         %o0 = OpLabel
         %oc = OpCompositeExtract %uint %ob 1
         %od = OpIEqual %bool %oc %one
               OpSelectionMerge %o3 None
               OpSwitch %oa %o2 7 %o1 9 %o1
         %o1 = OpLabel
         %oe = OpFunctionCall %uint %inner %oa
               OpBranch %o3
         %o2 = OpLabel
               OpBranch %o3
         %o3 = OpLabel
         %of = OpPhi %uint %oe %o1 %one %o2
         %og = OpCompositeInsert %v2uint %of %ob 1
         %oi = OpCompositeConstruct %v2bool %od %od
         %oh = OpSelect %v2uint %oi %og %ob
               OpReturnValue %oh
               OpFunctionEnd
     %unused = OpFunction %uint None %fn_u
         %ua = OpFunctionParameter %uint
         %u0 = OpLabel
         %ub = OpIAdd %uint %ua %odd
               OpReturnValue %ub
               OpFunctionEnd
     %same_a = OpFunction %uint None %fn_u
         %sa = OpFunctionParameter %uint
         %s0 = OpLabel
               OpReturnValue %sa
               OpFunctionEnd
     %same_b = OpFunction %v2uint None %fn_v
         %ta = OpFunctionParameter %v2uint
         %t0 = OpLabel
         %tb = OpVectorShuffle %v2uint %ta %ta 1 0
               OpReturnValue %tb
               OpFunctionEnd
     %global = OpFunction %uint None %fn_u
         %ga = OpFunctionParameter %uint
         %g0 = OpLabel
         %gb = OpLoad %uint %var
               OpReturnValue %gb
               OpFunctionEnd
)";

/// A module with one entry that calls `callee` with constants.
std::vector<std::uint32_t> finish(spirv::Builder& b, spirv::Id callee, spirv::Id result,
                                  std::initializer_list<spirv::Id> parameters) {
  using namespace spirv;
  Words& code = b.functions();
  const Id function = b.id(), label = b.id(), called = b.id();
  put(code, spv::Op::OpFunction, b.type_void(), function, 0u, b.type_function(b.type_void()));
  put(code, spv::Op::OpLabel, label);
  Words arguments;
  for (const Id type : parameters) arguments.push_back(b.constant_null(type));
  put_list(code, spv::Op::OpFunctionCall, arguments, result, called, callee);
  put(code, spv::Op::OpReturn);
  put(code, spv::Op::OpFunctionEnd);
  b.entry_point(function, "main", {});
  b.execution_mode(function, spv::ExecutionMode::LocalSize, 1u, 1u, 1u);
  return b.finish();
}

TEST(Library, a_function_may_stay_a_call_while_those_that_it_calls_do_not) {
  const auto words = assemble_spirv(kLibrary);
  const spirv::Library library(words);
  spirv::Builder b;
  const spirv::Id uint = b.type_uint(), pair = b.type_uvec(2);
  std::string error;
  const spirv::Id outer = library.link(b, "outer", b.type_function(pair, {uint, pair}), error,
                                       spv::FunctionControlMask::DontInline);
  ASSERT_NE(outer, 0u) << error;
  const auto module = finish(b, outer, pair, {uint, pair});
  const std::string text = disassemble_spirv(module);
  EXPECT_EQ(validate_spirv(module), "") << text;
  EXPECT_NE(text.find("%outer = OpFunction %v2uint DontInline"), std::string::npos) << text;
  EXPECT_NE(text.find("%inner = OpFunction %uint None"), std::string::npos) << text;
}

TEST(Library, a_function_brings_what_it_needs_and_nothing_else) {
  const auto words = assemble_spirv(kLibrary);
  const spirv::Library library(words);
  spirv::Builder b;
  const spirv::Id uint = b.type_uint(), pair = b.type_uvec(2);
  std::string error;
  const spirv::Id type = b.type_function(pair, {uint, pair});
  const spirv::Id outer = library.link(b, "outer", type, error);
  ASSERT_NE(outer, 0u) << error;
  EXPECT_EQ(library.link(b, "outer", type, error), outer) << "linked twice";
  const auto module = finish(b, outer, pair, {uint, pair});
  const std::string text = disassemble_spirv(module);
  EXPECT_EQ(validate_spirv(module), "") << text;
  EXPECT_NE(text.find("%inner = OpFunction"), std::string::npos);
  EXPECT_EQ(text.find("7777"), std::string::npos) << "a constant of an unused function";
  EXPECT_NE(text.find("NoContraction"), std::string::npos) << "decorations of results are kept";
  EXPECT_EQ(text.find("OpTypeInt 32 0"), text.rfind("OpTypeInt 32 0")) << "types are not doubled";
}

TEST(Library, the_type_picks_among_functions_of_one_name) {
  const auto words = assemble_spirv(kLibrary);
  const spirv::Library library(words);
  spirv::Builder b;
  const spirv::Id uint = b.type_uint(), pair = b.type_uvec(2);
  std::string error;
  const spirv::Id a = library.link(b, "same", b.type_function(uint, {uint}), error);
  const spirv::Id c = library.link(b, "same", b.type_function(pair, {pair}), error);
  EXPECT_NE(a, 0u);
  EXPECT_NE(c, 0u);
  EXPECT_NE(a, c);
  EXPECT_EQ(library.link(b, "same", b.type_function(pair, {uint}), error), 0u);
  EXPECT_EQ(error, "library function same is not declared with the types of its use");
  EXPECT_EQ(library.link(b, "none", b.type_function(pair, {uint}), error), 0u);
  EXPECT_EQ(error, "the shader library has no function none");
  EXPECT_EQ(library.link(b, "global", b.type_function(uint, {uint}), error), 0u);
  EXPECT_EQ(error, "library function global uses a global variable");
}

// Every function of the built-in library must be callable with the types that the IR has.
TEST(Library, every_built_in_function_links_and_is_valid) {
  const spirv::Library& library = spirv::Library::embedded();
  spirv::Builder b;
  const spirv::Id types[] = {b.type_uint(), b.type_bool(), b.type_uvec(2), b.type_uvec(4)};
  std::size_t linked = 0;
  spirv::Id last = 0, last_result = 0;
  std::vector<spirv::Id> last_parameters;
  std::string error;
  for (const std::string_view name : library.names()) {
    if (name == "main") continue;
    bool found = false;
    for (unsigned count = 1; count <= 4 && !found; ++count) {
      for (unsigned combination = 0; combination < 1u << (2 * count + 2) && !found; ++combination) {
        spirv::Words signature{types[combination & 3]};
        for (unsigned i = 0; i < count; ++i)
          signature.push_back(types[combination >> (2 * i + 2) & 3]);
        const spirv::Id function =
            library.link(b, name, b.global(spv::Op::OpTypeFunction, 0, signature), error);
        if (function == 0) continue;
        found = true;
        ++linked;
        last = function;
        last_result = signature[0];
        last_parameters.assign(signature.begin() + 1, signature.end());
      }
    }
    // Helpers with other types (float, int, more parameters) are reached through the others.
  }
  if (linked == 0) GTEST_SKIP() << "the library has no functions of the IR's types";
  spirv::Words& code = b.functions();
  const spirv::Id function = b.id(), label = b.id(), called = b.id();
  spirv::Words arguments;
  for (const spirv::Id type : last_parameters) arguments.push_back(b.constant_null(type));
  spirv::put(code, spv::Op::OpFunction, b.type_void(), function, 0u,
             b.type_function(b.type_void()));
  spirv::put(code, spv::Op::OpLabel, label);
  spirv::put_list(code, spv::Op::OpFunctionCall, arguments, last_result, called, last);
  spirv::put(code, spv::Op::OpReturn);
  spirv::put(code, spv::Op::OpFunctionEnd);
  b.entry_point(function, "main", {});
  b.execution_mode(function, spv::ExecutionMode::LocalSize, 1u, 1u, 1u);
  const auto module = b.finish();
  EXPECT_EQ(validate_spirv(module), "") << disassemble_spirv(module);
}

}  // namespace
}  // namespace ptx2spv::test
