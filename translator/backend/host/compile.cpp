#include "translator/backend/host/compile.hpp"

#include <mutex>
#include <type_traits>

#include <fmt/format.h>

#include "translator/backend/host/debug_lines.hpp"
#include "translator/backend/host/emit.hpp"
#include "translator/backend/host/llvm_hooks.hpp"

namespace ptx2spv::interpreter::llvm {

namespace {

/// Operations past which LLVM takes too long.
constexpr std::size_t kMostOperations = 20'000;

std::mutex g_mutex;
std::string g_processor, g_triple;  ///< compile_for()

struct Needs {
  bool warps = false, barriers = false, yields = false;
};

Needs needs_of(const ir::Function& f) {
  Needs needs;
  for (const ir::BlockId b : f.order)
    for (const ir::Value v : f.blocks[b].insts) {
      const Op op = f.insts[v].op;
      needs.yields = needs.yields || op == Op::yield;
      needs.barriers = needs.barriers || is_barrier(op) || op == Op::yield;
      needs.warps = needs.warps || is_warp_operation(op);
    }
  return needs;
}

bool has_avx512(std::string_view features) {
  return features.find("+avx512bw") != std::string_view::npos;
}

/// Lanes of a vector of words: as many as a register of AVX-512 or two of others have. Those that
/// wait at barriers have more, because each vector's turn takes time.
unsigned lanes_of(const Needs& needs, std::string_view features) {
  if (needs.warps) return kLanes;
  return (has_avx512(features) ? 16 : 8) * (needs.barriers ? 2 : 1);
}

/// Vectors of barriers and warps may be more than half a warp.
Kind kind_of(const Needs& needs, BlockForm form, std::string_view features) {
  const bool half = form.row == BlockForm::half_warp && !needs.barriers && !needs.warps;
  const bool rows = form.row == BlockForm::warp || half;
  return {lanes_of(needs, features), rows, rows || form.whole, has_avx512(features)};
}

/// The linker that all versions have: what LLVM 17 and 18 take instead looks for functions of
/// theirs among the process's own.
LLVMOrcObjectLayerRef linker(void* api, LLVMOrcExecutionSessionRef session, const char*) {
  const Api& l = *static_cast<const Api*>(api);
  return l.OrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(session);
}

/// Tells GDB of what is linked.
LLVMOrcObjectLayerRef linker_for_debuggers(void* api, LLVMOrcExecutionSessionRef session,
                                           const char* triple) {
  const Api& l = *static_cast<const Api*>(api);
  LLVMOrcObjectLayerRef layer = linker(api, session, triple);
  l.OrcRTDyldObjectLinkingLayerRegisterJITEventListener(layer, l.CreateGDBRegistrationListener());
  return layer;
}

class Compiler {
 public:
  explicit Compiler(const Api& api) : l_(api), context_(api.ContextCreate()) {}
  ~Compiler() {
    if (module_) l_.DisposeModule(module_);
    if (data_) l_.DisposeTargetData(data_);
    if (machine_) l_.DisposeTargetMachine(machine_);
    l_.ContextDispose(context_);
  }
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  bool machine(std::string& problem) {
    char* usual = l_.GetDefaultTargetTriple();
    std::string triple = usual;
    l_.DisposeMessage(usual);
    char* own = l_.GetHostCPUName();
    std::string cpu = own;
    l_.DisposeMessage(own);
    char* features = l_.GetHostCPUFeatures();
    features_ = features;
    l_.DisposeMessage(features);
    {
      const std::lock_guard lock(g_mutex);
      if (!g_processor.empty()) {
        cpu = g_processor;
        features_.clear();
      }
      foreign_ = !g_triple.empty();
      if (foreign_) triple = g_triple;
    }
    processor_ = fmt::format("{} {} {} {}", l_.version, triple, cpu, features_);
    LLVMTargetRef target = nullptr;
    char* error = nullptr;
    if (l_.GetTargetFromTriple(triple.c_str(), &target, &error)) {
      problem = error;
      l_.DisposeMessage(error);
    } else {
      // Default optimisation, position-independent code, the code model of its JIT.
      machine_ =
          l_.CreateTargetMachine(target, triple.c_str(), cpu.c_str(), features_.c_str(), 2, 2, 1);
      data_ = l_.CreateTargetDataLayout(machine_);
      module_ = l_.ModuleCreateWithNameInContext("ptx2spv", context_);
      l_.SetTarget(module_, triple.c_str());
      l_.SetModuleDataLayout(module_, data_);
    }
    return machine_ != nullptr;
  }

  const std::string& features() const { return features_; }
  const std::string& processor() const { return processor_; }
  bool foreign() const { return foreign_; }

