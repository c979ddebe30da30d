// User objects: who may release how many references of what was retained by whom, and when the
// object is destroyed. A group's letters are its calls.
#include "mistakes.cuh"

namespace {

int destroyed = 0;

/// c: the object is made; r, R: the program retains and releases; g, m, G: a graph retains, is
/// given the program's references, and releases; O: another graph releases; k: the graph is copied;
/// K: the copy releases; d, D: the graph and its copy are destroyed; i, x: it is instantiated, and
/// the instance destroyed. With numbers of references.
void run(const char* calls) {
  cudaGraph_t graph = nullptr, other = nullptr, copy = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaUserObject_t object = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&other, 0));
  const auto call = [&](char what, unsigned count) {
    switch (what) {
      case 'c':
        return cudaUserObjectCreate(
            &object, nullptr, [](void*) { ++destroyed; }, count, cudaUserObjectNoDestructorSync);
      case 'r': return cudaUserObjectRetain(object, count);
      case 'R': return cudaUserObjectRelease(object, count);
      case 'g': return cudaGraphRetainUserObject(graph, object, count, 0);
      case 'm': return cudaGraphRetainUserObject(graph, object, count, cudaGraphUserObjectMove);
      case 'G': return cudaGraphReleaseUserObject(graph, object, count);
      case 'O': return cudaGraphReleaseUserObject(other, object, count);
      case 'k': return cudaGraphClone(&copy, graph);
      case 'K': return cudaGraphReleaseUserObject(copy, object, count);
      case 'd': return cudaGraphDestroy(graph);
      case 'D': return cudaGraphDestroy(copy);
      case 'i': return cudaGraphInstantiate(&exec, graph, 0);
      default: return cudaGraphExecDestroy(exec);
    }
  };
  for (const char* at = calls; *at;) {
    const char what = *at++;
    char* end = nullptr;
    const auto count = static_cast<unsigned>(std::strtoul(at, &end, 10));
    std::printf("%c%.*s", what, static_cast<int>(end - at), at);
    at = *end ? end + 1 : end;
    const cudaError_t code = call(what, count);
    std::printf(" %s, %d destroyed\n", cudaGetErrorName(code), destroyed);
    std::fflush(stdout);
  }
}

const char* const kGroups[] = {"c1,g1,G2",
                               "c2,g1,G2,R1",
                               "c1,G1,d",
                               "c2,G1,R1",
                               "c1,g1,O1,R1",
                               "c1,R2",
                               "c2,R3,R1",
                               "c1,m1,R1",
                               "c1,m2,d",
                               "c1,g3,G2,G2",
                               "c1,g1,k,K1,D,R1,d",
                               "c1,m1,i,d,x",
                               "c5,g1,G1,G1,R5,d",
                               "c1,g1,r2,G3,R1",
                               "c1,g1,R2",
                               "c1,g1,R1,r1,G1,R1",
                               "c1,g1,R1,m1,G1",
                               "c1,r2147483647,r2147483648,R2147483648,R0,g2147483648,g0,G0",
                               "c0",
                               "c2147483648"};

}  // namespace

int main(int argc, char** argv) {
  for (const char* each : kGroups) {
    if (argc == 1) std::printf("%s\n", each);
    if (argc == 2 && std::strcmp(each, argv[1]) == 0) run(each);
  }
}
