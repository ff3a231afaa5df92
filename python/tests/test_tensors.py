# SPDX-License-Identifier: Apache-2.0
"""What is not numpy: objects that speak DLPack, objects with __array__, and tensors of torch where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from support import Case, random_vectors
from thresher import Index
from thresher._core import arrays


class Tensor:
    """A CPU tensor that speaks DLPack and nothing else."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class ElsewhereTensor(Tensor):
    """One on another device."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the tensor is on cuda:0")

    def __dlpack_device__(self) -> Any:
        return (2, 0)


class Arraylike:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


class Tensors(Case):
    def setUp(self) -> None:
        super().setUp()
        self.vectors = random_vectors(500, 16)
        self.queries = random_vectors(90, 16, seed=2)
        self.index = Index.build(self.path(), self.vectors)
        self.wanted = self.index.search(self.queries, 5)[0]

    def check(self, make: Any) -> None:
        np.testing.assert_array_equal(self.index.search(make(self.queries), 5)[0], self.wanted)
        np.testing.assert_array_equal(self.index.search(make(self.queries[3]), 5)[0], self.wanted[3])
        with Index.build(self.path("b"), make(self.vectors), replace=True) as index:
            np.testing.assert_array_equal(index.search(self.queries, 5)[0], self.wanted)

    def test_dlpack(self) -> None:
        self.check(Tensor)
        self.check(lambda array: Tensor(np.asfortranarray(array)))

    def test_dlpack_copies_nothing(self) -> None:
        taken = arrays.as_numpy(Tensor(self.queries), "queries")
        self.assertTrue(np.shares_memory(taken, self.queries))

    def test_a_tensor_on_another_device(self) -> None:
        with self.assertRaisesRegex(TypeError, "queries: .*ElsewhereTensor cannot be read through DLPack: .*"):
            self.index.search(ElsewhereTensor(self.queries))
        with self.assertRaisesRegex(TypeError, "vectors: .*ElsewhereTensor"):
            Index.build(self.path("b"), ElsewhereTensor(self.vectors))

    def test_array_method(self) -> None:
        self.check(Arraylike)

    def test_chunks_of_tensors(self) -> None:
        with Index.build(self.path("b"), (Tensor(chunk) for chunk in np.split(self.vectors, 5))) as index:
            np.testing.assert_array_equal(index.search(self.queries, 5)[0], self.wanted)

    def test_torch(self) -> None:
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        self.check(torch.from_numpy)
        self.check(lambda array: torch.from_numpy(array).to(torch.float64))
        mask = torch.from_numpy(np.arange(500) % 2 == 0)
        self.assertTrue((self.index.search(self.queries, 5, filter=mask)[0] % 2 == 0).all())
        with self.assertRaisesRegex(TypeError, "torch.Tensor cannot be"):
            self.index.search(torch.from_numpy(self.queries).to(torch.bfloat16))