  LLVMMemoryBufferRef buffer(std::span<const std::byte> object) {
    return l_.CreateMemoryBufferWithMemoryRangeCopy(reinterpret_cast<const char*>(object.data()),
                                                    object.size(), "ptx2spv");
  }
  std::vector<std::byte> bytes(LLVMMemoryBufferRef object) {
    const auto* first = reinterpret_cast<const std::byte*>(l_.GetBufferStart(object));
    return {first, first + l_.GetBufferSize(object)};
  }

  bool emit(const Program& program, const Shape& shape, Kind kind, std::string& problem) {
    Build build(l_, context_, module_, kind);
    Emitter emitter(build, program.source->function, program, program.source->steps, shape, kind);
    if (!emitter.run()) problem = emitter.problem();
    if (!problem.empty()) return false;
    char* wrong = nullptr;
    if (l_.VerifyModule(module_, 2, &wrong)) problem = fmt::format("internal: {}", wrong);
    if (wrong) l_.DisposeMessage(wrong);
    return problem.empty();
  }

  /// Without LLVM's passes for loops and calls: what ours leave of either gains nothing by them,
  /// and they take three quarters of a large kernel's time.
  bool optimise(std::string& problem) {
    LLVMPassBuilderOptionsRef options = l_.CreatePassBuilderOptions();
    bool done = false;
    // LLVM 18 and newer end the process where one run leaves something, unless told not to look.
    for (const char* combine : {"instcombine<no-verify-fixpoint>", "instcombine"}) {
      if (done) break;
      problem.clear();
      const std::string passes =
          fmt::format("function(sroa,early-cse<memssa>,{},simplifycfg)", combine);
      done = !failed(l_.RunPasses(module_, passes.c_str(), machine_, options), problem);
    }
    l_.DisposePassBuilderOptions(options);
    return done;
  }

  /// Object code, or null.
  LLVMMemoryBufferRef object(std::string& problem) {
    if (!optimise(problem)) return nullptr;
    char* message = nullptr;
    LLVMMemoryBufferRef buffer = nullptr;
    if (l_.TargetMachineEmitToMemoryBuffer(machine_, module_, 1, &message, &buffer)) {
      problem = message;
      l_.DisposeMessage(message);
      return nullptr;
    }
    return buffer;
  }

  bool failed(LLVMErrorRef error, std::string& problem) {
    if (!error) return false;
    char* message = l_.GetErrorMessage(error);
    problem = message;
    l_.DisposeErrorMessage(message);
    return true;
  }

  LLVMOrcLLJITRef link(LLVMMemoryBufferRef object, const Program& program, std::uint64_t& address,
                       std::string& problem) {
    LLVMOrcLLJITRef jit = nullptr;
    LLVMOrcLLJITBuilderRef builder = l_.OrcCreateLLJITBuilder();
    const std::string name = code_name(program);
    const std::vector<std::byte> listed =
        program.name.empty() ? std::vector<std::byte>() : bytes(object);
    l_.OrcLLJITBuilderSetObjectLinkingLayerCreator(
        builder, program.name.empty() ? linker : linker_for_debuggers, const_cast<Api*>(&l_));
    if (failed(l_.OrcCreateLLJIT(&jit, builder), problem)) {
      l_.DisposeMemoryBuffer(object);
      return nullptr;
    }
    LLVMOrcJITDylibRef library = l_.OrcLLJITGetMainJITDylib(jit);
    LLVMOrcDefinitionGeneratorRef process = nullptr;
    // What code calls of the C library, such as fmodf.
    if (!failed(l_.OrcCreateDynamicLibrarySearchGeneratorForProcess(
                    &process, l_.OrcLLJITGetGlobalPrefix(jit), nullptr, nullptr),
                problem))
      l_.OrcJITDylibAddGenerator(library, process);
    if (failed(l_.OrcLLJITAddObjectFile(jit, library, object), problem) ||
        failed(l_.OrcLLJITLookup(jit, &address, name.c_str()), problem)) {
      l_.OrcDisposeLLJIT(jit);
      return nullptr;
    }
    if (!listed.empty()) list_for_perf(name, address, listed);
    return jit;
  }

 private:
  const Api& l_;
  LLVMContextRef context_;
  LLVMModuleRef module_ = nullptr;
  LLVMTargetMachineRef machine_ = nullptr;
  LLVMTargetDataRef data_ = nullptr;
  std::string features_, processor_;
  bool foreign_ = false;  ///< for another machine
};

class Content {
 public:
  template <typename T>
  void add(T number) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  template <typename T>
  void add_all(const std::vector<T>& numbers) {
    add(numbers.size());
    for (const T each : numbers) add(each);
  }
  void add_text(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }

