# cmake -D INPUT= -D OUTPUT= -D HOST= -D NAME= -D GLSLANG= -D EMBED= -P compile_shader.cmake
#
# Compiles one GLSL library to SPIR-V and writes it, optimised, as a C++ array. Uncalled functions
# and all names survive, because the translator finds the functions by name.

get_filename_component(folder "${OUTPUT}" DIRECTORY)
set(module "${folder}/${NAME}.spv")

function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(status)
    message(FATAL_ERROR "${what} failed on ${INPUT}\n${text}")
  endif()
endfunction()

step("glslang" "${GLSLANG}" --quiet --target-env vulkan1.1 --keep-uncalled -V
     -o "${module}" "${INPUT}")
step("embed" ${EMBED} "${module}" "${OUTPUT}" "${NAME}" "${HOST}")
