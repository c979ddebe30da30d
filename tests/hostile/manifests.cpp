#include "tests/hostile/hostile.hpp"

namespace ptx2spv::test {
namespace {

/// One piece of the good manifest and what takes its place.
constexpr struct {
  const char *piece, *other;
} kChanges[] = {
    {"\"k.ptx\"", "\"absent.ptx\""},
    {"\"k.ptx\"", "\"/\""},
    {"\"k.ptx\"", "\"\""},
    {"\"k.ptx\"", "7"},
    {"\"k.ptx\"", "[]"},
    {"\"k.ptx\"", "[\"k.ptx\", 3]"},
    {"\"module\": \"k.ptx\",", ""},
    {"\"module\": \"k.ptx\",", "\"module\": \"k.ptx\", \"module\": \"k.ptx\","},
    {"\"module\"", "\"modul\""},
    {"\"2d\"", "\"4d\""},
    {"\"2d\"", "2"},
    {"\"2d\"", "null"},
    {"\"u8\"", "\"u9\""},
    {"\"u8\"", "[\"u8\"]"},
    {"\"channels\": 4", "\"channels\": 3"},
    {"\"channels\": 4", "\"channels\": -4"},
    {"\"channels\": 4", "\"channels\": 4294967300"},
    {"\"channels\": 4", "\"channels\": \"four\""},
    {"\"width\": 8", "\"width\": 0"},
    {"\"width\": 8", "\"width\": -8"},
    {"\"width\": 8", "\"width\": 8.5"},
    {"\"width\": 8", "\"width\": 1e300"},
    {"\"width\": 8", "\"width\": NaN"},
    {"\"width\": 8", "\"width\": Infinity"},
    {"\"width\": 8", "\"width\": 99999999999999999999"},
    {"\"width\": 8", "\"width\": 4294967304"},
    {"\"width\": 8", "\"width\": 4294967295"},
    {"\"width\": 8, \"height\": 4", "\"width\": 1073741824, \"height\": 1073741824"},
    {"\"width\": 8, \"height\": 4", "\"width\": 1073741824, \"height\": 4096"},
    {"\"width\": 8", "\"width\": true"},
    {"\"width\": 8", "\"width\": {}"},
    {"\"width\": 8", "\"width\": 8, \"width\": 9"},
    {"\"width\": 8", "\"width\": 8, \"depth\": 4"},
    {"\"width\": 8", "\"width\": 8, \"layers\": 4"},
    {"\"width\": 8", "\"width\": 8, \"levels\": 999"},
    {"\"width\": 8", "\"width\": 8, \"levels\": -1"},
    {"\"width\": 8", "\"width\": 8, \"backing\": \"paper\""},
    {"{\"pattern\": 7}", "{\"pattern\": -7}"},
    {"{\"pattern\": 7}", "{\"pattern\": \"x\"}"},
    {"{\"pattern\": 7}", "{\"raw\": \"absent.bin\"}"},
    {"{\"pattern\": 7}", "{\"raw\": \"k.ptx\"}"},
    {"{\"pattern\": 7}", "{\"raw\": \"/dev/null\"}"},
    {"{\"pattern\": 7}", "{\"png\": \"k.ptx\"}"},
    {"{\"pattern\": 7}", "{\"npy\": \"k.ptx\"}"},
    {"{\"pattern\": 7}", "{\"bytes\": \"xyz\"}"},
    {"{\"pattern\": 7}", "{\"bytes\": \"\"}"},
    {"{\"pattern\": 7}", "{\"zero\": true, \"pattern\": 7}"},
    {"{\"pattern\": 7}", "{}"},
    {"{\"pattern\": 7}", "[7]"},
    {"{\"pattern\": 7}", "{\"handles\": [\"s\"]}"},
    {"\"resource\": \"s\"", "\"resource\": \"nothing\""},
    {"\"resource\": \"s\"", "\"resource\": 5"},
    {"\"linear\"", "\"cubic\""},
    {"\"normalized_float\"", "\"float\""},
    {"\"filter\": \"linear\"",
     "\"filter\": \"linear\", \"address\": [\"wrap\", \"wrap\", \"wrap\", \"wrap\"]"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"border\": [1, 2, 3, 4, 5]"},
    {"\"read\": \"normalized_float\", ", ""},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"cube\": true"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"seamless\": true"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"level\": 1"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"level\": -1"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"address\": []"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"address\": \"around\""},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"border\": [\"red\"]"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"bias\": \"nan\""},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"anisotropy\": 0"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"anisotropy\": 17"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"height\": 4"},
    {"\"filter\": \"linear\"", "\"filter\": \"linear\", \"buffer\": \"b\""},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 0"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 17"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 268435456"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"width\": 4, \"channels\": 3"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"channels\": 4, \"width\": 4, \"format\": \"u64\""},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"offset\": 8"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"offset\": 64"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"pitch\": 16"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"height\": 5, "
     "\"pitch\": 16"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"height\": 2, "
     "\"pitch\": 8"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"height\": 2, "
     "\"pitch\": 24"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"height\": 3, "
     "\"pitch\": 9223372036854775808"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"height\": 0"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"level\": 0"},
    {"\"resource\": \"s\", \"read\": \"normalized_float\", \"filter\": \"linear\"",
     "\"buffer\": \"b\", \"format\": \"u8\", \"channels\": 4, \"width\": 4, \"cube\": true"},
    {"\"bytes\": 64", "\"bytes\": -64"},
    {"\"bytes\": 64", "\"bytes\": 18446744073709551615"},
    {"\"bytes\": 64", "\"bytes\": 9223372036854775807"},
    {"\"bytes\": 64", "\"bytes\": 1e18"},
    {"\"bytes\": 64", "\"bytes\": \"0xfffffffffffffffff\""},
    {"\"bytes\": 64", "\"bytes\": 4000000000000"},
    {"\"bytes\": 64", "\"bytes\": 0"},
    {"{\"zero\": true}", "{\"zero\": false}"},
    {"{\"zero\": true}", "{\"handles\": [\"nobody\"]}"},
    {"{\"zero\": true}", "{\"handles\": [1]}"},
    {"{\"zero\": true}", "{\"handles\": [\"s\",\"s\",\"s\",\"s\",\"s\",\"s\",\"s\",\"s\",\"s\"]}"},
    {"\"globals\": {\"g\"", "\"globals\": {\"absent\""},
    {"{\"u32\": 3}", "{\"u32\": 4294967296}"},
    {"{\"u32\": 3}", "{\"u32\": -1}"},
    {"{\"u32\": 3}", "{\"u64\": 3}"},
    {"{\"u32\": 3}", "{\"f32\": \"nought\"}"},
    {"\"kernel\": \"k\"", "\"kernel\": \"absent\""},
    {"\"kernel\": \"k\"", "\"kernel\": 3"},
    {"\"kernel\": \"k\",", ""},
    {"[2, 1, 1]", "[0, 1, 1]"},
    {"[2, 1, 1]", "[-2, 1, 1]"},
    {"[2, 1, 1]", "[2, 1, 1, 1]"},
    {"[2, 1, 1]", "[]"},
    {"[2, 1, 1]", "[4294967296, 1, 1]"},
    {"[2, 1, 1]", "[2, 99999, 1]"},
    {"[2, 1, 1]", "\"two\""},
    {"\"block\": 16", "\"block\": 1025"},
    {"\"block\": 16", "\"block\": [1024, 1024, 64]"},
    {"\"block\": 16", "\"block\": 0"},
    {"\"shared\": 0", "\"shared\": -1"},
    {"\"shared\": 0", "\"shared\": 1e12"},
    {"\"repeat\": 1", "\"repeat\": 0"},
    {"\"repeat\": 1", "\"repeat\": -1"},
    {"\"repeat\": 1", "\"repeat\": 1e99"},
    {"{\"surface\": \"s\"}, ", ""},
    {"{\"surface\": \"s\"}, ", "{\"surface\": \"x\"}, "},
    {"{\"surface\": \"s\"}, ", "{\"surface\": \"s\", \"level\": 9}, "},
    {"{\"surface\": \"s\"}, ", "{\"u32\": 5}, "},
    {"{\"surface\": \"s\"}, ", "{\"bytes\": \"00\"}, "},
    {"{\"surface\": \"s\"}, ", "{\"u128\": 5}, "},
    {"{\"surface\": \"s\"}, ", "{\"surface\": \"s\", \"u32\": 5}, "},
    {"{\"surface\": \"s\"}, ", "5, "},
    {"\"offset\": 8", "\"offset\": -8"},
    {"\"offset\": 8", "\"offset\": 18446744073709551615"},
    {"\"offset\": 8", "\"offset\": 65"},
    {"{\"img\": \"s\"}", "{\"picture\": \"s\"}"},
    {"{\"img\": \"s\"}", "{\"img\": \"b\"}"},
    {"{\"img\": \"s\"}", "{\"img\": null}"},
    {"\"raw\": \"s.bin\"", "\"raw\": \"absent/s.bin\""},
    {"\"raw\": \"s.bin\"", "\"raw\": 5"},
    {"\"raw\": \"s.bin\"", "\"sha256\": \"zz\""},
    {"\"raw\": \"s.bin\"", "\"expect\": \"absent.bin\""},
    {"\"raw\": \"s.bin\"", "\"raw\": \"s.bin\", \"dtype\": \"u7\""},
    {"{\"surface\": \"s\", \"raw\"", "{\"raw\""},
    {"{\"surface\": \"s\", \"raw\"", "{\"surface\": \"q\", \"raw\""},
    {"\"launches\": [", "\"launches\": 5, \"x\": ["},
    {"\"surfaces\": {", "\"surfaces\": [], \"surfaces2\": {"},
};

}  // namespace

