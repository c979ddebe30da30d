/* A window by freeglut, which calls back for every frame. */
#include "painter.h"

#include <GL/freeglut.h>

static void display(void) {
  static int frame, wrong;
  if (frame == 0) prepare();
  wrong += draw(frame);
  glutSwapBuffers();
  if (++frame == FRAMES) finish(wrong);
  glutPostRedisplay();
}

int main(int argc, char** argv) {
  glutInit(&argc, argv);
  glutInitDisplayMode(GLUT_RGB | GLUT_DOUBLE);
  glutInitWindowSize(WIDTH, HEIGHT);
  glutCreateWindow("painter");
  glutDisplayFunc(display);
  glutMainLoop();
  return 1;
}
