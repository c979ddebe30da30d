# Types of the package, for checkers and editors. The docstrings are in the modules.
import pathlib
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .device import DeviceInfo as DeviceInfo
from .sanitizer import Finding as Finding, SanitizerReport as SanitizerReport
from .translate import Translation as Translation

__version__: str

# PTX: a text, or a file.
_Source = Union[str, bytes, pathlib.Path]
_Data = Union[bytes, bytearray, memoryview, NDArray[Any]]
# A grid or block: a number, or up to three.
_Extent = Union[int, Sequence[int]]
_Address = Union[str, Sequence[str]]

class Error(Exception):
    message: str
    details: str
    def __init__(self, message: str, details: str = ...) -> None: ...

class InvalidArgument(Error, ValueError): ...
class NotFound(Error, LookupError): ...
class NoDevice(Error): ...
class Unsupported(Error): ...
class TranslationError(Error): ...
class OutOfMemory(Error, MemoryError): ...
class DeviceLost(Error): ...

class TimedOut(Error, TimeoutError):
    def __init__(self, message: str, details: str = ...) -> None: ...

class InputOutputError(Error, OSError):
    def __init__(self, message: str, details: str = ...) -> None: ...

class InternalError(Error): ...

class Trap(Error):
    kind: str
    reason: str
    kernel: str
    function: str
    file: str
    line: int
    column: int
    instruction: str
    source_file: str
    source_line: int
    inlined_at: tuple[tuple[str, int], ...]
    thread_known: bool
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    surface: str
    handle: int
    coordinates: tuple[int, ...]
    coordinate_names: tuple[str, ...]
    extent: tuple[int, int, int]
    texel_bytes: int
    assertion: str
    threads: int
    def __init__(
        self, message: str, details: str, report: Any, inlined_at: Iterable[tuple[str, int]] = ...
    ) -> None: ...

# Objects of the library are made by the calls of Device, Array and Module.
class _Handle:
    def __init__(self, handle: Any, *kept: Any) -> None: ...
    def __del__(self) -> None: ...

class Buffer(_Handle):
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...] | None
    def __init__(self, device: Device, handle: Any, dtype: Any = ..., shape: Any = ...) -> None: ...
    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def upload(self, data: _Data, offset: int = ...) -> None: ...
    def tobytes(self, offset: int = ..., nbytes: int | None = ...) -> bytes: ...
    def download(
        self, dtype: DTypeLike = ..., shape: int | Sequence[int] | None = ...
    ) -> NDArray[Any]: ...
    def view(
        self, dtype: DTypeLike = ..., shape: int | Sequence[int] | None = ...
    ) -> NDArray[Any]: ...
    def fill(self, word: int = ...) -> None: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Surface(_Handle):
    def __init__(self, array: Array, level: int = ...) -> None: ...
    @property
    def handle(self) -> int: ...
    def name(self, text: str) -> None: ...

class Texture(_Handle):
    @property
    def handle(self) -> int: ...

class Sampler(_Handle):
    @property
    def handle(self) -> int: ...