std::string good_module() {
  return ".version 8.3\n.target sm_80\n.address_size 64\n.global .surfref img;\n"
         ".global .align 4 .u32 g;\n"
         ".visible .entry k(.param .u64 s, .param .u64 b) {\n .reg .b64 %d<3>; .reg .b32 %r<3>;\n"
         " ld.param.u64 %d1, [s];\n ld.param.u64 %d2, [b];\n mov.u32 %r1, %tid.x;\n"
         " sust.b.2d.b8.zero [%d1, {%r1, 0}], 5;\n st.global.u32 [%d2], %r1;\n ret;\n}\n";
}

std::string good_manifest() {
  return R"({
  "module": "k.ptx",
  "surfaces": {
    "s": {"geometry": "2d", "format": "u8", "channels": 4, "width": 8, "height": 4,
     "init": {"pattern": 7}}
  },
  "textures": {"t": {"resource": "s", "read": "normalized_float", "filter": "linear"}},
  "buffers": {"b": {"bytes": 64, "init": {"zero": true}}},
  "globals": {"g": {"u32": 3}},
  "launches": [
    {"kernel": "k", "grid": [2, 1, 1], "block": 16, "shared": 0, "repeat": 1,
     "args": [{"surface": "s"}, {"buffer": "b", "offset": 8}], "surfrefs": {"img": "s"}}
  ],
  "outputs": [{"surface": "s", "raw": "s.bin"}]
})";
}

