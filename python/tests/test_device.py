# SPDX-License-Identifier: Apache-2.0
"""device=: which words are right, where there is no GPU, where GPUs are broken, and with those of this machine."""

from __future__ import annotations

import dataclasses
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np

import thresher
from support import SOURCES, Case, random_vectors
from thresher import Index
from thresher._core import context

DIMS = 24


def usable() -> bool:
    """Can this machine's first GPU, if there is one, be used?"""
    try:
        context.shared_context(1, "cuda:0")
    except (thresher.DeviceError, thresher.ArgumentError):
        return False
    return True


class Words(Case):
    def setUp(self) -> None:
        super().setUp()
        self.vectors = random_vectors(500, DIMS)
        Index.build(self.path(), self.vectors).close()

    def test_the_cpu_is_what_nothing_means(self) -> None:
        for index in (Index.open(self.path()), Index.open(self.path(), device="cpu"), Index(self.path(), device=None)):
            with index:
                index.search(self.vectors, 3)
                self.assertEqual(index.device, "cpu")
        with self.assertRaisesRegex(ValueError, "closed"):
            _ = index.device

    def test_auto_leaves_little_work_to_the_cpu(self) -> None:
        with Index.open(self.path()) as plain, Index.open(self.path(), device="auto") as index:
            for got, wanted in zip(index.search(self.vectors, 3), plain.search(self.vectors, 3)):
                np.testing.assert_array_equal(got, wanted)
            self.assertEqual(index.device, "cpu")

    def test_wrong_words(self) -> None:
        for words in ("", "gpu", "CPU", "cuda:", "cuda:x", "cuda:0,0", "cpu "):
            with self.subTest(words), self.assertRaisesRegex(thresher.ArgumentError, "device|twice") as raised:
                Index.open(self.path(), device=words)
            self.assertEqual(raised.exception.status, "EINVAL")
        with self.assertRaisesRegex(ValueError, "NUL"):
            Index.open(self.path(), device="cpu\0")
        with self.assertRaisesRegex(TypeError, '"cuda:0" was expected'):
            Index.open(self.path(), device=0)  # type: ignore[arg-type]

    def test_posting_lists(self) -> None:
        lists = [[1, 2], [2], [5]]
        with thresher.Hits.build(self.path("lists.hits"), lists, device="auto") as hits:
            self.assertEqual(hits.device, "cpu")
            self.assertEqual(hits.search({2: 1.0}, 1)[0][0], 0)
        with self.assertRaises(thresher.ArgumentError):
            thresher.Hits(self.path("lists.hits"), device="gpu")
        with Index.build(self.path("both"), self.vectors[:3], features=lists, device="auto") as index:
            self.assertEqual(index.hits.device, "cpu")

    def test_rankings_take_the_same_words(self) -> None:
        x, y = self.vectors[:40], np.arange(40) % 3
        plain, chosen = thresher.RankSVM().fit(x, y, 0), thresher.RankSVM(device="auto").fit(x, y, 0)
        np.testing.assert_array_equal(plain.coef_, chosen.coef_)
        self.assertEqual(chosen.get_params()["device"], "auto")
        with self.assertRaisesRegex(thresher.ArgumentError, "no device gpu"):
            thresher.RankSVM(device="gpu").fit(x, y, 0)

    def test_a_wrong_device_fails_before_a_build(self) -> None:
        with self.assertRaises(thresher.ArgumentError):
            Index.build(self.path("new"), self.vectors, device="gpu")
        self.assertFalse(os.path.exists(self.path("new")))

    def test_a_pickle_holds_it(self) -> None:
        with Index.open(self.path(), threads=2, device="auto") as index:
            pickled = pickle.dumps(index)
        with pickle.loads(pickled) as again:
            self.assertEqual((again.threads, again._device), (2, "auto"))
        with thresher._index._open_again(self.path(), 2) as again:  # as pickles of before call it
            self.assertEqual(again.device, "cpu")

    def test_contexts_are_shared_by_threads_and_device(self) -> None:
        shared = context.shared_context
        one, same, automatic, other = shared(2), shared(2, "cpu"), shared(2, "auto"), shared(3, "auto")
        self.assertIs(one, same)
        self.assertEqual(len({id(each) for each in (one, automatic, other)}), 3)
        self.assertIs(automatic, shared(2, "auto"))


