// Blocks of a launch by machine code.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "translator/backend/host/block.hpp"
#include "translator/backend/host/compile.hpp"

namespace ptx2spv::interpreter {

/// What the threads of the processor share that run a launch.
struct CompiledLaunch {
  CompiledLaunch(const Program& program, const Launch& launch, const llvm::Code& code,
                 std::uint32_t dynamic_shared);

  const Program& program;
  const Launch& launch;
  const llvm::Code& code;
  std::uint32_t threads = 0, warps = 0, shared_bytes = 0;
  std::vector<std::uint32_t> ids[3];   ///< by axis, of whole warps
  std::atomic<std::uint32_t> stop{0};  ///< not 0: loops end
};

/// One thread of the processor's.
class CompiledBlocks {
 public:
  explicit CompiledBlocks(CompiledLaunch& launch);

  enum class Status : std::uint8_t { over, going, idle, stuck, stopped };
  /// Blocks [first, end) of the grid. stuck: threads of block() wait at a barrier for ever.
  Status run(std::uint64_t first, std::uint64_t end);
  std::uint64_t block() const { return block_; }

  /// One block, as BlockRun runs it: where code yields or has barriers.
  void begin(std::uint64_t block);
  Status turn();
  bool waited_for_clock() const { return false; }

 private:
  static void do_step(Frame* frame, std::uint32_t step, std::uint32_t mask);
  bool end_turn(Turn& warp);
  void release(std::uint32_t barrier, std::uint32_t result);
  void set_live(Turn& warp, std::uint32_t threads);

  CompiledLaunch& launch_;
  Frame frame_;
  std::vector<Row> rows_;
  std::vector<std::byte> shared_, local_, saved_;
  std::vector<Turn> turns_;
  Barriers barriers_;
  std::uint32_t live_ = 0;  ///< threads of all warps
  std::uint64_t block_ = 0;
};

}  // namespace ptx2spv::interpreter