std::vector<Hostile> hostile_manifests() {
  std::vector<Hostile> out;
  const std::string good = good_manifest();
  const auto add = [&](const std::string& name, const std::string& text) {
    out.push_back({name, text});
  };
  for (std::size_t i = 0; i < 25; ++i)
    add("cut_" + std::to_string(i), good.substr(0, 1 + i * (good.size() - 3) / 25));
  std::uint32_t state = 99;
  for (std::size_t i = 0; i < 10; ++i) {
    std::string noise(20 + i * 300, ' ');
    for (char& c : noise) {
      state ^= state << 13;
      state ^= state >> 17;
      state ^= state << 5;
      c = static_cast<char>(state);
    }
    add("noise_" + std::to_string(i), noise);
  }
  add("deep_arrays", times(200'000, "["));
  add("deep_objects", times(200'000, "{\"a\":"));
  add("deep_closed", "{\"module\": " + times(100'000, "[") + times(100'000, "]") + "}");
  add("long_text", "{\"module\": \"" + times(1'000'000, "x") + "\"}");
  // What a message repeats of them is cut.
  for (const char* piece : {"k.ptx", "2d", "u8", "channels", "width"})
    for (const bool wide : {false, true}) {
      std::string text = good;
      const std::size_t at = text.find("\"" + std::string(piece) + "\"");
      text.insert(at + 1, times(450'000, wide ? "\xc3\xa4" : "xx"));
      add("long_" + std::string(piece), at == text.npos ? "unchanged" : text);
    }
  for (const char* piece : {"8", "4"}) {
    std::string text = good;
    text.insert(text.find(": " + std::string(piece)) + 2, times(900'000, "9"));
    add("long_number_" + std::string(piece), text);
    add("long_fraction_" + std::string(piece), text.insert(text.find("99"), "0."));
  }
  add("nul", std::string(1, '\0'));
  add("bare_number", "1e999999");
  add("list", "[]");
  add("null", "null");
  std::size_t number = 0;
  for (const auto& change : kChanges) {
    std::string text = good;
    const std::size_t at = text.find(change.piece);
    if (at != text.npos) text.replace(at, std::string(change.piece).size(), change.other);
    add("change_" + std::to_string(number++) + " " + change.other,
        text == good ? "unchanged" : text);
  }
  return out;
}

}  // namespace ptx2spv::test
