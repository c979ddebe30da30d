"""The shared library: where it is, and calls that raise what goes wrong."""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys
from typing import TYPE_CHECKING

from . import _declarations as c
from .errors import Error, ERRORS, Trap

if TYPE_CHECKING:
    from ._types import *

NAME = "libptx2spv.so"


def _find():
    named = os.environ.get("PTX2SPV_LIBRARY")
    if named:
        return named
    beside = pathlib.Path(__file__).parent / NAME
    return str(beside) if beside.exists() else NAME


def _load():
    path = _find()
    # A wheel may bring SwiftShader; the environment and installed drivers come first.
    if (pathlib.Path(__file__).parent / "libvk_swiftshader.so").exists():
        os.environ.setdefault("PTX2SPV_SWIFTSHADER", str(pathlib.Path(__file__).parent))
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"ptx2spv's library cannot be loaded: {error}. It lies beside the package, or "
            f"PTX2SPV_LIBRARY names it; Debian 12 has what it needs in libfmt9, liblz4-1 and "
            f"libzstd1") from error
    for name, (result, parameters) in c.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = parameters
    version = library.ptx2spv_api_version()
    if version != 1:
        raise ImportError(f"{path} has version {version} of the interface, this package needs 1")
    return library


library = _load()


def text(value):
    """A C string as str."""
    return value.decode("utf-8", "replace") if value else ""


def struct(kind, **members):
    """A struct with its size, and these members."""
    return kind(size=ctypes.sizeof(kind), **members)


def _inlined(index):
    """A place where the source line of this thread's last trap was inlined."""
    file, line = ctypes.c_char_p(), ctypes.c_uint32()
    library.ptx2spv_last_inlined(index, ctypes.byref(file), ctypes.byref(line))
    return text(file.value), line.value


def call(name, *arguments):
    """Calls a function that returns a status, and raises the error that it reports."""
    status = getattr(library, name)(*arguments)
    if status == c.PTX2SPV_OK:
        return
    message, details = text(library.ptx2spv_last_error()), text(library.ptx2spv_last_error_details())
    if status == c.PTX2SPV_TRAP:
        report = struct(c.ptx2spv_trap_report)
        if library.ptx2spv_last_trap(ctypes.byref(report)) == c.PTX2SPV_OK:
            raise Trap(message, details, report, map(_inlined, range(report.inlined_count)))
    raise ERRORS.get(status, Error)(message, details)


def make(name, *arguments):
    """Calls a function whose last parameter receives a new handle, and returns that."""
    handle = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(handle))
    return handle


class Handle:
    """An object of the library, released when it goes."""

    _destroy = ""

    def __init__(self, handle: Any, *kept: Any) -> None:
        self._handle = handle
        self._kept = kept  # what has to live as long

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        # At the interpreter's end modules may be gone before objects are.
        if handle and library is not None and not sys.is_finalizing():
            getattr(library, self._destroy)(handle)
