"""Buffers, arrays, and the surfaces, textures and samplers over arrays."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from . import _declarations as c
from ._library import Handle, call, library, make, struct
from .errors import InvalidArgument, Unsupported
from .picture import png

if TYPE_CHECKING:
    from ._types import *

GEOMETRIES = {"1d": c.PTX2SPV_1D, "2d": c.PTX2SPV_2D, "3d": c.PTX2SPV_3D, "a1d": c.PTX2SPV_A1D,
              "a2d": c.PTX2SPV_A2D}
#: format: (number, bytes of a component, NumPy's type)
FORMATS = {
    "u8": (c.PTX2SPV_U8, 1, "u1"), "u16": (c.PTX2SPV_U16, 2, "u2"), "u32": (c.PTX2SPV_U32, 4, "u4"),
    "s8": (c.PTX2SPV_S8, 1, "i1"), "s16": (c.PTX2SPV_S16, 2, "i2"), "s32": (c.PTX2SPV_S32, 4, "i4"),
    "f16": (c.PTX2SPV_F16, 2, "f2"), "f32": (c.PTX2SPV_F32, 4, "f4"),
    "unorm8": (c.PTX2SPV_UNORM8, 1, "u1"), "unorm16": (c.PTX2SPV_UNORM16, 2, "u2"),
    "snorm8": (c.PTX2SPV_SNORM8, 1, "i1"), "snorm16": (c.PTX2SPV_SNORM16, 2, "i2"),
}
BACKINGS = {"automatic": c.PTX2SPV_AUTOMATIC, "linear": c.PTX2SPV_LINEAR, "image": c.PTX2SPV_IMAGE}
ADDRESS_MODES = {"wrap": c.PTX2SPV_WRAP, "clamp": c.PTX2SPV_CLAMP, "mirror": c.PTX2SPV_MIRROR,
                 "border": c.PTX2SPV_BORDER}


def choice(table, name, what):
    """The value of a name in a table of names."""
    try:
        return table[name]
    except (KeyError, TypeError):
        raise InvalidArgument(f"there is no {what} {name!r}; there are {', '.join(table)}") from None


def numpy():
    """NumPy, which is needed for arrays of numbers and for nothing else."""
    try:
        import numpy as module
    except ImportError as error:
        raise ImportError("this needs NumPy; bytes-like objects do without") from error
    return module


class Bytes:
    """The dense bytes of a bytes-like object or NumPy array, and where they are."""

    def __init__(self, data):
        view = memoryview(data)
        if not view.c_contiguous:
            view = memoryview(bytes(view) if view.format == "B" else numpy().ascontiguousarray(data))
        self.size = view.nbytes
        # Read-only objects have no address for ctypes: they are copied.
        self._kept = (ctypes.c_char * self.size).from_buffer(view.cast("B") if self.size else bytearray()) \
            if not view.readonly and self.size else ctypes.create_string_buffer(view.tobytes(), max(self.size, 1))
        self.pointer = ctypes.addressof(self._kept)


class Buffer(Handle):
    """Memory of the device, which kernels see by its address. Made by `Device.buffer`."""

    _destroy = "ptx2spv_buffer_destroy"

    def __init__(self, device: Device, handle: Any, dtype: np.dtype[Any] | None = None,
                 shape: tuple[int, ...] | None = None) -> None:
        super().__init__(handle, device)
        self.dtype, self.shape = dtype, shape  # what it was made of, for `download`

    @property
    def address(self) -> int:
        """What a kernel's pointer parameter holds."""
        return library.ptx2spv_buffer_address(self._handle)

    @property
    def nbytes(self) -> int:
        return library.ptx2spv_buffer_size(self._handle)

    def upload(self, data: Data, offset: int = 0) -> None:
        """Copies a bytes-like object or NumPy array to `offset` bytes from the start."""
        source = Bytes(data)
        call("ptx2spv_buffer_upload", self._handle, offset, source.pointer, source.size)

    def tobytes(self, offset: int = 0, nbytes: int | None = None) -> bytes:
        """A copy of the bytes."""
        size = self.nbytes - offset if nbytes is None else nbytes
        if size < 0:
            raise InvalidArgument(f"{offset} is beyond the buffer's {self.nbytes} bytes")
        out = ctypes.create_string_buffer(max(size, 1))
        call("ptx2spv_buffer_download", self._handle, offset, out, size)
        return out.raw[:size]

    def download(self, dtype: DTypeLike = None,
                 shape: Shape | None = None) -> NDArray[Any]:
        """A copy as a NumPy array; of the type and shape that the buffer was made of, or bytes."""
        np = numpy()
        dtype = np.dtype(dtype or self.dtype or "u1")
        if shape is None:
            shape = self.shape if self.shape is not None and dtype == self.dtype else -1
        return np.frombuffer(bytearray(self.tobytes()), dtype).reshape(shape)

    def view(self, dtype: DTypeLike = None,
             shape: Shape | None = None) -> NDArray[Any]:
        """The buffer's own memory as a NumPy array, without a copy: on devices whose memory is the
        host's. Synchronise the device before it is read or written."""
        pointer = library.ptx2spv_buffer_mapped(self._handle)
        if not pointer:
            raise Unsupported("the buffer's memory is not the host's; download copies it")
        np = numpy()
        dtype = np.dtype(dtype or self.dtype or "u1")
        memory = (ctypes.c_char * self.nbytes).from_address(pointer)
        memory.owner = self  # as long as the view lives, the buffer does
        if shape is None:
            shape = self.shape if self.shape is not None and dtype == self.dtype else -1
        return np.frombuffer(memory, dtype).reshape(shape)

    def fill(self, word: int = 0) -> None:
        """Fills the buffer with a word of 32 bits."""
        call("ptx2spv_buffer_fill", self._handle, 0, self.nbytes, word, 4)

    def __dlpack__(self, **options: Any) -> Any:
        return self.view().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.view().__dlpack_device__()

    def __repr__(self):
        return f"<ptx2spv.Buffer of {self.nbytes} bytes at {self.address:#x}>"


