# SPDX-License-Identifier: Apache-2.0
"""The XFBQ paper's experiments on real vectors: recall of codes of a few bits, with and without correcting
for the codes' lengths.

usage: ./run bench xfbq [--parts codes,products,speed,sweep] [--quick] [--again] [--docs] [OPTION...]

Codes are made here as the paper defines them (section 3), in NumPy, and their products are exact; speeds and builds are
those of the library, beside Faiss's IVF-Flat, IVF-PQ and HNSW where Python has it. Similarities are standardised.
Products of floats are NumPy's; those of codes are a search of the best one, whose selection counts against them. An
extra distance of 0 refines the best 10 by code; here each item has a factor for its length, the paper's codes have
none. Queries have 4 bits, and come one at a time. Each part is saved once measured.
"""

import os
import sys
import tempfile
from contextlib import contextmanager
from functools import partial

from bench.shared.common import (
    Kept, Missing, Timer, heading, names_of, need_thresher, page, parser_of, publish, thresher, versions,
)  # fmt: skip

from bench.search import datasets, measure
import numpy as np
from bench.search.faiss_peers import faiss_if_there
from bench.shared.results import OURS, Table

PARTS = ("codes", "products", "speed", "sweep")
FORMAT = 3  # of the results file
QUERY_BITS, DEFAULT_BITS = 4, 3
BEST = (10, 50, 200, 500)
PERCENTILE = 90  # of |component|: 1 / scale
UNIT = f"{PERCENTILE} % of components"
KS = (1, 10, 100, 1000, 10_000)
QUERIES = 200  # of the speeds, whose truth is KS[-1] long
ASKED = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
SWEEP_K = 10
CLUSTERS, PROBES, PQ_PROBES = 1024, (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 8, 64, 256)
HNSW_M, EFS = 32, (16, 32, 64, 128, 256, 512)
PRECISIONS = (0.9, 0.95, 0.99, 0.999)
GRAPH_MOST_K = 100  # a graph keeps a queue of k and more
FULL = {  # queries and bits of codes, seconds of a timing, bytes of IVF-PQ, scales and distances, the paper's among them
    "queries": 300, "bits": (1, 2, 3, 4, 6, 8), "budget": 0.2, "pq_bytes": (10, 20, 50),
    "scales": (1.5, 2.0, 2.95, 4.0, 6.0, 9.0), "distances": (1, 2, 5, 10, 20, 50),
}  # fmt: skip
QUICK = {"queries": 100, "bits": (2, 3), "budget": 0.04, "pq_bytes": (50,), "scales": (2.95,), "distances": (5, 20)}


# ---------------------------------------------------------------------------------------------------- codes


def codes_of(rows, bits, epsilon):
    """f_B of rows / epsilon, times 2^B: odd integers (XFBQ 3.2); components beyond epsilon are cut off."""
    cells = np.floor((rows / epsilon + 1) * 2.0 ** (bits - 1))
    return (2 * np.clip(cells, 0, 2**bits - 1) + 1 - 2**bits).astype(np.float32)


def shares(order, truth):
    """Of the items in truth, the share among the first of an order, for each number of BEST."""
    return [float(np.mean([np.isin(t, row[:n]).mean() for t, row in zip(truth, order)])) for n in BEST]


def ks_distance(a, b):
    """The Kolmogorov-Smirnov distance of two samples of equal size."""
    a, b, both = np.sort(a), np.sort(b), np.concatenate([a, b])
    return float(np.abs(np.searchsorted(a, both, "right") - np.searchsorted(b, both, "right")).max() / len(a))


def standard(rows):
    return (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)


@contextmanager
def scratch_index(base, **options):
    """An index on one thread."""
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
        with thresher.Index.build(os.path.join(scratch, "index"), base, threads=1, **options) as index:
            yield index


def measure_codes(data, given):
    queries, all_bits = data.queries[: given["queries"]], given["bits"]
    base, truth = np.asarray(data.base), data.truth_ids[: len(queries), :10]
    exact, rows, shapes = standard(queries @ base.T), [], []
    epsilon = np.percentile(np.abs(base), PERCENTILE)
    query_codes = codes_of(queries, QUERY_BITS, epsilon)
    for bits in all_bits:
        codes = codes_of(base, bits, epsilon)
        scores = query_codes @ codes.T
        for length, found in (("as published", scores), ("corrected", scores / np.linalg.norm(codes, axis=1))):
            rows.append(["XFBQ", UNIT, bits, length, *shares(datasets.best_of(found, BEST[-1]), truth)])
        own = standard(scores)
        apart = np.mean([ks_distance(x, y) for x, y in zip(exact, own)])
        shapes.append([bits, float(apart), float((exact * own).mean())])
        print(f"codes, {bits} bits", file=sys.stderr)
        with scratch_index(base, bits=bits, lead_bits=bits, metric=data.metric, keep=None) as index:
            order = index.search(queries, BEST[-1])[0].astype(np.int64)
        rows.append([OURS, "", bits, "corrected", *shares(order, truth)])
    return {"rows": rows, "shapes": shapes}


