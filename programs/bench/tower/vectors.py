# SPDX-License-Identifier: Apache-2.0
"""Learned codes of given vectors (RBE, Figure 5), beside other codes of the same bytes.

usage: ./run bench tower-vectors [--quick] [--again] [--docs] [--encoder DIR] [OPTION...]

Every way is exhaustive over its codes. Recall is against the exact cosines of the vectors themselves: without refining,
and with the best 10 k candidates refined by the vectors. Queries are never trained on. Bytes are all bytes of an item:
the factors of XFBQ and RaBitQ, 8 bytes, too. Those are of principal components, as many as fit. Faiss and the
components learn from 20,000 random rows, OPQ in 20 iterations, learned codes from all rows but 300. These 300 choose
dimensions and bits, of XFBQ, too, and `--gamma` of 10, 20 or 40, by recall that is not refined, of learned codes
between whole trainings; on books100d the training's defaults were chosen by such rows. static384 is mean input
embeddings of all-MiniLM-L6-v2, weighted by rarity: static vectors, made without the transformer.

*float32 kept* are indexes that keep the vectors (`index build V --model M --metric cosine --keep float32`): the best
100 candidates by codes are refined by the vectors. XFBQ's codes are those of all dimensions there.
"""

import os
import sys
import tempfile
from functools import partial

from bench.shared.common import Kept, called, heading, names_of, need_thresher, parser_of  # first: one thread
from bench.shared.common import Missing, page, publish, run_main, thresher, unit
from bench.shared.results import Table

from bench.search import datasets, sentences
import numpy as np
from bench.search.faiss_peers import faiss_module, rabitq

FORMAT = 2
BYTES, KS, REFINE = (8, 16, 32, 64), (10, 100), 10
SHAPES = (5, 4, 2, 1)  # planes of learned codes, tried by recall of left-out items; dimensions follow from the bytes
GAMMA, GAMMAS = 20, (10, 40)  # the default scale of cosines, and others that the best shape is tried with
XFBQ_SHAPES = (5, 4, 3, 2, 1)
BATCH = 256
QUERIES, JUDGES, TRAIN_ROWS, TRIAL_EPOCHS = 1000, 300, 20_000, 3
FACTOR_BYTES = 8  # of XFBQ's codes: a factor and one offset per item
OPQ_DIMS = 128  # most, as OPQ's training grows with their cube
OPQ_ITERATIONS = 20  # instead of Faiss's 50, which take minutes a code
STATIC = "static384"

# ---------------------------------------------------------------------------------------------------- data

READ = {  # name: (base, queries) by the arguments
    "books100d": lambda _: datasets.load_books(),
    "fashion784": lambda _: datasets.load_fashion(False),
    STATIC: lambda arguments: sentences.split(sentences.embed(arguments.encoder, list(dict.fromkeys(sentences.packages())))),
}


def exact(base, queries, k):
    parts = (queries[first : first + 200] for first in range(0, len(queries), 200))
    return np.concatenate([datasets.best_of(part @ base.T, k) for part in parts])


# ---------------------------------------------------------------------------------------------------- judged


def recalls(found, truth):
    """found: the best REFINE x max(KS) rows of each query. A refined search finds the items among its candidates."""
    out = {}
    for k in KS:
        for name, n in ((f"recall@{k}", k), (f"recall@{k}, refined", REFINE * k)):
            hits = [np.isin(row[:k], best[:n]).sum() for row, best in zip(truth, found)]
            out[name] = float(np.mean(hits) / k)
    return out


# ---------------------------------------------------------------------------------------------------- ways


def judges_of(base):
    """Numbers of items that are left out of training, and whose neighbours choose shapes."""
    return np.sort(np.random.default_rng(1).permutation(len(base))[:JUDGES])


def judged(found, truth):
    """The mean of recall@10 and recall@100, not refined; truth: the best of most, and the item itself."""
    return np.mean([np.isin(row[: k + 1], ids[: k + 1]).mean() for row, ids in zip(truth, found) for k in KS])


def model_path(scratch, shape, epochs):
    return os.path.join(scratch, f"{'-'.join(map(str, shape))}-{epochs}.safetensors")


def train(arguments, scratch, shape, epochs):
    (dims, planes, gamma), model = shape, model_path(scratch, shape, epochs)
    called(arguments.thresher, "tower", "train", "--vectors", os.path.join(scratch, "trained.npy"), "-o", model, "--quiet",
           "--patience", "0", "--dims", str(dims), "--item-bits", str(planes), "--gamma", str(gamma),
           "--batch", str(BATCH), "--epochs", str(epochs), "--threads", "1")  # fmt: skip
    return model


