// Passes name the parts of the IR without `ir::`.
#pragma once

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {
using namespace ir;
}
