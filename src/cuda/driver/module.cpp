// Modules, linking, libraries and kernels.
#include <algorithm>
#include <cstring>

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

namespace {

// CUjit_option.
constexpr int kInfoLog = 3, kInfoBytes = 4, kErrorLog = 5, kErrorBytes = 6;

/// The log buffer among the options of a load or a link.
struct Log {
  char* text = nullptr;
  std::size_t bytes = 0;
  void** size = nullptr;  ///< where the bytes written go
};

Log log_of(unsigned count, const int* options, void** values) {
  Log log;
  for (unsigned i = 0; i < count && options && values; ++i) {
    if (options[i] == kErrorLog) log.text = static_cast<char*>(values[i]);
    if (options[i] == kErrorBytes) {
      log.bytes = reinterpret_cast<std::uintptr_t>(values[i]) & 0xffffffffu;
      log.size = &values[i];
    }
    // Nothing is reported where nothing is wrong.
    if (options[i] == kInfoBytes) values[i] = nullptr;
    if (options[i] == kInfoLog && values[i]) *static_cast<char*>(values[i]) = 0;
  }
  return log;
}

void write(const Log& log, const std::string& text) {
  if (!log.text || !log.bytes) {
    if (!text.empty()) say(text);
    return;
  }
  const std::size_t count = std::min(text.size(), log.bytes - 1);
  std::memcpy(log.text, text.data(), count);
  log.text[count] = 0;
  if (log.size) *log.size = reinterpret_cast<void*>(count);
}

CUresult load(CUmodule* made, const Image& image, const Log& log) {
  return call([&](ContextObject& context) -> CUresult {
    std::shared_ptr<ModuleObject> module;
    std::string text;
    CUresult code = load_module(context, image, module, &text);
    write(log, text);
    if (code == eSuccess) *made = module.get();
    return code;
  });
}

CUresult add_input(LinkObject& link, int kind, const void* data, std::size_t bytes,
                   const std::string& name) {
  // CUjitInputType: cubin, PTX, fat binary, object, library, NVVM.
  if (kind == 5) return not_supported("linking NVVM code", "only PTX is translated");
  Image image;
  if (CUresult code = read_image(data, bytes, name, image); code != eSuccess) return code;
  if (image.alternatives.empty()) {
    if (image.machine_code)
      say_once(name + " holds machine code for NVIDIA's devices and no PTX that could be linked");
    return fail(eNoKernelImageForDevice, "no PTX to link");
  }
  for (Image::Text& each : image.alternatives.front()) link.inputs.push_back(std::move(each));
  return eSuccess;
}

}  // namespace

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule* module, const void* data, unsigned count, int* options,
                            void** values) {
  if (!module) return eInvalidValue;
  const Log log = log_of(count, options, values);
  Image image;
  if (CUresult code = read_module(data, 0, "module", image); code != eSuccess) return code;
  return load(module, image, log);
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (!module || !path) return eInvalidValue;
  Image image;
  if (CUresult code = read_module_file(path, image); code != eSuccess) return code;
  return load(module, image, {});
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  if (!functions) return eInvalidValue;
  return with(tables().modules, module, [&](ModuleObject& object) -> CUresult {
    const auto& entries = object.module.interface().entries;
    for (unsigned i = 0; i < count && i < entries.size(); ++i)
      if (CUresult code = find_function(object, entries[i].name, functions[i]); code != eSuccess)
        return code;
    return eSuccess;
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes, CUmodule module,
                              const char* name) {
  if (!name) return eInvalidValue;
  return with(tables().modules, module, [&](ModuleObject& object) -> CUresult {
    if (!address && !bytes) return fail(eInvalidValue, "nothing is asked of the variable");
    CUdeviceptr found = 0;
    std::size_t size = 0;
    CUresult code = find_global(object, name, found, size);
    if (code == eSuccess && address) *address = found;
    if (code == eSuccess && bytes) *bytes = size;
    return code;
  });
}

// --------------------------------------------------------------------------------------- linking

CUresult cuLinkCreate_v2(unsigned count, int* options, void** values, CUlinkState* made) {
  if (!made) return eInvalidValue;
  auto link = std::make_shared<LinkObject>();
  const Log log = log_of(count, options, values);
  link->error_log = log.text;
  link->error_bytes = log.bytes;
  return IN_CONTEXT((*made = tables().links.add(std::move(link)), eSuccess));
}

CUresult cuLinkAddData_v2(CUlinkState link, int kind, void* data, std::size_t bytes,
                          const char* name, unsigned, int*, void**) {
  return with(tables().links, link, [&](LinkObject& object) {
    return add_input(object, kind, data, bytes, name ? name : "input");
  });
}

CUresult cuLinkAddFile_v2(CUlinkState link, int kind, const char* path, unsigned, int*, void**) {
  if (!path) return eInvalidValue;
  return with(tables().links, link, [&](LinkObject& object) -> CUresult {
    std::string bytes;
    if (CUresult code = read_code(path, bytes); code != eSuccess) return code;
    return add_input(object, kind, bytes.data(), bytes.size(), path);
  });
}

CUresult cuLinkComplete(CUlinkState link, void** image, std::size_t* bytes) {
  if (!image) return eInvalidValue;
  return with(tables().links, link, [&](LinkObject& object) -> CUresult {
    // Errors belong to this call, so the texts are linked here for the messages alone.
    std::string text;
    if (!check_link(object.inputs, text)) {
      write({object.error_log, object.error_bytes, nullptr}, text);
      return fail(eInvalidPtx, "the inputs do not link");
    }
    object.image = join_texts(object.inputs);
    *image = object.image.data();
    if (bytes) *bytes = object.image.size() + 1;
    return eSuccess;
  });
}

// ------------------------------------------------------------------------------------- libraries

namespace {

CUresult param_info(FunctionObject& function, std::size_t index, std::size_t* offset,
                    std::size_t* bytes) {
  const auto& params = function.kernel.info().params;
  if (!offset || index >= params.size()) return fail(eInvalidValue, "no such parameter");
  *offset = params[index].offset;
  if (bytes) *bytes = params[index].bytes;
  return eSuccess;
}

}  // namespace

CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                              std::size_t* bytes) {
  return in_function(
      kernel, [&](FunctionObject& object) { return param_info(object, index, offset, bytes); });
}

CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                            std::size_t* bytes) {
  return call([&](ContextObject& context) -> CUresult {
    FunctionObject* found = nullptr;
    if (CUresult code = resolve_function(context, function, found); code != eSuccess) return code;
    return param_info(*found, index, offset, bytes);
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
