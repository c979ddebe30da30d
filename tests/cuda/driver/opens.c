/* Asks for a device's attributes. When the device is opened, the library looks up the driver's code
 * by dladdr, which is counted here. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "driver.h"

static int lookups;

int dladdr(const void* address, Dl_info* info) {
  static int (*next)(const void*, Dl_info*);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "dladdr");
  ++lookups;
  return next(address, info);
}

int main(void) {
  CUdevice device;
  int value, opened;
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDeviceGetAttribute(&value, 16, device));
  TRUE(value > 0);
  opened = lookups;
  TRUE(opened > 0);
  for (int i = 0; i < 100; ++i) OK(cuDeviceGetAttribute(&value, 1 + i % 16, device));
  TRUE(lookups == opened);
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
