// A program of groups of wrong calls, each group in a process of its own: what one leaves behind
// does not show in another, and a call that ends the process ends its group alone.
#pragma once
#include "common.cuh"

#ifndef TELL
#define TELL(call) tell(#call, call)
#define NOTE(what, call) tell(what, call)
#endif

struct Group {
  const char* name;
  void (*run)();
};

/// Prints a call's answer and takes the error away that it leaves.
inline void tell(const char* what, cudaError_t code) {
  const cudaError_t kept = cudaGetLastError();
  std::printf("%-72s %s%s\n", what, cudaGetErrorName(code), kept == code ? "" : " not kept");
  std::fflush(stdout);
}

/// Runs the group that the command line names.
template <std::size_t N>
int run_group(const Group (&groups)[N], int argc, char** argv) {
  for (const Group& each : groups)
    if (argc == 2 && std::strcmp(each.name, argv[1]) == 0) {
      each.run();
      NOTE("at the end", cudaDeviceSynchronize());
      return 0;
    }
  for (const Group& each : groups) std::printf("%s\n", each.name);
  return argc != 1;
}