class Array(_Handle):
    device: Device
    geometry: str
    format: str
    channels: int
    levels: int
    extent: tuple[int, ...]
    def __init__(
        self,
        device: Device,
        handle: Any,
        geometry: str,
        format: str,
        shape: Sequence[int],
        channels: int,
        levels: int,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def level_shape(self, level: int) -> tuple[int, ...]: ...
    def nbytes(self, level: int = ...) -> int: ...
    def upload(self, data: _Data, level: int = ...) -> None: ...
    def tobytes(self, level: int = ...) -> bytes: ...
    def download(self, level: int = ...) -> NDArray[Any]: ...
    def surface(self, level: int = ..., name: str | None = ...) -> Surface: ...
    def texture(
        self,
        level: int | None = ...,
        *,
        address: _Address = ...,
        linear: bool = ...,
        normalized: bool = ...,
        as_float: bool = ...,
        border: Sequence[float] = ...,
        linear_mipmap: bool = ...,
        srgb: bool = ...,
        bias: float = ...,
        min_level: float = ...,
        max_level: float = ...,
        anisotropy: int = ...,
        cube: bool = ...,
        seamless: bool = ...,
        full_trilinear: bool = ...,
        mipmapped: bool = ...,
    ) -> Texture: ...
    def _repr_png_(self) -> bytes: ...

# What a kernel's parameter takes.
_Argument = Union[
    Array, Surface, Texture, Sampler, Buffer, tuple[Buffer, int], float, np.number[Any], _Data
]

class Parameter:
    name: str
    type: str
    nbytes: int
    def __init__(self, name: str, kind: str, nbytes: int) -> None: ...
    def pack(self, value: float | np.number[Any] | _Data) -> bytes: ...

class Kernel(_Handle):
    name: str
    parameters: list[Parameter]
    def __init__(self, handle: Any, module: Module, name: str) -> None: ...
    def launch(
        self,
        grid: _Extent,
        block: _Extent,
        *arguments: _Argument,
        shared: int = ...,
        repeat: int = ...,
        surfrefs: Mapping[str, Array | Surface] | None = ...,
        texrefs: Mapping[str, Texture] | None = ...,
        samplerrefs: Mapping[str, Sampler] | None = ...,
        filter: str | None = ...,
        sanitize: str | None = ...,
        suppressions: str | None = ...,
        cooperative: bool = ...,
    ) -> float | None: ...
    def __getitem__(
        self, configuration: tuple[_Extent, _Extent] | tuple[_Extent, _Extent, int]
    ) -> Callable[..., float | None]: ...

class HostKernel:
    device: Device
    kernel: Kernel
    def __init__(self, device: Device, module: Module, name: str | None) -> None: ...
    def launch(
        self, grid: _Extent, block: _Extent, *arguments: _Argument, **options: Any
    ) -> float | None: ...
    def __getitem__(
        self, configuration: tuple[_Extent, _Extent] | tuple[_Extent, _Extent, int]
    ) -> Callable[..., float | None]: ...

class Module(_Handle):
    @property
    def interface(self) -> dict[str, Any]: ...
    @property
    def warnings(self) -> str: ...
    @property
    def kernels(self) -> list[str]: ...
    def kernel(self, name: str) -> Kernel: ...
    def __getitem__(self, name: str) -> Kernel: ...
    def set_global(self, name: str, data: _Data, offset: int = ...) -> None: ...
    def get_global(self, name: str) -> bytes: ...
    def bind(self, name: str, value: Array | Surface | Texture | Sampler) -> None: ...

class Event(_Handle):
    @property
    def done(self) -> bool: ...
    def wait(self) -> None: ...
    def since(self, start: Event) -> float: ...

class Stream(_Handle):
    def __init__(self, handle: Any, device: Device) -> None: ...
    def launch(
        self, kernel: Kernel, grid: _Extent, block: _Extent, *arguments: _Argument, **options: Any
    ) -> None: ...
    def upload(self, buffer: Buffer, data: _Data, offset: int = ...) -> None: ...
    def download(self, buffer: Buffer) -> NDArray[Any]: ...
    def record(self, event: Event) -> None: ...
    def wait(self, event: Event) -> None: ...
    @property
    def idle(self) -> bool: ...
    def synchronize(self) -> None: ...

class Device(_Handle):
    def __init__(
        self,
        select: str | None = ...,
        *,
        disable: Sequence[str] = ...,
        enable: Sequence[str] = ...,
        profile: str | None = ...,
        validation: bool | None = ...,
        cache: bool | None = ...,
        cache_directory: str | pathlib.Path | None = ...,
        sanitize: str | None = ...,
        suppressions: str | None = ...,
        timeout: float | None = ...,
        executor: str | None = ...,
        print: Callable[[str], Any] | None = ...,
        report: Callable[[str], Any] | None = ...,
    ) -> None: ...
    @property
    def info(self) -> DeviceInfo: ...
    def statistics(self) -> dict[str, float]: ...
    def sanitizer_report(self) -> SanitizerReport: ...
    def synchronize(self) -> None: ...
    def buffer(self, data: int | _Data) -> Buffer: ...
    def array(
        self,
        data: NDArray[Any] | None = ...,
        *,
        shape: Sequence[int] | None = ...,
        format: str | None = ...,
        geometry: str | None = ...,
        channels: int | None = ...,
        levels: int = ...,
        backing: str = ...,
        name: str | None = ...,
    ) -> Array: ...
    def texture(
        self,
        buffer: Buffer,
        format: str,
        width: int,
        height: int = ...,
        channels: int = ...,
        offset: int = ...,
        pitch: int = ...,
        *,
        address: _Address = ...,
        linear: bool = ...,
        normalized: bool = ...,
        as_float: bool = ...,
        border: Sequence[float] = ...,
        linear_mipmap: bool = ...,
        srgb: bool = ...,
        bias: float = ...,
        min_level: float = ...,
        max_level: float = ...,
        anisotropy: int = ...,
        cube: bool = ...,
        seamless: bool = ...,
        full_trilinear: bool = ...,
        mipmapped: bool = ...,
    ) -> Texture: ...
    def sampler(
        self,
        *,
        address: _Address = ...,
        linear: bool = ...,
        normalized: bool = ...,
        as_float: bool = ...,
        border: Sequence[float] = ...,
        linear_mipmap: bool = ...,
        srgb: bool = ...,
        bias: float = ...,
        min_level: float = ...,
        max_level: float = ...,
        anisotropy: int = ...,
        cube: bool = ...,
        seamless: bool = ...,
        full_trilinear: bool = ...,
        mipmapped: bool = ...,
    ) -> Sampler: ...
    def module(
        self,
        *sources: _Source,
        fast: bool = ...,
        debug_info: bool = ...,
        relax_versions: bool = ...,
    ) -> Module: ...
    def stream(self) -> Stream: ...
    def event(self) -> Event: ...

def default_device() -> Device: ...
def devices() -> list[DeviceInfo]: ...
def kernel(
    source: _Source,
    name: str | None = ...,
    *,
    device: Device | None = ...,
    fast: bool = ...,
    debug_info: bool = ...,
    relax_versions: bool = ...,
) -> HostKernel: ...
def translate(
    source: _Source,
    *,
    entry: str | None = ...,
    profile: str = ...,
    fast: bool = ...,
    debug_info: bool = ...,
    relax_versions: bool = ...,
) -> Translation: ...
