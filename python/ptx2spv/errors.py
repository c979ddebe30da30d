"""What goes wrong, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _declarations as c

if TYPE_CHECKING:
    from ._types import *

_KINDS = {
    c.PTX2SPV_TRAP_OUT_OF_BOUNDS: "out_of_bounds",
    c.PTX2SPV_TRAP_MISALIGNED: "misaligned",
    c.PTX2SPV_TRAP_DEAD_HANDLE: "dead_handle",
    c.PTX2SPV_TRAP_INSTRUCTION: "instruction",
    c.PTX2SPV_TRAP_ASSERTION: "assertion",
    c.PTX2SPV_TRAP_LOOP_LIMIT: "loop_limit",
    c.PTX2SPV_TRAP_BAD_CALL: "bad_call",
    c.PTX2SPV_TRAP_NO_PROGRESS: "no_progress",
}


class Error(Exception):
    """An error of the library. `details` has all messages, or the whole report of a trap."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(details.rstrip("\n") or message)
        self.message = message
        self.details = details


class InvalidArgument(Error, ValueError):
    """The call itself is wrong."""


class NotFound(Error, LookupError):
    """There is no kernel, variable or surface of that name."""


class NoDevice(Error):
    """No device is usable, or none matches the selection."""


class Unsupported(Error):
    """The device cannot do it."""


class TranslationError(Error):
    """The PTX does not translate; `details` has every message with its line."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory is used up."""


class DeviceLost(Error):
    """The driver gave up; every later call on the device fails the same way."""


class TimedOut(Error, TimeoutError):
    """A launch took longer than the device's `timeout`; every later call on the device fails."""


class InputOutputError(Error, OSError):
    """A file cannot be read or written."""


class InternalError(Error):
    """A fault of ptx2spv; please report it with the module."""


class Trap(Error):
    """A thread faulted: what CUDA reports as an illegal or misaligned address, a failed assertion
    or a `trap` instruction.

    Attributes: `kind` ("out_of_bounds", "misaligned", "dead_handle", "instruction", "assertion",
    "loop_limit", "bad_call", "no_progress"); `kernel`, `function`, `instruction`; `file`, `line`,
    `column` of the PTX; `source_file`, `source_line` of the CUDA source, where the PTX names them, and
    `inlined_at`, the calls that this was inlined through, as pairs of file and line; `block` and
    `thread` (x, y, z), None where `thread_known` is false; `surface`, `handle`, `coordinates`, their
    `coordinate_names`, `extent` (bytes of a row, rows, slices or layers) and `texel_bytes` of a
    surface access; `assertion`, the line that CUDA prints for one; `reason`, of an
    assertion its text and of a faulty handle what is wrong with it;
    `threads`: how many trapped.
    """

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

    def __init__(self, message: str, details: str, report: Any,
                 inlined_at: Iterable[tuple[str, int]] = ()) -> None:
        super().__init__(message, details)
        text = lambda value: value.decode("utf-8", "replace") if value else ""
        self.kind = _KINDS.get(report.kind, "unknown")
        for name in ("kernel", "function", "file", "instruction", "source_file", "surface", "assertion"):
            setattr(self, name, text(getattr(report, name)))
        self.reason = text(report.message)
        self.line, self.column, self.source_line = report.line, report.column, report.source_line
        self.inlined_at = tuple(inlined_at)
        self.thread_known = bool(report.thread_known)
        self.block = tuple(report.block) if self.thread_known else None
        self.thread = tuple(report.thread) if self.thread_known else None
        self.handle, self.extent = report.handle, tuple(report.extent)
        self.texel_bytes = report.texel_bytes
        self.coordinates = tuple(report.coordinates[: report.coordinate_count])
        self.coordinate_names = tuple(map(text, report.coordinate_names[: report.coordinate_count]))
        self.threads = report.trapped_threads


ERRORS = {
    c.PTX2SPV_INVALID_ARGUMENT: InvalidArgument,
    c.PTX2SPV_NOT_FOUND: NotFound,
    c.PTX2SPV_NO_DEVICE: NoDevice,
    c.PTX2SPV_UNSUPPORTED: Unsupported,
    c.PTX2SPV_TRANSLATION: TranslationError,
    c.PTX2SPV_OUT_OF_MEMORY: OutOfMemory,
    c.PTX2SPV_DEVICE_LOST: DeviceLost,
    c.PTX2SPV_IO: InputOutputError,
    c.PTX2SPV_INTERNAL: InternalError,
    c.PTX2SPV_TIMED_OUT: TimedOut,
}
