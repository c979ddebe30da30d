"""Asks the management library, compares it with the driver's answers, and uses a device in a child."""
import ctypes
import os

nvml = ctypes.CDLL("libnvidia-ml.so.1")
device, count = ctypes.c_void_p(), ctypes.c_uint()
memory = (ctypes.c_ulonglong * 3)()
text = ctypes.create_string_buffer(96)
assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 1, "it is not initialised"
assert nvml.nvmlInit_v2() == 0
assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value == 2
assert nvml.nvmlDeviceGetHandleByIndex_v2(2, ctypes.byref(device)) == 2
uuids = []
for index in range(2):
    assert nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0
    assert nvml.nvmlDeviceGetUUID(device, text, 4) == 7, "the place is too small"
    assert nvml.nvmlDeviceGetUUID(device, text, len(text)) == 0
    uuids.append(text.value)
    other = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByUUID(text.value, ctypes.byref(other)) == 0
    assert other.value == device.value
    assert nvml.nvmlDeviceGetMemoryInfo(device, memory) == 0
    assert memory[0] == memory[1] + memory[2] and memory[1] > 0
    assert nvml.nvmlDeviceGetUtilizationRates(device, text) == 3
nvml.nvmlErrorString.restype = ctypes.c_char_p
assert nvml.nvmlErrorString(3) == b"Not Supported"
total = memory[0]
assert nvml.nvmlShutdown() == 0
assert nvml.nvmlShutdown() == 1

child = os.fork()
if child == 0:
    cuda = ctypes.CDLL("libcuda.so.1")
    bytes_, uuid, name = ctypes.c_size_t(), (ctypes.c_ubyte * 16)(), ctypes.c_int()
    good = cuda.cuInit(0) == 0 and cuda.cuDeviceTotalMem_v2(ctypes.byref(bytes_), 1) == 0
    good = good and bytes_.value == total and cuda.cuDeviceGetUuid_v2(uuid, 1) == 0
    good = good and uuids[1] == b"GPU-" + b"-".join(
        bytes(uuid).hex().encode()[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    good = good and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1) == 0
    good = good and cuda.cuCtxSetCurrent(context) == 0
    good = good and cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64)) == 0
    os._exit(0 if good else 1)
assert os.waitpid(child, 0)[1] == 0, "the child has no device"
print("good")
