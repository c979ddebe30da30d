// Every form of a surface instruction that the table accepts runs on the device and is compared
// with the model of the hardware's rules; every form that traps is seen to trap.
#include <map>

#include "tests/runtime/fixture.hpp"
#include "tests/support/surface_model.hpp"

namespace ptx2spv {
namespace {

using ptx::Mod;
using test::ModelSurface;
using test::SurfaceForm;

constexpr std::uint32_t kSets = 12;

enum class HandleSource { param, surfref, memory };

struct Case {
  const char* name;
  ArrayBacking backing;
  HandleSource source;
  std::uint32_t every,
      first;  ///< forms: one of `every`, since how a handle came is no form's matter
  bool all_texels;
};

/// Register class and count of bits of an element.
std::string register_of(const SurfaceForm& form, unsigned i) {
  const char* name = form.element_bytes() == 8 ? "%d" : form.element_bytes() == 4 ? "%r" : "%h";
  return name + std::to_string(i);
}
std::string move_type(const SurfaceForm& form) {
  return form.element_bytes() == 8 ? "b64" : form.element_bytes() == 4 ? "b32" : "b16";
}

/// A loop over sets of coordinates and values; in each, every form once.
std::string kernel_text(const std::vector<SurfaceForm>& forms, HandleSource source) {
  const std::string n = std::to_string(forms.size());
  std::string text = ".global .surfref bound;\n";
  text += R"(.visible .entry forms(.param .u64 surface, .param .u64 places, .param .u64 values,
  .param .u64 results, .param .u32 sets) {
  .reg .pred %more;
  .reg .b16 %h<4>;
  .reg .b32 %r<4>, %x<4>, %left;
  .reg .b64 %d<4>, %s, %c, %v, %o;
  ld.param.u64 %s, [surface];
  ld.param.u64 %c, [places];
  ld.param.u64 %v, [values];
  ld.param.u64 %o, [results];
  ld.param.u32 %left, [sets];
)";
  if (source == HandleSource::memory) text += "  ld.global.u64 %s, [%s];\n";
  text += "again:\n";
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const SurfaceForm& form = forms[i];
    const auto at = [&](const char* base, std::size_t step, std::size_t j) {
      return "[" + std::string(base) + "+" + std::to_string(step * i + 8 * j) + "]";
    };
    std::vector<std::string> data;
    for (unsigned j = 0; j < 4; ++j) data.push_back(register_of(form, j));
    text += "  ld.global.v4.u32 {%x0,%x1,%x2,%x3}, " + at("%c", 16, 0) + ";\n";
    const bool result = form.op == ptx::Opcode::suld || form.op == ptx::Opcode::suq;
    if (!result)
      for (unsigned j = 0; j < form.vector; ++j)
        text += "  ld.global." + move_type(form) + " " + data[j] + ", " + at("%v", 32, j) + ";\n";
    text +=
        "  " +
        form.text(source == HandleSource::surfref ? "bound" : "%s", {"%x0", "%x1", "%x2"}, data) +
        "\n";
    if (result)
      for (unsigned j = 0; j < form.vector; ++j)
        text += "  st.global." + move_type(form) + " " + at("%o", 32, j) + ", " + data[j] + ";\n";
  }
  return text + "  add.u64 %c, %c, 16*" + n + ";\n  add.u64 %v, %v, 32*" + n +
         ";\n  add.u64 %o, %o, 32*" + n + R"(;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %more, %left, 0;
  @%more bra again;
  ret;
}
)";
}

/// Numbers that look random; the same in every run.
class Numbers {
 public:
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33) ^ static_cast<std::uint32_t>(state_ >> 17);
  }
  std::uint32_t below(std::uint32_t n) { return next() % n; }

 private:
  std::uint64_t state_ = 42;
};

