/* The same mistakes in the runtime interface, whose library is found when the program runs. */
static void* runtime_library;
static void* runtime_function(const char* name) {
  static const char* const kNames[] = {"libcudart.so.13", "libcudart.so.12"};
  for (size_t i = 0; i < 2 && !runtime_library; ++i) runtime_library = dlopen(kNames[i], RTLD_NOW);
  if (!runtime_library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(78);
  }
  return dlsym(runtime_library, name);
}
static void tell_runtime(const char* what, int code) {
  typedef const char* (*Name)(int);
  printf("%-76s %s\n", what, ((Name)runtime_function("cudaGetErrorName"))(code));
  ((int (*)(void))runtime_function("cudaGetLastError"))();
  fflush(stdout);
}
#define RUNTIME(name, types, ...) \
  tell_runtime(#name "(" #__VA_ARGS__ ")", ((int(*) types)runtime_function(#name))(__VA_ARGS__))
#define REGISTER_BUFFER(...) \
  RUNTIME(cudaGraphicsGLRegisterBuffer, (Resource*, unsigned, unsigned), __VA_ARGS__)
#define REGISTER_IMAGE(...) \
  RUNTIME(cudaGraphicsGLRegisterImage, (Resource*, unsigned, unsigned, unsigned), __VA_ARGS__)
#define MAP(...) RUNTIME(cudaGraphicsMapResources, (int, Resource*, CUstream), __VA_ARGS__)
#define UNMAP(...) RUNTIME(cudaGraphicsUnmapResources, (int, Resource*, CUstream), __VA_ARGS__)
#define FLAGS(...) RUNTIME(cudaGraphicsResourceSetMapFlags, (Resource, unsigned), __VA_ARGS__)
#define POINTER(...) \
  RUNTIME(cudaGraphicsResourceGetMappedPointer, (CUdeviceptr*, size_t*, Resource), __VA_ARGS__)
#define ARRAY(...)                                                                         \
  RUNTIME(cudaGraphicsSubResourceGetMappedArray, (CUarray*, Resource, unsigned, unsigned), \
          __VA_ARGS__)
#define MIPMAP(...) \
  RUNTIME(cudaGraphicsResourceGetMappedMipmappedArray, (CUmipmappedArray*, Resource), __VA_ARGS__)
#define UNREGISTER(...) RUNTIME(cudaGraphicsUnregisterResource, (Resource), __VA_ARGS__)
#define DEVICES(...) RUNTIME(cudaGLGetDevices, (unsigned*, int*, unsigned, int), __VA_ARGS__)

static void runtime_before(void) {
  unsigned count;
  int device;
  Resource made = NULL;
  make_current(NULL);
  DEVICES(&count, &device, 1, 1);
  REGISTER_BUFFER(&made, 1, 0);
  REGISTER_IMAGE(&made, 1, GL_TEXTURE_2D_, 0);
  MAP(1, &made, NULL);
  UNREGISTER(made);
}

static void runtime(void) {
  unsigned count;
  int device;
  Resource image, other;
  void* context = make_context(NULL);
  buffer = make_buffer(64);
  texture = make_texture(8, 4);
  DEVICES(&count, &device, 1, 1);
  DEVICES(&count, &device, 1, 4);
  REGISTER_BUFFER(&resource, 12345, 0);
  REGISTER_BUFFER(&resource, 0, 0);
  REGISTER_BUFFER(&resource, buffer, 3);
  REGISTER_BUFFER(&resource, buffer, 4);
  REGISTER_BUFFER(NULL, buffer, 0);
  REGISTER_IMAGE(&image, texture, GL_TEXTURE_3D_, 0);
  REGISTER_IMAGE(&image, texture, GL_TEXTURE_1D_, 0);
  REGISTER_IMAGE(&image, texture + 100, GL_TEXTURE_2D_, 0);
  REGISTER_IMAGE(&image, texture, GL_TEXTURE_2D_, 3);
  REGISTER_IMAGE(&image, texture, GL_TEXTURE_2D_, 16);
  REGISTER_IMAGE(NULL, texture, GL_TEXTURE_2D_, 0);
  REGISTER_BUFFER(&resource, buffer, 0);
  REGISTER_IMAGE(&image, texture, GL_TEXTURE_2D_, 0);
  POINTER(&address, &size, resource);
  ARRAY(&array, image, 0, 0);
  MIPMAP(&mipmap, image);
  UNMAP(1, &resource, NULL);
  MAP(0, &resource, NULL);
  MAP(-1, &resource, NULL);
  MAP(1, NULL, NULL);
  Resource twice[] = {resource, resource}, both[] = {resource, image};
  MAP(2, twice, NULL);
  UNMAP(2, twice, NULL);
  MAP(2, both, NULL);
  MAP(1, &resource, NULL);
  FLAGS(resource, 0);
  FLAGS(resource, 3);
  POINTER(&address, &size, image);
  POINTER(NULL, &size, resource);
  POINTER(&address, NULL, resource);
  ARRAY(&array, resource, 0, 0);
  ARRAY(&array, image, 1, 0);
  ARRAY(&array, image, 0, 1);
  ARRAY(&array, image, 0, 0);
  ARRAY(NULL, image, 0, 0);
  MIPMAP(&mipmap, resource);
  MIPMAP(&mipmap, image);
  MIPMAP(NULL, image);
  UNMAP(2, both, NULL);
  UNMAP(2, both, NULL);
  FLAGS(resource, 2);
  FLAGS(resource, 3);
  make_current(NULL);
  MAP(1, &resource, NULL);
  REGISTER_BUFFER(&other, buffer, 0);
  DEVICES(&count, &device, 1, 1);
  make_current(context);
  MAP(1, &resource, NULL);
  UNREGISTER(resource);
  UNREGISTER(image);
}
