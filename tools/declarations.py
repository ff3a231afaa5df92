#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The functions, structs and numbers of include/thresher/*.h, as the Python package reads them.

declarations          fails if python/thresher/_core/abi.json differs from the headers
declarations --write  writes that file
declarations --names  prints the names of the functions, sorted

The file has six tables. "numbers": name and value of each macro and of each member of an unnamed enum; "reals": those
of macros that are floats. "enums": the
members of each enum. "structs" and "callbacks": fields, and result and arguments, in the words of abi.py. "functions":
what each returns and takes.
"""

import json
import os
import re
import sys
from pathlib import Path
from struct import pack, unpack

TOP = Path(os.environ.get("THR_SOURCE_DIR") or Path(__file__).resolve().parent.parent)
INCLUDE, OUT = TOP / "include", TOP / "python" / "thresher" / "_core" / "abi.json"
NUMBER = re.compile(r"(?:UINT(?:32|64)_C)?\(?(-?\d+)\)?")
REAL = re.compile(r"(0x[\da-f.]+p-?\d+|\d*\.\d+)F")
LIMITS = {"UINT32_MAX": 2**32 - 1, "UINT64_MAX": 2**64 - 1}


def visit(name, seen, texts):
    """The texts of the headers, each after those that it includes."""
    if name not in seen:
        seen.add(name)
        text = (INCLUDE / name).read_text()
        for other in re.findall(r"#include <(thresher/\w+\.h)>", text):
            visit(other, seen, texts)
        texts.append(text.replace("\\\n", " "))
    return texts


def camel(name):
    return "".join(word.capitalize() for word in name.removeprefix("thr_").split("_"))


class Headers:
    def __init__(self, text):
        self.numbers, self.reals, self.enums = {}, {}, {}
        self.structs, self.callbacks, self.functions = {}, {}, {}
        for name, value in re.findall(r"^#define (THR_\w+) +(\S+)", text, re.M):
            if value in LIMITS or NUMBER.fullmatch(value):
                self.numbers[name] = LIMITS.get(value) or int(NUMBER.fullmatch(value)[1])
            elif real := REAL.fullmatch(value):
                value = float.fromhex(real[1]) if "x" in real[1] else float(real[1])
                self.reals[name] = unpack("f", pack("f", value))[0]
        self.enums["thr_status"] = {f"THR_{name}": int(i) for i, name in re.findall(r"\bX\((-?\d+), (\w+),", text)}
        text = re.sub(r"^#.*", "", text, flags=re.M)
        for body, name in re.findall(r"enum(?: \w+)? \{([^}]*)\} ?(\w*);", text):
            if name != "thr_status":
                members = self.enums.setdefault(name, {}) if name else self.numbers
                members.update((n, int(i)) for n, i in re.findall(r"(\w+) = (\d+)", body))
        at = re.compile(r"typedef struct \w+ \{(.*?)\n\} (\w+);|typedef ([\w\s]+?\**)\(\*(\w+)_fn\)\(([^)]*)\);", re.S)
        for body, struct, result, callback, arguments in at.findall(text):
            if struct:
                self.structs[struct] = "; ".join(self.fields(struct, body))
            else:
                self.callbacks[camel(callback) + "Fn"] = self.signature(result, arguments, called=True)
        for result, name, arguments in re.findall(r"^THR_API ([\w\s]+?\**)(thr_\w+)\(([^;]*)\);", text, re.M):
            self.functions[name] = self.signature(result, arguments)

    def kind(self, words, called=False):
        """Pointers are void*, except to texts, and to structs that a callback receives."""
        name = re.sub(r"\bconst\b|[*]", " ", words).split()[0]
        if "*" in words or "[" in words:
            if words.replace("*", " * ").split() == ["const", "char", "*"]:
                return "char*"
            return camel(name) + "*" if called and name in self.structs and name != "thr_error" else "void*"
        if name in self.structs:
            return camel(name)
        if name.endswith("_fn"):
            return camel(name[:-3]) + "Fn"
        return "int" if name in self.enums else name.removesuffix("_t") if name != "size_t" else name

    def signature(self, result, arguments, called=False):
        """Result and arguments; the last word of an argument is its name."""
        given = [] if arguments.strip() == "void" else arguments.split(",")
        kinds = (self.kind(re.sub(r"\w+(\[\w+\])?$", r"\1", one.strip()), called) for one in given)
        return " ".join([self.kind(result), *kinds])

    def fields(self, struct, body):
        """A text with a length beside it is void*: it may have no NUL."""
        for declaration in filter(None, map(str.strip, body.split(";"))):
            function = re.fullmatch(r"([\w\s]+?\**)\(\*(\w+)\)\((.*)\)", declaration, re.S)
            if function:
                name = camel(struct) + camel(function[2])
                self.callbacks[name] = self.signature(function[1], function[3], called=True)
                yield f"{name} {function[2]}"
                continue
            first, *others = map(str.strip, declaration.split(","))
            words, first = re.fullmatch(r"(.*?)(\w+(?:\[\w+\])?)", first, re.S).groups()
            for one in (first, *(other.lstrip("* ") for other in others)):
                name, _, length = one.partition("[")
                kind = "void*" if " length;" in body and "*" in words else self.kind(words)
                yield f"{kind}{'[' + length if length else ''} {name}"


def main():
    text = "\n".join(visit("thresher/thresher.h", set(), []))
    headers = Headers(re.sub(r"/\*.*?\*/", " ", text, flags=re.S))
    made = json.dumps(vars(headers), indent=1) + "\n"
    if sys.argv[1:] == ["--names"]:
        print(*sorted(headers.functions), sep="\n")
    elif sys.argv[1:] == ["--write"]:
        OUT.write_text(made)
    elif not OUT.exists() or OUT.read_text() != made:
        sys.exit(f"{OUT.relative_to(TOP)} differs from the headers (tools/check-exports --write)")


main()
