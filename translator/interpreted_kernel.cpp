// The public interface of the host back end.
#include "ptx2spv/interpreter.hpp"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "ptx2spv/limits.hpp"
#include "translator/backend/host/grid.hpp"
#include "translator/backend/host/llvm_api.hpp"
#include "translator/backend/host/workers.hpp"
#include "translator/module_impl.hpp"

namespace ptx2spv {

namespace {

/// What the interpreter is to the translator: a device that has everything, whose arithmetic is the
/// processor's, and whose threads go on one warp after the other.
Profile interpreter_profile() {
  Profile profile = *find_profile("full");
  profile.name = "interpreter";
  profile.max_shared_bytes = limits::kShared;
  profile.max_slots = 0;
  profile.features.image_atomics64 = profile.features.indexed_samplers = false;
  profile.features.dot4_u8 = profile.features.dot4_s8 = profile.features.dot4_mixed = false;
  profile.features.float16 = false;
  profile.exactness.exact_round64 = profile.exactness.exact_min32 =
      profile.exactness.exact_widen16 = false;
  profile.exactness.second_nan64 = true;
  profile.exactness.native_approx = false;
  profile.exactness.native_warps = false;
  profile.exactness.independent_threads = false;
  profile.costs.tiled_planes = false;
  return profile;
}

/// Slots and textures where the interpreter finds them.
std::string refusal(const TranslateOptions& options) {
  for (const SlotSpec& slot : options.slots)
    if (slot.backing != Backing::address) return "surfaces of interpreted kernels are in memory";
  for (const TextureSpec& texture : options.textures)
    if (texture.unit != TextureUnit::shader) return "textures of interpreted kernels are in memory";
  for (const TableSpec& each : options.table)
    if (each.texels) return "textures of interpreted kernels are in memory";
  return {};
}

}  // namespace

struct InterpretedKernel::Impl {
  std::shared_ptr<interpreter::Program> program = std::make_shared<interpreter::Program>();
  std::shared_ptr<interpreter::Tier> tier;
  EntryInfo entry;
  mutable std::atomic<double> pace{0};
};

std::optional<InterpretedKernel> InterpretedKernel::make(const PtxModule& module,
                                                         const TranslateOptions& asked,
                                                         std::vector<Message>& messages,
                                                         std::shared_ptr<CodeStore> store) {
  const PtxModule::Impl& source = *module.impl_;
  const FrontEntry* front = source.one_entry(asked.entry, messages);
  if (!front) return std::nullopt;
  messages.insert(messages.end(), front->lowered.messages.begin(), front->lowered.messages.end());
  if (!front->lowered.ok) return std::nullopt;
  if (const std::string problem = refusal(asked); !problem.empty()) {
    messages.push_back(lower::message_at(source.program.module(0), Severity::error, {}, problem));
    return std::nullopt;
  }
  TranslateOptions options = asked;
  options.profile = interpreter_profile();
  options.threads = ThreadModel::direct;
  options.workgroup_threads = 0;
  options.shared_in_memory = options.local_in_memory = false;
  options.push_words = 0;
  std::ranges::fill(options.together, 0u);
  auto impl = std::make_shared<Impl>();
  Growth growth(source.program.text_bytes());
  if (!assemble_entry(*front, source.program, options, *impl->program, impl->entry, messages,
                      growth))
    return std::nullopt;
  impl->entry.sync.warp_subgroups = false;
  if (impl->program->local_bytes > limits::kLocal) {
    messages.push_back(
        lower::message_at(source.program.module(0), Severity::error, {},
                          too_much_local(impl->entry.name, impl->program->local_bytes)));
    return std::nullopt;
  }
  if (options.debug_info) {
    impl->program->name = impl->entry.name;
    impl->program->file = source.program.module(0).source.name();
  }
  impl->tier = std::make_shared<interpreter::Tier>(impl->program, std::move(store));
  InterpretedKernel kernel;
  kernel.impl_ = std::move(impl);
  return kernel;
}

const EntryInfo& InterpretedKernel::entry() const { return impl_->entry; }

std::size_t InterpretedKernel::bytes() const {
  const interpreter::Program& p = *impl_->program;
  const ir::Function& source = p.source->function;
  return source.insts.size() * sizeof(ir::Inst) + source.operands.size() * sizeof(ir::Value) +
         p.steps.size() * sizeof(interpreter::Step) +
         p.constants.size() * sizeof(interpreter::Row) +
         p.blocks.size() * sizeof(interpreter::BlockCode);
}

InterpretedKernel::Ending InterpretedKernel::run(const Launch& launch) const {
  interpreter::Launch inner;
  std::copy_n(launch.grid, 3, inner.grid);
  std::copy_n(launch.block, 3, inner.block);
  const auto region = [&](ir::Space space) -> interpreter::Region& {
    return inner.regions[static_cast<std::size_t>(space)];
  };
#define PTX2SPV_BINDING(name, number, space, readonly, moves, holds) \
  region(ir::Space::space) = {launch.bindings[number].bytes, launch.bindings[number].size};
#include "ptx2spv/bindings.def"
  std::vector<std::uint32_t> push(launch.push.begin(), launch.push.end());
  region(ir::Space::push) = {reinterpret_cast<std::byte*>(push.data()), push.size() * 4};
  interpreter::Tier* tier = launch.tier == Tier::interpreted ? nullptr : impl_->tier.get();
  if (tier && launch.tier == Tier::compiled) tier->compile(inner.block);
  const unsigned threads = launch.threads ? launch.threads : interpreter::processors();
  return interpreter::run_grid(*impl_->program, inner,
                               {.kernel = impl_->entry.name.c_str(),
                                .dynamic_shared = launch.dynamic_shared,
                                .threads = threads,
                                .timeout = launch.timeout,
                                .stall = launch.stall,
                                .patience = launch.patience,
                                .stop = launch.stop,
                                .tier = tier,
                                .pace = &impl_->pace});
}

std::string InterpretedKernel::not_compiled(const std::uint32_t (&block)[3]) const {
  return impl_->tier->refusal(block);
}

std::string InterpretedKernel::no_compiler() {
  std::string problem;
  interpreter::llvm::load_api(problem);
  return problem;
}

const char* InterpretedKernel::running() noexcept { return interpreter::running_kernel(); }

}  // namespace ptx2spv
