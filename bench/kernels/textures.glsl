// What the texture kernels by hand have in common: one thread a texel, combined samplers from
// binding 0, the result at binding 8.
layout(local_size_x = 16, local_size_y = 16) in;

layout(push_constant) uniform Push
{
    int width, number;  // of texels in a row; layer or steps
    float over, step;   // 1 / width; of advect
    uvec2 memory;       // address of fetch's words
};

#define COLUMN int(gl_GlobalInvocationID.x)
#define ROW int(gl_GlobalInvocationID.y)
