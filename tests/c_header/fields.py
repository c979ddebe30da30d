"""Prints of a module's JSON what fields.c prints of its header. Usage: fields.py JSON SPIRV"""

import json
import struct
import sys

module = json.load(open(sys.argv[1], encoding="utf-8"))
spirv = open(sys.argv[2], "rb").read()
print(f"words {len(spirv) // 4}, magic {struct.unpack_from('<I', spirv)[0]:08x}")
for kernel in module["entries"]:
    print("kernel", kernel["name"], sum(1 << bit for bit in kernel["bindings"])
          if isinstance(kernel["bindings"], list) else kernel["bindings"], kernel["param_bytes"],
          kernel["param_buffer_bytes"], kernel["slot_records"], kernel["push_words"])
    for slot in kernel["slots"]:
        print("slot", slot["name"], slot["offset"])
    for site in kernel["trap_sites"][1:]:
        print("site", site["line"], site["column"], site["text"])
for variable in module["variables"]:
    print("variable", variable["name"], variable["offset"], variable["bytes"])
constants = bytes.fromhex(module["constants_image"])
print("constants", len(constants), sum(byte * (i + 1) for i, byte in enumerate(constants)))
for each in module["relocations"]:
    kind = "constant" if each["kind"] == "const" else each["kind"]
    print("relocation", kind, each["at"] if "at" in each else each["offset"], each["symbol"])
