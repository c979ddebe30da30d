#include "tools/ptxrun/manifest.hpp"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "ptx2spv/limits.hpp"
#include "tools/common/npy.hpp"
#include "tools/ptxrun/manifest_parser.hpp"

namespace ptx2spv::tools {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t(1) << 31;
constexpr const char* kScalars[] = {"u8",  "s8",  "u16", "s16", "f16", "u32",
                                    "s32", "f32", "u64", "s64", "f64"};

}  // namespace

void Parser::account(const Reader& reader, std::uint64_t& total, std::uint64_t bytes) {
  const std::uint64_t memory =
      std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGESIZE));
  total += bytes;
  if (total > memory)
    reader.error(fmt::format(
        "brings the manifest to {} bytes, more than this machine's memory of {}", total, memory));
}

void Parser::modules(const Reader& reader) {
  const auto one = [&](const Reader& item) {
    const auto path = item.string();
    if (!path) return;
    out_.modules.push_back(input_path(item, *path));
    out_.module_where.push_back(item.where());
  };
  if (reader.json().kind != Json::Kind::array) {
    one(reader);
    return;
  }
  for (std::size_t k = 0; k < reader.json().items.size(); ++k) one(reader.item(k));
  if (reader.json().items.empty()) reader.error("names no module");
}

void Parser::init(const Reader& reader, Init& init, bool surface) {
  init.where = reader.where();
  if (!reader.is_object()) return;
  const auto& members = reader.json().members;
  if (members.size() != 1) {
    reader.error(
        "has to hold exactly one of zero, pattern, raw, npy, png, bytes, handles or a typed "
        "number");
    return;
  }
  const std::string& kind = members[0].first;
  const Reader value = reader.member(kind, members[0].second);
  if (kind == "zero") {
    if (const auto yes = value.boolean(); yes && !*yes) value.error("can only be true");
  } else if (kind == "pattern") {
    if (const auto seed = value.integer(0, 0xffffffffu)) init.seed = std::uint32_t(*seed);
    init.kind = Init::Kind::pattern;
  } else if (kind == "raw" || kind == "npy" || kind == "png") {
    if (const auto path = value.string()) init.path = input_path(value, *path);
    init.kind = kind == "raw" ? Init::Kind::raw : kind == "npy" ? Init::Kind::npy : Init::Kind::png;
    if (kind == "png" && !surface) value.error("only a surface can be filled from a picture");
  } else if (kind == "bytes") {
    if (auto bytes = value.hex()) init.bytes = std::move(*bytes);
    init.kind = Init::Kind::bytes;
  } else if (kind == "handles") {
    init.kind = Init::Kind::handles;
    if (surface) {
      value.error("a surface cannot hold handles");
    } else if (value.is_array()) {
      for (std::size_t k = 0; k < value.json().items.size(); ++k) {
        const Reader item = value.item(k);
        if (item.json().kind == Json::Kind::null) {
          init.handles.push_back(kNullHandle);
          continue;
        }
        const auto name = item.string();
        if (!name) continue;
        const auto as_surface = index_of(out_.surfaces, *name);
        const auto as_texture = index_of(out_.textures, *name);
        const auto as_sampler = index_of(out_.samplers, *name);
        if (as_surface.has_value() + as_texture.has_value() + as_sampler.has_value() > 1) {
          item.error("\"" + *name + "\" is two of surface, texture and sampler");
        } else if (as_sampler) {
          init.handles.push_back(kSamplerBase + *as_sampler);
        } else if (as_surface) {
          init.handles.push_back(*as_surface);
        } else if (as_texture) {
          init.handles.push_back(kTextureBase + *as_texture);
        } else {
          item.error("there is no surface, texture or sampler \"" + *name + "\"");
        }
      }
    }
  } else if (std::find(std::begin(kScalars), std::end(kScalars), kind) != std::end(kScalars)) {
    if (auto bytes = value.scalar(kind)) init.bytes = std::move(*bytes);
    init.kind = Init::Kind::bytes;
  } else {
    value.error(
        "there is no such kind of contents; there are zero, pattern, raw, npy, png, bytes, handles "
        "and typed numbers");
  }
}

