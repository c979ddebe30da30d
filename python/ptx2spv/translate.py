"""The translator alone: PTX to SPIR-V, without a device."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import pathlib
from typing import TYPE_CHECKING

from . import _declarations as c
from ._library import call, library, struct, text

if TYPE_CHECKING:
    from ._types import *


@dataclasses.dataclass(frozen=True)
class Translation:
    """`spirv`: the module's bytes. `interface`: what it declares (interface.md). `warnings`:
    whole lines."""

    spirv: bytes
    interface: dict
    warnings: str


def translate(source: Source, *, entry: str | None = None, profile: str = "portable",
              fast: bool = False, debug_info: bool = False,
              relax_versions: bool = False) -> Translation:
    """Translates a PTX text or file (`pathlib.Path`). `entry`: one kernel; without it all. `profile`:
    the device to translate for (docs/reference/profiles.md). Raises `TranslationError`."""
    if isinstance(source, pathlib.Path):
        data, name = source.read_bytes(), str(source)
    else:
        data, name = source.encode() if isinstance(source, str) else bytes(source), "module.ptx"
    options = struct(c.ptx2spv_translate_options, entry=entry.encode() if entry else None,
                     profile=profile.encode(), fast=fast, debug_info=debug_info,
                     relax_versions=relax_versions)
    handle = ctypes.c_void_p()
    call("ptx2spv_translate", data, len(data), name.encode(), ctypes.byref(options),
         ctypes.byref(handle))
    try:
        count = ctypes.c_size_t()
        words = library.ptx2spv_translation_words(handle, ctypes.byref(count))
        return Translation(ctypes.string_at(words, 4 * count.value),
                           json.loads(text(library.ptx2spv_translation_interface(handle))),
                           text(library.ptx2spv_translation_warnings(handle)))
    finally:
        library.ptx2spv_translation_destroy(handle)
