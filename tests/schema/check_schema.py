"""Holds tools/ptxrun/manifest.schema.json against what ptxrun takes.

Usage: check_schema.py CASE SOURCE PTXRUN, with CASE one of fields, examples, drafts, refusals.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema

SURFACE = {"geometry": "2d", "format": "u8", "channels": 4, "width": 8, "height": 8}
GOOD = {
    "module": "k.ptx",
    "surfaces": {"s": dict(SURFACE, init={"zero": True})},
    "textures": {"t": {"resource": "s", "address": ["wrap", "clamp"], "filter": "linear"}},
    "samplers": {"p": {"filter": "point"}},
    "buffers": {"b": {"bytes": 64, "init": {"u32": "0xff"}}},
    "globals": {"g": {"f32": 1.5}},
    "launches": [{"kernel": "k", "grid": [1, 1], "block": 8,
                  "args": [{"surface": "s"}, {"buffer": "b", "offset": 8}, {"u32": 1}, {"f32": "nan"}]}],
    "outputs": [{"surface": "s", "png": "s.png"}, {"buffer": "b", "npy": "b.npy", "dtype": "u32"}],
}
PTX = """.version 8.0
.target sm_75
.address_size 64
.global .f32 g;
.visible .entry k(.param .u64 s, .param .u64 b, .param .u32 n, .param .f32 x) { ret; }
"""
# Where an unknown field goes, and the definition that lists the known ones.
PLACES = {
    (): (),
    ("surfaces", "s"): ("$defs", "surface"),
    ("textures", "t"): ("$defs", "texture"),
    ("samplers", "p"): ("$defs", "sampler"),
    ("buffers", "b"): ("$defs", "buffer"),
    ("launches", 0): ("$defs", "launch"),
    ("outputs", 0): ("$defs", "output"),
}
# What both have to refuse: the place and the value that stands there.
REFUSED = [
    (("module",), 3),
    (("module",), []),
    (("launches",), []),
    (("launches", 0, "grid"), [1, 1, 1, 1]),
    (("launches", 0, "grid"), 0),
    (("launches", 0, "args", 0), {}),
    (("launches", 0, "args", 0), {"surface": "s", "buffer": "b"}),
    (("launches", 0, "args", 2), {"u24": 1}),
    (("launches", 0, "repeat"), -1),
    (("surfaces", "s", "geometry"), "4d"),
    (("surfaces", "s", "format"), "u9"),
    (("surfaces", "s", "channels"), 3),
    (("surfaces", "s", "width"), 0),
    (("surfaces", "s", "width"), 8.5),
    (("surfaces", "s", "backing"), "paper"),
    (("surfaces", "s", "init"), {"noise": 1}),
    (("surfaces", "s", "init"), {"zero": False}),
    (("surfaces", "s", "init"), {"zero": True, "pattern": 1}),
    (("textures", "t", "filter"), "cubic"),
    (("textures", "t", "address"), ["wrap", "fold"]),
    (("textures", "t", "normalized"), 1),
    (("buffers", "b", "bytes"), 0),
    (("outputs", 0), {"png": "s.png"}),
    (("outputs", 0), {"surface": "s", "buffer": "b"}),
    (("outputs", 0, "range"), [1]),
    (("outputs", 0, "sha256"), "abc"),
    (("outputs", 0, "tolerance"), {"ulp": 1}),
    (("outputs", 1, "dtype"), "u33"),
]


def changed(path, value):
    document = copy.deepcopy(GOOD)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return document


def check(ptxrun, document):
    """What ptxrun --check says of a document: its exit code and messages."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "k.ptx").write_text(PTX)
        file = pathlib.Path(folder) / "m.json"
        file.write_text(json.dumps(document))
        result = subprocess.run([ptxrun, "--check", str(file)], capture_output=True, text=True)
        return result.returncode, result.stderr


def fields(schema, ptxrun, _):
    exit_code, messages = check(ptxrun, GOOD)
    assert exit_code == 0, messages
    for path, definition in PLACES.items():
        document = changed(path + ("no_such_field",), 1)
        _, messages = check(ptxrun, document)
        known = set(re.search(r"there are (.*)", messages).group(1).split(", "))
        if path == ("textures", "t"):  # of memory it has others
            other = changed(("textures", "t"), {"buffer": "b", "format": "u8", "channels": 1, "width": 4,
                                                "no_such_field": 1})
            known |= set(re.search(r"there are (.*)", check(ptxrun, other)[1]).group(1).split(", "))
        listed = schema
        for step in definition:
            listed = listed[step]
        assert known == set(listed["properties"]), (path, known ^ set(listed["properties"]))


def examples(validator, _, source):
    manifests = sorted(pathlib.Path(source).glob("examples/*/*.json"))
    assert len(manifests) >= 4
    for file in manifests:
        validator.validate(json.loads(file.read_text()))


def drafts(validator, ptxrun, source):
    modules = sorted(pathlib.Path(source).glob("examples/*/*.ptx"))
    assert len(modules) >= 4
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            subprocess.run([ptxrun, "--init", str(module), "-o", folder, "-q"], check=True)
            validator.validate(json.loads((pathlib.Path(folder) / (module.stem + ".json")).read_text()))


def refusals(validator, ptxrun, _):
    validator.validate(GOOD)
    for path, value in REFUSED:
        document = changed(path, value)
        assert not validator.is_valid(document), (path, value)
        exit_code, messages = check(ptxrun, document)
        assert exit_code == 2, (path, value, messages)


def main():
    case, source, ptxrun = sys.argv[1:]
    schema = json.loads((pathlib.Path(source) / "tools/ptxrun/manifest.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    if case == "fields":
        fields(schema, ptxrun, source)
    else:
        {"examples": examples, "drafts": drafts, "refusals": refusals}[case](validator, ptxrun, source)


main()