void Parser::surface(const std::string& name, const Reader& reader) {
  reader.only({"geometry", "format", "channels", "width", "height", "depth", "layers", "levels",
               "init", "backing"});
  SurfaceSpec spec;
  spec.name = spec.desc.name = name;
  bool good = true;
  if (const auto field = reader.need("geometry")) {
    const auto text = field->string();
    const auto geometry = text ? parse_geometry(*text) : std::nullopt;
    if (text && !geometry)
      field->error("there is no geometry \"" + *text + "\"; there are 1d, 2d, 3d, a1d, a2d");
    if (geometry) spec.desc.geometry = *geometry;
    good &= geometry.has_value();
  } else {
    good = false;
  }
  if (const auto field = reader.need("format")) {
    const auto text = field->string();
    const auto format = text ? parse_format(*text) : std::nullopt;
    if (text && !format)
      field->error("there is no format \"" + *text +
                   "\"; there are u8 u16 u32 s8 s16 s32 f16 f32 unorm8 unorm16 snorm8 snorm16");
    if (format) spec.desc.format = *format;
  }
  if (const auto field = reader.need("channels")) {
    const auto value = field->integer(1, 4);
    if (value && *value == 3) field->error("a surface has 1, 2 or 4 channels");
    if (value && *value != 3) spec.desc.channels = std::uint32_t(*value);
  }
  const Geometry g = spec.desc.geometry;
  const auto extent = [&](const char* field_name, bool wanted, std::uint32_t& place,
                          std::uint64_t most) {
    const auto field = wanted && good ? reader.need(field_name) : reader.find(field_name);
    if (!field) return;
    if (!wanted && good) {
      field->error(std::string("a ") + to_string(g) + " surface has no " + field_name);
    } else if (const auto value = field->integer(1, most)) {
      place = std::uint32_t(*value);
    }
  };
  extent("width", true, spec.desc.width, kMostElements);
  extent("height", g == Geometry::d2 || g == Geometry::d3 || g == Geometry::a2d, spec.desc.height,
         kMostElements);
  extent("depth", g == Geometry::d3, spec.desc.depth, kMostElements);
  extent("layers", g == Geometry::a1d || g == Geometry::a2d, spec.desc.layers, 65536);
  if (const auto field = reader.find("levels"))
    if (const auto value = field->integer(1, 32)) spec.desc.levels = std::uint32_t(*value);
  const std::uint64_t elements[] = {spec.desc.width, spec.desc.height, spec.desc.depth,
                                    spec.desc.layers};
  spec.bytes = spec.desc.texel_bytes();
  for (std::uint64_t count : elements) {
    if (spec.bytes > kMostBytes / count) {
      reader.error(fmt::format("is larger than {} bytes", kMostBytes));
      spec.bytes = 0;
      break;
    }
    spec.bytes *= count;
  }
  account(reader, total_, spec.bytes);
  const std::uint32_t longest = std::max({spec.desc.width, spec.desc.height, spec.desc.depth});
  if (spec.desc.levels > 1 && (longest >> (spec.desc.levels - 1)) == 0)
    reader.error(fmt::format("has no room for {} levels", spec.desc.levels));
  if (const auto field = reader.find("backing")) {
    if (const auto text = field->string()) {
      if (*text == "linear") {
        spec.desc.backing = ArrayBacking::linear;
      } else if (*text == "image") {
        spec.desc.backing = ArrayBacking::image;
      } else {
        field->error("there is no backing \"" + *text + "\"; there are linear and image");
      }
    }
  }
  if (const auto field = reader.find("init")) {
    if (field->json().kind == Json::Kind::array) {
      const std::size_t count = field->json().items.size();
      if (count > spec.desc.levels)
        field->error(fmt::format("has {} levels, the surface {}", count, spec.desc.levels));
      for (std::size_t k = 0; k < count; ++k) {
        Init& place = k ? spec.level_inits.emplace_back() : spec.init;
        init(field->item(k), place, true);
      }
    } else {
      init(*field, spec.init, true);
    }
  }
  spec.init.where = reader.where();
  out_.surfaces.push_back(std::move(spec));
}

void Parser::buffer(const std::string& name, const Reader& reader) {
  reader.only({"bytes", "init"});
  BufferSpec spec;
  spec.name = name;
  if (const auto field = reader.need("bytes"))
    if (const auto value = field->integer(1, kMostBytes)) spec.bytes = *value;
  account(reader, total_, spec.bytes);
  if (const auto field = reader.find("init")) {
    init(*field, spec.init, false);
    if (spec.init.kind == Init::Kind::handles && spec.init.handles.size() * 8 > spec.bytes)
      field->error(fmt::format("has {} handles of 8 bytes, the buffer {} bytes",
                               spec.init.handles.size(), spec.bytes));
  }
  spec.init.where = reader.where();
  out_.buffers.push_back(std::move(spec));
}

