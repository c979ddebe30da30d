"""Names of types for annotations, which checkers and editors read. Nothing imports them at run time."""

import pathlib
from typing import Any, Callable, Iterable, Mapping, Sequence, TypedDict, Union

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Unpack

from .device import Device
from .memory import Array, Buffer, Sampler, Surface, Texture

__all__ = ["Address", "Any", "Argument", "Array", "Buffer", "Callable", "Configuration", "DTypeLike",
           "Data", "Device", "Extent", "Iterable", "Mapping", "ModuleOptions", "NDArray", "Sampler",
           "Sequence", "Shape", "Source", "Surface", "Texture", "TextureDescription", "Unpack", "np"]

Source = Union[str, bytes, pathlib.Path]  # PTX: a text, or a file
Data = Union[bytes, bytearray, memoryview, NDArray[Any]]
Shape = Union[int, Sequence[int]]
Extent = Union[int, Sequence[int]]  # a grid or block: a number, or up to three
Configuration = Union[tuple[Extent, Extent], tuple[Extent, Extent, int]]
Address = Union[str, Sequence[str]]
# What a kernel's parameter takes.
Argument = Union[Array, Surface, Texture, Sampler, Buffer, tuple[Buffer, int], float, np.number[Any],
                 Data]


class TextureDescription(TypedDict, total=False):
    """The fields that `Array.texture` describes."""

    address: Address
    linear: bool
    normalized: bool
    as_float: bool
    border: Sequence[float]
    linear_mipmap: bool
    srgb: bool
    bias: float
    min_level: float
    max_level: float
    anisotropy: int
    cube: bool
    seamless: bool
    full_trilinear: bool
    mipmapped: bool


class ModuleOptions(TypedDict, total=False):
    """The options of `Device.module`."""

    fast: bool
    debug_info: bool
    relax_versions: bool
