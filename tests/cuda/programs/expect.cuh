// Expectations of programs that check themselves.
#pragma once
#include "common.cuh"

inline int wrong = 0;
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("wrong: %s\n", what);
  ++wrong;
}
#define EXPECT(what) expect(what, #what)

/// The program's exit code.
inline int verdict() {
  if (!wrong) std::printf("good\n");
  return wrong;
}
