/* What examples/mpi computes, on one grid in one loop: its checksum. */
#include <stdint.h>
#include <stdio.h>

enum { kWidth = 48, kHeight = 40, kDepth = 37, kSteps = 60 };
/* With a border that stays 0. */
static float fields[3][kDepth + 2][kHeight + 2][kWidth + 2];

int main(void) {
  float(*before)[kHeight + 2][kWidth + 2] = fields[0], (*now)[kHeight + 2][kWidth + 2] = fields[1],
                                       (*next)[kHeight + 2][kWidth + 2] = fields[2];
  uint64_t sum = 0xcbf29ce484222325u;
  for (int z = 0; z < kDepth; ++z)
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) {
        const int dx = x - 12, dy = y - 9, dz = z - 7;
        const int height = 64 - dx * dx - dy * dy - dz * dz;
        before[z + 1][y + 1][x + 1] = now[z + 1][y + 1][x + 1] = height > 0 ? (float)height : 0.0f;
      }
  for (int step = 0; step < kSteps; ++step) {
    for (int z = 1; z <= kDepth; ++z)
      for (int y = 1; y <= kHeight; ++y)
        for (int x = 1; x <= kWidth; ++x) {
          const float here = now[z][y][x];
          const float around = now[z][y][x - 1] + now[z][y][x + 1] + now[z][y - 1][x] +
                               now[z][y + 1][x] + now[z - 1][y][x] + now[z + 1][y][x];
          next[z][y][x] = 2.0f * here - before[z][y][x] + 0.15f * (around - 6.0f * here);
        }
    float(*last)[kHeight + 2][kWidth + 2] = before;
    before = now;
    now = next;
    next = last;
  }
  for (int z = 1; z <= kDepth; ++z)
    for (int y = 1; y <= kHeight; ++y)
      for (size_t i = 0; i < sizeof(float) * kWidth; ++i)
        sum = (sum ^ ((const unsigned char*)&now[z][y][1])[i]) * 0x100000001b3u;
  printf("%016llx\n", (unsigned long long)sum);
  return 0;
}