/// Coordinates that the hardware does not trap at; `outside`: one axis is out of bounds.
std::vector<std::int32_t> make_place(Numbers& numbers, const ModelSurface& s,
                                     const SurfaceForm& form, bool outside) {
  const bool texels = form.op == ptx::Opcode::sust && form.formatted;
  const std::uint32_t bytes = texels ? s.texel_bytes() : form.access_bytes();
  const std::uint32_t unit = form.formatted ? 1 : bytes;
  const std::uint32_t starts = s.row_bytes() / bytes;
  const unsigned axes = form.coordinates();
  const bool layered = form.geometry == Mod::a1d || form.geometry == Mod::a2d;
  const unsigned x_axis = layered ? 1 : 0;
  std::vector<std::int32_t> out(axes);
  const unsigned bad = outside ? numbers.below(axes) : axes;
  for (unsigned i = 0; i < axes; ++i) {
    const std::uint32_t size = i == x_axis          ? starts
                               : layered && i == 0  ? s.depth
                               : i == 2 && !layered ? s.depth
                                                    : s.height;
    std::int64_t value = numbers.below(size);
    if (layered && i == 0 && i != bad) value |= std::int64_t{numbers.below(3)} << 16;
    if (i == bad) {
      const std::int64_t far[] = {size, -1, size + 5, 0x7ffff, -0x80000};
      value = far[numbers.below(5)];
      // Of an array index only 16 bits count.
      if (layered && i == 0) value = size + numbers.below(40000);
    }
    out[i] = static_cast<std::int32_t>(i == x_axis ? value * unit : value);
  }
  return out;
}

struct Group {
  std::vector<SurfaceForm> forms;
  std::vector<std::pair<std::string, std::uint32_t>> texels;  ///< format and channels
};

/// Forms that one kernel takes: of a geometry, an opcode and, for stores and reductions, a size of
/// which an image can have texels.
/// `every`: only one form of so many, `first` the first of them.
std::map<std::string, Group> make_groups(std::uint32_t every, std::uint32_t first) {
  std::map<std::string, Group> groups;
  std::uint32_t number = 0;
  for (const SurfaceForm& form : test::surface_forms()) {
    // Cache operators leave no trace in a module, and the omitted mode is .trap: SurfaceMatrix sees
    // to it.
    if (form.too_wide() || form.cache != Mod::none || form.clamp == Mod::none) continue;
    if (number++ % every != first) continue;
    std::string key =
        form.name.substr(0, form.name.find('.') + 2) + "_" + std::string(ptx::text(form.geometry));
    const bool store = form.op == ptx::Opcode::sust && !form.formatted;
    if (store || form.op == ptx::Opcode::sured) key += "_" + std::to_string(form.access_bytes());
    // SwiftShader's time to compile grows faster than kernels do.
    constexpr std::size_t kMost = 8;
    while (groups.contains(key) && groups[key].forms.size() >= kMost) key += "+";
    Group& group = groups[key];
    group.forms.push_back(form);
    if (!group.texels.empty()) continue;
    if (form.op == ptx::Opcode::suld) {
      group.texels = {{"u16", 1}, {"s32", 4}};
    } else if (form.op == ptx::Opcode::sured) {
      if (form.access_bytes() == 4)
        group.texels = {{"s32", 1}, {"f32", 1}};
      else
        group.texels = {{"s16", 4}, {"u32", 2}};
    } else if (form.formatted) {
      group.texels = {{"unorm8", 4}, {"f16", 2}, {"snorm16", 1}, {"f32", 4}, {"s8", 1}};
    } else {
      switch (form.access_bytes()) {
        case 1: group.texels = {{"u8", 1}, {"u8", 4}, {"u16", 1}}; break;
        case 2: group.texels = {{"f16", 1}, {"u8", 4}}; break;
        case 4: group.texels = {{"unorm8", 4}, {"u8", 1}}; break;
        case 8: group.texels = {{"s16", 4}, {"u8", 2}}; break;
        default: group.texels = {{"f32", 4}, {"u32", 1}}; break;
      }
    }
  }
  return groups;
}

Array make_array(const ModelSurface& s, ArrayBacking backing) {
  ArrayDesc desc;
  desc.geometry = *parse_geometry(s.geometry);
  desc.format = *parse_format(s.format);
  desc.channels = s.channels;
  desc.width = s.width;
  desc.height = s.height;
  const bool layered = s.geometry[0] == 'a';
  (layered ? desc.layers : desc.depth) = s.depth;
  desc.backing = backing;
  Array array = must(Array::create(test_device(), desc));
  must(array.upload(std::as_bytes(std::span(s.bytes))));
  return array;
}

class Forms : public testing::TestWithParam<Case> {
 protected:
  /// On an array of the instructions' geometry, or of another.
  void run(const std::string& name, const Group& group, const std::string& array = {});
};

