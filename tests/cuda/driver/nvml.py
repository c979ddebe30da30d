"""Asks the management library, compares it with the driver's answers, and uses a device in a child."""
import ctypes
import os
import struct

nvml = ctypes.CDLL("libnvidia-ml.so.1")
device, count = ctypes.c_void_p(), ctypes.c_uint()
memory = (ctypes.c_ulonglong * 3)()
text = ctypes.create_string_buffer(96)
devices = os.environ["PTX2SPV_DEVICES"].count(",") + 1
assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 1, "it is not initialised"
assert nvml.nvmlInit_v2() == 0
assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value == devices
assert nvml.nvmlDeviceGetHandleByIndex_v2(devices, ctypes.byref(device)) == 2
uuids = []
for index in range(devices):
    assert nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0
    assert nvml.nvmlDeviceGetUUID(device, text, 4) == 7, "the place is too small"
    assert nvml.nvmlDeviceGetUUID(device, text, len(text)) == 0
    uuids.append(text.value)
    other = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByUUID(text.value, ctypes.byref(other)) == 0
    assert other.value == device.value
    assert nvml.nvmlDeviceGetMemoryInfo(device, memory) == 0
    assert memory[0] == memory[1] + memory[2] and memory[1] > 0
    bus = b"0000:%02X:00.0" % (index + 1)
    for version, size in ("", 52), ("_v2", 52), ("_v3", 68):
        info = ctypes.create_string_buffer(b"\xaa" * 96, 96)
        assert nvml["nvmlDeviceGetPciInfo" + version](device, info) == 0
        legacy, _, number, *_ = struct.unpack_from("16s5I", info)
        assert legacy.rstrip(b"\0") == bus and number == index + 1
        assert info.raw[size:] == b"\xaa" * (96 - size), "it writes past the struct"
    assert info.raw[36:size].rstrip(b"\0") == b"0000" + bus
    for spelt in bus, bus.lower(), b"0000" + bus.lower(), bus[5:]:
        assert nvml.nvmlDeviceGetHandleByPciBusId_v2(spelt, ctypes.byref(other)) == 0
        assert other.value == device.value
    assert nvml.nvmlDeviceGetUtilizationRates(device, text) == 3
nvml.nvmlErrorString.restype = ctypes.c_char_p
assert nvml.nvmlErrorString(3) == b"Not Supported"
assert nvml.nvmlErrorString(12345) == b"Unknown Error"
assert nvml.nvmlDeviceGetHandleByPciBusId_v2(b"0000:77:00.0", ctypes.byref(other)) == 6
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
