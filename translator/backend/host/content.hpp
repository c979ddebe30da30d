// What a program is, for keys of code that is kept.
#pragma once

#include <string>

#include "translator/backend/host/program.hpp"

namespace ptx2spv::interpreter {

/// Equal for programs of the same translator from which the same machine code is made. Bytes.
std::string content_of(const Program& program);

}  // namespace ptx2spv::interpreter
