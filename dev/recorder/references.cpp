// What the driver makes of .texref and .samplerref variables: a line per module, with what it read
// or the driver's error. The functions are deprecated, so they are looked up where they are used.
#include <cstring>
#include <fstream>

#include "dev/recorder/record.hpp"
#include "dev/recorder/texture_session.hpp"
#include "tools/common/cuda_library.hpp"

namespace ptx2spv::recorder {
namespace {

struct References {
  int (*get)(void**, void*, const char*) = nullptr;
  int (*set_array)(void*, void*, unsigned) = nullptr;
  int (*set_address)(void*, int, int) = nullptr;
  int (*set_filter)(void*, int) = nullptr;
  int (*set_flags)(void*, unsigned) = nullptr;
  int (*set_border)(void*, float*) = nullptr;
  int (*get_address)(int*, void*, int) = nullptr;
  int (*get_filter)(int*, void*) = nullptr;
  int (*get_flags)(unsigned*, void*) = nullptr;

  explicit References(void* library) {
    const auto find = [&](auto& function, const char* name) {
      tools::cuda::find(library, name, function);
    };
    find(get, "cuModuleGetTexRef");
    find(set_array, "cuTexRefSetArray");
    find(set_address, "cuTexRefSetAddressMode");
    find(set_filter, "cuTexRefSetFilterMode");
    find(set_flags, "cuTexRefSetFlags");
    find(set_border, "cuTexRefSetBorderColor");
    find(get_address, "cuTexRefGetAddressMode");
    find(get_filter, "cuTexRefGetFilterMode");
    find(get_flags, "cuTexRefGetFlags");
  }
  bool complete() const {
    return get && set_array && set_address && set_filter && set_flags && get_address &&
           get_filter && get_flags;
  }
};

struct Case {
  const char* target;  ///< behind .target
  const char* declarations;
  const char* body;  ///< writes %d0 .. %d3
  bool set = true;   ///< filter, address and flags are set, too
};

constexpr const char* kRead = "tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [t, {%f0, %f1}];";
constexpr const char* kSampled = "tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [t, s, {%f0, %f1}];";
constexpr const char* kSamplers =
    ".global .texref t;\n.global .samplerref s = {filter_mode = linear, addr_mode_0 = wrap, "
    "addr_mode_1 = mirror};\n";
constexpr Case kCases[] = {
    {"sm_90", ".global .texref t;\n", kRead},
    {"sm_90", ".global .texref t;\n", kRead, false},
    {"sm_90", ".global .texref t = {filter_mode = linear, addr_mode_0 = wrap};\n", kRead, false},
    {"sm_90", ".global .texref t = {width = 7, height = 9, normalized_coords = 1};\n",
     "txq.width.b32 %d0, [t]; txq.height.b32 %d1, [t];", false},
    {"sm_90", ".global .texref t;\n",
     "txq.width.b32 %d0, [t]; txq.height.b32 %d1, [t]; txq.depth.b32 %d2, [t];"},
    {"sm_90", ".global .texref t;\n", "txq.channel_data_type.b32 %d0, [t];"},
    {"sm_90", ".global .texref t;\n", "txq.channel_order.b32 %d0, [t];"},
    {"sm_90", ".global .texref t;\n", "txq.normalized_coords.b32 %d0, [t];"},
    {"sm_90", ".global .texref t;\n", "txq.filter_mode.b32 %d0, [t];"},
    {"sm_90", ".global .texref t;\n", "txq.addr_mode_0.b32 %d0, [t];"},
    {"sm_90", ".global .texref t;\n", "txq.array_size.b32 %d0, [t];"},
    {"sm_90", ".global .texref t;\n", "txq.num_mipmap_levels.b32 %d0, [t];"},
    {"sm_90", ".global .texref t;\n", "txq.num_samples.b32 %d0, [t];"},
    {"sm_90, texmode_independent", kSamplers, kSampled},
    {"sm_90, texmode_independent", kSamplers, kSampled, false},
    {"sm_90, texmode_independent", kSamplers, "txq.filter_mode.b32 %d0, [s];", false},
    {"sm_90, texmode_independent", kSamplers, "txq.addr_mode_0.b32 %d0, [s];", false},
    {"sm_90, texmode_independent", kSamplers, "txq.force_unnormalized_coords.b32 %d0, [s];", false},
    {"sm_90, texmode_independent", kSamplers, "txq.width.b32 %d0, [t];", false},
};

std::string module_of(const Case& each) {
  return std::string(".version 8.6\n.target ") + each.target + "\n.address_size 64\n" +
         each.declarations +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .b64 %i, %o, %m;\n  .reg .b32 %n, %d<4>;\n  .reg .f32 %f<2>;\n"
         "  mov.u32 %n, %tid.x;\n  ld.param.u64 %i, [in];\n  ld.param.u64 %o, [out];\n"
         "  mul.wide.u32 %m, %n, 8;\n  add.u64 %i, %i, %m;\n"
         "  mul.wide.u32 %m, %n, 16;\n  add.u64 %o, %o, %m;\n"
         "  ld.global.f32 %f0, [%i];\n  ld.global.f32 %f1, [%i+4];\n"
         "  mov.b32 %d0, -1;\n  mov.b32 %d1, -1;\n  mov.b32 %d2, -1;\n  mov.b32 %d3, -1;\n  " +
         each.body + "\n  st.global.v4.b32 [%o], {%d0, %d1, %d2, %d3};\n  ret;\n}\n";
}

std::string run(const Case& each, const References& references, void* array) {
  auto& d = Driver::get();
  char log[4096] = "";
  int options[] = {5, 6};  // the error log and its size
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  void* module = nullptr;
  const std::string text = module_of(each);
  if (const int error = d.module_load(&module, text.c_str(), 2, options, values)) {
    for (char& c : log)
      if (c == '\n') c = ' ';
    return "the module is refused (" + std::to_string(error) + "): " + log;
  }
  std::string result;
  void* reference = nullptr;
  if (const int error = references.get(&reference, module, "t")) {
    result += "no reference (" + std::to_string(error) + ") ";
  } else {
    int address[2] = {-1, -1}, filter = -1;
    unsigned flags = ~0u;
    references.get_address(&address[0], reference, 0);
    references.get_address(&address[1], reference, 1);
    references.get_filter(&filter, reference);
    references.get_flags(&flags, reference);
    result += "initial address " + std::to_string(address[0]) + "," + std::to_string(address[1]) +
              " filter " + std::to_string(filter) + " flags " + std::to_string(flags);
    if (each.set) {
      for (int k = 0; k < 3; ++k) references.set_address(reference, k, 1);
      references.set_filter(reference, 1);
      references.set_flags(reference, 2);
    }
    const int bound = references.set_array(reference, array, 1);
    result += " set " + std::to_string(bound) + ";";
  }
  void* function = nullptr;
  if (const int error = d.module_function(&function, module, "k")) {
    d.module_unload(module);
    return result + " no kernel (" + std::to_string(error) + ")";
  }
  std::vector<float> in(64);
  for (int i = 0; i < 32; ++i)
    in[2 * i] = static_cast<float>(i) / 8.0f - 1.0f, in[2 * i + 1] = 0.3f;
  DeviceMemory from(256), to(512);
  from.upload(in.data(), 256);
  std::uint64_t addresses[] = {from.address(), to.address()};
  void* parameters[] = {&addresses[0], &addresses[1]};
  int error = d.launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
  if (!error) error = d.synchronize();
  if (error) return result + " the launch failed (" + std::to_string(error) + ")";
  std::uint32_t out[128];
  to.download(out, 512);
  const bool reads = std::strstr(each.body, "tex.") != nullptr;
  char word[16];
  for (int i = 0; i < (reads ? 32 : 1); ++i) {
    for (int k = 0; k < (reads ? 1 : 4); ++k) {
      std::snprintf(word, sizeof(word), " %x", out[4 * i + k]);
      result += word;
    }
  }
  d.module_unload(module);
  return result;
}

}  // namespace

int record_references(const std::string& path) {
  auto& d = Driver::get();
  std::ofstream file(path, std::ios::binary);
  std::string reason;
  const References references(tools::cuda::open_library(reason));
  if (!references.complete()) {
    file << "the driver has no texture references\n";
    return 0;
  }
  ArrayDescription a;
  a.width = 5, a.height = 3, a.format = ArrayFormat::f32;
  void* array = nullptr;
  d.check(d.array_create(&array, &a), "cuArray3DCreate");
  std::vector<float> texels(15);
  for (int i = 0; i < 15; ++i) texels[i] = static_cast<float>(i + 1);
  Copy3D copy;
  copy.source.memory = 1;
  copy.source.host = texels.data();
  copy.source.pitch = 20;
  copy.source.height = 3;
  copy.target.memory = 3;
  copy.target.array = array;
  copy.width_bytes = 20, copy.height = 3, copy.depth = 1;
  d.check(d.copy_3d(&copy), "cuMemcpy3D");
  for (const Case& each : kCases) {
    file << each.target << " | " << (std::strchr(each.declarations, '{') ? "initialised" : "plain")
         << (each.set ? " set" : "") << " | " << each.body << " | " << std::flush
         << run(each, references, array) << std::endl;
  }
  d.array_destroy(array);
  return file.good() ? 0 : 2;
}

}  // namespace ptx2spv::recorder
