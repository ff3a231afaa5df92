# SPDX-License-Identifier: Apache-2.0
"""The RBE paper's tables 2, 4, 5 and 6 on pairs of texts, and learned codes against codes made of m_1's vectors.

Every model of a table is trained with the same options, once per seed, and judged on queries that it did not learn
from. A training is kept as soon as it is done, by all that it depends on but the library's code, so that a run can be
cut and taken up again.
"""

import itertools
import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from functools import partial

from bench.tower import codes as tower_codes
from bench.papers.learned import own_name
from bench.papers.verdict import chain
from bench.shared.common import Kept, figure, mean_of, page, published, spread, thresher
from bench.shared.results import Figures, Table
from bench.tower.sets import LEAST_LABEL, part_path

FLOATS = 32
QUICK_EPOCHS = 2
PATIENCE, GAMMA, RATE, FLOAT_SHARE, VALID_SHARE = 10, 10.0, 0.002, 0.5, 0.02
PAPER_NEGATIVES = 10
FORMAT = 3  # of the records: their names and what they mean
TARGET_LIFT, TARGET_LIFT_SETS, TARGET_ORDER = 80, 2, 4
TABLES = ("2", "4", "5", "6", "codes")


@dataclass(frozen=True)
class Model:
    query_bits: int
    item_bits: int
    n_dims: int = 64
    estimator: str = "variant"
    plain_weights: bool = False


FIRST = {"m_1": Model(FLOATS, FLOATS), "m_2": Model(1, 1), "m_3": Model(1, 1, 128), "rbe*": Model(3, 2)}
FIRST |= {"m_5": Model(FLOATS, 2)}
MORE_BITS = {"rbe_2": Model(2, 2), "rbe*": Model(3, 2), "rbe_3": Model(3, 3)}
BITS = {"m_2": Model(1, 1)} | MORE_BITS
ESTIMATORS = ("variant", "straight", "tanh")
MODELS = {
    **FIRST,
    **BITS,
    **{f"{name} {e}": replace(model, estimator=e) for e in ESTIMATORS[1:] for name, model in BITS.items()},
    **{f"{name} plain": replace(model, plain_weights=True) for name, model in MORE_BITS.items()},
}
OF_TABLE = {
    "2": [*FIRST],
    "4": [*FIRST, *MORE_BITS],
    "5": [name for name in MODELS if name.split(" ")[0] in BITS and not name.endswith("plain")],
    "6": ["m_1", "m_3", *MORE_BITS, *(f"{name} plain" for name in MORE_BITS)],
    "codes": ["m_1", "rbe*", "m_5"],
}
ORDER = ("m_2", "m_3", "rbe*", "m_5", "m_1")
CODE_ROWS = (  # words, model, its bytes and recall in the records
    ("m_1, floats", "m_1", None, "recall"),
    ("m_1, XFBQ of 2 bits", "m_1", "xfbq2_bytes", "xfbq2_recall"),
    ("m_1, XFBQ of 2 bits, queries of 3", "m_1", "xfbq2_bytes", "xfbq2_coarse_recall"),
    ("m_1, XFBQ of 1 bit", "m_1", "xfbq1_bytes", "xfbq1_recall"),
    ("rbe*", "rbe*", "bytes", "recall"),
    ("m_5, queries of floats", "m_5", "bytes", "recall"),
)


# ---------------------------------------------------------------------------------------------------- training


def options_of(arguments, data):
    """Of a training."""
    given, published = arguments.epochs or (QUICK_EPOCHS if arguments.quick else None), arguments.recipe == "paper"
    return {
        "n_epochs": given or data.n_epochs,
        "word_dropout": 0.0 if published else data.word_dropout,
        "patience": PATIENCE,
        "batch": arguments.batch,
        "n_negatives": PAPER_NEGATIVES if published else arguments.batch - 1,
        "gamma": GAMMA,
        "rate": RATE,
        "float_share": 0.0 if published else FLOAT_SHARE,
        "valid_share": VALID_SHARE,
    }


def judge(arguments, tower, data, model, path):
    """AUC against bad pairs and log loss of good ones on the test part; and of codes, where the model has some."""
    good = tower.eval(part_path(arguments.scratch, data.name, "good"))
    quality, record = good, {}
    if data.labelled:
        test = part_path(arguments.scratch, data.name, "test")
        quality = tower.eval(test, label_column=3, least_label=LEAST_LABEL)
    if model in OF_TABLE["codes"]:
        vectors, codes = tower_codes.Vectors.of(tower, data), os.path.join(arguments.scratch, "codes")
        if MODELS[model].item_bits == FLOATS:
            record = tower_codes.of_floats(vectors, codes, arguments.threads)
            vectors.save(path)
        else:
            record = tower_codes.learned(vectors, tower, codes, arguments.threads)
    return {"auc": quality.auc, "loss": good.loss, **record}