  void add_inst(const ir::Inst& inst) {
    add(inst.op), add(inst.type), add(inst.builtin), add(inst.count), add(inst.first);
    add(inst.imm), add(inst.fp.kind), add(inst.fp.to), add(inst.fp.round);
    add(inst.fp.ftz), add(inst.fp.sat), add(inst.fp.nan);
    const ir::MemAttr& mem = inst.mem;
    add(mem.space), add(mem.bytes), add(mem.is_volatile), add(mem.readonly), add(mem.atomic);
    add(mem.slot);
  }
  void add_block(const ir::Block& block) {
    add_all(block.insts), add_all(block.succs), add_all(block.preds);
    add(block.term), add(block.cond), add(block.merge), add(block.merge_block);
    add(block.continue_block);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Equal for programs of the same translator from which the same machine code is made. Bytes.
std::string content_of(const Program& program) {
  const ir::Function& function = program.source->function;
  Content content;
  content.add(function.insts.size());
  for (const ir::Inst& each : function.insts) content.add_inst(each);
  content.add_all(function.operands);
  content.add(function.blocks.size());
  for (const ir::Block& each : function.blocks) content.add_block(each);
  content.add_all(function.order);
  content.add(program.local_bytes), content.add(program.shared_bytes), content.add(program.rows);
  content.add_all(program.source->steps);
  if (!program.name.empty()) {
    content.add_text(program.name), content.add_text(program.file);
    for (const ir::Loc& each : program.locs) content.add(each.line), content.add(each.module);
    for (const ir::Inst& each : function.insts) content.add(each.loc);
  }
  for (const auto& call : program.calls) content.add_text(call->name);
  // Where operands of what handlers do lie.
  for (const Step& step : program.steps) {
    content.add(step.out);
    for (const Place each : step.in) content.add(each);
  }
  return content.take();
}
}  // namespace

Code::~Code() {
  std::string problem;
  if (const Api* api = jit_ ? load_api(problem) : nullptr)
    api->OrcDisposeLLJIT(static_cast<LLVMOrcLLJITRef>(jit_));
}

namespace {

/// Why a function is not compiled, but for its shape.
std::string too_much(const ir::Function& function) {
  return function.insts.size() > kMostOperations ? "the kernel is too large" : std::string();
}

}  // namespace

void compile_for(std::string processor, std::string triple) {
  const std::lock_guard lock(g_mutex);
  g_processor = std::move(processor);
  g_triple = std::move(triple);
}

std::string refusal(const Program& program, BlockForm form) {
  std::string problem;
  if (!load_api(problem)) return problem;
  const ir::Function& function = program.source->function;
  const Needs needs = needs_of(function);
  problem = too_much(function);
  return problem.empty() ? Shape(function, kind_of(needs, form, {}).rows).problem() : problem;
}

std::shared_ptr<const Code> compile(const Program& program, BlockForm form, CodeStore* store,
                                    bool stored, std::string& problem) {
  const Api* api = load_api(problem);
  if (!api) return nullptr;
  const ir::Function& function = program.source->function;
  const Needs needs = needs_of(function);
  Compiler compiler(*api);
  if (!compiler.machine(problem)) return nullptr;
  const Kind kind = kind_of(needs, form, compiler.features());
  const std::string content = store ? fmt::format("{} {} {} {}\n", compiler.processor(), kind.lanes,
                                                  kind.rows, kind.whole) +
                                          content_of(program)
                                    : std::string();
  LLVMMemoryBufferRef object = nullptr;
  if (store)
    if (const auto known = store->load(content)) object = compiler.buffer(*known);
  if (!object) {
    if (stored) return nullptr;
    if (problem = too_much(function); !problem.empty()) return nullptr;
    const Shape shape(function, kind.rows);
    if (problem = shape.problem(); !problem.empty()) return nullptr;
    std::shared_ptr<void> turn;
    std::optional<std::vector<std::byte>> known;
    {
      const MayBeLeft until_stored;
      if (store) turn = store->turn(content, MayBeLeft::obey_now);
      if (turn) known = store->load(content);
      if (known)
        object = compiler.buffer(*known);
      else if (compiler.emit(program, shape, kind, problem))
        object = compiler.object(problem);
    }
    if (!object) return nullptr;
    if (store && !known) store->store(content, compiler.bytes(object));
  }
  if (compiler.foreign()) {
    api->DisposeMemoryBuffer(object);
    problem = "the code is another machine's";
    return nullptr;
  }
  auto code = std::make_shared<Code>();
  std::uint64_t address = 0;
  code->jit_ = compiler.link(object, program, address, problem);
  if (!code->jit_) return nullptr;
  code->run = reinterpret_cast<Compiled>(address);
  code->lanes = kind.lanes;
  code->turns = needs.barriers;
  code->saved_bytes = code->run(nullptr, 0, 0, 0, 0);
  code->yields = needs.yields;
  return code;
}

}  // namespace ptx2spv::interpreter::llvm
