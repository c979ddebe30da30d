// LLVM's static objects at the end of the process.
#pragma once

namespace ptx2spv::interpreter::llvm {

/// From here on, static objects that the functions of a library, opened by dlopen, make are not
/// destroyed when the process ends: a thread may be using them. Those there already still are.
void keep_static_objects(void* library);

}  // namespace ptx2spv::interpreter::llvm
