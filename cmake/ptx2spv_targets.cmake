# ptx2spv_setup(target): the language level, warnings, sanitizers and include root of every target.
function(ptx2spv_setup target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${PTX2SPV_COMPILE_OPTIONS})
  target_link_options(${target} PUBLIC ${PTX2SPV_LINK_OPTIONS})
  # Internal headers are named from the repository's root: "translator/ir/ir.hpp".
  target_include_directories(${target} PRIVATE "${ptx2spv_SOURCE_DIR}")
endfunction()
