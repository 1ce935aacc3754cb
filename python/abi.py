#!/usr/bin/env python3
"""roller.h as Python: structs, enums and functions for ctypes.

    abi.py HEADER >_abi.py

The header is the one home of the layout; what is printed here is never edited.  It knows as much C
as the header uses: structs of scalars, arrays, pointers and function pointers, enums, prototypes.
"""
import os
import re
import sys

SCALARS = {
    "int": "c_int", "int32_t": "c_int32", "int64_t": "c_int64", "uint8_t": "c_uint8",
    "uint16_t": "c_uint16", "uint32_t": "c_uint32", "uint64_t": "c_uint64", "size_t": "c_size_t",
    "double": "c_double", "bool": "c_bool",
}


def read(path):
    """The header with what it includes of roller's own, without comments."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
    root = os.path.join(os.path.dirname(path), "")

    def include(match):
        file = os.path.normpath(root + match[1])
        if not os.path.exists(file):
            file = os.path.normpath(os.path.join(root, "..", match[1]))
        if file in seen:
            return ""
        seen.add(file)
        return read(file)

    return re.sub(r'^#include "([^"]*)"$', include, text, flags=re.M)


seen = set()


def constants(text):
    """Enums, as (type or None, [(name, value)]), and numbers that are defined."""
    for body, name in re.findall(r"(?:typedef\s+)?enum\s*\{([^}]*)\}\s*(\w*)\s*;", text):
        value, members = -1, []
        for item in filter(None, (i.strip() for i in body.split(","))):
            key, _, given = (part.strip() for part in item.partition("="))
            value = int(given, 0) if given else value + 1
            members.append((key, value))
        yield name or None, members


class Header:
    def __init__(self, path):
        self.text = read(path)
        self.enums = list(constants(self.text))
        self.numbers = {k: v for _, members in self.enums for k, v in members}
        self.enum_names = {name for name, _ in self.enums if name}
        self.structs = {}
        self.flat = re.sub(r"^\s*#.*$", "", self.text, flags=re.M)
        for body, name in re.findall(r"typedef\s+struct\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*(\w+)\s*;",
                                     self.flat):
            self.structs[name] = self.fields(name, body)

    def kind(self, base, pointer):
        base = re.sub(r"\b(const|volatile|struct|enum)\b", " ", base)
        base = " ".join(base.split())
        if pointer:
            return "c_char_p" if base == "char" and pointer == 1 else "c_void_p"
        if base in self.enum_names:
            return "c_int"
        if base in self.structs:
            return base
        return "None" if base == "void" else SCALARS[base]

    def fields(self, struct, body):
        """(name, type as text) of each field, in order; a nested struct becomes one of its own."""
        out = []

        def nested(match):
            name = f"{struct}_{match[2]}"
            self.structs[name] = self.fields(name, match[1])
            return f"{name} {match[2]};"

        body = re.sub(r"struct\s*\{([^{}]*)\}\s*(\w+)\s*;", nested, body)
        for declaration in filter(None, (d.strip() for d in body.split(";"))):
            function = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
            if function:
                out.append((function[1], "c_void_p"))
                continue
            first, *more = declaration.split(",")
            base, name = re.fullmatch(r"(.*?[\s*])(\w+\s*(?:\[\w+\])*)", first.strip(),
                                      flags=re.S).groups()
            stars = base.count("*")
            for item in [("*" * stars) + name] + more:
                name, *sizes = re.findall(r"\w+", item)
                kind = self.kind(base.replace("*", " "), item.count("*"))
                for size in sizes:
                    kind = f"{kind} * {self.numbers.get(size, size)}"
                out.append((name, kind))
        return out

    def functions(self):
        for result, name, args in re.findall(
                r"ROLLER_API\s+([\w\s*]+?)\s*\b(roller_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;",
                self.flat):
            kinds = []
            depth, item = 0, ""
            for c in args + ",":
                depth += (c == "(") - (c == ")")
                if c != "," or depth:
                    item += c
                    continue
                item, text = "", item.strip()
                if text == "void":
                    continue
                if "(" in text:
                    kinds.append("c_void_p")
                    continue
                base = re.sub(r"\w+$", "", text)
                kinds.append(self.kind(base.replace("*", " "), base.count("*")))
            yield name, self.kind(result.replace("*", " "), result.count("*")), kinds


def main():
    header = Header(sys.argv[1])
    version, number = (re.search(rf"#define {name} (\S+)", header.text)[1]
                       for name in ("ROLLER_VERSION", "ROLLER_VERSION_HEX"))
    print('"""roller.h for ctypes; made by abi.py."""')
    print("from ctypes import (Structure, c_bool, c_char_p, c_double, c_int, c_int32, c_int64, "
          "c_size_t,\n                    c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)\n")
    print(f"VERSION = {version}\nVERSION_HEX = {number}")
    for name, members in header.enums:
        print()
        for key, value in members:
            print(f"{key} = {value}")
    statuses = next(members for name, members in header.enums if name == "RollerStatus")
    print(f"\nSTATUS = {[key.replace('ROLLER_', '', 1) for key, _ in statuses]!r}")
    for name, fields in header.structs.items():
        print(f"\n\nclass {name}(Structure):\n    _fields_ = [")
        for field, kind in fields:
            print(f"        ({field!r}, {kind}),")
        print("    ]")
    print("\n\nFUNCTIONS = {")
    for name, result, kinds in header.functions():
        print(f"    {name!r}: ({result}, [{', '.join(kinds)}]),")
    print("}")


if __name__ == "__main__":
    main()
