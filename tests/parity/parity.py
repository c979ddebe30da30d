"""Compares tests/parity/counterparts.txt with the headers, and writes c-interface.md.

Usage: parity.py check|page|list ROOT

A member of the C++ headers has the C name that follows from its own: Class::member is
ptx2spv_class.member, ptx2spv_class_member or PTX2SPV_CLASS_MEMBER. The table has the others:

  Class -> prefix                  the prefix of a class, instead of ptx2spv_class
  Class::member = C name, C name   Class::* stands for all members without a line of their own
  Class::member ! reason           C has none

A C name is a function, an enumerator, or `struct.field` of ptx2spv.h, vulkan.h or gl.h. A member
without a C name, a line without a member, a line that says what follows anyway, and a C name that
does not exist end the check with an error.
"""

import pathlib
import re
import sys

CPP = {
    "src/include/ptx2spv/runtime.hpp": "The runtime (`runtime.hpp`)",
    "src/include/ptx2spv/result.hpp": "Errors and traps (`result.hpp`)",
    "src/include/ptx2spv/vulkan.hpp": "An application's own Vulkan (`vulkan.hpp`)",
    "src/include/ptx2spv/gl.hpp": "An application's own OpenGL (`gl.hpp`)",
    "translator/include/ptx2spv/translator.hpp": "The translator (`translator.hpp`)",
}
C = ["src/include/ptx2spv/ptx2spv.h", "src/include/ptx2spv/vulkan.h", "src/include/ptx2spv/gl.h"]
TABLE = "tests/parity/counterparts.txt"
HEAD = """\
# The C interface beside the C++ one

`<ptx2spv/ptx2spv.h>` is the runtime and the translator for C and for bindings of other languages.
`<ptx2spv/gl.h>` and `<ptx2spv/vulkan.h>` add what an application shares with its own OpenGL and
Vulkan; the latter includes Vulkan's
headers (Debian: `libvulkan-dev`). [runtime.md](../user/runtime.md#from-c) shows a first program.

The table lists each public part of the C++ headers with its counterpart in C. Three rules apply
everywhere:

- A `Result` or `Status` is a `ptx2spv_status`; `ptx2spv_last_error` has the text.
- An object is a typed handle with a `_destroy` function. Where C++ overloads a constructor, C has a
  function for each.
- A description (`Interface`, `EntryInfo` and their parts) is JSON, as in
  [interface.md](interface.md).
"""
#: What the interface describes as JSON (docs/reference/interface.md), in both languages.
DESCRIBED = {"ParamInfo", "SlotInfo", "RefInfo", "SourcePlace", "TrapSite", "AccessSite",
             "VariableInfo", "Relocation", "PushParam", "EntryInfo", "EntryTextures",
             "EntrySync", "EntryWaits", "EntrySanitizer", "StaticSurfref",
             "StaticTexref", "Interface"}
#: Forms that C has otherwise: results are statuses, objects are handles.
LANGUAGE = {"Result", "Status"}


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", " ", text, flags=re.M)


def statements(text):
    """Splits a scope into (head, body): `head;` has no body, `head { body }` has one."""
    head, depth, start, position = "", 0, 0, 0
    while position < len(text):
        char = text[position]
        if char == "{":
            if depth == 0:
                start = position + 1
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                body = text[start:position]
                following = text[position + 1:].lstrip()
                initialiser = re.match(r"[;,]", following) and not re.match(
                    r"\s*(?:template\s*<[^>]*>\s*)?(?:class|struct|enum|namespace)\b", head)
                if initialiser:
                    head += " "
                else:
                    yield head.strip(), body
                    head = ""
                    if following.startswith(";"):
                        position = text.index(";", position + 1)
        elif depth == 0:
            if char == ";":
                yield head.strip(), None
                head = ""
            elif char == ":" and re.fullmatch(r"\s*(public|private)", head):
                yield head.strip() + ":", None
                head = ""
            else:
                head += char
        position += 1


