"""Kernels that numba compiles: shared memory, atomics, a reduction, streams and managed memory."""
import math
import warnings

import numpy
from numba import cuda, float32
from numba.core.errors import NumbaWarning

warnings.simplefilter("ignore", NumbaWarning)


@cuda.jit
def add_roots(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + math.sqrt(y[i])


@cuda.jit
def reverse(x):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = x[cuda.blockIdx.x * 64 + i]
    cuda.syncthreads()
    x[cuda.blockIdx.x * 64 + i] = tile[63 - i]


@cuda.jit
def count(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.reduce
def total(a, b):
    return a + b


x = numpy.arange(1000, dtype=numpy.float32)
out = numpy.zeros_like(x)
add_roots[8, 128](x, 2 * x, out)
assert numpy.allclose(out, x + numpy.sqrt(2 * x)), out
rows = numpy.arange(256, dtype=numpy.float32)
reverse[4, 64](rows)
assert (rows.reshape(4, 64) == numpy.arange(256).reshape(4, 64)[:, ::-1]).all(), rows
values = (numpy.arange(3000) ** 2 % 16).astype(numpy.int32)
bins = numpy.zeros(16, numpy.int32)
count[24, 128](values, bins)
assert (bins == numpy.bincount(values, minlength=16)).all(), bins
assert total(numpy.arange(1000, dtype=numpy.int64)) == 499500
stream = cuda.stream()
device = cuda.to_device(x, stream=stream)
add_roots[8, 128, stream](device, device, device)
copy = device.copy_to_host(stream=stream)
stream.synchronize()
assert numpy.allclose(copy, x + numpy.sqrt(x)), copy
shared = cuda.managed_array(100, numpy.float32)
shared[:] = 4
add_roots[1, 128](shared, shared, shared)
cuda.synchronize()
assert (shared == 6).all(), shared
print("good")