class Array(Handle):
    """Texels of one to three dimensions, or layers of them: a CUDA array. Made by `Device.array`.

    `shape` is that of its NumPy arrays: slices or layers, rows, texels and, where there are several,
    channels.
    """

    _destroy = "ptx2spv_array_destroy"

    def __init__(self, device: Device, handle: Any, geometry: str, format: str,
                 shape: Sequence[int], channels: int, levels: int) -> None:
        super().__init__(handle, device)
        self.device = device
        self.geometry, self.format, self.channels, self.levels = geometry, format, channels, levels
        self.extent = tuple(shape)  # without channels
        self._surfaces = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extent + ((self.channels,) if self.channels > 1 else ())

    def level_shape(self, level: int) -> tuple[int, ...]:
        """The shape of a mipmap level."""
        layered = self.geometry in ("a1d", "a2d")
        extent = tuple(size if layered and k == 0 else max(1, size >> level)
                       for k, size in enumerate(self.extent))
        return extent + ((self.channels,) if self.channels > 1 else ())

    def nbytes(self, level: int = 0) -> int:
        return library.ptx2spv_array_bytes(self._handle, level)

    def upload(self, data: Data, level: int = 0) -> None:
        """Copies a bytes-like object or NumPy array of the level's size."""
        source = Bytes(data)
        call("ptx2spv_array_upload", self._handle, level, source.pointer, source.size)

    def tobytes(self, level: int = 0) -> bytes:
        """A copy of a level's bytes, dense."""
        size = self.nbytes(level)
        out = ctypes.create_string_buffer(max(size, 1))
        call("ptx2spv_array_download", self._handle, level, out, size)
        return out.raw[:size]

    def download(self, level: int = 0) -> NDArray[Any]:
        """A copy of a level as a NumPy array of `level_shape(level)`."""
        np = numpy()
        dtype = np.dtype(FORMATS[self.format][2])
        return np.frombuffer(bytearray(self.tobytes(level)), dtype).reshape(self.level_shape(level))

    def surface(self, level: int = 0, name: str | None = None) -> Surface:
        """A surface over a level; the same one at every call."""
        if level not in self._surfaces:
            self._surfaces[level] = Surface(self, level)
        if name:
            self._surfaces[level].name(name)
        return self._surfaces[level]

    def texture(self, level: int | None = None,
                **description: Unpack[TextureDescription]) -> Texture:
        """A texture over the array, or over one level of it. The description's fields, as CUDA's:
        `address` (a mode or up to three of wrap, clamp, mirror, border), `linear` (filter),
        `normalized` (coordinates from 0 to 1), `as_float` (8- and 16-bit integers read as
        normalised floats), `border` (four numbers), `linear_mipmap`, `srgb`, `bias`, `min_level`,
        `max_level`, `anisotropy`, `cube`, `seamless`, `full_trilinear`, `mipmapped`.
        """
        desc = texture_desc(**description)
        if level is None:
            handle = make("ptx2spv_texture_create", self._handle, ctypes.byref(desc))
        else:
            handle = make("ptx2spv_texture_create_level", self._handle, level, ctypes.byref(desc))
        return Texture(handle, self)

    def _repr_png_(self) -> bytes:
        """The picture that notebooks show: 8-bit texels as they are, floats from 0 to 1, wider
        integers by their highest byte; slices and layers below each other."""
        number, size, kind = FORMATS[self.format]
        data = self.tobytes()
        if size == 1:
            pixels = bytes(b ^ 0x80 for b in data) if kind == "i1" else data
        elif kind in ("f2", "f4"):
            pixels = bytes(0 if not v > 0 else 255 if v >= 1 else int(v * 255 + 0.5)
                           for v in memoryview(data).cast("B").cast("f" if kind == "f4" else "e"))
        else:
            flip = 0x80 if kind[0] == "i" else 0
            pixels = bytes(b ^ flip for b in data[size - 1::size])
        height = 1
        for extent in self.extent[:-1]:
            height *= extent
        return png(pixels, self.extent[-1], height, self.channels)

    def __repr__(self):
        return f"<ptx2spv.Array {self.geometry} {self.format} {self.shape}>"


