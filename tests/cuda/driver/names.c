/* Opens NVIDIA's libraries by the names and paths that programs have for them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures = 0;

/* What `name` opens: the version that the library's function tells. */
static void opens(const char* name, const char* function, int wanted) {
  void* library = dlopen(name, RTLD_NOW);
  int (*version)(int*) = library ? (int (*)(int*))dlsym(library, function) : NULL;
  int found = 0;
  if (version) version(&found);
  if (found == wanted) return;
  printf("%s: version %d, not %d%s%s\n", name, found, wanted, library ? "" : ": ",
         library ? "" : dlerror());
  ++failures;
}

/* Bytes of the folder's name in the path of a library. */
static size_t folder_of(void* library, const char** path) {
  struct link_map* map = NULL;
  *path = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
  const char* end = strrchr(*path, '/');
  return end ? (size_t)(end - *path) : 0;
}

/* A machine with NVIDIA's driver may have a library of that name. */
static void is_not_ours(const char* name) {
  void *library = dlopen(name, RTLD_NOW), *own = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library || !own) return;
  const char *path, *own_path;
  const size_t bytes = folder_of(library, &path), own_bytes = folder_of(own, &own_path);
  if (bytes != own_bytes || memcmp(path, own_path, bytes) != 0) return;
  printf("%s is opened as %s\n", name, path);
  ++failures;
}

int main(void) {
  /* A development package's link, which says the version. */
  char folder[] = "/tmp/ptx2spv-names-XXXXXX", link[64];
  if (!mkdtemp(folder)) return 2;
  snprintf(link, sizeof link, "%s/libcudart.so", folder);
  char target[64];
  snprintf(target, sizeof target, "%s/libcudart.so.12.4.127", folder);
  FILE* file = fopen(target, "w");
  if (!file || fclose(file) || symlink("libcudart.so.12.4.127", link)) return 2;
  const char* runtime = "cudaRuntimeGetVersion";
  opens(link, runtime, 12090);
  unlink(link);
  unlink(target);
  rmdir(folder);
  opens("/nowhere/lib64/libcudart.so.11.8.89", runtime, 11080);
  opens("libcudart.so.12", runtime, 12090);
  opens("libcudart.so", runtime, 13000);
  opens("/nowhere/libcudart.so", runtime, 13000);
  opens("libcuda.so", "cuDriverGetVersion", 13000);
  opens("/nowhere/libcuda.so.580.65.06", "cuDriverGetVersion", 13000);
  is_not_ours("/nowhere/libcudart.so.10.2");
  is_not_ours("/nowhere/libcudartists.so.12");
  is_not_ours("libcudadebugger.so.1");
  puts(failures ? "bad" : "good");
  return failures != 0;
}
