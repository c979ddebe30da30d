#!/usr/bin/env python3
"""Draws input.png, the picture that the filter example smooths: hills at dusk, with grain."""

import math
import struct
import sys
import zlib

WIDTH, HEIGHT = 384, 256


def noise(x, y, seed):
    """A fraction that depends on nothing but its arguments."""
    h = (x * 0x9E3779B1 + y * 0x85EBCA77 + seed * 0xC2B2AE3D) & 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        h = ((h ^ h >> shift) * factor) & 0xFFFFFFFF
    return h / 2**32


def hill(x, base, height, phase):
    return base - height * (math.sin(x / 47 + phase) + 0.5 * math.sin(x / 19 + 2 * phase)) / 1.5


def colour(x, y):
    t = y / HEIGHT
    r, g, b = 250 - 60 * t, 140 + 60 * t, 110 + 10 * t
    sun = math.hypot(x - 262, y - 92)
    if sun < 34:
        r, g, b = 255, 236, 170
    elif sun < 90:
        glow = (90 - sun) / 56
        r, g, b = r + 20 * glow, g + 40 * glow, b + 20 * glow
    for base, height, phase, tint in ((150, 22, 0.4, (122, 92, 120)), (182, 18, 2.1, (70, 84, 98)),
                                      (214, 14, 4.0, (38, 58, 56))):
        if y > hill(x, base, height, phase):
            r, g, b = tint
    if y > 196 and (x * 7 + 31) % 64 < 9 and y < 236 and noise(x // 9, 0, 5) > 0.35:
        r, g, b = 26, 34, 30
    if y > 232 and int(x / 6 + y / 3) % 5 == 0:
        r, g, b = 96, 120, 70
    grain = 26 * (noise(x, y, 1) - 0.5)
    return tuple(min(255, max(0, round(c + grain))) & 0xFC for c in (r, g, b))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main(path):
    rows = b"".join(b"\0" + bytes(c for x in range(WIDTH) for c in colour(x, y))
                    for y in range(HEIGHT))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" +
                   chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "input.png")
