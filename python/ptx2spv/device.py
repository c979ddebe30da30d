"""Devices, and what is made on them."""

from __future__ import annotations

import ctypes
import dataclasses
import pathlib
import sys
from typing import TYPE_CHECKING

from . import _declarations as c
from ._library import Handle, call, library, make, struct, text
from .errors import InvalidArgument
from .memory import (BACKINGS, FORMATS, GEOMETRIES, Array, Buffer, Bytes, Sampler, Texture, choice,
                     format_of, split_shape, texture_desc)
from .module import Event, Module, Stream
from .sanitizer import SanitizerReport, report_of

if TYPE_CHECKING:
    from ._types import *


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """A Vulkan device. `rejection` says why it was passed over, empty for the chosen one."""

    index: int
    name: str
    driver: str
    uuid: str
    kind: str
    memory_bytes: int
    usable: bool
    rejection: str


_KINDS = ("discrete GPU", "integrated GPU", "virtual GPU", "CPU", "other")


def _info(raw):
    return DeviceInfo(raw.index, text(raw.name), text(raw.driver), text(raw.uuid),
                      _KINDS[min(raw.kind, 4)], raw.memory_bytes, bool(raw.usable),
                      text(raw.rejection))


def _options(select, disable, enable, profile, validation, cache, cache_directory, sanitize,
             suppressions, timeout, executor, print, report):
    executors = {None: c.PTX2SPV_EXECUTOR_DEFAULT, "auto": c.PTX2SPV_EXECUTOR_AUTOMATIC,
                 "device": c.PTX2SPV_EXECUTOR_DEVICE, "host": c.PTX2SPV_EXECUTOR_HOST}
    if executor not in executors:
        raise ValueError(f"executor is 'auto', 'device', 'host' or None, not {executor!r}")
    switch = lambda value: 0 if value is None else 1 if value else -1
    encoded = lambda value: str(value).encode() if value else None
    rows = lambda names: (ctypes.c_char_p * max(len(names), 1))(*(name.encode() for name in names))
    off, on = rows(disable), rows(enable)
    options = struct(c.ptx2spv_device_options, select=encoded(select), disable=off,
                     disable_count=len(disable), enable=on, enable_count=len(enable),
                     profile=encoded(profile), validation=switch(validation), cache=switch(cache),
                     cache_directory=encoded(cache_directory), sanitize=encoded(sanitize),
                     suppressions=None if suppressions is None else str(suppressions).encode(),
                     executor=executors[executor],
                     timeout=0 if timeout is None else timeout if timeout > 0 else -1)
    # What C would write to the process's streams a notebook does not show: Python's streams do.
    taken = []
    for field, call_with, stream in (("print", print, "stdout"), ("report", report, "stderr")):
        take = call_with or (lambda piece, stream=stream: getattr(sys, stream).write(piece))
        kind = dict(c.ptx2spv_device_options._fields_)[field]
        taken.append(kind(lambda user, data, size, take=take:
                          take(ctypes.string_at(data, size).decode("utf-8", "replace")) and None))
        setattr(options, field, taken[-1])
    return options, (off, on, taken)


def devices() -> list[DeviceInfo]:
    """All Vulkan devices, usable or not, in the order in which they would be chosen."""
    count = ctypes.c_uint32()
    call("ptx2spv_list_devices", None, None, ctypes.byref(count))
    rows = (c.ptx2spv_device_info * count.value)()
    for row in rows:
        row.size = ctypes.sizeof(c.ptx2spv_device_info)
    call("ptx2spv_list_devices", None, rows, ctypes.byref(count))
    return [_info(row) for row in rows[: count.value]]


