// Semaphores of an application's Vulkan in CUDA's streams and graphs.
#include "ptx2spv/vulkan.hpp"
#include "tests/graphics/external.hpp"

namespace ptx2spv::test {
namespace {

/// A semaphore of the application's in CUDA; false: the device has none, which both sides say.
bool share(vulkan::ExternalSemaphore& made, CUexternalSemaphore& there) {
  auto created = vulkan::ExternalSemaphore::create(test_device(), false);
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
  desc.type = kOpaqueFd;
  desc.handle.fd = created ? must(created->export_descriptor()) : open("/dev/null", O_RDONLY);
  const CUresult code = driver("cuImportExternalSemaphore", &there,
                               static_cast<const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC*>(&desc));
  if (!created) {
    EXPECT_EQ(code, eNotSupported);
    close(desc.handle.fd);
    return false;
  }
  EXPECT_EQ(code, eSuccess);
  made = std::move(*created);
  return true;
}

TEST_F(External, SemaphoresOrderStreamsAndGraphs) {
  constexpr std::size_t kBytes = 4096;
  auto first = vulkan::ExternalSemaphore::create(test_device(), false);
  CUexternalSemaphore ready = nullptr, done = nullptr;
  if (!first) {
    const int file = open("/dev/null", O_RDONLY);
    EXPECT_EQ(import(&ready, file, kOpaqueFd), eNotSupported);
    EXPECT_TRUE(is_open(file));
    close(file);
    GTEST_SKIP() << first.error().text << ", which CUDA's import says, too";
  }
  vulkan::ExternalSemaphore here_ready = *first, here_done = *first;
  ASSERT_TRUE(share(here_ready, ready) && share(here_done, done));
  Buffer here = must(vulkan::create_exportable(test_device(), kBytes));
  const vulkan::MemoryDescriptor exported = must(vulkan::export_memory(here));
  CUexternalMemory memory = nullptr;
  ASSERT_EQ(import(&memory, exported.fd, exported.bytes), eSuccess);
  CUdeviceptr address = 0;
  ASSERT_EQ(map(memory, &address, 0, kBytes), eSuccess);
  Stream stream = must(Stream::create(test_device()));
  CUstream other = nullptr;
  ASSERT_EQ(driver("cuStreamCreate", &other, 0U), eSuccess);
  const CUDA_EXTERNAL_SEMAPHORE_PARAMS params{};

  // The same work captured, and as nodes made one by one.
  CUgraph captured = nullptr, made = nullptr;
  constexpr int kRelaxed = 2;
  ASSERT_EQ(driver("cuStreamBeginCapture_v2", other, kRelaxed), eSuccess);
  const CUexternalSemaphore ready_list[] = {ready}, done_list[] = {done};
  EXPECT_EQ(driver("cuWaitExternalSemaphoresAsync", &ready_list[0], &params, 1U, other), eSuccess);
  flip(address, kBytes, other);
  EXPECT_EQ(driver("cuSignalExternalSemaphoresAsync", &done_list[0], &params, 1U, other), eSuccess);
  ASSERT_EQ(driver("cuStreamEndCapture", other, &captured), eSuccess);

  ASSERT_EQ(driver("cuGraphCreate", &made, 0U), eSuccess);
  CUgraphNode wait = nullptr, copy = nullptr, signal = nullptr;
  CUexternalSemaphore wrong_first[] = {done}, right[] = {ready};
  CUDA_EXT_SEM_NODE_PARAMS node{wrong_first, &params, 1};
  const CUgraphNode* none = nullptr;
  const auto* given = static_cast<const CUDA_EXT_SEM_NODE_PARAMS*>(&node);
  ASSERT_EQ(
      driver("cuGraphAddExternalSemaphoresWaitNode", &wait, made, none, std::size_t{0}, given),
      eSuccess);
  node.extSemArray = right;
  ASSERT_EQ(driver("cuGraphExternalSemaphoresWaitNodeSetParams", wait, given), eSuccess);
  CUDA_EXT_SEM_NODE_PARAMS seen{};
  ASSERT_EQ(driver("cuGraphExternalSemaphoresWaitNodeGetParams", wait, &seen), eSuccess);
  EXPECT_EQ(seen.numExtSems, 1U);
  EXPECT_EQ(seen.extSemArray[0], ready);
  EXPECT_EQ(driver("cuGraphExternalSemaphoresSignalNodeGetParams", wait, &seen), eInvalidValue);
  int type = 0;
  EXPECT_EQ(driver("cuGraphNodeGetType", wait, &type), eSuccess);
  EXPECT_EQ(type, 9);
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = address;
  fill.elementSize = 1;
  fill.value = 0x77;
  fill.width = kBytes;
  fill.height = 1;
  CUcontext context = nullptr;
  ASSERT_EQ(driver("cuCtxGetCurrent", &context), eSuccess);
  ASSERT_EQ(driver("cuGraphAddMemsetNode", &copy, made, static_cast<const CUgraphNode*>(&wait),
                   std::size_t{1}, static_cast<const CUDA_MEMSET_NODE_PARAMS*>(&fill), context),
            eSuccess);
  node.extSemArray = wrong_first;
  ASSERT_EQ(driver("cuGraphAddExternalSemaphoresSignalNode", &signal, made,
                   static_cast<const CUgraphNode*>(&copy), std::size_t{1}, given),
            eSuccess);
  EXPECT_EQ(driver("cuGraphExternalSemaphoresSignalNodeSetParams", signal, given), eSuccess);
  CUgraphExec execs[2] = {};
  ASSERT_EQ(driver("cuGraphInstantiateWithFlags", &execs[0], captured, 0ULL), eSuccess);
  ASSERT_EQ(driver("cuGraphInstantiateWithFlags", &execs[1], made, 0ULL), eSuccess);
  EXPECT_EQ(driver("cuGraphExecExternalSemaphoresSignalNodeSetParams", execs[1], signal, given),
            eSuccess);
  node.extSemArray = right;
  EXPECT_EQ(driver("cuGraphExecExternalSemaphoresWaitNodeSetParams", execs[1], wait, given),
            eSuccess);

  auto bytes = random_bytes(kBytes, 8);
  for (int way = 0; way < 3; ++way) {
    must(here.upload(0, bytes));
    must(vulkan::signal(stream, std::vector{here_ready.at()}));
    if (way == 0) {
      EXPECT_EQ(runtime("cudaWaitExternalSemaphoresAsync", &ready_list[0], &params, 1U, other),
                eSuccess);
      flip(address, kBytes, other);
      EXPECT_EQ(runtime("cudaSignalExternalSemaphoresAsync", &done_list[0], &params, 1U, other),
                eSuccess);
    } else {
      EXPECT_EQ(driver("cuGraphLaunch", execs[way - 1], other), eSuccess);
    }
    must(vulkan::wait(stream, std::vector{here_done.at()}));
    must(stream.synchronize());
    std::vector<std::byte> now(kBytes);
    must(here.download(0, now));
    const auto expected =
        way == 2 ? std::vector<std::byte>(kBytes, std::byte{0x77}) : flipped(bytes);
    EXPECT_EQ(now == expected, true) << "way " << way;
    EXPECT_EQ(driver("cuStreamSynchronize", other), eSuccess);
  }
  CUDA_EXTERNAL_SEMAPHORE_PARAMS flags{};
  flags.flags = 1;
  EXPECT_EQ(driver("cuSignalExternalSemaphoresAsync", &done_list[0],
                   static_cast<const CUDA_EXTERNAL_SEMAPHORE_PARAMS*>(&flags), 1U, other),
            eInvalidValue);
  EXPECT_EQ(driver("cuDestroyExternalSemaphore", ready), eSuccess);
  EXPECT_EQ(driver("cuDestroyExternalSemaphore", done), eSuccess);
  EXPECT_EQ(driver("cuSignalExternalSemaphoresAsync", &done_list[0], &params, 1U, other),
            eInvalidResourceHandle);
}

/// The runtime libraries for CUDA 11 and 12 have the smaller parameters of CUDA 11.1, too, under
/// the plain names: what lies behind one of them is the next.
TEST_F(External, ParametersOfCuda11) {
  auto first = vulkan::ExternalSemaphore::create(test_device(), false);
  if (!first) GTEST_SKIP() << first.error().text;
  vulkan::ExternalSemaphore one = *first, two = *first;
  CUexternalSemaphore list[2] = {};
  ASSERT_TRUE(share(one, list[0]) && share(two, list[1]));
  struct Version {
    const char* suffix;
    std::size_t bytes[2], flags[2];  ///< of a signal and of a wait
  };
  for (const Version& each :
       {Version{"", {32, 40}, {24, 32}}, Version{"_v2", {144, 144}, {72, 72}}})
    for (const bool waits : {false, true}) {
      const std::string name =
          std::string(waits ? "cudaWait" : "cudaSignal") + "ExternalSemaphoresAsync" + each.suffix;
      std::vector<std::byte> params(2 * each.bytes[waits]);
      const auto call = [&] {
        return reinterpret_cast<CUresult (*)(const CUexternalSemaphore*, const void*, unsigned,
                                             CUstream)>(runtime12_function(name.c_str()))(
            &list[0], params.data(), 2, kNoStream);
      };
      for (const std::size_t at : {each.flags[waits], each.bytes[waits] + each.flags[waits]}) {
        params[at] = std::byte{1};
        EXPECT_EQ(call(), eInvalidValue) << name << " has flags at " << at;
        params[at] = std::byte{0};
      }
      EXPECT_EQ(call(), eSuccess) << name;
    }
  EXPECT_EQ(driver("cuCtxSynchronize"), eSuccess);
  for (CUexternalSemaphore each : list)
    EXPECT_EQ(driver("cuDestroyExternalSemaphore", each), eSuccess);
}

TEST_F(External, TimelinesWhereTheDeviceHasThem) {
  auto created = vulkan::ExternalSemaphore::create(test_device(), true);
  CUexternalSemaphore there = nullptr;
  const int fd = created ? must(created->export_descriptor()) : open("/dev/null", O_RDONLY);
  const CUresult code = import(&there, fd, kTimelineFd);
  EXPECT_EQ(import(&there, fd, 4), eNotSupported) << "a fence of Direct3D";
  if (!created) {
    EXPECT_EQ(code, eNotSupported);
    close(fd);
    GTEST_SKIP() << created.error().text << ", which CUDA's import says, too";
  }
  ASSERT_EQ(code, eSuccess);
  CUDA_EXTERNAL_SEMAPHORE_PARAMS params{};
  params.value = 7;
  const CUexternalSemaphore list[] = {there};
  EXPECT_EQ(driver("cuSignalExternalSemaphoresAsync", &list[0],
                   static_cast<const CUDA_EXTERNAL_SEMAPHORE_PARAMS*>(&params), 1U, kNoStream),
            eSuccess);
  Stream stream = must(Stream::create(test_device()));
  must(vulkan::wait(stream, std::vector{created->at(7)}));
  must(stream.synchronize());
}

}  // namespace
}  // namespace ptx2spv::test
