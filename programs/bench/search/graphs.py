# SPDX-License-Identifier: Apache-2.0
"""Graph indexes: HNSW (hnswlib) with M = 32 and efConstruction = 200, and SymphonyQG (rabitqlib).

They read a small part of the data and take long to build, so a built graph is kept on disk with its build time.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
from bench.search.peer import GRAPH, Index, Peer

M, EF_CONSTRUCTION = 32, 200
EFS = (10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 800, 1200)
MOST_ITEMS = 200_000  # larger graphs take tens of minutes to build on one core; built only with --graphs


class Graph(Peer):
    family = GRAPH
    cache = None  # a directory, set by the driver
    large = False  # whether to build graphs of more than MOST_ITEMS items too, set by the driver

    # Of a graph: make(data) builds an index; write(index, path), read(data, path); searcher(index) -> (queries, k, ef) -> ids

    def path(self, data):
        return os.path.join(self.cache, f"{data.name}.{self.name}")

    def variants(self, data):
        small = len(data.base) <= MOST_ITEMS
        return [{}] if small or self.large or os.path.exists(self.path(data)) else []

    def build(self, data):
        path = self.path(data)
        if not os.path.exists(path):
            start = time.process_time()  # of the one thread that builds, which may run beside other work
            index = self.make(data)
            seconds = time.process_time() - start
            self.write(index, path + ".part")
            Path(path + ".json").write_text(json.dumps({"build_s": seconds}), encoding="utf-8")
            os.replace(path + ".part", path)
            del index
        build_s = json.loads(Path(path + ".json").read_text(encoding="utf-8"))["build_s"]
        search = self.searcher(self.read(data, path))
        size = os.path.getsize(path)
        return Index(search, [{"ef": ef} for ef in EFS], build_s, size - data.base.nbytes, data.base.nbytes)


class HnswLib(Graph):
    name, title, package = "hnswlib", f"hnswlib HNSW M={M}", "hnswlib"

    def empty(self, data):
        import hnswlib

        return hnswlib.Index("ip" if data.metric == "cosine" else "l2", data.n_dims)

    def make(self, data):
        index = self.empty(data)
        index.init_index(len(data.base), ef_construction=EF_CONSTRUCTION, M=M, random_seed=1)
        index.add_items(np.ascontiguousarray(data.base), num_threads=1)
        return index

    def write(self, index, path):
        index.save_index(path)

    def read(self, data, path):
        index = self.empty(data)
        index.load_index(path, max_elements=len(data.base))
        index.set_num_threads(1)
        return index

    def searcher(self, index):
        def search(queries, k, ef):
            index.set_ef(max(ef, k))
            return index.knn_query(queries, k)[0].astype(np.int64)

        return search


class SymphonyQG(Graph):
    name, title, package = "rabitqlib-graph", f"rabitqlib SymphonyQG, degree {M}", "rabitqlib"

    def make(self, data):
        from rabitqlib import SymqgIndex

        index = SymqgIndex(data.n_dims, M, "l2", 0)
        index.build(np.ascontiguousarray(data.base), EF_CONSTRUCTION, 1)
        return index

    def write(self, index, path):
        index.save(path)

    def read(self, data, path):
        from rabitqlib import SymqgIndex

        return SymqgIndex.load(path)

    def searcher(self, index):
        return lambda queries, k, ef: index.search(queries, k, max(ef, k), 1)[0].astype(np.int64)