class Device(Handle):
    """An open device.

    `select`: gpu, cpu, swiftshader, lavapipe, an index, "uuid:..." or part of a name; without it the
    best one, or what PTX2SPV_DEVICE says. `disable`: capabilities to do without. `profile`: translate
    for no more than this. `enable`: workarounds to take. `validation`, `cache`: on or off. `sanitize`: the sanitizer's checks, as "all"
    or "memory,race" (sanitizer.md). `suppressions`: the text of a list of findings that are not
    reported. `timeout`: seconds that a launch may take, 0 for no limit.
    `executor`: who runs launches, "auto", "device" or "host"; None as PTX2SPV_EXECUTOR says.
    `print` is called with what kernels print, `report` with the sanitizer's findings as they are
    made; without them sys.stdout and sys.stderr have them.
    """

    _destroy = "ptx2spv_device_destroy"

    def __init__(self, select: str | None = None, *, disable: Sequence[str] = (),
                 enable: Sequence[str] = (), profile: str | None = None,
                 validation: bool | None = None, cache: bool | None = None,
                 cache_directory: str | pathlib.Path | None = None, sanitize: str | None = None,
                 suppressions: str | None = None, timeout: float | None = None,
                 executor: str | None = None, print: Callable[[str], Any] | None = None,
                 report: Callable[[str], Any] | None = None) -> None:
        options, kept = _options(select, disable, enable, profile, validation, cache, cache_directory,
                                 sanitize, suppressions, timeout, executor, print, report)
        super().__init__(make("ptx2spv_device_open", ctypes.byref(options)), kept)

    @property
    def info(self) -> DeviceInfo:
        raw = struct(c.ptx2spv_device_info)
        call("ptx2spv_device_get_info", self._handle, ctypes.byref(raw))
        return _info(raw)

    def statistics(self) -> dict[str, float]:
        """Counters since the device was opened, by name."""
        raw = struct(c.ptx2spv_device_statistics)
        call("ptx2spv_device_get_statistics", self._handle, ctypes.byref(raw))
        return {name: getattr(raw, name) for name, _ in raw._fields_ if name != "size"}

    def sanitizer_report(self) -> SanitizerReport:
        """What the sanitizer has found since the device was opened, as a `SanitizerReport`."""
        return report_of(text(library.ptx2spv_device_sanitizer_report(self._handle)))

    def synchronize(self) -> None:
        """Waits for all work."""
        call("ptx2spv_device_synchronize", self._handle)

    def buffer(self, data: int | Data) -> Buffer:
        """Memory of the device: of so many bytes, all zero, or with the contents of a bytes-like
        object or NumPy array."""
        if isinstance(data, int):
            out = Buffer(self, make("ptx2spv_buffer_create", self._handle, data))
            out.upload(bytes(data))
            return out
        size = Bytes(data).size
        out = Buffer(self, make("ptx2spv_buffer_create", self._handle, size),
                     getattr(data, "dtype", None), getattr(data, "shape", None))
        out.upload(data)
        return out

    def array(self, data: NDArray[Any] | None = None, *, shape: Sequence[int] | None = None,
              format: str | None = None, geometry: str | None = None, channels: int | None = None,
              levels: int = 1, backing: str = "automatic", name: str | None = None) -> Array:
        """An array of texels: with the contents of a NumPy array, or of a shape and format, zero.

        The shape is slices or layers, rows, texels and channels (1, 2 or 4). Three dimensions are
        rows, texels and channels where the last is 1, 2 or 4, else a volume; `geometry` ("1d", "2d",
        "3d", "a1d", "a2d") says otherwise. `format` is one of u8 ... f32, or unorm8 ... snorm16 for
        normalised texels. `name` appears in reports of traps.
        """
        if data is not None:
            shape = data.shape if shape is None else shape
            own = format_of(data.dtype)
            format = format or own
            if choice(FORMATS, format, "format")[2] != FORMATS[own][2]:
                raise InvalidArgument(f"texels of {format} are made of {FORMATS[format][2]}, and "
                                      f"the data is {data.dtype}")
        if shape is None or format is None:
            raise InvalidArgument("an array needs data, or a shape and a format")
        geometry, extent, channels = split_shape(shape, geometry, channels)
        sizes = dict(zip(("width", "height", "depth"), reversed(extent)))
        if geometry in ("a1d", "a2d"):
            sizes = dict(zip(("width", "height"), reversed(extent[1:])), layers=extent[0])
        desc = struct(c.ptx2spv_array_desc, geometry=GEOMETRIES[geometry],
                      format=choice(FORMATS, format, "format")[0], channels=channels, levels=levels,
                      backing=choice(BACKINGS, backing, "backing"),
                      name=name.encode() if name else None, **sizes)
        out = Array(self, make("ptx2spv_array_create", self._handle, ctypes.byref(desc)), geometry,
                    format, extent, channels, levels)
        for level in range(levels):
            if level or data is None:
                call("ptx2spv_array_fill", out._handle, level, 0, 1)
        if data is not None:
            out.upload(data)
        return out

    def texture(self, buffer: Buffer, format: str, width: int, height: int = 0, channels: int = 1,
                offset: int = 0, pitch: int = 0,
                **description: Unpack[TextureDescription]) -> Texture:
        """A texture over a buffer's memory; `Array.texture` has the description's fields."""
        memory = struct(c.ptx2spv_texture_memory, format=choice(FORMATS, format, "format")[0],
                        channels=channels, width=width, height=height, offset=offset, pitch=pitch)
        desc = texture_desc(**description)
        return Texture(make("ptx2spv_texture_create_memory", buffer._handle, ctypes.byref(memory),
                            ctypes.byref(desc)), buffer)

    def sampler(self, **description: Unpack[TextureDescription]) -> Sampler:
        """A sampler of its own, for .samplerref; `Array.texture` has the fields."""
        desc = texture_desc(**description)
        return Sampler(make("ptx2spv_sampler_create", self._handle, ctypes.byref(desc)), self)

    def module(self, *sources: Source, fast: bool = False, debug_info: bool = False,
               relax_versions: bool = False) -> Module:
        """A module out of PTX texts, or of files (`pathlib.Path`), which are linked."""
        if not sources:
            raise InvalidArgument("a module needs a source")
        texts, names = [], []
        for source in sources:
            if isinstance(source, pathlib.Path):
                texts.append(source.read_bytes())
                names.append(str(source).encode())
            else:
                texts.append(source.encode() if isinstance(source, str) else bytes(source))
                names.append(b"module.ptx")
        count = len(texts)
        options = struct(c.ptx2spv_module_options, fast=fast, debug_info=debug_info,
                         relax_versions=relax_versions)
        handle = make("ptx2spv_module_load_linked", self._handle, (ctypes.c_char_p * count)(*texts),
                      (ctypes.c_size_t * count)(*map(len, texts)), (ctypes.c_char_p * count)(*names),
                      count, ctypes.byref(options))
        return Module(handle, self)

    def stream(self) -> Stream:
        """A stream: work that runs in its order, beside other streams'."""
        return Stream(make("ptx2spv_stream_create", self._handle), self)

    def event(self) -> Event:
        """A point in a stream."""
        return Event(make("ptx2spv_event_create", self._handle), self)

    def __repr__(self):
        return f"<ptx2spv.Device {self.info.name}>"


_default = None


def default_device() -> Device:
    """The device that `ptx2spv.kernel` takes where none is given, opened at first use."""
    global _default
    if _default is None:
        _default = Device()
    return _default
