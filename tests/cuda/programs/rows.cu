// Copies and fills of many rows within the device's memory, and copies from and to page-locked
// memory, at every alignment: all bytes are compared with what loops of the host make.
#include <algorithm>
#include <atomic>
#include <thread>

#include "expect.cuh"

namespace {

using Bytes = std::vector<unsigned char>;

__global__ void scramble(unsigned char* bytes, size_t count, unsigned seed) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
}
Bytes scrambled(size_t count, unsigned seed) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
  return bytes;
}
void scramble_in(cudaStream_t stream, unsigned char* bytes, size_t count, unsigned seed) {
  scramble<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(bytes, count, seed);
  CHECK(cudaGetLastError());
}

/// Where a side's rows lie in its memory: bytes, and rows of a slice.
struct Rows {
  size_t at, pitch, slice_rows;
  size_t row(size_t y, size_t z) const { return at + (z * slice_rows + y) * pitch; }
};
struct Box {
  size_t width, height, depth;
};

void copy_rows(const Bytes& from, const Rows& source, Bytes& to, const Rows& target,
               const Box& box) {
  for (size_t z = 0; z < box.depth; ++z)
    for (size_t y = 0; y < box.height; ++y)
      std::copy_n(from.begin() + source.row(y, z), box.width, to.begin() + target.row(y, z));
}

size_t bytes_of(const Rows& rows, const Box& box) {
  return rows.row(box.height - 1, box.depth - 1) + box.width;
}

cudaMemcpy3DParms params(void* from, const Rows& source, void* to, const Rows& target,
                         const Box& box, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  p.srcPtr = make_cudaPitchedPtr((char*)from + source.at, source.pitch, source.pitch,
                                 source.slice_rows);
  p.dstPtr = make_cudaPitchedPtr((char*)to + target.at, target.pitch, target.pitch,
                                 target.slice_rows);
  p.extent = make_cudaExtent(box.width, box.height, box.depth);
  p.kind = kind;
  return p;
}

void copy(void* from, const Rows& source, void* to, const Rows& target, const Box& box,
          cudaMemcpyKind kind, cudaStream_t stream) {
  char* out = (char*)to + target.at;
  const char* in = (const char*)from + source.at;
  if (box.depth > 1) {
    const cudaMemcpy3DParms p = params(from, source, to, target, box, kind);
    CHECK(stream ? cudaMemcpy3DAsync(&p, stream) : cudaMemcpy3D(&p));
  } else if (stream) {
    CHECK(cudaMemcpy2DAsync(out, target.pitch, in, source.pitch, box.width, box.height, kind,
                            stream));
  } else {
    CHECK(cudaMemcpy2D(out, target.pitch, in, source.pitch, box.width, box.height, kind));
  }
}

void compare(const char* what, const Bytes& is, const Bytes& wanted, const Rows& source,
             const Rows& target, const Box& box) {
  if (is == wanted) return;
  const size_t at = std::mismatch(is.begin(), is.end(), wanted.begin()).first - is.begin();
  std::printf("%s: %zu x %zu x %zu from %zu by %zu to %zu by %zu: byte %zu\n", what, box.width,
              box.height, box.depth, source.at, source.pitch, target.at, target.pitch, at);
  ++wrong;
}

