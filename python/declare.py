"""Writes python/ptx2spv/_declarations.py: what ptx2spv.h declares, for ctypes.

Usage: declare.py HEADER [OUTPUT]; without OUTPUT to standard output. The header keeps to a few
forms (enumerations with numbers, structs of plain members, functions), so that a C parser is not
needed; anything else ends this script with an error.
"""

import re
import sys

TYPES = {
    "uint32_t": "ctypes.c_uint32",
    "int32_t": "ctypes.c_int32",
    "uint64_t": "ctypes.c_uint64",
    "size_t": "ctypes.c_size_t",
    "double": "ctypes.c_double",
    "float": "ctypes.c_float",
    "char": "ctypes.c_char",
    "void": "None",
}


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    lines = re.sub(r"\\\n", " ", text).split("\n")
    return " ".join(line for line in lines if not line.lstrip().startswith("#"))


class Header:
    """The declarations of the header, in its order."""

    def __init__(self, text):
        self.enums, self.structs, self.functions = [], {}, []
        self.opaque = []
        text = without_comments(text).replace('extern "C" {', "")
        position = 0
        pattern = re.compile(
            r"\s*(?:typedef enum (?P<enum>\w+) \{(?P<values>[^}]*)\} \w+;"
            r"|typedef struct (?P<struct>\w+) \{(?P<members>[^}]*)\} \w+;"
            r"|typedef struct (?P<opaque>\w+) \w+;"
            r"|(?P<function>[^;{}]+\([^;{}]*\));|(?P<close>\}))")
        while text[position:].strip():
            found = pattern.match(text, position)
            if not found:
                sys.exit(f"declare.py: cannot read: {text[position:position + 80]!r}")
            position = found.end()
            if found["enum"]:
                self.enums.append((found["enum"], re.findall(r"(\w+)\s*=\s*(\d+)", found["values"])))
            elif found["struct"]:
                self.structs[found["struct"]] = self.members(found["members"])
            elif found["opaque"]:
                self.opaque.append(found["opaque"])
            elif found["function"]:
                self.functions.append(self.function(found["function"]))

    def type(self, text):
        """The ctypes name of a C type."""
        text = text.replace("const", " ")
        stars = text.count("*")
        name = text.replace("*", " ").split()[-1]
        if name in dict(self.enums):
            base = "ctypes.c_uint32"
        elif name in TYPES:
            base = TYPES[name]
        elif name in self.structs:
            base = name
        elif name in self.opaque:
            base, stars = "ctypes.c_void_p", max(stars - 1, 0)
        else:
            sys.exit(f"declare.py: unknown type {text!r}")
        if stars and base == "None":
            base, stars = "ctypes.c_void_p", stars - 1
        elif stars and base == "ctypes.c_char":
            base, stars = "ctypes.c_char_p", stars - 1
        for _ in range(stars):
            base = f"ctypes.POINTER({base})"
        return base

    def members(self, text):
        rows = []
        for member in filter(None, (part.strip() for part in text.split(";"))):
            callback = re.match(r"void \(\*(\w+)\)\((.*)\)$", member)
            if callback:
                # What a callback gets may be text without an end, which c_char_p would read beyond.
                types = [self.type(re.sub(r"\w+$", "", part.strip())).replace("c_char_p", "c_void_p")
                         for part in callback[2].split(",")]
                rows.append((callback[1], f"ctypes.CFUNCTYPE({', '.join(['None'] + types)})"))
                continue
            first, *others = [part.strip() for part in member.split(",")]
            found = re.match(r"(.*?)(\**)(\w+)((?:\[\d+\])?)$", first)
            base = found[1]
            for declarator in [found[2] + found[3] + found[4]] + others:
                stars, name, count = re.match(r"(\**)(\w+)((?:\[\d+\])?)$", declarator).groups()
                kind = self.type(base + stars)
                rows.append((name, f"{kind} * {count[1:-1]}" if count else kind))
        return rows

    def function(self, text):
        found = re.match(r"(.*?)(\w+)\((.*)\)$", " ".join(text.split()))
        parameters = [] if found[3].strip() == "void" else [
            self.type(re.sub(r"\w+$", "", part.strip())) for part in found[3].split(",")]
        return found[2], self.type(found[1]), parameters


def declarations(header):
    lines = ['"""Made by python/declare.py of src/include/ptx2spv/ptx2spv.h."""', "", "import ctypes", ""]
    for name, values in header.enums:
        lines += ["", f"# {name}"] + [f"{value} = {number}" for value, number in values]
    for name, members in header.structs.items():
        lines += ["", "", f"class {name}(ctypes.Structure):", "    _fields_ = ["]
        lines += [f'        ("{member}", {kind}),' for member, kind in members] + ["    ]"]
    lines += ["", "", "#: name: (result, parameters)", "FUNCTIONS = {"]
    for name, result, parameters in header.functions:
        lines.append(f'    "{name}": ({result}, [{", ".join(parameters)}]),')
    return "\n".join(lines + ["}"]) + "\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = declarations(Header(file.read()))
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
