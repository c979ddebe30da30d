// 9.7.14 video instructions.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

void FunctionLowering::lower_video(const Instruction& inst) { refuse(inst, "video instructions"); }

}  // namespace ptx2spv::lower
