"""Makes a wheel of the Python package out of a build.

Usage: make_wheel.py PACKAGE FOLDER [SWIFTSHADER]

PACKAGE is the build's python/ptx2spv; the wheel lands in FOLDER, and its name is printed. SWIFTSHADER
is a folder with libvk_swiftshader.so, which is put beside the package with its licences, so that the
wheel runs where no Vulkan driver is installed. Without a file of licences it is left out, since
nobody may pass it on then. The libraries that ptx2spv's own needs from Debian's packages come with
their licences, too, so that the wheel runs on other systems whose C library is as new.
"""

import base64
import ctypes
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = "libptx2spv.so"
PROBE = "ptx2spv/ptx2spv-probe"
# What every system has under these names (PEP 600).
COMMON = re.compile(r"(libc|libm|libdl|libpthread|libgcc_s|libstdc\+\+|libz|ld-linux\S*)\.so")
LICENCES = ("LICENSE", "LICENSE.swiftshader", "copyright")


def version_of(library):
    handle = ctypes.CDLL(str(library))
    handle.ptx2spv_version_text.restype = ctypes.c_char_p
    return handle.ptx2spv_version_text().decode()


def dependencies(library):
    """Pairs of a name in the wheel and the bytes of a library that `library` needs, or its licence."""
    listed = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    for name, path in sorted(re.findall(r"(\S+) => (/\S+)", listed)):
        if COMMON.match(name):
            continue
        yield f"ptx2spv/{name}", pathlib.Path(path).read_bytes()
        # dpkg may know the file by the name it had before /lib became a link to /usr/lib.
        owners = [subprocess.run(["dpkg", "-S", known], capture_output=True, text=True).stdout
                  for known in (path, os.path.realpath(path), path.removeprefix("/usr"))]
        package = next((owner.split(":")[0] for owner in owners if owner), None)
        if not package:
            sys.exit(f"make_wheel.py: no Debian package owns {path}, whose licence the wheel needs")
        licence = pathlib.Path("/usr/share/doc", package, "copyright")
        yield f"ptx2spv/{name}-copyright", licence.read_bytes()


def stripped(program):
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "--strip-unneeded", "-o", copy.name, program], check=True)
        return pathlib.Path(copy.name).read_bytes()


def files(package, swiftshader):
    """Pairs of a name in the wheel and its bytes."""
    for file in sorted([*package.glob("*.py"), package / "py.typed"]):
        yield f"ptx2spv/{file.name}", file.read_bytes()
    yield f"ptx2spv/{LIBRARY}", stripped(package / LIBRARY)
    yield from dependencies(package / LIBRARY)
    probe = package.resolve().parent.parent / "tools" / "ptx2spv-probe"
    if probe.exists():
        yield PROBE, stripped(probe)
    else:
        print(f"make_wheel.py: the wheel asks no unknown devices: there is no {probe}",
              file=sys.stderr)
    licences = [swiftshader / name for name in LICENCES if (swiftshader / name).exists()] \
        if swiftshader else []
    if licences:
        yield "ptx2spv/libvk_swiftshader.so", (swiftshader / "libvk_swiftshader.so").read_bytes()
    elif swiftshader:
        print(f"make_wheel.py: SwiftShader is left out: {swiftshader} has no licence beside it "
              f"(tools/fetch_swiftshader {swiftshader} fetches both)", file=sys.stderr)
    for licence in licences:
        yield f"ptx2spv/swiftshader-{licence.name}", licence.read_bytes()


def main():
    package, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    swiftshader = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    version = version_of(package.resolve() / LIBRARY)
    c_library = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    platform = f"manylinux_{c_library}_{os.uname().machine}"
    tag = f"py3-none-{platform}"
    info = f"ptx2spv-{version}.dist-info"
    readme = (ROOT / "docs" / "user" / "notebook.md").read_text(encoding="utf-8")
    metadata = (f"Metadata-Version: 2.1\nName: ptx2spv\nVersion: {version}\n"
                "Summary: NVIDIA PTX kernels with surfaces on any Vulkan device\n"
                "License: Apache-2.0\nLicense-File: LICENSE\n"
                "Requires-Python: >=3.9\nProvides-Extra: numpy\n"
                "Requires-Dist: numpy; extra == 'numpy'\n"
                f"Description-Content-Type: text/markdown\n\n{readme}")
    wheel = f"Wheel-Version: 1.0\nGenerator: ptx2spv\nRoot-Is-Purelib: false\nTag: {tag}\n"
    contents = list(files(package, swiftshader))
    contents += [(f"{info}/METADATA", metadata.encode()), (f"{info}/WHEEL", wheel.encode()),
                 (f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())]
    record = ""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"ptx2spv-{version}-{tag}.whl"
    part = path.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents:
            # A fixed date: equal contents make equal wheels.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if name == PROBE else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)),
                         record + f"{info}/RECORD,,\n")
    part.rename(path)
    print(path)


main()