class Surface(Handle):
    """What a surface parameter or .surfref takes: one level of an array."""

    _destroy = "ptx2spv_surface_destroy"

    def __init__(self, array: Array, level: int = 0) -> None:
        super().__init__(make("ptx2spv_surface_create", array._handle, level), array)

    @property
    def handle(self) -> int:
        """The number that a kernel finds in memory."""
        return library.ptx2spv_surface_handle(self._handle)

    def name(self, text: str) -> None:
        """Names the surface in reports of traps."""
        call("ptx2spv_surface_set_name", self._handle, text.encode())


class Texture(Handle):
    """What a texture parameter or .texref takes."""

    _destroy = "ptx2spv_texture_destroy"

    @property
    def handle(self) -> int:
        """The number that a kernel finds in memory."""
        return library.ptx2spv_texture_handle(self._handle)


class Sampler(Handle):
    """What a .samplerref takes."""

    _destroy = "ptx2spv_sampler_destroy"

    @property
    def handle(self) -> int:
        return library.ptx2spv_sampler_handle(self._handle)


def texture_desc(address: Address = "wrap", linear=False, normalized=False, as_float=False,
                 border=(0.0, 0.0, 0.0, 0.0), linear_mipmap=False, srgb=False, bias=0.0,
                 min_level=0.0, max_level=0.0, anisotropy=1, cube=False, seamless=False,
                 full_trilinear=False, mipmapped=False):
    """A texture's description for the library; `Array.texture` says what the fields mean."""
    modes = [address] * 3 if isinstance(address, str) else list(address)
    if not 1 <= len(modes) <= 3:
        raise InvalidArgument("address takes one to three modes")
    modes += [modes[-1]] * (3 - len(modes))
    colour = list(border) + [0.0] * 4
    return struct(
        c.ptx2spv_texture_desc,
        address=(ctypes.c_uint32 * 3)(*(choice(ADDRESS_MODES, mode, "address mode") for mode in modes)),
        linear_filter=linear, normalized_coordinates=normalized, read_as_float=as_float,
        border=(ctypes.c_float * 4)(*colour[:4]), linear_mipmap_filter=linear_mipmap, srgb=srgb,
        mipmap_bias=bias, min_level=min_level, max_level=max_level, max_anisotropy=anisotropy,
        cube=cube, seamless_cube=seamless, full_trilinear=full_trilinear, mipmapped=mipmapped)


def split_shape(shape, geometry, channels):
    """A geometry, extents and channels out of a NumPy shape."""
    shape = tuple(int(size) for size in shape)
    dimensions = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3}
    if geometry is None:
        # Pictures with channels are more common than volumes of so few texels a row.
        geometry = {1: "1d", 2: "2d", 3: "2d" if shape[-1] in (1, 2, 4) else "3d", 4: "3d"}.get(
            len(shape))
        if geometry is None:
            raise InvalidArgument(f"{len(shape)} dimensions are no array's")
    choice(GEOMETRIES, geometry, "geometry")
    wanted = dimensions[geometry]
    if len(shape) == wanted and channels in (None, 1):
        return geometry, shape, 1
    if len(shape) == wanted + 1 and channels in (None, shape[-1]):
        if shape[-1] == 3:
            raise InvalidArgument("arrays have 1, 2 or 4 channels; add a fourth to the three")
        return geometry, shape[:-1], shape[-1]
    if len(shape) == wanted and channels:
        return geometry, shape, channels
    raise InvalidArgument(f"a {geometry} array has {wanted} dimensions, and channels; {shape} was given")


def format_of(dtype):
    """The format of a NumPy type."""
    for name, (_, _, kind) in FORMATS.items():
        if dtype.kind + str(dtype.itemsize) == kind:
            return name
    raise InvalidArgument(f"{dtype} is no type of texels; there are "
                          f"{', '.join(sorted({row[2] for row in FORMATS.values()}))}")
