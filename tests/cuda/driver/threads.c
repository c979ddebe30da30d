/* The thread of a host function has ended, or stays, before the process takes devices away: drivers
   have destructors for threads that used them, and so has this one, which takes its time. */
#include <pthread.h>
#include <unistd.h>

#include "driver.h"

extern CUresult cuLaunchHostFunc(CUstream, void (*)(void*), void*);

static pthread_key_t key;
static volatile int gone = 0;

static void end_of_thread(void* unused) {
  (void)unused;
  usleep(100000);
  if (!gone) return;
  puts("the thread ends while the process does");
  fflush(stdout);
  _exit(3);
}

/* Registered before the device is opened, and so called when it has been taken away. */
static void clean_up(void) {
  gone = 1;
  usleep(300000);
  puts(failures ? "bad" : "good");
}

static void in_host(void* unused) {
  (void)unused;
  TRUE(pthread_setspecific(key, &key) == 0);
}

int main(void) {
  CUcontext context;
  CUstream stream;
  TRUE(atexit(clean_up) == 0);
  TRUE(pthread_key_create(&key, end_of_thread) == 0);
  OK(cuInit(0));
  OK(cuCtxCreate_v2(&context, 0, 0));
  OK(cuStreamCreate(&stream, 0));
  OK(cuLaunchHostFunc(stream, in_host, NULL));
  OK(cuStreamSynchronize(stream));
  return 0;
}
