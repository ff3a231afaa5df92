# SPDX-License-Identifier: Apache-2.0
"""The ctypes structs and numbers against the headers, through a C compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np

from support import SOURCES, Case
from thresher import _errors
from thresher._core import abi, library


def numbers() -> dict[str, int]:
    """C expressions, and what they should be."""
    wanted = dict(abi.NUMBERS)
    for members in abi.ENUMS.values():
        wanted.update(members)
    for name, struct in abi.STRUCTS.items():
        wanted[f"sizeof({name})"] = ctypes.sizeof(struct)
        for field, *_ in struct._fields_:
            place = getattr(struct, field)
            wanted[f"offsetof({name}, {field})"] = place.offset
            wanted[f"sizeof((({name} *)0)->{field})"] = place.size
    return wanted


class Version(Case):
    def test_a_library_of_another_minor_version_is_refused_by_name(self) -> None:
        ours = f"{abi.VERSION_MAJOR}.{abi.VERSION_MINOR}"
        for version in (ours + ".0", ours + ".12"):
            library._check_version(SimpleNamespace(thr_version=version.encode), "a.so")
        for version in (f"{abi.VERSION_MAJOR}.{abi.VERSION_MINOR + 1}.0", ours + "0.0", "7.1.0"):
            with self.assertRaisesRegex(ImportError, f"a.so is version {version}, but this package needs {ours}"):
                library._check_version(SimpleNamespace(thr_version=version.encode), "a.so")


class Abi(Case):
    def setUp(self) -> None:
        super().setUp()
        compiler = shutil.which(os.environ.get("CC") or "cc")
        if compiler is None or not os.path.isdir(os.path.join(SOURCES, "include")):
            self.skipTest("no C compiler, or no headers")
        self.compiler = compiler

    def run_c(self, body: str) -> str:
        source, program = self.path("abi.c"), self.path("abi")
        with open(source, "w") as file:
            file.write(f"#include <thresher/thresher.h>\n#include <stdio.h>\nint main(void) {{\n{body}\n}}\n")
        include = os.path.join(SOURCES, "include")
        subprocess.run([self.compiler, "-std=c17", "-I", include, source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout

    def test_reals_are_those_of_the_headers(self) -> None:
        self.assertIn("THR_CELLS_SHORT", abi.REALS)
        printed = self.run_c("".join(f'printf("%.9g\\n", (double){name});\n' for name in abi.REALS))
        self.assertEqual(printed.split(), [f"{value:.9g}" for value in map(np.float32, abi.REALS.values())])

    def test_numbers_and_layouts_are_those_of_the_headers(self) -> None:
        wanted = numbers()
        self.assertGreater(len(wanted), 700)
        got = self.run_c("\n".join(f'printf("%llu\\n", (unsigned long long)({name}));' for name in wanted))
        for (name, number), printed in zip(wanted.items(), got.split()):
            self.assertEqual(int(printed), number % 2**64, name)

    def test_every_status_has_a_class(self) -> None:
        listed = self.run_c('#define SAY(number, name, text) printf("%s %d\\n", #name, number);\nTHR_STATUS_LIST(SAY)')
        statuses = dict(line.split() for line in listed.splitlines())
        self.assertEqual({n: int(v) for n, v in statuses.items() if n != "OK"}, abi.STATUS)
        self.assertEqual(set(_errors._CLASSES), set(abi.STATUS))
