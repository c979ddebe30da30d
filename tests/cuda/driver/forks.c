/* A child of a process that has opened a device gets CUDA_ERROR_NOT_INITIALIZED from every call, as
   on an H200, and its parent goes on. One that was made before opens the device itself. */
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

static CUdeviceptr p;

static void use_device(void) {
  CUcontext context;
  unsigned word = 7;
  OK(cuInit(0));
  OK(cuCtxCreate_v2(&context, 0, 0));
  OK(cuMemAlloc_v2(&p, 4));
  OK(cuMemcpyHtoD_v2(p, &word, 4));
  word = 0;
  OK(cuMemcpyDtoH_v2(&word, p, 4));
  TRUE(word == 7);
}

static void be_refused(void) {
  CUdeviceptr other;
  unsigned word = 0;
  const int codes[] = {cuInit(0), cuMemAlloc_v2(&other, 4), cuMemcpyDtoH_v2(&word, p, 4),
                       cuMemFree_v2(p), cuCtxSynchronize()};
  for (int i = 0; i < 5; ++i) TRUE(codes[i] == 3);
}

static void in_child(void (*run)(void)) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    failures = 0;
    run();
    exit(failures != 0);
  }
  TRUE(waitpid(child, &status, 0) == child);
  TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
  in_child(use_device);
  use_device();
  in_child(be_refused);
  unsigned word = 0;
  OK(cuMemcpyDtoH_v2(&word, p, 4));
  TRUE(word == 7);
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
