"""Modules, kernels, launches, streams and events."""

from __future__ import annotations

import ctypes
import json
import numbers
import re
import struct as packing
from typing import TYPE_CHECKING

from . import _declarations as c
from ._library import Handle, call, library, make, struct, text
from .errors import InvalidArgument, NotFound
from .memory import Array, Buffer, Bytes, Sampler, Surface, Texture, numpy

if TYPE_CHECKING:
    from ._types import *

_NUMBER = re.compile(r"([usbf])(8|16|32|64)$")
_REALS = {2: "e", 4: "f", 8: "d"}


def _three(value):
    """Grid or block: a number, or up to three."""
    sizes = (value,) if isinstance(value, numbers.Integral) else tuple(value)
    if not 1 <= len(sizes) <= 3:
        raise InvalidArgument("a grid or block has one to three numbers")
    return (ctypes.c_uint32 * 3)(*sizes, *[1] * (3 - len(sizes)))


class Parameter:
    """A kernel's parameter: its name, PTX type ("u32", "f32", "b8"...) and bytes."""

    def __init__(self, name: str, kind: str, nbytes: int) -> None:
        self.name, self.type, self.nbytes = name, kind, nbytes

    def pack(self, value: float | np.number[Any] | Data) -> bytes:
        """The bytes of a number or of a bytes-like object for this parameter."""
        where = f"parameter {self.name!r} ({self.type})"
        found = _NUMBER.match(self.type)
        if isinstance(value, numbers.Number) and found and self.nbytes * 8 == int(found[2]):
            kind = found[1]
            if kind == "f":
                if not isinstance(value, numbers.Real):
                    raise TypeError(f"{where} takes a real number")
                try:
                    return packing.pack("<" + _REALS[self.nbytes], float(value))
                except OverflowError:
                    raise OverflowError(f"{where} does not hold {value}") from None
            if not isinstance(value, numbers.Integral):
                raise TypeError(f"{where} takes an integer, not {type(value).__name__}")
            low = 0 if kind == "u" else -(1 << int(found[2]) - 1)
            high = (1 << int(found[2]) - (kind == "s")) - 1
            if not low <= value <= high:
                raise OverflowError(f"{where} does not hold {value}")
            return (int(value) & (1 << int(found[2])) - 1).to_bytes(self.nbytes, "little")
        try:
            data = bytes(memoryview(value))
        except TypeError:
            raise TypeError(f"{where} does not take {type(value).__name__}") from None
        if len(data) != self.nbytes:
            raise TypeError(f"{where} takes {self.nbytes} bytes, not {len(data)}")
        return data

    def __repr__(self):
        return f"{self.type} {self.name}"


class _Launchable:
    """`kernel[grid, block]` or `kernel[grid, block, shared]`, to be called with the arguments."""

    def __getitem__(self, configuration: Configuration) -> Callable[..., float | None]:
        grid, block, *shared = configuration
        return lambda *arguments, **options: self.launch(
            grid, block, *arguments, **({"shared": shared[0]} if shared else {}), **options)