# ---------------------------------------------------------------------------------------------------- speed


def rate(data, search, budget):
    """Queries per second, one at a time; the best of some passes."""
    singles, n = measure.time_passes(lambda a, b: search(data.queries[a:b]), len(data.queries), 1, budget)
    return n / singles.min(axis=0).sum()


def measure_products(data, given):
    base, n_dims = np.ascontiguousarray(data.base), data.n_dims
    out = np.empty(len(base), np.float32)
    rows = [["floats", 8 * n_dims, rate(data, lambda q: np.matmul(base, q[0], out=out), given["budget"])]]
    for bits in (1, 2, 3, 4):
        with scratch_index(base, metric=data.metric, bits=bits, lead_bits=bits, keep=None) as index:
            speed = rate(data, lambda q, index=index: index.search(q, 1, query_bits=QUERY_BITS), given["budget"])
        rows.append([f"codes, {bits} x {QUERY_BITS} bits", (bits + QUERY_BITS) * n_dims / 8, speed])
    return {"rows": rows}


def precision(found, truth, k):
    """Precision@k as the paper has it (section 5): by rows, whatever their scores."""
    return float(np.mean([np.isin(ids, best[:k]).mean() for ids, best in zip(found, truth)]))


def thresher_ways(base, metric, scratch):
    """(way, build seconds, [(setting, search(queries, k))])"""
    with Timer() as timer:
        index = thresher.Index.build(os.path.join(scratch, "index"), base, metric=metric, bits=DEFAULT_BITS, threads=1)

    def search(**words):
        return lambda queries, k: index.search(queries, k, **words)[0].astype(np.int64)

    some = [(f"recall {r:g}", search(recall=r)) for r in ASKED]
    return [("codes", timer.seconds, some), ("exact", 0, [("-", search(exact=True))])]


def faiss_ways(base, pq_bytes):
    if not (faiss := faiss_if_there("speed")):
        return
    n_dims, ip = base.shape[1], faiss.METRIC_INNER_PRODUCT

    def way(name, index, word, settings, prepare):
        """prepare(index, setting, k) is called before a search."""
        with Timer() as timer:
            index.train(base)
            index.add(base)

        def search(queries, k, setting):
            prepare(index, setting, k)
            return index.search(queries, k)[1]

        return name, timer.seconds, [(f"{word} {n}", lambda q, k, n=n: search(q, k, n)) for n in settings]

    def probe(index, probes, _):
        index.nprobe = probes

    def widen(graph, ef, k):
        graph.hnsw.efSearch = max(ef, k)

    yield way("IVF-Flat", faiss.IndexIVFFlat(faiss.IndexFlatIP(n_dims), n_dims, CLUSTERS, ip), "probes", PROBES, probe)
    for n_bytes in pq_bytes:
        index = faiss.IndexIVFPQ(faiss.IndexFlatL2(n_dims), n_dims, CLUSTERS, n_bytes, 8)
        yield way(f"IVF-PQ, {n_bytes} bytes", index, "probes", PQ_PROBES, probe)
    yield way("HNSW", faiss.IndexHNSWFlat(n_dims, HNSW_M, ip), "ef", EFS, widen)


def measure_speed(data, given):
    base = np.ascontiguousarray(data.base)
    few = datasets.of_rows(data, base, data.queries[:QUERIES], KS[-1])
    rows, builds = [], []
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
        for way, seconds, settings in (*thresher_ways(base, data.metric, scratch), *faiss_ways(base, given["pq_bytes"])):
            if seconds:
                builds.append([way, seconds])
            for setting, search in settings:
                for k in (k for k in KS if way != "HNSW" or k <= GRAPH_MOST_K):
                    found = precision(search(few.queries, k), few.truth_ids, k)
                    rows.append([k, way, setting, found, rate(few, lambda q, k=k: search(q, k), given["budget"])])
            print(f"speed, {way}: built in {seconds:.2f} s", file=sys.stderr)
    return {"rows": rows, "builds": builds}


# ---------------------------------------------------------------------------------------------------- sweep


def measure_sweep(data, given):
    """
    The share of the true best that are within an extra distance of the k-th best by code (3.6.1), for one index per
    scale. By (7) an integer distance is 2 / (scale^2 2^(item bits + query bits)) of a cosine.
    """
    base, rows = np.ascontiguousarray(data.base), []
    queries, truth = data.queries[:QUERIES], data.truth_ids[:QUERIES, :SWEEP_K]
    unit = base / np.linalg.norm(base, axis=1, keepdims=True)
    options = {"metric": "cosine", "bits": DEFAULT_BITS, "lead_bits": DEFAULT_BITS, "keep": None}
    for scale in sorted({*given["scales"], round(float(np.log2(np.sqrt(data.n_dims))), 2)}):
        found = dict.fromkeys((0, *given["distances"]), 0.0)
        with scratch_index(base, scale=scale, **options) as index:
            for query, best in zip(queries, truth, strict=True):
                ids, estimates = index.search(query, len(base), query_bits=QUERY_BITS)
                for distance in found:
                    extra = distance * 2 / (scale**2 * 2 ** (DEFAULT_BITS + QUERY_BITS))
                    within = ids[: max(SWEEP_K, np.sum(estimates >= estimates[SWEEP_K - 1] - extra))]
                    found[distance] += float(np.mean(np.isin(best, within))) / len(queries)
        kept = 100 * float(np.mean(np.abs(unit) <= 1 / scale))
        rows += [[scale, kept, distance, share] for distance, share in found.items()]
        print(f"sweep, scale {scale}", file=sys.stderr)
    return {"rows": rows}