void Forms::run(const std::string& name, const Group& group, const std::string& kind) {
  const std::vector<SurfaceForm>& forms = group.forms;
  const std::size_t n = forms.size();
  Module module = load(kernel_text(forms, GetParam().source));
  Kernel kernel = must(module.kernel("forms"));
  Buffer places = must(Buffer::create(test_device(), 16 * n * kSets));
  Buffer values = must(Buffer::create(test_device(), 32 * n * kSets));
  Buffer results = must(Buffer::create(test_device(), 32 * n * kSets));
  Buffer handle = must(Buffer::create(test_device(), 8));
  Numbers numbers;
  for (const auto& [format, channels] : group.texels) {
    if (!GetParam().all_texels && format != group.texels[0].first) continue;
    const std::string geometry = kind.empty() ? std::string(ptx::text(forms[0].geometry)) : kind;
    const bool flat = geometry == "1d" || geometry == "a1d";
    const std::uint32_t deep = geometry == "3d" || geometry[0] == 'a' ? 3 : 1;
    ModelSurface model(geometry, format, channels, 1, flat ? 1 : 4, deep, 1);
    // Rows that hold the widest access and some more, no multiple of it.
    model = ModelSurface(geometry, format, channels, 40 / model.texel_bytes() + 3, flat ? 1 : 4,
                         deep, 7);
    const ModelSurface before = model;
    Array array = make_array(model, GetParam().backing);
    Surface surface = must(Surface::create(array));
    const std::uint64_t number = surface.handle();
    must(handle.upload(0, std::as_bytes(std::span(&number, 1))));
    must(results.fill(0, 32 * n * kSets, 0));

    std::vector<std::uint64_t> value_words(4 * n * kSets), expected(4 * n * kSets);
    std::vector<std::int32_t> allocate_slice(4 * n * kSets);
    for (std::size_t k = 0; k < n * kSets; ++k) {
      const SurfaceForm& form = forms[k % n];
      const bool traps = form.clamp == Mod::trap;
      const auto place = make_place(numbers, model, form, !traps && numbers.below(2));
      std::copy(place.begin(), place.end(), allocate_slice.begin() + std::ptrdiff_t(4 * k));
      std::vector<std::uint64_t> words;
      for (unsigned j = 0; j < 4; ++j) {
        std::uint64_t word = std::uint64_t{numbers.next()} << 32 | numbers.next();
        // Some floats that the conversions tell apart.
        if (form.formatted && numbers.below(2)) word = 0x3f000000u + numbers.below(0x1000000);
        value_words[4 * k + j] = word;
        words.push_back(word);
      }
      const auto result = model_run(model, form, place, words);
      ASSERT_FALSE(result.trap) << form.name;
      std::copy(result.elements.begin(), result.elements.end(),
                expected.begin() + std::ptrdiff_t(4 * k));
    }
    must(places.upload(0, bytes_of(allocate_slice)));
    must(values.upload(0, bytes_of(value_words)));
    const auto launch = [&](std::uint32_t sets) {
      Args args;
      if (GetParam().source == HandleSource::memory)
        args.buffer(handle);
      else
        args.surface(surface);
      args.buffer(places).buffer(values).buffer(results).value(sets);
      return kernel.launch({}, args.surfref("bound", surface));
    };
    const auto ran = launch(kSets);
    ASSERT_TRUE(ran) << name << " on " << format << channels << ": " << ran.error().text;
    EXPECT_EQ(read_array<std::uint8_t>(array), model.bytes) << name << " on " << format << channels;
    const auto got = read_buffer<std::uint64_t>(results, 4 * n * kSets);
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_EQ(got[k], expected[k]) << forms[k / 4 % n].name << " on " << format << channels;

    if (!kind.empty()) continue;
    // Out of bounds each .trap form ends its thread: what came before it stands, the rest is
    // undone.
    for (std::uint32_t i = 0; i < n; ++i) {
      const SurfaceForm& form = forms[i];
      if (form.clamp != Mod::trap) continue;
      const auto bad = make_place(numbers, model, form, true);
      std::vector<std::int32_t> places_now(allocate_slice.begin(),
                                           allocate_slice.begin() + std::ptrdiff_t(4 * n));
      std::copy(bad.begin(), bad.end(), places_now.begin() + 4 * i);
      ModelSurface partly = before;
      for (std::uint32_t k = 0; k < i; ++k)
        model_run(partly, forms[k],
                  {allocate_slice.begin() + 4 * k,
                   allocate_slice.begin() + 4 * k + forms[k].coordinates()},
                  {value_words.begin() + 4 * k, value_words.begin() + 4 * k + 4});
      must(array.upload(std::as_bytes(std::span(before.bytes))));
      must(places.upload(0, bytes_of(places_now)));
      const auto trapped = launch(1);
      ASSERT_FALSE(trapped) << form.name;
      ASSERT_TRUE(trapped.error().trap) << trapped.error().text;
      const TrapReport& report = *trapped.error().trap;
      EXPECT_EQ(report.kind, abi::TrapKind::out_of_bounds) << form.name;
      EXPECT_EQ(report.trapped_threads, 1u);
      EXPECT_NE(report.instruction.find(form.name + " "), std::string::npos) << form.name;
      ASSERT_EQ(report.coordinates.size(), form.coordinates()) << form.name;
      for (unsigned c = 0; c < form.coordinates(); ++c)
        EXPECT_EQ(report.coordinates[c].second, bad[c]) << form.name;
      EXPECT_EQ(read_array<std::uint8_t>(array), partly.bytes) << form.name;
    }
  }
}

