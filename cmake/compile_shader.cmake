# cmake -D INPUT= -D OUTPUT= -D NAME= -D GLSLANG= -D SPIRV_OPT= -P compile_shader.cmake
#
# Compiles one GLSL library to SPIR-V and writes it as a C++ array. Uncalled functions and all names
# must survive, because the translator finds the functions by name: so no pass runs that starts from
# the entry points (dead code, dead functions, exhaustive inlining).

get_filename_component(folder "${OUTPUT}" DIRECTORY)
set(raw "${folder}/${NAME}.raw.spv")
set(opt "${folder}/${NAME}.spv")

execute_process(
  COMMAND "${GLSLANG}" --quiet --target-env vulkan1.2 --keep-uncalled -V -o "${raw}" "${INPUT}"
  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(status)
  message(FATAL_ERROR "glslang refuses ${INPUT}\n${text}")
endif()
execute_process(
  COMMAND "${SPIRV_OPT}" --target-env=vulkan1.2 --eliminate-local-single-block
          --eliminate-local-single-store --ssa-rewrite --ccp --simplify-instructions
          --eliminate-dead-branches --merge-blocks --redundancy-elimination
          --simplify-instructions "${raw}" -o "${opt}"
  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(status)
  message(FATAL_ERROR "spirv-opt refuses ${raw}\n${text}")
endif()

file(READ "${opt}" hex HEX)
# SPIR-V is little-endian in the file; the array holds words.
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${hex}")
string(REGEX REPLACE "(0x........,0x........,0x........,0x........,0x........,0x........,0x........,0x........,)"
       "\\1\n" words "${words}")
file(WRITE "${OUTPUT}"
"#include \"shaders/library.hpp\"

namespace ptx2spv::shaders {
namespace {
constexpr std::uint32_t words[] = {
${words}
};
}

std::span<const std::uint32_t> ${NAME}_words() { return words; }

}  // namespace ptx2spv::shaders
")
