// The whole translator: a valid module or a reason, under any profile and any options.
#include "fuzz/whole.hpp"

#include <array>

#include "tests/support/spirv_tools.hpp"

namespace ptx2spv::fuzz {

namespace {

template <typename T, std::size_t count>
T any_of(Random& random, const T (&choices)[count]) {
  return choices[random.below(count)];
}

void choose_slots(Random& random, TranslateOptions& options) {
  constexpr Backing kBackings[] = {Backing::address, Backing::buffer, Backing::image};
  constexpr abi::SurfaceFormat kFormats[] = {abi::SurfaceFormat::u8, abi::SurfaceFormat::u32,
                                             abi::SurfaceFormat::f32, abi::SurfaceFormat::f16};
  for (std::size_t i = random.below(4); i-- > 0;) {
    SlotSpec slot;
    slot.backing = any_of(random, kBackings);
    slot.format = any_of(random, kFormats);
    slot.channels = static_cast<std::uint8_t>(1u << random.below(3));
    slot.geometry = static_cast<std::uint8_t>(1 + random.below(5));
    slot.format_known = random.one_in(2);
    options.slots.push_back(slot);
  }
  for (std::size_t i = random.below(4); i-- > 0;) {
    TextureSpec texture;
    texture.known = !random.one_in(4);
    texture.sampler = static_cast<std::uint32_t>(random.next());
    texture.format = any_of(random, kFormats);
    texture.channels = static_cast<std::uint8_t>(1u << random.below(3));
    texture.one_level = random.one_in(2);
    options.textures.push_back(texture);
  }
}

/// The sanitizer's, and what a launch may tell it.
void choose_checks(Random& random, TranslateOptions& options) {
  options.checks = random.one_in(3) ? kAllChecks : static_cast<std::uint32_t>(random.next());
  options.checks &= kKernelChecks;
  options.table_steps = static_cast<std::uint32_t>(random.below(12));
  if (random.one_in(2)) return;
  options.known_pointers = random.next();
  options.whole_pointers = options.known_pointers & random.next();
  options.unraced_pointers = options.known_pointers & random.next();
  options.whole_slots = random.next();
  options.unraced_slots = random.next();
}

}  // namespace

TranslateOptions any_options(Random& random, std::size_t& inline_budget) {
  TranslateOptions options;
  const auto names = profile_names();
  options.profile = *find_profile(names[random.below(names.size())]);
  for (std::size_t i = random.one_in(2) ? random.below(8) : 0; i-- > 0;) {
    const auto all = capabilities();
    set_capability(options.profile, all[random.below(all.size())].name, random.one_in(2));
  }
  constexpr ThreadModel kModels[] = {ThreadModel::direct, ThreadModel::flat, ThreadModel::regions};
  options.threads = any_of(random, kModels);
  options.fp = random.one_in(2) ? FpPolicy::exact : FpPolicy::fast;
  options.optimize = random.one_in(4) ? 0 : 1;
  options.debug_info = random.one_in(4);
  options.wide_surfaces = !random.one_in(3);
  options.assume_live_handles = random.one_in(3);
  options.assume_small_grid = random.one_in(2);
  options.shared_in_memory = random.one_in(4);
  options.local_in_memory = random.one_in(4);
  constexpr std::uint32_t kThreads[] = {1, 32, 33, 64, 256, 1000, 1024};
  options.max_block_threads = any_of(random, kThreads);
  options.workgroup_threads = random.one_in(2) ? 0 : any_of(random, kThreads);
  if (random.one_in(2)) {
    options.block[0] = any_of(random, kThreads);
    options.block[1] = options.block[0] > 256 ? 1 : any_of(random, {1u, 2u, 3u});
    options.block[2] = 1;
    options.max_block_threads = options.block[0] * options.block[1];
  }
  options.push_words = any_of(random, {0u, 28u, 32u, 64u});
  options.wait_iterations = any_of(random, {0u, 1u << 24, 4096u});
  if (random.one_in(3)) options.routine_budget = static_cast<std::uint32_t>(random.below(3) * 5000);
  if (random.one_in(2)) options.texture_features = static_cast<std::uint32_t>(random.next());
  choose_slots(random, options);
  inline_budget = random.one_in(3) ? random.below(500) : kInlineBudget;
  if (random.one_in(2)) choose_checks(random, options);
  return options;
}

bool run_whole(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  Random random(hash(input));
  std::size_t inline_budget = 0;
  const TranslateOptions options = any_options(random, inline_budget);
  std::vector<Message> messages;
  const auto errors = [&] {
    bool any = false;
    for (const Message& each : messages) {
      if (each.text.find("internal error") != std::string::npos) found(each.text);
      if (each.severity == Severity::error && each.text.empty()) found("an error without words");
      any = any || each.severity == Severity::error;
    }
    return any;
  };
  const auto module =
      PtxModule::parse({{text, "fuzz.ptx"}}, messages, random.one_in(2), inline_budget);
  if (!module) {
    if (!errors()) found("the parser refuses without an error");
    return false;
  }
  const auto made = module->translate(options, messages);
  if (!made) {
    if (!errors()) found("the translator refuses without an error");
    return true;
  }
  if (errors()) found("an error beside a module");
  const std::string wrong = test::validate_spirv(made->spirv);
  if (!wrong.empty()) found("an invalid module: " + wrong);
  return true;
}

}  // namespace ptx2spv::fuzz
