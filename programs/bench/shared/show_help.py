# SPDX-License-Identifier: Apache-2.0
"""show_help.py SCRIPT: the help of a bench, without the modules that its measurements need."""

from __future__ import annotations

import runpy
import sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock


class Absent:
    """The last finder: modules that are not installed are empty stand-ins, as parsing the options calls none."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> ModuleSpec:
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, _spec: ModuleSpec) -> MagicMock:
        return MagicMock()

    def exec_module(self, _module: MagicMock) -> None:
        pass


sys.meta_path.append(Absent())  # type: ignore[arg-type]
sys.argv = [sys.argv[1], "--help"]
runpy.run_path(sys.argv[0], run_name="__main__")
