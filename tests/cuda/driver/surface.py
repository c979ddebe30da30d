"""A surface written by a kernel, through ctypes alone: the way of cuda-python's and numba's bindings."""
import ctypes

PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry paint(.param .u64 s) {
  .reg .u64 %rd1; .reg .u32 %r<6>;
  ld.param.u64 %rd1, [s]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 1000, %r1; shl.b32 %r4, %r1, 2;
  sust.b.2d.b32.trap [%rd1, {%r4, %r2}], {%r3}; ret;
}
"""
WIDTH, HEIGHT = 32, 9
cuda = ctypes.CDLL("libcuda.so.1")


class ArrayDesc(ctypes.Structure):
    _fields_ = [("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t),
                ("format", ctypes.c_int), ("channels", ctypes.c_uint), ("flags", ctypes.c_uint)]


class ResourceDesc(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint), ("array", ctypes.c_void_p),
                ("reserved", ctypes.c_char * 120), ("flags", ctypes.c_uint)]


class Copy2D(ctypes.Structure):
    _fields_ = [(name, kind) for side in ("src", "dst") for name, kind in (
        (side + "_x", ctypes.c_size_t), (side + "_y", ctypes.c_size_t), (side + "_type", ctypes.c_uint),
        (side + "_host", ctypes.c_void_p), (side + "_device", ctypes.c_ulonglong),
        (side + "_array", ctypes.c_void_p), (side + "_pitch", ctypes.c_size_t))] + [
            ("width", ctypes.c_size_t), ("height", ctypes.c_size_t)]


def check(code):
    if code:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(code, ctypes.byref(name))
        raise SystemExit("error %d: %s" % (code, name.value))


context, module, kernel, array = (ctypes.c_void_p() for _ in range(4))
surface = ctypes.c_ulonglong()
check(cuda.cuInit(0))
check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"paint"))
desc = ArrayDesc(WIDTH, HEIGHT, 0, 3, 1, 2)
check(cuda.cuArray3DCreate_v2(ctypes.byref(array), ctypes.byref(desc)))
resource = ResourceDesc(0, array)
check(cuda.cuSurfObjectCreate(ctypes.byref(surface), ctypes.byref(resource)))
params = (ctypes.c_void_p * 1)(ctypes.addressof(surface))
check(cuda.cuLaunchKernel(kernel, HEIGHT, 1, 1, WIDTH, 1, 1, 0, None, params, None))
texels = (ctypes.c_uint * (WIDTH * HEIGHT))()
copy = Copy2D(src_type=3, src_array=array, dst_type=1, dst_host=ctypes.addressof(texels),
              width=WIDTH * 4, height=HEIGHT)
check(cuda.cuMemcpy2D_v2(ctypes.byref(copy)))
wrong = [i for i in range(WIDTH * HEIGHT) if texels[i] != i // WIDTH * 1000 + i % WIDTH]
check(cuda.cuSurfObjectDestroy(surface))
check(cuda.cuArrayDestroy(array))
print("wrong: %d" % len(wrong) if wrong else "good")
