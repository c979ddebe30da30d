"""What a type checker says of the package: an error in each line that says so, and in no other."""

import pathlib

import numpy as np

import ptx2spv

device = ptx2spv.Device("cpu", disable=["int64"], sanitize="all", timeout=3, print=print)
module = device.module(pathlib.Path("kernel.ptx"), "text", fast=True)
array = device.array(np.zeros((2, 3), "f4"), name="picture")
buffer = device.buffer(np.zeros(4, "u4"))
module["k"][1, (2, 3)](array, (buffer, 16), 1.5, np.float32(1), b"bytes", array.texture(linear=True))
took = module["k"].launch(1, [1, 2, 3], array.surface(1), surfrefs={"s": array}, sanitize="none")
if took is not None:
    print(took * 2)
for finding in device.sanitizer_report().findings:
    print(finding.kind.upper(), finding.line + 1, finding.block[2] + 1)
try:
    ptx2spv.kernel("text")[1, 1](np.zeros(4))
except ptx2spv.Trap as trap:
    print(trap.coordinates[0] + 1, trap.surface.upper(), trap.inlined_at[0][1] + 1)
print(ptx2spv.translate("text").spirv.hex(), device.info.name.upper(), ptx2spv.__version__.upper())
stream = device.stream()
stream.launch(module["k"], 1, 1, buffer)
print(stream.download(buffer).sum(), buffer.view("u4")[0], np.from_dlpack(buffer))

ptx2spv.Device(7)  # error
device.array(shape=(1,), formt="u8")  # error
took + 1  # error
trap_kind: int = ptx2spv.Trap("", "", None).kind  # error
array.downlod()  # error
module["k"].launch("1", 1)  # error
array.texture(address=3)  # error
device.sanitizer_report().findings[0].thread.x  # error
