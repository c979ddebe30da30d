#include "translator/backend/host/debug_lines.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

namespace ptx2spv::interpreter::llvm {

namespace {

/// Numbers of LLVM's and DWARF's.
constexpr int kLanguageC99 = 11, kFullDebug = 1, kWarning = 1;
constexpr unsigned kMetadataVersion = 3, kDwarf = 4;

}  // namespace

DebugLines::DebugLines(Build& build, const Program& program, std::uint32_t first_line)
    : b_(build), builder_(build.l.CreateDIBuilder(build.module)), line_(first_line) {
  const Api& l = b_.l;
  const std::string name = code_name(program), producer = "ptx2spv";
  LLVMMetadataRef file =
      l.DIBuilderCreateFile(builder_, program.file.data(), program.file.size(), ".", 1);
  l.DIBuilderCreateCompileUnit(builder_, kLanguageC99, file, producer.data(), producer.size(), 1,
                               "", 0, 0, "", 0, kFullDebug, 0, 0, 0, "", 0, "", 0);
  LLVMMetadataRef type = l.DIBuilderCreateSubroutineType(builder_, file, nullptr, 0, 0);
  function_ =
      l.DIBuilderCreateFunction(builder_, file, name.data(), name.size(), name.data(), name.size(),
                                file, first_line, type, 0, 1, first_line, 0, 1);
  l.SetSubprogram(b_.function, function_);
  const auto flag = [&](const char* key, unsigned value) {
    l.AddModuleFlag(b_.module, kWarning, key, std::strlen(key), l.ValueAsMetadata(b_.c32(value)));
  };
  flag("Debug Info Version", kMetadataVersion);
  flag("Dwarf Version", kDwarf);
  at({.line = first_line});
}

void DebugLines::at(const ir::Loc& loc) {
  // Instructions of other files' functions keep the line of what called them.
  if (loc.line != 0 && loc.module == 0) line_ = loc.line;
  b_.l.SetCurrentDebugLocation2(
      b_.b, b_.l.DIBuilderCreateDebugLocation(b_.context, line_, loc.column, function_, nullptr));
}

/// No function of the process has such a name.
std::string code_name(const Program& program) { return "ptx." + program.name; }

void list_for_perf(const std::string& name, std::uint64_t address,
                   std::span<const std::byte> object) {
  Elf64_Ehdr head{};
  const auto copy = [&](auto& to, std::size_t at) {
    const bool fits = at <= object.size() && object.size() - at >= sizeof to;
    if (fits) std::memcpy(&to, object.data() + at, sizeof to);
    return fits;
  };
  if (!copy(head, 0)) return;
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!copy(section, head.e_shoff + i * sizeof section) || section.sh_type != SHT_SYMTAB)
      continue;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol{};
      // The object has one function.
      if (!copy(symbol, section.sh_offset + at) || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
        continue;
      const int file = open(fmt::format("/tmp/perf-{}.map", getpid()).c_str(),
                            O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (file < 0) return;
      const std::string line = fmt::format("{:x} {:x} {}\n", address, symbol.st_size, name);
      // A profile without the name is all that is lost.
      [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
      close(file);
    }
  }
}

}  // namespace ptx2spv::interpreter::llvm
