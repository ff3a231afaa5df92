# SPDX-License-Identifier: Apache-2.0
"""An index whose items come and go while other threads search it."""

from __future__ import annotations

import threading

import numpy as np

import thresher

ITEMS, DIMS = 5000, 32
draw = np.random.default_rng(1)


def main() -> int:
    vectors = draw.standard_normal((ITEMS, DIMS)).astype(np.float32)
    names = [f"item {i}" for i in range(ITEMS)]
    index = thresher.Index.build("live.index", vectors, ids=names)
    ends, searches = threading.Event(), 0

    def serve() -> None:
        nonlocal searches
        while not ends.is_set():  # every search sees one commit, whole
            ids, _ = index.search(vectors[searches % ITEMS], k=5)
            searches += len(ids) == 5

    server = threading.Thread(target=serve)
    server.start()
    fresh = draw.standard_normal((100, DIMS)).astype(np.float32)
    print(index.add(fresh, names=[f"new {i}" for i in range(100)]))
    print(index.upsert(-vectors[:50], names=names[:50]))
    print(index.remove(names=names[50:1000]))
    print(index.compact())
    ends.set()
    server.join()

    found = index.names(index.search(np.concatenate([fresh[:1], -vectors[:1]]), k=1)[0])
    print(f"{searches} searches meanwhile; the best are {found}, among {len(index)} items")
    gone = "item 60" not in index and "item 10" in index
    index.close()
    return 0 if found == [["new 0"], ["item 0"]] and gone and searches > 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