MEASURES = {"codes": measure_codes, "products": measure_products, "speed": measure_speed, "sweep": measure_sweep}

# ---------------------------------------------------------------------------------------------------- report


def system_of(way):
    """Whose a way is."""
    return {"codes": OURS, "exact": f"{OURS}, exact scan"}.get(way, f"Faiss {way}")


def codes_text(data, kept):
    rows = [[*row[:4], *(f"{share:.3f}" for share in row[4:])] for row in kept["rows"]]
    units = [(f"best {n}", "recall@10") for n in BEST]
    yield Table(f"{data}: recall of codes", ["system", "what", "item bits", "length"], units, rows)
    rows = [["XFBQ", bits, f"{apart:.4f}", f"{correlation:.4f}"] for bits, apart, correlation in kept["shapes"]]
    yield Table(f"{data}: similarities as published", ["system", "item bits"], ["KS distance", "correlation"], rows)


def products_text(data, kept):
    first = kept["rows"][0][2]
    rows = [[what, f"{n_bytes:g}", f"{1e3 / speed:.4f}", f"{speed / first:.2f}"] for what, n_bytes, speed in kept["rows"]]
    yield Table(f"{data}: products alone", ["what"], ["bytes of a product", "ms per query", "speed-up over floats"], rows)


def speed_rows(rows):
    """One row per k and way: the most queries per second at each precision, and the highest precision."""
    groups = {}
    for k, way, _, found, speed in rows:
        groups.setdefault((k, way), []).append((found, speed))
    for (k, way), points in sorted(groups.items(), key=lambda group: group[0][0]):
        fastest = [max((speed for found, speed in points if found >= least), default=None) for least in PRECISIONS]
        yield [system_of(way), f"{k:,}", *(f"{best:,.0f}" if best else "-" for best in fastest), f"{max(points)[0]:.4f}"]


def speed_text(data, kept):
    units = [*((f"precision >= {least:g}", "queries/s") for least in PRECISIONS), "highest precision"]
    yield Table(f"{data}: precision and speed", ["system", "k"], units, list(speed_rows(kept["rows"])))
    fastest = {way.split(",")[0]: (way, s) for way, s in sorted(kept["builds"], key=lambda build: -build[1])}
    rows = [[system_of(name), way.partition(", ")[2], f"{s:.2f}"] for name, (way, s) in fastest.items()]
    yield Table(f"{data}: preparation", ["system", "what"], ["s"], rows)


def sweep_text(data, kept):
    rows = [["XFBQ", f"scale {scale:g}", distance, "" if distance else f"{share:.1f}", f"{found:.4f}"]
            for scale, share, distance, found in kept["rows"]]  # fmt: skip
    units = ["components within 1 / scale, %", f"precision@{SWEEP_K}"]
    yield Table(f"{data}: scale and extra distance", ["system", "what", "extra distance"], units, rows)


TEXTS = {"codes": codes_text, "products": products_text, "speed": speed_text, "sweep": sweep_text}


def text(results, names):
    parts = heading("xfbq", __doc__, more=results["about"])
    for name, write in TEXTS.items():
        if name in results and name in names:
            parts += write(results["data"], results[name])
    return page(*parts)


def main():
    quick = {"help": "fewer items and queries, less time for each timing"}
    out = {"help": "what is measured (default: build/bench/xfbq.json)"}
    parser = parser_of("bench xfbq", __doc__, "again", "docs", "cache", quick=quick, out=out)
    parser.add_argument("--parts", type=names_of(PARTS, "part"), default=list(PARTS), metavar="NAME,...")
    arguments = parser.parse_args()
    need_thresher("bench xfbq")
    try:
        data = datasets.load("books100d", arguments.cache)
    except Missing as missing:
        sys.exit(f"bench xfbq: {missing}")
    given = QUICK if arguments.quick else FULL
    data = datasets.of_rows(data, data.base[:20_000], data.queries, datasets.TRUTH_K) if arguments.quick else data
    out = arguments.out or f"build/bench/xfbq{'-quick' * arguments.quick}.json"
    kept = Kept(out, {"format": FORMAT, "data": data.name}, arguments.again)
    for part in arguments.parts:
        kept.measure(kept.results, part, partial(MEASURES[part], data, given), lambda _: "done")
    kept.results["about"] = f"{data.name}: {len(data.base):,} x {data.n_dims}, {data.title}. {versions({'faiss': 'Faiss'})}."
    kept.save()
    publish(text(kept.results, arguments.parts), "xfbq", arguments.docs)


if __name__ == "__main__":
    main()
