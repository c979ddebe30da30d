// Host functions that wait for what the calling thread does next: they run in a thread of their
// own, in the order of their stream, of the events in it, and of the legacy stream.
#include "common.cuh"

#include <atomic>
#include <string>
#include <thread>

namespace {

/// What the program sees, in order, on an H200 too.
constexpr const char* kExpected =
    "query stream: cudaErrorNotReady\n"
    "other stream sees 1\n"
    "query event: cudaErrorNotReady\n"
    "query other: cudaErrorNotReady\n"
    "then 123, ran 1\n"
    "query stream: cudaErrorNotReady\n"
    "callback 100\n"
    "a device inside: cudaErrorNotPermitted\n"
    "memory inside: cudaErrorNotPermitted\n"
    "query legacy: cudaErrorNotReady\n"
    "legacy 1234, ran 2\n"
    "query graph: cudaErrorNotReady\n"
    "graph 123456, ran 3\n"
    "late copy 9\n";
std::string seen;

std::atomic<int> go{0}, ran{0};

__global__ void append(int* number, int digit) { *number = *number * 10 + digit; }

void wait_for_go(void*) {
  while (!go) std::this_thread::yield();
  ++ran;
}
void callback(cudaStream_t, cudaError_t code, void* result) {
  while (!go) std::this_thread::yield();
  *static_cast<int*>(result) = 100 + code;
}
/// What CUDA answers to calls in host functions.
struct Inside {
  cudaError_t device, memory;
};
void call_inside(void* result) {
  void* p = nullptr;
  int device = 0;
  auto* inside = static_cast<Inside*>(result);
  inside->device = cudaGetDevice(&device);
  inside->memory = cudaMalloc(&p, 4);
}

void say(const char* what, cudaError_t code) {
  seen += std::string(what) + ": " + cudaGetErrorName(code) + '\n';
}

void note(const char* what, int value, int runs = -1) {
  seen += what + std::to_string(value);
  if (runs >= 0) seen += ", ran " + std::to_string(runs);
  seen += '\n';
}

int read(const int* number) {
  int value = -1;
  CHECK(cudaMemcpy(&value, number, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

void streams_and_events(int* number, cudaStream_t stream, cudaStream_t other) {
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event));
  append<<<1, 1, 0, stream>>>(number, 1);
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaStreamWaitEvent(other, event, 0));
  CHECK(cudaLaunchHostFunc(stream, wait_for_go, nullptr));
  append<<<1, 1, 0, stream>>>(number, 2);
  say("query stream", cudaStreamQuery(stream));
  int value = -1;
  CHECK(cudaMemcpyAsync(&value, number, sizeof value, cudaMemcpyDeviceToHost, other));
  CHECK(cudaStreamSynchronize(other));
  note("other stream sees ", value);
  CHECK(cudaEventRecord(event, stream));
  say("query event", cudaEventQuery(event));
  CHECK(cudaStreamWaitEvent(other, event, 0));
  append<<<1, 1, 0, other>>>(number, 3);
  say("query other", cudaStreamQuery(other));
  go = 1;
  CHECK(cudaStreamSynchronize(other));
  note("then ", read(number), ran);
  CHECK(cudaEventDestroy(event));
}

void callbacks(cudaStream_t stream) {
  go = 0;
  int result = 0;
  CHECK(cudaStreamAddCallback(stream, callback, &result, 0));
  say("query stream", cudaStreamQuery(stream));
  go = 1;
  CHECK(cudaStreamSynchronize(stream));
  note("callback ", result);
  Inside inside{};
  CHECK(cudaLaunchHostFunc(stream, call_inside, &inside));
  CHECK(cudaStreamSynchronize(stream));
  say("a device inside", inside.device);
  say("memory inside", inside.memory);
}

void legacy(int* number) {
  go = 0;
  cudaStream_t blocking = nullptr;
  CHECK(cudaStreamCreate(&blocking));
  CHECK(cudaLaunchHostFunc(blocking, wait_for_go, nullptr));
  append<<<1, 1>>>(number, 4);
  say("query legacy", cudaStreamQuery(nullptr));
  go = 1;
  CHECK(cudaDeviceSynchronize());
  note("legacy ", read(number), ran);
  CHECK(cudaStreamDestroy(blocking));
}

void graph(int* number, cudaStream_t stream) {
  go = 0;
  cudaGraph_t made = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  append<<<1, 1, 0, stream>>>(number, 5);
  CHECK(cudaLaunchHostFunc(stream, wait_for_go, nullptr));
  append<<<1, 1, 0, stream>>>(number, 6);
  CHECK(cudaStreamEndCapture(stream, &made));
  CHECK(cudaGraphInstantiate(&exec, made, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  say("query graph", cudaStreamQuery(stream));
  go = 1;
  CHECK(cudaStreamSynchronize(stream));
  note("graph ", read(number), ran);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(made));
}

/// Page-locked memory is read when the copy's turn comes.
void late_copies(int* number, cudaStream_t stream) {
  go = 0;
  int* host = nullptr;
  CHECK(cudaMallocHost(&host, 2 * sizeof *host));
  host[0] = 1;
  CHECK(cudaLaunchHostFunc(stream, wait_for_go, nullptr));
  CHECK(cudaMemcpyAsync(number, host, sizeof *host, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemcpyAsync(host + 1, number, sizeof *host, cudaMemcpyDeviceToHost, stream));
  host[0] = 9;
  go = 1;
  CHECK(cudaStreamSynchronize(stream));
  note("late copy ", host[1]);
  CHECK(cudaFreeHost(host));
}

}  // namespace

int main() {
  int* number = nullptr;
  CHECK(cudaMalloc(&number, sizeof *number));
  CHECK(cudaMemset(number, 0, sizeof *number));
  cudaStream_t stream = nullptr, other = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaDeviceSynchronize());
  streams_and_events(number, stream, other);
  callbacks(stream);
  legacy(number);
  graph(number, stream);
  late_copies(number, stream);
  if (seen != kExpected) {
    std::printf("expected:\n%sseen:\n%s", kExpected, seen.c_str());
    return 1;
  }
  std::printf("good\n");
}
