#include "translator/backend/host/content.hpp"

#include <type_traits>

namespace ptx2spv::interpreter {

namespace {

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

}  // namespace

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

}  // namespace ptx2spv::interpreter