void Parser::dimensions(const Reader& reader, Dim3& dim, std::array<std::uint32_t, 3> limits) {
  std::uint32_t* places[] = {&dim.x, &dim.y, &dim.z};
  if (reader.json().kind != Json::Kind::array) {
    if (const auto value = reader.integer(1, limits[0])) dim.x = std::uint32_t(*value);
    return;
  }
  const std::size_t count = reader.json().items.size();
  if (count < 1 || count > 3) reader.error("takes one to three numbers");
  for (std::size_t k = 0; k < std::min<std::size_t>(3, count); ++k)
    if (const auto value = reader.item(k).integer(1, limits[k])) *places[k] = std::uint32_t(*value);
}

bool Parser::arg(const Reader& reader, ArgSpec& arg) {
  if (!reader.is_object()) return false;
  if (const auto field = reader.find("surface")) {
    reader.only({"surface", "level"});
    const auto index = named(out_.surfaces, "surface", *field);
    arg.kind = ArgSpec::Kind::surface;
    arg.index = index.value_or(0);
    if (const auto level = reader.find("level"); level && index)
      arg.level =
          std::uint32_t(level->integer(0, out_.surfaces[*index].desc.levels - 1).value_or(0));
    return index.has_value();
  }
  if (const auto field = reader.find("texture")) {
    reader.only({"texture"});
    const auto index = named(out_.textures, "texture", *field);
    arg.kind = ArgSpec::Kind::texture;
    arg.index = index.value_or(0);
    return index.has_value();
  }
  if (const auto field = reader.find("sampler")) {
    reader.only({"sampler"});
    const auto index = named(out_.samplers, "sampler", *field);
    arg.kind = ArgSpec::Kind::sampler;
    arg.index = index.value_or(0);
    return index.has_value();
  }
  if (const auto field = reader.find("buffer")) {
    reader.only({"buffer", "offset"});
    const auto index = named(out_.buffers, "buffer", *field);
    arg.kind = ArgSpec::Kind::buffer;
    arg.index = index.value_or(0);
    if (const auto offset = reader.find("offset"); offset && index)
      arg.offset = offset->integer(0, out_.buffers[*index].bytes).value_or(0);
    return index.has_value();
  }
  if (reader.json().members.size() != 1) {
    reader.error("has to hold surface, texture, sampler, buffer, bytes or one typed number");
    return false;
  }
  const auto& [kind, json] = reader.json().members[0];
  const Reader value = reader.member(kind, json);
  std::optional<Bytes> bytes;
  if (kind == "bytes") {
    bytes = value.hex();
    if (bytes && bytes->size() > 32764)
      value.error("is larger than the 32764 bytes that parameters may take");
  } else if (std::find(std::begin(kScalars), std::end(kScalars), kind) != std::end(kScalars)) {
    bytes = value.scalar(kind);
    arg.type = kind;
  } else {
    value.error(
        "there is no such kind of argument; there are surface, texture, sampler, buffer, bytes, u8 "
        "... u64, "
        "s8 ... s64, f16, f32, f64");
  }
  if (!bytes) return false;
  arg.kind = ArgSpec::Kind::bytes;
  arg.bytes = std::move(*bytes);
  return true;
}

void Parser::launch(const Reader& reader) {
  if (!reader.is_object()) return;
  reader.only({"kernel", "grid", "block", "shared", "args", "surfrefs", "texrefs", "samplerrefs",
               "repeat"});
  LaunchSpec spec;
  spec.where = reader.where();
  if (const auto field = reader.need("kernel")) spec.kernel = field->string().value_or("");
  if (const auto field = reader.need("grid"))
    dimensions(*field, spec.grid, std::to_array(limits::kGrid));
  if (const auto field = reader.need("block")) {
    dimensions(*field, spec.block, std::to_array(limits::kBlock));
    if (std::uint64_t(spec.block.x) * spec.block.y * spec.block.z > limits::kThreads)
      field->error("has more than 1024 threads");
  }
  if (const auto field = reader.find("shared"))
    spec.shared = std::uint32_t(field->integer(0, limits::kShared).value_or(0));
  if (const auto field = reader.find("repeat"))
    spec.repeat = std::uint32_t(field->integer(1, 1000000).value_or(1));
  if (const auto field = reader.find("args"); field && field->is_array()) {
    if (field->json().items.size() > 4096) {
      field->error("has more than 4096 arguments");
    } else {
      for (std::size_t k = 0; k < field->json().items.size(); ++k) {
        ArgSpec one;
        if (arg(field->item(k), one)) spec.args.push_back(std::move(one));
      }
    }
  }
  if (const auto field = reader.find("surfrefs"); field && field->is_object())
    for (const auto& [name, json] : field->json().members)
      if (const auto index = named(out_.surfaces, "surface", field->member(name, json)))
        spec.surfrefs.emplace_back(name, *index);
  if (const auto field = reader.find("texrefs"); field && field->is_object())
    for (const auto& [name, json] : field->json().members)
      if (const auto index = named(out_.textures, "texture", field->member(name, json)))
        spec.texrefs.emplace_back(name, *index);
  if (const auto field = reader.find("samplerrefs"); field && field->is_object())
    for (const auto& [name, json] : field->json().members)
      if (const auto index = named(out_.samplers, "sampler", field->member(name, json)))
        spec.samplerrefs.emplace_back(name, *index);
  out_.launches.push_back(std::move(spec));
}

