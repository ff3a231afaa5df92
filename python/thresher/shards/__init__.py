# SPDX-License-Identifier: Apache-2.0
"""
Collections of more items than one index should hold: a directory of ordinary indexes, the shards, searched as one.

    from thresher import shards

    with shards.build("my.shards", ["a.npy", "b.npy", "c.npy"], metric="cosine") as collection:
        ids, scores = collection.search(queries, k=10)

One quantiser codes all rows, so a row's code does not depend on its shard, and the answer is that of one index over all
rows, in the order of the parts. build() and open() work in one process, with the memory of one part. sample(),
build_quantiser(), build_shard(), publish(), search_shard(), merge() and verify() are their steps, for engines that run
them on many machines: thresher.dask does. docs/many-machines.md explains what a promised recall means for the whole.
"""

from ._build import build
from ._change import add, compact, remove
from ._collection import Shards
from ._collection import open_shards as open
from ._fetch import fetch
from ._manifest import Manifest, Shard, read
from ._merge import merge, merge_radius
from ._shard import build_shard, filter_shard, search_shard, search_shard_radius, search_shards
from ._publish import publish
from ._sample import build_quantiser, sample, sampled_rows
from ._verify import verify

__all__ = [
    "Manifest",
    "Shard",
    "Shards",
    "add",
    "build",
    "build_shard",
    "build_quantiser",
    "compact",
    "fetch",
    "filter_shard",
    "merge",
    "merge_radius",
    "open",
    "publish",
    "read",
    "remove",
    "sample",
    "sampled_rows",
    "search_shard",
    "search_shard_radius",
    "search_shards",
    "verify",
]
