/* Graphs whose kernels are of other contexts and devices than the stream's. What one context's
   kernels give in another's streams is what an H100 gave. */
#include <sched.h>
#include "driver.h"

/* Long enough that who does not wait finds the word as it was. */
#define STEPS 3000000u
static const char kKernels[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry add(.param .u64 out, .param .u32 value) {\n"
    "  .reg .u64 %rd1; .reg .u32 %r1; ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [value];\n"
    "  atom.global.add.u32 %r1, [%rd1], %r1; ret;\n}\n"
    ".visible .entry slow(.param .u64 out, .param .u32 value) {\n"
    "  .reg .u64 %rd1; .reg .u32 %r<3>; .reg .pred %p1;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [value]; mov.u32 %r2, 0;\n"
    "again: mad.lo.u32 %r1, %r1, 1664525, 1013904223; add.u32 %r2, %r2, 1;\n"
    "  setp.lt.u32 %p1, %r2, 3000000; @%p1 bra again;\n"
    "  st.global.u32 [%rd1], %r1; ret;\n}\n";

typedef struct {
  CUfunction function;
  unsigned gx, gy, gz, bx, by, bz, shared;
  void **params, **extra;
  void *kernel, *context;
} KernelNode;
typedef struct {
  void (*call)(void*);
  void* data;
} HostNode;
extern CUresult cuGraphCreate(CUgraph*, unsigned);
extern CUresult cuGraphAddKernelNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                        const KernelNode*);
extern CUresult cuGraphAddHostNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                   const HostNode*);
extern CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
extern CUresult cuGraphLaunch(CUgraphExec, CUstream);
extern CUresult cuStreamBeginCapture_v2(CUstream, int);
extern CUresult cuStreamEndCapture(CUstream, CUgraph*);

typedef struct {
  CUcontext context;
  CUfunction add, slow;
  unsigned* word; /* of the host, and where kernels find it */
  CUdeviceptr address;
} Place;

static void make(Place* place, int device) {
  CUmodule module;
  void* host = NULL;
  OK(cuCtxCreate_v2(&place->context, 0, device));
  OK(cuModuleLoadData(&module, kKernels));
  OK(cuModuleGetFunction(&place->add, module, "add"));
  OK(cuModuleGetFunction(&place->slow, module, "slow"));
  OK(cuMemHostAlloc(&host, 4, 2));
  OK(cuMemHostGetDevicePointer_v2(&place->address, host, 0));
  place->word = host;
  if (!failures) *place->word = 0;
}

static CUgraphNode add_kernel(CUgraph graph, CUgraphNode after, CUfunction function,
                              CUdeviceptr address, unsigned value) {
  void* params[] = {&address, &value};
  const KernelNode node = {function, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
  CUgraphNode made = NULL;
  OK(cuGraphAddKernelNode_v2(&made, graph, &after, after != NULL, &node));
  return made;
}

static unsigned slow_value(unsigned value) {
  for (unsigned i = 0; i < STEPS; ++i) value = value * 1664525u + 1013904223u;
  return value;
}

static void in_other_contexts(Place* own, Place* other) {
  CUgraph graph, captured = NULL;
  CUgraphExec exec, under_other;
  CUstream stream;
  unsigned value = 3;
  void* params[] = {&own->address, &value};
  OK(cuCtxSetCurrent(own->context));
  OK(cuGraphCreate(&graph, 0));
  add_kernel(graph, NULL, own->add, own->address, value);
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuCtxSetCurrent(other->context));
  OK(cuStreamCreate(&stream, 0));
  OK(cuGraphInstantiateWithFlags(&under_other, graph, 0));
  OK(cuGraphLaunch(exec, NULL));
  OK(cuGraphLaunch(under_other, NULL));
  OK(cuGraphLaunch(exec, stream));
  OK(cuCtxSynchronize());
  TRUE(*own->word == 9);
  OK(cuCtxSetCurrent(own->context));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  TRUE(*own->word == 12);
  FAILS(400, cuLaunchKernel(own->add, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
  OK(cuCtxSetCurrent(other->context));
  FAILS(400, cuLaunchKernel(own->add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  OK(cuStreamBeginCapture_v2(stream, 0));
  FAILS(400, cuLaunchKernel(own->add, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
  OK(cuStreamEndCapture(stream, &captured)); /* the capture goes on without it */
  OK(cuCtxSynchronize());
  TRUE(*own->word == 12);
}

typedef struct {
  volatile unsigned go, seen;
  Place* read;
} Visit;
static void visit(void* data) {
  Visit* each = data;
  each->seen = *each->read->word;
  while (!__atomic_load_n(&each->go, __ATOMIC_ACQUIRE)) sched_yield();
}

/* Kernels of both devices in turn, and host functions that see what the ones before wrote. */
static void on_both_devices(Place* own, Place* other) {
  CUgraph graph;
  CUgraphExec exec;
  CUstream stream;
  Visit first = {0, 0, other}, second = {0, 0, own};
  const HostNode calls[] = {{visit, &first}, {visit, &second}};
  CUgraphNode node;
  OK(cuCtxSetCurrent(own->context));
  OK(cuStreamCreate(&stream, 0));
  OK(cuGraphCreate(&graph, 0));
  node = add_kernel(graph, NULL, other->slow, other->address, 1);
  OK(cuGraphAddHostNode(&node, graph, &node, 1, &calls[0]));
  node = add_kernel(graph, node, own->slow, own->address, 2);
  OK(cuGraphAddHostNode(&node, graph, &node, 1, &calls[1]));
  add_kernel(graph, node, other->slow, other->address, 3);
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2 && !failures; ++i) {
    *own->word = *other->word = 0;
    first.go = second.go = 0;
    OK(cuGraphLaunch(exec, stream));
    FAILS(600, cuStreamQuery(stream));
    __atomic_store_n(&first.go, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&second.go, 1, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(stream));
    TRUE(first.seen == slow_value(1));
    TRUE(second.seen == slow_value(2));
    TRUE(*other->word == slow_value(3));
  }
}

static void of_destroyed_context(Place* gone, Place* other) {
  CUgraph graph;
  CUgraphExec exec;
  OK(cuCtxSetCurrent(gone->context));
  OK(cuGraphCreate(&graph, 0));
  add_kernel(graph, NULL, gone->add, gone->address, 1);
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuCtxDestroy_v2(gone->context));
  OK(cuCtxSetCurrent(other->context));
  FAILS(709, cuGraphLaunch(exec, NULL));
}

int main(void) {
  Place places[3];
  OK(cuInit(0));
  for (int i = 0; i < 3 && !failures; ++i) make(&places[i], i == 2);
  if (!failures) in_other_contexts(&places[0], &places[1]);
  if (!failures) on_both_devices(&places[0], &places[2]);
  if (!failures) of_destroyed_context(&places[1], &places[0]);
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