void Parser::expectation(const Reader& reader, OutputSpec& spec) {
  for (const char* name : {"tolerance", "max_different", "difference"})
    if (const auto field = reader.find(name); field && !reader.find("expect"))
      field->error(
          "needs the field \"expect\": a checksum says nothing of how far values are apart");
  if (const auto field = reader.find("max_different"))
    spec.max_different = field->integer(0, ~std::uint64_t(0)).value_or(0);
  const auto field = reader.find("tolerance");
  if (!field || !field->is_object()) return;
  field->only({"absolute", "relative", "ulp"});
  const auto part = [&](const char* name, double& place) {
    const auto value = field->find(name);
    if (!value) return;
    place = value->number().value_or(0);
    if (!(place >= 0)) value->error("has to be 0 or more");
  };
  part("absolute", spec.tolerance.absolute);
  part("relative", spec.tolerance.relative);
  if (const auto value = field->find("ulp"))
    spec.tolerance.ulps = value->integer(0, ~std::uint64_t(0)).value_or(0);
}

void Parser::output(const Reader& reader) {
  if (!reader.is_object()) return;
  reader.only({"surface", "buffer", "global", "level", "png", "npy", "raw", "dtype", "sha256",
               "expect", "range", "tolerance", "max_different", "difference"});
  OutputSpec spec;
  spec.where = reader.where();
  int kinds = 0;
  bool good = false;
  for (const char* kind : {"surface", "buffer", "global"}) {
    const auto field = reader.find(kind);
    if (!field) continue;
    ++kinds;
    spec.name = field->json().text;
    if (*kind == 's') {
      const auto index = named(out_.surfaces, "surface", *field);
      good = index.has_value();
      spec.index = index.value_or(0);
    } else if (*kind == 'b') {
      const auto index = named(out_.buffers, "buffer", *field);
      good = index.has_value();
      spec.index = index.value_or(0);
      spec.kind = OutputSpec::Kind::buffer;
    } else {
      good = field->string().has_value();
      spec.kind = OutputSpec::Kind::global;
    }
  }
  if (kinds != 1) {
    reader.error("has to name one surface, buffer or global");
    return;
  }
  const bool surface = spec.kind == OutputSpec::Kind::surface;
  const auto path = [&](const char* name, std::string& place, bool input) {
    const auto field = reader.find(name);
    if (!field) return;
    const auto text = field->string();
    if (!text) return;
    if (text->empty()) field->error("is an empty file name");
    place = input ? input_path(*field, *text) : output_path(*field, *text);
  };
  path("png", spec.png, false);
  path("npy", spec.npy, false);
  path("raw", spec.raw, false);
  path("expect", spec.expect, true);
  path("difference", spec.difference, false);
  for (const char* picture : {"png", "difference"})
    if (reader.find(picture) && !surface)
      reader.find(picture)->error("only a surface can be written as a picture");
  expectation(reader, spec);
  if (const auto field = reader.find("level")) {
    if (!surface) {
      field->error("only a surface has levels");
    } else if (good) {
      spec.level =
          std::uint32_t(field->integer(0, out_.surfaces[spec.index].desc.levels - 1).value_or(0));
    }
  }
  if (const auto field = reader.find("dtype")) {
    spec.dtype = field->string().value_or("");
    if (!type_bytes(spec.dtype) && field->json().kind == Json::Kind::string)
      field->error("there is no type \"" + spec.dtype +
                   "\"; there are u8 ... u64, s8 ... s64, f16, f32, f64");
    if (surface) field->error("a surface is written in its own format");
  }
  if (spec.dtype.empty()) spec.dtype = "u8";
  if (const auto field = reader.find("sha256")) {
    if (const auto text = field->string()) {
      spec.sha256 = *text;
      for (char& c : spec.sha256)
        if (c >= 'A' && c <= 'F') c = char(c - 'A' + 'a');
      if (spec.sha256.size() != 64 ||
          spec.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
        field->error("is not a checksum of 64 hexadecimal digits");
    }
  }
  if (const auto field = reader.find("range"); field && field->is_array()) {
    if (field->json().items.size() != 2) {
      field->error("takes two numbers: the values shown black and white");
    } else {
      spec.range.emplace(field->item(0).number().value_or(0), field->item(1).number().value_or(1));
      if (spec.range->first == spec.range->second) field->error("is empty");
    }
  }
  if (!good) return;
  // All outputs are read back before the first is written.
  if (surface)
    account(reader, total_outputs_, level_bytes(out_.surfaces[spec.index].desc, spec.level));
  if (spec.kind == OutputSpec::Kind::buffer)
    account(reader, total_outputs_, out_.buffers[spec.index].bytes);
  out_.outputs.push_back(std::move(spec));
}

void Parser::run(const Reader& root) {
  if (!root.is_object()) return;
  root.only({"$schema", "module", "description", "surfaces", "buffers", "textures", "samplers",
             "globals", "launches", "outputs"});
  if (const auto field = root.need("module")) modules(*field);
  for (const char* text : {"$schema", "description"})
    if (const auto field = root.find(text)) static_cast<void>(field->string());
  each(root, "surfaces",
       [&](const std::string& name, const Reader& reader) { surface(name, reader); });
  each(root, "samplers",
       [&](const std::string& name, const Reader& reader) { sampler(name, reader); });
  each(root, "buffers",
       [&](const std::string& name, const Reader&) { buffer_names_.push_back(name); });
  // Textures before buffers: lists of handles name them.
  each(root, "textures",
       [&](const std::string& name, const Reader& reader) { texture(name, reader); });
  each(root, "buffers",
       [&](const std::string& name, const Reader& reader) { buffer(name, reader); });
  each(root, "globals", [&](const std::string& name, const Reader& reader) {
    GlobalSpec spec;
    spec.name = name;
    init(reader, spec.init, false);
    out_.globals.push_back(std::move(spec));
  });
  if (const auto field = root.need("launches"); field && field->is_array()) {
    if (field->json().items.empty()) field->error("holds no launch");
    for (std::size_t k = 0; k < field->json().items.size(); ++k) launch(field->item(k));
  }
  if (const auto field = root.find("outputs"); field && field->is_array())
    for (std::size_t k = 0; k < field->json().items.size(); ++k) output(field->item(k));
}

const char* OutputSpec::kind_name() const {
  return kind == Kind::surface ? "surface" : kind == Kind::buffer ? "buffer" : "global";
}

bool parse_manifest(const std::string& file, std::string_view text,
                    const std::string& output_folder, Manifest& manifest,
                    std::vector<std::string>& errors) {
  Json root;
  std::string error;
  if (!parse_json(text, root, error)) {
    errors.push_back(file + ":" + error);
    return false;
  }
  Parser(file, output_folder, manifest).run(Reader(file, root, "", errors));
  return errors.empty();
}

std::array<std::uint32_t, 3> level_extent(const ArrayDesc& desc, std::uint32_t level) {
  const auto half = [&](std::uint32_t size) { return std::max(1u, size >> level); };
  const bool layered = desc.geometry == Geometry::a1d || desc.geometry == Geometry::a2d;
  return {half(desc.width), half(desc.height), layered ? desc.layers : half(desc.depth)};
}

ArrayDesc level_desc(const ArrayDesc& desc, std::uint32_t level) {
  ArrayDesc one = desc;
  const auto extent = level_extent(desc, level);
  one.width = extent[0];
  one.height = extent[1];
  if (desc.geometry == Geometry::d3) one.depth = extent[2];
  one.levels = 1;
  return one;
}

std::uint64_t level_bytes(const ArrayDesc& desc, std::uint32_t level) {
  const auto extent = level_extent(desc, level);
  return std::uint64_t(extent[0]) * extent[1] * extent[2] * desc.texel_bytes();
}

std::vector<std::uint64_t> npy_shape(const ArrayDesc& desc, std::uint32_t level) {
  const auto extent = level_extent(desc, level);
  std::vector<std::uint64_t> shape;
  const Geometry g = desc.geometry;
  if (g == Geometry::d3 || g == Geometry::a1d || g == Geometry::a2d) shape.push_back(extent[2]);
  if (g == Geometry::d2 || g == Geometry::d3 || g == Geometry::a2d) shape.push_back(extent[1]);
  shape.push_back(extent[0]);
  if (desc.channels > 1) shape.push_back(desc.channels);
  return shape;
}

}  // namespace ptx2spv::tools
