"""CUDA kernels that use surfaces, on any Vulkan device or on the CPU.

>>> import numpy, ptx2spv
>>> fill = ptx2spv.kernel('''
... .version 8.0
... .target sm_75
... .address_size 64
... .visible .entry fill(.param .u64 picture, .param .u32 value)
... {
...   .reg .b32 %r<3>;
...   .reg .b64 %picture;
...   ld.param.u64 %picture, [picture];
...   ld.param.u32 %r0, [value];
...   mov.u32 %r1, %tid.x;
...   mov.u32 %r2, %ctaid.x;
...   shl.b32 %r1, %r1, 2;
...   sust.b.2d.b32.trap [%picture, {%r1, %r2}], %r0;
...   ret;
... }''')
>>> picture = numpy.zeros((2, 4), "u4")
>>> _ = fill[2, 4](picture, 7)
>>> picture
array([[7, 7, 7, 7],
       [7, 7, 7, 7]], dtype=uint32)

A store beyond the picture raises `Trap`, which says where:

>>> try:
...   _ = fill[3, 4](picture, 7)
... except ptx2spv.Trap as trap:
...   print(trap.kind, trap.surface, trap.coordinates[1], trap.line)
out_of_bounds picture 2 14
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import memory as _memory
from ._library import library as _library, text as _text
from .device import Device, DeviceInfo, default_device, devices
from .errors import (DeviceLost, Error, InputOutputError, InternalError, InvalidArgument, NoDevice,
                     NotFound, OutOfMemory, TimedOut, TranslationError, Trap, Unsupported)
from .memory import Array, Buffer, Sampler, Surface, Texture
from .module import Event, HostKernel, Kernel, Module, Parameter, Stream
from .sanitizer import Finding, SanitizerReport
from .translate import Translation, translate

if TYPE_CHECKING:
    from ._types import *

__version__ = _text(_library.ptx2spv_version_text())

__all__ = [
    "Array", "Buffer", "Device", "DeviceInfo", "DeviceLost", "Error", "Event", "Finding", "HostKernel",
    "InputOutputError", "InternalError", "InvalidArgument", "Kernel", "Module", "NoDevice", "NotFound",
    "OutOfMemory", "Parameter", "Sampler", "SanitizerReport", "Stream", "Surface", "Texture", "TimedOut",
    "Translation", "TranslationError", "Trap", "Unsupported", "default_device", "devices", "kernel",
    "translate",
]


def kernel(source: Source, name: str | None = None, *, device: Device | None = None,
           **options: Unpack[ModuleOptions]) -> HostKernel:
    """A kernel of a PTX text or file (`pathlib.Path`) that takes NumPy arrays for surfaces and
    pointers: `kernel(source)[grid, block](*arguments)`. Arrays are copied to the device, and back
    where the kernel may have written them. `name` may be left out where the module has one kernel.
    Options are those of `Device.module`."""
    device = device or default_device()
    return HostKernel(device, device.module(source, **options), name)
