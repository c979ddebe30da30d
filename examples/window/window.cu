// A window that a CUDA kernel paints: it writes to an OpenGL texture by a surface, ripples around
// the pointer and two other places.  window [FRAMES PICTURE.ppm]
#define GL_GLEXT_PROTOTYPES
#include <GLFW/glfw3.h>
#include <GL/glext.h>
// What is above declares what this needs.
#include <cuda_gl_interop.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kWidth = 512, kHeight = 384;

__device__ float ripple(float x, float y, float phase) {
  const float distance = sqrtf(x * x + y * y);
  return cosf(distance * 0.11f - phase) / (1.0f + distance * 0.012f);
}

__global__ void paint(cudaSurfaceObject_t surface, float2 pointer, float time) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kWidth || y >= kHeight) return;
  const float height = ripple(x - pointer.x, y - pointer.y, time) +
                       ripple(x - 130.0f, y - 300.0f, time * 0.8f) +
                       ripple(x - 410.0f, y - 240.0f, time * 1.3f);
  const float shade = 0.5f + 0.3f * height, glint = fmaxf(height - 0.55f, 0.0f);
  const uchar4 colour = make_uchar4(__saturatef(0.15f * shade + 0.9f * glint) * 255,
                                    __saturatef(0.55f * shade + 0.8f * glint) * 255,
                                    __saturatef(0.35f + 0.6f * shade) * 255, 255);
  surf2Dwrite(colour, surface, x * sizeof colour, y);
}

static void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "window: %s\n", cudaGetErrorString(code));
  std::exit(1);
}

static bool write_picture(const char* path) {
  std::vector<unsigned char> texels(kWidth * kHeight * 3);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, kWidth, kHeight, GL_RGB, GL_UNSIGNED_BYTE, texels.data());
  std::FILE* file = std::fopen(path, "wb");
  if (!file) return false;
  std::fprintf(file, "P6\n%d %d\n255\n", kWidth, kHeight);
  for (int y = kHeight; y-- > 0;)  // OpenGL's rows begin at the bottom
    std::fwrite(&texels[static_cast<std::size_t>(y) * kWidth * 3], 3, kWidth, file);
  return std::fclose(file) == 0;
}

int main(int argc, char** argv) {
  const int frames = argc == 3 ? std::atoi(argv[1]) : 0;
  if (!glfwInit()) return 1;
  glfwWindowHint(GLFW_RESIZABLE, GLFW_FALSE);
  GLFWwindow* window = glfwCreateWindow(kWidth, kHeight, "ptx2spv", nullptr, nullptr);
  if (!window) return 1;
  glfwMakeContextCurrent(window);

  GLuint texture, frame;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, kWidth, kHeight);
  glGenFramebuffers(1, &frame);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, frame);
  glFramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);

  cudaGraphicsResource_t resource;
  check(cudaGraphicsGLRegisterImage(
      &resource, texture, GL_TEXTURE_2D,
      cudaGraphicsRegisterFlagsWriteDiscard | cudaGraphicsRegisterFlagsSurfaceLoadStore));

  for (int drawn = 1; !glfwWindowShouldClose(window); ++drawn) {
    double x = kWidth * 0.6, y = kHeight * 0.25;
    if (!frames) glfwGetCursorPos(window, &x, &y);

    check(cudaGraphicsMapResources(1, &resource));
    cudaResourceDesc desc = {};
    desc.resType = cudaResourceTypeArray;
    check(cudaGraphicsSubResourceGetMappedArray(&desc.res.array.array, resource, 0, 0));
    cudaSurfaceObject_t surface;
    check(cudaCreateSurfaceObject(&surface, &desc));
    paint<<<dim3((kWidth + 15) / 16, (kHeight + 15) / 16), dim3(16, 16)>>>(
        surface, make_float2(static_cast<float>(x), static_cast<float>(kHeight - y)),
        drawn * 0.15f);
    check(cudaGetLastError());
    check(cudaDestroySurfaceObject(surface));
    check(cudaGraphicsUnmapResources(1, &resource));

    glBlitFramebuffer(0, 0, kWidth, kHeight, 0, 0, kWidth, kHeight, GL_COLOR_BUFFER_BIT,
                      GL_NEAREST);
    if (frames == drawn) {
      if (!write_picture(argv[2])) return 1;
      glfwSetWindowShouldClose(window, GLFW_TRUE);
    }
    glfwSwapBuffers(window);
    glfwPollEvents();
  }
  check(cudaGraphicsUnregisterResource(resource));
  glfwTerminate();
  return 0;
}
