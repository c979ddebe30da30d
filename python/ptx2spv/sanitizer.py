"""What the sanitizer finds, as objects (docs/user/sanitizer.md)."""

from __future__ import annotations

import dataclasses
import json
from typing import Any


@dataclasses.dataclass(frozen=True)
class Finding:
    """A place in a kernel and what it did wrong, with one of the threads that did it.

    `kind`: "out-of-bounds", "racing", "uninitialised" and so on. `access` and `bytes`: load, store or
    atomic, and its size. `space`, `memory`: what the instruction names, and what it reached. `file`,
    `line`, `column` of the PTX; `source_file`, `source_line` of the CUDA source, `inlined_at` the
    calls that this was inlined through, as pairs of file and line. `threads`: how many did it.
    `object`: the nearest allocation or variable, `distance` bytes from its end, negative before its
    start, or with `inside` from its start. `address` is None where it is not known. `coordinates` are
    those of surface memory, `other` the second access of a race or the other place of a divergent
    barrier, `detail` what was found of synchronisation.
    """

    kind: str
    access: str
    bytes: int
    space: str
    memory: str
    kernel: str
    file: str
    line: int
    column: int
    instruction: str
    source_file: str
    source_line: int
    inlined_at: tuple[tuple[str, int], ...]
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    threads: int
    address: int | None
    object: str
    object_bytes: int
    distance: int
    inside: bool
    pointer: str
    allocated: str
    freed: str
    detail: str = ""
    coordinates: dict[str, int] | None = None
    other: dict[str, Any] | None = None

    def __str__(self):
        what = self.detail or f"{self.access} of {self.bytes} bytes in {self.memory} memory"
        near = f", nearest to {self.object}" if self.object else ""
        return (f"{self.file}:{self.line}:{self.column}: {self.kind} {what}{near}, by kernel "
                f"{self.kernel}, block {self.block}, thread {self.thread}, {self.threads} threads")


@dataclasses.dataclass(frozen=True)
class SanitizerReport:
    """What was found on a device: `findings`, in their order, how many more places there were, and
    how many findings a list covered."""

    findings: tuple[Finding, ...]
    places_left_out: int
    suppressed: int = 0


def report_of(text: str) -> SanitizerReport:
    """The report in the library's JSON."""
    data = json.loads(text)
    findings = []
    for each in data["findings"]:
        each["inlined_at"] = tuple((place["file"], place["line"]) for place in each["inlined_at"])
        each["block"], each["thread"] = tuple(each["block"]), tuple(each["thread"])
        findings.append(Finding(**each))
    return SanitizerReport(tuple(findings), data["places_left_out"], data["suppressed"])
