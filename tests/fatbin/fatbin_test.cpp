// What a fat binary holds comes out of it, in every compression and out of every kind of file.
#include <gtest/gtest.h>

#include "ptx2spv/fatbin.hpp"
#include "tests/fatbin/builder.hpp"

namespace ptx2spv::test {
namespace {

std::string ptx_text(const std::string& name) {
  std::string text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry " + name +
                     "(.param .u64 out)\n{\n";
  for (int k = 0; k < 40; ++k)
    text += "  // the same line again, so that there is what to compress\n";
  return text + "  ret;\n}\n";
}

EntrySpec ptx(std::uint32_t arch, Packing packing, const std::string& name = "k",
              std::uint64_t flags = 0) {
  return {1, arch, flags, packing, ptx_text(name), "file.cu", "--maxrregcount=32 "};
}

std::vector<fatbin::Entry> entries_of(const std::string& blob) {
  std::string error;
  const auto entries = fatbin::read(bytes_of(blob), error);
  EXPECT_TRUE(entries) << error;
  return entries.value_or(std::vector<fatbin::Entry>());
}

TEST(Fatbin, EntriesOfEachCompression) {
  const std::string blob = make_fatbin({ptx(70, Packing::plain),
                                        ptx(75, Packing::lz4),
                                        ptx(90, Packing::zstd, "k", 0x100000),
                                        {2, 80, 0, Packing::plain,
                                         "\x7f"
                                         "ELF of a GPU",
                                         "", ""}});
  const auto entries = entries_of(blob);
  ASSERT_EQ(entries.size(), 4u);
  const fatbin::Compression methods[] = {fatbin::Compression::none, fatbin::Compression::lz4,
                                         fatbin::Compression::zstd};
  const char* const archs[] = {"sm_70", "sm_75", "sm_90a", "sm_80"};
  for (unsigned k = 0; k < 4; ++k) {
    SCOPED_TRACE(k);
    EXPECT_EQ(fatbin::arch_name(entries[k]), archs[k]);
    EXPECT_EQ(entries[k].is_ptx(), k < 3);
    if (k == 3) continue;
    EXPECT_EQ(entries[k].compression, methods[k]);
    EXPECT_EQ(entries[k].name, "file.cu");
    EXPECT_EQ(entries[k].options, "--maxrregcount=32 ");
    std::string error;
    EXPECT_EQ(fatbin::unpack_ptx(entries[k], error), ptx_text("k")) << error;
  }
  EXPECT_LT(entries[1].stored.size(), entries[0].stored.size() / 2);
  EXPECT_EQ(fatbin::kind_name(entries[3].kind), "SASS");
  EXPECT_EQ(fatbin::kind_name(fatbin::Kind(77)), "kind 77");
}

TEST(Fatbin, ChoosesTheNewestPtxThatIsNotOverTheCapability) {
  const std::string blob = make_fatbin({ptx(52, Packing::plain),
                                        ptx(90, Packing::plain, "k", 0x100000),
                                        ptx(90, Packing::plain),
                                        ptx(75, Packing::plain),
                                        ptx(100, Packing::plain, "k", 0x200000),
                                        {2, 70, 0, Packing::plain, "machine code", "", ""}});
  const auto entries = entries_of(blob);
  const auto names = [&](std::uint32_t capability) {
    std::string out;
    for (const fatbin::Entry* entry : fatbin::ptx_for(entries, capability))
      out += fatbin::arch_name(*entry) + " ";
    return out;
  };
  EXPECT_EQ(names(50), "");
  EXPECT_EQ(names(70), "sm_52 ");
  EXPECT_EQ(names(75), "sm_75 sm_52 ");
  EXPECT_EQ(names(89), "sm_75 sm_52 ");
  EXPECT_EQ(names(90), "sm_90 sm_90a sm_75 sm_52 ");
  EXPECT_EQ(names(103), "sm_100f sm_90 sm_75 sm_52 ");
  EXPECT_EQ(names(120), "sm_90 sm_75 sm_52 ");
}

TEST(Fatbin, AnEmptyOneHasNoEntries) { EXPECT_TRUE(entries_of(make_fatbin({})).empty()); }

TEST(Fatbin, WhatFollowsIsNotRead) {
  const std::string blob = make_fatbin({ptx(75, Packing::plain)});
  std::string error;
  EXPECT_EQ(fatbin::size_of(bytes_of(blob + "more"), error), blob.size());
  EXPECT_EQ(entries_of(blob + "more").size(), 1u);
}

TEST(Fatbin, WrappersInMemory) {
  const std::string one = make_fatbin({ptx(75, Packing::zstd)}),
                    two = make_fatbin({ptx(75, Packing::lz4), ptx(80, Packing::lz4)}),
                    none = make_fatbin({});
  std::string error;
  fatbin::Wrapper wrapper{fatbin::kWrapperMagic, 1, one.data(), nullptr};
  auto found = fatbin::unwrap(&wrapper, error);
  ASSERT_TRUE(found) << error;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].size(), one.size());