def search_index(base, rows, k, scratch, options, **search):
    """What an index finds by its codes alone, and its bytes of codes per item."""
    options = {"keep": None, "replace": True, "threads": 1, **options}
    with thresher.Index.build(os.path.join(scratch, "index"), base, **options) as index:
        return index.search(rows, k, **search)[0], index.info.code_bytes / index.info.n_items


def learned(arguments, base, queries, n_bytes, scratch):
    """Short trainings choose the two best shapes, and whole ones between these and three scales, by left-out items."""
    judges = judges_of(base)
    np.save(os.path.join(scratch, "trained.npy"), np.delete(base, judges, axis=0))
    truth = exact(base, base[judges], KS[1] + 1)

    def tried(shape, epochs=TRIAL_EPOCHS):
        codes = {"model": train(arguments, scratch, shape, epochs)}
        return judged(search_index(base, base[judges], REFINE * KS[1], scratch, codes)[0], truth), shape

    sizes = [(min(8 * n_bytes // planes // 8 * 8, 1024), planes) for planes in SHAPES]
    shapes = sorted(tried((dims, planes, GAMMA)) for dims, planes in sizes if 8 <= dims <= 8 * base.shape[1])[-2:]
    scaled = [(*best[1][:2], gamma) for best in shapes for gamma in (GAMMA, *GAMMAS)]
    shape = max(tried(shape, arguments.epochs) for shape in scaled)[1]
    model = model_path(scratch, shape, arguments.epochs)
    found, size = search_index(base, queries, REFINE * KS[1], scratch, {"model": model})
    return found, {"shape": f"{shape[0]} x {shape[1]}", "gamma": shape[2], "batch": BATCH, "bytes": size}


def refined(base, queries, scratch, options):
    """recall@10 where the best 100 by codes are refined by the vectors, and the bytes of codes."""
    found, size = search_index(base, queries, REFINE * KS[0], scratch, options)
    recall = np.mean([np.isin(row, ids).mean() for row, ids in zip(exact(base, queries, KS[0]), found)])
    return {"recall": float(recall), "bytes": size}


def sample_of(base):
    """Rows that peers learn from, at random: some sets are in an order, such as words by frequency."""
    return base[np.random.default_rng(2).permutation(len(base))[:TRAIN_ROWS]]


def axes_of(base, n):
    rows = sample_of(base).astype(np.float64)
    return np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :n].astype(np.float32)


def xfbq(arguments, base, queries, n_bytes, scratch):
    """XFBQ of the first principal axes: whole vectors of 100 and more dimensions do not fit."""
    judges, ways = judges_of(base), []
    truth = exact(base, base[judges], KS[1] + 1)
    for bits in XFBQ_SHAPES:
        dims = min(8 * (n_bytes - FACTOR_BYTES) // bits, base.shape[1]) // 8 * 8
        if dims >= 8:
            axes, codes = axes_of(base, dims), {"bits": bits, "lead_bits": bits}
            rows = np.concatenate([base[judges], queries]) @ axes
            found, size = search_index(base @ axes, rows, REFINE * KS[1], scratch, codes, query_bits=8)
            about = {"shape": f"{dims} x {bits}", "bytes": size}
            ways.append((judged(found, truth), found[len(judges) :], about))
    return max(ways, key=lambda way: way[0])[1:] if ways else None


def by_faiss(make, shape):
    def way(_arguments, base, queries, n_bytes, _scratch):
        index = make(faiss_module(), base.shape[1], n_bytes)
        if index is None:
            return None
        index.train(sample_of(base))
        index.add(base)
        return index.search(queries, REFINE * KS[1])[1], {"shape": shape, "bytes": index.sa_code_size()}

    return way


def opq(faiss, n_dims, n_bytes):
    dims = min(n_dims, OPQ_DIMS) // n_bytes * n_bytes
    index = faiss.index_factory(n_dims, f"OPQ{n_bytes}_{dims},PQ{n_bytes}", faiss.METRIC_INNER_PRODUCT)
    faiss.downcast_VectorTransform(index.chain.at(0)).niter = OPQ_ITERATIONS
    return index


def pca_rabitq(bits):
    def make(faiss, n_dims, n_bytes):
        for dims in range(min(n_dims, 8 * n_bytes // bits) // 8 * 8, 7, -8):
            codes = rabitq(dims, bits)
            if codes.sa_code_size() <= n_bytes:
                return faiss.IndexPreTransform(faiss.PCAMatrix(n_dims, dims, 0, True), codes)
        return None

    return make


WAYS = {
    "learned": ("learned codes, float queries", learned),
    "opq": ("Faiss OPQ + PQ", by_faiss(opq, "8 bits per part")),
    "rabitq1": ("Faiss PCA + RaBitQ, 1 bit", by_faiss(pca_rabitq(1), "1 bit per dimension")),
    "rabitq4": ("Faiss PCA + RaBitQ, 4 bits", by_faiss(pca_rabitq(4), "4 bits per dimension")),
    "xfbq": ("PCA + XFBQ, 8-bit queries", xfbq),
}


# ---------------------------------------------------------------------------------------------------- report


def measure(arguments, kept):
    results = kept.results
    for name in arguments.sets:
        try:
            base, queries = (unit(rows) for rows in READ[name](arguments))
        except (Missing, ImportError) as missing:
            print(f"{name}: left out: {missing}", file=sys.stderr)
            continue
        base, queries = base[: 10_000 if arguments.quick else None], queries[: 100 if arguments.quick else QUERIES]
        truth = exact(base, queries, max(KS))
        whole = results.setdefault("whole", {}).setdefault(name, {})
        for bits in (1, 2):
            with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
                whole[f"XFBQ, {bits} bits"] = refined(base, queries, scratch, {"bits": bits})
        results.setdefault("sets", {})[name] = [*base.shape, len(queries)]

        def found(way, n_bytes, base=base, queries=queries, truth=truth):
            with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
                made = WAYS[way][1](arguments, base, queries, n_bytes, scratch)
            return made and {**recalls(made[0], truth), **made[1]}

        for n_bytes in BYTES[:2] if arguments.quick else BYTES:
            for way in arguments.ways:
                kept.measure(results["measured"], f"{name} {n_bytes} {way}", partial(found, way, n_bytes))


def text(results):
    names = [f"recall@{k}{words}" for k in KS for words in ("", ", refined")]
    parts = heading("tower-vectors", __doc__, more=f"{results.get('epochs')} epochs.")
    for name, (n, dims, n_queries) in results.get("sets", {}).items():
        rows, kept = [], dict(results["whole"][name])
        for n_bytes in BYTES:
            some = {way: results["measured"].get(f"{name} {n_bytes} {way}") for way in WAYS}
            some = {way: record for way, record in some.items() if record}
            for way, record in some.items():
                batch = f", batches of {record['batch']}" if "batch" in record else ""
                shares = [f"{record[c]:.3f}" for c in names]
                rows.append([WAYS[way][0], n_bytes, record["shape"] + batch, f"{record['bytes']:.1f}", *shares])
            if "learned" in some:
                own = some["learned"]
                kept[f"learned codes, {own['shape']}"] = {"recall": own["recall@10, refined"], "bytes": own["bytes"]}
        parts += [f"{name}: {n:,} x {dims}, {n_queries:,} queries\n"]
        parts.append(Table(name, ["system", "bytes", "what"], ["bytes per item", *names], rows))
        by_bytes = sorted(kept.items(), key=lambda item: item[1]["bytes"])
        rows = [[key, f"{r['bytes']:.1f}", f"{r['recall']:.3f}"] for key, r in by_bytes]
        parts.append(Table(f"{name}: float32 kept", ["what"], ["bytes of codes", "recall@10"], rows))
    return page(*parts)


def main():
    quick = {"help": "10,000 items, codes of 8 and 16 bytes: to see that it works"}
    keep = {"default": "build/bench/tower", "help": "for results"}
    parser = parser_of("bench tower-vectors", __doc__, "again", "docs", "thresher", "encoder", quick=quick, keep=keep)
    add, ways = parser.add_argument, ", ".join(WAYS)
    add("--sets", type=names_of(READ, "data set"), default=list(READ), metavar="NAME,...", help=", ".join(READ))
    add("--ways", type=names_of(WAYS, "kind of codes"), default=list(WAYS), metavar="NAME,...", help=ways)
    add("--epochs", type=int, default=20, metavar="N", help="of each training; 20")
    arguments = parser.parse_args()
    need_thresher("bench tower-vectors")
    os.makedirs(arguments.keep, exist_ok=True)
    out = os.path.join(arguments.keep, f"vectors{'-quick' if arguments.quick else ''}.json")
    kept = Kept(out, {"format": FORMAT, "measured": {}}, arguments.again)
    kept.results["epochs"] = arguments.epochs
    measure(arguments, kept)
    publish(text(kept.results), "tower-vectors", arguments.docs)


if __name__ == "__main__":
    run_main(main)