/// In the device's memory, after a kernel that writes both sides and before one that writes the
/// source again.
void within_device(const Rows& source, const Rows& target, const Box& box, cudaStream_t stream) {
  const size_t from_bytes = bytes_of(source, box) + 32, to_bytes = bytes_of(target, box) + 32;
  unsigned char *from, *to;
  CHECK(cudaMalloc(&from, from_bytes));
  CHECK(cudaMalloc(&to, to_bytes));
  scramble_in(stream, from, from_bytes, 1);
  scramble_in(stream, to, to_bytes, 2);
  copy(from, source, to, target, box, cudaMemcpyDeviceToDevice, stream);
  scramble_in(stream, from, from_bytes, 3);
  CHECK(cudaStreamSynchronize(stream));
  Bytes is(to_bytes), wanted = scrambled(to_bytes, 2);
  CHECK(cudaMemcpy(is.data(), to, to_bytes, cudaMemcpyDeviceToHost));
  copy_rows(scrambled(from_bytes, 1), source, wanted, target, box);
  compare("device", is, wanted, source, target, box);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

void all_within_device(cudaStream_t stream) {
  const size_t aligned[] = {1, 2, 3, 4, 8, 16};
  for (size_t at : aligned)
    for (size_t width : {size_t{1}, 3 * at, 5 * at, 37 * at, size_t{1027}})
      for (size_t height : {1, 63, 64, 200})
        within_device({at, (width + 2 * at) / at * at, height}, {3 * at, width + 7 * at, height},
                      {width, height, 1}, stream);
  within_device({0, 512, 3000}, {16, 1024, 3000}, {512, 3000, 1}, stream);
  within_device({5, 4, 20000}, {1, 3, 20000}, {3, 20000, 1}, stream);
  within_device({0, 64, 100}, {0, 64, 100}, {64, 100, 1}, stream);  // one row
  for (size_t at : {0, 1, 2, 4, 15, 16})
    within_device({at, 300001, 1}, {5, 300001, 1}, {300001 - at, 1, 1}, stream);
  within_device({0, 70016, 80}, {16, 70000, 80}, {66000, 80, 1}, stream);
  within_device({0, 20, 150000}, {4, 24, 150000}, {20, 150000, 1}, stream);
  // Boxes: slices apart, rows dense or not.
  within_device({32, 96, 12}, {16, 80, 9}, {64, 8, 70}, stream);
  within_device({3, 71, 9}, {1, 40, 13}, {39, 9, 11}, stream);
  within_device({4, 40, 9}, {8, 40, 13}, {40, 9, 66}, stream);
  within_device({0, 40, 9}, {8, 40, 9}, {40, 9, 66}, stream);
  within_device({2, 8, 1}, {6, 10, 1}, {6, 1, 300}, stream);
}

/// Elements of `element` bytes that are `value`, in rows of `width` bytes. As a node of a graph, or
/// as a call for those of one byte.
void fill_rows(size_t at, size_t pitch, size_t width, size_t height, unsigned element,
               unsigned value, cudaStream_t stream, bool in_graph) {
  const size_t bytes = at + pitch * (height - 1) + width + 32;
  unsigned char* memory;
  CHECK(cudaMalloc(&memory, bytes));
  scramble_in(stream, memory, bytes, 14);
  if (in_graph) {
    cudaMemsetParams p{};
    p.dst = memory + at;
    p.pitch = pitch;
    p.value = value;
    p.elementSize = element;
    p.width = width / element;
    p.height = height;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &p));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
  } else if (height > 1) {
    CHECK(stream ? cudaMemset2DAsync(memory + at, pitch, (int)value, width, height, stream)
                 : cudaMemset2D(memory + at, pitch, (int)value, width, height));
  } else {
    CHECK(stream ? cudaMemsetAsync(memory + at, (int)value, width, stream)
                 : cudaMemset(memory + at, (int)value, width));
  }
  CHECK(cudaStreamSynchronize(stream));
  Bytes is(bytes), wanted = scrambled(bytes, 14);
  CHECK(cudaMemcpy(is.data(), memory, bytes, cudaMemcpyDeviceToHost));
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x)
      wanted[at + y * pitch + x] = (unsigned char)(value >> 8 * (x % element));
  compare("fill", is, wanted, {at, pitch, height}, {at, pitch, height}, {width, height, 1});
  CHECK(cudaFree(memory));
}

