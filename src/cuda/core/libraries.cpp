// Code as programs give it, and libraries: code that each context loads when it first asks for some
// of it.
#include <cstring>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"
#include "src/files.hpp"

namespace ptx2spv::cuda {

namespace {

// What cuLinkComplete gives is read back by cuModuleLoadData: this, then each text's name and
// bytes.
constexpr std::string_view kLinked = "//ptx2spv linked texts\n";

/// The texts that join_texts() put together; false: `image` is something else, or damaged.
bool split(std::string_view image, std::vector<Image::Text>& texts) {
  if (!image.starts_with(kLinked)) return false;
  image.remove_prefix(kLinked.size());
  while (!image.empty()) {
    const std::size_t line = image.find('\n');
    std::size_t bytes = 0;
    if (!image.starts_with("//") || line == std::string_view::npos) return false;
    const std::string head(image.substr(2, line - 2));
    int name = 0;
    if (std::sscanf(head.c_str(), "%zu %n", &bytes, &name) != 1) return false;
    image.remove_prefix(line + 1);
    if (bytes >= image.size()) return false;
    texts.push_back(
        {head.substr(static_cast<std::size_t>(name)), std::string(image.substr(0, bytes)), 0});
    image.remove_prefix(bytes + 1);
  }
  return true;
}

}  // namespace

std::string join_texts(const std::vector<Image::Text>& inputs) {
  std::string joined(kLinked);
  for (const Image::Text& each : inputs)
    joined += fmt::format("//{} {}\n{}\n", each.text.size(), each.file, each.text);
  return joined;
}

CUresult read_code(const char* path, std::string& bytes) {
  const std::string why = runtime::read_file(path, runtime::kMostProgram, bytes);
  return why.empty() ? eSuccess
                     : fail(eFileNotFound, fmt::format("{} cannot be read: {}", path, why));
}

CUresult read_module(const void* data, std::size_t bytes, const std::string& file, Image& image) {
  if (!data) return fail(eInvalidValue, "no image");
  const auto* text = static_cast<const char*>(data);
  if (std::strncmp(text, kLinked.data(), kLinked.size()) == 0) {
    std::vector<Image::Text> texts;
    if (!split({text, bytes ? strnlen(text, bytes) : std::strlen(text)}, texts))
      return fail(eInvalidKernelImage, "the linked texts are damaged");
    image.alternatives.push_back(std::move(texts));
    return eSuccess;
  }
  return read_image(data, bytes, file, image);
}

CUresult read_module_file(const char* path, Image& image) {
  if (!path) return fail(eInvalidValue, "no file is named");
  std::string bytes;
  if (CUresult code = read_code(path, bytes); code != eSuccess) return code;
  return read_module(bytes.data(), bytes.size(), path, image);
}

CUresult load_library(const void* data, CUlibrary* made) {
  if (!made) return fail(eInvalidValue, "no place for a library");
  auto library = std::make_shared<LibraryObject>();
  library->file = "library";
  if (CUresult code = read_module(data, 0, library->file, library->image); code != eSuccess)
    return code;
  *made = tables().libraries.add(std::move(library));
  return eSuccess;
}

CUresult load_library_file(const char* path, CUlibrary* made) {
  if (!made) return fail(eInvalidValue, "no place for a library");
  auto library = std::make_shared<LibraryObject>();
  if (CUresult code = read_module_file(path, library->image); code != eSuccess) return code;
  library->file = path;
  *made = tables().libraries.add(std::move(library));
  return eSuccess;
}

CUresult library_module(ContextObject& context, CUlibrary handle, CUmodule& found) {
  auto library = tables().libraries.find(handle);
  if (!library) return fail(eInvalidResourceHandle, "no such library");
  return module_of(*library, context, found);
}

CUresult library_kernel(ContextObject& context, CUlibrary library, const char* name,
                        CUkernel* kernel) {
  if (!name || !kernel) return fail(eInvalidValue, "no name, or no place for a kernel");
  CUmodule module = nullptr;
  if (CUresult code = library_module(context, library, module); code != eSuccess) return code;
  CUfunction function = nullptr;
  if (CUresult code = find_function(*module, name, function); code != eSuccess) return code;
  return kernel_of(*library, name, *kernel);
}

CUresult count_kernels(ContextObject& context, CUlibrary library, unsigned* count) {
  if (!count) return fail(eInvalidValue, "no place for a number");
  CUmodule module = nullptr;
  if (CUresult code = library_module(context, library, module); code != eSuccess) return code;
  *count = static_cast<unsigned>(module->module.interface().entries.size());
  return eSuccess;
}

CUresult list_kernels(ContextObject& context, CUlibrary library, CUkernel* kernels,
                      unsigned count) {
  if (!kernels) return fail(eInvalidValue, "no place for kernels");
  CUmodule module = nullptr;
  if (CUresult code = library_module(context, library, module); code != eSuccess) return code;
  const auto& entries = module->module.interface().entries;
  for (unsigned i = 0; i < count && i < entries.size(); ++i)
    if (CUresult code = kernel_of(*library, entries[i].name, kernels[i]); code != eSuccess)
      return code;
  return eSuccess;
}

namespace {

/// `find` is find_global or find_managed.
template <typename Find>
CUresult library_variable(ContextObject& context, CUlibrary library, const char* name,
                          CUdeviceptr* address, std::size_t* bytes, Find&& find) {
  if (!name) return fail(eInvalidValue, "no name");
  CUmodule module = nullptr;
  if (CUresult code = library_module(context, library, module); code != eSuccess) return code;
  CUdeviceptr found = 0;
  std::size_t size = 0;
  CUresult code = find(*module, name, found, size);
  if (code == eSuccess && address) *address = found;
  if (code == eSuccess && bytes) *bytes = size;
  return code;
}

}  // namespace

CUresult library_global(ContextObject& context, CUlibrary library, const char* name,
                        CUdeviceptr* address, std::size_t* bytes) {
  return library_variable(context, library, name, address, bytes, find_global);
}

CUresult library_managed(ContextObject& context, CUlibrary library, const char* name,
                         CUdeviceptr* address, std::size_t* bytes) {
  return library_variable(context, library, name, address, bytes, find_managed);
}

}  // namespace ptx2spv::cuda