  const void* const list[] = {one.data(), two.data(), nullptr};
  wrapper = {fatbin::kWrapperMagic, 2, none.data(), list};
  found = fatbin::unwrap(&wrapper, error);
  ASSERT_TRUE(found) << error;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[1].size(), two.size());

  wrapper.version = 3;
  EXPECT_FALSE(fatbin::unwrap(&wrapper, error));
  EXPECT_NE(error.find("version 3"), std::string::npos) << error;
  wrapper = {1, 1, one.data(), nullptr};
  EXPECT_FALSE(fatbin::unwrap(&wrapper, error));
  wrapper = {fatbin::kWrapperMagic, 1, nullptr, nullptr};
  EXPECT_FALSE(fatbin::unwrap(&wrapper, error));
  EXPECT_FALSE(fatbin::unwrap(nullptr, error));
  const std::string other(64, 'x');
  wrapper = {fatbin::kWrapperMagic, 1, other.data(), nullptr};
  EXPECT_FALSE(fatbin::unwrap(&wrapper, error));
}

TEST(Fatbin, ElfSections) {
  const std::string one = make_fatbin({ptx(75, Packing::zstd)}),
                    two = make_fatbin({ptx(75, Packing::lz4), ptx(80, Packing::lz4)});
  const std::vector<SectionSpec> sections = {{".text", "code"},
                                             {".nv_fatbin", one + std::string(24, '\0') + two},
                                             {"__nv_relfatbin", two}};
  const std::string file = make_elf(sections);
  std::string error;
  const auto images = fatbin::read_file(bytes_of(file), error);
  ASSERT_TRUE(images) << error;
  ASSERT_EQ(images->size(), 3u);
  EXPECT_EQ((*images)[0].section, ".nv_fatbin");
  EXPECT_EQ((*images)[0].entries.size(), 1u);
  EXPECT_FALSE((*images)[1].relocatable);
  EXPECT_EQ((*images)[1].offset, offset_in_elf(sections, 1) + one.size() + 24);
  EXPECT_TRUE((*images)[2].relocatable);
  EXPECT_EQ((*images)[2].entries.size(), 2u);

  const auto without = fatbin::read_file(bytes_of(make_elf({{".text", "code"}})), error);
  ASSERT_TRUE(without) << error;
  EXPECT_TRUE(without->empty());
}

TEST(Fatbin, WrappersLeadToRenamedSections) {
  const std::string one = make_fatbin({ptx(75, Packing::zstd)});
  std::vector<SectionSpec> sections = {{".rodata", one},
                                       {".nvFatBinSegment", std::string(24, '\0')}};
  constexpr std::uint64_t kBase = 0x400000;
  const auto wrapper = [&](std::uint32_t magic, std::uint32_t version, std::uint64_t address) {
    std::string out;
    put(out, magic, 4);
    put(out, version, 4);
    put(out, address, 8);
    put(out, 0, 8);
    sections[1].contents = out;
    return make_elf(sections, kBase);
  };
  const std::uint64_t place = kBase + offset_in_elf(sections, 0);
  std::string error, file = wrapper(0x466243B1, 1, place);
  const auto images = fatbin::read_file(bytes_of(file), error);
  ASSERT_TRUE(images) << error;
  ASSERT_EQ(images->size(), 1u);
  EXPECT_EQ((*images)[0].entries.size(), 1u);
  for (const std::string& bad : {wrapper(0x466243B1, 3, place), wrapper(0x466243B2, 1, place),
                                 wrapper(0x466243B1, 1, place + 8), wrapper(0x466243B1, 1, 0),
                                 wrapper(0x466243B1, 2, ~0ull)}) {
    EXPECT_FALSE(fatbin::read_file(bytes_of(bad), error));
    EXPECT_NE(error.find(".nvFatBinSegment"), std::string::npos) << error;
  }
}

TEST(Fatbin, Archives) {
  const std::string object = make_elf({{".nv_fatbin", make_fatbin({ptx(75, Packing::zstd)})}});
  const std::string file = make_archive({{"short.o", object},
                                         {"readme.txt", "odd"},
                                         {"a_name_of_more_than_fifteen_characters.o", object}});
  std::string error;
  const auto images = fatbin::read_file(bytes_of(file), error);
  ASSERT_TRUE(images) << error;
  ASSERT_EQ(images->size(), 2u);
  EXPECT_EQ((*images)[0].member, "short.o");
  EXPECT_EQ((*images)[1].member, "a_name_of_more_than_fifteen_characters.o");
  for (const fatbin::Image& image : *images)
    EXPECT_TRUE(fatbin::is_fatbin(bytes_of(file).subspan(image.offset)));
}

TEST(Fatbin, Containers) {
  EXPECT_TRUE(fatbin::is_container(bytes_of(make_fatbin({}))));
  EXPECT_TRUE(fatbin::is_container(bytes_of(make_elf({}))));
  EXPECT_TRUE(fatbin::is_container(bytes_of(make_archive({}))));
  EXPECT_FALSE(fatbin::is_container(bytes_of(ptx_text("k"))));
  EXPECT_FALSE(fatbin::is_container({}));
}

}  // namespace
}  // namespace ptx2spv::test
