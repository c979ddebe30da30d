/* A window by GLFW, its context by GLX or, with an argument, by EGL. */
#include "painter.h"

#include <GLFW/glfw3.h>

int main(int argc, char** argv) {
  (void)argv;
  if (!glfwInit()) return 1;
  glfwWindowHint(GLFW_RESIZABLE, GLFW_FALSE);
  if (argc > 1) glfwWindowHint(GLFW_CONTEXT_CREATION_API, GLFW_EGL_CONTEXT_API);
  GLFWwindow* window = glfwCreateWindow(WIDTH, HEIGHT, "painter", NULL, NULL);
  if (!window) return 1;
  glfwMakeContextCurrent(window);
  prepare();
  int wrong = 0;
  for (int frame = 0; frame < FRAMES; ++frame) {
    wrong += draw(frame);
    glfwSwapBuffers(window);
    glfwPollEvents();
  }
  finish(wrong);
}