def train(arguments, options, data, model, seed):
    """The record of a training; empty where its loss was no longer finite."""
    path, pairs = os.path.join(arguments.scratch, "model.safetensors"), part_path(arguments.scratch, data.name, "train")
    given = {"label_column": 3, "least_label": LEAST_LABEL, "threads": arguments.threads, **options}
    try:
        tower = thresher.Tower.train(pairs, path, **given)
    except thresher.ArgumentError as diverged:
        print(f"{model}, seed {seed}: {diverged}", file=sys.stderr)
        return {}
    with tower:
        vectors = tower_codes.vectors_path(arguments.keep, arguments.quick, data.name, model, seed)
        record, r = judge(arguments, tower, data, model, vectors), tower.report
    os.remove(path)
    words = f"AUC {record['auc']:.4f}, log loss {record['loss']:.4f}, best of {r.n_epochs} epochs: {r.best_epoch}"
    print(f"{data.name}, {model}, seed {seed}: {words}", file=sys.stderr)
    return record


def measure(arguments, sets):
    """{(model, data set): [records, one a seed]}. Seeds outside, so that a run that is cut has whole tables of fewer."""
    kept, out = Kept(os.path.join(arguments.keep, "results.json"), {"format": FORMAT, "measured": {}}, arguments.again), {}
    among = kept.results["measured"]
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        for model, data in itertools.product(MODELS, sets):
            if any(model in OF_TABLE[name] for name in arguments.tables):
                options = {**options_of(arguments, data), **asdict(MODELS[model]), "seed": seed}
                key = f"{data.name}: {json.dumps({**options, 'quick': arguments.quick})}, thresher {thresher.__version__}"
                make = partial(train, arguments, options, data, model, seed)
                kept.measure(among, key, make, lambda _: "done", f"{data.name}, {model}, seed {seed}")
                out.setdefault((model, data.name), []).append(among[key])
    return out


# ---------------------------------------------------------------------------------------------------- tables


class Means:
    """Means of the measurements over seeds."""

    def __init__(self, measured):
        self.measured = measured

    def values(self, model, data, name):
        return [record[name] for record in self.measured.get((model, data.name), []) if name in record]

    def mean(self, model, data, name="auc"):
        values = self.values(model, data, name)
        return mean_of(values)[0] if values else float("nan")

    def cell(self, model, data, name="auc"):
        """"-" where nothing was measured, or every training diverged."""
        values = self.values(model, data, name)
        return "-" if not values else spread(values) if len(values) > 1 else f"{values[0]:.4f}"

    def lift(self, data, more, less):
        """How far of the way from m_3's AUC to m_1's one is above another, in per cent (RBE 8.1)."""
        way = self.mean("m_1", data) - self.mean("m_3", data)
        return 100 * (self.mean(more, data) - self.mean(less, data)) / way if way > 0 else float("nan")

    def apart(self, data, more, less):
        """A difference of means with its standard error."""
        a, b = (self.values(model, data, "auc") for model in (more, less))
        if not a or not b:
            return "-"
        (mean_a, spread_a), (mean_b, spread_b) = mean_of(a), mean_of(b)
        error = f" ± {(spread_a**2 / len(a) + spread_b**2 / len(b)) ** 0.5:.4f}" if min(len(a), len(b)) > 1 else ""
        return f"{mean_a - mean_b:+.4f}{error}"


def lift_cell(percent):
    return "-" if percent != percent else f"{percent:.1f}"


def bits_cells(model):
    return ["float" if bits == FLOATS else bits for bits in (MODELS[model].query_bits, MODELS[model].item_bits)]


def called(arguments, data):
    """A data set's name, with what is not usual about its models."""
    words = [data.name, *["the paper's recipe"] * (arguments.recipe == "paper"), *["one training"] * (arguments.seeds == 1)]
    return ", ".join(words)


def table_2(means, data, name, rows):
    against = "pairs that people called bad" if data.labelled else "sampled items"
    lines = []
    for model in FIRST:
        lift = "-" if model in ("m_1", "m_3") else lift_cell(means.lift(data, model, "m_3"))
        about = [model, MODELS[model].n_dims, *bits_cells(model)]
        lines.append([*about, means.cell(model, data, "loss"), means.cell(model, data), lift])
    keys, units = ["system", "dims", "query bits", "item bits"], ["log loss", "AUC", "lift %"]
    gap = means.mean("m_1", data) - means.mean("m_3", data)
    parts = [f"AUC against {against}:\n", Table(f"{name}: table 2", keys, units, lines)]
    parts.append(f"From m_3 to m_1, the reference gap: {gap:.4f}.\n")
    means_of = [means.mean(model, data) for model in ORDER]
    held = sum(a < b if i < 2 else a <= b for i, (a, b) in enumerate(zip(means_of, means_of[1:])))
    words = f"AUC lift of rbe* from m_3 toward m_1, {data.name}, %"
    rows.append(figure(words, means.lift(data, "rbe*", "m_3"), TARGET_LIFT))
    rows.append(figure(f"of m_2 < m_3 < rbe* <= m_5 <= m_1 hold, {data.name}", held, TARGET_ORDER))
    return parts