TEST_P(Forms, DoWhatTheRulesSay) {
  std::size_t count = 0;
  for (const auto& [name, group] : make_groups(GetParam().every, GetParam().first)) {
    run(name, group);
    count += group.forms.size();
    if (HasFailure()) return;
  }
  EXPECT_GT(count, 500u / GetParam().every);
}

// Whether they find its bytes or nothing.
TEST_P(Forms, OnArraysOfEveryOtherKind) {
  unsigned turn = 0;
  for (const auto& [name, group] : make_groups(GetParam().every * 3, GetParam().first))
    for (unsigned k = 0; k < 2; ++k) {
      constexpr const char* kKinds[] = {"1d", "2d", "3d", "a1d", "a2d"};
      const std::string kind = kKinds[turn++ % 5];
      if (kind == ptx::text(group.forms[0].geometry)) continue;
      SCOPED_TRACE(name + " on " + kind);
      run(name, group, kind);
      if (HasFailure()) return;
    }
  EXPECT_GT(turn, 20u);
}

// All queries on every geometry, from each source.
TEST_P(Forms, QueriesGiveTheManualsNumbers) {
  std::vector<SurfaceForm> queries;
  for (const SurfaceForm& form : test::surface_forms())
    if (form.op == ptx::Opcode::suq) queries.push_back(form);
  ASSERT_GE(queries.size(), 7u);
  Module module = load(kernel_text(queries, GetParam().source));
  Kernel kernel = must(module.kernel("forms"));
  Buffer nothing = must(Buffer::create(test_device(), 32 * queries.size()));
  Buffer results = must(Buffer::create(test_device(), 32 * queries.size()));
  Buffer handle = must(Buffer::create(test_device(), 8));
  const char* formats[] = {"u8",  "u16", "u32",    "s8",      "s16",    "s32",
                           "f16", "f32", "unorm8", "unorm16", "snorm8", "snorm16"};
  unsigned made = 0;
  for (const char* geometry : {"1d", "2d", "3d", "a1d", "a2d"})
    for (const char* format : formats) {
      const std::uint32_t channels = 1u << made++ % 3;
      const bool flat = geometry == std::string("1d") || geometry == std::string("a1d");
      const bool deep = geometry[0] == '3' || geometry[0] == 'a';
      const ModelSurface model(geometry, format, channels, 5, flat ? 1 : 6, deep ? 7 : 1, 1);
      Array array = make_array(model, GetParam().backing);
      Surface surface = must(Surface::create(array));
      const std::uint64_t number = surface.handle();
      must(handle.upload(0, std::as_bytes(std::span(&number, 1))));
      Args args;
      if (GetParam().source == HandleSource::memory)
        args.buffer(handle);
      else
        args.surface(surface);
      args.buffer(nothing).buffer(nothing).buffer(results).value(1u);
      must(kernel.launch({}, args.surfref("bound", surface)));
      const auto got = read_buffer<std::uint64_t>(results, 4 * queries.size());
      for (std::size_t i = 0; i < queries.size(); ++i)
        EXPECT_EQ(static_cast<std::uint32_t>(got[4 * i]),
                  test::model_query(model, std::string(ptx::text(queries[i].query))))
            << queries[i].name << " " << geometry << " " << format << channels;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Surfaces, Forms,
    testing::Values(
        Case{"linear_by_parameter", ArrayBacking::linear, HandleSource::param, 1, 0, true},
        Case{"image_by_parameter", ArrayBacking::image, HandleSource::param, 1, 0, false},
        Case{"image_by_surfref", ArrayBacking::image, HandleSource::surfref, 3, 0, false},
        Case{"linear_from_memory", ArrayBacking::linear, HandleSource::memory, 3, 1, false},
        Case{"image_from_memory", ArrayBacking::image, HandleSource::memory, 3, 2, false}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ptx2spv