def declared(head):
    """The names that a declaration makes: of a function one, of fields each."""
    head = re.sub(r"\[\[\w+\]\]", " ", head)
    head = re.sub(r"\b(?:inline|constexpr|static|explicit|friend|const)\b", " ", head)
    call = re.search(r"([~\w]+)\s*\(", re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", " ", head))
    if call and "=" not in head.split("(")[0]:
        return [call[1]]
    plain = re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", " ", head)
    plain = re.sub(r"=[^,]*(?:\([^)]*\))?[^,]*", " ", plain)
    names = []
    for part in plain.split(","):
        found = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", "", part))
        if found:
            names.append(found[-1])
    return names


def members(text, scope=""):
    """Each public name as Class::member; namespaces are left out but for vulkan."""
    public = True
    for head, body in statements(text):
        if head in ("public:", "private:"):
            public = head == "public:"
            continue
        if not public or not head or re.match(r"(using|template|extern)\b", head):
            continue
        namespace = re.match(r"namespace\s+([\w:]*)$", head)
        if namespace:
            inner = namespace[1]
            if not inner.endswith("runtime"):
                yield from members(body, "vulkan::" if inner.endswith("vulkan") else scope)
            continue
        kind = re.match(r"(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)", head)
        enum = re.match(r"enum\s+(?:class\s+)?(\w+)", head)
        if enum and body is not None:
            for value in re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body):
                yield f"{scope}{enum[1]}::{value}"
        elif kind and body is not None:
            if kind[1] in DESCRIBED | LANGUAGE:
                continue
            yield from members(body, f"{scope}{kind[1]}::")
        elif kind or enum or "operator" in head or "= default" in head:
            continue
        else:
            own = scope.rstrip(":").split("::")[-1]
            for name in declared(head):
                if name not in (own, "~" + own, "state", "state_"):
                    yield scope + name


def c_names(root):
    names = set()
    for file in C:
        text = without_comments((root / file).read_text(encoding="utf-8"))
        for name, body in re.findall(r"typedef struct (\w+) \{([^}]*)\}", text):
            for field in re.findall(r"\(\*(\w+)\)|(\w+)(?:\[\d+\])?\s*(?=[,;])", body):
                names.add(f"{name}.{field[0] or field[1]}")
        for body in re.findall(r"typedef enum \w+ \{([^}]*)\}", text):
            names.update(re.findall(r"(\w+)\s*=", body))
        names.update(re.findall(r"(ptx2spv_\w+)\s*\(", text))
    return names


def read_table(root):
    rows, prefixes = {}, {}
    for number, line in enumerate((root / TABLE).read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        found = re.match(r"(\S+) (=|!|->) (.+)$", line)
        if not found or found[1] in rows or found[1] in prefixes:
            sys.exit(f"{TABLE}:{number}: error: not a row, or a second one: {line}")
        if found[2] == "->":
            prefixes[found[1]] = found[3]
        else:
            rows[found[1]] = (found[2], found[3])
    return rows, prefixes


def by_name(name, prefixes, known):
    """The C name that follows from a member's own, or None."""
    owner, _, member = name.rpartition("::")
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", owner.removeprefix("vulkan::")).lower()
    prefix = prefixes.get(owner, "ptx2spv_" + snake.replace("::", "_") if owner else "ptx2spv")
    for each in (f"{prefix}.{member}", f"{prefix}_{member}", f"{prefix}_{member}".upper()):
        if each in known:
            return each
    return None


def counterparts(names, rows, prefixes, known):
    """The row of each member, written or by its name, and what is wrong with the table."""
    full, errors, used = {}, [], set()
    for name in names:
        row = next((each for each in (name, name.rpartition("::")[0] + "::*") if each in rows), None)
        follows = by_name(name, prefixes, known)
        if row == name and rows[name] == ("=", follows):
            errors.append(f"{name} needs no row in {TABLE}: its C name follows from its own")
        if row != name and follows:
            row = None
        if row:
            used.add(row)
        elif not follows:
            errors.append(f"{name} has no row in {TABLE}")
        full[name] = rows[row] if row else ("=", follows or "")
    errors += [f"{TABLE} has a row for {name}, and no header has that" for name in rows
               if name not in used]
    errors += [f"{TABLE} has a prefix for {name}, and no header has that" for name in prefixes
               if not any(each.startswith(name + "::") for each in names)]
    for name, (sign, text) in rows.items():
        if sign == "=":
            errors += [f"{name}: the C headers have no {each.strip()}" for each in text.split(",")
                       if each.strip() not in known]
    return full, errors


def page(parts, rows):
    lines = []
    for file, names in parts.items():
        lines += [f"## {CPP[file]}", "", "| C++ | C |", "|---|---|"]
        for name in names:
            sign, text = rows[name]
            other = ", ".join(f"`{each.strip()}`" for each in text.split(",")) if sign == "=" else (
                "none: " + text)
            lines.append(f"| `{name}` | {other} |")
        lines.append("")
    return "\n".join(lines)


def main():
    what, root = sys.argv[1], pathlib.Path(sys.argv[2])
    parts = {file: list(dict.fromkeys(
        members(without_comments((root / file).read_text(encoding="utf-8"))))) for file in CPP}
    names = [name for part in parts.values() for name in part]
    if what == "list":
        print("\n".join(names))
        return
    (written, prefixes), known = read_table(root), c_names(root)
    rows, errors = counterparts(names, written, prefixes, known)
    if errors:
        sys.exit("\n".join(errors))
    if what == "page":
        print(HEAD + "\n" + page(parts, rows), end="")


if __name__ == "__main__":
    main()