def trends():
    """[table, model whose AUC is more in the paper, model whose is less]"""
    for name in ("4", "5", "6"):
        paper = published("RBE", f"Table {name}")
        for pair in paper.get("pairs") or chain(paper["numbers"]):
            less, more = map(own_name, pair)
            yield [name, more, less]
        if name == "5":
            yield from ([name, model, f"{model} straight"] for model in MORE_BITS)


def trend_tables(arguments, means, data, name):
    """Tables 4 to 6 of a data set, and the paper's trends in them."""
    parts = []
    if "4" in arguments.tables:
        rows = [[model, *bits_cells(model), means.cell(model, data, "loss"), means.cell(model, data)] for model in BITS]
        parts.append(Table(f"{name}: table 4", ["system", "query bits", "item bits"], ["log loss", "AUC"], rows))
    if "5" in arguments.tables:
        rows = [[model, *(means.cell(f"{model} {e}".removesuffix(" variant"), data) for e in ESTIMATORS)] for model in BITS]
        parts.append(Table(f"{name}: table 5", ["system"], [(e, "AUC") for e in ESTIMATORS], rows))
    if "6" in arguments.tables:
        rows = [[model, means.cell(f"{model} plain", data), means.cell(model, data),
                 lift_cell(means.lift(data, model, f"{model} plain"))] for model in MORE_BITS]  # fmt: skip
        parts.append(Table(f"{name}: table 6", ["system"], [("no weights", "AUC"), ("weights", "AUC"), "lift %"], rows))
    found = [(trend, means.apart(data, *trend[1:3])) for trend in trends() if trend[0] in arguments.tables]
    rows = [[more, table, less, cell] for (table, more, less), cell in found if cell != "-"]
    if rows:
        parts.append("Trends of the paper: differences of AUC, above 0 where ours has the trend:\n")
        parts.append(Table(f"{name}: trends", ["system", "table", "less that of"], ["difference of AUC"], rows))
    return parts


def codes_table(arguments, means, sets, rows):
    lines = []
    for data in sets:
        for words, model, n_bytes, recall in CODE_ROWS:
            size = "256" if n_bytes is None else f"{means.mean(model, data, n_bytes):.1f}"
            lines.append([called(arguments, data), words, size, means.cell(model, data, recall)])
        gain = means.mean("rbe*", data, "recall") - means.mean("m_1", data, "xfbq2_recall")
        rows.append(figure(f"recall@100 of rbe* less that of 2-bit XFBQ on m_1, {data.name}", gain, 0))
    about = "Codes that are learned, and codes made of m_1's vectors; recall@100 is of the right item:\n"
    return [about, Table("codes", ["data", "system"], ["bytes per item", "recall@100"], lines)]


def text(arguments, sets, measured):
    means, rows, o = Means(measured), [], options_of(arguments, sets[0])
    pairs = ", ".join(f"{data.name} {len(data.part(False, LEAST_LABEL)):,} and {len(data.part(True)):,}" for data in sets)
    parts = [
        f"Trained on the pairs of each data set alone: a share of {o['float_share']:g} of the epochs as floats, patience "
        f"{o['patience']}, batches of {o['batch']}, {o['n_negatives']} negatives, gamma {o['gamma']:g}, rate {o['rate']:g}, "
        f"two tables of letter trigrams; seeds from {arguments.seed}, {arguments.seeds} of them. The best epoch by validation "
        f"loss on {o['valid_share']:g} of the queries that are learned from. Pairs to learn from and to test with, split by "
        f"query: {pairs}. Bad pairs are sampled, 10 for each, where people labelled none.\n",
    ]
    if "2" in arguments.tables:
        for data in sets:
            parts += table_2(means, data, called(arguments, data), rows)
        lifted = sum(means.lift(data, "rbe*", "m_3") >= TARGET_LIFT for data in sets)
        if len(sets) > 1:
            rows.append(figure(f"data sets where that lift is {TARGET_LIFT} % or more", lifted, TARGET_LIFT_SETS))
    for data in sets:
        parts += trend_tables(arguments, means, data, called(arguments, data))
    if "codes" in arguments.tables:
        parts += codes_table(arguments, means, sets, rows)
    parts.append("Mean ± standard deviation over seeds. Lift: of the way from m_3's AUC to m_1's, how much.\n")
    usual = arguments.recipe != "paper" and arguments.seeds > 1
    return page(*parts, *[Figures(rows)] * (usual and bool(rows)))
