# Writes OUTPUT, a C++ file with a digest of every source of the translator: translations that
# another build left in a cache are not this build's.
file(STRINGS "${LIST}" sources)
set(all "")
foreach(source IN LISTS sources)
  file(SHA256 "${source}" digest)
  string(APPEND all "${digest}")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING "${id}" 0 32 id)
set(text "#include \"ptx2spv/translator.hpp\"\n\n")
string(APPEND text "std::string_view ptx2spv::build_id() { return \"${id}\"; }\n")
file(WRITE "${OUTPUT}" "${text}")
