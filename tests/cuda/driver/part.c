/* What the first device says it is. */
#include "driver.h"

int main(void) {
  char name[256] = "";
  size_t bytes = 0;
  if (cuInit(0) || cuDeviceGetName(name, sizeof name, 0) || cuDeviceTotalMem_v2(&bytes, 0))
    return 1;
  printf("%s, %zu", name, bytes);
  /* Multiprocessors, capability, cache, clocks, bus; threads, blocks and shared memory of each; the
     ratio of single and double precision. */
  const int attributes[] = {16, 75, 76, 38, 13, 36, 37, 39, 106, 81, 97, 111, 87};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i) {
    int value = -1;
    if (cuDeviceGetAttribute(&value, attributes[i], 0)) return 1;
    printf(" %d", value);
  }
  puts("");
  return 0;
}