class Libraries(Case):
    """The library for GPUs is loaded once in a process, so these are processes of their own."""

    def run_python(self, library: str, code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "import os, numpy as np, thresher\nfrom thresher import Index\n" + code],
            env={**os.environ, "THR_CUDA_LIBRARY": library},
            cwd=self.directory,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_no_gpu(self) -> None:
        code = """
print(thresher.devices())
vectors = np.random.default_rng(1).standard_normal((300, 16))
with Index.build("index", vectors, device="auto") as index:
    print((index.search(vectors, 1)[0][:, 0] == np.arange(300)).all(), index.device)
for make in (lambda: Index.open("index", device="cuda"), lambda: Index.build("new", vectors, device="cuda:0")):
    try:
        make()
    except RuntimeError as failure:
        print(type(failure).__name__, failure.status, failure)
print(os.path.exists("new"), thresher.devices())
"""
        said = self.run_python(self.path("nothing.so"), code).splitlines()
        why = "DeviceError EDEVICE no GPU can be used: "
        self.assertEqual(said[:2], ["[]", "True cpu"])
        for line in said[2:4]:
            self.assertTrue(line.startswith(why) and "nothing.so could not be loaded" in line, line)
        self.assertEqual(said[4:], ["False []"])

    def test_broken_gpus(self) -> None:
        compiler = shutil.which(os.environ.get("CC") or "cc")
        source = os.path.join(SOURCES, "tests", "cli", "broken_gpus.c")
        if compiler is None or not os.path.isfile(source):
            self.skipTest("no C compiler, or no source of the library")
        library = self.path("broken.so")
        include = [argument for name in ("include", "src/ground") for argument in ("-I", os.path.join(SOURCES, name))]
        subprocess.run([compiler, "-std=c17", "-shared", "-fPIC", *include, source, "-o", library], check=True)
        code = """
print(thresher._devices._describe(0))
for call in (thresher.devices, lambda: thresher._core.context.shared_context(1, "cuda"),
             lambda: thresher._core.context.shared_context(1, "cuda:2")):
    try:
        call()
    except thresher.Error as failure:
        print(failure.status, failure)
"""
        said = self.run_python(library, code).splitlines()
        wanted = thresher.DeviceInfo(0, "Broken 3000", (9, 0), 7, 2_000_000_000, 1_500_000_000, (13, 0), (12, 4))
        self.assertEqual(said[0], repr(wanted))
        self.assertEqual(said[1], "EDEVICE cuda:1: this GPU is broken")
        self.assertEqual(said[2], "EDEVICE cuda:0: this GPU is broken")
        self.assertEqual(said[3], "EINVAL there is no cuda:2: this machine has 2 GPUs")


class Machine(Case):
    """Whatever this machine has."""

    def test_devices(self) -> None:
        found = thresher.devices()
        self.assertEqual([device.number for device in found], list(range(len(found))))
        for device in found:
            self.assertTrue(device.name)
            self.assertLessEqual(device.free_bytes, device.memory_bytes)
            self.assertGreaterEqual(device.n_multiprocessors, 1)
            with self.assertRaises(dataclasses.FrozenInstanceError):
                device.number = 7  # type: ignore[misc]

    def test_answers_are_those_of_the_cpu(self) -> None:
        if not usable():
            self.skipTest("no GPU that can be used")
        vectors = random_vectors(5000, DIMS)
        with Index.build(self.path(), vectors) as plain, Index.open(self.path(), device="cuda:0") as index:
            self.assertRegex(index.device, r"^cuda:0 \(.+\)$")
            for k, recall in ((1, 0.9), (10, 0.99)):
                got = index.search(vectors[:100], k, recall=recall)
                for ours, wanted in zip(got, plain.search(vectors[:100], k, recall=recall)):
                    np.testing.assert_array_equal(ours, wanted)
