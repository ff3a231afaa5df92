# SPDX-License-Identifier: Apache-2.0
"""Indexes whose items are replaced: Thresher, Faiss and hnswlib, by the same four methods, on one thread.

Ids are 0 to n - 1. A setting of a search is a number; larger ones find more.
"""

import os
import tempfile

import numpy as np


class Turning:
    name = title = package = ""
    settings = ()

    def __init__(self, data, scratch):
        self.data, self.scratch = data, scratch

    # Every library has: build(base), replace(ids, vectors), search(queries, k, setting) -> ids, bytes()


class Thresher(Turning):
    name, title, package, settings = "thresher", "Thresher, recall .99 promised", "thresher", (0.99,)

    def build(self, base):
        import thresher

        self.index = thresher.Index.build(os.path.join(self.scratch, "index"), base, threads=1)

    def replace(self, ids, vectors):
        self.index.upsert(vectors, ids=ids)

    def search(self, queries, k, setting):
        return self.index.search(queries, k, recall=setting)[0].astype(np.int64)

    def bytes(self):
        return self.index.info.file_bytes


class HnswLib(Turning):
    """mark_deleted, then add_items with replace_deleted; a place cannot take its own label again, so labels go on."""

    name, title, package = "hnswlib", "hnswlib HNSW M=16, mark_deleted + replace_deleted", "hnswlib"
    settings = (20, 40, 80, 160, 320)

    def build(self, base):
        import hnswlib

        n = len(base)
        self.index = hnswlib.Index("ip", base.shape[1])
        self.index.init_index(n, ef_construction=200, M=16, random_seed=1, allow_replace_deleted=True)
        self.index.set_num_threads(1)
        self.index.add_items(base, np.arange(n))
        self.label_of, self.id_of = np.arange(n), np.arange(n)

    def replace(self, ids, vectors):
        for label in self.label_of[ids].tolist():
            self.index.mark_deleted(label)
        labels = np.arange(len(self.id_of), len(self.id_of) + len(ids))
        self.index.add_items(vectors, labels, replace_deleted=True)
        self.label_of[ids] = labels
        self.id_of = np.concatenate([self.id_of, ids])

    def search(self, queries, k, setting):
        self.index.set_ef(setting)
        return self.id_of[self.index.knn_query(queries, k)[0].astype(np.int64)]

    def bytes(self):
        return saved_bytes(self.index.save_index, self.scratch)


class FaissIVFPQ(Turning):
    """IndexIVFPQ with ids of its own: IndexIDMap2 numbers its items anew after a removal, which an IVF index does not.

    The best 10 x k by codes are ranked by their exact scores, in numpy; setting: clusters read.
    """

    name, title, package = "faiss", "Faiss IndexIVFPQ 256 clusters, 25 x 8 bits, exact re-ranking", "faiss-cpu"
    settings = (8, 16, 32, 64, 128)
    factor = 10

    def build(self, base):
        import faiss

        self.faiss = faiss
        coarse = self.coarse = faiss.IndexFlatIP(base.shape[1])
        self.index = faiss.IndexIVFPQ(coarse, base.shape[1], 256, base.shape[1] // 4, 8, faiss.METRIC_INNER_PRODUCT)
        self.index.train(base)
        self.index.set_direct_map_type(faiss.DirectMap.Hashtable)
        self.index.add_with_ids(base, np.arange(len(base)))
        self.vectors = base.copy()

    def replace(self, ids, vectors):
        self.index.remove_ids(self.faiss.IDSelectorArray(np.ascontiguousarray(ids)))
        self.index.add_with_ids(vectors, ids)
        self.vectors[ids] = vectors

    def search(self, queries, k, setting):
        self.index.nprobe = setting
        found = self.index.search(queries, self.factor * k)[1]
        scores = np.einsum("qcd,qd->qc", self.vectors[found], queries)
        scores[found < 0] = -np.inf
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        return np.take_along_axis(found, best, axis=1)

    def bytes(self):
        return len(self.faiss.serialize_index(self.index)) + self.vectors.nbytes


def saved_bytes(save, scratch):
    path = os.path.join(scratch, "saved")
    save(path)
    return os.path.getsize(path)


PEERS = {peer.name: peer for peer in (Thresher, FaissIVFPQ, HnswLib)}


def made(name, data, scratch):
    return PEERS[name](data, tempfile.mkdtemp(dir=scratch))