void all_fills(cudaStream_t stream) {
  for (size_t at : {0, 1, 2, 7, 16, 19})
    for (size_t width : {1, 4, 15, 16, 33, 4099}) {
      fill_rows(at, width, width, 1, 1, 0xa5, stream, false);
      fill_rows(at, width + 3, width, 70, 1, 0x3c, stream, false);
    }
  fill_rows(3, 9, 9, 100, 1, 0x77, stream, false);  // one row
  fill_rows(2, 6, 4, 30000, 2, 0xbeef, stream, true);
  fill_rows(6, 70, 62, 65, 2, 0x1234, stream, true);
  fill_rows(4, 24, 20, 99, 4, 0x12345678, stream, true);
  fill_rows(12, 4000, 4000, 1, 4, 0x9abcdef0, stream, true);
}

/// A captured copy of rows and a fill between kernels, replayed: each replay sees what the one
/// before left.
void captured(cudaStream_t stream) {
  const Rows source{3, 50, 90}, target{17, 64, 90};
  const Box box{41, 90, 1};
  const size_t bytes = bytes_of(target, box) + 16;
  unsigned char *from, *to;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes));
  scramble_in(stream, from, bytes, 20);
  scramble_in(stream, to, bytes, 21);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  copy(from, source, to, target, box, cudaMemcpyDeviceToDevice, stream);
  scramble_in(stream, from, bytes, 22);
  CHECK(cudaMemset2DAsync(from + 1, 50, 9, 20, 30, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  Bytes in = scrambled(bytes, 20), wanted = scrambled(bytes, 21);
  for (int replay = 0; replay < 3; ++replay) {
    CHECK(cudaGraphLaunch(exec, stream));
    copy_rows(in, source, wanted, target, box);
    in = scrambled(bytes, 22);
    for (size_t y = 0; y < 30; ++y) std::fill_n(in.begin() + 1 + y * 50, 20, (unsigned char)9);
    if (replay == 1) continue;
    CHECK(cudaStreamSynchronize(stream));
    Bytes is(bytes);
    CHECK(cudaMemcpy(is.data(), to, bytes, cudaMemcpyDeviceToHost));
    compare("captured", is, wanted, source, target, box);
    CHECK(cudaMemcpy(is.data(), from, bytes, cudaMemcpyDeviceToHost));
    compare("captured fill", is, in, source, target, box);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

/// Pageable memory of more than is copied at once.
void pageable(size_t bytes, size_t row) {
  const size_t pitch = row + 13, rows = bytes / pitch;
  unsigned char* device;
  CHECK(cudaMalloc(&device, bytes + 5));
  const Bytes in = scrambled(bytes, 15);
  Bytes back(bytes, 1), wanted(bytes, 1);
  CHECK(cudaMemcpy(device + 5, in.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(back.data(), device + 5, bytes, cudaMemcpyDeviceToHost));
  EXPECT(back == in);
  std::fill(back.begin(), back.end(), (unsigned char)1);
  CHECK(cudaMemset(device, 0, bytes));
  CHECK(cudaMemcpy2D(device + 1, row + 2, in.data(), pitch, row, rows, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D(back.data(), pitch, device + 1, row + 2, row, rows, cudaMemcpyDeviceToHost));
  copy_rows(in, {0, pitch, rows}, wanted, {0, pitch, rows}, {row, rows, 1});
  EXPECT(back == wanted);
  CHECK(cudaFree(device));
}

/// Two windows of one allocation that have no byte in common.
void within_one_allocation() {
  const Box box{48, 100, 1};
  const Rows source{16, 64, 100}, target{6421, 60, 100};
  const size_t bytes = bytes_of(target, box) + 9;
  unsigned char* memory;
  CHECK(cudaMalloc(&memory, bytes));
  for (bool side_by_side : {false, true}) {
    // Side by side: the rows of the one lie between those of the other.
    const Rows to = side_by_side ? Rows{0, 128, 100} : target;
    const Rows from = side_by_side ? Rows{64, 128, 50} : source;
    const Box part{48, side_by_side ? size_t{50} : box.height, 1};
    scramble_in(nullptr, memory, bytes, 4);
    copy(memory, from, memory, to, part, cudaMemcpyDeviceToDevice, nullptr);
    Bytes is(bytes), wanted = scrambled(bytes, 4);
    CHECK(cudaMemcpy(is.data(), memory, bytes, cudaMemcpyDeviceToHost));
    copy_rows(scrambled(bytes, 4), from, wanted, to, part);
    compare("one allocation", is, wanted, from, to, part);
  }
  CHECK(cudaFree(memory));
}

/// From memory of the host to the device's and back to other memory of the host, with a kernel
/// before and between.
void through_device(unsigned char* host, size_t first, unsigned char* back, size_t second,
                    size_t bytes, cudaStream_t stream) {
  unsigned char* device;
  const size_t all = bytes + 64;
  CHECK(cudaMalloc(&device, all));
  const Bytes in = scrambled(bytes, 5);
  std::copy(in.begin(), in.end(), host + first);
  std::fill_n(back, second + bytes + 8, (unsigned char)7);
  scramble_in(stream, device, all, 6);
  if (stream) {
    CHECK(cudaMemcpyAsync(device + 3, host + first, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(back + second, device + 1, bytes + 4, cudaMemcpyDeviceToHost, stream));
    scramble_in(stream, device, all, 8);
    CHECK(cudaStreamSynchronize(stream));
  } else {
    CHECK(cudaMemcpy(device + 3, host + first, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(back + second, device + 1, bytes + 4, cudaMemcpyDeviceToHost));
  }
  Bytes wanted(second + bytes + 8, 7), content = scrambled(all, 6);
  std::copy(in.begin(), in.end(), content.begin() + 3);
  std::copy_n(content.begin() + 1, bytes + 4, wanted.begin() + second);
  EXPECT(std::equal(wanted.begin(), wanted.end(), back));
  CHECK(cudaFree(device));
}

/// Rows of page-locked memory to the device's and back.
void rows_through_device(unsigned char* host, const Rows& in_host, const Rows& in_device,
                         const Box& box, cudaStream_t stream) {
  const size_t host_bytes = bytes_of(in_host, box) + 16, bytes = bytes_of(in_device, box) + 16;
  unsigned char* device;
  CHECK(cudaMalloc(&device, bytes));
  const Bytes start = scrambled(host_bytes, 9);
  std::copy(start.begin(), start.end(), host);
  scramble_in(stream, device, bytes, 10);
  copy(host, in_host, device, in_device, box, cudaMemcpyHostToDevice, stream);
  CHECK(cudaStreamSynchronize(stream));
  Bytes is(bytes), wanted = scrambled(bytes, 10);
  CHECK(cudaMemcpy(is.data(), device, bytes, cudaMemcpyDeviceToHost));
  copy_rows(start, in_host, wanted, in_device, box);
  compare("to device", is, wanted, in_host, in_device, box);
  scramble_in(stream, device, bytes, 11);
  copy(device, in_device, host, in_host, box, cudaMemcpyDeviceToHost, stream);
  CHECK(cudaStreamSynchronize(stream));
  Bytes back = start;
  copy_rows(scrambled(bytes, 11), in_device, back, in_host, box);
  compare("from device", Bytes(host, host + host_bytes), back, in_device, in_host, box);
  CHECK(cudaFree(device));
}

/// Memory of which a part is page-locked: devices for whose kernels it is the host's own refuse to
/// copy from its page-locked part to beyond.
void partly_locked(unsigned char* host, size_t bytes) {
  unsigned char* device;
  CHECK(cudaMalloc(&device, bytes));
  const Bytes in = scrambled(bytes, 12);
  std::copy(in.begin(), in.end(), host);
  CHECK(cudaMemset(device, 0, bytes));
  Bytes is(bytes), wanted = in;
  const cudaError_t to = cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
  if (to != cudaSuccess) {
    EXPECT(to == cudaErrorInvalidValue && cudaGetLastError() == to);
    std::fill(wanted.begin(), wanted.end(), 0);
  }
  CHECK(cudaMemcpy(is.data(), device, bytes, cudaMemcpyDeviceToHost));
  EXPECT(is == wanted);
  scramble_in(nullptr, device, bytes, 13);
  const cudaError_t from = cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
  EXPECT(from == to && (from == cudaSuccess || cudaGetLastError() == from));
  EXPECT(Bytes(host, host + bytes) == (to == cudaSuccess ? scrambled(bytes, 13) : in));
  CHECK(cudaFree(device));
}

std::atomic<bool> go;
void wait_for_go(void*) {
  while (!go) std::this_thread::yield();
}

/// Copies behind work that is not over take page-locked memory when their turn comes.
void in_turn(unsigned char* host, unsigned char* back, size_t bytes, cudaStream_t stream) {
  unsigned char* device;
  CHECK(cudaMalloc(&device, bytes));
  std::fill_n(host, bytes, (unsigned char)1);
  std::fill_n(back, bytes, (unsigned char)2);
  go = false;
  CHECK(cudaLaunchHostFunc(stream, wait_for_go, nullptr));
  CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemcpyAsync(back, device, bytes, cudaMemcpyDeviceToHost, stream));
  EXPECT(back[0] == 2 && back[bytes - 1] == 2);
  std::fill_n(host, bytes, (unsigned char)3);
  go = true;
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(std::count(back, back + bytes, 3) == (std::ptrdiff_t)bytes);
  CHECK(cudaFree(device));
}

}  // namespace

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (cudaStream_t each : {cudaStream_t{}, stream}) {
    all_within_device(each);
    all_fills(each);
  }
  captured(stream);
  pageable(9 << 20, 100);
  pageable((13 << 20) + 3, (2 << 20) - 1);
  pageable((7 << 20) + 1, (3 << 20) + 1);
  within_one_allocation();

  constexpr size_t kBytes = 3 << 20, kFirst = 12289, kLocked = 2 << 20;
  Bytes memory(kBytes), other(kBytes);
  unsigned char *allocated, *page = memory.data() + kFirst;
  CHECK(cudaHostAlloc(&allocated, kLocked, cudaHostAllocDefault));
  const cudaError_t code = cudaHostRegister(page, kLocked, cudaHostRegisterDefault);
  const bool registered = code == cudaSuccess;
  if (!registered) EXPECT(code == cudaErrorNotSupported && cudaGetLastError() == code);
  for (cudaStream_t each : {cudaStream_t{}, stream})
    for (size_t at : {0, 1, 3, 4, 16, 4095})
      for (size_t bytes : {size_t{1}, size_t{77}, size_t{4096}, (size_t{1} << 20) + 5}) {
        through_device(page, at, allocated, at + 1, bytes, each);
        through_device(allocated, at, page, 2 * at, bytes, each);
        through_device(page, at, other.data(), at, bytes, each);
      }
  for (unsigned char* host : {page, allocated})
    for (cudaStream_t each : {cudaStream_t{}, stream}) {
      rows_through_device(host, {1, 70, 300}, {3, 67, 300}, {65, 300, 1}, each);
      rows_through_device(host, {16, 64, 300}, {32, 96, 300}, {64, 300, 1}, each);
      rows_through_device(host, {4, 64, 20}, {8, 96, 10}, {60, 10, 30}, each);
      rows_through_device(host, {5, 300, 7}, {0, 512, 7}, {300, 7, 1}, each);
    }
  partly_locked(page - 100, 10000);
  partly_locked(page + kLocked - 5000, 10000);
  in_turn(allocated, allocated + (1 << 20), 1 << 20, stream);
  if (registered) {
    in_turn(page, page + (1 << 20), 1 << 20, stream);
    in_turn(page + 1, allocated + 3, 5001, stream);
    CHECK(cudaHostUnregister(page));
  }
  through_device(page, 3, other.data(), 1, 100000, stream);
  CHECK(cudaFreeHost(allocated));
  CHECK(cudaStreamDestroy(stream));
  return verdict();
}
