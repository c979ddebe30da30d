// 9.7.11 texture instructions.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

void FunctionLowering::lower_texture(const Instruction& inst) { refuse(inst, "texture instructions"); }

}  // namespace ptx2spv::lower
