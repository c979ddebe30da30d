// A word that is always 0, which no driver can know: no grid has 2^31 workgroups in a row.
#pragma once

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

class HiddenZero {
 public:
  explicit HiddenZero(ir::Function& function) : f_(function) {}
  /// i32 or i64, made at the function's beginning when it is asked for first.
  ir::Value of(ir::Type type);

 private:
  ir::Function& f_;
  ir::Value word_ = 0, wide_ = 0;
};

}  // namespace ptx2spv::passes