class Kernel(_Launchable, Handle):
    """A kernel. `kernel[grid, block](*arguments)` runs it and waits.

    An argument is an `Array` or `Surface`, a `Texture`, a `Sampler`, a `Buffer` (or a pair of a
    buffer and an offset in bytes), a number that the parameter's type holds, or the bytes of a
    struct.
    """

    _destroy = "ptx2spv_kernel_destroy"

    def __init__(self, handle: Any, module: Module, name: str) -> None:
        super().__init__(handle, module)
        self.name = name
        self.parameters: list[Parameter] = []
        for index in range(library.ptx2spv_kernel_parameter_count(handle)):
            own, offset, size = ctypes.c_char_p(), ctypes.c_uint32(), ctypes.c_uint32()
            call("ptx2spv_kernel_parameter", handle, index, ctypes.byref(own), ctypes.byref(offset),
                 ctypes.byref(size))
            kind = text(library.ptx2spv_kernel_parameter_type(handle, index))
            self.parameters.append(Parameter(text(own.value), kind, size.value))

    def _argument(self, parameter, value, kept):
        raw = c.ptx2spv_argument()
        if isinstance(value, Array):
            value = value.surface()
        offset = 0
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Buffer):
            value, offset = value
        kept.append(value)
        for kind, field in ((Surface, "surface"), (Texture, "texture"), (Sampler, "sampler"),
                            (Buffer, "buffer")):
            if isinstance(value, kind):
                if parameter.nbytes != 8 or parameter.type == "f64":
                    raise TypeError(f"parameter {parameter.name!r} ({parameter.type}) does not take "
                                    f"a {field}")
                setattr(raw, field, value._handle)
                raw.buffer_offset = offset
                return raw
        data = parameter.pack(value)
        kept.append(ctypes.create_string_buffer(data, len(data)))
        raw.data, raw.bytes = ctypes.addressof(kept[-1]), len(data)
        return raw

    def _launch(self, grid, block, arguments, shared=0, repeat=1, surfrefs=None, texrefs=None,
                samplerrefs=None, filter=None, sanitize=None, suppressions=None,
                cooperative=False):
        """The launch for the library, and what has to live until it is over."""
        if len(arguments) != len(self.parameters):
            raise TypeError(f"kernel {self.name!r} takes {len(self.parameters)} arguments "
                            f"({', '.join(map(repr, self.parameters))}), {len(arguments)} were given")
        filters = {None: c.PTX2SPV_FILTER_DEFAULT, "exact": c.PTX2SPV_FILTER_EXACT,
                   "device": c.PTX2SPV_FILTER_DEVICE}
        if filter not in filters:
            raise ValueError(f"filter is 'exact', 'device' or None, not {filter!r}")
        kept = []
        rows = (c.ptx2spv_argument * max(len(arguments), 1))(
            *(self._argument(parameter, value, kept)
              for parameter, value in zip(self.parameters, arguments)))
        references = []
        for name, value in (surfrefs or {}).items():
            value = value.surface() if isinstance(value, Array) else value
            kept.append(value)
            references.append(c.ptx2spv_reference(name=name.encode(), surface=value._handle))
        for kind, given in (("texture", texrefs), ("sampler", samplerrefs)):
            for name, value in (given or {}).items():
                kept.append(value)
                references.append(c.ptx2spv_reference(name=name.encode(), **{kind: value._handle}))
        bound = (c.ptx2spv_reference * max(len(references), 1))(*references)
        launch = struct(c.ptx2spv_launch, grid=_three(grid), block=_three(block),
                        dynamic_shared=shared, repeat=repeat, arguments=rows,
                        argument_count=len(arguments), references=bound,
                        reference_count=len(references), filter=filters[filter],
                        sanitize=sanitize.encode() if sanitize else None,
                        suppressions=suppressions.encode() if suppressions else None,
                        cooperative=cooperative)
        return launch, (rows, bound, kept)

    def launch(self, grid: Extent, block: Extent, *arguments: Argument, shared: int = 0,
               repeat: int = 1, surfrefs: Mapping[str, Array | Surface] | None = None,
               texrefs: Mapping[str, Texture] | None = None,
               samplerrefs: Mapping[str, Sampler] | None = None, filter: str | None = None,
               sanitize: str | None = None, suppressions: str | None = None,
               cooperative: bool = False) -> float | None:
        """Runs the kernel and waits. Returns the device's milliseconds, or None where it cannot
        tell. `shared`: bytes of dynamic shared memory. `surfrefs`, `texrefs`, `samplerrefs`: what
        module variables are bound to. `filter`: 'exact' gives NVIDIA's texture reads, 'device' those
        of the device's samplers; None as PTX2SPV_FILTER says. `sanitize`: the sanitizer's checks of
        this launch, as "all" or "none"; None as the device has. `suppressions`: the text of a list
        of findings that are not reported, more than the device's. `cooperative`: all blocks are
        there at once and may wait for each other. A fault raises `Trap`."""
        launch, kept = self._launch(grid, block, arguments, shared, repeat, surfrefs, texrefs,
                                    samplerrefs, filter, sanitize, suppressions, cooperative)
        took = ctypes.c_double(-1)
        call("ptx2spv_kernel_launch", self._handle, ctypes.byref(launch), ctypes.byref(took))
        del kept
        return took.value if took.value >= 0 else None

    def __repr__(self):
        return f"<ptx2spv.Kernel {self.name}({', '.join(map(repr, self.parameters))})>"


class Module(Handle):
    """Translated PTX on a device. `module["name"]` is a kernel."""

    _destroy = "ptx2spv_module_destroy"

    @property
    def interface(self) -> dict[str, Any]:
        """What the module declares, as docs/reference/interface.md describes it."""
        return json.loads(text(library.ptx2spv_module_interface(self._handle)))

    @property
    def warnings(self) -> str:
        """The translator's warnings, whole lines."""
        return text(library.ptx2spv_module_warnings(self._handle))

    @property
    def kernels(self) -> list[str]:
        """The kernels' names."""
        return [entry["name"] for entry in self.interface["entries"]]

    def kernel(self, name: str) -> Kernel:
        return Kernel(make("ptx2spv_kernel_get", self._handle, name.encode()), self, name)

    __getitem__ = kernel

    def set_global(self, name: str, data: Data, offset: int = 0) -> None:
        """Writes a bytes-like object or NumPy array to a .global or .const variable."""
        source = Bytes(data)
        call("ptx2spv_module_set_global", self._handle, name.encode(), offset, source.pointer,
             source.size)

    def get_global(self, name: str) -> bytes:
        """The bytes of a .global or .const variable."""
        address, size = ctypes.c_uint64(), ctypes.c_uint64()
        call("ptx2spv_module_global", self._handle, name.encode(), ctypes.byref(address),
             ctypes.byref(size))
        out = ctypes.create_string_buffer(max(size.value, 1))
        call("ptx2spv_module_get_global", self._handle, name.encode(), 0, out, size.value)
        return out.raw[: size.value]

    def bind(self, name: str, value: Array | Surface | Texture | Sampler) -> None:
        """Binds a .surfref, .texref or .samplerref for every later launch."""
        if isinstance(value, Array):
            value = value.surface()
        for kind, function in ((Surface, "surface"), (Texture, "texture"), (Sampler, "sampler")):
            if isinstance(value, kind):
                call(f"ptx2spv_module_bind_{function}", self._handle, name.encode(), value._handle)
                self._kept += (value,)
                return
        raise TypeError(f"a reference takes a surface, texture or sampler, not {type(value).__name__}")


