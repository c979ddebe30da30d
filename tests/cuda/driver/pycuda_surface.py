"""A surface written through PyCUDA: a surface reference of a module, and arrays of numpy."""
import numpy
import pycuda.driver as cuda

PTX = """
.version 7.0
.target sm_75
.address_size 64
.global .surfref plane;
.visible .entry paint() {
  .reg .u32 %r<6>;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 1000, %r1; shl.b32 %r4, %r1, 2;
  sust.b.2d.b32.trap [plane, {%r4, %r2}], {%r3}; ret;
}
"""
WIDTH, HEIGHT = 32, 9
cuda.init()
context = cuda.Device(0).make_context()
try:
    module = cuda.module_from_buffer(PTX.encode())
    desc = cuda.ArrayDescriptor3D()
    desc.width, desc.height, desc.depth = WIDTH, HEIGHT, 0
    desc.format = cuda.array_format.UNSIGNED_INT32
    desc.num_channels = 1
    desc.flags = cuda.array3d_flags.SURFACE_LDST
    array = cuda.Array(desc)
    module.get_surfref("plane").set_array(array, 0)
    module.get_function("paint")(block=(WIDTH, 1, 1), grid=(HEIGHT, 1))
    texels = numpy.zeros((HEIGHT, WIDTH), dtype=numpy.uint32)
    copy = cuda.Memcpy2D()
    copy.set_src_array(array)
    copy.set_dst_host(texels)
    copy.width_in_bytes, copy.height = WIDTH * 4, HEIGHT
    copy.dst_pitch = WIDTH * 4
    copy(aligned=True)
    expected = numpy.arange(HEIGHT)[:, None] * 1000 + numpy.arange(WIDTH)[None, :]
    # Linear memory and arithmetic by the way that programs take most.
    values = numpy.arange(64, dtype=numpy.float32)
    device = cuda.mem_alloc(values.nbytes)
    cuda.memcpy_htod(device, values)
    back = numpy.empty_like(values)
    cuda.memcpy_dtoh(back, device)
    print("good" if (texels == expected).all() and (back == values).all() else "wrong")
finally:
    context.pop()
