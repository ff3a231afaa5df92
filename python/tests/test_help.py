# SPDX-License-Identifier: Apache-2.0
"""help() of a call names all its options, also those that it shares with other calls."""

from __future__ import annotations

import importlib
import inspect
import re
import unittest
from typing import Any

import thresher
from thresher import _head, _search, _train, shards
from thresher.shards import _build


def public_modules() -> list[Any]:
    """The package, and those of its modules that can be imported here."""
    found = [thresher, shards]
    for name in ("dask", "spark"):
        try:
            found.append(importlib.import_module(f"thresher.{name}"))
        except ImportError as missing:
            print(f"not checked: {missing}")
    return found


def public_functions(module: Any) -> dict[str, Any]:
    """Functions and methods by their names, those of properties too."""
    found = {}
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isfunction(thing):
            found[name] = thing
        for key, member in vars(thing).items() if inspect.isclass(thing) else ():
            member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(member) and not key.startswith("_") and member.__module__.startswith("thresher"):
                found[f"{name}.{key}"] = member
    return found


class Help(unittest.TestCase):
    def test_dir_shows_the_public_names_and_no_others(self) -> None:
        for module in public_modules():
            modules = {name for name in dir(module) if inspect.ismodule(getattr(module, name))}
            shown = {name for name in dir(module) if not name.startswith("_")} - (modules - set(module.__all__))
            self.assertEqual(shown, set(module.__all__), module.__name__)
        for name in ("Any", "TYPE_CHECKING", "annotations", "importlib", "lib"):
            self.assertFalse(hasattr(thresher, name), name)

    def test_every_public_function_has_a_text_and_the_type_of_its_result(self) -> None:
        for module in public_modules():
            for name, function in public_functions(module).items():
                if name.endswith((".handle", ".get_metadata_routing")):
                    continue  # used by other modules of the package, and by scikit-learn
                self.assertTrue(inspect.getdoc(getattr(module, name.partition(".")[0])), name)
                self.assertNotIn(inspect.signature(function).return_annotation, (inspect.Signature.empty, "Any"), name)

    def test_all_options_are_named(self) -> None:
        calls: list[tuple[Any, Any]] = [
            (thresher.Head.measure, _head.Screening),
            (thresher.Tower.train_vectors, _train.Training),
            (thresher.beam_search, _head.Screening),
            (shards.Shards.search, _search.Effort),
            (shards.search_shard_radius, _search.RadiusOptions),
        ]
        for name in ("dask", "spark"):
            try:
                calls.append((importlib.import_module(f"thresher.{name}").build, _build.BuildOptions))
            except ImportError as missing:
                print(f"not checked: {missing}")
        for call, options in calls:
            words = set(re.findall(r"\w+", inspect.getdoc(call) or ""))
            missing = set(options.__annotations__) - words
            self.assertEqual(missing, set(), call.__qualname__)