class Event(Handle):
    """A point in a stream. Reusable."""

    _destroy = "ptx2spv_event_destroy"

    @property
    def done(self) -> bool:
        return bool(library.ptx2spv_event_done(self._handle))

    def wait(self) -> None:
        """Blocks the host until the stream has reached it."""
        call("ptx2spv_event_wait", self._handle)

    def since(self, start: Event) -> float:
        """Milliseconds of the device from `start` to this; both are done."""
        out = ctypes.c_double()
        call("ptx2spv_event_elapsed", start._handle, self._handle, ctypes.byref(out))
        return out.value


class Stream(Handle):
    """Launches and copies that run in their order. `synchronize` waits, and raises what failed."""

    _destroy = "ptx2spv_stream_destroy"

    def __init__(self, handle: Any, device: Device) -> None:
        super().__init__(handle, device)
        self._running = []  # what has to live until the next synchronize

    def launch(self, kernel: Kernel, grid: Extent, block: Extent, *arguments: Argument,
               **options: Any) -> None:
        launch, kept = kernel._launch(grid, block, arguments, **options)
        call("ptx2spv_stream_launch", self._handle, kernel._handle, ctypes.byref(launch))
        self._running.append((kernel, kept))

    def upload(self, buffer: Buffer, data: Data, offset: int = 0) -> None:
        """Copies data into a buffer in the stream's order; the data may change afterwards."""
        source = Bytes(data)
        call("ptx2spv_stream_upload", self._handle, buffer._handle, offset, source.pointer,
             source.size)
        self._running.append(buffer)

    def download(self, buffer: Buffer) -> NDArray[Any]:
        """A NumPy array that holds the buffer's contents after the next synchronize."""
        np = numpy()
        out = np.empty(buffer.shape if buffer.shape is not None else buffer.nbytes,
                       buffer.dtype or "u1")
        call("ptx2spv_stream_download", self._handle, buffer._handle, 0, out.ctypes.data, out.nbytes)
        self._running.append((buffer, out))
        return out

    def record(self, event: Event) -> None:
        call("ptx2spv_stream_record", self._handle, event._handle)
        self._running.append(event)

    def wait(self, event: Event) -> None:
        """Later work of this stream waits for the event."""
        call("ptx2spv_stream_wait", self._handle, event._handle)
        self._running.append(event)

    @property
    def idle(self) -> bool:
        return bool(library.ptx2spv_stream_idle(self._handle))

    def synchronize(self) -> None:
        """Waits for the stream's work, and raises its first error or trap since the last call."""
        try:
            call("ptx2spv_stream_synchronize", self._handle)
        finally:
            self._running.clear()


class HostKernel(_Launchable):
    """A kernel that takes NumPy arrays: they are copied to the device, and back where the kernel may
    have written them. Made by `ptx2spv.kernel`."""

    def __init__(self, device: Device, module: Module, name: str | None) -> None:
        kernels = module.kernels
        if name is None and len(kernels) != 1:
            raise NotFound(f"the module has {len(kernels)} kernels; name one of {', '.join(kernels)}")
        self.device, self.kernel = device, module.kernel(name or kernels[0])
        entry = next(each for each in module.interface["entries"] if each["name"] == self.kernel.name)
        self._slots = {slot["name"]: slot for slot in entry["slots"] if not slot["variable"]}
        self._reads_textures = entry["uses_textures"]

    def launch(self, grid: Extent, block: Extent, *arguments: Argument,
               **options: Any) -> float | None:
        passed, back = [], []
        for parameter, value in zip(self.kernel.parameters, arguments):
            array = hasattr(value, "__array_interface__") and getattr(value, "ndim", 0) > 0
            if array and parameter.name in self._slots:
                slot = self._slots[parameter.name]
                passed.append(self.device.array(value, name=parameter.name))
                if slot["stores"] or slot["reduces"]:
                    back.append((passed[-1], value))
            elif array and parameter.nbytes == 8 and self._reads_textures:
                raise TypeError(f"parameter {parameter.name!r} may be a texture: pass what "
                                f"Array.texture or Device.buffer gives")
            elif array and parameter.nbytes == 8:
                passed.append(self.device.buffer(value))
                back.append((passed[-1], value))
            else:
                passed.append(value)
        passed += arguments[len(passed):]
        took = self.kernel.launch(grid, block, *passed, **options)
        for held, value in back:
            if value.flags.writeable:
                value[...] = held.download().reshape(value.shape)
        return took

    def __repr__(self):
        return repr(self.kernel)
