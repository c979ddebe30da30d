// What the threads of a warp exchange without shared memory.
constexpr unsigned kAll = 0xffffffffu;

// Inclusive sums of each warp's 32 words by five shuffles, plus how many of the words before a
// thread's are odd, by a ballot.
extern "C" __global__ void scan(const unsigned* from, unsigned* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const unsigned word = i < count ? from[i] : 0;
  unsigned sum = word;
  for (unsigned by = 1; by < 32; by *= 2) {
    const unsigned below = __shfl_up_sync(kAll, sum, by);
    if (lane >= by) sum += below;
  }
  const unsigned odd = __ballot_sync(kAll, word & 1);
  if (i < count) to[i] = sum + __popc(odd & ((1u << lane) - 1));
}

// The sum of each warp's 32 words squared, by five shuffles.
extern "C" __global__ void reduce(const unsigned* from, unsigned* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned word = from[i];
  unsigned sum = word * word;
  for (unsigned by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(kAll, sum, by);
  if (threadIdx.x % 32 == 0) to[i / 32] = sum;
}

// Words over a limit, packed to the front of each warp's 32.
extern "C" __global__ void compact(const unsigned* from, unsigned* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  if (i >= count) return;
  const unsigned word = from[i], all = __activemask();
  const unsigned over = __ballot_sync(all, word > 0x80000000u);
  const unsigned before = (1u << lane) - 1;
  const bool first = over >> lane & 1;
  const unsigned place = first ? __popc(over & before) : __popc(over) + __popc(~over & before);
  to[i - lane + place] = word;
}
